"""RecBole: its ``Collector`` and ``Evaluator`` on a matrix of full scores.

It scores the whole catalogue, so an item that was not recommended has score minus infinity, and a list shorter than k
is followed by items that nobody likes.
"""

from __future__ import annotations

from importlib import metadata
from typing import Any

import torch
from recbole.evaluator import Collector, Evaluator

from .shared import Answers, answer, attempt, catalogue, relevant

TRANSCRIBED = False


def version() -> str:
    return metadata.version("recbole")


def answers(case: dict[str, Any]) -> Answers:
    names = ("Precision", "Recall", "NDCG", "MAP", "MRR", "Hit")
    return {f"{name.lower()}@{case['k']}": attempt(lambda name=name: _answer(case, name)) for name in names}


def _answer(case: dict[str, Any], name: str) -> dict[str, Any]:
    users = [user for user, items in relevant(case).items() if items]
    per_user = {user: _evaluate(case, name, [user]) for user in users}
    return answer(_evaluate(case, name, users), per_user)


def _evaluate(case: dict[str, Any], name: str, users: list[str]) -> float:
    k = case["k"]
    config = {
        "metrics": [name],
        "topk": [k],
        "metric_decimal_place": 15,
        "eval_args": {"mode": {"valid": "full", "test": "full"}},
        "device": torch.device("cpu"),
    }
    collector = Collector(config)
    scores, rows, columns = _scores(case, users)
    collector.eval_batch_collect(scores, None, torch.tensor(rows), torch.tensor(columns))
    (value,) = Evaluator(config).evaluate(collector.get_data_struct()).values()
    return value


def _scores(case: dict[str, Any], users: list[str]) -> tuple[Any, list[int], list[int]]:
    """The score matrix ([PAD], the catalogue, k fillers), and row and column of each relevant item."""
    k, items, liked = case["k"], catalogue(case), relevant(case)
    column = {item: number for number, item in enumerate(items, start=1)}
    scores = torch.full((len(users), 1 + len(items) + k), float("-inf"))
    scores[:, 1 + len(items) :] = -1.0
    for row, user in enumerate(users):
        for item, score in case["run"].get(user, []):
            scores[row, column[item]] = score
    positives = [(row, column[item]) for row, user in enumerate(users) for item in liked[user]]
    return scores, [row for row, _ in positives], [number for _, number in positives]
