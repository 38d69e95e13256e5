"""Adapters for online models of other libraries: with ``learn_one``, as in river, or with ``partial_fit``.

Each adapter is an unfitted model that copies the model it is given, so your model does not change. Models get users
and items as numbers by first appearance: 0, 1, 2, ...
"""

from __future__ import annotations

import copy
import inspect
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recassay.arrays import Float, Int32, Int64
from recassay.data.interactions import Interactions
from recassay.errors import InputError, UsageError
from recassay.models.base.model import Wrapper
from recassay.models.incremental.base import FittedStream, fit_learner


@dataclass(frozen=True, eq=False)
class RiverLike(Wrapper):
    """A model with ``learn_one`` and ``predict_one``: ``RiverLike(river.reco.BiasedMF())``.

    Both methods take (user, item), as recommenders of river do, or a mapping of features, as its regressors do:
    ``{"user": "3", "item": "7"}``. The target is the value of the event, 1 without a rating. Scores are predictions. A
    query predicts every item learned so far one by one, which is slow.

    >>> class Counts:
    ...     def __init__(self):
    ...         self.n = {}
    ...     def learn_one(self, user, item, y):
    ...         self.n[item] = self.n.get(item, 0) + y
    ...     def predict_one(self, user, item):
    ...         return self.n.get(item, 0)
    >>> learner = RiverLike(Counts()).start()
    >>> learner.learn(np.array([0, 1, 1], np.int32), np.array([0, 0, 1], np.int32), np.ones(3))
    >>> learner.scores(0).tolist()
    [2.0, 1.0]
    """

    def __post_init__(self) -> None:
        _need(self.model, "learn_one", "predict_one")

    def start(self) -> LearningOne:
        """Return a learner with a copy of the model."""
        return LearningOne(copy.deepcopy(self.model))

    def fit(self, log: Interactions) -> FittedStream:
        """Return a copy of the model that has learned a log, for protocols other than streams."""
        return fit_learner(self.start(), log)


class LearningOne:
    """A learner whose model learns and predicts one pair at a time."""

    def __init__(self, model: Any) -> None:
        self.model, self.n_items = model, 0
        self.features = next(iter(inspect.signature(model.learn_one).parameters), "") == "x"

    def learn(self, users: Int32, items: Int32, values: Float) -> None:
        """Learn events in order, one call of ``learn_one`` each."""
        for user, item, value in zip(users.tolist(), items.tolist(), values.tolist(), strict=True):
            self.model.learn_one(*self._pair(user, item), value)
        self.n_items = max(self.n_items, int(items.max(initial=-1)) + 1)

    def predict(self, user: int, item: int) -> float | None:
        """Return the predicted rating of a user for an item; None if the model predicts nothing."""
        found = self.model.predict_one(*self._pair(user, item))
        return None if found is None else float(found)

    def scores(self, user: int) -> Float:
        """Return the prediction of every item learned so far; -inf where the model predicts nothing."""
        predictions = (self.predict(user, item) for item in range(self.n_items))
        return np.array([-np.inf if value is None else value for value in predictions])

    def _pair(self, user: int, item: int) -> tuple[Any, ...]:
        """Return the arguments for a user and an item in calls of the wrapped model: two numbers, or one mapping."""
        return ({"user": str(user), "item": str(item)},) if self.features else (user, item)


@dataclass(frozen=True, eq=False)
class PartialFit(Wrapper):
    """A model with ``partial_fit`` and ``predict`` or ``recommend``.

    ``partial_fit(X)`` gets a row (user, item) per event, and also the values of the events if it has a parameter
    ``y``. ``predict(X)`` returns a number per row, which is used as a score and as a predicted rating. A model without
    ``predict`` returns lists: ``recommend(user, n)`` returns n items, best first; the adapter removes items the user
    has consumed.

    >>> class Counts:
    ...     def __init__(self):
    ...         self.n = np.zeros(10)
    ...     def partial_fit(self, X):
    ...         np.add.at(self.n, X[:, 1], 1)
    ...     def predict(self, X):
    ...         return self.n[X[:, 1]]
    >>> learner = PartialFit(Counts()).start()
    >>> learner.learn(np.array([0, 1, 1], np.int32), np.array([0, 0, 1], np.int32), np.ones(3))
    >>> learner.scores(0).tolist(), learner.predict(0, 1)
    ([2.0, 1.0], 1.0)
    """

    def __post_init__(self) -> None:
        _need(self.model, "partial_fit")
        if not hasattr(self.model, "predict"):
            _need(self.model, "recommend")

    def start(self) -> PartialScores | PartialLists:
        """Return a learner with a copy of the model."""
        model = copy.deepcopy(self.model)
        return (PartialScores if hasattr(model, "predict") else PartialLists)(model, str(self))

    def fit(self, log: Interactions) -> FittedStream:
        """Return a copy of the model that has learned a log, for protocols other than streams."""
        learner = self.start()
        if isinstance(learner, PartialLists):
            what = f"{self} returns lists without scores, which only streams support"
            raise UsageError(
                "U191", what, hint="add predict(X), or wrap its recommendations in ra.models.RecommendFunction"
            )
        return fit_learner(learner, log)


class PartialLearner:
    """A learner whose model learns rows of user and item."""

    def __init__(self, model: Any, name: str) -> None:
        self.model, self.name, self.n_items = model, name, 0

    def learn(self, users: Int32, items: Int32, values: Float) -> None:
        """Learn events in one call of ``partial_fit``, with their values if it takes ``y``."""
        rows = np.stack([users, items], axis=1).astype(np.int64)
        takes_values = "y" in inspect.signature(self.model.partial_fit).parameters
        self.model.partial_fit(rows, *([values] if takes_values else []))
        self.n_items = max(self.n_items, int(items.max(initial=-1)) + 1)


class PartialScores(PartialLearner):
    """A learner whose model predicts a number per row."""

    def predict(self, user: int, item: int) -> float:
        """Return the predicted rating of a user for an item."""
        return float(self._predicted(user, np.array([item]))[0])

    def scores(self, user: int) -> Float:
        """Return the prediction of every item learned so far."""
        return self._predicted(user, np.arange(self.n_items))

    def _predicted(self, user: int, items: Int64) -> Float:
        """Return the predictions for ``items`` and one user.

        Raise I308 unless the model returns one number per item.
        """
        found = np.asarray(self.model.predict(np.stack([np.full(items.size, user), items], axis=1)), np.float64)
        if found.shape != items.shape:
            what = f"{self.name} predicted {found.shape} numbers for {items.size:,} rows of user and item"
            raise InputError("I308", what, hint="return one number per row")
        return found


class PartialLists(PartialLearner):
    """A learner whose model returns lists."""

    def recommend(self, user: int, n: int, consumed: Int32) -> NDArray[Any]:
        """Return at most n items, best first, none of which the user has consumed."""
        listed = np.asarray(self.model.recommend(user, n + consumed.size))
        return listed[~np.isin(listed, consumed)][:n]


def _need(model: Any, *methods: str) -> None:
    """Raise U191 if a model lacks one of the methods."""
    missing = [method for method in methods if not callable(getattr(model, method, None))]
    if missing:
        what = f"{type(model).__name__} has no {' and no '.join(missing)}"
        hint = "RiverLike needs learn_one and predict_one, PartialFit needs partial_fit and predict or recommend"
        raise UsageError("U191", what, hint=hint)
