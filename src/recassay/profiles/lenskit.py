"""LensKit: ``MeasurementCollector`` with the defaults of its metrics."""

from __future__ import annotations

from recassay.profiles.base import Exclusion, Profile

PROFILE = Profile(
    name="lenskit",
    title="LensKit",
    version="2026.4.0",
    conventions={"duplicates": "keep"},
    metrics={
        "precision": "precision(divide_by='list', missing='skip', no_relevant='zero')",
        "recall": "recall(divide_by='reachable')",
        "ndcg": "ndcg(gain='binary', discount='jk')",
        "dcg": "dcg(gain='binary', discount='jk')",
        "map": "map(divide_by='list', missing='skip')",
        "mrr": "mrr",
        "hit": "hit",
        "rbp": "rbp(p=0.85)",
    },
    differs=(
        "precision is divided by the length of a short list, recall by the relevant items that k ranks can hold",
        "ranks 1 and 2 have the same discount; weight=LogRankWeight(offset=1) is ndcg(discount='log2p1')",
        "average precision is divided by min(R, length of the list)",
        "precision and average precision leave out a user without a list, the other metrics count 0",
    ),
    excludes=(
        Exclusion(
            "a user with a list and no truth counts 0 in precision and is left out of everything else",
            metrics=("precision",),
            when="users without truth",
        ),
    ),
)
