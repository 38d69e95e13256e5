"""pytrec_eval: dictionaries of dictionaries, one evaluator with all six measures; values per query."""

from __future__ import annotations

from importlib import metadata
from typing import Any

import pandas as pd
import pytrec_eval
import timing

MEASURES = {"ndcg_cut.10", "map", "recip_rank", "recall.10", "P.10", "success.10"}


def load(run: str, truth: str) -> Any:
    lists = pd.read_parquet(run, columns=["user_id", "item_id", "score"])
    judged = pd.read_parquet(truth, columns=["user_id", "item_id"])
    return _nested(judged, [1] * len(judged)), _nested(lists, lists["score"].tolist())


def _nested(frame: pd.DataFrame, values: list[Any]) -> dict[str, dict[str, Any]]:
    nested: dict[str, dict[str, Any]] = {}
    rows = zip(frame["user_id"].astype(str).tolist(), frame["item_id"].astype(str).tolist(), values, strict=True)
    for user, item, value in rows:
        nested.setdefault(user, {})[item] = value
    return nested


def compute(ready: Any) -> dict[str, float]:
    judged, lists = ready
    results = pytrec_eval.RelevanceEvaluator(judged, MEASURES).evaluate(lists)
    names = next(iter(results.values()))
    return {name: sum(values[name] for values in results.values()) / len(results) for name in names}


timing.main("pytrec_eval", metadata.version("pytrec-eval-terrier"), load, compute)
