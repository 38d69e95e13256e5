"""Elliot: formulas restated from its source, because it cannot be installed with a current Python."""

from __future__ import annotations

from recassay.profiles.base import Profile

SAME = "missing='skip'"

PROFILE = Profile(
    name="elliot",
    title="Elliot",
    version="0.3.1",
    transcribed=True,
    conventions={"duplicates": "keep"},
    metrics={
        "precision": f"precision({SAME})",
        "recall": f"recall({SAME})",
        "ndcg": f"ndcg(gain='exp2', {SAME})",
        "map": f"mean_precision({SAME})",
        "mrr": f"mrr({SAME})",
        "hit": f"hit({SAME})",
    },
    differs=(
        "what it calls MAP is the mean of precision at every rank, hit or not",
        "gains are 2^(grade - threshold + 1) - 1: with relevant_from=t, state ndcg(offset=t - 1)",
        "a user without a list, or without a relevant item, is left out",
    ),
)
