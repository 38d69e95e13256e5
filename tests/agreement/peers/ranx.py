"""ranx: ``evaluate(Qrels, Run)`` on dictionaries, with ``make_comparable`` for users that one side lacks."""

from __future__ import annotations

from importlib import metadata
from typing import Any

import ranx

from .shared import Answers, answer, attempt

TRANSCRIBED = False


def version() -> str:
    return metadata.version("ranx")


def answers(case: dict[str, Any]) -> Answers:
    k = case["k"]
    cut = ("precision", "recall", "f1", "ndcg", "ndcg_burges", "map", "mrr", "hit_rate", "hits")
    names = [f"{metric}@{k}" for metric in cut]
    names += ["map", "mrr", "ndcg", "r-precision", "bpref", "rbp.80"]
    return {name: attempt(lambda name=name: _answer(case, name)) for name in names}


def _answer(case: dict[str, Any], name: str) -> dict[str, Any]:
    qrels = ranx.Qrels({user: dict(judged) for user, judged in case["truth"].items()})
    run = ranx.Run({user: {item: float(score) for item, score in ranked} for user, ranked in case["run"].items()})
    mean = ranx.evaluate(qrels, run, name, make_comparable=True)
    return answer(mean, run.scores[name])
