"""RecTools: ``calc_per_user`` and ``calc`` on tables of recommendations (with ranks) and of test interactions."""

from __future__ import annotations

from importlib import metadata
from typing import Any

import pandas as pd
from rectools import metrics

from .shared import Answers, answer, attempt, relevant_rows, run_rows

TRANSCRIBED = False


def version() -> str:
    return metadata.version("rectools")


def answers(case: dict[str, Any]) -> Answers:
    k = case["k"]
    computed = {
        f"Precision@{k}": metrics.Precision(k=k),
        f"Precision(r_precision)@{k}": metrics.Precision(k=k, r_precision=True),
        f"Recall@{k}": metrics.Recall(k=k),
        f"F1Beta@{k}": metrics.F1Beta(k=k),
        f"NDCG@{k}": metrics.NDCG(k=k),
        f"NDCG(divide_by_achievable)@{k}": metrics.NDCG(k=k, divide_by_achievable=True),
        f"NDCG(log_base=3)@{k}": metrics.NDCG(k=k, log_base=3),
        f"MAP@{k}": metrics.MAP(k=k),
        f"MAP(divide_by_k)@{k}": metrics.MAP(k=k, divide_by_k=True),
        f"MRR@{k}": metrics.MRR(k=k),
        f"HitRate@{k}": metrics.HitRate(k=k),
    }
    return {name: attempt(lambda metric=metric: _answer(case, metric)) for name, metric in computed.items()}


def _answer(case: dict[str, Any], metric: Any) -> dict[str, Any]:
    reco = pd.DataFrame(run_rows(case), columns=["user_id", "item_id", "score", "rank"])
    interactions = pd.DataFrame(relevant_rows(case), columns=["user_id", "item_id", "weight"])
    per_user = metric.calc_per_user(reco, interactions)
    return answer(metric.calc(reco, interactions), per_user.to_dict())
