"""Online models that were not made for recassay: with ``learn_one``, as those of river, or with ``partial_fit``.

Each adapter is a description that copies the model it was given, so the one you made stays as it is. Models speak of
users and items by the numbers in which they first appear: 0, 1, 2, ...
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recassay.errors import InputError, UsageError
from recassay.models.incremental._walk import Int32
from recassay.models.incremental.base import FittedStream, taught

Values = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RiverLike:
    """A model with ``learn_one`` and ``predict_one``, handed over as it was made: ``RiverLike(river.reco.BiasedMF())``.

    Both take (user, item), as recommenders of river do, or a mapping of features, as its regressors do: then it is
    ``{"user": "3", "item": "7"}``. What is learnt is the value of the event, 1 where nothing was rated. A score is what
    it predicts; all items learnt so far are asked about one by one, which takes its time.

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

    model: Any

    def __post_init__(self) -> None:
        _need(self.model, "learn_one", "predict_one")

    def __str__(self) -> str:
        return type(self.model).__name__

    def start(self) -> LearningOne:
        """A copy of the model as it is."""
        return LearningOne(copy.deepcopy(self.model))

    def fit(self, log: Any) -> FittedStream:
        """A copy that has met the events of a log, for other protocols than streams."""
        return taught(self.start(), log)


class LearningOne:
    """A model that learns and predicts one pair at a time."""

    def __init__(self, model: Any) -> None:
        self.model, self.met = model, 0
        self.features = next(iter(inspect.signature(model.learn_one).parameters), "") == "x"

    def learn(self, users: Int32, items: Int32, values: Values) -> None:
        """Learn events, in order."""
        for user, item, value in zip(users.tolist(), items.tolist(), values.tolist(), strict=True):
            self.model.learn_one(*self._pair(user, item), value)
        self.met = max(self.met, int(items.max(initial=-1)) + 1)

    def predict(self, user: int, item: int) -> float | None:
        """What the user will rate the item."""
        found = self.model.predict_one(*self._pair(user, item))
        return None if found is None else float(found)

    def scores(self, user: int) -> Values:
        """What is predicted of every item; what is not cannot be recommended."""
        found = (self.predict(user, item) for item in range(self.met))
        return np.array([-np.inf if one is None else one for one in found])

    def _pair(self, user: int, item: int) -> tuple[Any, ...]:
        return ({"user": str(user), "item": str(item)},) if self.features else (user, item)


@dataclass(frozen=True, eq=False)
class PartialFit:
    """A model with ``partial_fit`` and ``predict`` or ``recommend``, handed over as it was made.

    ``partial_fit(X)`` is given a row (user, item) per event, and the values of the events too if it takes ``y``.
    ``predict(X)`` gives a number for each such row: all items are scored by it, ratings are predicted by it. A model
    without it gives lists instead: ``recommend(user, n)`` names n items, best first; what the user had is left out for
    it.

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

    model: Any

    def __post_init__(self) -> None:
        _need(self.model, "partial_fit")
        if not hasattr(self.model, "predict"):
            _need(self.model, "recommend")

    def __str__(self) -> str:
        return type(self.model).__name__

    def start(self) -> PartialScores | PartialLists:
        """A copy of the model as it is."""
        model = copy.deepcopy(self.model)
        return PartialScores(model, str(self)) if hasattr(model, "predict") else PartialLists(model)

    def fit(self, log: Any) -> FittedStream:
        """A copy that has met the events of a log, for other protocols than streams."""
        learner = self.start()
        if isinstance(learner, PartialLists):
            what = f"{self} gives lists without scores, which is for streams alone"
            raise UsageError(
                "U195", what, hint="give it predict(X), or wrap what it recommends in ra.models.Recommends"
            )
        return taught(learner, log)


class PartialScores:
    """A model that learns rows of user and item and predicts a number for each."""

    def __init__(self, model: Any, name: str) -> None:
        self.model, self.name, self.met = model, name, 0

    def learn(self, users: Int32, items: Int32, values: Values) -> None:
        """Learn events, all that are given at once."""
        _fit_partly(self.model.partial_fit, users, items, values)
        self.met = max(self.met, int(items.max(initial=-1)) + 1)

    def predict(self, user: int, item: int) -> float:
        """What the user will rate the item."""
        return float(self._predicted(user, np.array([item]))[0])

    def scores(self, user: int) -> Values:
        """What is predicted of every item."""
        return self._predicted(user, np.arange(self.met))

    def _predicted(self, user: int, items: NDArray[np.int64]) -> Values:
        found = np.asarray(self.model.predict(np.stack([np.full(items.size, user), items], axis=1)), np.float64)
        if found.shape != items.shape:
            what = f"{self.name} predicted {found.shape} numbers for {items.size:,} rows of user and item"
            raise InputError("I377", what, hint="give one number per row")
        return found


class PartialLists:
    """A model that learns rows of user and item and gives lists."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def learn(self, users: Int32, items: Int32, values: Values) -> None:
        """Learn events, all that are given at once."""
        _fit_partly(self.model.partial_fit, users, items, values)

    def recommend(self, user: int, n: int, consumed: Int32) -> NDArray[Any]:
        """At most n items, best first, none of which the user has consumed."""
        listed = np.asarray(self.model.recommend(user, n + consumed.size))
        return listed[~np.isin(listed, consumed)][:n]


def _fit_partly(partial_fit: Callable[..., Any], users: Int32, items: Int32, values: Values) -> None:
    rows = np.stack([users, items], axis=1).astype(np.int64)
    if "y" in inspect.signature(partial_fit).parameters:
        partial_fit(rows, values)
    else:
        partial_fit(rows)


def _need(model: Any, *methods: str) -> None:
    missing = [one for one in methods if not callable(getattr(model, one, None))]
    if missing:
        what = f"{type(model).__name__} has no {' and no '.join(missing)}"
        hint = "RiverLike needs learn_one and predict_one, PartialFit needs partial_fit and predict or recommend"
        raise UsageError("U194", what, hint=hint)
