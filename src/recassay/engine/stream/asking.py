"""Asking and telling a learner, event by event: slow, and good for anything that learns.

A learner that walks whole blocks (:class:`~recassay.models.incremental.base.Walks`) does the same by itself, compiled.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.data.interactions import Interactions
from recassay.errors import InputError, UsageError
from recassay.models.base import checked
from recassay.models.incremental._walk import Asked, Shown, Told, place
from recassay.models.incremental.base import Predicts, Starts
from recassay.protocols.prequential import Prequential

Int64 = NDArray[np.int64]
HINT = "its own error stands above; what was scored so far is in the stream of this error"

Ask = Callable[[Any, str, Asked, int, Shown], None]  # the learner, its name, and which question
Names = Callable[[], tuple[pl.Series, pl.Series]]  # ids of users and of items, by code


class Broken(Exception):  # noqa: N818 - it is not the caller's error: see the code that catches it
    """A learner failed: after how many questions, in learning up to which event, and how."""

    def __init__(self, questions: int, told: int | None, code: str, what: str, hint: str) -> None:
        super().__init__(what)
        self.questions, self.told, self.code, self.what, self.hint = questions, told, code, what, hint
        self.place = -1  # the event, once it is known


def step_by_step(learner: Any, name: str, told: Told, steps: Int64, asked: Asked, shown: Shown, ask: Ask) -> None:
    """Learn up to each of the ``steps`` in one go, and ask each question when its time has come."""
    learnt, n, at = 0, asked.users.size, 0
    for question in range(n + 1):
        until = told.users.size if question == n else int(asked.until[question])
        while at < steps.size and steps[at] <= until:
            if steps[at] > learnt:
                _tell(learner, name, told, learnt, int(steps[at]), question, shown)
                learnt = int(steps[at])
            at += 1
        if question < n:
            ask(learner, name, asked, question, shown)


def _tell(learner: Any, name: str, told: Told, begin: int, end: int, question: int, shown: Shown) -> None:
    begun = time.monotonic_ns()
    try:
        learner.learn(told.users[begin:end], told.items[begin:end], told.values[begin:end])
    except Exception as error:
        what = f"{name} could not learn: {type(error).__name__}: {error}"
        raise Broken(question, end, "I374", what, HINT) from error
    shown.learning[begin:end] = (time.monotonic_ns() - begun) // (end - begin)


def recommend(learner: Any, name: str, asked: Asked, question: int, shown: Shown) -> None:
    """Ask for the best items: their scores, or a list."""
    user, known = int(asked.users[question]), int(asked.known[question])
    consumed = asked.pool[asked.begin[question] : asked.end[question]]
    gives_lists = not hasattr(learner, "scores")
    begun = time.monotonic_ns()
    try:
        if gives_lists:
            answer = np.asarray(learner.recommend(user, shown.lists.shape[1], consumed))
        else:
            answer = np.asarray(learner.scores(user))
            _place(answer, name, known, asked, question, shown)
    except InputError as error:
        raise Broken(question, None, error.code if error.code == "I375" else "I374", error.what, error.hint) from error
    except Exception as error:
        what = f"{name} could not answer: {type(error).__name__}: {error}"
        raise Broken(question, None, "I374", what, HINT) from error
    shown.asking[question] = time.monotonic_ns() - begun
    if gives_lists:
        _look_up(answer, name, known, consumed, asked, question, shown)


def predict(learner: Any, name: str, asked: Asked, question: int, shown: Shown, foretold: NDArray[np.float64]) -> None:
    """Ask what the user will rate the item; NaN where the learner cannot say."""
    begun = time.monotonic_ns()
    try:
        answer = learner.predict(int(asked.users[question]), int(asked.items[question]))
        foretold[question] = np.nan if answer is None else answer
    except Exception as error:
        what = f"{name} could not predict: {type(error).__name__}: {error}"
        raise Broken(question, None, "I374", what, HINT) from error
    shown.asking[question] = time.monotonic_ns() - begun


def _place(answer: NDArray[Any], name: str, known: int, asked: Asked, question: int, shown: Shown) -> None:
    if answer.ndim != 1 or answer.size < known:
        what = f"{name} gave scores of shape {answer.shape}, and it has learnt {known:,} items"
        raise InputError("I375", what, hint="give one score for each item learnt so far, by code")
    if bad := int(np.isnan(answer[:known]).sum()):
        what = f"{name} gave {bad:,} NaN among {known:,} scores"
        raise InputError("I375", what, hint="give -inf for what cannot be recommended")
    row = np.empty(int(asked.universe[question]), answer.dtype if answer.dtype == np.float32 else np.float64)
    row[:known] = answer[:known]
    place(row, asked, question, shown)


def _look_up(
    answer: NDArray[Any], name: str, known: int, consumed: NDArray[np.int32], asked: Asked, question: int, shown: Shown
) -> None:
    """Where the item stands in a list; lists of what cannot be recommended are refused."""
    listed = answer[: shown.lists.shape[1]]
    if listed.size and (listed.dtype.kind not in "iu" or listed.min() < 0 or listed.max() >= known):
        stranger = next(one for one in listed.tolist() if not (isinstance(one, int) and 0 <= one < known))
        what = f"{name} recommends {stranger!r}, which is none of the {known:,} items it has learnt"
        raise Broken(question, None, "I373", what, "recommend codes of items from learn(): 0, 1, 2, ...")
    if np.unique(listed).size < listed.size:
        raise Broken(question, None, "I373", f"{name} recommends an item twice in one list", "list each item once")
    again = np.isin(listed, consumed)
    if again.any():
        had = f"{int(again.sum()):,} of {listed.size:,} items, such as {listed[again][0]}"
        what = f"{name} recommends what the user has had: {had}"
        raise Broken(
            question, None, "I372", what, "leave out the codes in consumed, or ask prequential(repeats='allow')"
        )
    shown.lists[question, : listed.size] = listed
    shown.candidates[question] = listed.size
    places = np.flatnonzero(listed == asked.items[question])
    shown.position[question] = places[0] + 1 if places.size else 0


class Refitting:
    """Any model as a learner: it keeps all events, and is made anew from them whenever it is told something."""

    def __init__(self, model: Any, names: Names) -> None:
        self.model, self.names = model, names
        self.told: list[Told] = []
        self.fitted: Any = None

    def learn(self, users: NDArray[np.int32], items: NDArray[np.int32], values: NDArray[np.float64]) -> None:
        """Make the model anew, from everything so far."""
        self.told.append(Told(users.copy(), items.copy(), values.copy()))
        told = Told(*(np.concatenate(column) for column in zip(*self.told, strict=True)))
        self.told = [told]
        if isinstance(self.model, Starts):
            self.fitted = self.model.start()
            self.fitted.learn(*told)
            return
        users_of, items_of = self.names()
        frame = {"user_id": users_of.gather(told.users), "item_id": items_of.gather(told.items), "rating": told.values}
        self.fitted = _Fitted(self.model.fit(Interactions.from_frame(pl.DataFrame(frame))), told)

    def scores(self, user: int) -> NDArray[np.floating]:
        """A score of every item so far."""
        if self.fitted is None:  # it was reset, and has not been told anything since
            return np.zeros(0)
        found: NDArray[np.floating] = self.fitted.scores(user)
        return found


class _Fitted:
    """A model of a log, asked by the codes of the stream."""

    def __init__(self, fitted: Any, told: Told) -> None:
        self.fitted = fitted
        log = fitted.log
        self.user = np.zeros(int(told.users.max(initial=-1)) + 1, np.int32)
        self.item = np.zeros(int(told.items.max(initial=-1)) + 1, np.int32)
        self.user[told.users], self.item[told.items] = log.users, log.items

    def scores(self, user: int) -> NDArray[np.floating]:
        if user >= self.user.size:  # forgotten in an alarm: a model of a log says nothing of strangers
            return np.full(self.item.size, -np.inf)
        fitted, row = self.fitted, self.user[user : user + 1]
        table = fitted.scores(row) if hasattr(fitted, "scores") else fitted.user_factors[row] @ fitted.item_factors.T
        scores: NDArray[np.floating] = checked(np.asarray(table), (1, fitted.log.n_items), "the model")[0]
        return scores[self.item]


def learner_of(model: Any, protocol: Prequential, names: Names) -> Any:
    """What is asked and told: a learner of its own for every copy."""
    once = protocol.learn_until is not None and protocol.learn_until == protocol.warmup
    if "refit" in protocol.regime:
        learner: Any = Refitting(model, names)
    elif isinstance(model, Starts):
        learner = model.start()
    elif hasattr(model, "learn"):
        learner = copy.deepcopy(model)
    elif hasattr(model, "fit") and once:
        learner = Refitting(model, names)  # which is told once
    else:
        what = f"{model} cannot learn event by event"
        hint = "make it anew every 1,000 events: prequential(refit=1000); or give it learn(users, items, values)"
        raise UsageError("U191", what, where=str(protocol), hint=hint)
    if protocol.predict == "ratings" and not isinstance(learner, Predicts):
        raise UsageError(
            "U191", f"{model} foretells no ratings", where=str(protocol), hint="it needs predict(user, item)"
        )
    if protocol.predict == "items" and not (hasattr(learner, "scores") or hasattr(learner, "recommend")):
        raise UsageError("U191", f"{model} recommends nothing", where=str(protocol), hint="it needs scores(user)")
    return learner
