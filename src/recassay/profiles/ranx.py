"""ranx: ``evaluate`` with ``make_comparable=True``."""

from __future__ import annotations

from recassay.profiles.base import Exclusion, Profile

SAME = "no_relevant='zero'"

PROFILE = Profile(
    name="ranx",
    title="ranx",
    version="0.3.21",
    conventions={"order": "score", "ties": "ranx", "duplicates": "last"},
    metrics={
        **{name: f"{name}({SAME})" for name in ("precision", "recall", "f1", "map", "ndcg", "mrr", "hit", "rprec")},
        "rbp": f"rbp(scale=1.0, {SAME})",
    },
    differs=(
        "ties keep the order of rows in lists of up to 15 items; in longer lists its sort (numba's) permutes them",
        "with make_comparable=True it sorts twice, so the order of ties in longer lists differs from that without it",
        "a user without a list counts 0 with make_comparable=True; without it, it is an error",
        "a user without a relevant item counts 0",
        "ndcg has linear gains; ndcg_burges is ndcg(gain='exp2'), hits is hit(form='count')",
        "rbp multiplies with the grade, so graded judgements can take it above 1",
    ),
    excludes=(
        Exclusion(
            "NaN without judged non-relevant items, and a user without a relevant item changes values of others",
            metrics=("bpref",),
        ),
    ),
)
