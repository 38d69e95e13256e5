"""RePlay: its metric classes on pandas frames."""

from __future__ import annotations

from recassay.profiles.base import Exclusion, Profile

PROFILE = Profile(
    name="replay",
    title="RePlay",
    version="0.22.0",
    conventions={"order": "score", "ties": "id_descending", "duplicates": "keep"},
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
        "ties are in descending order of item id",
        "gains are binary",
        "a user without a relevant item is left out",
    ),
    excludes=(
        Exclusion(
            "it warns of repeated items and counts their hits once here, every time in ndcg and map",
            metrics=("precision", "recall"),
            when="repeated items",
        ),
        Exclusion("it is the area over the first k ranks only", ("auc",)),
    ),
)
