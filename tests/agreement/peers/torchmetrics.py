"""torchmetrics: retrieval metrics on flat tensors of scores, labels and query indexes.

The library knows only the rows it is given, so a user's judged items that were not recommended are added with score 0,
below every recommended item; a user without a list has nothing but such rows.
"""

from __future__ import annotations

from importlib import metadata
from typing import Any

import torch
from torchmetrics import retrieval

from .shared import Answers, answer, attempt

TRANSCRIBED = False


def version() -> str:
    return metadata.version("torchmetrics")


def answers(case: dict[str, Any]) -> Answers:
    k = case["k"]
    metrics = {
        f"RetrievalPrecision@{k}": lambda: retrieval.RetrievalPrecision(top_k=k),
        f"RetrievalPrecision(adaptive_k)@{k}": lambda: retrieval.RetrievalPrecision(top_k=k, adaptive_k=True),
        f"RetrievalRecall@{k}": lambda: retrieval.RetrievalRecall(top_k=k),
        f"RetrievalNormalizedDCG@{k}": lambda: retrieval.RetrievalNormalizedDCG(top_k=k),
        f"RetrievalMAP@{k}": lambda: retrieval.RetrievalMAP(top_k=k),
        f"RetrievalMRR@{k}": lambda: retrieval.RetrievalMRR(top_k=k),
        f"RetrievalHitRate@{k}": lambda: retrieval.RetrievalHitRate(top_k=k),
        "RetrievalRPrecision": retrieval.RetrievalRPrecision,
    }
    return {
        name: attempt(lambda make=make, graded="DCG" in name: _answer(case, make, graded=graded))
        for name, make in metrics.items()
    }


def _answer(case: dict[str, Any], make: Any, *, graded: bool) -> dict[str, Any]:
    users = sorted(case["truth"])
    rows = {user: _rows(case["truth"][user], case["run"].get(user, []), graded=graded) for user in users}
    everybody = [(number, *row) for number, user in enumerate(users) for row in rows[user]]
    per_user = {user: _compute(make(), [(0, *row) for row in rows[user]]) for user in users}
    return answer(_compute(make(), everybody), per_user)


def _rows(judged: dict[str, int], ranked: list[list[Any]], *, graded: bool) -> list[tuple[float, int]]:
    """(score, label) of the list's items in list order, then of the judged items it lacks; binary unless graded."""
    listed = {item for item, _ in ranked}
    pairs = [(item, float(score)) for item, score in ranked] + [(item, 0.0) for item in judged if item not in listed]
    return [(score, judged.get(item, 0) if graded else int(judged.get(item, 0) > 0)) for item, score in pairs]


def _compute(metric: Any, rows: list[tuple[int, float, int]]) -> float:
    index, score, label = (torch.tensor(column) for column in zip(*rows, strict=True))
    metric.update(score, label, indexes=index)
    return float(metric.compute())
