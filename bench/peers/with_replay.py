"""RePlay on polars frames: all metrics in one OfflineMetrics call, with the descriptor that keeps values per user."""

from __future__ import annotations

import warnings
from importlib import metadata
from typing import Any

import polars as pl
import timing

warnings.simplefilter("ignore")
from replay.metrics import MAP, MRR, NDCG, HitRate, PerUser, Precision, Recall  # noqa: E402

NAMES = {"query_column": "user_id", "item_column": "item_id", "rating_column": "score"}


def load(run: str, truth: str) -> Any:
    lists = pl.read_parquet(run, columns=["user_id", "item_id", "score"])
    judged = pl.read_parquet(truth, columns=["user_id", "item_id"]).with_columns(score=pl.lit(1.0))
    return lists, judged


def compute(ready: Any) -> dict[str, float]:
    lists, judged = ready
    longest = lists.group_by("user_id").len()["len"].max()
    kinds = {
        "ndcg@10": (NDCG, 10), "map": (MAP, longest), "mrr": (MRR, longest),
        "recall@10": (Recall, 10), "precision@10": (Precision, 10), "hit@10": (HitRate, 10),
    }  # fmt: skip
    means = {}
    for name, (kind, k) in kinds.items():
        (per_user,) = kind(k, mode=PerUser(), **NAMES)(lists, judged).values()
        means[name] = sum(per_user.values()) / len(per_user)
    return means


timing.main("RePlay (polars)", metadata.version("replay-rec"), load, compute)
