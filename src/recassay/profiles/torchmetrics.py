"""torchmetrics, its retrieval metrics on the rows of all listed and all judged items."""

from __future__ import annotations

from recassay.profiles.base import Exclusion, Profile

SAME = "no_relevant='zero'"

PROFILE = Profile(
    name="torchmetrics",
    title="torchmetrics",
    version="1.9.0",
    conventions={"order": "score", "ties": "expected", "precision": "single", "duplicates": "keep"},
    metrics={
        "precision": f"precision({SAME})",
        "recall": f"recall({SAME})",
        "ndcg": f"ndcg(unlisted='tied', {SAME})",
        "map": f"map(divide_by='hits', {SAME})",
        "mrr": f"mrr({SAME})",
        "hit": f"hit(unlisted='tied', {SAME})",
        "rprec": f"rprec(unlisted='tied', {SAME})",
    },
    differs=(
        "it knows rows, not lists: judged items that were not recommended must be given a low score, and stand tied "
        "behind the list, where ndcg, hit and rprec find them",
        "average precision is divided by the relevant items found",
        "a user without a relevant item counts 0 (empty_target_action='neg')",
        "it computes in single precision",
    ),
    excludes=(
        Exclusion(
            "such an item is never relevant, so they depend on where a model's scale begins; here scores only order",
            metrics=("precision", "recall", "map", "mrr"),
            when="scores of 0 or less",
        ),
        Exclusion(
            "torch.topk leaves the order of ties open; here it is the mean over all orders, as ndcg has it",
            metrics=("precision", "recall", "map", "mrr", "hit", "rprec"),
            when="tied scores",
        ),
        Exclusion("every row is an item of its own, and relevant once more", when="repeated items"),
    ),
)
