"""What is done about drift while a stream is played: a detector hears the losses, and a model may be made anew.

A learner that was made anew begins a stream of its own: it knows users and items by first appearance since then.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recassay.data.outcomes import is_error
from recassay.drift import Alarm, Detector
from recassay.engine.stream.queue import Queue
from recassay.models.incremental._walk import Asked, Told
from recassay.models.incremental.base import grown, in_order_met
from recassay.protocols.prequential import Prequential

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]
FIRST = 64  # questions that are walked together after an alarm, then twice as many, and so on: alarms come in swarms


@dataclass(frozen=True, eq=False)
class Lesson:
    """What a block of events asks and tells.

    ``steps`` are how many are told when the learner learns. Before each event of the block ``taught`` of :class:`Told`
    have been learnt, and ``revealed`` of the whole stream could have been.
    """

    told: Told
    steps: Int64
    asked: Asked
    taught: Int64
    revealed: Int64
    known_users: Int64  # before each question, codes below this have been learnt

    def part(self, questions: slice, events: slice) -> tuple[Told, Int64, Asked]:
        """Some questions, and some events that are told, as if there were no others."""
        begin, end = events.start, events.stop
        users, items, values = self.told
        told = Told(users[events], items[events], values[events])
        steps = self.steps[(self.steps > begin) & (self.steps <= end)] - begin
        rows = ("users", "items", "until", "known", "universe", "begin", "end")
        asked = self.asked._replace(**{name: getattr(self.asked, name)[questions] for name in rows})
        return told, steps, asked._replace(until=asked.until - begin)


class Guard:
    """A detector at work, its alarms so far, and whether one is to be acted on before the next event.

    >>> detector = "PageHinkley(delta=0, threshold=1.5, least=1)"
    >>> guard = Guard(Prequential(detector=detector, on_alarm="reset"), "recall@10")
    >>> hits = np.array([1.0, 1.0, 0.0, 0.0, 0.0, 0.0])
    >>> guard.hear(np.arange(6), hits, whole=True)
    5
    >>> guard.hear(np.arange(5), hits[:5], whole=True), guard.due, [alarm.event for alarm in guard.alarms]
    (None, True, [4])
    """

    def __init__(self, protocol: Prequential, metric: str) -> None:
        detector = protocol.watching
        assert detector is not None, "there is no guard without one"
        self.detector: Detector = detector
        self.metric = metric
        self.acting = protocol.on_alarm != "log"
        self.kept = protocol.keep if protocol.on_alarm == "refit" else 0  # events that a new model begins with
        self.watch = detector.start()
        self.alarms: list[Alarm] = []
        self.recent = Queue()  # events of the stream that may be kept, and those that came later
        self.due, self.reach = False, FIRST

    def hear(self, events: Int64, values: NDArray[np.float64], *, whole: bool) -> int | None:
        """Hear what a stretch of questions was worth; or nothing, and say how many go up to an alarm to be acted on.

        So an alarm that is acted on is the last of its stretch. ``whole`` is false for one that broke off after it.
        """
        losses = values if is_error(self.metric) else 1 - values
        known, before = ~np.isnan(losses), self.watch.state()
        found = self.watch.on_scores(events[known], losses[known])
        first = next((one.event for one in found if self.acting and one.kind == "drift" and one.worse), None)
        if first is not None and (first < events[-1] or not whole):
            self.watch, self.reach = self.detector.start(before), FIRST
            return int(np.searchsorted(events, first)) + 1
        self.alarms += found
        self.reach *= 2
        if first is not None:
            self.due, self.watch = True, self.detector.start()
        return None

    def met(self, told: Told, often: Int64, places: Int64, revealed: Int64) -> None:
        """Keep the events of a block, and forget those that no alarm will ask for."""
        if self.acting:
            self.recent.append(told, often, places)
            self.recent.drop(max(0, int(revealed[0]) - self.kept - self.recent.begin))

    def begin_anew(self, revealed: int) -> tuple[Told, Anew]:
        """The events that a new model begins with, in its own codes; and these codes, also of what comes later."""
        self.due = False
        recent = self.recent
        recent.drop(max(0, revealed - self.kept - recent.begin))
        anew = Anew()
        anew.meet(recent.told.users, recent.told.items)
        told = anew.told(recent.expanded(revealed - recent.begin)[0])
        anew.learnt(told)
        return told, anew


class Numbers:
    """Codes by first appearance, of codes.

    >>> numbers = Numbers()
    >>> numbers.meet(np.array([7, 3, 7], np.int32)), numbers.meet(np.array([3, 5], np.int32))
    (None, None)
    >>> numbers.code[[3, 5, 7]].tolist(), numbers.everyone(9).tolist()
    ([1, 2, 0], [7, 3, 5, 0, 1, 2, 4, 6, 8])
    """

    def __init__(self) -> None:
        self.code, self.given = np.zeros(0, np.int32), np.zeros(0, np.int32)
        self.known = 0  # codes below this have been learnt

    def meet(self, codes: Int32) -> None:
        """Give new ones a code."""
        room = int(codes.max(initial=-1)) + 1
        self.code = grown(self.code, room, lambda begin, end: np.full(end - begin, -1, np.int32))
        new = in_order_met(codes, room)
        new = new[self.code[new] < 0]
        self.code[new] = np.arange(self.given.size, self.given.size + new.size)
        self.given = np.append(self.given, new)

    def everyone(self, size: int) -> Int32:
        """Those with a code, by code, and behind them all others of so many."""
        others = np.ones(size, np.bool_)
        others[self.given] = False
        return np.append(self.given, np.flatnonzero(others).astype(np.int32))

    def known_after(self, codes: Int32) -> Int64:
        """How many have been learnt before any, and after each, of some that are learnt in turn."""
        return np.maximum.accumulate(np.append(self.known, codes.astype(np.int64) + 1))


class Anew:
    """Users and items as a learner knows them that was made anew."""

    def __init__(self) -> None:
        self.users, self.items = Numbers(), Numbers()

    def meet(self, users: Int32, items: Int32) -> None:
        """More events of the stream."""
        self.users.meet(users)
        self.items.meet(items)

    def told(self, told: Told) -> Told:
        """Events in its codes."""
        return Told(self.users.code[told.users], self.items.code[told.items], told.values)

    def learnt(self, told: Told, since: int = 0) -> None:
        """These have been learnt, in its codes, but for so many first ones."""
        self.users.known = int(self.users.known_after(told.users[since:])[-1])
        self.items.known = int(self.items.known_after(told.items[since:])[-1])

    def lesson(self, lesson: Lesson, question: int, event: int, *, seen: bool) -> Lesson:
        """What is asked from a question on, and told from an event on, in its codes; what was before means nothing.

        Candidates are the items learnt since it was made anew (``seen``), or all.
        """
        told, asked = self.told(lesson.told), lesson.asked
        since = np.maximum(asked.until - event, 0)
        known = self.items.known_after(told.items[event:])[since]
        everyone = self.items.everyone(asked.order.size)
        code = np.empty(everyone.size, np.int32)
        code[everyone] = np.arange(everyone.size, dtype=np.int32)
        begin, pool = _of_users(asked, question)
        own = asked._replace(
            users=self.users.code[asked.users],
            items=code[asked.items],
            known=known,
            universe=known if seen else asked.universe,
            begin=begin,
            end=begin + asked.end - asked.begin,
            pool=code[pool],
            order=asked.order[everyone],
        )
        known_users = self.users.known_after(told.users[event:])[since]
        return Lesson(told, lesson.steps, own, lesson.taught, lesson.revealed, known_users)

    def back(self, lists: Int32, size: int) -> Int32:
        """Lists in the codes of the stream."""
        return np.where(lists >= 0, self.items.everyone(size)[lists], lists)


def _of_users(asked: Asked, question: int) -> tuple[Int64, Int32]:
    """Where what each user has consumed begins in a pool of those alone who are asked from a question on."""
    starts, whose = np.unique(asked.begin, return_inverse=True)
    longest = np.zeros(starts.size, np.int64)
    np.maximum.at(longest, whose[question:], (asked.end - asked.begin)[question:])
    begin = np.cumsum(longest) - longest
    return begin[whose], asked.pool[np.repeat(starts - begin, longest) + np.arange(longest.sum())]
