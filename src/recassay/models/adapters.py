"""Systems that were not made for recassay: score tables and functions.

Each adapter is a description with ``fit``, and what it fits has the capabilities of a model. Functions speak in the ids
of the log; tables stand in the order of its users and items, which is ascending by id.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.sparse import issparse

from recassay.data.interactions import Interactions
from recassay.data.vocabulary import positions
from recassay.errors import InputError
from recassay.models.base import NOTHING, Lists, Scoring


@dataclass(frozen=True, eq=False)
class ScoreTable:
    """A table of scores, users by items: NumPy, SciPy sparse (what is not stored scores 0) or a torch tensor.

    >>> from recassay.data.synthetic import log
    >>> made = log(users=30, items=20, events=150)
    >>> fitted = ScoreTable(np.arange(made.n_users * made.n_items).reshape(made.n_users, -1)).fit(made)
    >>> fitted.scores(np.array([1], np.int32))[0, :3].tolist()
    [20, 21, 22]
    """

    table: Any
    name: str = "scores"

    def __str__(self) -> str:
        return self.name

    def fit(self, log: Interactions) -> FittedTable:
        """Checks that there is a row per user and a column per item."""
        if tuple(self.table.shape) != (log.n_users, log.n_items):
            raise InputError(
                "I308",
                f"{self.name} has shape {tuple(self.table.shape)} for {log.n_users:,} users and {log.n_items:,} items",
                hint="a row per user and a column per item of the whole log, both ascending by id",
            )
        return FittedTable(log, self.table.tocsr() if issparse(self.table) else self.table)


@dataclass(frozen=True, eq=False)
class FittedTable(Scoring):
    """A score table and the log it belongs to."""

    log: Interactions
    table: Any

    def scores(self, users: NDArray[np.int32]) -> NDArray[np.floating]:
        """Rows of the table."""
        rows = self.table[users]
        if issparse(rows):
            rows = rows.toarray()
        elif hasattr(rows, "detach"):  # a tensor, wherever it lives
            rows = rows.detach().cpu().numpy()
        return np.asarray(rows)


@dataclass(frozen=True, eq=False)
class Scores:
    """A function of a user's id that scores items: an array in the order of the log's items, or a mapping of ids.

    Items that a mapping leaves out cannot be scored.

    >>> from recassay.data.synthetic import log
    >>> fitted = Scores(lambda user: {1: 0.5, 2: float(user)}).fit(log(users=30, items=20, events=150))
    >>> fitted.scores(np.array([4], np.int32))[0, :3].tolist()
    [0.5, 5.0, -inf]
    """

    function: Callable[[Any], Any]
    name: str = "scores"

    of_parts: ClassVar[bool] = True

    def __str__(self) -> str:
        return self.name

    def fit(self, log: Interactions) -> FittedScores:
        """Nothing is learnt."""
        return FittedScores(log, self.function, self.name)


@dataclass(frozen=True, eq=False)
class FittedScores(Scoring):
    """A function and the log whose ids it is asked about."""

    log: Interactions
    function: Callable[[Any], Any]
    name: str

    def scores(self, users: NDArray[np.int32]) -> NDArray[np.floating]:
        """What the function says of each user."""
        ids = self.log.user_vocabulary.decode(users).to_list()
        return np.stack([self._row(self.function(user), user) for user in ids])

    def _row(self, answer: Any, user: Any) -> NDArray[np.float64]:
        if isinstance(answer, Mapping):
            row = np.full(self.log.n_items, -np.inf)
            row[_places(self.log, answer.keys(), self.name, user)] = np.fromiter(answer.values(), float, len(answer))
            return row
        row = np.asarray(answer, np.float64)
        if row.shape != (self.log.n_items,):
            raise InputError(
                "I308",
                f"{self.name} gave {row.shape} scores for user {user!r} and {self.log.n_items:,} items",
                hint="give one score per item of the log, or a mapping of item ids to scores",
            )
        return row


@dataclass(frozen=True, eq=False)
class Recommends:
    """A function of a user's id and k that gives the best items, best first: ids, or pairs of id and score.

    Only lists are known of such a system, so what they leave out ties at their end. Items that the user has in training
    are left out of its lists here.

    >>> from recassay.data.synthetic import log
    >>> fitted = Recommends(lambda user, k: [3, 1, 2][:k]).fit(log(users=30, items=20, events=150))
    >>> fitted.recommend(np.array([4], np.int32), 2)[0].tolist()
    [[2, 1]]
    """

    function: Callable[[Any, int], Iterable[Any]]
    name: str = "lists"

    of_parts: ClassVar[bool] = True

    def __str__(self) -> str:
        return self.name

    def fit(self, log: Interactions) -> FittedLists:
        """Nothing is learnt."""
        return FittedLists(log, self.function, self.name)


@dataclass(frozen=True, eq=False)
class FittedLists:
    """A function and the log whose ids it is asked about."""

    log: Interactions
    function: Callable[[Any, int], Iterable[Any]]
    name: str

    def recommend(self, users: NDArray[np.int32], k: int) -> Lists:
        """Items and scores, best first; without scores an item's is minus its rank."""
        items, scores = np.full((users.size, k), NOTHING, np.int32), np.full((users.size, k), -np.inf)
        offsets, profile = self.log.by_user
        for row, user in enumerate(users.tolist()):
            known = profile[offsets[user] : offsets[user + 1]]
            name = self.log.user_vocabulary.decode(np.array([user]))[0]
            answer = list(self.function(name, k + known.size))
            paired = bool(answer) and isinstance(answer[0], tuple)
            ids = [one[0] for one in answer] if paired else answer
            worth = np.array([one[1] for one in answer], float) if paired else -np.arange(1.0, len(ids) + 1)
            places = _places(self.log, ids, self.name, name)
            keep = np.flatnonzero(~np.isin(places, known))[:k]
            items[row, : keep.size], scores[row, : keep.size] = places[keep], worth[keep]
        return items, scores


def _places(log: Interactions, ids: Iterable[Any], name: str, user: Any) -> NDArray[np.int64]:
    """Codes of items; an item that the log does not have is refused."""
    listed = list(ids)
    if not listed:
        return np.empty(0, np.int64)
    assert log.item_vocabulary.ids is not None, "a log's ids are dense"
    ids = pl.Series(listed)
    alike = ids.dtype.is_integer() == log.item_vocabulary.ids.dtype.is_integer()
    found = positions(ids, log.item_vocabulary.ids) if alike else np.full(ids.len(), -1)
    if (found < 0).any():
        stranger = listed[int(np.argmax(found < 0))]
        raise InputError(
            "I312",
            f"{name} answered user {user!r} with {int((found < 0).sum()):,} items that the log does not have, such as "
            f"{stranger!r}",
            hint="recommend items of the log it was fitted on, by their ids",
        )
    return found
