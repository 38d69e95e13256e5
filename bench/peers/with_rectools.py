"""RecTools: calc_per_user of each metric on pandas frames, the fast merged way where the library offers it."""

from __future__ import annotations

from importlib import metadata
from typing import Any

import pandas as pd
import timing
from rectools import metrics

METRICS = {
    "ndcg@10": metrics.NDCG(k=10, divide_by_achievable=True),
    "map": metrics.MAP(k=100),
    "mrr": metrics.MRR(k=100),
    "recall@10": metrics.Recall(k=10),
    "precision@10": metrics.Precision(k=10),
    "hit@10": metrics.HitRate(k=10),
}


def load(run: str, truth: str) -> Any:
    lists = pd.read_parquet(run, columns=["user_id", "item_id", "rank"])
    judged = pd.read_parquet(truth, columns=["user_id", "item_id"])
    return lists, judged


def compute(ready: Any) -> dict[str, float]:
    lists, judged = ready
    return {name: float(metric.calc_per_user(lists, judged).mean()) for name, metric in METRICS.items()}


timing.main("RecTools", metadata.version("RecTools"), load, compute)
