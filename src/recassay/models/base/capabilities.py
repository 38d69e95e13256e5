"""Capabilities of models: one protocol per capability, and the functions that fit whatever can be fitted.

A model has no base class. Its methods say what it can do, and the package checks them with ``isinstance``. A
*description* has ``fit(log)`` and returns a fitted model; fitting never changes the description. A *fitted model* has
some of the other capabilities. Only :class:`~recassay.models.incremental.base.WalksStream` is elsewhere: its types are
those of compiled loops.

A description with ``fits_by_user = True`` learns nothing from other users, except how many events or users an item has.
So it can be fitted on the rows of some users only: their recommendations are those of a model fitted on all rows.

>>> from recassay.models.baselines import Popular
>>> isinstance(Popular(), CanFit), isinstance(Popular(), ScoresItems)
(True, False)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeGuard, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from recassay.arrays import Bool, Float, Float32, Int32, Int64
from recassay.data.features import Features
from recassay.data.fold import Fold
from recassay.data.interactions import Interactions
from recassay.data.sequences import Histories

ModelSource = object  # a text such as "ALS(factors=8)", a model to fit, or a fitted one with some of these capabilities

Listener = Callable[[str, int, int], None]  # a line about the last epoch, epochs done, epochs in all
Lists = tuple[Int32, Float]
Score = Callable[[Int32], NDArray[np.floating]]


@dataclass(frozen=True)
class Training:
    """Settings for the training of a model that is trained in epochs (passes over the log).

    ``validation`` contains later events of the same users and items. ``checkpoint`` is a file written after every
    epoch. A fit that finds its checkpoint resumes there and ends with the same bits as one that was never stopped.
    ``listener`` is called after every epoch with a line of text, the number of epochs done, and the number of all
    epochs. ``max_epochs`` bounds the epochs of the model, for dry runs.
    """

    validation: Interactions | None = None
    checkpoint: Path | None = None
    listener: Listener | None = None
    max_epochs: int | None = None


# --- fitted models ----------------------------------------------------------------------------------------------------


@runtime_checkable
class RecommendsLists(Protocol):
    """A fitted model that returns ranked lists."""

    def recommend(self, users: Int32, k: int) -> Lists:
        """Return items (n, k) and scores (n, k), best first, for user codes of the log.

        A list contains no item that the user has in the log. A list that runs out of items ends in -1.
        """


class Fitted(RecommendsLists, Protocol):
    """A model fitted on a log; it returns ranked lists."""

    @property
    def log(self) -> Interactions:
        """Return the log the model was fitted on."""


@runtime_checkable
class ScoresItems(Protocol):
    """A fitted model that scores every item; several threads may call it at once."""

    def scores(self, users: Int32) -> NDArray[np.floating]:
        """Return scores (n, items) for user codes; the scores of items a user already has are ignored."""


@runtime_checkable
class HasFactors(Protocol):
    """A fitted model whose scores are ``user_factors[u] @ item_factors[i]``; ranking with them is several times faster.

    In Python 3.11 an ``isinstance`` check reads both properties. Check the cheaper :class:`ScoresItems` first.
    """

    @property
    def user_factors(self) -> Float32:
        """Return a row of factors per user."""

    @property
    def item_factors(self) -> Float32:
        """Return a row of factors per item."""


@runtime_checkable
class MissesFactors(Protocol):
    """A fitted model with factors that lacks the vector of some items, so it cannot score them."""

    @property
    def missing_items(self) -> Bool:
        """Return a mask of the items without factors."""


@runtime_checkable
class UsesLog(Protocol):
    """A fitted model that can recommend from the histories of another log, without learning from it."""

    def with_log(self, log: Interactions) -> Fitted:
        """Return a copy of the model with users' histories from this log, which must have the same items."""


@runtime_checkable
class NextProbabilities(Protocol):
    """A fitted model that returns the probability of every item to come next.

    Histories carry their users and times, where known. A model whose probabilities depend on the items alone says so
    with ``reads_items_only = True``; then histories with equal items are predicted once, for all their users.
    """

    def next_probabilities(self, histories: Histories) -> NDArray[np.floating]:
        """Return probabilities (n, items) of the next item after each history; every row sums to 1."""


@runtime_checkable
class PredictsTimes(Protocol):
    """A fitted model that predicts when the next item of a history comes."""

    def next_times(self, histories: Histories, items: Int32) -> NDArray[Any]:
        """Return, for each history, the predicted time of its next item, in the unit of the log's times.

        ``items`` has the next item of each history.
        """


@runtime_checkable
class SamplesNext(NextProbabilities, Protocol):
    """A fitted model that samples the next item without computing a row of all items. It reads items only.

    Its methods answer for many histories at once. ``last`` (n, memory) contains the last items of each history,
    right-aligned and padded with -1 on the left. ``steps`` (n,) is how many items each history has after its first one.
    """

    @property
    def memory(self) -> int:
        """Return how many of the last items of a history the model reads."""

    def draw(self, last: Int32, steps: Int64, uniforms: Float) -> Int32:
        """Return one item per history, drawn from its predicted probabilities with one uniform random number each.

        The drawn item is the first, by code, whose cumulative probability exceeds the number. ``last`` (n, memory) are
        the last items of each history, ``steps`` how many items it has after its first one.
        """

    def likeliest(self, last: Int32, steps: Int64) -> Int32:
        """Return the most probable item after each history; ties go to the lowest code.

        ``last`` (n, memory) are the last items of each history, ``steps`` how many items it has after its first one.
        """

    def probability(self, last: Int32, steps: Int64, items: Int32) -> Float:
        """Return the probability of one given item after each history.

        ``last`` (n, memory) are the last items of each history, ``steps`` how many items it has after its first one.
        """


# --- online models ----------------------------------------------------------------------------------------------------


@runtime_checkable
class UpdatesOnline(Protocol):
    """A model that is trained online: it learns from one event after another."""

    def learn(self, users: Int32, items: Int32, values: Float) -> None:
        """Learn events in order; ``values`` are their ratings, 1 for an event without a rating."""


class Learner(UpdatesOnline, Protocol):
    """An online model that scores items. Learning changes it; a checkpoint pickles the whole object."""

    def scores(self, user: int) -> NDArray[np.floating]:
        """Return a score of every item learned so far, by code; -inf excludes an item. The user may be new."""


@runtime_checkable
class ListsOnline(Protocol):
    """An online model that returns lists without scores."""

    def recommend(self, user: int, n: int, consumed: Int32) -> Int32:
        """Return at most n items, best first, none of which the user has consumed."""


@runtime_checkable
class PredictsRatings(Protocol):
    """An online model that predicts ratings."""

    def predict(self, user: int, item: int) -> float | None:
        """Return the predicted rating of a user for an item (codes); None or NaN if the model cannot predict it."""


@runtime_checkable
class StartsOnline(Protocol):
    """An unfitted model that can start as an online learner."""

    def start(self) -> Learner:
        """Return a new learner that has learned nothing."""


# --- descriptions -----------------------------------------------------------------------------------------------------


@runtime_checkable
class CanFit(Protocol):
    """An unfitted model: any object with ``fit(log)``."""

    def fit(self, log: Interactions) -> Fitted:
        """Return the model fitted on a log."""


@runtime_checkable
class WrapsModel(Protocol):
    """An unfitted model that changes what another model recommends, such as a re-ranker."""

    def base_model(self) -> Any:
        """Return the other model, unfitted or fitted."""

    def wrap(self, fitted: Fitted, items: Features | None = None) -> Fitted:
        """Return a model that changes what ``fitted``, the other model, recommends; ``items`` are features of items."""


# --- what follows from capabilities -----------------------------------------------------------------------------------


def gives_scores(fitted: object) -> TypeGuard[ScoresItems | HasFactors]:
    """Return whether a fitted model scores every item, by itself or by a product of factors."""
    return isinstance(fitted, ScoresItems | HasFactors)


def score_function(fitted: object) -> Score | None:
    """Return a function from user codes to scores (n, items); None if the model only returns lists.

    A user that the model knows nothing about has the score minus infinity for every item.
    """
    if isinstance(fitted, ScoresItems):
        score: Score = fitted.scores
    elif isinstance(fitted, HasFactors):
        users, items = fitted.user_factors, fitted.item_factors

        def score(block: Int32) -> NDArray[np.floating]:
            return users[block] @ items.T
    else:
        return None
    unknown = unknown_users(fitted)
    if unknown is None:
        return score

    def known_only(block: Int32) -> NDArray[np.floating]:
        table = np.asarray(score(block))
        return np.where(unknown[block, None], -np.inf, table) if unknown[block].any() else table

    return known_only


def unknown_users(fitted: object) -> Bool | None:
    """Return a mask over user codes: True for a user whom the model cannot score; None if it can score all users.

    The mask is the model's property ``unknown_users``; a model without this property can score all users. Most models
    cannot score a user without training events.
    """
    unknown = getattr(fitted, "unknown_users", None)
    return unknown if unknown is not None and unknown.any() else None


def fitted(model: Any, log: Interactions, *, training: Training | None = None, items: Features | None = None) -> Any:
    """Return a model fitted on a log; return anything without ``fit`` as it is.

    ``training`` is for models that train in epochs. A wrapping model is fitted by fitting the model it wraps;
    ``items`` are the features of items it may use.

    >>> from recassay.data.synthetic import log
    >>> from recassay.models.baselines import Popular
    >>> made = log(users=30, items=20, events=150)
    >>> popular = fitted(Popular(), made)
    >>> popular.log is made, fitted(popular, made) is popular
    (True, True)
    """
    if isinstance(model, WrapsModel):
        return model.wrap(fitted(model.base_model(), log, training=training, items=items), items)
    if getattr(model, "trains_in_epochs", False):
        return model.fit(log, training=training or Training())
    return model.fit(log) if isinstance(model, CanFit) else model


def fitted_on_fold(
    model: Any,
    fold: Fold,
    *,
    checkpoint: Path | None = None,
    listener: Listener | None = None,
    max_epochs: int | None = None,
) -> Any:
    """Return a model fitted on the training part of a fold; return anything without ``fit`` as it is.

    The item features of the fold go to models that wrap another one. Models that train in epochs are stopped by the
    validation part; they write the file ``checkpoint`` after every epoch, from which an interrupted fit resumes, call
    ``listener`` with their progress, and stop after ``max_epochs``.
    """
    training = Training(fold.validation, checkpoint, listener, max_epochs)
    return fitted(model, fold.train, training=training, items=fold.items)
