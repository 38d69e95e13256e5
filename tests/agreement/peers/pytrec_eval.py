"""trec_eval through pytrec_eval: ``RelevanceEvaluator`` per query; the mean is over the queries it returns."""

from __future__ import annotations

from functools import partial
from importlib import metadata
from typing import Any

import pytrec_eval

from .shared import Answers, answer, attempt, mean

TRANSCRIBED = False


def version() -> str:
    return f"pytrec-eval-terrier {metadata.version('pytrec-eval-terrier')}"


def answers(case: dict[str, Any]) -> Answers:
    k = case["k"]
    whole_list = ("map", "ndcg", "recip_rank", "Rprec", "bpref", "infAP", "set_F")
    at_cutoff = ("P", "recall", "ndcg_cut", "map_cut", "success")
    names = {name: name for name in whole_list} | {f"{name}.{k}": f"{name}_{k}" for name in at_cutoff}
    return {shown: attempt(partial(_answer, case, measure, shown)) for measure, shown in names.items()}


def _answer(case: dict[str, Any], measure: str, shown: str) -> dict[str, Any]:
    run = {user: {item: float(score) for item, score in ranked} for user, ranked in case["run"].items()}
    results = pytrec_eval.RelevanceEvaluator(case["truth"], {measure}).evaluate(run)
    per_user = {user: values[shown] for user, values in results.items()}
    return answer(mean(per_user.values()), per_user)
