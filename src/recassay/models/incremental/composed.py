"""Online models made of other models: ensembles, and batch models that are fitted again at intervals."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import polars as pl

from recassay.arrays import Float, Int32
from recassay.data.interactions import Interactions
from recassay.errors import UsageError
from recassay.models.base.capabilities import (
    CanFit,
    Learner,
    PredictsRatings,
    ScoresItems,
    StartsOnline,
    UpdatesOnline,
    score_function,
)
from recassay.models.base.model import BuiltIn, checked_scores
from recassay.models.base.registry import parse
from recassay.models.incremental._walk import StreamEvents
from recassay.models.incremental.base import Incremental, fit_learner, with_added_seed
from recassay.naming.grammar import split
from recassay.naming.named import COUNT

RANK_OFFSET = 60  # of Cormack, Clarke and Büttcher: the first ranks differ less


@dataclass(frozen=True, repr=False)
class Ensemble(Incremental):
    """Several online models as one: their weights are their performance at the last ``window`` events.

    ``models`` are texts such as ``"ISGD UKNN(neighbours=40)"``, or models. Right before an event of a known user is
    learned, every member is scored on it: by 1 / rank of its item among the items that the user has not had, or, with
    ``at``, by whether this rank is at most ``at``; tied items count half. Events of items that the user had are not
    scored. A member's weight is its mean over the last ``window`` scored events; all weights are equal at first, and
    if all means are 0. The score of an item is the sum of weight / (60 + rank) over the members (reciprocal rank
    fusion with weights).

    If all members predict ratings, a member is scored by its squared error, its weight is 1 / mean, and predictions
    are weighted means. ``choose="best"`` follows the best member alone: with one model under several parameters this
    chooses parameters while the stream runs. ``seed`` is added to the seeds of the members.

    >>> model = Ensemble("StreamPopular Recent", window=2)
    >>> learner = model.start()
    >>> users, items = np.array([0, 1, 0, 1], np.int32), np.array([0, 1, 1, 0], np.int32)
    >>> learner.learn(users, items, np.ones(4))
    >>> learner.weights.tolist(), model
    ([1.0, 1.0], Ensemble(models='StreamPopular Recent', window=2))

    References: Cormack, Clarke and Büttcher, Reciprocal rank fusion outperforms Condorcet and individual rank learning
    methods, SIGIR 2009. That the weights of an ensemble may follow prequential performance is a remark of Vinagre,
    Jorge and Gama, Evaluation of recommender systems in streaming environments, 2014; they define no rule.
    """

    reads_ratings: ClassVar[bool | None] = None

    models: object
    window: Annotated[int, COUNT] = 1000
    choose: Literal["weights", "best"] = "weights"
    at: Annotated[int | None, COUNT] = None
    seed: int = 0

    def __post_init__(self) -> None:
        given = self.models
        if isinstance(given, Iterable) and not isinstance(given, str):
            given = tuple(given)
            is_text = all(isinstance(model, BuiltIn | str) for model in given)
            object.__setattr__(self, "models", " ".join(map(str, given)) if is_text else given)
        super().__post_init__()

    def validate(self) -> None:
        """Raise U102 for a count below 1, or for members that cannot learn event by event and score items."""
        super().validate()
        if len(self.members()) < 2:
            raise self.refuse("models", "an ensemble has at least two members", "models='ISGD UKNN'")

    def members(self) -> tuple[Any, ...]:
        """Return the unfitted members, with the seed of the ensemble added to theirs."""
        given = self.models
        if not isinstance(given, str | Sequence):
            raise self.refuse("models", "it is neither a text nor several models", "models='ISGD UKNN'")
        found = [parse(text) for text in split(given)] if isinstance(given, str) else list(given)
        for member in found:
            if not isinstance(member, StartsOnline | UpdatesOnline):
                raise self.refuse("models", f"{member} cannot learn event by event", "ISGD, UKNN, StreamPopular, ...")
        return tuple(with_added_seed(member, self.seed) for member in found)

    def start(self) -> LearningEnsemble:
        """Return a new learner that has learned nothing; raise U102 for a member that scores no items."""
        learners = [one.start() if isinstance(one, StartsOnline) else copy.deepcopy(one) for one in self.members()]
        for member, learner in zip(self.members(), learners, strict=True):
            if not isinstance(learner, ScoresItems):
                raise self.refuse("models", f"{member} gives no scores", "give it scores(user)")
        predict = all(isinstance(learner, PredictsRatings) for learner in learners)
        return RatingEnsemble(self, learners) if predict else LearningEnsemble(self, learners)


class LearningEnsemble:
    """The learner of ``Ensemble``: its members, and how right each was at the last scored events.

    ``recent`` (window, members) has the values of the last scored events, NaN where there is none.
    """

    def __init__(self, model: Ensemble, learners: Sequence[Learner]) -> None:
        self.model, self.learners = model, tuple(learners)
        self.recent = np.full((model.window, len(self.learners)), np.nan)
        self.n_scored, self.n_events, self.n_items = 0, 0, 0
        self.had: dict[int, set[int]] = {}
        self.last_scores: tuple[int, int, list[Float]] | None = None  # with their user and number of events

    def learn(self, users: Int32, items: Int32, values: Float) -> None:
        """Score the members on each event, and let them learn it, in order; ``values`` are ratings."""
        for row, (user, item, value) in enumerate(zip(users.tolist(), items.tolist(), values.tolist(), strict=True)):
            if (performance := self.performance(user, item, value)) is not None:
                self.recent[self.n_scored % self.model.window] = performance
                self.n_scored += 1
            for learner in self.learners:
                learner.learn(users[row : row + 1], items[row : row + 1], values[row : row + 1])
            self.had.setdefault(user, set()).add(item)
            self.n_events, self.n_items = self.n_events + 1, max(self.n_items, item + 1)

    def performance(self, user: int, item: int, value: float) -> Float | None:
        """Return how right each member is at an event that is not learned yet: 1 / rank of its item, or the hit.

        Return None if the event is not scored, because its user is new or had the item.
        """
        had = self.had.get(user)
        if had is None or item in had:
            return None
        return np.array([self._value_of(row, item, had) for row in self._member_scores(user)])

    def _value_of(self, row: Float, item: int, had: set[int]) -> float:
        """Return how well one member, whose scores are ``row``, predicts the ``item`` of an event.

        This is 1 / rank of the item, or, if the model has a cut-off ``at``, 1 for a rank up to ``at`` and 0 beyond.
        Tied items share their mean rank. Items that the user ``had`` are not ranked; an item that the member does not
        know has value 0.
        """
        if item >= row.size or np.isneginf(row[item]):
            return 0.0
        others = np.delete(row, sorted(had))
        tied = np.count_nonzero(others == row[item]) - 1
        rank = 1 + np.count_nonzero(others > row[item]) + tied / 2
        return 1 / rank if self.model.at is None else float(rank <= self.model.at)

    @property
    def weights(self) -> Float:
        """Return the weight of each member, by its performance at the last scored events; equal ones without any.

        With ``choose="best"``, the best member has weight 1 and the others 0.
        """
        counts = np.maximum(np.count_nonzero(~np.isnan(self.recent), axis=0), 1)
        weights = self._weights(np.nansum(self.recent, axis=0) / counts)
        if not weights.any():
            return np.ones(weights.size)
        return weights if self.model.choose == "weights" else np.eye(weights.size)[int(weights.argmax())]

    def _weights(self, means: Float) -> Float:
        return means

    def scores(self, user: int) -> Float:
        """Return a score of every item learned so far: the sum of weight / (60 + rank) over the members."""
        total, listed = np.zeros(self.n_items), np.zeros(self.n_items, np.bool_)
        for weight, row in zip(self.weights.tolist(), self._member_scores(user), strict=True):
            if weight:
                there = ~np.isneginf(row)
                ranks = 1 + np.searchsorted(np.sort(-row), -row)
                total += np.where(np.isnan(row), np.nan, np.where(there, weight / (RANK_OFFSET + ranks), 0.0))
                listed |= there
        return np.where(listed, total, -np.inf)

    def _member_scores(self, user: int) -> list[Float]:
        """Return each member's scores of all items for a user.

        Those of the last query are cached, because its event is usually learned next.
        """
        if self.last_scores is None or self.last_scores[:2] != (user, self.n_events):
            rows = [np.asarray(one.scores(user))[: self.n_items].astype(np.float64) for one in self.learners]
            self.last_scores = (user, self.n_events, rows)
        return self.last_scores[2]


class RatingEnsemble(LearningEnsemble):
    """The learner of an ``Ensemble`` whose members all predict ratings: ``recent`` has their squared errors."""

    def performance(self, user: int, item: int, value: float) -> Float | None:
        """Return the squared error of each member at an event that is not learned yet; None if none predicts it."""
        errors = np.square(self._predictions(user, item) - value)
        return None if np.isnan(errors).all() else errors

    def _weights(self, means: Float) -> Float:
        means = np.where(np.isnan(self.recent).all(axis=0), np.inf, means)  # never predicted anything
        least = means.min()
        if np.isinf(least):
            return np.zeros(means.size)
        return np.where(means == least, 1.0, least / np.where(means > 0, means, 1.0))

    def predict(self, user: int, item: int) -> float:
        """Return the weighted mean of the members' predictions; NaN if none predicts a rating."""
        predicted, weights = self._predictions(user, item), self.weights
        known = ~np.isnan(predicted)
        total = float(weights[known].sum())
        return float((weights[known] * predicted[known]).sum() / total) if total else float("nan")

    def scores(self, user: int) -> Float:
        """Return the weighted mean of the members' predicted ratings, for every item learned so far."""
        weights = self.weights
        rows = np.array(self._member_scores(user))[weights > 0]
        return np.asarray(np.average(rows, axis=0, weights=weights[weights > 0]))

    def _predictions(self, user: int, item: int) -> Float:
        predicted = [learner.predict(user, item) for learner in self.learners]  # type: ignore[attr-defined]
        return np.array([np.nan if one is None else one for one in predicted], np.float64)


@dataclass(frozen=True, repr=False)
class Refitted(Incremental):
    """A batch model on a stream: it is fitted again on all events so far whenever ``every`` more have been learned.

    ``model`` is a text such as ``"UserKNN(neighbours=20)"``. ``prequential(known="stream")`` scores it at the same
    events as models that learn event by event; ``prequential(refit=1000)`` would refit these as well. Users and items
    that came after the last fit have no scores, and before the first fit nothing is recommended. Users and items are
    numbered by first appearance, which decides between equal neighbours. ``seed`` is added to that of the model.

    >>> learner = Refitted("Popular", every=2).start()
    >>> learner.learn(np.array([0, 0, 1], np.int32), np.array([0, 1, 2], np.int32), np.ones(3))
    >>> learner.scores(0).tolist()
    [1.0, 1.0, -inf]
    """

    reads_ratings: ClassVar[bool | None] = None

    model: str
    every: Annotated[int, COUNT] = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        if isinstance(self.model, BuiltIn):
            object.__setattr__(self, "model", str(self.model))
        super().__post_init__()

    def validate(self) -> None:
        """Raise U102 for a count below 1, or for a model without ``fit``."""
        super().validate()
        if not isinstance(self.batch_model(), CanFit):
            raise self.refuse("model", f"{self.model} has no fit(log)", "model='UserKNN'")

    def batch_model(self) -> Any:
        """Return the unfitted model, with ``seed`` added to its own."""
        return with_added_seed(parse(self.model), self.seed)

    def start(self) -> RefittedLearner:
        """Return a new learner that has learned nothing."""
        return RefittedLearner(self.batch_model(), self.every)


class RefittedLearner:
    """A batch model as a learner: all events so far, and a model fitted on those up to the last multiple of ``every``.

    The model is fitted on a log with codes as ids, and the numbers of events as times.
    """

    def __init__(self, model: Any, every: int = 1) -> None:
        self.model, self.every = model, every
        self.events = StreamEvents(np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0))
        self.waiting: list[StreamEvents] = []  # joined when the model is fitted, not at every event
        self.n_events, self.n_items = 0, 0
        self.fitted: Any = None
        self.user_codes, self.item_codes = np.zeros(0, np.int32), np.zeros(0, np.int32)  # in the log of the model

    def learn(self, users: Int32, items: Int32, values: Float) -> None:
        """Store the events, and fit the model whenever the number of events reaches a multiple of ``every``.

        If a block of events reaches several multiples, the model is fitted once, up to the last one.
        """
        self.waiting.append(StreamEvents(users.copy(), items.copy(), values.copy()))
        before, self.n_events = self.n_events, self.n_events + users.size
        self.n_items = max(self.n_items, int(items.max(initial=-1)) + 1)
        if self.n_events // self.every > before // self.every:
            columns = zip(self.events, *self.waiting, strict=True)
            self.events, self.waiting = StreamEvents(*map(np.concatenate, columns)), []
            last = self.n_events // self.every * self.every
            self._fit(self.events.each(lambda column: column[:last]))

    def _fit(self, events: StreamEvents) -> None:
        log, model = self.log(events), self.model
        self.fitted = model.fit(log) if isinstance(model, CanFit) else fit_learner(model.start(), log)
        self.user_codes = np.zeros(int(events.users.max()) + 1, np.int32)
        self.item_codes = np.zeros(int(events.items.max()) + 1, np.int32)
        self.user_codes[events.users], self.item_codes[events.items] = log.users, log.items

    def log(self, events: StreamEvents) -> Interactions:
        """Return the log on which the model is fitted, a row per event."""
        frame = {"user_id": events.users, "item_id": events.items, "rating": events.values}
        return Interactions.from_frame(pl.DataFrame({**frame, "timestamp": np.arange(events.users.size)}))

    def scores(self, user: int) -> Float:
        """Return a score of every item learned so far; -inf for users and items that came after the last fit."""
        scores, known = np.full(self.n_items, -np.inf), self.item_codes.size
        if user < self.user_codes.size:
            score = score_function(self.fitted)
            if score is None:
                raise UsageError("U191", f"{self.model} gives no scores", hint="give it scores(users), as UserKNN has")
            table = checked_scores(np.asarray(score(self.user_codes[user : user + 1])), (1, known), str(self.model))
            scores[:known] = table[0][self.item_codes]
        return scores
