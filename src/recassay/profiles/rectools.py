"""RecTools: its metric classes with their defaults."""

from __future__ import annotations

from recassay.profiles.base import Exclusion, Profile

PROFILE = Profile(
    name="rectools",
    title="RecTools",
    version="0.19.0",
    conventions={"duplicates": "keep"},
    metrics={
        "precision": "precision",
        "recall": "recall",
        "f1": "f1",
        "ndcg": "ndcg(gain='binary', ideal='k')",
        "map": "map",
        "mrr": "mrr",
        "hit": "hit",
    },
    differs=(
        "the ideal of ndcg has k relevant items even where the user has fewer; divide_by_achievable=True is "
        "ndcg(ideal='judged')",
        "Precision(r_precision=True) is precision(divide_by='relevant'), MAP(divide_by_k=True) is map(divide_by='k')",
        "a user without a relevant item is left out",
    ),
    excludes=(
        Exclusion(
            "a relevant item that a list repeats also counts again among the relevant items",
            metrics=("precision", "recall", "f1", "map", "ndcg"),
            when="repeated items",
        ),
    ),
)
