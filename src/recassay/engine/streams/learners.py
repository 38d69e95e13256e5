"""Learners on a stream, and blocks of events to learn and of queries to answer.

Any learner can be called event by event, which is slow.

A learner that processes whole blocks (:class:`~recassay.models.incremental.base.WalksStream`) does the same in compiled
code.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from recassay.arrays import Bool, Float, Int64
from recassay.data.interactions import Interactions
from recassay.engine.driver import drive
from recassay.engine.streams.listed import BlockPopularity
from recassay.engine.streams.source import Batch
from recassay.engine.streams.values import UpcomingItems
from recassay.errors import InputError, UsageError
from recassay.models.base.capabilities import (
    CanFit,
    ListsOnline,
    PredictsRatings,
    ScoresItems,
    StartsOnline,
    UpdatesOnline,
)
from recassay.models.incremental._walk import StreamEvents, StreamQueries, WalkOutput, rank_item
from recassay.models.incremental.base import WalksStream
from recassay.models.incremental.composed import RefittedLearner
from recassay.protocols.base import Step
from recassay.protocols.prequential import Prequential

FAILURE_HINT = "see the learner's own error above; this error's .stream holds what was scored before it"


@dataclass(frozen=True, eq=False)
class EventBlock:
    """A block of consecutive events that are processed together: events to learn and queries to answer.

    ``events`` have codes of the stream. ``rows`` are the positions of the events that are queries. ``known_users`` is
    the number of users learned before each query: those with lower codes. ``to_learn`` are the events that become due
    in the block; the learner is updated up to each position in ``learn_after``.
    """

    batch: Batch
    events: StreamEvents
    begin: int  # the block's first row in the batch that ``upcoming`` is about
    upcoming: UpcomingItems | None  # what users take later, for match="future" and "window"
    repeated: Bool  # whether the user had consumed the item before
    n_before: Int64  # different items that the user had before each event
    n_items: Int64  # different items of the stream before each event
    low: Float  # the smallest value before each event: predicted ratings are clipped to it
    high: Float  # the largest
    popularity: BlockPopularity | None  # for metrics of whole lists
    rows: Int64
    to_learn: StreamEvents
    learn_after: Int64
    queries: StreamQueries
    known_users: Int64
    n_learned: Int64  # before each event, how many of ``to_learn`` are learned
    n_revealed: Int64  # before each event, how many events of the whole stream are available
    n_queued: int  # how many waiting events the block learns

    def select(self, query_range: slice, event_range: slice) -> tuple[StreamEvents, Int64, StreamQueries]:
        """Return (events, positions to learn after, queries): those in ``event_range`` and ``query_range``.

        Positions are counted from the beginning of the range of events.
        """
        begin, end = event_range.start, event_range.stop
        events = self.to_learn.each(lambda column: column[event_range])
        learn_after = self.learn_after[(self.learn_after > begin) & (self.learn_after <= end)] - begin
        per_query = ("users", "items", "n_learned", "known", "universe", "begin", "end")
        queries = self.queries._replace(**{name: getattr(self.queries, name)[query_range] for name in per_query})
        return events, learn_after, queries._replace(n_learned=queries.n_learned - begin)


class LearnerFailure(Exception):  # noqa: N818 - not the caller's error; the player turns it into one
    """An error of a learner, after ``n_answered`` queries or while it learned up to position ``learning_to``.

    ``learning_to`` is None if the learner failed at a query. ``code``, ``what`` and ``hint`` are those of the error
    message.
    """

    def __init__(self, n_answered: int, learning_to: int | None, code: str, what: str, hint: str) -> None:
        super().__init__(what)
        self.n_answered, self.learning_to, self.code, self.what, self.hint = n_answered, learning_to, code, what, hint


def run_learner(
    learner: Any,
    name: str,
    events: StreamEvents,
    learn_after: Int64,
    queries: StreamQueries,
    output: WalkOutput,
    predicted: Float | None = None,
) -> None:
    """Let the learner process a block: in compiled code if it can, else query by query.

    In turn, the learner learns ``events`` up to each position in ``learn_after`` and answers the queries that are due
    before the next one. Results are written to ``output``, a row per query; where ratings are predicted, they are
    written to ``predicted``. Raise :class:`LearnerFailure` if the learner fails or scores NaN.
    """
    if predicted is not None or not isinstance(learner, WalksStream):
        system = BlockLearner(learner, name, events, queries, output, predicted)
        try:
            for _ in drive(system, steps_of_block(events.users.size, learn_after, queries)):
                pass
        except Exception as error:
            raise system.failure(error) from error
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
        hint = "smaller steps, such as a lower learning rate, may help"
        raise LearnerFailure(int(nan_scores[0]), None, "I308", f"{name} gave NaN scores", hint)


class BlockLearner:
    """A learner on one block of a stream: the driver calls it to answer a query or to learn a range of events.

    A query is a row of ``queries``. Results are written to ``output``, a row per query. A learner that is to predict
    ratings writes them to ``predicted``, NaN where it predicts none.
    """

    def __init__(
        self, learner: Any, name: str, events: StreamEvents, queries: StreamQueries, output: WalkOutput,
        predicted: Float | None,
    ) -> None:  # fmt: skip
        self.learner, self.name, self.events, self.queries, self.output = learner, name, events, queries, output
        self.predicted, self.n_answered, self.learning_to = predicted, 0, None
        self.lists = getattr(learner, "scores", None) is None  # not ScoresItems, in a tenth of the time of isinstance

    def answer(self, query: int) -> None:
        """Let the learner answer the query in row ``query``, and write the answer to the output."""
        user, item = int(self.queries.users[query]), int(self.queries.items[query])
        started = time.monotonic_ns()
        if self.predicted is not None:
            rating = self.learner.predict(user, item)
            self.predicted[query] = np.nan if rating is None else rating
        elif self.lists:
            self._keep_list(user, item, query)
        else:
            self._rank_scores(user, query)
        self.output.answer_ns[query] = time.monotonic_ns() - started
        self.n_answered += 1

    def learn(self, reveal: slice) -> None:
        """Let the learner learn the events in the range ``reveal`` of the block's events."""
        users, items, values = self.events
        self.learning_to = reveal.stop
        started = time.monotonic_ns()
        self.learner.learn(users[reveal], items[reveal], values[reveal])
        self.output.learn_ns[reveal] = (time.monotonic_ns() - started) // (reveal.stop - reveal.start)
        self.learning_to = None

    def failure(self, error: Exception) -> LearnerFailure:
        """Return the failure for an error that the learner raised, or that its last answer caused."""
        code, hint = "I374", FAILURE_HINT
        if isinstance(error, InputError) and self.learning_to is None and self.predicted is None:
            code, what, hint = error.code if error.code in ("I308", "I372") else code, error.what, error.hint
        else:
            verb = "predict" if self.predicted is not None else "answer"
            verb = verb if self.learning_to is None else "learn"
            what = f"{self.name} could not {verb}: {type(error).__name__}: {error}"
        return LearnerFailure(self.n_answered, self.learning_to, code, what, hint)

    def _rank_scores(self, user: int, query: int) -> None:
        """Write the rank of the query's item among the user's scores to the output; raise I308 for unusable scores."""
        scores, known = np.asarray(self.learner.scores(user)), int(self.queries.known[query])
        if scores.ndim != 1 or scores.size < known:
            what = f"{self.name} gave scores of shape {scores.shape}, but it has learned {known:,} items"
            raise InputError("I308", what, hint="give one score for each item learned so far, by code")
        if bad := int(np.isnan(scores[:known]).sum()):
            what = f"{self.name} gave {bad:,} NaN among {known:,} scores"
            raise InputError("I308", what, hint="give -inf for what cannot be recommended")
        row = np.empty(int(self.queries.universe[query]), scores.dtype if scores.dtype == np.float32 else np.float64)
        row[:known] = scores[:known]
        rank_item(row, self.queries, query, self.output)

    def _keep_list(self, user: int, item: int, query: int) -> None:
        """Write the learner's list to the output, with the rank of the query's item in it.

        Raise I372 for unknown or repeated items, and for those that the user has consumed, if they may not be
        recommended again.
        """
        queries, output, length = self.queries, self.output, self.output.lists.shape[1]
        consumed, known = queries.pool[queries.begin[query] : queries.end[query]], int(queries.known[query])
        listed = np.asarray(self.learner.recommend(user, length, consumed))[:length]
        items = listed.tolist()  # lists are short: Python compares them sooner than NumPy starts
        if items and (listed.dtype.kind not in "iu" or min(items) < 0 or max(items) >= known):
            unknown = next(item for item in items if not (isinstance(item, int) and 0 <= item < known))
            what = f"{self.name} recommends {unknown!r}, which is not one of the {known:,} items it has learned"
            raise InputError("I372", what, hint="recommend codes of items from learn(): 0, 1, 2, ...")
        distinct = set(items)
        if len(distinct) < len(items):
            what = f"{self.name} recommends an item twice in one list"
            raise InputError("I372", what, hint="list each item once")
        if not distinct.isdisjoint(consumed.tolist()):
            repeated = listed[np.isin(listed, consumed)]
            count = f"{repeated.size:,} of {listed.size:,} items, such as {repeated[0]}"
            what = f"{self.name} recommends items the user has already consumed: {count}"
            hint = "leave out the codes in consumed, or choose prequential(repeats='allow')"
            raise InputError("I372", what, hint=hint)
        output.lists[query, : listed.size] = listed
        output.candidates[query] = listed.size
        output.position[query] = items.index(item) + 1 if item in distinct else 0


def steps_of_block(n_events: int, learn_after: Int64, queries: StreamQueries) -> Iterator[Step]:
    """Yield the steps of a block in order: events to learn (``reveal``, a slice) or a query to answer (``ask``).

    Events are learned up to each position of ``learn_after``, once the queries before them are answered.
    """
    begin, due = 0, [int(end) for end in learn_after]
    for query, until in enumerate([*queries.n_learned.tolist(), n_events]):
        while due and due[0] <= until:
            end = due.pop(0)
            if end > begin:
                yield Step(reveal=slice(begin, end))
                begin = end
        if query < queries.users.size:
            yield Step(ask=query)


class RefitLearner(RefittedLearner):
    """Any model as a learner: each call of ``learn`` fits it on all events so far, with the ids of the stream."""

    def __init__(self, model: Any, player: Any) -> None:
        super().__init__(model)
        self.player = player

    def log(self, events: StreamEvents) -> Interactions:
        """Return the log of the events, with the ids of users and items."""
        users, items = self.player.ids()
        ids = {"user_id": users.gather(events.users), "item_id": items.gather(events.items)}
        return Interactions.from_frame(pl.DataFrame({**ids, "rating": events.values}))


def make_learner(model: Any, protocol: Prequential, player: Any) -> Any:
    """Return a new learner for one copy of a model; raise U191 if the model cannot do what the protocol needs.

    ``player.ids()`` returns the ids of users and of items, each indexed by the learner's codes, which a model that is
    refitted needs.
    """
    learns_once = protocol.learn_until is not None and protocol.learn_until == protocol.warmup
    learner: Any = None
    if "refit" in protocol.regime:
        learner = RefitLearner(model, player)
    elif isinstance(model, StartsOnline):
        learner = model.start()
    elif isinstance(model, UpdatesOnline):
        learner = copy.deepcopy(model)
    elif isinstance(model, CanFit) and learns_once:
        learner = RefitLearner(model, player)
    of_items, of_ratings = isinstance(learner, ScoresItems | ListsOnline), isinstance(learner, PredictsRatings)
    for lacks, what, hint in (
        (
            learner is None, "cannot learn event by event",
            "refit it every 1,000 events: prequential(refit=1000); or give it learn(users, items, values)",
        ),
        (protocol.predict == "ratings" and not of_ratings, "predicts no ratings", "give it predict(user, item)"),
        (protocol.predict == "items" and not of_items, "recommends nothing", "give it scores(user)"),
    ):  # fmt: skip
        if lacks:
            raise UsageError("U191", f"{model} {what}", where=str(protocol), hint=hint)
    return learner
