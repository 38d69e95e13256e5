"""Elliot cannot be installed beside a current Python, so its formulas are restated here from version 0.3.1.

Restated: ``eval_user_metric`` of Precision, Recall, HR, MRR, MAP and nDCG, the gains of
``relevance.DiscountedRelevance`` (threshold 1), and the population of ``Evaluator`` (users that are in the run and have
a relevant item).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .shared import Answers, answer, lists, mean

TRANSCRIBED = "eval_user_metric of Precision, Recall, HR, MRR, MAP and nDCG; relevance.DiscountedRelevance; Evaluator"
THRESHOLD = 1

Gains = dict[str, float]


def version() -> str:
    return "0.3.1"


def answers(case: dict[str, Any]) -> Answers:
    k = case["k"]
    gains = {
        user: {item: 2.0 ** (gain - THRESHOLD + 1) - 1 for item, gain in judged.items() if gain >= THRESHOLD}
        for user, judged in case["truth"].items()
    }
    users = [user for user in case["run"] if gains.get(user)]
    found: Answers = {}
    for name, function in METRICS.items():
        per_user = {user: function(lists(case)[user][:k], gains[user], k) for user in users}
        found[f"{name}@{k}"] = answer(mean(per_user.values()), per_user)
    return found


def precision(ranked: list[str], gains: Gains, k: int) -> float:
    return sum(item in gains for item in ranked) / k


def recall(ranked: list[str], gains: Gains, k: int) -> float:
    return sum(item in gains for item in ranked) / len(gains)


def hit_rate(ranked: list[str], gains: Gains, k: int) -> float:
    return float(any(item in gains for item in ranked))


def reciprocal_rank(ranked: list[str], gains: Gains, k: int) -> float:
    return next((1 / rank for rank, item in enumerate(ranked, start=1) if item in gains), 0.0)


def mean_precision(ranked: list[str], gains: Gains, k: int) -> float:
    """What it calls MAP: the mean of the precisions at 1, 2, ..., k, whether or not the item there is relevant."""
    return mean(precision(ranked[:cut], gains, cut) for cut in range(1, k + 1))


def ndcg(ranked: list[str], gains: Gains, k: int) -> float:
    reached = sum(gains.get(item, 0.0) / math.log2(rank + 1) for rank, item in enumerate(ranked, start=1))
    best = sorted(gains.values(), reverse=True)[:k]
    return reached / sum(gain / math.log2(rank + 1) for rank, gain in enumerate(best, start=1))


METRICS: dict[str, Callable[[list[str], Gains, int], float]] = {
    "Precision": precision,
    "Recall": recall,
    "HR": hit_rate,
    "MRR": reciprocal_rank,
    "MAP": mean_precision,
    "nDCG": ndcg,
}
