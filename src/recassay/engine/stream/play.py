"""One copy of a model on a stream: what every event asks, what the model is told before, and what came of it.

Held by the tests to the plain loop of ``tests/property/test_streams.py``, whatever the size of blocks and batches.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.data.identity import mix
from recassay.engine.stream.asking import HINT, Ask, Broken, learner_of, predict, recommend, step_by_step
from recassay.engine.stream.guard import Anew, Guard, Lesson
from recassay.engine.stream.history import History
from recassay.engine.stream.queue import Queue
from recassay.engine.stream.regime import Regime
from recassay.engine.stream.source import Batch, Codes
from recassay.engine.stream.values import ERROR, Ahead, Measures, Previous
from recassay.errors import InputError
from recassay.metrics.registry import Metrics
from recassay.models.incremental._walk import Asked, Shown, Told
from recassay.models.incremental.base import Walks, nobody
from recassay.protocols.prequential import Prequential
from recassay.rng import derive_seed
from recassay.split.lots import uniform

Bool = NDArray[np.bool_]
Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]

BLOCK = 8192  # events that are walked together
WHY = ("scored", "first", "repeats", "warmup", "sampled_out", "unpredicted")  # every event is one of these
BESIDE = ("again", "unseen", "short", "learnt", "moved")
OF_ALARMS = ("alarms", "renewed", "forgotten", "relearnt")  # where there is a detector of drift


@dataclass(eq=False)
class Pieces:
    """What came out so far, block by block."""

    event: list[Int64] = field(default_factory=list)
    values: list[dict[str, NDArray[np.float64]]] = field(default_factory=list)
    users: list[pl.Series] = field(default_factory=list)
    times: list[pl.Series] = field(default_factory=list)
    lists: list[pl.DataFrame] = field(default_factory=list)
    asking: list[Int64] = field(default_factory=list)
    learning: list[Int64] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class Block:
    """Events that are walked together, in the codes of the player, and which of them are asked about."""

    batch: Batch
    users: Int32
    items: Int32
    values: NDArray[np.float64]
    again: Bool  # whether the user had the item before
    rows: Int64  # those that are asked about
    ahead: Ahead | None  # what users take later, where that counts
    begin: int  # the row of its batch that it begins with
    low: NDArray[np.float64]  # of the values before each event
    high: NDArray[np.float64]


class Player:
    """All state of one copy of a model on one stream, so that a pickle of it is a checkpoint."""

    def __init__(
        self,
        model: Any,
        protocol: Prequential,
        metrics: Metrics | None,
        name: str,
        *,
        keep: bool = False,
        catalogue: pl.Series | None = None,
        block: int = BLOCK,
    ) -> None:
        self.protocol, self.name, self.catalogue, self.block = protocol, name, catalogue, block
        self.user_codes, self.item_codes = Codes("user"), Codes("item")
        self.make = functools.partial(learner_of, model, protocol, self.ids)
        self.learner = self.make()
        self.anew: Anew | None = None  # its codes, if it was made anew
        self.history, self.regime, self.queue = History(), Regime(protocol), Queue()
        self.measures: Measures | None = None
        self.keep, self.listed = keep, 0
        self.events, self.reached = 0, 0  # of its own, and of the whole stream
        if protocol.predict == "items":
            lists_only = not hasattr(self.learner, "scores")
            self.measures = Measures.of(metrics, protocol, lists_only=lists_only)
            self.listed = protocol.at if keep or lists_only or protocol.match != "exact" else 0
        self.previous = Previous(protocol.reach, protocol.at) if protocol.match == "previous" else None
        self.guard = None if protocol.detector is None else Guard(protocol, self.headings[0])
        self.range = (np.inf, -np.inf)  # of values so far
        self.counts = dict.fromkeys((*WHY, *BESIDE, *(OF_ALARMS if self.guard else ())), 0)
        self.pieces = Pieces()

    @property
    def headings(self) -> tuple[str, ...]:
        """The metrics."""
        return (ERROR,) if self.measures is None else tuple(self.measures.metrics)

    def ids(self) -> tuple[pl.Series, pl.Series]:
        """The ids of users and items, by the codes of the learner."""
        users, items = self.user_codes.ids, self.item_codes.ids
        if self.anew is None:
            return users, items
        return users.gather(self.anew.users.given), items.gather(self.anew.items.given)

    def meet(self, batch: Batch, often: Int64 | None = None) -> Iterator[Batch]:
        """Walk over the next events, each of which is learnt so ``often``; gives what was walked, block by block."""
        users = self.user_codes.of(batch.log.users, batch.log.user_vocabulary)
        items = self.item_codes.of(batch.log.items, batch.log.item_vocabulary)
        values = self._values_of(batch)
        order = self.item_codes.order(self.catalogue)
        often = np.ones(len(batch), np.int64) if often is None else often
        ahead = self._ahead(users, items)
        for begin in range(0, len(batch), self.block):
            part = slice(begin, begin + self.block)
            walked, told = batch.take(part), Told(users[part], items[part], values[part])
            learnt, block, lesson = self._prepared(walked, told, often[part], order, ahead, begin)
            self._play(block, lesson)
            self.queue.drop(learnt)
            yield walked

    def finish(self) -> None:
        """Learn what is revealed by the end of the stream, as the time that learning takes counts."""
        told, bounds = self.queue.expanded(self.regime.after() - self.queue.begin)
        if self.guard is None or not self.guard.due:
            self._teach(told if self.anew is None else self.anew.told(told), bounds[-1:], self.queue.place_of)
        self.queue.drop(bounds.size - 1)
        self.counts["learnt"] = self.queue.begin

    def _teach(self, told: Told, steps: Int64, place_of: Callable[[int], int]) -> None:
        """Tell the learner of events without a question."""
        asked, shown = nobody(told.users.size)
        try:
            self._tell_and_ask(told, steps, asked, shown, recommend)
        except Broken as broken:
            broken.place = place_of(broken.told or 0)
            raise self._failure(broken) from broken.__cause__
        self.pieces.learning.append(shown.learning)

    def _failure(self, broken: Broken) -> InputError:
        what = f"event {broken.place:,} of the stream: {broken.what}"
        return InputError(broken.code, what, where=self.name, hint=broken.hint)

    def _values_of(self, batch: Batch) -> NDArray[np.float64]:
        """What was rated, 1 where nothing was; what the protocol needs and a batch has not is refused."""
        log = batch.log
        if log.ratings is None and self.protocol.predict == "ratings":
            what = "ratings were to be foretold, and the stream has none"
            raise InputError("I307", what, where=log.origin, hint="prequential(predict='items')")
        return np.ones(len(log)) if log.ratings is None else log.ratings

    def _ahead(self, users: Int32, items: Int32) -> Ahead | None:
        protocol = self.protocol
        if protocol.match not in ("future", "window"):
            return None
        reach = protocol.reach if protocol.match == "window" else None
        return Ahead(users, items, reach, exclude=protocol.repeats == "exclude")

    def _prepared(
        self, batch: Batch, met: Told, often: Int64, order: Int32, ahead: Ahead | None, begin: int
    ) -> tuple[int, Block, Lesson]:
        """How many waiting events are learnt in a block, what is asked in it, and what is told."""
        protocol, queue, (users, items, values) = self.protocol, self.queue, met
        had, again = self.history.consume(users, items)
        revealed = self.regime.revealed(len(batch), batch.moments)
        last = protocol.learn_until
        room = len(batch) if last is None else min(len(batch), max(0, last - self.events))
        queue.append(Told(users[:room], items[:room], values[:room]), often[:room], batch.places[:room])
        learnt = self.regime.learnt(revealed) - queue.begin
        if self.guard is not None:
            self.guard.met(met, often, batch.places, revealed)
        if self.anew is not None:
            self.anew.meet(users, items)
        known_users = queue.known_users(learnt)
        rows = self._scored(batch, users, again, known_users)
        told, bounds = queue.expanded(int(learnt[-1]))
        known, first = queue.known_items(learnt[rows]), self.history.begin[users[rows]]
        end = first + (had[rows] if protocol.repeats == "exclude" else 0)
        universe = known if self.catalogue is None else np.full(rows.size, self.catalogue.len())
        asked = Asked(
            users[rows], items[rows], bounds[learnt[rows]], known, universe, first, end, self.history.pool, order
        )
        low = np.minimum.accumulate(np.append(self.range[0], values))
        high = np.maximum.accumulate(np.append(self.range[1], values))
        self.range = (float(low[-1]), float(high[-1]))
        block = Block(batch, users, items, values, again, rows, ahead, begin, low, high)
        steps = bounds[np.unique(learnt)]
        return int(learnt[-1]), block, Lesson(told, steps, asked, bounds[learnt], revealed, known_users[rows])

    def _play(self, block: Block, lesson: Lesson) -> None:
        """Ask and tell, in one go; with a guard in stretches, each of which ends at the latest where the model changes.

        That is right after the event of an alarm, so the model is made anew before the next event, asked about or not.
        """
        guard, questions, question, event, since = self.guard, block.rows.size, 0, 0, 0
        own = lesson if self.anew is None else self._own(lesson, 0, 0)
        while True:
            if guard is not None and guard.due:
                row = int(block.rows[question - 1]) + 1 if question else 0
                if row == len(block.batch):
                    return  # the next block begins with it
                self._make_anew(guard, int(lesson.revealed[row]), block.batch.places[row])
                event = since = int(lesson.taught[row])
                own = self._own(lesson, question, event)
            if question == questions:
                break
            end = min(question + self._reach(questions), questions)
            until = int(lesson.asked.until[end - 1])
            while (early := self._stretch(block, own, slice(question, end), slice(event, until))) is not None:
                end = question + early
                until = int(lesson.asked.until[end - 1])
            question, event = end, until
        rest = slice(event, lesson.told.users.size)
        told, steps, _ = own.part(slice(questions, questions), rest)
        self._teach(told, steps, lambda learnt: self.queue.place_of(rest.start + learnt))
        if self.anew is not None:
            self.anew.learnt(own.told, since)

    def _reach(self, questions: int) -> int:
        """How many questions may be walked in one go: those that can be walked again if an alarm was among them."""
        if self.guard is None or not self.guard.acting:
            return questions
        return self.guard.reach if isinstance(self.learner, Walks) else 1

    def _own(self, lesson: Lesson, question: int, event: int) -> Lesson:
        """A lesson in the codes of a learner that was made anew."""
        assert self.anew is not None, "it was"
        return self.anew.lesson(lesson, question, event, seen=self.catalogue is None)

    def _make_anew(self, guard: Guard, revealed: int, place: int) -> None:
        """Begin with a new learner, and teach it what it may keep."""
        told, self.anew = guard.begin_anew(revealed)
        self.learner = self.make()
        self._teach(told, np.array([told.users.size]), lambda _: int(place))
        self.counts["renewed"] += 1
        self.counts["relearnt"] += told.users.size

    def _stretch(self, block: Block, lesson: Lesson, questions: slice, events: slice) -> int | None:
        """Ask and tell, and keep what it came to; or undo it, and say after how many questions the model changes."""
        told, steps, asked = lesson.part(questions, events)
        shown, foretold = Shown.room(asked.users.size, told.users.size, self.listed), np.full(asked.users.size, np.nan)
        ask = recommend if self.protocol.predict == "items" else functools.partial(predict, foretold=foretold)
        guard, broken, before = self.guard, None, None
        if guard is not None and guard.acting and asked.users.size > 1:
            before = copy.deepcopy((self.learner, self.previous))
        try:
            self._tell_and_ask(told, steps, asked, shown, ask)
        except Broken as error:
            broken = error
        answered = asked.users.size if broken is None else broken.questions
        rows = block.rows[questions][:answered]
        if self.anew is not None:
            shown = shown._replace(lists=self.anew.back(shown.lists, asked.order.size))
        values = self._values(block, shown.first(answered), foretold[:answered], rows)
        if guard is not None and answered:
            early = guard.hear(block.batch.places[rows], values[guard.metric], whole=broken is None)
            if early is not None:
                assert before is not None, "one question is heard whole"
                self.learner, self.previous = before
                return early
            self.counts["alarms"] = len(guard.alarms)
            self.counts["forgotten"] += int((asked.users >= lesson.known_users[questions])[:answered].sum())
        unseen = int((asked.items >= asked.known)[:answered].sum())
        self._keep(block, shown, rows, values, unseen)
        if broken is not None:
            if broken.told is None:
                broken.place = int(block.batch.places[block.rows[questions][broken.questions]])
            else:
                broken.place = self.queue.place_of(events.start + broken.told)
            raise self._failure(broken) from broken.__cause__
        return None

    def _scored(self, batch: Batch, users: Int32, again: Bool, known: Int64) -> Int64:
        """Rows of the events that are asked about; all others are counted by the reason why they are not."""
        protocol = self.protocol
        left = np.ones(len(batch), np.bool_)
        lots = uniform(
            mix(mix(batch.places.astype(np.uint64)) ^ np.uint64(derive_seed(protocol.seed, "scored") % 2**64))
        )
        items = protocol.predict == "items"
        for why, out in (
            ("warmup", np.arange(self.events, self.events + len(batch)) < protocol.warmup),
            ("first", items & (users >= known)),
            ("repeats", again & items & (protocol.repeats == "exclude")),
            ("sampled_out", lots >= protocol.score_every),
        ):
            self.counts[why] += int((left & out).sum())
            left &= ~out
        self.events += len(batch)
        self.reached = int(batch.places[-1]) + 1
        self.counts["moved"] += int(batch.moved.sum())
        return np.flatnonzero(left)

    def _tell_and_ask(self, told: Told, steps: Int64, asked: Asked, shown: Shown, ask: Ask) -> None:
        """Let the learner walk by itself if it can, else go with it step by step."""
        if ask is not recommend or not isinstance(self.learner, Walks):
            step_by_step(self.learner, self.name, told, steps, asked, shown, ask)
            return
        try:
            self.learner.walk(told, asked, shown)
        except Exception as error:
            what = f"{self.name} failed: {type(error).__name__}: {error}"
            raise Broken(0, None if asked.users.size else told.users.size, "I374", what, HINT) from error
        lost = np.flatnonzero(shown.candidates < 0)
        if lost.size:
            what = f"{self.name} gave NaN scores"
            raise Broken(int(lost[0]), None, "I375", what, "smaller steps, such as a lower learning rate, may help")

    def _keep(
        self, block: Block, shown: Shown, rows: Int64, values: dict[str, NDArray[np.float64]], unseen: int
    ) -> None:
        """Keep what the questions about some rows of a block came to."""
        counts, kept, answered = self.counts, np.ones(rows.size, np.bool_), rows.size
        if self.measures is None:
            kept = ~np.isnan(values[ERROR])
            counts["unpredicted"] += int((~kept).sum())
            rows, values = rows[kept], {ERROR: values[ERROR][kept]}
        else:
            counts["again"] += int(block.again[rows].sum())
            counts["unseen"] += unseen
            counts["short"] += int((shown.candidates[:answered] < self.protocol.at).sum())
            if self.keep:
                self.pieces.lists.append(self._decoded(block, shown.first(answered), rows))
        counts["scored"] += rows.size
        log, pieces = block.batch.log, self.pieces
        pieces.event.append(block.batch.places[rows])
        pieces.values.append(values)
        pieces.users.append(log.user_vocabulary.decode(log.users[rows]))
        if log.times == "clock" and log.timestamps is not None:  # no window of time is over an order
            pieces.times.append(log.timestamps.gather(rows))
        pieces.asking.append(shown.asking[:answered][kept])
        pieces.learning.append(shown.learning)

    def _values(
        self, block: Block, shown: Shown, foretold: NDArray[np.float64], rows: Int64
    ) -> dict[str, NDArray[np.float64]]:
        """What each question was worth, NaN where that is undefined or nothing was foretold."""
        if self.measures is None:
            if self.protocol.clip:  # to the range of the values before each event
                low, high = block.low[rows], block.high[rows]
                foretold = np.where(low <= high, np.clip(foretold, low, high), foretold)
            return {ERROR: np.abs(block.values[rows] - foretold)}
        users, items, at = block.users[rows], block.items[rows], self.protocol.at
        if self.previous is not None:
            hits = self.previous(users, items, shown.lists)
            return dict.fromkeys(self.measures.metrics, hits)
        if block.ahead is None:
            return self.measures(shown)
        share = self.protocol.credit == "share"
        return {
            heading: block.ahead(block.begin + rows, users, shown.lists, metric.k or at, share=share)
            for heading, metric in self.measures.metrics.items()
        }

    def _decoded(self, block: Block, shown: Shown, rows: Int64) -> pl.DataFrame:
        """Lists as a table: event, rank, item_id."""
        row, rank = np.nonzero(shown.lists >= 0)
        codes = shown.lists[row, rank]
        ids = self.item_codes.with_catalogue(self.catalogue).gather(codes)
        events, ranks = block.batch.places[rows[row]], (rank + 1).astype(np.int32)
        return pl.DataFrame({"event": events, "rank": ranks, "item_id": ids})
