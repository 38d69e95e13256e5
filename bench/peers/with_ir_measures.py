"""ir_measures: data frames and one evaluator with all six measures; values per query."""

from __future__ import annotations

from importlib import metadata
from typing import Any

import ir_measures
import pandas as pd
import timing
from ir_measures import AP, RR, P, R, Success, nDCG

MEASURES = {
    "ndcg@10": nDCG @ 10,
    "map": AP,
    "mrr": RR,
    "recall@10": R @ 10,
    "precision@10": P @ 10,
    "hit@10": Success @ 10,
}


def load(run: str, truth: str) -> Any:
    lists = pd.read_parquet(run, columns=["user_id", "item_id", "score"])
    judged = pd.read_parquet(truth, columns=["user_id", "item_id"]).assign(relevance=1)
    names = {"user_id": "query_id", "item_id": "doc_id"}
    frames = [frame.rename(columns=names) for frame in (judged, lists)]
    for frame in frames:
        for column in names.values():
            frame[column] = frame[column].astype(str)
    return frames


def compute(ready: Any) -> dict[str, float]:
    values: dict[Any, list[float]] = {}
    for found in ir_measures.iter_calc(list(MEASURES.values()), *ready):
        values.setdefault(found.measure, []).append(found.value)
    return {name: sum(values[measure]) / len(values[measure]) for name, measure in MEASURES.items()}


timing.main("ir_measures", metadata.version("ir-measures"), load, compute)
