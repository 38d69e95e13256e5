"""Under the profile of a library, every number is the library's: each user's and the mean, on every recorded case.

The libraries that live beside the project are run for real; the answers of the others were recorded. What is not
compared is what the profile itself excludes, and an answer that is an error.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import math
import os
import sys
import warnings
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from cases import Case, cases
from record import ask

import recassay as ra
from recassay.profiles import Profile, find, profiles
from recassay.spec import parse

GOLDEN = Path(__file__).parents[1] / "golden" / "peers"
CASES = {case["name"]: case for case in cases()}

LIBRARY = {"trec_eval": "pytrec_eval"}  # the library that answers for a profile, where it has another name
BESIDE = {
    "pytrec_eval": "pytrec-eval-terrier",
    "ir_measures": "ir-measures",
    "ranx": "ranx",
    "torchmetrics": "torchmetrics",
    "cornac": "cornac",
}
SINGLE_PRECISION = {"torchmetrics": 2e-6, "recbole": 2e-6}

# What a library calls a number (with {k} for the cut-off), and what it is called here under the library's profile.
SAME: dict[str, dict[str, str]] = {
    "trec_eval": {
        "P_{k}": "precision@{k}",
        "recall_{k}": "recall@{k}",
        "ndcg_cut_{k}": "ndcg@{k}",
        "map_cut_{k}": "map@{k}",
        "success_{k}": "hit@{k}",
        "map": "map",
        "ndcg": "ndcg",
        "recip_rank": "mrr",
        "Rprec": "rprec",
        "bpref": "bpref",
        "infAP": "infap",
        "set_F": "f1",
    },
    "ir_measures": {
        "P@{k}": "precision@{k}",
        "R@{k}": "recall@{k}",
        "nDCG@{k}": "ndcg@{k}",
        "AP@{k}": "map@{k}",
        "RR@{k}": "mrr@{k}",
        "Success@{k}": "hit@{k}",
        "AP": "map",
        "RR": "mrr",
        "nDCG": "ndcg",
        "Rprec": "rprec",
        "Bpref": "bpref",
        "infAP": "infap",
        "SetF": "f1",
    },
    "ranx": {
        "precision@{k}": "precision@{k}",
        "recall@{k}": "recall@{k}",
        "f1@{k}": "f1@{k}",
        "ndcg@{k}": "ndcg@{k}",
        "ndcg_burges@{k}": "ndcg(gain='exp2')@{k}",
        "map@{k}": "map@{k}",
        "mrr@{k}": "mrr@{k}",
        "hit_rate@{k}": "hit@{k}",
        "hits@{k}": "hit(form='count')@{k}",
        "map": "map",
        "mrr": "mrr",
        "ndcg": "ndcg",
        "r-precision": "rprec",
        "rbp.80": "rbp(p=0.8)",
    },
    "recbole": {f"{name}@{{k}}": f"{name}@{{k}}" for name in ("precision", "recall", "ndcg", "map", "mrr", "hit")},
    "rectools": {
        "Precision@{k}": "precision@{k}",
        "Precision(r_precision)@{k}": "precision(divide_by='relevant')@{k}",
        "Recall@{k}": "recall@{k}",
        "F1Beta@{k}": "f1@{k}",
        "NDCG@{k}": "ndcg@{k}",
        "NDCG(log_base=3)@{k}": "ndcg@{k}",
        "NDCG(divide_by_achievable)@{k}": "ndcg(ideal='judged')@{k}",
        "MAP@{k}": "map@{k}",
        "MAP(divide_by_k)@{k}": "map(divide_by='k')@{k}",
        "MRR@{k}": "mrr@{k}",
        "HitRate@{k}": "hit@{k}",
    },
    "lenskit": {
        "Precision@{k}": "precision@{k}",
        "Recall@{k}": "recall@{k}",
        "NDCG@{k}": "ndcg@{k}",
        "NDCG(weight=LogRankWeight(offset=1))@{k}": "ndcg(discount='log2p1')@{k}",
        "NDCG(gain='rating')@{k}": "ndcg(gain='linear')@{k}",
        "DCG@{k}": "dcg@{k}",
        "AveragePrecision@{k}": "map@{k}",
        "RecipRank@{k}": "mrr@{k}",
        "Hit@{k}": "hit@{k}",
        "RBP@{k}": "rbp@{k}",
        "RBP(normalize=True)@{k}": "rbp(normalize=True)@{k}",
    },
    "elliot": {
        "Precision@{k}": "precision@{k}",
        "Recall@{k}": "recall@{k}",
        "HR@{k}": "hit@{k}",
        "MRR@{k}": "mrr@{k}",
        "MAP@{k}": "map@{k}",
        "nDCG@{k}": "ndcg@{k}",
    },
    "recpack": {
        "PrecisionK@{k}": "precision@{k}",
        "RecallK@{k}": "recall@{k}",
        "CalibratedRecallK@{k}": "recall(divide_by='reachable')@{k}",
        "NDCGK@{k}": "ndcg@{k}",
        "DCGK@{k}": "dcg@{k}",
        "ReciprocalRankK@{k}": "mrr@{k}",
        "HitK@{k}": "hit@{k}",
    },
    "cornac": {
        "Precision@{k}": "precision@{k}",
        "Recall@{k}": "recall@{k}",
        "F1@{k}": "f1@{k}",
        "NDCG@{k}": "ndcg@{k}",
        "HitRatio@{k}": "hit@{k}",
        "MRR": "mrr",
    },
    "torchmetrics": {
        "RetrievalPrecision@{k}": "precision@{k}",
        "RetrievalRecall@{k}": "recall@{k}",
        "RetrievalNormalizedDCG@{k}": "ndcg@{k}",
        "RetrievalMAP@{k}": "map@{k}",
        "RetrievalMRR@{k}": "mrr@{k}",
        "RetrievalHitRate@{k}": "hit@{k}",
        "RetrievalRPrecision": "rprec",
    },
    "microsoft": {
        "precision_at_k@{k}": "precision@{k}",
        "recall_at_k@{k}": "recall@{k}",
        "ndcg_at_k@{k}": "ndcg@{k}",
        "ndcg_at_k(log2)@{k}": "ndcg@{k}",
        "ndcg_at_k(raw)@{k}": "ndcg(gain='linear')@{k}",
        "ndcg_at_k(exp)@{k}": "ndcg(gain='exp2')@{k}",
        "map@{k}": "map(divide_by='relevant')@{k}",
        "map_at_k@{k}": "map@{k}",
    },
    "daisyrec": {
        "Precision@{k}": "precision@{k}",
        "Recall@{k}": "recall@{k}",
        "NDCG@{k}": "ndcg@{k}",
        "MAP@{k}": "map@{k}",
        "MRR@{k}": "mrr@{k}",
        "HR@{k}": "hit@{k}",
    },
    "replay": {
        "Precision@{k}": "precision@{k}",
        "Recall@{k}": "recall@{k}",
        "NDCG@{k}": "ndcg@{k}",
        "MAP@{k}": "map@{k}",
        "MRR@{k}": "mrr@{k}",
        "HitRate@{k}": "hit@{k}",
    },
}


def test_every_profile_and_every_metric_of_it_is_compared() -> None:
    assert set(SAME) == set(profiles())
    for name, same in SAME.items():
        assert {parse(ours.format(k=5)).name for ours in same.values()} == set(find(name).metrics), name


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("profile", SAME)
def test_a_profile_prints_what_the_library_prints(profile: str, case: str) -> None:
    answers = _answers(LIBRARY.get(profile, profile))[case]
    same = {
        theirs.format(k=CASES[case]["k"]): ours.format(k=CASES[case]["k"]) for theirs, ours in SAME[profile].items()
    }
    scores = _scored(profile, case)
    tolerance = SINGLE_PRECISION.get(profile, 1e-9)
    circumstances = _circumstances(CASES[case])
    for theirs, ours in same.items():
        if find(profile).exclusion(parse(ours).name, circumstances) and "error" not in answers[theirs]:
            continue
        _compare(answers[theirs], scores, ours, tolerance)


@pytest.mark.parametrize("profile", SAME)
def test_most_of_a_library_is_compared(profile: str) -> None:
    """An exclusion is an exception: it never swallows a case whole, but for ties and repeated items."""
    compared = [
        (case, theirs)
        for case in CASES
        for theirs, ours in SAME[profile].items()
        if not find(profile).exclusion(parse(ours.format(k=5)).name, _circumstances(CASES[case]))
        and "error" not in _answers(LIBRARY.get(profile, profile))[case][theirs.format(k=CASES[case]["k"])]
    ]
    assert len(compared) >= 0.7 * len(CASES) * len(SAME[profile])


@pytest.mark.parametrize("profile", [name for name, one in profiles().items() if one.excludes])
def test_what_is_excluded_does_differ(profile: str) -> None:
    """An exclusion that no case needs would only hide an error to come."""
    for exclusion in find(profile).excludes:
        if exclusion.when == "always":
            assert not set(exclusion.metrics) & set(find(profile).metrics)
            continue
        if exclusion.when == "scores of 0 or less":  # no case has them; the test below does
            continue
        assert any(
            _differs(profile, case, theirs, ours)
            for case in CASES
            if exclusion.when in _circumstances(CASES[case])
            for theirs, ours in SAME[profile].items()
            if exclusion.covers(parse(ours.format(k=5)).name, {exclusion.when})
        ), exclusion


def _compare(answer: dict[str, Any], scores: ra.Scores, metric: str, tolerance: float) -> None:
    """Every user the library gives a value to has it here, every other user is left out, and the mean is the same.

    Where the library raises an error there is no mean, and some users may have no answer.
    """
    ours = dict(zip(scores.units.to_list(), scores.values("mine", metric).tolist(), strict=True))
    theirs = answer.get("per_user")
    if theirs is not None:
        users = [user for user in ours if "error" not in answer or user in theirs]
        expected = {user: math.nan if theirs.get(user) is None else theirs[user] for user in users}
        assert {user: ours[user] for user in users} == pytest.approx(expected, abs=tolerance, rel=0, nan_ok=True), (
            metric
        )
    if "error" not in answer:
        assert scores.row("mine", metric).mean == pytest.approx(answer["mean"], abs=tolerance, rel=0), metric


def _differs(profile: str, case: str, theirs: str, ours: str) -> bool:
    k = CASES[case]["k"]
    answer = _recorded(LIBRARY.get(profile, profile))[case][theirs.format(k=k)]
    if "error" in answer:
        return True
    try:
        _compare(answer, _scored(profile, case), ours.format(k=k), SINGLE_PRECISION.get(profile, 1e-9))
    except (AssertionError, ra.UsageError):
        return True
    return False


def _circumstances(case: Case) -> set[str]:
    """What about a case a profile may make an exception of."""
    found = {"users without truth"} if set(case["run"]) - set(case["truth"]) else set()
    without = [user for user, judged in case["truth"].items() if 0 not in judged.values()]
    found |= {"few judged non-relevant items"} if 2 * len(without) > len(case["truth"]) else set()
    for user, judged in case["truth"].items():
        wanted = {item for item, gain in judged.items() if gain > 0}
        if wanted and not wanted & {item for item, _ in case["run"].get(user, [])}:
            found.add("users without a hit")
    for ranked in case["run"].values():
        items, scores = zip(*ranked, strict=True)
        found |= {"tied scores"} if len(set(scores)) < len(scores) else set()
        found |= {"repeated items"} if len(set(items)) < len(items) else set()
    return found


@functools.cache
def _scored(profile: str, case: str) -> ra.Scores:
    """All metrics of a profile on a case: a table with rank and score, as a file would have them."""
    given = CASES[case]
    run = [
        (user, item, rank, score)
        for user, ranked in given["run"].items()
        for rank, (item, score) in enumerate(ranked, 1)
    ]
    truth = [(user, item, gain) for user, judged in given["truth"].items() for item, gain in judged.items()]
    metrics = list(dict.fromkeys(ours.format(k=given["k"]) for ours in SAME[profile].values()))
    metrics = [
        metric
        for metric in metrics
        if metric != "bpref" or "few judged non-relevant items" not in _circumstances(given)
    ]
    return ra.score(
        {"mine": pl.DataFrame(run, ["user_id", "item_id", "rank", "score"], orient="row")},
        pl.DataFrame(truth, ["user_id", "item_id", "gain"], orient="row"),
        metrics,
        profile=profile,
        interval=None,
    )


@functools.cache
def _answers(library: str) -> dict[str, Any]:
    """What the library says now if it lives beside the project, what it said otherwise."""
    if library not in BESIDE:
        return _recorded(library)
    if importlib.util.find_spec(library) is None:
        missing = f"{library} is not installed: pip install {BESIDE[library]}"
        pytest.fail(missing) if os.environ.get("CI") else pytest.skip(missing)
    answered: dict[str, Any] = ask(library, Path(sys.executable))["cases"]
    return answered


def _recorded(library: str) -> dict[str, Any]:
    recorded: dict[str, Any] = json.loads((GOLDEN / f"{library}.json").read_text(encoding="utf-8"))["cases"]
    return recorded


def test_a_shift_of_all_scores_changes_torchmetrics_and_not_us() -> None:
    def case(*scores: float) -> Case:
        return {
            "k": 5,
            "truth": {"u": {"a": 1, "c": 1}},
            "run": {"u": [list(row) for row in zip("bac", scores, strict=True)]},
        }

    assert (excluded := find("torchmetrics").exclusion("precision", {"scores of 0 or less"}))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of torch
        peer = pytest.importorskip("peers.torchmetrics", reason="torchmetrics is not installed", exc_type=ImportError)
        before, after = peer.answers(case(3, 2, 1)), peer.answers(case(-1, -2, -3))
    for theirs, ours in SAME["torchmetrics"].items():
        name = theirs.format(k=5)
        moved = after[name]["mean"] != pytest.approx(before[name]["mean"], abs=1e-6)
        assert moved is (parse(ours.format(k=5)).name in excluded.metrics), name


def test_a_metric_the_profile_leaves_out_says_why() -> None:
    with pytest.raises(ra.UsageError, match="whole catalogue"):
        find("cornac").build(parse("map@5"), {})
    assert isinstance(find("cornac"), Profile)
