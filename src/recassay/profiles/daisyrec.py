"""DaisyRec: the functions of ``daisy.utils.metrics``."""

from __future__ import annotations

from recassay.profiles.base import Exclusion, Profile

SAME = "missing='skip'"

PROFILE = Profile(
    name="daisyrec",
    title="DaisyRec",
    version="2.3.0",
    conventions={"duplicates": "keep"},
    metrics={
        "precision": f"precision(divide_by='list', {SAME})",
        "recall": f"recall({SAME})",
        "ndcg": f"ndcg(gain='binary', ideal='retrieved', {SAME})",
        "map": f"map(divide_by='hits', {SAME})",
        "mrr": f"mrr({SAME})",
        "hit": f"hit({SAME})",
    },
    differs=(
        "the ideal of ndcg is the best order of the hits found: a list with one hit on top has ndcg 1",
        "average precision is divided by the relevant items found, precision by the length of the list",
        "a user without a list, or without a relevant item, is left out",
    ),
    excludes=(
        Exclusion("a user without a hit makes it NaN, and the mean too", ("f1",)),
        Exclusion("it is the area over the first k ranks only", ("auc",)),
    ),
)
