"""Models that learn event by event, and what an evaluation asks of them.

Users and items are codes by first appearance: the first item of a stream is 0, the next new one 1. Nobody knows how
many there will be, so arrays grow by doubling, and take memory for users and items, never for events.
"""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from recassay.data.interactions import Interactions
from recassay.data.order import order_of
from recassay.data.times import times
from recassay.errors import UsageError
from recassay.models.base import BuiltIn, Scoring
from recassay.models.incremental._walk import Asked, Shown, Told
from recassay.portable.draws import normals
from recassay.rng import derive
from recassay.spec import suggest

Int32 = NDArray[np.int32]
ONE_AT_A_TIME = threading.Lock()  # learners make room and keep what they found when they are asked
ROWS = 1024  # drawn together, so that what is drawn does not depend on when room was made


class Learner(Protocol):
    """What a model has learnt so far. It is changed by learning, and pickled whole for a checkpoint."""

    def learn(self, users: Int32, items: Int32, values: NDArray[np.float64]) -> None:
        """Learn events, in order; their values are 1 where nothing was rated."""

    def scores(self, user: int) -> NDArray[np.floating]:
        """A score of every item learnt so far, by code, -inf for what cannot be recommended; the user may be new."""


@runtime_checkable
class Walks(Protocol):
    """A learner that walks whole blocks, compiled: the same bits as asking and telling it event by event."""

    def walk(self, told: Told, asked: Asked, shown: Shown) -> None:
        """Answer every question, learning what is told before each, and then learn the rest."""


@runtime_checkable
class Lists(Protocol):
    """A learner that gives lists and no scores."""

    def recommend(self, user: int, n: int, consumed: Int32) -> Int32:
        """At most n items, best first, none of which the user has consumed."""


@runtime_checkable
class Predicts(Protocol):
    """A learner that foretells ratings."""

    def predict(self, user: int, item: int) -> float | None:
        """What the user will rate the item; None (or NaN) if it cannot say."""


@runtime_checkable
class Starts(Protocol):
    """The description of a model that learns event by event."""

    def start(self) -> Learner:
        """A learner that knows nothing yet."""


class Incremental(BuiltIn):
    """Base of the descriptions of models that learn event by event; ``fit`` makes a model for every other protocol."""

    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {}

    @abstractmethod
    def start(self) -> Learner:
        """A learner that knows nothing yet."""

    @classmethod
    def preset(cls, name: str, **changes: Any) -> Self:
        """The model with parameters that were published for a data set, or are a library's own, and changes to them."""
        if name not in cls.presets:
            hint = suggest(name, cls.presets)
            raise UsageError("U107", f"{cls.name} has no preset '{name}'", where=cls.name, hint=hint)
        return cls(**{**cls.presets[name], **changes})

    def fit(self, log: Interactions) -> FittedStream:
        """The learner that has met the events of a log in the order of time, rows at one time as they stand."""
        return taught(self.start(), log)


def taught(learner: Learner, log: Interactions) -> FittedStream:
    """A learner that is told the events of a log in the order of time, and the log."""
    first = np.zeros(len(log), np.int32)
    order = order_of(first, () if log.timestamps is None else (times(log),))
    users, user_codes = by_appearance(log.users[order], log.n_users)
    items, item_codes = by_appearance(log.items[order], log.n_items)
    values = np.ones(len(log)) if log.ratings is None else log.ratings[order]
    learner.learn(users, items, values)
    return FittedStream(log, learner, user_codes, item_codes)


def room_for(told: Told, asked: Asked) -> tuple[int, int, int]:
    """How many users and items a walk needs rows for, and how many items will have been learnt after it."""
    learnt = int(told.items.max(initial=-1)) + 1
    users = int(max(told.users.max(initial=-1), asked.users.max(initial=-1))) + 1
    return users, max(learnt, int(asked.universe.max(initial=0))), learnt


def nobody(told: int) -> tuple[Asked, Shown]:
    """No question, and room for the time that learning takes."""
    none, nothing = np.zeros(0, np.int64), np.zeros(0, np.int32)
    return Asked(nothing, nothing, none, none, none, none, none, nothing, nothing), Shown.room(0, told, 0)


def in_order_met(codes: Int32, size: int) -> Int32:
    """The different ones among codes below ``size``, in the order in which they first appear.

    >>> in_order_met(np.array([3, 0, 3], np.int32), 4).tolist()
    [3, 0]
    """
    first = np.full(size, -1, np.int64)
    first[codes[::-1]] = np.arange(codes.size)[::-1]  # of several writes the last one stays
    met = np.flatnonzero(first >= 0)
    return met[np.argsort(first[met])].astype(np.int32)


def by_appearance(codes: Int32, size: int) -> tuple[Int32, Int32]:
    """Codes numbered anew by first appearance, and the new code of each old one (-1 if it does not appear).

    >>> [array.tolist() for array in by_appearance(np.array([3, 0, 3], np.int32), 4)]
    [[0, 1, 0], [1, -1, -1, 0]]
    """
    met = in_order_met(codes, size)
    new = np.full(size, -1, np.int32)
    new[met] = np.arange(met.size, dtype=np.int32)
    return new[codes], new


@dataclass(frozen=True, eq=False)
class FittedStream(Scoring):
    """A learner and the log it has learnt; items without events cannot be scored, users without are newcomers."""

    log: Interactions
    learner: Learner
    user_codes: Int32
    item_codes: Int32

    def scores(self, users: Int32) -> NDArray[np.float64]:
        """A score of every item for each user."""
        met, newcomer = np.flatnonzero(self.item_codes >= 0), self.user_codes.max(initial=-1) + 1
        table = np.full((users.size, self.log.n_items), -np.inf)
        codes = self.user_codes[users]
        with ONE_AT_A_TIME:
            for row, user in enumerate(np.where(codes < 0, newcomer, codes).tolist()):
                table[row, met] = self.learner.scores(user)[self.item_codes[met]]
        return table


def grown(
    array: NDArray[Any], rows: int, fill: Callable[[int, int], NDArray[Any]] | None = None, *, first: int = ROWS
) -> NDArray[Any]:
    """The array with room for so many rows at least: itself, or a copy of twice the size until it suffices.

    ``fill(begin, end)`` makes the new rows, which are zeros otherwise; bounds are ``first`` times a power of two.

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


def drawn(seed: int, what: str, begin: int, end: int, factors: int, deviation: float) -> NDArray[np.float32]:
    """Factors of users or items begin..end, drawn from Normal(0, deviation) by who they are: multiples of :data:`ROWS`.

    >>> bool((drawn(1, "user", 0, 2048, 3, 0.1)[1024:] == drawn(1, "user", 1024, 2048, 3, 0.1)).all())
    True
    """
    parts = [normals(derive(seed, what, block), (ROWS, factors)) for block in range(begin // ROWS, end // ROWS)]
    return (deviation * np.concatenate(parts)).astype(np.float32)
