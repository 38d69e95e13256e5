"""One copy of a model on a stream: what every event asks, what the model is told before, and what came of it.

Held by the tests to the plain loop of ``tests/property/test_streams.py``, whatever the size of blocks and batches.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.data.identity import mix
from recassay.data.times import times
from recassay.engine.stream.asking import HINT, Ask, Broken, Names, Refitting, predict, recommend, step_by_step
from recassay.engine.stream.history import History
from recassay.engine.stream.queue import Queue
from recassay.engine.stream.regime import Regime
from recassay.engine.stream.source import Batch, Codes
from recassay.engine.stream.values import ERROR, Ahead, Measures, Previous
from recassay.errors import InputError, UsageError
from recassay.metrics.registry import Metrics
from recassay.models.incremental._walk import Asked, Shown, Told
from recassay.models.incremental.base import Predicts, Starts, Walks
from recassay.protocols.prequential import Prequential
from recassay.rng import derive_seed
from recassay.split.base import uniform

Bool = NDArray[np.bool_]
Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]

BLOCK = 8192  # events that are walked together
WHY = ("scored", "first", "repeats", "warmup", "sampled_out", "unpredicted")  # every event is one of these
BESIDE = ("again", "unseen", "short", "learnt", "moved")


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
    known: Int64  # items learnt before each of these
    foretold: NDArray[np.float64]  # what the model said of each of these, where it foretells ratings


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
        self.learner = learner_of(model, protocol, self.ids)
        self.history, self.regime, self.queue = History(), Regime(protocol), Queue()
        self.measures: Measures | None = None
        self.keep, self.listed = keep, 0
        self.events, self.reached = 0, 0  # of its own, and of the whole stream
        if protocol.predict == "items":
            lists_only = not hasattr(self.learner, "scores")
            self.measures = Measures.of(metrics, protocol, lists_only=lists_only)
            self.listed = protocol.at if keep or lists_only or protocol.match != "exact" else 0
        self.previous = Previous(protocol.reach, protocol.at) if protocol.match == "previous" else None
        self.range = (np.inf, -np.inf)  # of values so far
        self.counts = dict.fromkeys((*WHY, *BESIDE), 0)
        self.pieces = Pieces()

    def ids(self) -> tuple[pl.Series, pl.Series]:
        """The ids of users and items, by code."""
        return self.user_codes.ids, self.item_codes.ids

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
            walked = batch.take(part)
            block, shown, broken = self._walk(walked, users[part], items[part], values[part], often[part], order)
            self._keep(block, shown, broken.questions if broken else block.rows.size, ahead, begin)
            if broken is not None:
                raise self._failure(broken) from broken.__cause__
            yield walked

    def finish(self) -> None:
        """Learn what is revealed by the end of the stream, as the time that learning takes counts."""
        nobody = np.zeros(0, np.int32)
        none = np.zeros(0, np.int64)
        asked = Asked(nobody, nobody, none, none, none, none, none, nobody, nobody)
        told, bounds = self.queue.expanded(self.regime.after() - self.queue.begin)
        shown = Shown.room(0, told.users.size, 0)
        try:
            self._tell_and_ask(told, bounds[-1:], asked, shown, recommend)
        except Broken as broken:
            broken.place = self.queue.place_of(told.users.size)
            raise self._failure(broken) from broken.__cause__
        self.pieces.learning.append(shown.learning)
        self.queue.drop(bounds.size - 1)
        self.counts["learnt"] = self.queue.begin

    def _failure(self, broken: Broken) -> InputError:
        what = f"event {broken.place:,} of the stream: {broken.what}"
        return InputError(broken.code, what, where=self.name, hint=broken.hint)

    def _values_of(self, batch: Batch) -> NDArray[np.float64]:
        """What was rated, 1 where nothing was; what the protocol needs and a batch has not is refused."""
        log = batch.log
        if self.protocol.timed and batch.moments is None:
            times(log)  # which says so
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

    def _walk(
        self, batch: Batch, users: Int32, items: Int32, values: NDArray[np.float64], often: Int64, order: Int32
    ) -> tuple[Block, Shown, Broken | None]:
        """Walk over a block: decide what is asked, then ask and tell."""
        protocol, queue = self.protocol, self.queue
        had, again = self.history.consume(users, items)
        before = self.regime.before(len(batch), batch.moments)
        last = protocol.learn_until
        room = len(batch) if last is None else min(len(batch), max(0, last - self.events))
        queue.append(Told(users[:room], items[:room], values[:room]), often[:room], batch.places[:room])
        learnt = before - queue.begin
        rows = self._scored(batch, users, again, queue.known_users(learnt))
        told, bounds = queue.expanded(int(learnt[-1]))
        known, begin = queue.known_items(learnt[rows]), self.history.begin[users[rows]]
        end = begin + (had[rows] if protocol.repeats == "exclude" else 0)
        universe = known if self.catalogue is None else np.full(rows.size, self.catalogue.len())
        until = bounds[learnt[rows]]
        asked = Asked(users[rows], items[rows], until, known, universe, begin, end, self.history.pool, order)
        shown = Shown.room(rows.size, told.users.size, self.listed)
        block = Block(batch, users, items, values, again, rows, known, np.full(rows.size, np.nan))
        ask = recommend if protocol.predict == "items" else functools.partial(predict, foretold=block.foretold)
        try:
            self._tell_and_ask(told, bounds[np.unique(learnt)], asked, shown, ask)
        except Broken as broken:
            place = batch.places[rows[broken.questions]] if broken.told is None else queue.place_of(broken.told)
            broken.place = int(place)
            return block, shown, broken
        queue.drop(int(learnt[-1]))
        return block, shown, None

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

    def _keep(self, block: Block, shown: Shown, answered: int, ahead: Ahead | None, begin: int) -> None:
        """Keep what the first so many questions of a block came to."""
        rows, counts = block.rows[:answered], self.counts
        if self.measures is None:
            error = np.abs(block.values[rows] - self._clipped(block)[:answered])
            counts["unpredicted"] += int(np.isnan(error).sum())
            kept = ~np.isnan(error)
            rows, values = rows[kept], {ERROR: error[kept]}
        else:
            shown = shown.first(answered)
            counts["again"] += int(block.again[rows].sum())
            counts["unseen"] += int((block.items[rows] >= block.known[:answered]).sum())
            counts["short"] += int((shown.candidates < self.protocol.at).sum())
            values = self._values(self.measures, block, shown, rows, ahead, begin)
            if self.keep:
                self.pieces.lists.append(self._decoded(block, shown, rows))
            kept = np.ones(answered, np.bool_)
        counts["scored"] += rows.size
        log, pieces = block.batch.log, self.pieces
        pieces.event.append(block.batch.places[rows])
        pieces.values.append(values)
        pieces.users.append(log.user_vocabulary.decode(log.users[rows]))
        if log.timestamps is not None:
            pieces.times.append(log.timestamps.gather(rows))
        pieces.asking.append(shown.asking[:answered][kept])
        pieces.learning.append(shown.learning)

    def _values(
        self, measures: Measures, block: Block, shown: Shown, rows: Int64, ahead: Ahead | None, begin: int
    ) -> dict[str, NDArray[np.float64]]:
        users, items, at = block.users[rows], block.items[rows], self.protocol.at
        if self.previous is not None:
            hits = self.previous(users, items, shown.lists)
            return dict.fromkeys(measures.metrics, hits)
        if ahead is None:
            return measures(shown)
        share = self.protocol.credit == "share"
        return {
            heading: ahead(begin + rows, users, shown.lists, metric.k or at, share=share)
            for heading, metric in measures.metrics.items()
        }

    def _clipped(self, block: Block) -> NDArray[np.float64]:
        """What was foretold, within the range of the values before each event if that was asked for."""
        if not self.protocol.clip:
            return block.foretold
        low = np.minimum.accumulate(np.append(self.range[0], block.values))
        high = np.maximum.accumulate(np.append(self.range[1], block.values))
        self.range = (float(low[-1]), float(high[-1]))
        low, high = low[block.rows], high[block.rows]
        return np.where(low <= high, np.clip(block.foretold, low, high), block.foretold)

    def _decoded(self, block: Block, shown: Shown, rows: Int64) -> pl.DataFrame:
        """Lists as a table: event, rank, item_id."""
        row, rank = np.nonzero(shown.lists >= 0)
        codes = shown.lists[row, rank]
        ids = self.item_codes.with_catalogue(self.catalogue).gather(codes)
        events, ranks = block.batch.places[rows[row]], (rank + 1).astype(np.int32)
        return pl.DataFrame({"event": events, "rank": ranks, "item_id": ids})


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
