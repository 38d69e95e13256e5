"""Checks of the arrays in an archive, before compiled loops use their numbers as indices without bounds checks.

An archive may come from somebody else. A code beyond the end of an array would then read or write other memory, so that
the process crashes or computes with garbage.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from recassay.columnar.layout import ranges

BLOCK = 64  # entities that a flag of co-counts is about


def check_arrays(made: object) -> None:
    """Raise ValueError if an object's arrays have indices outside the arrays that they point into.

    Only objects with a rule below are checked; others hold no indices for compiled loops.
    """
    kind = type(made).__name__
    if kind in RULES:
        try:
            holds = RULES[kind](made)
        except Exception as error:
            raise ValueError(f"the arrays of {kind} do not belong together: {error}") from error
        if not holds:
            raise ValueError(f"the arrays of {kind} do not belong together")


def check_sparse(shape: tuple[int, int], data: Any, indices: Any, offsets: Any) -> None:
    """Raise ValueError if a sparse matrix has arrays that do not fit ``shape``: (rows, columns), swapped for CSC."""
    rows, columns = shape
    kind = str(offsets.dtype)
    if not (
        kind in ("int32", "int64")
        and data.dtype.kind in "biuf"
        and _codes(indices, data.shape, columns, kind=kind)
        and _offsets(offsets, data.size, kind)
        and offsets.size == rows + 1
    ):
        raise ValueError("the arrays of a sparse matrix do not belong together")


def _codes(codes: Any, shape: tuple[int, ...], below: int, low: int = 0, kind: str = "int32") -> bool:
    """Return whether ``codes`` has this shape and type (``kind``), and all numbers are ``low`` to ``below`` - 1."""
    return _table(codes, shape, kind) and (not codes.size or bool(low <= codes.min() <= codes.max() < below))


def _table(array: Any, shape: tuple[int, ...], kind: str = "float32") -> bool:
    return bool(array.shape == shape and array.dtype == kind)


def _offsets(offsets: Any, rows: int, kind: str = "int64") -> bool:
    """Return whether offsets ascend from 0 to a number of rows.

    ``kind`` is the type that the array must have.
    """
    ascend = _codes(offsets, (offsets.size,), rows + 1, kind=kind) and bool((np.diff(offsets) >= 0).all())
    return ascend and bool(offsets[0] == 0 and offsets[-1] == rows)


def _values_of(lists: Any) -> Any:
    """Return the values of all lists of a ``GrowingLists``, one list after another."""
    return lists.values[ranges(lists.start, lists.length)]


def _lists(lists: Any) -> bool:
    end, keys = lists.values.size + 1, lists.start.shape
    return bool(
        all(_codes(each, keys, end, kind="int64") for each in (lists.start, lists.length, lists.capacity))
        and _codes(lists.pending, keys, 1, kind="int64")
        and _codes(lists.used, (1,), end, kind="int64")
        and _table(lists.values, (lists.values.size,), "int32")
        and (lists.length <= lists.capacity).all()
        and (lists.start + lists.capacity <= lists.used[0]).all()
        and lists.capacity.sum() <= lists.used[0]
    )


def _co_counts(counts: Any) -> bool:
    entities, rows = counts.sizes.size, counts.entity_of.size
    return (
        _lists(counts.features)
        and _lists(counts.owners)
        and counts.features.start.size == entities
        and _codes(_values_of(counts.features), (int(counts.features.length.sum()),), counts.owners.start.size)
        and _codes(_values_of(counts.owners), (int(counts.owners.length.sum()),), entities)
        and _table(counts.sizes, (entities,))
        and _table(counts.rows, (rows, entities), "int32")
        and _table(counts.touched, (rows, entities // BLOCK), "bool")
        and _codes(counts.entity_of, (rows,), entities, -1, "int64")
        and rows > 0
    )


def _factors(users: Any, items: Any, more: int) -> bool:
    """Return whether items, stored in blocks, have ``more`` factors than users, and both tables the right type."""
    return (
        _table(users, (users.shape[0], users.shape[1]))
        and items.ndim == 3
        and _table(items, (items.shape[0], users.shape[1] + more, items.shape[2]))
    )


def _isgd(learner: Any) -> bool:
    items = learner.items.shape[0] * learner.items.shape[2]
    rows = learner.queue.shape[0]
    return (
        _factors(learner.users, learner.items, 0)
        and 0 <= learner.n_items <= items
        and _codes(learner.queue, (rows, 2), min(rows, items + 1))
    )


def _bprmf(learner: Any) -> bool:
    items = min(learner.items.shape[0] * learner.items.shape[2], learner.mark.size)
    counts, lists, state = learner.counts, learner.profiles, learner.settings
    return bool(
        _factors(learner.users, learner.items, 1)
        and _lists(lists)
        and _table(counts, (6,), "int64")
        and counts.min() >= 0
        and counts[2] <= items
        and counts[3] <= learner.users.shape[0] == lists.start.size
        and _codes(_values_of(lists), (int(lists.length.sum()),), int(counts[2]))
        and _table(learner.mark, (learner.mark.size,), "int64")
        and _codes(learner.pairs, (learner.pairs.size,), max(1, int(counts[2])))
        and learner.pairs.size >= (counts[1] if state.by_frequency else 0)
        and _table(state.rates, (5,))
    )


def _biased(learner: Any) -> bool:
    state = learner.state
    users, items = state.user_bias.size, state.item_bias.size
    return (
        _table(state.totals, (4,), "float64")
        and bool(0 <= state.totals[2] <= users and 0 <= state.totals[3] <= items)
        and _table(state.user_bias, (users,), "float64")
        and _table(state.item_bias, (items,), "float64")
        and _table(state.user_factors, (users, state.item_factors.shape[1]), "float64")
        and _table(state.item_factors, (items, state.user_factors.shape[1]), "float64")
    )


RULES: dict[str, Callable[[Any], bool]] = {
    "FittedCounts": lambda counts: _table(counts.counts, counts.pairs.shape, "int64"),
    "Interactions": lambda log: (
        _codes(log.users, (log.users.size,), log.user_vocabulary.size)
        and _codes(log.items, log.users.shape, log.n_items)
        and (log.ratings is None or _table(log.ratings, log.users.shape, "float64"))
        and (log.timestamps is None or log.timestamps.len() == log.users.size)
    ),
    "Sequences": lambda held: (
        _offsets(held.offsets, held.items.size)
        and _codes(held.items, (held.items.size,), held.n_items)
        and _codes(held.users, (len(held),), held.user_vocabulary.size)
    ),
    "GrowingLists": _lists,
    "History": _lists,
    "GrowingCoCounts": _co_counts,
    "FittedStream": lambda model: (
        _codes(model.user_codes, (model.log.n_users,), model.log.n_users, -1)
        and _codes(model.item_codes, (model.log.n_items,), model.log.n_items, -1)
    ),
    "LearningUKNN": lambda learner: (
        learner.threshold.size == learner.common.sizes.size
        and 0 <= learner.n_items <= learner.common.owners.start.size
        and _table(learner.threshold, (learner.threshold.size,), "float64")
        and _codes(learner.kept, (learner.threshold.size, learner.kept.shape[1]), learner.threshold.size, -1)
        and learner.kept.shape[1] in (0, learner.model.neighbours)
    ),
    "LearningItemKNN": lambda learner: 0 <= learner.n_items <= learner.common.sizes.size and learner.recent >= 0,
    "LearningISGD": _isgd,
    "LearningBPRMF": _bprmf,
    "LearningBiasedMF": _biased,
    "LearningControl": lambda learner: (
        _table(learner.item_scores, (learner.item_scores.size,), "float64")
        and _table(learner.n_events, (1,), "int64")
        and 0 <= learner.n_items <= learner.item_scores.size
    ),
}
