"""RecBole: its ``Evaluator`` on full scores."""

from __future__ import annotations

from recassay.profiles.base import Exclusion, Profile

PROFILE = Profile(
    name="recbole",
    title="RecBole",
    version="1.2.1",
    conventions={"order": "score", "ties": "row", "duplicates": "last"},
    metrics={
        "precision": "precision",
        "recall": "recall",
        "ndcg": "ndcg(gain='binary')",
        "map": "map(divide_by='reachable')",
        "mrr": "mrr",
        "hit": "hit",
    },
    differs=(
        "average precision is divided by the relevant items that k ranks can hold, min(k, R)",
        "gains are binary",
        "it scores the whole catalogue, so every list is k long and no user is without one",
        "a user without a relevant item is left out",
    ),
    excludes=(Exclusion("torch.topk does not define the order of ties", when="tied scores"),),
)
