"""trec_eval: the reference implementation of TREC (through pytrec_eval)."""

from __future__ import annotations

from recassay.profiles.base import Exclusion, Profile

SAME = "missing='skip', no_relevant='zero'"

PROFILE = Profile(
    name="trec_eval",
    title="trec_eval",
    version="9.0.8",
    conventions={"order": "score", "ties": "trec", "precision": "single", "duplicates": "last"},
    metrics={
        **{
            name: f"{name}({SAME})"
            for name in ("precision", "recall", "map", "ndcg", "mrr", "hit", "rprec", "bpref", "infap")
        },
        "f1": f"f1(divide_by='list', {SAME})",
    },
    differs=(
        "the rank column is ignored: lists are ordered by score, ties by descending document id as text",
        "a user without a list is left out of the mean (trec_eval -c counts 0)",
        "a user without a relevant item counts 0",
        "f1 is set_F, over the whole list",
    ),
    excludes=(
        Exclusion(
            "if most users have none it reports a value close to recall; here that is an error",
            metrics=("bpref",),
            when="few judged non-relevant items",
        ),
    ),
)
