"""Reactions to drift while a stream is played: a detector reads the losses, and the learner is reset or refitted.

After a reset the learner starts a stream of its own: it numbers users and items by first appearance since the reset.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from recassay.arrays import Float, Int32, Int64
from recassay.columnar.layout import ranges
from recassay.drift import Alarm, Detector
from recassay.engine.streams.learners import EventBlock
from recassay.engine.streams.schedule import Queue, known_after
from recassay.models.incremental._walk import StreamEvents, StreamQueries
from recassay.models.incremental.base import distinct_by_appearance, grown
from recassay.protocols.prequential import Prequential
from recassay.results.outcomes import is_error

# Queries per range after an alarm; the length doubles with each quiet range. Alarms come in clusters, and the queries
# after an alarm inside a range are answered twice.
FIRST_RANGE = 64


class DriftPolicy:
    """The reaction of a learner to drift: a detector reads the losses, and an alarm may cause a reset or a refit.

    >>> detector = "PageHinkley(delta=0, threshold=1.5, least=1)"
    >>> policy = DriftPolicy(Prequential(detector=detector, on_alarm="reset"), "recall@10")
    >>> hits = np.array([1.0, 1.0, 0.0, 0.0, 0.0, 0.0])
    >>> policy.observe(np.arange(6), hits, complete=True)
    5
    >>> policy.observe(np.arange(5), hits[:5], complete=True), policy.due, [alarm.event for alarm in policy.alarms]
    (None, True, [4])
    """

    def __init__(self, protocol: Prequential, metric: str) -> None:
        detector = protocol.watching
        assert detector is not None, "the protocol names a detector"
        self.detector: Detector = detector
        self.metric = metric
        self.acts = protocol.on_alarm != "log"
        self.keep = protocol.keep if protocol.on_alarm == "refit" else 0  # events that a refitted learner starts from
        self.watch = detector.start()
        self.alarms: list[Alarm] = []
        self.recent = Queue()  # the last ``keep`` events that were revealed, and all events after them
        self.due = False  # whether the learner is to be replaced before the next event
        self.range_length = FIRST_RANGE

    def observe(self, events: Int64, values: Float, *, complete: bool) -> int | None:
        """Feed the values of a range of scored events to the detector; return None if the range is kept.

        If an alarm inside the range calls for a reset or refit, the detector goes back to its state before the range,
        and the number of the range's queries that precede that action is returned. The caller then processes only these
        queries again, so such an alarm is always the last event of a range that is kept. Pass ``complete=False`` where
        the learner failed after the range: an alarm at its end then counts as inside.
        """
        losses = values if is_error(self.metric) else 1 - values
        defined, before = ~np.isnan(losses), self.watch.state()
        alarms = self.watch.on_scores(events[defined], losses[defined])
        first = next((alarm.event for alarm in alarms if self.acts and alarm.kind == "drift" and alarm.worse), None)
        if first is not None and (first < events[-1] or not complete):
            self.watch, self.range_length = self.detector.start(before), FIRST_RANGE
            return int(np.searchsorted(events, first)) + 1
        self.alarms += alarms
        self.range_length *= 2
        if first is not None:
            self.due, self.watch = True, self.detector.start()
        return None

    def remember(self, events: StreamEvents, repeats: Int64, event_numbers: Int64, n_revealed: Int64) -> None:
        """Store the events of a block for later refits, and drop those that are too old for any refit.

        ``repeats`` is how often each event is learned, ``event_numbers`` its number in the stream, and ``n_revealed``
        how many events of the stream are available at each event.
        """
        if self.acts:
            self.recent.append(events, repeats, event_numbers)
            self.recent.drop(max(0, int(n_revealed[0]) - self.keep - self.recent.start))

    def refit_data(self, n_revealed: int) -> tuple[StreamEvents, Recoder]:
        """Return the stored events a new learner starts from, and the recoder that translates later events for it.

        ``n_revealed`` is the number of events of the stream that are available by now.
        """
        self.due = False
        recent = self.recent
        recent.drop(max(0, n_revealed - self.keep - recent.start))
        recoder = Recoder()
        recoder.register(recent.events.users, recent.events.items)
        events = recoder.recode(recent.expanded(n_revealed - recent.start)[0])
        recoder.mark_learned(events)
        return events, recoder


class DenseCodes:
    """A map from old codes to new codes, which are numbered by first appearance.

    >>> codes = DenseCodes()
    >>> codes.register(np.array([7, 3, 7], np.int32)), codes.register(np.array([3, 5], np.int32))
    (None, None)
    >>> codes.new_code[[3, 5, 7]].tolist(), codes.old_codes(9).tolist()
    ([1, 2, 0], [7, 3, 5, 0, 1, 2, 4, 6, 8])
    """

    def __init__(self) -> None:
        self.new_code, self.registered = np.zeros(0, np.int32), np.zeros(0, np.int32)  # registered: old codes, in order
        self.n_known = 0  # new codes below this have been learned

    def register(self, codes: Int32) -> None:
        """Assign new codes to old codes not seen before."""
        size = int(codes.max(initial=-1)) + 1
        self.new_code = grown(self.new_code, size, lambda begin, end: np.full(end - begin, -1, np.int32))
        fresh = distinct_by_appearance(codes, size)
        fresh = fresh[self.new_code[fresh] < 0]
        self.new_code[fresh] = np.arange(self.registered.size, self.registered.size + fresh.size)
        self.registered = np.append(self.registered, fresh)

    def old_codes(self, size: int) -> Int32:
        """Return the old codes below ``size``: the registered ones by new code, then all others ascending."""
        others = np.ones(size, np.bool_)
        others[self.registered] = False
        return np.append(self.registered, np.flatnonzero(others).astype(np.int32))


class Recoder:
    """A translation of stream codes to the codes of a learner that was reset.

    After a reset the learner numbers users and items from 0 by first appearance.
    """

    def __init__(self) -> None:
        self.users, self.items = DenseCodes(), DenseCodes()

    def register(self, users: Int32, items: Int32) -> None:
        """Assign codes to users and items not seen before."""
        self.users.register(users)
        self.items.register(items)

    def recode(self, events: StreamEvents) -> StreamEvents:
        """Return the events in the learner's codes."""
        return StreamEvents(self.users.new_code[events.users], self.items.new_code[events.items], events.values)

    def mark_learned(self, events: StreamEvents, skip: int = 0) -> None:
        """Record that the learner has learned these recoded events, except the first ``skip``."""
        self.users.n_known = int(known_after(self.users.n_known, events.users[skip:])[-1])
        self.items.n_known = int(known_after(self.items.n_known, events.items[skip:])[-1])

    def recode_block(self, block: EventBlock, query: int, event: int, *, seen: bool) -> EventBlock:
        """Return a block in the learner's codes, valid for queries from ``query`` and events from ``event`` on.

        Candidates are the items learned since the reset if ``seen``, else all items.
        """
        events, queries = self.recode(block.to_learn), block.queries
        n_learned = np.maximum(queries.n_learned - event, 0)
        known = known_after(self.items.n_known, events.items[event:])[n_learned]
        old_codes = self.items.old_codes(queries.order.size)
        new_code = np.empty(old_codes.size, np.int32)
        new_code[old_codes] = np.arange(old_codes.size, dtype=np.int32)
        begin, pool = _pool_of_queries(queries, query)
        recoded = queries._replace(
            users=self.users.new_code[queries.users],
            items=new_code[queries.items],
            known=known,
            universe=known if seen else queries.universe,
            begin=begin,
            end=begin + queries.end - queries.begin,
            pool=new_code[pool],
            order=queries.order[old_codes],
        )
        known_users = known_after(self.users.n_known, events.users[event:])[n_learned]
        return replace(block, to_learn=events, queries=recoded, known_users=known_users)

    def restore(self, lists: Int32, n_items: int) -> Int32:
        """Return recommended lists in stream codes; -1 stays -1.

        ``n_items`` is the number of items of the stream.
        """
        return np.where(lists >= 0, self.items.old_codes(n_items)[lists], lists)


def _pool_of_queries(queries: StreamQueries, query: int) -> tuple[Int64, Int32]:
    """Return (begin, pool) for the queries from ``query`` on: the items that their users have consumed.

    ``begin`` is where the items of each query begin in the array ``pool``, which leaves out those of earlier queries
    only.
    """
    starts, user = np.unique(queries.begin, return_inverse=True)
    longest = np.zeros(starts.size, np.int64)
    np.maximum.at(longest, user[query:], (queries.end - queries.begin)[query:])
    begin = np.cumsum(longest) - longest
    return begin[user], queries.pool[ranges(starts, longest)]
