"""Microsoft recommenders: ``python_evaluation``."""

from __future__ import annotations

from recassay.profiles.base import Exclusion, Profile

PROFILE = Profile(
    name="microsoft",
    title="Microsoft recommenders",
    version="1.2.1",
    conventions={"order": "score", "ties": "row", "duplicates": "keep"},
    metrics={
        "precision": "precision(missing='skip')",
        "recall": "recall(missing='skip')",
        "ndcg": "ndcg(gain='binary')",
        "map": "map(divide_by='reachable', missing='skip')",
    },
    differs=(
        "precision, recall and map leave out a user without a list; ndcg counts 0",
        "map is map_at_k, divided by min(k, R); its function map is map(divide_by='relevant')",
        "ndcg has binary gains; score_type='raw' is ndcg(gain='linear'), 'exp' is ndcg(gain='exp2')",
        "a user without a relevant item is left out",
    ),
    excludes=(
        Exclusion("a repeated relevant item enters the ideal too, and ndcg can exceed 1", ("ndcg",), "repeated items"),
        Exclusion("its mean is over the users with a hit", ("rprec",)),
    ),
)
