"""What every peer needs: the relevant items of a case, its lists, and the shape of an answer. Standard library only."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

Answer = dict[str, Any]
Answers = dict[str, Answer]


def relevant(case: dict[str, Any]) -> dict[str, list[str]]:
    """The items of gain above 0 of each judged user; a user may have none."""
    return {user: [item for item, gain in judged.items() if gain > 0] for user, judged in case["truth"].items()}


def relevant_rows(case: dict[str, Any]) -> list[tuple[str, str, int]]:
    """(user, item, gain) for every relevant item: a user without one leaves no row, as in a table of interactions."""
    return [(user, item, gain) for user, judged in case["truth"].items() for item, gain in judged.items() if gain > 0]


def run_rows(case: dict[str, Any]) -> list[tuple[str, str, float, int]]:
    """(user, item, score, rank) for every recommendation, in list order; rank counts from 1."""
    return [
        (user, item, score, rank)
        for user, ranked in case["run"].items()
        for rank, (item, score) in enumerate(ranked, start=1)
    ]


def lists(case: dict[str, Any]) -> dict[str, list[str]]:
    """The recommended items of each user, in list order."""
    return {user: [item for item, _ in ranked] for user, ranked in case["run"].items()}


def catalogue(case: dict[str, Any]) -> list[str]:
    """Every item that is judged or recommended, in ascending order."""
    judged = {item for items in case["truth"].values() for item in items}
    return sorted(judged | {item for _, item, _, _ in run_rows(case)})


def answer(mean: Any, per_user: Mapping[Any, Any] | None = None) -> Answer:
    """Plain numbers for JSON, NaN as None."""
    values = None if per_user is None else {str(user): number(value) for user, value in sorted(per_user.items())}
    return {"mean": number(mean), "per_user": values}


def attempt(compute: Callable[[], Answer]) -> Answer:
    """The answer, or what the library raised instead."""
    try:
        return compute()
    except Exception as error:
        return failure(error)


def failure(error: Exception) -> Answer:
    """The name of the exception and the first line of its message."""
    return {"error": f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"}


def mean(values: Iterable[float]) -> float:
    """The plain mean; NaN of nothing."""
    listed = list(values)
    return sum(listed) / len(listed) if listed else math.nan


def number(value: Any) -> float | None:
    """A float that JSON can hold, or None for NaN."""
    as_float = float(value)
    return None if math.isnan(as_float) else as_float
