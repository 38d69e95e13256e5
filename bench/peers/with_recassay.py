"""recassay: from Parquet files to values per user."""

from __future__ import annotations

from typing import Any

import timing

import recassay as ra

METRICS = "ndcg@10 map mrr recall@10 precision@10 hit@10"


def load(run: str, truth: str) -> Any:
    return ra.read_run(run), ra.read_truth(truth)


def compute(ready: Any) -> dict[str, float]:
    scores = ra.score(*ready, METRICS, interval=None)
    return {row.metric: row.mean for row in scores.rows}


timing.main("recassay", ra.__version__, load, compute)
