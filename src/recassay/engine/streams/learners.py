"""Learners on a stream: what the driver asks of them event by event, which is slow but works for any learner.

A learner that processes whole blocks (:class:`~recassay.models.incremental.base.WalksStream`) does the same in compiled
code.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.data.interactions import Interactions
from recassay.engine.driver import drive
from recassay.errors import InputError, UsageError
from recassay.models.base.capabilities import (
    CanFit,
    ListsOnline,
    PredictsRatings,
    ScoresItems,
    StartsOnline,
    UpdatesOnline,
    score_function,
)
from recassay.models.base.model import checked_scores
from recassay.models.incremental._walk import StreamEvents, StreamQueries, WalkOutput, rank_item
from recassay.models.incremental.base import WalksStream
from recassay.protocols.base import Step
from recassay.protocols.prequential import Prequential

Int64 = NDArray[np.int64]
FAILURE_HINT = "see the learner's own error above; this error's .stream holds what was scored before it"

AnswerQuery = Callable[
    [Any, str, StreamQueries, int, WalkOutput], None
]  # learner, its name, queries, which query, output


class KnowsIds(Protocol):
    """An interface of objects that translate a learner's codes to ids."""

    def ids(self) -> tuple[pl.Series, pl.Series]:
        """Return two series, the ids of users and the ids of items, each indexed by the learner's codes."""


class LearnerFailure(Exception):  # noqa: N818 - not the caller's error; the player turns it into one
    """An error of a learner, after ``n_answered`` queries or while it learned up to position ``learning_to``.

    ``learning_to`` is None if the learner failed at a query. ``code``, ``what`` and ``hint`` are those of the error
    message.
    """

    def __init__(self, n_answered: int, learning_to: int | None, code: str, what: str, hint: str) -> None:
        super().__init__(what)
        self.n_answered, self.learning_to, self.code, self.what, self.hint = n_answered, learning_to, code, what, hint
        self.event = -1  # its number in the stream, once it is known


def run_learner(
    learner: Any,
    name: str,
    events: StreamEvents,
    learn_after: Int64,
    queries: StreamQueries,
    output: WalkOutput,
    answer: AnswerQuery,
) -> None:
    """Let the learner process a block: in compiled code if it can, else query by query with ``answer``.

    In turn, the learner learns ``events`` up to each position in ``learn_after`` and answers the queries that are due
    before the next one. ``answer`` is :func:`recommend` or :func:`predict`. Results are written to ``output``, a row
    per query. Raise :class:`LearnerFailure` if the learner fails or scores NaN.
    """
    if answer is not recommend or not isinstance(learner, WalksStream):
        system = BlockLearner(learner, name, events, queries, output, answer)
        for _ in drive(system, steps_of_block(events.users.size, learn_after, queries)):
            pass
        return
    started = time.monotonic_ns()
    try:
        learner.walk(events, queries, output)
    except Exception as error:
        what = f"{name} failed: {type(error).__name__}: {error}"
        learning_to = None if queries.users.size else events.users.size
        raise LearnerFailure(0, learning_to, "I374", what, FAILURE_HINT) from error
    spent = (time.monotonic_ns() - started) // max(queries.users.size + events.users.size, 1)
    output.answer_ns[:], output.learn_ns[:] = spent, spent  # a block is timed as a whole
    nan_scores = np.flatnonzero(output.candidates < 0)
    if nan_scores.size:
        what = f"{name} gave NaN scores"
        hint = "smaller steps, such as a lower learning rate, may help"
        raise LearnerFailure(int(nan_scores[0]), None, "I308", what, hint)


class BlockLearner:
    """A learner on one block of a stream, for the driver: a query is a row of ``queries``, and events are a range.

    ``answer_query`` is :func:`recommend` or :func:`predict`. Results are written to ``output``, a row per query.
    """

    def __init__(
        self, learner: Any, name: str, events: StreamEvents, queries: StreamQueries, output: WalkOutput,
        answer_query: AnswerQuery,
    ) -> None:  # fmt: skip
        self.learner, self.name, self.events, self.queries, self.output = learner, name, events, queries, output
        self.answer_query, self.n_answered = answer_query, 0

    def answer(self, query: int) -> None:
        """Write the answer of the learner to a query to the output."""
        self.answer_query(self.learner, self.name, self.queries, query, self.output)
        self.n_answered += 1

    def learn(self, reveal: slice) -> None:
        """Let the learner learn some of the events; raise :class:`LearnerFailure` if it fails."""
        users, items, values = self.events
        started = time.monotonic_ns()
        try:
            self.learner.learn(users[reveal], items[reveal], values[reveal])
        except Exception as error:
            what = f"{self.name} could not learn: {type(error).__name__}: {error}"
            raise LearnerFailure(self.n_answered, reveal.stop, "I374", what, FAILURE_HINT) from error
        self.output.learn_ns[reveal] = (time.monotonic_ns() - started) // (reveal.stop - reveal.start)


def steps_of_block(n_events: int, learn_after: Int64, queries: StreamQueries) -> Iterator[Step]:
    """Yield the steps of a block: before a query, events are revealed up to each position in ``learn_after``."""
    begin, due = 0, [int(end) for end in learn_after]
    for query, until in enumerate([*queries.n_learned.tolist(), n_events]):
        while due and due[0] <= until:
            end = due.pop(0)
            if end > begin:
                yield Step(reveal=slice(begin, end))
                begin = end
        if query < queries.users.size:
            yield Step(ask=query)


def recommend(learner: Any, name: str, queries: StreamQueries, query: int, output: WalkOutput) -> None:
    """Get scores or a list from the learner for one query, and write the rank of the query's item to ``output``.

    ``name`` is the learner's, for errors, and ``query`` the row of the query. Raise :class:`LearnerFailure` if the
    learner fails or its answer cannot be used.
    """
    user, known = int(queries.users[query]), int(queries.known[query])
    consumed = queries.pool[queries.begin[query] : queries.end[query]]
    gives_lists = getattr(learner, "scores", None) is None  # not ScoresItems, in a tenth of the time of isinstance
    started = time.monotonic_ns()
    try:
        if gives_lists:
            answer = np.asarray(learner.recommend(user, output.lists.shape[1], consumed))
        else:
            answer = np.asarray(learner.scores(user))
            _rank_scores(answer, name, known, queries, query, output)
    except InputError as error:
        code = error.code if error.code == "I308" else "I374"
        raise LearnerFailure(query, None, code, error.what, error.hint) from error
    except Exception as error:
        what = f"{name} could not answer: {type(error).__name__}: {error}"
        raise LearnerFailure(query, None, "I374", what, FAILURE_HINT) from error
    output.answer_ns[query] = time.monotonic_ns() - started
    if gives_lists:
        _record_list(answer, name, known, consumed, queries, query, output)


def predict(
    learner: Any, name: str, queries: StreamQueries, query: int, output: WalkOutput, predicted: NDArray[np.float64]
) -> None:
    """Write to ``predicted[query]`` the rating that the learner predicts for the query's item.

    It is NaN if the learner predicts no rating. The time taken is written to ``output``. Raise :class:`LearnerFailure`
    if the learner fails.
    """
    started = time.monotonic_ns()
    try:
        answer = learner.predict(int(queries.users[query]), int(queries.items[query]))
        predicted[query] = np.nan if answer is None else answer
    except Exception as error:
        what = f"{name} could not predict: {type(error).__name__}: {error}"
        raise LearnerFailure(query, None, "I374", what, FAILURE_HINT) from error
    output.answer_ns[query] = time.monotonic_ns() - started


def _rank_scores(
    scores: NDArray[Any], name: str, known: int, queries: StreamQueries, query: int, output: WalkOutput
) -> None:
    """Write the rank of the query's item among ``scores`` to ``output``; raise I308 for scores that cannot be ranked.

    ``known`` is the number of items learned so far.
    """
    if scores.ndim != 1 or scores.size < known:
        what = f"{name} gave scores of shape {scores.shape}, but it has learned {known:,} items"
        raise InputError("I308", what, hint="give one score for each item learned so far, by code")
    if bad := int(np.isnan(scores[:known]).sum()):
        what = f"{name} gave {bad:,} NaN among {known:,} scores"
        raise InputError("I308", what, hint="give -inf for what cannot be recommended")
    row = np.empty(int(queries.universe[query]), scores.dtype if scores.dtype == np.float32 else np.float64)
    row[:known] = scores[:known]
    rank_item(row, queries, query, output)


def _record_list(
    answer: NDArray[Any],
    name: str,
    known: int,
    consumed: NDArray[np.int32],
    queries: StreamQueries,
    query: int,
    output: WalkOutput,
) -> None:
    """Write to ``output`` the list that the learner returned (``answer``) and the rank of the query's item in it.

    Raise I372 for unknown or repeated items, I372 for items in ``consumed``, those that may not be recommended again.
    ``known`` is the number of items learned so far.
    """
    listed = answer[: output.lists.shape[1]]
    items = listed.tolist()  # lists are short: Python compares them sooner than NumPy starts
    if items and (listed.dtype.kind not in "iu" or min(items) < 0 or max(items) >= known):
        unknown = next(item for item in items if not (isinstance(item, int) and 0 <= item < known))
        what = f"{name} recommends {unknown!r}, which is not one of the {known:,} items it has learned"
        raise LearnerFailure(query, None, "I372", what, "recommend codes of items from learn(): 0, 1, 2, ...")
    distinct = set(items)
    if len(distinct) < len(items):
        what = f"{name} recommends an item twice in one list"
        raise LearnerFailure(query, None, "I372", what, "list each item once")
    if not distinct.isdisjoint(consumed.tolist()):
        repeated = listed[np.isin(listed, consumed)]
        count = f"{repeated.size:,} of {listed.size:,} items, such as {repeated[0]}"
        what = f"{name} recommends items the user has already consumed: {count}"
        hint = "leave out the codes in consumed, or choose prequential(repeats='allow')"
        raise LearnerFailure(query, None, "I372", what, hint)
    output.lists[query, : listed.size] = listed
    output.candidates[query] = listed.size
    item = int(queries.items[query])
    output.position[query] = items.index(item) + 1 if item in distinct else 0


class RefitLearner:
    """Any model as a learner: it keeps all events and is fitted again on them at every ``learn``."""

    def __init__(self, model: Any, player: KnowsIds) -> None:
        self.model, self.player = model, player
        self.events: list[StreamEvents] = []
        self.fitted: Any = None

    def learn(self, users: NDArray[np.int32], items: NDArray[np.int32], values: NDArray[np.float64]) -> None:
        """Fit the model again, on all events so far and the new ones: ``users``, ``items`` and ``values`` (ratings)."""
        self.events.append(StreamEvents(users.copy(), items.copy(), values.copy()))
        events = StreamEvents(*(np.concatenate(column) for column in zip(*self.events, strict=True)))
        self.events = [events]
        if isinstance(self.model, StartsOnline):
            self.fitted = self.model.start()
            self.fitted.learn(*events)
            return
        user_ids, item_ids = self.player.ids()
        frame = pl.DataFrame(
            {
                "user_id": user_ids.gather(events.users),
                "item_id": item_ids.gather(events.items),
                "rating": events.values,
            }
        )
        self.fitted = _FittedModel(self.model.fit(Interactions.from_frame(frame)), events)

    def scores(self, user: int) -> NDArray[np.floating]:
        """Return a score for every item so far; an empty array if nothing has been learned since a reset."""
        if self.fitted is None:
            return np.zeros(0)
        scores: NDArray[np.floating] = self.fitted.scores(user)
        return scores


class _FittedModel:
    """A model fitted on a log, which is queried with user and item codes of the stream."""

    def __init__(self, fitted: Any, events: StreamEvents) -> None:
        self.fitted = fitted
        log = fitted.log
        self.user = np.zeros(int(events.users.max(initial=-1)) + 1, np.int32)  # the log's code, by stream code
        self.item = np.zeros(int(events.items.max(initial=-1)) + 1, np.int32)
        self.user[events.users], self.item[events.items] = log.users, log.items

    def scores(self, user: int) -> NDArray[np.floating]:
        if user >= self.user.size:  # forgotten after an alarm: a fitted model has no scores for unknown users
            return np.full(self.item.size, -np.inf)
        fitted, row = self.fitted, self.user[user : user + 1]
        score = score_function(fitted)
        assert score is not None, "make_learner refuses models without scores"
        scores: NDArray[np.floating] = checked_scores(np.asarray(score(row)), (1, fitted.log.n_items), "the model")[0]
        return scores[self.item]


def make_learner(model: Any, protocol: Prequential, player: KnowsIds) -> Any:
    """Return a new learner for one copy of a model; raise U191 if the model cannot do what the protocol needs.

    ``player`` translates the learner's codes to ids, which a model that is refitted needs.
    """
    learns_once = protocol.learn_until is not None and protocol.learn_until == protocol.warmup
    if "refit" in protocol.regime:
        learner: Any = RefitLearner(model, player)
    elif isinstance(model, StartsOnline):
        learner = model.start()
    elif isinstance(model, UpdatesOnline):
        learner = copy.deepcopy(model)
    elif isinstance(model, CanFit) and learns_once:
        learner = RefitLearner(model, player)
    else:
        what = f"{model} cannot learn event by event"
        hint = "refit it every 1,000 events: prequential(refit=1000); or give it learn(users, items, values)"
        raise UsageError("U191", what, where=str(protocol), hint=hint)
    if protocol.predict == "ratings" and not isinstance(learner, PredictsRatings):
        what = f"{model} predicts no ratings"
        raise UsageError("U191", what, where=str(protocol), hint="give it predict(user, item)")
    if protocol.predict == "items" and not isinstance(learner, ScoresItems | ListsOnline):
        what = f"{model} recommends nothing"
        raise UsageError("U191", what, where=str(protocol), hint="give it scores(user)")
    return learner
