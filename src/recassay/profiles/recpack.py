"""RecPack: its metric classes on sparse matrices."""

from __future__ import annotations

from recassay.profiles.base import Exclusion, Profile

PROFILE = Profile(
    name="recpack",
    title="RecPack",
    version="0.3.6",
    conventions={"order": "score"},
    metrics={
        "precision": "precision",
        "recall": "recall",
        "ndcg": "ndcg(gain='binary')",
        "dcg": "dcg(gain='binary')",
        "mrr": "mrr",
        "hit": "hit(form='count')",
    },
    differs=(
        "hit is the number of hits, so it can exceed 1",
        "CalibratedRecallK is recall(divide_by='reachable')",
        "gains are binary",
        "a user without a relevant item is left out",
    ),
    excludes=(
        Exclusion("numpy.argpartition does not define the order of ties", when="tied scores"),
        Exclusion("the sparse matrix adds up the scores of a repeated item", when="repeated items"),
    ),
)
