"""ranx: ``evaluate(Qrels, Run)`` on dictionaries, with ``make_comparable`` for users that one side lacks.

Left out is its bpref: it is NaN without judged non-relevant items, and a user without a relevant item turns values of
others to 0 (how many depends on the number of threads).
"""

from __future__ import annotations

import warnings
from importlib import metadata
from typing import Any

import ranx

from .shared import Answers, answer

TRANSCRIBED = False


def version() -> str:
    return metadata.version("ranx")


def answers(case: dict[str, Any]) -> Answers:
    k = case["k"]
    at_cutoff = ("precision", "recall", "f1", "ndcg", "ndcg_burges", "map", "mrr", "hit_rate", "hits")
    names = [*(f"{metric}@{k}" for metric in at_cutoff), "map", "mrr", "ndcg", "r-precision", "rbp.80"]
    qrels = ranx.Qrels({user: dict(judged) for user, judged in case["truth"].items()})
    run = ranx.Run({user: {item: float(score) for item, score in ranked} for user, ranked in case["run"].items()})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its compiler
        means = ranx.evaluate(qrels, run, names, make_comparable=True)
    return {name: answer(means[name], run.scores[name]) for name in names}
