"""Adapters for systems that were not written for recassay: score tables and functions.

Each adapter is an unfitted model: its ``fit(log)`` returns a fitted model that recommends. Functions get and
return ids of the log. Rows and columns of tables are in the order of the log's users and items: ascending by id.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl
import scipy
from numpy.typing import NDArray

from recassay.columnar.vocabulary import rows_in_table
from recassay.data.interactions import Interactions
from recassay.errors import InputError
from recassay.models.base.capabilities import Lists
from recassay.models.base.model import NO_ITEM, NamesFitted, ScoringModel


class Adapter(NamesFitted):
    """Base of adapters with a ``name``, by which tables call them."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, eq=False)
class ScoreTable(Adapter):
    """A table of scores, users by items: NumPy, SciPy sparse (missing entries score 0) or a torch tensor.

    >>> from recassay.data.synthetic import log
    >>> made = log(users=30, items=20, events=150)
    >>> fitted = ScoreTable(np.arange(made.n_users * made.n_items).reshape(made.n_users, -1)).fit(made)
    >>> fitted.scores(np.array([1], np.int32))[0, :3].tolist()
    [20, 21, 22]
    """

    table: Any
    name: str = "scores"

    def fit(self, log: Interactions) -> FittedTable:
        """Return the table with its log; raise I308 unless it has a row per user and a column per item of the log."""
        if tuple(self.table.shape) != (log.n_users, log.n_items):
            raise InputError(
                "I308",
                f"{self.name} has shape {tuple(self.table.shape)} for {log.n_users:,} users and {log.n_items:,} items",
                hint="give a row per user and a column per item of the whole log, both ascending by id",
            )
        return FittedTable(log, self.table.tocsr() if scipy.sparse.issparse(self.table) else self.table)


@dataclass(frozen=True, eq=False)
class FittedTable(ScoringModel):
    """A score table (users, items), with the log whose users and items its rows and columns belong to."""

    personal: ClassVar[bool] = False

    log: Interactions
    table: Any

    def scores(self, users: NDArray[np.int32]) -> NDArray[np.floating]:
        """Return rows (n, items) of the table for user codes."""
        rows = self.table[users]
        if scipy.sparse.issparse(rows):
            rows = rows.toarray()
        elif hasattr(rows, "detach"):  # a torch tensor, on any device
            rows = rows.detach().cpu().numpy()
        return np.asarray(rows)


@dataclass(frozen=True, eq=False)
class ScoreFunction(Adapter):
    """A function from a user id to item scores: an array in the order of the log's items, or a mapping by item id.

    Items missing from a mapping have no score and are never recommended.

    >>> from recassay.data.synthetic import log
    >>> fitted = ScoreFunction(lambda user: {1: 0.5, 2: float(user)}).fit(log(users=30, items=20, events=150))
    >>> fitted.scores(np.array([4], np.int32))[0, :3].tolist()
    [0.5, 5.0, -inf]
    """

    function: Callable[[Any], Any]
    name: str = "scores"

    fits_by_user: ClassVar[bool] = True

    def fit(self, log: Interactions) -> FittedScores:
        """Return the function together with the log that translates its ids; nothing is learned."""
        return FittedScores(log, self.function, self.name)


@dataclass(frozen=True, eq=False)
class FittedScores(ScoringModel):
    """A function from a user id to item scores, with the log that translates user codes to ids."""

    personal: ClassVar[bool] = False

    log: Interactions
    function: Callable[[Any], Any]
    name: str

    def scores(self, users: NDArray[np.int32]) -> NDArray[np.floating]:
        """Return the scores (n, items) of the function for user codes."""
        ids = self.log.user_vocabulary.decode(users).to_list()
        return np.stack([self._row(self.function(user), user) for user in ids])

    def _row(self, answer: Any, user: Any) -> NDArray[np.float64]:
        """Return a score per item of the log from ``answer``, what the function returned for ``user``.

        Raise I308 if it has a wrong length, I372 if a mapping has an unknown item.
        """
        if isinstance(answer, Mapping):
            row = np.full(self.log.n_items, -np.inf)
            row[_item_codes(self.log, answer.keys(), self.name, user)] = np.fromiter(
                answer.values(), float, len(answer)
            )
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
class RecommendFunction(Adapter):
    """A function from a user id and k to the best items, best first: item ids, or pairs of id and score.

    Such a system only has lists, so all items missing from a list tie at its end. Items that the user has in training
    are removed from the lists.

    >>> from recassay.data.synthetic import log
    >>> fitted = RecommendFunction(lambda user, k: [3, 1, 2][:k]).fit(log(users=30, items=20, events=150))
    >>> fitted.recommend(np.array([4], np.int32), 2)[0].tolist()
    [[2, 1]]
    """

    function: Callable[[Any, int], Iterable[Any]]
    name: str = "lists"

    fits_by_user: ClassVar[bool] = True

    def fit(self, log: Interactions) -> FittedLists:
        """Return the function together with the log that translates its ids; nothing is learned."""
        return FittedLists(log, self.function, self.name)


@dataclass(frozen=True, eq=False)
class FittedLists:
    """A function from a user id and k to a ranked list of item ids, with the log that translates codes to ids."""

    log: Interactions
    function: Callable[[Any, int], Iterable[Any]]
    name: str

    def recommend(self, users: NDArray[np.int32], k: int) -> Lists:
        """Return items and scores (n, k), best first; without scores, an item's score is minus its rank."""
        items, scores = np.full((users.size, k), NO_ITEM, np.int32), np.full((users.size, k), -np.inf)
        offsets, profile = self.log.by_user
        for row, user in enumerate(users.tolist()):
            known = profile[offsets[user] : offsets[user + 1]]
            user_id = self.log.user_vocabulary.decode(np.array([user]))[0]
            answer = list(self.function(user_id, k + known.size))
            paired = bool(answer) and isinstance(answer[0], tuple)
            ids = [pair[0] for pair in answer] if paired else answer
            values = np.array([pair[1] for pair in answer], float) if paired else -np.arange(1.0, len(ids) + 1)
            codes = _item_codes(self.log, ids, self.name, user_id)
            keep = np.flatnonzero(~np.isin(codes, known))[:k]
            items[row, : keep.size], scores[row, : keep.size] = codes[keep], values[keep]
        return items, scores


def _item_codes(log: Interactions, ids: Iterable[Any], name: str, user: Any) -> NDArray[np.int64]:
    """Return the codes of item ids; raise I372 if the log does not have one of them.

    ``name`` is the name of the function that recommended them to ``user``, for the error.
    """
    listed = list(ids)
    if not listed:
        return np.empty(0, np.int64)
    ids = pl.Series(listed)
    same_kind = ids.dtype.is_integer() == log.item_ids.dtype.is_integer()
    found = rows_in_table(ids, log.item_ids) if same_kind else np.full(ids.len(), -1)
    if (found < 0).any():
        unknown = listed[int(np.argmax(found < 0))]
        raise InputError(
            "I372",
            f"{name} recommended {int((found < 0).sum()):,} items to user {user!r} that the log does not have, such as "
            f"{unknown!r}",
            hint="recommend items of the log by their ids",
        )
    return found
