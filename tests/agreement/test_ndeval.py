"""ndeval itself (through pyndeval) beside our metrics of aspects, query by query, on whatever hypothesis thinks of.

Its subtopics are our features: a document that is judged relevant is so for each feature it has.
"""

from __future__ import annotations

import os
import sys

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import recassay as ra

from ..examples import examples

if os.environ.get("CI") and sys.platform == "linux":
    import pyndeval
else:
    pyndeval = pytest.importorskip("pyndeval", reason="pyndeval is not installed")

pytestmark = pytest.mark.peers
SAME = {
    "alpha-nDCG": "alpha_ndcg",
    "ERR-IA": "err_ia(normalise='most', scale=1.0)",
    "nERR-IA": "err_ia(normalise='ideal', scale=1.0)",
    "P-IA": "precision_ia",
    "strec": "subtopic_recall(denominator='relevant')",
}
CUTOFFS = (5, 10, 20)
DOCUMENTS = [f"d{number:02d}" for number in range(12)]
TURNED = dict(zip(DOCUMENTS, reversed(DOCUMENTS), strict=True))  # of equal documents it picks the highest id first
QUERIES = ("q1", "q2", "q3")

features = st.dictionaries(st.sampled_from(DOCUMENTS), st.sets(st.sampled_from("stuvw"), min_size=1), min_size=1)
lists = st.dictionaries(
    st.sampled_from(QUERIES), st.lists(st.sampled_from(DOCUMENTS), unique=True, min_size=1), min_size=1
)
judgements = st.dictionaries(st.sampled_from(QUERIES), st.sets(st.sampled_from(DOCUMENTS), min_size=1), min_size=1)


@settings(max_examples=examples(150), deadline=None)
@given(features, lists, judgements, st.sampled_from(CUTOFFS), st.sampled_from([0.5, 0.5, 0.25, 0.9]))
def test_ndeval_agrees_on_every_query(features, lists, judgements, k, alpha):
    document = next(iter(features))
    judgements, lists = {**judgements, "q1": {document}}, {**lists, "q1": [document]}
    qrels = [
        pyndeval.SubtopicQrel(query, subtopic, document, 1)
        for query, relevant in judgements.items()
        for document in relevant
        for subtopic in features.get(document, ())
    ]
    run = [
        pyndeval.ScoredDoc(query, document, float(-place))
        for query, documents in lists.items()
        for place, document in enumerate(documents)
    ]
    # its alpha is the reader's chance to go on, too, which is 1/2 for the one grade there is
    same = SAME if alpha == 0.5 else {"alpha-nDCG": f"alpha_ndcg(alpha={alpha})"}
    names = [f"{name}@{k}" for name in same]
    theirs = pyndeval.ndeval(qrels, run, measures=names, alpha=alpha)
    lists = {query: [TURNED[one] for one in documents] for query, documents in lists.items()}
    items = pl.DataFrame(
        {"item_id": [TURNED[one] for one in features], "subtopics": [sorted(found) for found in features.values()]}
    )
    truth = {query: {TURNED[one]: 1.0 for one in relevant} for query, relevant in judgements.items()}
    scores = ra.score({"run": lists}, truth, [f"{ours}@{k}" for ours in same.values()], items=items, interval=None)
    units = scores.units.to_list()
    for name, ours in zip(names, scores.metrics, strict=True):
        values = dict(zip(units, scores.values("run", ours).tolist(), strict=True))
        assert values["q1"] > 0
        for query, found in theirs.items():
            if query in values and values[query] == values[query]:
                assert values[query] == pytest.approx(found[name], abs=1e-9), (name, query)
