"""Models of other libraries, handed over as they were made; the libraries are yours to install.

Each adapter is a description with ``fit``; it copies the model, so that the one you made stays as it is. Libraries are
given the codes of users and items, and those who had nothing in training get no scores.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from recassay.data.interactions import Interactions
from recassay.data.times import times
from recassay.errors import UsageError
from recassay.models.adapters import FittedTable
from recassay.models.base import NOTHING, FittedFactors, Lists, Scoring, profiles
from recassay.models.implicit import fit_quietly
from recassay.optional import need


@dataclass(frozen=True, eq=False)
class Implicit:
    """A model of the library implicit, handed over as it was made: ``Implicit(LogisticMatrixFactorization())``.

    It is fitted on the 0/1 matrix of users and items by one thread of linear algebra. Models with factors are judged by
    their products, others by their similarities.
    """

    model: Any

    def __str__(self) -> str:
        return type(self.model).__name__

    def fit(self, log: Interactions) -> FittedFactors | FittedTable:
        """Fits the library's model."""
        matrix, model = csr_matrix(profiles(log), dtype=np.float32), copy.deepcopy(self.model)
        fit_quietly(model, matrix)
        if hasattr(model, "user_factors"):
            users, items = (np.array(one, np.float32) for one in (model.user_factors, model.item_factors))
            return FittedFactors(log, users, items)
        if hasattr(model, "similarity"):
            return FittedTable(log, (matrix @ model.similarity).tocsr())
        raise UsageError("U107", f"{self} has neither factors nor similarities", hint="wrap it with Recommends")


@dataclass(frozen=True, eq=False)
class Cornac:
    """A model of the library Cornac, handed over as it was made: ``Cornac(cornac.models.MF(seed=1))``.

    Ratings are those of the log, or 1 where there are none.
    """

    model: Any

    def __str__(self) -> str:
        return str(self.model.name)

    def fit(self, log: Interactions) -> FittedCornac:
        """Fits the library's model on (user, item, rating)."""
        ratings = np.ones(len(log)) if log.ratings is None else log.ratings
        rows = list(zip(log.users.tolist(), log.items.tolist(), ratings.tolist(), strict=True))
        data = need("cornac.data", for_="Cornac").Dataset.from_uir(rows)
        model = copy.deepcopy(self.model)
        model.fit(data)
        item = np.array([data.iid_map.get(code, -1) for code in range(log.n_items)])
        user = np.array([data.uid_map.get(code, -1) for code in range(log.n_users)])
        return FittedCornac(log, model, user, item)


@dataclass(frozen=True, eq=False)
class FittedCornac(Scoring):
    """A model of Cornac with its own numbers of users and items."""

    log: Interactions
    model: Any
    user: NDArray[np.int64]
    item: NDArray[np.int64]

    def scores(self, users: NDArray[np.int32]) -> NDArray[np.float64]:
        """The model's scores; what it has not met in training cannot be scored."""
        table = np.full((users.size, self.log.n_items), -np.inf)
        known = self.item >= 0
        for row, number in enumerate(self.user[users].tolist()):
            if number >= 0:
                table[row, known] = np.asarray(self.model.score(number), float)[self.item[known]]
        return table


@dataclass(frozen=True, eq=False)
class LensKit:
    """A scorer of LensKit (2025 or later), handed over as it was made: ``LensKit(lenskit.als.BiasedMFScorer())``.

    It is trained in LensKit's own pipeline, on the ratings and times that the log has, with a fixed seed.
    """

    scorer: Any
    seed: int = 0

    def __str__(self) -> str:
        return type(self.scorer).__name__

    def fit(self, log: Interactions) -> FittedLensKit:
        """Trains the library's pipeline."""
        data, pipelines = need("lenskit.data", for_="LensKit"), need("lenskit.pipeline", for_="LensKit")
        dataset = data.from_interactions_df(_columns(log, "rating", "timestamp"))
        pipeline = pipelines.topn_pipeline(copy.deepcopy(self.scorer))
        pipeline.train(dataset, need("lenskit.training", for_="LensKit").TrainingOptions(rng=self.seed))
        return FittedLensKit(log, pipeline)


@dataclass(frozen=True, eq=False)
class FittedLensKit(Scoring):
    """A trained pipeline of LensKit, asked user by user."""

    log: Interactions
    pipeline: Any

    def scores(self, users: NDArray[np.int32]) -> NDArray[np.float64]:
        """The scorer's scores; what it cannot score is the same to it as what it has not met."""
        library = need("lenskit", for_="LensKit")
        items = np.arange(self.log.n_items)
        rows = [library.score(self.pipeline, user, items).scores() for user in users.tolist()]
        table = np.array(rows, np.float64)
        return np.where(np.isnan(table), -np.inf, table)


@dataclass(frozen=True, eq=False)
class RecTools:
    """A model of RecTools, handed over as it was made: ``RecTools(EASEModel())``.

    Ratings are its weights, or 1 where there are none. It recommends lists, so what they leave out ties at their end.
    """

    model: Any

    def __str__(self) -> str:
        return type(self.model).__name__

    def fit(self, log: Interactions) -> FittedRecTools:
        """Fits the library's model on its data set."""
        frame = _columns(log, "weight", "datetime")
        frame["weight"] = frame.get("weight", 1.0)
        frame["datetime"] = frame.get("datetime", 0)
        dataset = need("rectools.dataset", for_="RecTools").Dataset.construct(frame)
        model = copy.deepcopy(self.model)
        model.fit(dataset)
        return FittedRecTools(log, model, dataset)


@dataclass(frozen=True, eq=False)
class FittedRecTools:
    """A model of RecTools and the data set it was fitted on."""

    log: Interactions
    model: Any
    dataset: Any

    def recommend(self, users: NDArray[np.int32], k: int) -> Lists:
        """The model's lists; none for who had nothing in training."""
        items, scores = np.full((users.size, k), NOTHING, np.int32), np.full((users.size, k), -np.inf)
        known = np.isin(users, self.log.users)
        if known.any():
            asked = np.unique(users[known])
            given = self.model.recommend(users=asked, dataset=self.dataset, k=k, filter_viewed=True)
            row, place = np.searchsorted(asked, given["user_id"]), given["rank"].to_numpy() - 1
            best, worth = np.full((asked.size, k), NOTHING, np.int32), np.full((asked.size, k), -np.inf)
            best[row, place], worth[row, place] = given["item_id"], given["score"]
            at = np.searchsorted(asked, users[known])
            items[known], scores[known] = best[at], worth[at]
        return items, scores


def _columns(log: Interactions, rating: str, time: str) -> Any:
    """The log as a table of pandas, users and items by code, ratings and times where there are any."""
    columns: dict[str, Any] = {"user_id": log.users, "item_id": log.items}
    if log.ratings is not None:
        columns[rating] = log.ratings
    if log.timestamps is not None:
        columns[time] = times(log)
    return need("pandas", for_="a model of another library").DataFrame(columns)
