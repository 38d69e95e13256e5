"""RecPack: its metric classes on two sparse matrices of one shape; the truth is binary, as its scenarios give it."""

from __future__ import annotations

from importlib import metadata
from typing import Any

from recpack import metrics
from scipy.sparse import csr_matrix

from .shared import Answers, answer, attempt, catalogue, relevant_rows, run_rows

TRANSCRIBED = False


def version() -> str:
    return metadata.version("recpack")


def answers(case: dict[str, Any]) -> Answers:
    k = case["k"]
    classes = ("PrecisionK", "RecallK", "CalibratedRecallK", "NDCGK", "DCGK", "ReciprocalRankK", "HitK")
    return {f"{name}@{k}": attempt(lambda name=name: _answer(case, getattr(metrics, name)(k))) for name in classes}


def _answer(case: dict[str, Any], metric: Any) -> dict[str, Any]:
    users = sorted(set(case["truth"]) | set(case["run"]))
    row = {user: number for number, user in enumerate(users)}
    column = {item: number for number, item in enumerate(catalogue(case))}
    truth = [(1, row[user], column[item]) for user, item, _ in relevant_rows(case)]
    scored = [(score, row[user], column[item]) for user, item, score, _ in run_rows(case)]
    metric.calculate(_matrix(truth, len(row), len(column)), _matrix(scored, len(row), len(column)))
    per_user = metric.results.groupby("user_id")["score"].sum()
    return answer(metric.value, {users[int(number)]: value for number, value in per_user.items()})


def _matrix(entries: list[tuple[float, int, int]], n_users: int, n_items: int) -> Any:
    values, rows, columns = zip(*entries, strict=True)
    return csr_matrix((values, (rows, columns)), shape=(n_users, n_items))
