"""What a model is: a frozen description that fits a log into something that recommends.

A description can be printed, compared and fitted many times; fitting never changes it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.data.interactions import Interactions
from recassay.data.run import Run
from recassay.data.vocabulary import positions
from recassay.errors import UsageError
from recassay.named import Named
from recassay.threads import blocks

USERS_PER_BLOCK = 256  # bounds the memory; a constant, because a matrix product rounds by the shape of its block
NOTHING = -1  # the place of a list that ends early

Lists = tuple[NDArray[np.int32], NDArray[np.float64]]
Score = Callable[[NDArray[np.int32]], NDArray[np.float64]]


class Fitted(Protocol):
    """A model that has seen a log."""

    @property
    def log(self) -> Interactions:
        """The log it has seen."""

    def recommend(self, users: NDArray[np.int32], k: int) -> Lists:
        """Items (n, k) and scores (n, k), best first, for users by their code in the log; no item they had before."""


class Model(Protocol):
    """The description of a model: any object with ``fit``."""

    def fit(self, log: Interactions) -> Fitted:
        """The model that has seen this log."""


class BuiltIn(Named):
    """Base of the descriptions of built-in models."""


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
        # Every block has the same shape: whoever else is asked about does not change a bit of a user's scores.
        block = np.append(users[begin:end], np.zeros(USERS_PER_BLOCK - (end - begin), np.int32))
        table = np.array(score(block)[: end - begin], np.float64)
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
