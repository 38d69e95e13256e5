"""Cornac: its metric classes, as its evaluation calls them."""

from __future__ import annotations

from recassay.profiles.base import Exclusion, Profile

PROFILE = Profile(
    name="cornac",
    title="Cornac",
    version="3.0.1",
    conventions={"duplicates": "keep"},
    metrics={
        "precision": "precision",
        "recall": "recall",
        "f1": "f1",
        "ndcg": "ndcg(gain='binary')",
        "mrr": "mrr",
        "hit": "hit",
    },
    differs=(
        "MRR has no cut-off",
        "gains are binary",
        "a user without a relevant item is left out",
    ),
    excludes=(
        Exclusion("it raises ValueError; here such a user counts 0", ("mrr",), "users without a hit"),
        Exclusion("it ranks the whole catalogue, with ties as misses; a list does not hold that", ("map", "auc")),
    ),
)
