"""ranx: Qrels and Run from data frames, evaluate() with all six metrics at once; per-query values are kept."""

from __future__ import annotations

import warnings
from importlib import metadata
from typing import Any

import pandas as pd
import timing

warnings.simplefilter("ignore")
from ranx import Qrels, Run, evaluate  # noqa: E402

METRICS = ["ndcg@10", "map", "mrr", "recall@10", "precision@10", "hit_rate@10"]


def load(run: str, truth: str) -> Any:
    lists = pd.read_parquet(run, columns=["user_id", "item_id", "score"])
    judged = pd.read_parquet(truth, columns=["user_id", "item_id"]).assign(gain=1)
    for frame in (lists, judged):
        for column in ("user_id", "item_id"):
            frame[column] = frame[column].astype(str)
    return (
        Qrels.from_df(judged, q_id_col="user_id", doc_id_col="item_id", score_col="gain"),
        Run.from_df(lists, q_id_col="user_id", doc_id_col="item_id", score_col="score"),
    )


def compute(ready: Any) -> dict[str, float]:
    return {name: float(value) for name, value in evaluate(*ready, METRICS, make_comparable=True).items()}


timing.main("ranx", metadata.version("ranx"), load, compute)
