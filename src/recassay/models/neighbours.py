"""Neighbours: users with common items, items of the same users, and users who rated alike."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import scipy
from numpy.typing import NDArray

from recassay.arrays import Float, Int32
from recassay.data.interactions import Interactions
from recassay.data.sequences import Histories
from recassay.models.base.model import (
    USERS_PER_BLOCK,
    BuiltIn,
    FittedProduct,
    HistoryModel,
    ScoringModel,
    fit_quietly,
    rating_values,
    rounded,
    step_for,
    user_item_matrix,
)
from recassay.naming.named import AT_LEAST_0, COUNT, UP_TO_1, Departure
from recassay.optional import need
from recassay.threads import blocks

NUMBERS = 1 << 22  # entries of a block of similarities


@dataclass(frozen=True, repr=False)
class UserKNN(BuiltIn):
    """User-kNN: the score of an item is the sum of the similarities of the user's nearest neighbours who had it.

    With |u| items of user u, and c items in common: ``cosine`` is c / sqrt(|u| |v|), ``jaccard`` is c / (|u| + |v| -
    c); both are multiplied by c / (c + shrink). Equally similar users are taken in ascending order of id.

    Edges: a user who has no item in common with another user has scores of 0.

    >>> import polars as pl
    >>> log = Interactions.from_frame(pl.DataFrame({"user_id": [1, 2, 2, 3], "item_id": [4, 4, 5, 6]}))
    >>> UserKNN(1).fit(log).scores(np.array([0], np.int32)).round(3).tolist()
    [[0.707, 0.707, 0.0]]

    Reference: Cremonesi, Koren and Turrin, RecSys 2010.
    """

    departures: ClassVar[tuple[Departure, ...]] = (
        Departure(
            "target-sets",
            "The neighbours of the paper use rating values; UserKNN takes who rated what, because rating predictions "
            "rank poorly.",
            "RatingKNN()",
        ),
    )

    neighbours: Annotated[int, COUNT] = 100
    similarity: Literal["cosine", "jaccard"] = "cosine"
    shrink: Annotated[float, AT_LEAST_0] = 0.0

    def fit(self, log: Interactions) -> FittedProduct:
        """Find the nearest neighbours of every user, and return the fitted model."""
        matrix = user_item_matrix(log)
        return FittedProduct(log, self.nearest(matrix), matrix)

    def nearest(self, matrix: scipy.sparse.csr_array) -> scipy.sparse.csr_array:
        """Return a sparse matrix (users, users) with the similarities of each user to the nearest other users only.

        ``matrix`` is the 0/1 matrix of users and items.
        """
        sizes = np.diff(matrix.indptr).astype(np.float64)
        rows = []
        for begin, end in blocks(sizes.size, USERS_PER_BLOCK):
            common = (matrix[begin:end] @ matrix.T).tocsr()
            common.sort_indices()
            for row in range(end - begin):
                entries = slice(common.indptr[row], common.indptr[row + 1])
                rows.append(self._nearest(common.indices[entries], common.data[entries], begin + row, sizes))
        return similarities_of(rows)

    def _nearest(self, others: Int32, common: Float, user: int, sizes: Float) -> tuple[Int32, Float]:
        """Return the nearest other users of ``user``, farthest first, and their similarities.

        ``others`` are the users with common items, as row numbers; ``common[i]`` is the number of items in common with
        ``others[i]``, and ``sizes`` are the numbers of items of all users.
        """
        others, common = others[others != user], common[others != user]
        if self.similarity == "cosine":
            similar = np.sqrt(common * common / (sizes[user] * sizes[others]))  # equal fractions stay equal
        else:
            similar = common / (sizes[user] + sizes[others] - common)
        similar *= common / (common + self.shrink)
        # Ascending: a product of sparse matrices adds in this order, so equal similarities give equal sums.
        nearest = np.argsort(-similar, kind="stable")[: self.neighbours][::-1]
        return others[nearest], similar[nearest]


@dataclass(frozen=True, repr=False)
class ItemKNN(BuiltIn):
    """Item-kNN: the score of an item is the sum of its similarities to the user's items, over nearest neighbours only.

    Similarities are rounded in their last bits so that sums are exact in any order: equal sums tie.

    Reference: Sarwar, Karypis, Konstan and Riedl, Item-based collaborative filtering, WWW 2001.
    """

    library: ClassVar[str] = "implicit"

    neighbours: Annotated[int, COUNT] = 100
    similarity: Literal["cosine", "tfidf", "bm25"] = "cosine"

    def fit(self, log: Interactions) -> FittedProduct:
        """Find the nearest neighbours of every item, and return the fitted model."""
        classes = {"cosine": "CosineRecommender", "tfidf": "TFIDFRecommender", "bm25": "BM25Recommender"}
        library = need("implicit.nearest_neighbours", for_="ItemKNN")
        # One more: an item is its own nearest neighbour, which is useless, because the user already has it.
        model = getattr(library, classes[self.similarity])(K=self.neighbours + 1, num_threads=1)
        matrix = user_item_matrix(log)
        fit_quietly(model, scipy.sparse.csr_matrix(matrix))
        similarity = scipy.sparse.csr_array(model.similarity)
        longest = int(np.diff(matrix.indptr).max(initial=0))
        step = step_for(float(np.abs(similarity.data).max(initial=0.0)), longest)
        similarity.data = rounded(similarity.data, step)
        return FittedProduct(log, matrix, similarity)


@dataclass(frozen=True, repr=False)
class RecentItemKNN(BuiltIn):
    """Item-kNN of the ``last`` items of a history: the score of an item is the sum of its similarities to these.

    Older items count less: one followed by k others has the weight ``decay`` to the power of k. The similarity of two
    items is c / sqrt(n m) times c / (c + ``shrink``), with n and m the users of each item and c those of both. It is
    0 unless the scored item is among the nearest ``neighbours`` of the other; ties are taken in order of id.

    Edges: after an empty history all scores are 0.

    >>> import polars as pl
    >>> log = Interactions.from_frame(pl.DataFrame({"user_id": [1, 1, 2, 2, 3], "item_id": [*"abbca"]}))
    >>> RecentItemKNN(last=2, decay=0.5).fit(log).scores(np.array([0, 2], np.int32)).tolist()
    [[0.5, 0.25, 0.7071067811865475], [0.0, 0.5, 0.0]]

    Reference: Ludewig and Jannach, Evaluation of session-based recommendation algorithms, UMUAI 28, 2018.
    """

    last: Annotated[int, COUNT] = 10
    decay: Annotated[float, UP_TO_1] = 0.8
    neighbours: Annotated[int, COUNT] = 200
    shrink: Annotated[float, AT_LEAST_0] = 0.0

    def fit(self, log: Interactions) -> FittedRecentItemKNN:
        """Find the nearest neighbours of every item, and return the fitted model."""
        similar = UserKNN(self.neighbours, "cosine", self.shrink).nearest(
            scipy.sparse.csr_array(user_item_matrix(log).T)
        )
        return FittedRecentItemKNN(log, self.last, self.decay, similar)


@dataclass(frozen=True, eq=False)
class FittedRecentItemKNN(HistoryModel):
    """A fitted model of item neighbours: ``similar`` has a sparse row per item with its neighbours' similarities."""

    log: Interactions
    last: int
    decay: float
    similar: scipy.sparse.csr_array

    def next_scores(self, histories: Histories) -> Float:
        """Return scores (n, items) of the next item after each history."""
        items = histories.last(self.last, pad=-1)
        row, place = np.nonzero(items >= 0)
        weights = self.decay ** (self.last - 1.0 - place)
        terms = self.similar[items[row, place]]  # a row of similarities for each item of each history
        terms.data = rounded(terms.data * np.repeat(weights, np.diff(terms.indptr)), self.step)
        added = scipy.sparse.csr_array(
            (np.ones(row.size), (row, np.arange(row.size))), shape=(len(histories), row.size)
        )
        return np.asarray((added @ terms).toarray())

    @functools.cached_property
    def step(self) -> float:
        """Return the power of two to which terms are rounded: sums are then exact, so equal sums tie."""
        return step_for(float(self.similar.data.max(initial=0.0)), self.last)


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

    reads_ratings: ClassVar[bool | None] = True

    neighbours: Annotated[int, COUNT] = 100
    similarity: Literal["pearson", "cosine"] = "pearson"
    predict: Literal["mean", "sum"] = "mean"
    shrink: Annotated[float, AT_LEAST_0] = 0.0

    def fit(self, log: Interactions) -> FittedRatingKNN:
        """Find the nearest neighbours of every user; raise I307 for a log without ratings."""
        ratings = mean_ratings(log, rating_values(log, self.name))
        had = scipy.sparse.csr_array((np.ones(ratings.nnz), ratings.indices, ratings.indptr), shape=ratings.shape)
        rows = []
        for begin, end in blocks(log.n_users, max(1, NUMBERS // max(log.n_users, 1))):
            similar = self._similarities(ratings, had, begin, end)
            similar[np.arange(end - begin), np.arange(begin, end)] = 0
            for row in similar:
                nearest = np.argsort(-row, kind="stable")[: self.neighbours]
                nearest = np.sort(nearest[row[nearest] > 0])
                rows.append((nearest, row[nearest]))
        return FittedRatingKNN(log, ratings, similarities_of(rows), self.predict == "sum")

    def _similarities(
        self, ratings: scipy.sparse.csr_array, had: scipy.sparse.csr_array, begin: int, end: int
    ) -> Float:
        """Return the similarities of users ``begin`` to ``end`` - 1 (rows) to all users (columns).

        ``ratings`` and ``had`` are (users, items); ``had`` is 1 where a user rated an item.
        """
        mine, mine_had = ratings[begin:end], had[begin:end]
        products, common = (mine @ ratings.T).toarray(), (mine_had @ had.T).toarray()
        if self.similarity == "cosine":
            squares = np.asarray((ratings * ratings).sum(axis=1)).ravel()
            over = np.sqrt(squares[begin:end, None] * squares[None, :])
        else:
            mine_sums, their_sums = (mine @ had.T).toarray(), (mine_had @ ratings.T).toarray()
            mine_squares = ((mine * mine) @ had.T).toarray()
            their_squares = (mine_had @ (ratings * ratings).T).toarray()
            products = common * products - mine_sums * their_sums
            spreads = (common * mine_squares - mine_sums**2) * (common * their_squares - their_sums**2)
            over = np.sqrt(np.maximum(spreads, 0))
        found = np.divide(products, over, out=np.zeros_like(products), where=over > 0)
        return np.asarray(found * common / np.maximum(common + self.shrink, 1))


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

    def scores(self, users: Int32) -> Float:
        """Return scores (n, items) for user codes."""
        weights = self.neighbours[users]
        if self.sums:
            return np.asarray((weights @ self.ratings).toarray())
        counts = np.diff(self.ratings.indptr)
        means = np.asarray(self.ratings.sum(axis=1)).ravel() / np.maximum(counts, 1)
        indices, offsets = self.ratings.indices, self.ratings.indptr
        gaps = scipy.sparse.csr_array(
            (self.ratings.data - np.repeat(means, counts), indices, offsets), shape=self.ratings.shape
        )
        had = scipy.sparse.csr_array((np.ones(indices.size), indices, offsets), shape=self.ratings.shape)
        above, total = (weights @ gaps).toarray(), (weights @ had).toarray()
        return np.asarray(means[users][:, None] + np.divide(above, total, out=np.zeros_like(above), where=total > 0))


def similarities_of(rows: list[tuple[NDArray[Any], Float]]) -> scipy.sparse.csr_array:
    """Return a square sparse matrix; ``rows`` has the columns and similarities of each row, whose order is kept."""
    columns, similar = ([row[part] for row in rows] for part in (0, 1))
    offsets = np.cumsum([0, *map(len, columns)])
    return scipy.sparse.csr_array((np.concatenate(similar), np.concatenate(columns), offsets), shape=(len(rows),) * 2)


def mean_ratings(log: Interactions, ratings: Float) -> scipy.sparse.csr_array:
    """Return the ratings of a log as a sparse matrix (users, items), the mean if a user rated an item several times.

    ``ratings`` has the rating of each event. A stored entry may be 0.
    """
    keys, number = np.unique(log.users.astype(np.int64) * log.n_items + log.items, return_inverse=True)
    means = np.bincount(number, ratings) / np.bincount(number)
    users, items = np.divmod(keys, log.n_items)
    offsets = np.searchsorted(users, np.arange(log.n_users + 1))
    return scipy.sparse.csr_array((means, items, offsets), shape=(log.n_users, log.n_items))
