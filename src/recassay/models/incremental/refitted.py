"""A batch model beside models that learn event by event: it is fitted again on all events at intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.data.interactions import Interactions
from recassay.models.base.capabilities import CanFit, score_function
from recassay.models.base.model import BuiltIn, checked_scores
from recassay.models.base.registry import parse
from recassay.models.incremental._walk import Int32
from recassay.models.incremental.base import Incremental, with_added_seed

Float = NDArray[np.float64]


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

    name: ClassVar[str] = "Refitted"
    reads_ratings: ClassVar[bool | None] = None

    model: str
    every: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        if isinstance(self.model, BuiltIn):
            object.__setattr__(self, "model", str(self.model))
        super().__post_init__()

    def validate(self) -> None:
        """Raise U102 for a count below 1, or for a model without ``fit``."""
        self.at_least(1, "every")
        if not isinstance(self.batch_model(), CanFit):
            raise self.refuse("model", f"{self.model} has no fit(log)", "model='UserKNN'")

    def batch_model(self) -> Any:
        """Return the unfitted model, with ``seed`` added to its own."""
        return with_added_seed(parse(self.model), self.seed)

    def start(self) -> RefittedLearner:
        """Return a new learner that has learned nothing."""
        return RefittedLearner(self)


class RefittedLearner:
    """The learner of ``Refitted``: all events so far, and a model fitted on those up to the last full interval."""

    def __init__(self, model: Refitted) -> None:
        self.model, self.batch_model = model, model.batch_model()
        self.users, self.items, self.values = np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0)
        self.waiting: list[tuple[Int32, Int32, Float]] = []  # joined when the model is fitted, not at every event
        self.n_events, self.n_items = 0, 0
        self.fitted: Any = None

    def learn(self, users: Int32, items: Int32, values: Float) -> None:
        """Store the events, and fit the model whenever the number of events reaches a multiple of ``every``.

        If a block of events reaches several multiples, the model is fitted once, up to the last one.
        """
        self.waiting.append((users.copy(), items.copy(), values.copy()))
        before, self.n_events = self.n_events, self.n_events + users.size
        self.n_items = max(self.n_items, int(items.max(initial=-1)) + 1)
        if self.n_events // self.model.every > before // self.model.every:
            self._fit(self.n_events // self.model.every * self.model.every)

    def _fit(self, first: int) -> None:
        """Fit the model on the first ``first`` events.

        Users and items keep their codes in the log, because codes by first appearance leave no gaps.
        """
        columns = zip((self.users, self.items, self.values), *self.waiting, strict=True)
        self.users, self.items, self.values = (np.concatenate(column) for column in columns)
        self.waiting = []
        frame = {
            "user_id": self.users,
            "item_id": self.items,
            "rating": self.values,
            "timestamp": np.arange(self.n_events),
        }
        self.fitted = self.batch_model.fit(Interactions.from_frame(pl.DataFrame(frame)[:first]))

    def scores(self, user: int) -> Float:
        """Return a score of every item learned so far; -inf for users and items that came after the last fit."""
        found = np.full(self.n_items, -np.inf)
        if self.fitted is not None and user < self.fitted.log.n_users:
            score, known = score_function(self.fitted), self.fitted.log.n_items
            if score is None:
                raise self.model.refuse("model", f"{self.model.model} gives no scores", "model='UserKNN'")
            found[:known] = checked_scores(np.asarray(score(np.array([user], np.int32))), (1, known), self.model.model)[
                0
            ]
        return found
