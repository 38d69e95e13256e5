"""A profile: the conventions of an in-house evaluation script, so that its old numbers can be reproduced."""

from __future__ import annotations

from recassay.profiles.base import Profile

PROFILE = Profile(
    name="in_house",
    title="our old script",
    version="2019",
    metrics={"precision": "precision(divide_by='list')", "recall": "recall", "ndcg": "ndcg(gain='binary')"},
    differs=("precision is divided by the length of a short list",),
)
