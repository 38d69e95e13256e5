"""torchmetrics: its retrieval metrics on the rows of all listed and all judged items."""

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
        "it reads rows, not lists: judged items that were not recommended must be given a low score, so they are tied "
        "after the list, where ndcg, hit and rprec find them",
        "average precision is divided by the relevant items found",
        "a user without a relevant item counts 0 (empty_target_action='neg')",
        "it computes in single precision",
    ),
    excludes=(
        Exclusion(
            "it treats such items as not relevant, so values depend on the scale of scores; here only order counts",
            metrics=("precision", "recall", "map", "mrr"),
            when="scores of 0 or less",
        ),
        Exclusion(
            "torch.topk does not define the order of ties; here it is the mean over all orders, as in its ndcg",
            metrics=("precision", "recall", "map", "mrr", "hit", "rprec"),
            when="tied scores",
        ),
        Exclusion(
            "it counts every row as an item of its own, so a repeated relevant item is relevant again",
            when="repeated items",
        ),
    ),
)
