"""Cornac: its metric classes, called with the arguments ``ranking_eval`` gives them, for users with a relevant item.

The whole-catalogue metrics (MAP, AUC) need a score for each item: an item that was not recommended gets 0, below every
recommended one.
"""

from __future__ import annotations

from importlib import metadata
from typing import Any

import numpy as np
from cornac import metrics

from .shared import Answers, answer, catalogue, failure, lists, mean, relevant

TRANSCRIBED = False


def version() -> str:
    return metadata.version("cornac")


def answers(case: dict[str, Any]) -> Answers:
    k = case["k"]
    classes = (metrics.Precision, metrics.Recall, metrics.FMeasure, metrics.NDCG, metrics.NCRR, metrics.HitRatio)
    computed = [kind(k=k) for kind in classes] + [metrics.MRR(), metrics.MAP(), metrics.AUC()]
    return {metric.name or type(metric).__name__: _answer(case, metric) for metric in computed}


def _answer(case: dict[str, Any], metric: Any) -> dict[str, Any]:
    """The values of the users; an error of one user is the answer of the metric, beside the values of the others."""
    items = catalogue(case)
    code = {item: number for number, item in enumerate(items)}
    ranked = lists(case)
    per_user: dict[str, float] = {}
    errors: list[Exception] = []
    for user, wanted in relevant(case).items():
        if not wanted:
            continue
        scores = np.zeros(len(items))
        for item, score in case["run"].get(user, []):
            scores[code[item]] = score
        try:
            per_user[user] = metric.compute(
                gt_pos=np.array(sorted(code[item] for item in wanted)),
                gt_neg=np.array(sorted(code[item] for item in items if item not in wanted)),
                pd_rank=np.array([code[item] for item in ranked.get(user, [])], dtype=int),
                pd_scores=scores,
                item_indices=np.arange(len(items)),
            )
        except Exception as error:
            errors.append(error)
    found = answer(mean(per_user.values()), per_user)
    return failure(errors[0]) | {"per_user": found["per_user"]} if errors else found
