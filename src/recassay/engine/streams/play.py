"""Evaluation of one copy of a model on a stream: chooses queries, lets the model learn and answer, computes values.

Tests compare the results with the plain loop of ``tests/property/test_streams.py``, for any size of blocks and batches.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.columnar.identity import mix
from recassay.data.features import Features
from recassay.engine.streams.drift_policy import DriftPolicy, QueryBlock, Recoder
from recassay.engine.streams.event_block import (
    ALARM_COUNTS,
    EVENT_REASONS,
    GIVEN,
    OTHER_COUNTS,
    UNLEARNED,
    EventBlock,
    known_items,
    list_table,
)
from recassay.engine.streams.given import GivenEvents
from recassay.engine.streams.history import History
from recassay.engine.streams.learners import LearnerFailure, make_learner, predict, recommend, run_learner
from recassay.engine.streams.listed import ListedMetrics, Moments
from recassay.engine.streams.outcome_chunks import OutcomeChunks
from recassay.engine.streams.queue import Queue
from recassay.engine.streams.regime import Regime
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

Bool = NDArray[np.bool_]
Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]
Float = NDArray[np.float64]

BLOCK = 8192  # events that are walked together


class Player:
    """The state of one copy of a model on one stream; a checkpoint is an archive of it."""

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
        self.n_items = 0  # items of the events before the current block
        self.n_users = 0  # users of these events
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
        self.chunks = OutcomeChunks()

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
        users = self.user_codes.encode(batch.log.users, batch.log.user_vocabulary)
        items = self.item_codes.encode(batch.log.items, batch.log.item_vocabulary)
        values = self._values_of(batch)
        order = self.item_codes.order(self.catalogue)
        repeats = np.ones(len(batch), np.int64) if repeats is None else repeats
        upcoming, given = UpcomingItems.of(self.protocol, users, items), self.given(users)
        for begin in range(0, len(batch), self.block):
            part = slice(begin, begin + self.block)
            walked, events = batch.take(part), StreamEvents(users[part], items[part], values[part])
            n_learned, block, queries = self._prepare(
                walked, events, repeats[part], order, upcoming, begin, given[part]
            )
            self._play(block, queries)
            self.queue.drop(n_learned)
            self.n_items = max(self.n_items, int(events.items.max(initial=-1)) + 1)
            if self.listed is not None and block.popularity is not None:
                self.listed.popularity.advance(block.popularity)
            yield walked

    def finish(self) -> None:
        """Learn the events that may be learned by the end of the stream, so that their learning time is counted."""
        if self.listed is not None:
            self.listed.finish()
        events, bounds = self.queue.expanded(self.regime.n_learned_at_end() - self.queue.start)
        if self.drift_policy is None or not self.drift_policy.due:
            recoded = events if self.recoder is None else self.recoder.recode(events)
            self._learn(recoded, bounds[-1:], self.queue.event_number)
        self.queue.drop(bounds.size - 1)
        self.counts["learnt"] = self.queue.start

    def _learn(self, events: StreamEvents, learn_after: Int64, event_number: Callable[[int], int]) -> None:
        """Let the learner learn events after the last query; ``event_number`` gives their numbers, for errors."""
        _, queries, output = without_queries(*events)
        try:
            run_learner(self.learner, self.name, events, learn_after, queries, output, recommend)
        except LearnerFailure as failure:
            failure.event = event_number(failure.learning_to or 0)
            raise self._error(failure) from failure.__cause__
        self.chunks.learning.append(output.learn_ns)

    def _error(self, failure: LearnerFailure) -> InputError:
        what = f"event {failure.event:,} of the stream: {failure.what}"
        return InputError(failure.code, what, where=self.name, hint=failure.hint)

    def _values_of(self, batch: Batch) -> Float:
        """Return the ratings of events, or 1 for each if they have none; raise I307 if the protocol needs ratings."""
        log = batch.log
        if log.ratings is None and self.protocol.predict == "ratings":
            what = "the protocol predicts ratings, but the stream has none"
            raise InputError("I307", what, where=log.origin, hint="prequential(predict='items')")
        return np.ones(len(log)) if log.ratings is None else log.ratings

    def _prepare(
        self,
        batch: Batch,
        events: StreamEvents,
        repeats: Int64,
        order: Int32,
        upcoming: UpcomingItems | None,
        begin: int,
        given: Bool,
    ) -> tuple[int, EventBlock, QueryBlock]:
        """Queue events to be learned; return (how many queued ones the block learns, its events, its queries).

        ``batch`` and ``events`` are the events of the block, with ids and with codes. ``repeats`` says how often each
        is learned, ``order`` is the rank of each item's id, and ``given`` marks events not to score. ``upcoming`` are
        the later items of each user, which count as hits in relaxed matching; the block begins at event ``begin`` of
        it.
        """
        protocol, queue, (users, items, values) = self.protocol, self.queue, events
        n_before, repeated = self.history.consume(users, items)
        n_revealed = self.regime.n_revealed(len(batch), batch.moments)
        last = protocol.learn_until
        room = len(batch) if last is None else min(len(batch), max(0, last - self.n_events))
        queue.append(
            StreamEvents(users[:room], items[:room], values[:room]), repeats[:room], batch.event_numbers[:room]
        )
        n_learned = self.regime.n_learned(n_revealed) - queue.start
        if self.drift_policy is not None:
            self.drift_policy.remember(events, repeats, batch.event_numbers, n_revealed)
        if self.recoder is not None:
            self.recoder.register(users, items)
        known_users = queue.known_users(n_learned)
        rows = self._query_rows(batch, users, repeated, known_users, given)
        missed = np.zeros(0, np.int64)
        if protocol.known == "stream":
            missed, rows = rows[users[rows] >= known_users[rows]], rows[users[rows] < known_users[rows]]
        to_learn, bounds = queue.expanded(int(n_learned[-1]))
        known, first = queue.known_items(n_learned[rows]), self.history.begin[users[rows]]
        end = first + (n_before[rows] if protocol.repeats == "exclude" else 0)
        universe = known if self.catalogue is None else np.full(rows.size, self.catalogue.len())
        queries = StreamQueries(
            users[rows], items[rows], bounds[n_learned[rows]], known, universe, first, end, self.history.pool, order
        )
        low = np.minimum.accumulate(np.append(self.value_range[0], values))
        high = np.maximum.accumulate(np.append(self.value_range[1], values))
        self.value_range = (float(low[-1]), float(high[-1]))
        popularity = None if self.listed is None else self.listed.popularity.block(users, items, repeated, order)
        block = EventBlock(
            batch, users, items, values, repeated, rows, upcoming, begin, low, high, n_before, popularity
        )
        self._keep_missed(block, missed)
        learn_after = bounds[n_learned[np.append(True, n_learned[1:] > n_learned[:-1])]]
        query_block = QueryBlock(to_learn, learn_after, queries, bounds[n_learned], n_revealed, known_users[rows])
        return int(n_learned[-1]), block, query_block

    def _play(self, block: EventBlock, queries: QueryBlock) -> None:
        """Let the learner process a block, in ranges that end at the event of each alarm that replaces it."""
        policy, n_queries, query, event, reset_at = self.drift_policy, block.rows.size, 0, 0, 0
        own = queries if self.recoder is None else self._recoded(queries, 0, 0)
        while True:
            if policy is not None and policy.due:
                row = int(block.rows[query - 1]) + 1 if query else 0
                if row == len(block.batch):
                    return  # the next block begins with the reset
                self._reset(policy, int(queries.n_revealed[row]), block.batch.event_numbers[row])
                event = reset_at = int(queries.n_learned[row])
                own = self._recoded(queries, query, event)
            if query == n_queries:
                break
            end = min(query + self._range_length(n_queries), n_queries)
            until = int(queries.queries.n_learned[end - 1])
            while (shorter := self._play_range(block, own, slice(query, end), slice(event, until))) is not None:
                end = query + shorter
                until = int(queries.queries.n_learned[end - 1])
            query, event = end, until
        rest = slice(event, queries.events.users.size)
        events, learn_after, _ = own.select(slice(n_queries, n_queries), rest)
        self._learn(events, learn_after, lambda n_learned: self.queue.event_number(rest.start + n_learned))
        if self.recoder is not None:
            self.recoder.mark_learned(own.events, reset_at)

    def _range_length(self, n_queries: int) -> int:
        """Return how many queries to answer at a time: few if a drift alarm may discard the answers."""
        if self.drift_policy is None or not self.drift_policy.acts:
            return n_queries
        return self.drift_policy.range_length if isinstance(self.learner, WalksStream) else 1

    def _recoded(self, queries: QueryBlock, query: int, event: int) -> QueryBlock:
        """Return the part of a block from ``query`` and ``event`` on, in the codes of the learner after a reset."""
        assert self.recoder is not None, "the learner was reset"
        return self.recoder.recode_block(queries, query, event, seen=self.catalogue is None)

    def _reset(self, policy: DriftPolicy, n_revealed: int, event_number: int) -> None:
        """Replace the learner by a new one, which first learns the events that the drift policy kept for it."""
        events, self.recoder = policy.refit_data(n_revealed)
        self.learner = make_learner(self.model, self.protocol, self)
        self._learn(events, np.array([events.users.size]), lambda _: int(event_number))
        self.counts["renewed"] += 1
        self.counts["relearnt"] += events.users.size

    def _play_range(self, block: EventBlock, own: QueryBlock, query_range: slice, event_range: slice) -> int | None:
        """Let the learner process a range of a block, and keep the results.

        If an alarm inside the range calls for a reset or refit, undo the range and return how many queries precede that
        action; else return None. ``own`` is the query block in the learner's codes.
        """
        events, learn_after, queries = own.select(query_range, event_range)
        n_queries = queries.users.size
        output = WalkOutput.empty(n_queries, events.users.size, self.list_length)
        predicted = np.full(n_queries, np.nan)
        answer = recommend if self.protocol.predict == "items" else functools.partial(predict, predicted=predicted)
        policy, failure, before = self.drift_policy, None, None
        if policy is not None and policy.acts and n_queries > 1:
            before = copy.deepcopy((self.learner, self.recent_lists))
        try:
            run_learner(self.learner, self.name, events, learn_after, queries, output, answer)
        except LearnerFailure as error:
            failure = error
        answered = n_queries if failure is None else failure.n_answered
        rows = block.rows[query_range][:answered]
        if self.recoder is not None:
            output = output._replace(lists=self.recoder.restore(output.lists, queries.order.size))
        values = self._values(block, output.head(answered), predicted[:answered], rows)
        if policy is not None and answered:
            events_scored = block.batch.event_numbers[rows]
            shorter = policy.observe(events_scored, values[policy.metric], complete=failure is None)
            if shorter is not None:
                assert before is not None, "a range of one query is never discarded"
                self.learner, self.recent_lists = before
                return shorter
            self.counts["alarms"] = len(policy.alarms)
            self.counts["forgotten"] += int((queries.users >= own.known_users[query_range])[:answered].sum())
        unseen = int((queries.items >= queries.known)[:answered].sum())
        self._keep(block, output, rows, values, unseen)
        if failure is not None:
            if failure.learning_to is None:
                failure.event = int(block.batch.event_numbers[block.rows[query_range][failure.n_answered]])
            else:
                failure.event = self.queue.event_number(event_range.start + failure.learning_to)
            raise self._error(failure) from failure.__cause__
        return None

    def _query_rows(self, batch: Batch, users: Int32, repeated: Bool, known_users: Int64, given: Bool) -> Int64:
        """Return the rows of a batch that are queries; count every other event under the reason why it is not one."""
        protocol = self.protocol
        left = np.ones(len(batch), np.bool_)
        salt = np.uint64(derive_seed(protocol.seed, "scored") % 2**64)
        draws = uniform(mix(mix(batch.event_numbers.astype(np.uint64)) ^ salt))
        of_items = protocol.predict == "items"
        for reason, excluded in (
            ("warmup", np.arange(self.n_events, self.n_events + len(batch)) < protocol.warmup),
            (GIVEN, given),
            ("first", (protocol.scored_users != "any") & (users >= self._known_users(users, known_users))),
            ("repeats", repeated & of_items & (protocol.repeats == "exclude")),
            ("sampled_out", draws >= protocol.score_every),
        ):
            if reason in self.counts:
                self.counts[reason] += int((left & excluded).sum())
                left &= ~excluded
        self.n_events += len(batch)
        self.reached = int(batch.event_numbers[-1]) + 1
        self.counts["moved"] += int(batch.moved.sum())
        return np.flatnonzero(left)

    def _known_users(self, users: Int32, learned: Int64) -> Int64:
        """Return how many users count as known before each event: ``learned``, or all so far if ``known="stream"``."""
        if self.protocol.scored_users != "stream":
            return learned
        met = np.maximum.accumulate(np.append(self.n_users, users.astype(np.int64) + 1))
        self.n_users = int(met[-1])
        return np.asarray(met[:-1])

    def _keep_missed(self, block: EventBlock, rows: Int64) -> None:
        """Score events of users whom the model has not learned as if their lists were empty."""
        if not rows.size or self.metrics is None:
            return
        self.counts[UNLEARNED] += rows.size
        self._keep(block, WalkOutput.empty(rows.size, 0, self.list_length), rows, self.metrics.missed(rows.size), 0)
        self.chunks.asking.pop()  # the model got no query

    def _keep(self, block: EventBlock, output: WalkOutput, rows: Int64, values: dict[str, Float], unseen: int) -> None:
        """Add the results of queries (``rows`` of the block); in ``unseen`` of them the item is not learned."""
        counts, kept, answered = self.counts, np.ones(rows.size, np.bool_), rows.size
        if self.metrics is None:
            kept = ~np.isnan(values[ERROR])
            counts["unpredicted"] += int((~kept).sum())
            rows, values = rows[kept], {ERROR: values[ERROR][kept]}
        else:
            counts["again"] += int(block.repeated[rows].sum())
            counts["unseen"] += unseen
            counts["short"] += int((output.candidates[:answered] < self.protocol.at).sum())
            if self.keep_lists:
                ids = self.item_codes.with_catalogue(self.catalogue)
                self.chunks.lists.append(list_table(block, output.lists[:answered], rows, ids))
                self.chunks.known.append(known_items(block, self.n_items, rows))
        counts["scored"] += rows.size
        log, chunks = block.batch.log, self.chunks
        chunks.event.append(block.batch.event_numbers[rows])
        chunks.values.append(values)
        chunks.users.append(block.users[rows])
        if log.times == "clock" and log.timestamps is not None:  # a mere order has no time windows
            chunks.times.append(log.timestamps.gather(rows))
        chunks.asking.append(output.answer_ns[:answered][kept])
        chunks.learning.append(output.learn_ns)

    def _values(self, block: EventBlock, output: WalkOutput, predicted: Float, rows: Int64) -> dict[str, Float]:
        """Return the value of each query under each metric, NaN where it is undefined or no rating was predicted."""
        if self.metrics is None:
            if self.protocol.clip:  # to the range of the values before each event
                low, high = block.low[rows], block.high[rows]
                predicted = np.where(low <= high, np.clip(predicted, low, high), predicted)
            return {ERROR: np.abs(block.values[rows] - predicted)}
        own = {**self._values_of_ranks(block, output, rows), **self._values_of_lists(block, output, rows)}
        return {heading: own[heading] for heading in self.metrics.metrics}

    def _values_of_ranks(self, block: EventBlock, output: WalkOutput, rows: Int64) -> dict[str, Float]:
        """Return the value of each query under each metric of its item's rank (relaxed matching: of its hits)."""
        assert self.metrics is not None, "these queries are for items"
        users, items, at = block.users[rows], block.items[rows], self.protocol.at
        if self.recent_lists is not None:
            hits = self.recent_lists(users, items, output.lists)
            return dict.fromkeys(self.metrics.of_ranks, hits)
        if block.upcoming is None:
            return self.metrics(output)
        share = self.protocol.credit == "share"
        return {
            heading: block.upcoming(block.begin + rows, users, output.lists, metric.k or at, share=share)
            for heading, metric in self.metrics.of_ranks.items()
        }

    def _values_of_lists(self, block: EventBlock, output: WalkOutput, rows: Int64) -> dict[str, Float]:
        """Return the value of each query (``rows`` of the block) under each metric that reads whole lists."""
        if self.listed is None or block.popularity is None or not rows.size:
            return {heading: np.zeros(rows.size) for heading in (self.listed.metrics if self.listed else ())}
        ids = self.item_codes.with_catalogue(self.catalogue)
        return self.listed(Moments.of(block, output.lists, rows, ids, self.history))
