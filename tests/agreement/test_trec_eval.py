"""trec_eval itself (through pytrec_eval) beside our metrics, query by query, on whatever hypothesis thinks of.

Under its profile every query agrees, with ties, lost digits of single precision, unjudged and graded items. Without the
profile our own defaults agree wherever scores differ and there is something to find.
"""

from __future__ import annotations

import math
import os

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import recassay as ra

from ..examples import examples

if os.environ.get("CI"):
    import pytrec_eval
else:
    pytrec_eval = pytest.importorskip("pytrec_eval", reason="pytrec-eval-terrier is not installed")

pytestmark = pytest.mark.peers
Judged = dict[str, dict[str, int]]
Scored = dict[str, dict[str, float]]

CUTOFFS = (1, 3, 10, 1000)
AT_CUTOFF = {"P": "precision", "recall": "recall", "success": "hit", "ndcg_cut": "ndcg", "map_cut": "map"}
WHOLE_LIST = {
    "ndcg": "ndcg",
    "map": "map",
    "recip_rank": "mrr",
    "Rprec": "rprec",
    "bpref": "bpref",
    "infAP": "infap",
    "set_F": "f1(divide_by='list')",
}
SAME = {**{f"{name}_{k}": f"{ours}@{k}" for name, ours in AT_CUTOFF.items() for k in CUTOFFS}, **WHOLE_LIST}
MEASURES = {*WHOLE_LIST, *(f"{name}.{','.join(map(str, CUTOFFS))}" for name in AT_CUTOFF)}

# As text, ids do not sort as numbers do, and upper case stands before lower case.
DOCUMENTS = [f"d{number}" for number in range(12)] + ["D1", "d01", "d"]
SCORES = [
    0.0, -0.0, 1.0, 1.0 + 1e-9, 1.0 + 1e-6, 0.1, 0.1 + 1e-12, -1.0, 16_777_216.0, 16_777_217.0,
    1e-46, 1e-40, 1e39, 2e39, -1e39,
]  # fmt: skip
FOUND = {"q": {"d": 1}}, {"q": {"d": 1.0}}  # a hit in every input: files that share nothing are refused

queries = st.sampled_from([f"q{number}" for number in range(5)])
gains = st.sampled_from([-1, 0, 0, 1, 1, 2, 3, 7])
judgements = st.dictionaries(
    queries, st.dictionaries(st.sampled_from(DOCUMENTS), gains, min_size=1, max_size=12), max_size=5
).map(lambda judged: FOUND[0] | judged)


def lists(scores: st.SearchStrategy[float]) -> st.SearchStrategy[Scored]:
    """Some documents of some queries, in any order."""
    ranked = st.dictionaries(st.sampled_from(DOCUMENTS), scores, min_size=1, max_size=len(DOCUMENTS))
    return st.dictionaries(queries, ranked, max_size=5).map(lambda run: FOUND[1] | run)


adversarial = st.one_of(st.sampled_from(SCORES), st.floats(-1e3, 1e3, width=32), st.floats(-1e3, 1e3))


@settings(max_examples=examples(200), deadline=None)
@given(judgements, lists(adversarial))
def test_every_query_under_the_profile(judged: Judged, run: Scored) -> None:
    theirs = _theirs(judged, run)
    ours = _ours(judged, run, profile="trec_eval")
    for query in judged:
        for measure in ours:
            value = theirs[query][measure] if query in theirs else math.nan
            assert ours[measure][query] == pytest.approx(value, abs=1e-9, rel=0, nan_ok=True), (measure, query)
    for measure, values in ours.items():
        mean = sum(theirs[query][measure] for query in theirs) / len(theirs)
        assert np.nanmean(list(values.values())) == pytest.approx(mean, abs=1e-9, rel=0), measure


@settings(max_examples=examples(200), deadline=None)
@given(judgements, lists(st.floats(-1e3, 1e3, width=32)))
def test_our_defaults_where_no_scores_tie(judged: Judged, run: Scored) -> None:
    run = {query: _untied(ranked) for query, ranked in run.items()}
    theirs = _theirs(judged, run)
    ours = _ours(judged, run)
    for query, gains_of in judged.items():
        for measure, values in ours.items():
            if max(gains_of.values()) < 1:
                assert math.isnan(values[query]), (measure, query)
            else:
                value = theirs[query][measure] if query in theirs else 0.0
                assert values[query] == pytest.approx(value, abs=1e-9, rel=0), (measure, query)


@pytest.mark.parametrize("level", [1, 2, 3])
def test_the_level_of_relevance(level: int) -> None:
    """Option -l of trec_eval: it changes what is relevant, and no gain of ndcg."""
    judged: Judged = {"q": {"a": 3, "b": 1, "c": 2, "d": 0}, "r": {"a": 3, "b": 0, "c": 1}}
    run: Scored = {"q": {"b": 0.9, "a": 0.8, "d": 0.7, "c": 0.6}, "r": {"c": 3.0, "b": 2.0, "a": 1.0}}
    theirs = _theirs(judged, run, level)
    for measure, values in _ours(judged, run, profile="trec_eval", relevant_from=level).items():
        assert values == pytest.approx({query: theirs[query][measure] for query in values}, abs=1e-9, rel=0), measure


def _theirs(judged: Judged, run: Scored, level: int = 1) -> Scored:
    answered: Scored = pytrec_eval.RelevanceEvaluator(judged, MEASURES, relevance_level=level).evaluate(run)
    return answered


def _ours(
    judged: Judged, run: Scored, profile: str | None = None, relevant_from: int = 1
) -> dict[str, dict[str, float]]:
    """Their name of a measure -> query -> our value."""
    same = dict(SAME)
    without = [query for query, gains_of in judged.items() if 0 not in gains_of.values()]
    if 2 * len(without) > len(judged):  # bpref is refused there
        del same["bpref"]
    rows = [(query, document, gain) for query, gains_of in judged.items() for document, gain in gains_of.items()]
    truth = pl.DataFrame(rows, ["user_id", "item_id", "gain"], orient="row")
    listed = [(query, document, score) for query, ranked in run.items() for document, score in ranked.items()]
    frame = pl.DataFrame(listed, ["user_id", "item_id", "score"], orient="row")
    scores = ra.score(
        {"run": frame},
        ra.Truth.from_frame(truth, negative="unjudged"),
        list(same.values()),
        profile=profile,
        relevant_from=relevant_from,
        interval=None,
    )
    units = scores.units.to_list()
    return {theirs: dict(zip(units, scores.values("run", ours).tolist(), strict=True)) for theirs, ours in same.items()}


def _untied(ranked: dict[str, float]) -> dict[str, float]:
    """Documents whose score no other document of the list has, as trec_eval sees scores."""
    seen: set[float] = set()
    return {
        document: score
        for document, score in ranked.items()
        if not (np.float32(score) in seen or seen.add(np.float32(score)))
    }
