"""User neighbours that predict ratings from the ratings of similar users."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import scipy
from numpy.typing import NDArray

from recassay.data.interactions import Interactions
from recassay.data.nouns import require_log
from recassay.models.base.model import BuiltIn, ScoringModel, rating_values
from recassay.threads import blocks

NUMBERS = 1 << 22  # entries of a block of similarities

Table = NDArray[np.float64]


@dataclass(frozen=True, repr=False)
class RatingKNN(BuiltIn):
    """User neighbours that predict ratings: the score of an item is the predicted rating.

    With w_v the similarity of user v and m_u the mean rating of user u, the neighbours of a user are the ``neighbours``
    users with the largest similarities above 0, and sums are over those of them who rated the item: ``predict="mean"``
    is m_u + sum_v w_v (r_vi - m_v) / sum_v w_v, the predicted rating; ``"sum"`` is sum_v w_v r_vi, which also counts
    how many neighbours rated the item.

    ``similarity``: ``pearson``, the correlation over the items that both rated (0 with fewer than two, or if one rated
    them all alike); ``cosine``, of the vectors of all ratings. Both are multiplied by c / (c + ``shrink``) with c items
    in common. Neighbours are chosen once per user, not per item; equally similar ones in ascending order of id.

    Edges: an item that no neighbour rated has m_u, or 0 for ``"sum"``. Repeated ratings count as their mean. A log
    without ratings raises I307.

    >>> import polars as pl
    >>> rows = [(1, "a", 5), (1, "b", 1), (2, "a", 4), (2, "b", 2), (2, "c", 3), (3, "a", 1), (3, "b", 5), (3, "c", 5)]
    >>> log = Interactions.from_frame(pl.DataFrame(rows, ["user_id", "item_id", "rating"], orient="row"))
    >>> RatingKNN().fit(log).scores(np.array([0], np.int32)).tolist()
    [[4.0, 2.0, 3.0]]

    Reference: Herlocker, Konstan, Borchers and Riedl, SIGIR 1999; Cremonesi, Koren and Turrin, RecSys 2010, for sums
    that are not normalised.
    """

    name: ClassVar[str] = "RatingKNN"
    reads_ratings: ClassVar[bool | None] = True

    neighbours: int = 100
    similarity: Literal["pearson", "cosine"] = "pearson"
    predict: Literal["mean", "sum"] = "mean"
    shrink: float = 0.0

    def validate(self) -> None:
        """Raise U102 if the number of neighbours is below 1 or ``shrink`` is negative."""
        self.at_least(1, "neighbours")
        self.at_least(0, "shrink")

    def fit(self, log: Interactions) -> FittedRatingKNN:
        """Find the nearest neighbours of every user; raise I307 for a log without ratings."""
        require_log(log)
        ratings = mean_ratings(log, rating_values(log, self.name))
        had = scipy.sparse.csr_array((np.ones(ratings.nnz), ratings.indices, ratings.indptr), shape=ratings.shape)
        columns, weights, lengths = [], [], [0]
        size = max(1, NUMBERS // max(log.n_users, 1))
        for begin, end in blocks(log.n_users, size):
            similar = self._similarities(ratings, had, begin, end)
            similar[np.arange(end - begin), np.arange(begin, end)] = 0
            for row in similar:
                nearest = np.argsort(-row, kind="stable")[: self.neighbours]
                nearest = np.sort(nearest[row[nearest] > 0])
                columns.append(nearest)
                weights.append(row[nearest])
                lengths.append(nearest.size)
        found = (np.concatenate(weights), np.concatenate(columns), np.cumsum(lengths))
        shape = (log.n_users, log.n_users)
        return FittedRatingKNN(log, ratings, scipy.sparse.csr_array(found, shape=shape), self.predict == "sum")

    def _similarities(
        self, ratings: scipy.sparse.csr_array, had: scipy.sparse.csr_array, begin: int, end: int
    ) -> Table:
        """Return the similarities of users ``begin`` to ``end`` - 1 (rows) to all users (columns).

        ``ratings`` and ``had`` are (users, items); ``had`` is 1 where a user rated an item.
        """
        mine, mine_had = ratings[begin:end], had[begin:end]
        products, common = _dense(mine @ ratings.T), _dense(mine_had @ had.T)
        if self.similarity == "cosine":
            squares = np.asarray((ratings * ratings).sum(axis=1)).ravel()
            over = np.sqrt(squares[begin:end, None] * squares[None, :])
        else:
            mine_sums, their_sums = _dense(mine @ had.T), _dense(mine_had @ ratings.T)
            mine_squares = _dense((mine * mine) @ had.T)
            their_squares = _dense(mine_had @ (ratings * ratings).T)
            products = common * products - mine_sums * their_sums
            spreads = (common * mine_squares - mine_sums**2) * (common * their_squares - their_sums**2)
            over = np.sqrt(np.maximum(spreads, 0))
        found = np.divide(products, over, out=np.zeros_like(products), where=over > 0)
        similar: Table = found * common / np.maximum(common + self.shrink, 1)
        return similar


@dataclass(frozen=True, eq=False)
class FittedRatingKNN(ScoringModel):
    """A fitted rating-kNN: mean ``ratings`` (users, items), and ``neighbours``, a sparse row of similarities per user.

    Only the similarities to the nearest users are kept. With ``sums``, scores are weighted sums of ratings, else
    predicted ratings.
    """

    log: Interactions
    ratings: scipy.sparse.csr_array
    neighbours: scipy.sparse.csr_array
    sums: bool

    def scores(self, users: NDArray[np.int32]) -> Table:
        """Return scores (n, items) for user codes."""
        weights = self.neighbours[users]
        if self.sums:
            return _dense(weights @ self.ratings)
        counts = np.diff(self.ratings.indptr)
        means = np.asarray(self.ratings.sum(axis=1)).ravel() / np.maximum(counts, 1)
        indices, offsets = self.ratings.indices, self.ratings.indptr
        gaps = scipy.sparse.csr_array(
            (self.ratings.data - np.repeat(means, counts), indices, offsets), shape=self.ratings.shape
        )
        had = scipy.sparse.csr_array((np.ones(indices.size), indices, offsets), shape=self.ratings.shape)
        above, total = _dense(weights @ gaps), _dense(weights @ had)
        predicted: Table = means[users][:, None] + np.divide(above, total, out=np.zeros_like(above), where=total > 0)
        return predicted


def mean_ratings(log: Interactions, ratings: Table) -> scipy.sparse.csr_array:
    """Return the ratings of a log as a sparse matrix (users, items), the mean if a user rated an item several times.

    ``ratings`` has the rating of each event. A stored entry may be 0.
    """
    keys, number = np.unique(log.users.astype(np.int64) * log.n_items + log.items, return_inverse=True)
    means = np.bincount(number, ratings) / np.bincount(number)
    users, items = np.divmod(keys, log.n_items)
    offsets = np.searchsorted(users, np.arange(log.n_users + 1))
    return scipy.sparse.csr_array((means, items, offsets), shape=(log.n_users, log.n_items))


def _dense(table: Any) -> Table:
    found: Table = table.toarray()
    return found
