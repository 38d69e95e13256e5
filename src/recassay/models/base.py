"""What a model is: a frozen description that fits a log into something that recommends.

A description can be printed, compared and fitted many times; fitting never changes it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.sparse import csr_array

from recassay.data.histories import Histories
from recassay.data.interactions import Interactions
from recassay.data.run import Run
from recassay.data.vocabulary import positions
from recassay.errors import InputError, UsageError
from recassay.named import Named
from recassay.threads import blocks

USERS_PER_BLOCK = 256  # bounds the memory; a constant, because a matrix product rounds by the shape of its block
NOTHING = -1  # the place of a list that ends early

Lists = tuple[NDArray[np.int32], NDArray[np.float64]]
Score = Callable[[NDArray[np.int32]], NDArray[np.floating]]


class Fitted(Protocol):
    """A model that has seen a log."""

    @property
    def log(self) -> Interactions:
        """The log it has seen."""

    def recommend(self, users: NDArray[np.int32], k: int) -> Lists:
        """Items (n, k) and scores (n, k), best first, for users by their code in the log; no item they had before."""


@runtime_checkable
class Scorer(Protocol):
    """A fitted model that scores every item; it may be asked from several threads at once."""

    def scores(self, users: NDArray[np.int32]) -> NDArray[np.floating]:
        """Scores (n, items) for users by their code; those of seen items are there, and mean nothing."""


@runtime_checkable
class Factors(Protocol):
    """A fitted model whose scores are ``user_factors[u] @ item_factors[i]``: judged several times faster."""

    @property
    def user_factors(self) -> NDArray[np.float32]:
        """A row per user."""

    @property
    def item_factors(self) -> NDArray[np.float32]:
        """A row per item."""


@runtime_checkable
class Sequential(Protocol):
    """A fitted model that scores what comes after any sequence of items."""

    def next_scores(self, histories: Histories) -> NDArray[np.floating]:
        """Scores (n, items) of what comes next; an empty history may be asked about."""

    def told(self, log: Interactions) -> Fitted:
        """The same model with this log for its users' histories: it has heard of more, and learnt nothing more."""


class Model(Protocol):
    """The description of a model: any object with ``fit``."""

    def fit(self, log: Interactions) -> Fitted:
        """The model that has seen this log."""


@runtime_checkable
class OfParts(Protocol):
    """The description of a model that learns nothing of one user from another, counts of items aside.

    Fitted on the rows of some users it answers for them as if it had seen all.
    """

    @property
    def of_parts(self) -> bool:
        """Yes."""


class BuiltIn(Named):
    """Base of the descriptions of built-in models."""

    def at_least(self, least: float, *parameters: str) -> None:
        """Refuse parameters below a bound."""
        for parameter in parameters:
            if getattr(self, parameter) < least:
                raise self.refuse(parameter, "it cannot be so small", f"{least:g} or more")


class Scoring(ABC):
    """Base of fitted models that score every item: their lists are the best unseen ones."""

    log: Interactions

    @abstractmethod
    def scores(self, users: NDArray[np.int32]) -> NDArray[np.floating]:
        """A score of every item for each user."""

    def recommend(self, users: NDArray[np.int32], k: int) -> Lists:
        """Items and scores, best first."""
        return best_unseen(self.scores, self.log, users, k)


@dataclass(frozen=True, eq=False)
class FittedFactors(Scoring):
    """A score is the product of a user's and an item's factors."""

    log: Interactions
    user_factors: NDArray[np.float32]
    item_factors: NDArray[np.float32]

    def scores(self, users: NDArray[np.int32]) -> NDArray[np.float32]:
        """A score of every item for each user."""
        return self.user_factors[users] @ self.item_factors.T


def profiles(log: Interactions) -> csr_array:
    """The 0/1 matrix of users and items: 1 where the user had the item, however often."""
    offsets, items = log.by_user
    return csr_array((np.ones(items.size), items, offsets), shape=(log.n_users, log.n_items))


def checked(table: NDArray[np.floating], shape: tuple[int, int], who: str) -> NDArray[np.floating]:
    """A model's scores, as single or double precision numbers; a wrong shape and NaN are refused."""
    if np.shape(table) != shape:
        raise InputError(
            "I308",
            f"{who} gave scores of shape {np.shape(table)} for {shape[0]:,} users and {shape[1]:,} items",
            hint=f"give an array of shape {shape}: a row per user, a column per item of the log",
        )
    if bad := int(np.isnan(table).sum()):
        row, column = np.argwhere(np.isnan(table))[0]
        raise InputError(
            "I309",
            f"{who} gave {bad:,} NaN among {table.size:,} scores, the first in row {row}, column {column}",
            hint="give -inf for what cannot be scored",
        )
    return table if table.dtype in (np.float32, np.float64) else table.astype(np.float64)


def best_unseen(score: Score, log: Interactions, users: NDArray[np.int32], k: int) -> Lists:
    """The k best items of each user that the user's profile does not have, block by block.

    ``score`` gives a row of item scores per user. Equal scores stand in ascending order of id. A list that runs out
    of items ends in -1 with score -inf.
    """
    if k < 1:
        raise UsageError("U103", f"the cut-off is {k}", hint="ask for at least 1 item")
    items, scores = np.full((users.size, k), NOTHING, np.int32), np.full((users.size, k), -np.inf)
    width = min(k, log.n_items)
    for begin, end in blocks(users.size, USERS_PER_BLOCK):
        # Every block has the same shape: a matrix product rounds by it.
        block = np.append(users[begin:end], np.zeros(USERS_PER_BLOCK - (end - begin), np.int32))
        table = np.array(checked(score(block), (block.size, log.n_items), "the model")[: end - begin], np.float64)
        _mask_seen(table, log, users[begin:end])
        items[begin:end, :width], scores[begin:end, :width] = _top(table, width)
    items[np.isneginf(scores)] = NOTHING
    return items, scores


def _mask_seen(table: NDArray[np.float64], log: Interactions, users: NDArray[np.int32]) -> None:
    offsets, profile = log.by_user
    lengths = offsets[users + 1] - offsets[users]
    within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    table[np.repeat(np.arange(users.size), lengths), profile[np.repeat(offsets[users], lengths) + within]] = -np.inf


def _top(table: NDArray[np.float64], k: int) -> Lists:
    """Columns and values of the k largest of each row, largest first, equal values in ascending order of column."""
    threshold = -np.partition(-table, k - 1, axis=1)[:, k - 1, None]
    above, level = table > threshold, table == threshold
    room = k - above.sum(axis=1, keepdims=True)
    columns = np.nonzero(above | (level & (np.cumsum(level, axis=1) <= room)))[1].reshape(-1, k)
    values = np.take_along_axis(table, columns, axis=1)
    order = np.argsort(-values, axis=1, kind="stable")
    return np.take_along_axis(columns, order, axis=1).astype(np.int32), np.take_along_axis(values, order, axis=1)


def recommend(fitted: Fitted, queries: pl.Series, k: int, name: str) -> Run:
    """A run with a list of at most k items for every query that is a user of the log.

    >>> from recassay.models.popular import Popular
    >>> log = Interactions.from_frame(pl.DataFrame({"user_id": [1, 1, 2], "item_id": ["x", "y", "y"]}))
    >>> recommend(Popular().fit(log), pl.Series([1, 2, 3]), 5, "pop").frame().rows()
    [(2, 'x', 1, 1.0)]
    """
    log = fitted.log
    assert log.user_vocabulary.ids is not None, "a log's ids are dense"
    places = positions(queries, log.user_vocabulary.ids)
    users = places[places >= 0].astype(np.int32)
    items, scores = fitted.recommend(users, k)
    row, place = np.nonzero(items != NOTHING)
    frame = pl.DataFrame(
        {
            "user_id": log.user_vocabulary.decode(users[row]),
            "item_id": log.item_vocabulary.decode(items[row, place]),
            "rank": pl.Series(place + 1, dtype=pl.Int32),
            "score": scores[row, place],
        }
    )
    return Run.from_frame(frame, name)
