"""Adapters for systems that were not written for recassay: score tables, functions and models of other libraries.

Each adapter is an unfitted model: its ``fit(log)`` returns a fitted model that recommends. Functions get and
return ids of the log. Rows and columns of tables are in the order of the log's users and items: ascending by id.

The libraries are not dependencies of recassay. They get user and item codes, and ``fit(log)`` fits a copy of a model,
so that yours does not change. Users and items without training events get no scores.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
import polars as pl
import scipy
from numpy.typing import NDArray

from recassay.arrays import Float, Int32, Int64
from recassay.columnar.vocabulary import rows_in_table
from recassay.data.interactions import Interactions
from recassay.data.times import row_times
from recassay.errors import InputError, UsageError
from recassay.models.base.capabilities import Lists
from recassay.models.base.model import (
    FittedFactors,
    FittedProduct,
    NamesFitted,
    ScoringModel,
    Wrapper,
    fit_quietly,
    no_lists,
    user_item_matrix,
)
from recassay.optional import need


class Adapter(NamesFitted):
    """Base of adapters; ``name`` is the name of the system in tables of results."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, eq=False)
class FittedFunction(ScoringModel):
    """A fitted model with a function from user codes to scores (n, items)."""

    log: Interactions
    function: Callable[[Int32], NDArray[np.floating]]
    personal: bool = True  # type: ignore[misc]  # an adapter decides

    def scores(self, users: Int32) -> NDArray[np.floating]:
        """Return scores (n, items) for user codes."""
        return self.function(users)


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

    def fit(self, log: Interactions) -> FittedFunction:
        """Return the table with its log; raise I308 unless it has a row per user and a column per item of the log."""
        if tuple(self.table.shape) != (log.n_users, log.n_items):
            raise InputError(
                "I308",
                f"{self.name} has shape {tuple(self.table.shape)} for {log.n_users:,} users and {log.n_items:,} items",
                hint="give a row per user and a column per item of the whole log, both ascending by id",
            )
        table = self.table.tocsr() if scipy.sparse.issparse(self.table) else self.table
        return FittedFunction(log, partial(_rows, table), personal=False)


def _rows(table: Any, users: Int32) -> NDArray[np.floating]:
    """Return the rows of a table for user codes as a NumPy array."""
    rows = table[users]
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

    def fit(self, log: Interactions) -> FittedFunction:
        """Return the function together with the log that translates its ids; nothing is learned."""
        return FittedFunction(log, partial(self._scores, log), personal=False)

    def _scores(self, log: Interactions, users: Int32) -> NDArray[np.floating]:
        ids = log.user_vocabulary.decode(users).to_list()
        return np.stack([self._row(log, self.function(user), user) for user in ids])

    def _row(self, log: Interactions, answer: Any, user: Any) -> Float:
        """Return a score per item of the log from ``answer``, what the function returned for ``user``.

        Raise I308 if it has a wrong length, I372 if a mapping has an unknown item.
        """
        if isinstance(answer, Mapping):
            row = np.full(log.n_items, -np.inf)
            row[_item_codes(log, answer.keys(), self.name, user)] = np.fromiter(answer.values(), float, len(answer))
            return row
        row = np.asarray(answer, np.float64)
        if row.shape != (log.n_items,):
            raise InputError(
                "I308",
                f"{self.name} gave {row.shape} scores for user {user!r} and {log.n_items:,} items",
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
        return FittedLists(log, partial(self._lists, log))

    def _lists(self, log: Interactions, users: Int32, k: int) -> Lists:
        """Return items and scores (n, k), best first; without scores, an item's score is minus its rank."""
        items, scores = no_lists(users.size, k)
        offsets, profile = log.by_user
        for row, user in enumerate(users.tolist()):
            known = profile[offsets[user] : offsets[user + 1]]
            user_id = log.user_vocabulary.decode(np.array([user]))[0]
            answer = list(self.function(user_id, k + known.size))
            if not (answer and isinstance(answer[0], tuple)):
                answer = [(item, -place) for place, item in enumerate(answer, 1)]
            codes = _item_codes(log, [item for item, _ in answer], self.name, user_id)
            keep = np.flatnonzero(~np.isin(codes, known))[:k]
            items[row, : keep.size], scores[row, : keep.size] = codes[keep], [answer[place][1] for place in keep]
        return items, scores


@dataclass(frozen=True, eq=False)
class FittedLists:
    """A fitted model with a function from user codes and k to lists."""

    log: Interactions
    function: Callable[[Int32, int], Lists]

    def recommend(self, users: Int32, k: int) -> Lists:
        """Return items and scores (n, k), best first."""
        return self.function(users, k)


def _item_codes(log: Interactions, ids: Iterable[Any], name: str, user: Any) -> Int64:
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


@dataclass(frozen=True, eq=False)
class Implicit(Wrapper):
    """A model of the library implicit: ``Implicit(LogisticMatrixFactorization())``.

    It is fitted on the 0/1 matrix of users and items with one BLAS thread. A model with factors scores an item by
    the product of user and item factors, other models by item similarities.
    """

    def fit(self, log: Interactions) -> FittedFactors | FittedProduct:
        """Fit a copy of the model and return it; raise U107 if it has neither factors nor similarities."""
        matrix, model = scipy.sparse.csr_matrix(user_item_matrix(log), dtype=np.float32), copy.deepcopy(self.model)
        fit_quietly(model, matrix)
        if hasattr(model, "user_factors"):
            users, items = (np.array(factors, np.float32) for factors in (model.user_factors, model.item_factors))
            return FittedFactors(log, users, items)
        if hasattr(model, "similarity"):
            return FittedProduct(log, scipy.sparse.csr_array(matrix), scipy.sparse.csr_array(model.similarity))
        raise UsageError("U107", f"{self} has neither factors nor similarities", hint="wrap it in RecommendFunction")


@dataclass(frozen=True, eq=False)
class Cornac(Wrapper):
    """A model of the library Cornac: ``Cornac(cornac.models.MF(seed=1))``.

    The model gets the ratings of the log, or 1 if the log has none.
    """

    def __str__(self) -> str:
        return str(self.model.name)

    def fit(self, log: Interactions) -> FittedFunction:
        """Fit a copy of the model on (user, item, rating), and return it."""
        ratings = np.ones(len(log)) if log.ratings is None else log.ratings
        rows = list(zip(log.users.tolist(), log.items.tolist(), ratings.tolist(), strict=True))
        data = need("cornac.data", for_="Cornac").Dataset.from_uir(rows)
        model = copy.deepcopy(self.model)
        model.fit(data)
        item_number = np.array([data.iid_map.get(code, -1) for code in range(log.n_items)])
        user_number = np.array([data.uid_map.get(code, -1) for code in range(log.n_users)])
        return FittedFunction(log, partial(_cornac_scores, model, user_number, item_number))


def _cornac_scores(model: Any, user_number: Int64, item_number: Int64, users: Int32) -> Float:
    """Return the scores (n, items) of a Cornac model for user codes; -inf for what it does not know.

    ``user_number`` and ``item_number`` are Cornac's own numbers of the log's users and items, -1 for unknown ones.
    """
    table = np.full((users.size, item_number.size), -np.inf)
    known = item_number >= 0
    for row, number in enumerate(user_number[users].tolist()):
        if number >= 0:
            table[row, known] = np.asarray(model.score(number), float)[item_number[known]]
    return table


@dataclass(frozen=True, eq=False)
class LensKit(NamesFitted):
    """A scorer of LensKit (2025 or later): ``LensKit(lenskit.als.BiasedMFScorer())``.

    It is trained in LensKit's own pipeline, on the ratings and times of the log if there are any, with a fixed seed.
    """

    scorer: Any
    seed: int = 0

    def __str__(self) -> str:
        return type(self.scorer).__name__

    def fit(self, log: Interactions) -> FittedFunction:
        """Train LensKit's pipeline with a copy of the scorer, and return it."""
        data, pipelines = need("lenskit.data", for_="LensKit"), need("lenskit.pipeline", for_="LensKit")
        dataset = data.from_interactions_df(_columns(log, "rating", "timestamp"))
        pipeline = pipelines.topn_pipeline(copy.deepcopy(self.scorer))
        pipeline.train(dataset, need("lenskit.training", for_="LensKit").TrainingOptions(rng=self.seed))
        return FittedFunction(log, partial(_lenskit_scores, pipeline, log.n_items))


def _lenskit_scores(pipeline: Any, n_items: int, users: Int32) -> Float:
    """Return the scores (n, items) of a trained pipeline for user codes; -inf where LensKit returns no score."""
    library = need("lenskit", for_="LensKit")
    rows = [library.score(pipeline, user, np.arange(n_items)).scores() for user in users.tolist()]
    table = np.array(rows, np.float64)
    return np.where(np.isnan(table), -np.inf, table)


@dataclass(frozen=True, eq=False)
class RecTools(Wrapper):
    """A model of RecTools: ``RecTools(EASEModel())``.

    The model gets the ratings of the log as weights, or 1 if the log has none. It returns lists only, so all items
    missing from a list tie at its end.
    """

    def fit(self, log: Interactions) -> FittedLists:
        """Fit a copy of the model on a RecTools data set, and return it."""
        frame = _columns(log, "weight", "datetime")
        frame["weight"] = frame.get("weight", 1.0)
        frame["datetime"] = frame.get("datetime", 0)
        dataset = need("rectools.dataset", for_="RecTools").Dataset.construct(frame)
        model = copy.deepcopy(self.model)
        model.fit(dataset)
        return FittedLists(log, partial(_rectools_lists, log, model, dataset))


def _rectools_lists(log: Interactions, model: Any, dataset: Any, users: Int32, k: int) -> Lists:
    """Return the lists of a RecTools model for user codes; empty ones for users without training events."""
    distinct, number = np.unique(users, return_inverse=True)
    items, scores = no_lists(distinct.size, k)
    known = distinct[np.isin(distinct, log.users)]
    if known.size:
        table = model.recommend(users=known, dataset=dataset, k=k, filter_viewed=True)
        at = np.searchsorted(distinct, table["user_id"]), table["rank"].to_numpy() - 1
        items[at], scores[at] = table["item_id"], table["score"]
    return items[number], scores[number]


def _columns(log: Interactions, rating: str, time: str) -> Any:
    """Return the log as a pandas table: user and item codes, and ratings and times if the log has them.

    ``rating`` and ``time`` are the names of these columns.
    """
    columns: dict[str, Any] = {"user_id": log.users, "item_id": log.items}
    if log.ratings is not None:
        columns[rating] = log.ratings
    if log.timestamps is not None:
        columns[time] = row_times(log)
    return need("pandas", for_="a model of another library").DataFrame(columns)
