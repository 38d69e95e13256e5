"""ir-measures: a front end of information retrieval tools, with the tools that it selects by default."""

from __future__ import annotations

from recassay.profiles.base import Exclusion, Profile

SAME = "no_relevant='zero'"

PROFILE = Profile(
    name="ir_measures",
    title="ir-measures",
    version="0.4.3",
    conventions={"order": "score", "ties": "trec", "precision": "single", "duplicates": "last"},
    metrics={
        **{
            name: f"{name}({SAME})"
            for name in ("precision", "recall", "map", "ndcg", "mrr", "hit", "rprec", "bpref", "infap")
        },
        "f1": f"f1(divide_by='list', {SAME})",
    },
    differs=(
        "a user without a list counts 0, unlike in trec_eval, whose code it calls",
        "a user without a relevant item counts 0",
        "the rank column is ignored: lists are ordered by score, ties by descending document id as text",
        "f1 is SetF, over the whole list",
    ),
    excludes=(
        Exclusion(
            "if most users have none it reports a value close to recall; here that is an error",
            metrics=("bpref",),
            when="few judged non-relevant items",
        ),
        Exclusion(
            "with a cut-off it uses another tool, which orders ties by ascending id; without one it agrees",
            metrics=("mrr",),
            when="tied scores",
        ),
    ),
)
