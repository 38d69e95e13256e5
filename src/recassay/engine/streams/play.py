"""Evaluation of one copy of a model on a stream: chooses queries, lets the model learn and answer, computes values.

Tests compare the results with the plain loop of ``tests/property/test_streams.py``, for any size of blocks and batches.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import polars as pl

from recassay.arrays import Bool, Float, Int32, Int64
from recassay.columnar.identity import mix
from recassay.data.features import Features
from recassay.engine.streams.drift_policy import DriftPolicy, Recoder
from recassay.engine.streams.learners import EventBlock, LearnerFailure, make_learner, run_learner
from recassay.engine.streams.listed import ListedMetrics, Moments
from recassay.engine.streams.schedule import GivenEvents, History, Queue, Regime, known_after
from recassay.engine.streams.source import Batch, IdCodes
from recassay.engine.streams.values import ERROR, RecentLists, StreamMetrics, UpcomingItems
from recassay.errors import InputError
from recassay.metrics.registry import Metrics
from recassay.models.base.capabilities import ScoresItems
from recassay.models.incremental._walk import StreamEvents, StreamQueries, WalkOutput
from recassay.models.incremental.base import WalksStream, without_queries
from recassay.protocols.prequential import Prequential
from recassay.rng import derive_seed
from recassay.split.partitions import uniform

BLOCK = 8192  # events that are walked together
# Names of counts, which results carry:
EVENT_REASONS = ("scored", "first", "repeats", "warmup", "sampled_out", "unpredicted")  # every event has exactly one
OTHER_COUNTS = ("again", "unseen", "short", "learnt", "moved")
UNLEARNED = "unlearned"  # scored events of users whom the model had not learned; only with known="stream"
GIVEN = "given"  # events that are given to the model and not scored; only with given=N or all_but=N
ALARM_COUNTS = ("alarms", "renewed", "forgotten", "relearnt")  # only with a drift detector


# The results so far, in parts that are concatenated at the end: of each scored event its number, its user's code, its
# values by metric, the nanoseconds of its query, and its time, if there are times. "lists" are tables of recommended
# items, and "known" how many items had occurred before each event with a list. "learn_ns" are of each learned event.
Chunks = dict[str, list[Any]]


class Player:
    """One copy of a model as it is played on a stream, with its results so far; a checkpoint stores this object."""

    def __init__(
        self,
        model: Any,
        protocol: Prequential,
        metrics: Metrics | None,
        name: str,
        *,
        keep: bool = False,
        catalogue: pl.Series | None = None,
        items: Features | None = None,
        block: int = BLOCK,
    ) -> None:
        self.protocol, self.name, self.catalogue, self.block = protocol, name, catalogue, block
        self.user_codes, self.item_codes = IdCodes("user"), IdCodes("item")
        self.model = model
        self.learner = make_learner(model, protocol, self)
        self.recoder: Recoder | None = None  # set once the learner was reset
        self.history, self.regime, self.queue = History(), Regime(protocol), Queue()
        self.given = GivenEvents(protocol)
        self.metrics: StreamMetrics | None = None
        self.keep_lists, self.list_length = keep, 0
        self.n_events = 0  # of this copy so far
        self.reached = 0  # events of the whole stream so far
        self.n_items, self.n_users = 0, 0  # of these events
        if protocol.predict == "items":
            lists_only = not isinstance(self.learner, ScoresItems)
            self.metrics = StreamMetrics.of(metrics, protocol, lists_only=lists_only, items=items is not None)
            wanted = keep or lists_only or protocol.match != "exact" or self.metrics.listed
            self.list_length = protocol.at if wanted else 0
        listed = {} if self.metrics is None else self.metrics.listed
        self.listed = ListedMetrics(listed, items) if listed else None
        self.recent_lists = RecentLists(protocol.reach, protocol.at) if protocol.match == "previous" else None
        self.drift_policy = None if protocol.detector is None else DriftPolicy(protocol, self.headings[0])
        self.value_range = (np.inf, -np.inf)  # of the events so far
        names = (*EVENT_REASONS, *OTHER_COUNTS, *(ALARM_COUNTS if self.drift_policy else ()))
        names += ((UNLEARNED,) if protocol.known == "stream" else ()) + ((GIVEN,) if self.given.wanted else ())
        self.counts = dict.fromkeys(names, 0)
        self.chunks: Chunks = {}

    @property
    def headings(self) -> tuple[str, ...]:
        """Return the names of the metrics, which are the headings of their columns."""
        return (ERROR,) if self.metrics is None else tuple(self.metrics.metrics)

    def ids(self) -> tuple[pl.Series, pl.Series]:
        """Return two series, the ids of users and the ids of items, each indexed by the learner's codes."""
        users, items = self.user_codes.ids, self.item_codes.ids
        if self.recoder is None:
            return users, items
        return users.gather(self.recoder.users.registered), items.gather(self.recoder.items.registered)

    def walk(self, batch: Batch, repeats: Int64 | None = None) -> Iterator[Batch]:
        """Process the next events, each learned ``repeats`` times, block by block; yield each block once it is done."""
        log = batch.log
        if log.ratings is None and self.protocol.predict == "ratings":
            what = "the protocol predicts ratings, but the stream has none"
            raise InputError("I307", what, where=log.origin, hint="prequential(predict='items')")
        users = self.user_codes.encode(log.users, log.user_vocabulary)
        items = self.item_codes.encode(log.items, log.item_vocabulary)
        events = StreamEvents(users, items, np.ones(len(log)) if log.ratings is None else log.ratings)
        order, given = self.item_codes.order(self.catalogue), self.given(users)
        repeats = np.ones(len(batch), np.int64) if repeats is None else repeats
        upcoming = None
        if self.protocol.match in ("future", "window"):
            upcoming = UpcomingItems(self.protocol, users, items)
        for begin in range(0, len(batch), self.block):
            part = slice(begin, begin + self.block)
            own = StreamEvents(users[part], items[part], events.values[part])
            block = self._prepare(batch.take(part), own, repeats[part], given[part], order, upcoming, begin)
            self._play(block)
            self.queue.drop(block.n_queued)
            if self.listed is not None and block.popularity is not None:
                self.listed.popularity.advance(block.popularity)
            yield block.batch

    def finish(self) -> None:
        """Let the model learn the events that still wait at the end of the stream; their learning time counts too."""
        if self.listed is not None:
            self.listed.finish()
        events, bounds = self.queue.expanded(self.regime.n_learned_at_end() - self.queue.start)
        if self.drift_policy is None or not self.drift_policy.due:
            recoded = events if self.recoder is None else self.recoder.recode(events)
            self._learn(recoded, bounds[-1:], self.queue.event_number)
        self.queue.drop(bounds.size - 1)
        self.counts["learnt"] = self.queue.start

    def _learn(self, events: StreamEvents, learn_after: Int64, event_number: Callable[[int], int]) -> None:
        """Let the learner learn events after the last query; ``event_number`` maps positions to numbers, for errors.

        It learns them in several calls, each up to a position of ``learn_after``.
        """
        _, queries, output = without_queries(*events)
        try:
            run_learner(self.learner, self.name, events, learn_after, queries, output)
        except LearnerFailure as failure:
            raise self._error(failure, event_number(failure.learning_to or 0)) from failure.__cause__
        self._add_results({"learn_ns": output.learn_ns})

    def _add_results(self, chunk: dict[str, Any]) -> None:
        """Add the results of some queries, arrays by name (``chunk``), to those so far."""
        for name, part in chunk.items():
            self.chunks.setdefault(name, []).append(part)

    def _error(self, failure: LearnerFailure, event: int) -> InputError:
        what = f"event {event:,} of the stream: {failure.what}"
        return InputError(failure.code, what, where=self.name, hint=failure.hint)

    def _prepare(
        self,
        batch: Batch,
        events: StreamEvents,
        repeats: Int64,
        given: Bool,
        order: Int32,
        upcoming: UpcomingItems | None,
        begin: int,
    ) -> EventBlock:
        """Queue the events of a block to be learned, and return the block, with its queries.

        ``batch`` and ``events`` are the events of the block, with ids and with codes. ``repeats`` says how often each
        is learned, ``given`` marks events not to score, and ``order`` is the rank of each item's id. ``upcoming`` are
        the later items of each user, which count as hits in relaxed matching; the block begins at event ``begin`` of
        it.
        """
        protocol, queue, history, (users, items, values) = self.protocol, self.queue, self.history, events
        n_before, repeated = history.consume(users, items)
        n_revealed = self.regime.n_revealed(len(batch), batch.moments)
        last = protocol.learn_until
        room = slice(0, len(batch) if last is None else max(0, last - self.n_events))
        queue.append(StreamEvents(users[room], items[room], values[room]), repeats[room], batch.event_numbers[room])
        n_learned = self.regime.n_learned(n_revealed) - queue.start
        if self.drift_policy is not None:
            self.drift_policy.remember(events, repeats, batch.event_numbers, n_revealed)
        if self.recoder is not None:
            self.recoder.register(users, items)
        n_users, n_items = known_after(self.n_users, users), known_after(self.n_items, items)
        self.n_users, self.n_items = int(n_users[-1]), int(n_items[-1])
        known_users = queue.known_users()[n_learned]
        met = n_users[:-1] if protocol.scored_users == "stream" else known_users
        rows = self._query_rows(batch, users >= met, repeated, given)
        unlearned, missed = users[rows] >= known_users[rows], np.zeros(0, np.int64)
        if protocol.known == "stream":
            missed, rows = rows[unlearned], rows[~unlearned]
        to_learn, bounds = queue.expanded(int(n_learned[-1]))
        known, first = queue.known_items()[n_learned[rows]], history.start[users[rows]]
        end = first + (n_before[rows] if protocol.repeats == "exclude" else 0)
        universe = known if self.catalogue is None else np.full(rows.size, self.catalogue.len())
        queries = StreamQueries(
            users[rows], items[rows], bounds[n_learned[rows]], known, universe, first, end, history.values, order
        )
        low = np.minimum.accumulate(np.append(self.value_range[0], values))
        high = np.maximum.accumulate(np.append(self.value_range[1], values))
        self.value_range = (float(low[-1]), float(high[-1]))
        popularity = None
        if self.listed is not None:
            popularity = self.listed.popularity.block(items, ~repeated, order, n_users, n_items)
        learn_after = bounds[n_learned[np.append(True, n_learned[1:] > n_learned[:-1])]]
        block = EventBlock(
            batch, events, begin, upcoming, repeated, n_before, n_items, low, high, popularity, rows, to_learn,
            learn_after, queries, known_users[rows], bounds[n_learned], n_revealed, int(n_learned[-1]),
        )  # fmt: skip
        if missed.size and self.metrics is not None:  # scored as if their lists were empty
            self.counts[UNLEARNED] += missed.size
            empty = WalkOutput.empty(missed.size, 0, self.list_length)
            self._keep(block, empty, missed, self.metrics.missed(missed.size), 0)
            self.chunks["answer_ns"].pop()  # the model got no query
        return block

    def _play(self, block: EventBlock) -> None:
        """Let the learner process a block, in ranges that end where a drift alarm replaces the learner."""
        policy, n_queries, query, event, reset_at = self.drift_policy, block.rows.size, 0, 0, 0
        own = None  # the block in the codes of the learner, which change when it is reset
        while True:
            if policy is not None and policy.due:
                row = int(block.rows[query - 1]) + 1 if query else 0
                if row == len(block.batch):
                    return  # the next block begins with the reset
                self._reset(policy, int(block.n_revealed[row]), block.batch.event_numbers[row])
                event = reset_at = int(block.n_learned[row])
                own = None
            if own is None:
                seen = self.catalogue is None
                own = block if self.recoder is None else self.recoder.recode_block(block, query, event, seen=seen)
            if query == n_queries:
                break
            end: int | None = n_queries
            if policy is not None and policy.acts:  # few at a time if an alarm may discard the answers
                end = min(query + (policy.range_length if isinstance(self.learner, WalksStream) else 1), n_queries)
            while end is not None:
                last, until = end, int(block.queries.n_learned[end - 1])
                end = self._play_range(own, slice(query, last), slice(event, until))
            query, event = last, until
        rest = slice(event, block.to_learn.users.size)
        events, learn_after, _ = own.select(slice(n_queries, n_queries), rest)
        self._learn(events, learn_after, lambda n_learned: self.queue.event_number(rest.start + n_learned))
        if self.recoder is not None:
            self.recoder.mark_learned(own.to_learn, reset_at)

    def _reset(self, policy: DriftPolicy, n_revealed: int, event_number: int) -> None:
        """Replace the learner by a new one, which first learns the events that the drift policy kept for it."""
        events, self.recoder = policy.refit_data(n_revealed)
        self.learner = make_learner(self.model, self.protocol, self)
        self._learn(events, np.array([events.users.size]), lambda _: int(event_number))
        self.counts["renewed"] += 1
        self.counts["relearnt"] += events.users.size

    def _play_range(self, block: EventBlock, query_range: slice, event_range: slice) -> int | None:
        """Let the learner process a range of a block, and keep the results; users and items have the learner's codes.

        If an alarm inside the range calls for a reset or refit, undo the range and return the query before which that
        action comes; else return None.
        """
        events, learn_after, queries = block.select(query_range, event_range)
        n_queries = queries.users.size
        output = WalkOutput.empty(n_queries, events.users.size, self.list_length)
        predicted = None if self.metrics is not None else np.full(n_queries, np.nan)
        policy, failure, before = self.drift_policy, None, None
        if policy is not None and policy.acts and n_queries > 1:
            before = copy.deepcopy((self.learner, self.recent_lists))
        try:
            run_learner(self.learner, self.name, events, learn_after, queries, output, predicted)
        except LearnerFailure as error:
            failure = error
        answered = n_queries if failure is None else failure.n_answered
        rows = block.rows[query_range][:answered]
        if self.recoder is not None:
            output = output._replace(lists=self.recoder.restore(output.lists, queries.order.size))
        values = self._values(block, output.head(answered), predicted, rows)
        if policy is not None and answered:
            events_scored = block.batch.event_numbers[rows]
            shorter = policy.observe(events_scored, values[policy.metric], complete=failure is None)
            if shorter is not None:
                assert before is not None, "a range of one query is never discarded"
                self.learner, self.recent_lists = before
                return int(query_range.start) + shorter
            self.counts["alarms"] = len(policy.alarms)
            self.counts["forgotten"] += int((queries.users >= block.known_users[query_range])[:answered].sum())
        unseen = int((queries.items >= queries.known)[:answered].sum())
        self._keep(block, output, rows, values, unseen)
        if failure is not None:
            if failure.learning_to is None:
                event = int(block.batch.event_numbers[block.rows[query_range][failure.n_answered]])
            else:
                event = self.queue.event_number(event_range.start + failure.learning_to)
            raise self._error(failure, event) from failure.__cause__
        return None

    def _query_rows(self, batch: Batch, is_new: Bool, repeated: Bool, given: Bool) -> Int64:
        """Return the rows of a batch that are queries; count every other event under the reason why it is not one.

        The masks mark events of new users (``is_new``), of items that the user had (``repeated``), and events that the
        model gets without a query (``given``).
        """
        protocol = self.protocol
        left = np.ones(len(batch), np.bool_)
        salt = np.uint64(derive_seed(protocol.seed, "scored") % 2**64)
        draws = uniform(mix(mix(batch.event_numbers.astype(np.uint64)) ^ salt))
        for reason, excluded in (
            ("warmup", np.arange(self.n_events, self.n_events + len(batch)) < protocol.warmup),
            (GIVEN, given),
            ("first", is_new & (protocol.scored_users != "any")),
            ("repeats", repeated & (protocol.predict == "items") & (protocol.repeats == "exclude")),
            ("sampled_out", draws >= protocol.score_every),
        ):
            if reason in self.counts:
                self.counts[reason] += int((left & excluded).sum())
                left &= ~excluded
        self.n_events += len(batch)
        self.reached = int(batch.event_numbers[-1]) + 1
        self.counts["moved"] += int(batch.moved.sum())
        return np.flatnonzero(left)

    def _keep(self, block: EventBlock, output: WalkOutput, rows: Int64, values: dict[str, Float], unseen: int) -> None:
        """Add the answers ``output`` and metric ``values`` of queries (``rows`` of the block) to the results.

        ``unseen`` is the number of queries whose item is not learned yet.
        """
        counts, answered, kept = self.counts, rows.size, np.ones(rows.size, np.bool_)
        if self.metrics is None:
            kept = ~np.isnan(values[ERROR])
            counts["unpredicted"] += int((~kept).sum())
            rows, values = rows[kept], {ERROR: values[ERROR][kept]}
        else:
            counts["again"] += int(block.repeated[rows].sum())
            counts["unseen"] += unseen
            counts["short"] += int((output.candidates[:answered] < self.protocol.at).sum())
        log, numbers = block.batch.log, block.batch.event_numbers[rows]
        chunk = {
            "event": numbers, "user": block.events.users[rows], **values,
            "answer_ns": output.answer_ns[:answered][kept], "learn_ns": output.learn_ns,
        }  # fmt: skip
        if self.keep_lists and self.metrics is not None:
            row, rank = np.nonzero(output.lists[:answered] >= 0)
            items = self.item_codes.with_catalogue(self.catalogue).gather(output.lists[row, rank])
            ranks = (rank + 1).astype(np.int32)
            lists = pl.DataFrame({"event": numbers[row], "rank": ranks, "item_id": items})
            chunk |= {"lists": lists, "known": block.n_items[rows]}
        if log.times == "clock" and log.timestamps is not None:  # a mere order has no time windows
            chunk["times"] = log.timestamps.gather(rows)
        counts["scored"] += rows.size
        self._add_results(chunk)

    def _values(self, block: EventBlock, output: WalkOutput, predicted: Float | None, rows: Int64) -> dict[str, Float]:
        """Return the value of each query (``rows`` of the block) under each metric.

        It is NaN where it is undefined, or where no rating was ``predicted``.
        """
        if predicted is not None:
            predicted = predicted[: rows.size]
            if self.protocol.clip:  # to the range of the values before each event
                low, high = block.low[rows], block.high[rows]
                predicted = np.where(low <= high, np.clip(predicted, low, high), predicted)
            return {ERROR: np.abs(block.events.values[rows] - predicted)}
        assert self.metrics is not None, "these queries are for items"
        users, items, of_ranks = block.events.users[rows], block.events.items[rows], self.metrics.of_ranks
        if self.recent_lists is not None:
            values = dict.fromkeys(of_ranks, self.recent_lists(users, items, output.lists))
        elif block.upcoming is not None:
            at, share = self.protocol.at, self.protocol.credit == "share"
            values = {
                heading: block.upcoming(block.begin + rows, users, output.lists, metric.k or at, share=share)
                for heading, metric in of_ranks.items()
            }
        else:
            values = self.metrics(output)
        if self.listed is not None and block.popularity is not None and rows.size:
            ids = self.item_codes.with_catalogue(self.catalogue)
            numbers, n_before = block.batch.event_numbers[rows], block.n_before[rows]
            moments = Moments(numbers, rows, users, items, n_before, output.lists, ids, self.history, block.popularity)
            values |= self.listed(moments)
        return {heading: values.get(heading, np.zeros(rows.size)) for heading in self.metrics.metrics}
