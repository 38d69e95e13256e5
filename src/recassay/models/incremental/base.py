"""Base of models that learn event by event, and the arrays that grow with a stream.

Users and items have codes by first appearance: the first item of a stream is 0, the next new item 1. Their number is
not known in advance, so arrays grow by doubling. Memory grows with users and items, never with events.
"""

from __future__ import annotations

import dataclasses
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from recassay.arrays import Int32
from recassay.columnar.order import lexsort_groups
from recassay.data.interactions import Interactions
from recassay.data.times import row_times
from recassay.draws import normals
from recassay.models.base.capabilities import Learner
from recassay.models.base.model import BuiltIn, ScoringModel
from recassay.models.incremental._walk import StreamEvents, StreamQueries, WalkOutput, make_walk
from recassay.rng import derive

LEARNER_LOCK = threading.Lock()  # a query may grow arrays and caches of a learner
ROWS_PER_DRAW = 1024  # rows drawn together, so draws do not depend on when arrays grow


def with_added_seed(model: Any, seed: int) -> Any:
    """Return a model with ``seed`` added to its own; a model that is not built in, or has no seed, is unchanged."""
    own = getattr(model, "seed", None)
    if not seed or not isinstance(model, BuiltIn) or not isinstance(own, int):
        return model
    named: Any = model
    return dataclasses.replace(named, seed=own + seed)


@runtime_checkable
class WalksStream(Protocol):
    """A learner that processes whole blocks of a stream in compiled code.

    The results have the same bits as those of learning event by event.
    """

    def walk(self, events: StreamEvents, queries: StreamQueries, output: WalkOutput) -> None:
        """Process a block of a stream: learn its events in order, and answer each query after the events before it.

        The answers are written to ``output``, a row per query.
        """


class Walker(ABC):
    """Base of learners that a compiled loop runs; ``n_items`` is how many items have been learned.

    ``kernels`` are the two compiled functions of the model, which learn an event and score items; ``compiled_walk`` is
    the loop over a block of a stream that calls them.
    """

    kernels: ClassVar[tuple[Any, Any]]  # what learns an event, and what scores all items: see ``make_walk``
    compiled_walk: ClassVar[Any]
    n_items = 0

    def __init_subclass__(cls) -> None:
        cls.compiled_walk = make_walk(*cls.kernels)

    @abstractmethod
    def grow(self, users: int, items: int, events: StreamEvents | None = None) -> tuple[Any, NDArray[Any]]:
        """Enlarge the arrays to hold at least ``users`` users and ``items`` items, and what ``events`` will add.

        Return (arrays that the compiled functions read and write, array for a score of each item). ``events`` are those
        that will be learned next.
        """

    def walk(self, events: StreamEvents, queries: StreamQueries, output: WalkOutput) -> None:
        """Process a block of a stream: answer every query once the events before it have been learned.

        The events after the last query are learned at the end. Answers are written to ``output``, a row per query.
        """
        learned = int(events.items.max(initial=-1)) + 1
        users = int(max(events.users.max(initial=-1), queries.users.max(initial=-1))) + 1
        state, row = self.grow(users, max(learned, int(queries.universe.max(initial=0))), events)
        self.compiled_walk(state, row, events, queries, output)
        self.n_items = max(self.n_items, learned)

    def learn(self, users: Int32, items: Int32, values: NDArray[np.float64]) -> None:
        """Learn events in order; ``values`` are their ratings."""
        self.walk(*without_queries(users, items, values))

    def scores(self, user: int) -> NDArray[Any]:
        """Return a score of every item learned so far, by code."""
        state, row = self.grow(user + 1, self.n_items)
        self.kernels[1](state, np.int32(user), np.int32(0), self.n_items, self.n_items, row)
        return row[: self.n_items]


class Incremental(BuiltIn):
    """Base of unfitted models that learn event by event; protocols for streams use ``start``, all others ``fit``."""

    name = ""

    @abstractmethod
    def start(self) -> Learner:
        """Return a new learner that has learned nothing."""

    def fit(self, log: Interactions) -> FittedStream:
        """Return a learner that has learned the log in order of time; rows with equal times stay in order."""
        return fit_learner(self.start(), log)


def fit_learner(learner: Learner, log: Interactions) -> FittedStream:
    """Let ``learner`` learn the events of the log in order of time; return it with the log as a fitted model."""
    one_group = np.zeros(len(log), np.int32)
    order = lexsort_groups(one_group, () if log.timestamps is None else (row_times(log),))
    users, user_codes = recode_by_appearance(log.users[order], log.n_users)
    items, item_codes = recode_by_appearance(log.items[order], log.n_items)
    values = np.ones(len(log)) if log.ratings is None else log.ratings[order]
    learner.learn(users, items, values)
    return FittedStream(log, learner, user_codes, item_codes)


def without_queries(
    users: Int32, items: Int32, values: NDArray[np.float64]
) -> tuple[StreamEvents, StreamQueries, WalkOutput]:
    """Return (events, no queries, empty output), the arguments of a walk that only learns these events.

    The arrays are copied to contiguous memory if necessary, so that the loop is compiled for one layout only.
    """
    events = StreamEvents(*map(np.ascontiguousarray, (users, items, values)))
    int64, int32 = np.zeros(0, np.int64), np.zeros(0, np.int32)
    queries = StreamQueries(int32, int32, int64, int64, int64, int64, int64, int32, int32)
    return events, queries, WalkOutput.empty(0, users.size, 0)


def distinct_by_appearance(codes: Int32, size: int) -> Int32:
    """Return the distinct codes, all below ``size``, in order of first appearance.

    >>> distinct_by_appearance(np.array([3, 0, 3], np.int32), 4).tolist()
    [3, 0]
    """
    first = np.full(size, -1, np.int64)
    first[codes[::-1]] = np.arange(codes.size)[::-1]  # the last write wins: the first occurrence
    seen = np.flatnonzero(first >= 0)
    return seen[np.argsort(first[seen])].astype(np.int32)


def recode_by_appearance(codes: Int32, size: int) -> tuple[Int32, Int32]:
    """Return codes renumbered by first appearance, and the new code of each old code, -1 if it does not occur.

    All codes are below ``size``.

    >>> [array.tolist() for array in recode_by_appearance(np.array([3, 0, 3], np.int32), 4)]
    [[0, 1, 0], [1, -1, -1, 0]]
    """
    seen = distinct_by_appearance(codes, size)
    new = np.full(size, -1, np.int32)
    new[seen] = np.arange(seen.size, dtype=np.int32)
    return new[codes], new


@dataclass(frozen=True, eq=False)
class FittedStream(ScoringModel):
    """A learner and the log it has learned; items without events have no score, and most learners score no new user.

    ``user_codes`` and ``item_codes`` are the learner's codes of the log's users and items, -1 without events. A learner
    with ``personal = False``, such as popularity, scores users without events too.
    """

    log: Interactions
    learner: Learner
    user_codes: Int32
    item_codes: Int32

    @property
    def personal(self) -> bool:  # type: ignore[override]  # the learner decides
        """Return whether the learner's scores depend on the user: it then has none for a user without events."""
        return getattr(self.learner, "personal", True)

    def scores(self, users: Int32) -> NDArray[np.float64]:
        """Return scores (n, items) for user codes; -inf for items without events."""
        seen, new_user = np.flatnonzero(self.item_codes >= 0), self.user_codes.max(initial=-1) + 1
        table = np.full((users.size, self.log.n_items), -np.inf)
        codes = self.user_codes[users]
        with LEARNER_LOCK:
            for row, user in enumerate(np.where(codes < 0, new_user, codes).tolist()):
                table[row, seen] = self.learner.scores(user)[self.item_codes[seen]]
        return table


def grown(
    array: NDArray[Any],
    rows: int,
    fill: Callable[[int, int], NDArray[Any]] | None = None,
    *,
    first: int = ROWS_PER_DRAW,
) -> NDArray[Any]:
    """Return the array with at least ``rows`` rows: the array itself, or a larger copy.

    The number of rows is ``first`` times a power of two. ``fill(begin, end)`` returns the new rows; without it they are
    zeros.

    >>> grown(np.ones((1024, 2)), 1500).shape
    (2048, 2)
    """
    if rows <= array.shape[0]:
        return array
    size = first
    while size < rows:
        size *= 2
    more = np.zeros((size, *array.shape[1:]), array.dtype)
    more[: array.shape[0]] = array
    if fill is not None:
        more[array.shape[0] :] = fill(array.shape[0], size)
    return more


def initial_factors(seed: int, what: str, begin: int, end: int, factors: int, deviation: float) -> NDArray[np.float32]:
    """Return random factors (rows, factors), Normal(0, deviation), of users or items ``begin`` to ``end`` - 1.

    ``what`` names the purpose, such as "user": a row depends only on this text, the seed and the row's code. Bounds
    must be multiples of :data:`ROWS_PER_DRAW`.

    >>> both, second = (initial_factors(1, "user", begin, 2048, 3, 0.1) for begin in (0, 1024))
    >>> bool((both[1024:] == second).all())
    True
    """
    parts = [
        normals(derive(seed, what, block), (ROWS_PER_DRAW, factors))
        for block in range(begin // ROWS_PER_DRAW, end // ROWS_PER_DRAW)
    ]
    return (deviation * np.concatenate(parts)).astype(np.float32)
