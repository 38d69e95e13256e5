"""Adapters for models of other libraries, which are not dependencies of recassay.

Each adapter is an unfitted model around the library's model. Its ``fit(log)`` fits a copy, so your model does not
change. The libraries get user and item codes. Users and items without training events get no scores.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from recassay.data.interactions import Interactions
from recassay.data.times import row_times
from recassay.errors import UsageError
from recassay.models.base.capabilities import Lists
from recassay.models.base.model import (
    NO_ITEM,
    FittedFactors,
    FittedProduct,
    NamesFitted,
    ScoringModel,
    Wrapper,
    fit_quietly,
    user_item_matrix,
)
from recassay.optional import need


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

    def fit(self, log: Interactions) -> FittedCornac:
        """Fit a copy of the model on (user, item, rating), and return it."""
        ratings = np.ones(len(log)) if log.ratings is None else log.ratings
        rows = list(zip(log.users.tolist(), log.items.tolist(), ratings.tolist(), strict=True))
        data = need("cornac.data", for_="Cornac").Dataset.from_uir(rows)
        model = copy.deepcopy(self.model)
        model.fit(data)
        item_number = np.array([data.iid_map.get(code, -1) for code in range(log.n_items)])
        user_number = np.array([data.uid_map.get(code, -1) for code in range(log.n_users)])
        return FittedCornac(log, model, user_number, item_number)


@dataclass(frozen=True, eq=False)
class FittedCornac(ScoringModel):
    """A fitted Cornac model, with Cornac's own numbers of the log's users and items; -1 for those it does not know."""

    log: Interactions
    model: Any
    user_number: NDArray[np.int64]
    item_number: NDArray[np.int64]

    def scores(self, users: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return scores (n, items) for user codes; -inf for users and items without training events."""
        table = np.full((users.size, self.log.n_items), -np.inf)
        known = self.item_number >= 0
        for row, number in enumerate(self.user_number[users].tolist()):
            if number >= 0:
                table[row, known] = np.asarray(self.model.score(number), float)[self.item_number[known]]
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

    def fit(self, log: Interactions) -> FittedLensKit:
        """Train LensKit's pipeline with a copy of the scorer, and return it."""
        data, pipelines = need("lenskit.data", for_="LensKit"), need("lenskit.pipeline", for_="LensKit")
        dataset = data.from_interactions_df(_columns(log, "rating", "timestamp"))
        pipeline = pipelines.topn_pipeline(copy.deepcopy(self.scorer))
        pipeline.train(dataset, need("lenskit.training", for_="LensKit").TrainingOptions(rng=self.seed))
        return FittedLensKit(log, pipeline)


@dataclass(frozen=True, eq=False)
class FittedLensKit(ScoringModel):
    """A trained LensKit pipeline, which scores one user at a time."""

    log: Interactions
    pipeline: Any

    def scores(self, users: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return scores (n, items) for user codes; -inf where LensKit returns no score."""
        library = need("lenskit", for_="LensKit")
        items = np.arange(self.log.n_items)
        rows = [library.score(self.pipeline, user, items).scores() for user in users.tolist()]
        table = np.array(rows, np.float64)
        return np.where(np.isnan(table), -np.inf, table)


@dataclass(frozen=True, eq=False)
class RecTools(Wrapper):
    """A model of RecTools: ``RecTools(EASEModel())``.

    The model gets the ratings of the log as weights, or 1 if the log has none. It returns lists only, so all items
    missing from a list tie at its end.
    """

    def fit(self, log: Interactions) -> FittedRecTools:
        """Fit a copy of the model on a RecTools data set, and return it."""
        frame = _columns(log, "weight", "datetime")
        frame["weight"] = frame.get("weight", 1.0)
        frame["datetime"] = frame.get("datetime", 0)
        dataset = need("rectools.dataset", for_="RecTools").Dataset.construct(frame)
        model = copy.deepcopy(self.model)
        model.fit(dataset)
        return FittedRecTools(log, model, dataset)


@dataclass(frozen=True, eq=False)
class FittedRecTools:
    """A fitted RecTools model and its data set."""

    log: Interactions
    model: Any
    dataset: Any

    def recommend(self, users: NDArray[np.int32], k: int) -> Lists:
        """Return items and scores (n, k), best first; empty lists for users without training events."""
        items, scores = np.full((users.size, k), NO_ITEM, np.int32), np.full((users.size, k), -np.inf)
        known = np.isin(users, self.log.users)
        if known.any():
            distinct = np.unique(users[known])
            table = self.model.recommend(users=distinct, dataset=self.dataset, k=k, filter_viewed=True)
            row, place = np.searchsorted(distinct, table["user_id"]), table["rank"].to_numpy() - 1
            best, best_scores = np.full((distinct.size, k), NO_ITEM, np.int32), np.full((distinct.size, k), -np.inf)
            best[row, place], best_scores[row, place] = table["item_id"], table["score"]
            at = np.searchsorted(distinct, users[known])
            items[known], scores[known] = best[at], best_scores[at]
        return items, scores


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
