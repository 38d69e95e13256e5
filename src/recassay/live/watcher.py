"""The watcher: the object that takes batches of events, moves the clock, and writes the state."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from recassay.data.io.archive import archive_of, load_archive
from recassay.errors import InternalError
from recassay.live.attached import AttachedModels
from recassay.live.buckets import Buckets
from recassay.live.clock import END, Clock
from recassay.live.events import FEEDBACK, INTERACTION, EventBatch, contents, shortened, written
from recassay.live.join import Join
from recassay.live.judging import ExposureJudge
from recassay.live.settings import WatchSettings
from recassay.live.sources import Arrival, Source
from recassay.live.state import Journal, StateFile
from recassay.live.tally import Tally
from recassay.metrics.context import Context
from recassay.stats.exact_sums import GroupSums

BINS = ("judged", "pending", "duplicate", "late", "malformed")
DELTAS_PER_SNAPSHOT = 4  # the log of units is replaced by a snapshot when it is this many times as large
SMALL_LOG = 8 << 20  # bytes up to which a log is not replaced because of its size
SNAPSHOT = "attached models"
TOTALS = "totals"
LENGTH = 10  # items in the list of an attached model, if no metric has a cut-off


class Watcher:
    """A live evaluation of exposures and feedback, with its state file.

    :meth:`take` batches of events, :meth:`step` the clock, then :meth:`commit`; all three belong to one transaction.
    The results do not depend on how events are divided into batches and partitions. ``journal`` is the folder of
    another live evaluation: deliveries that it excluded because of the clock are excluded here too, once they are
    counted. ``models`` are attached models, which make lists for interactions.
    """

    def __init__(
        self,
        settings: WatchSettings,
        folder: Path | None = None,
        *,
        context: Context | None = None,
        journal: str | Path | None = None,
        models: AttachedModels | None = None,
    ) -> None:
        self.settings = settings
        self.attached = models or AttachedModels()
        judge = ExposureJudge.of(settings.metrics, context, settings.gains)
        self.journal = None if journal is None else Journal(journal)
        self.clock = Clock(settings.lateness, settings.idle, settings.ahead)
        self.join = Join(settings.window, settings.remember, settings.segments)
        self.tally = Tally(settings, judge)
        self.counts: Counter[str] = Counter()
        self.reasons: dict[str, list[Any]] = {}  # reason of a malformed or late event: number, first example
        self.positions: dict[str, Any] = {}
        self.finished = False
        self.sources: list[Source] = []  # that events are read from
        self.versions = 0  # commits so far
        self.next_snapshot = SMALL_LOG  # bytes of the log of learned interactions before models are stored
        self.to_relearn = 0  # interactions in that log
        self.state = StateFile(folder)
        try:
            if self.state.begun and self.state.read("settings") is not None:
                settings.check_same(self.state.read("settings"), self.state.path, models=self.attached.descriptions())
                self._restore()
            else:
                with self.state.transaction():
                    self.state.write("settings", settings.to_json(models=self.attached.descriptions()))
                self.attached.start(self.length, None)
        except BaseException:
            self.state.close()
            raise
        self._begin()

    def _begin(self) -> None:
        """Begin a transaction: empty the lists of what it will add to the state file."""
        self._letters: list[dict[str, Any]] = []
        self._aside: list[tuple[str, str]] = []
        self._logs: dict[str, list[pl.DataFrame]] = {"waiting": [], "kept": [], "units": [], "learned": []}

    @property
    def length(self) -> int:
        """Return the length that lists of attached models need: the largest cut-off of the metrics."""
        return self.tally.judge.job.deepest or LENGTH

    def count_deliveries(self, sources: Iterable[Source]) -> None:
        """Count the deliveries in the sources for the journal, which needs the counts before the sources are read."""
        assert self.journal is not None
        newest = {name: partition.newest for name, partition in self.clock.partitions.items()}
        disorder = self.journal.count(sources, self.read, self.positions, newest, self.state.aside())
        self.clock.lateness = max(self.settings.lateness, disorder)

    def read(self, arrival: Arrival) -> EventBatch:
        """Return the events of an arrival, parsed as the settings say."""
        return arrival.read(self.settings.segments, self.settings.max_items, self.attached.names)

    # taking events ---------------------------------------------------------------------------------------------------

    def take(self, partition: str, batch: EventBatch, now: int, *, position: Any = None) -> None:
        """Take a batch of events of a partition that came at wall time ``now``.

        ``position`` is where the source continues after the batch; None if it cannot be read again.
        """
        self.counts["received"] += batch.received
        for refused in batch.refused:
            self._set_aside("malformed", refused.reason, partition, refused.content, {"event": refused.content})
        events = batch.events
        known = None if self.journal is None else self.journal.masks(events)
        late, future = self.clock.observe(partition, events["time"].to_numpy(), now, known)
        for mask, name, reason in ((late, "late", "late"), (future, "malformed", "future")):
            excluded = events.filter(pl.Series(mask))
            for content, event in zip(contents(excluded), written(excluded), strict=True):
                self._set_aside(name, reason, partition, content, event)
                self._aside.append((content, reason))  # so that a later evaluation can exclude it too
        kept = events.filter(pl.Series(~(late | future))) if (late | future).any() else events
        self.join.accept(kept)
        self._logs["waiting"].append(kept)
        if position is not None:
            self.positions[partition] = position

    def _set_aside(self, name: str, reason: str, partition: str, content: str, event: Mapping[str, Any]) -> None:
        """Count an event that is not evaluated, under ``name`` and ``reason``, and store it as a dead letter.

        Fields of the event replace fields of the letter with the same name, so that the letter can be read as an event.
        ``partition`` is where the event came from, and ``content`` its text.
        """
        self.counts[name] += 1
        self.reasons.setdefault(reason, [0, shortened(content)])[0] += 1
        self._letters.append({"bin": name, "reason": reason, "partition": partition, **event})

    # moving the clock ------------------------------------------------------------------------------------------------

    def step(self, now: int) -> None:
        """Move the watermark at wall time ``now``; then release, join and score the events that it has passed."""
        self.clock.advance(now)
        self._pass(self.clock.watermark)

    def finish(self) -> None:
        """Close every feedback window and score its exposures, because the sources have ended."""
        self.clock.watermark, self.finished = END, True
        self._pass(self.clock.watermark)

    def _pass(self, watermark: int) -> None:
        if watermark <= self.join.watermark:
            return
        kept, counts = self.join.release(watermark)
        interactions = kept.filter(pl.col("event") == INTERACTION)  # they belong to no exposure
        self.counts += counts
        self.counts["feedback"] += int((kept["event"] == FEEDBACK).sum())
        listed, learned = self.attached.with_lists(interactions)
        self.tally.models.add(listed)
        closed = self.join.close()
        self.counts["closed"] += closed.exposures.height
        self.counts["judged"] += (
            counts["orphans"] + interactions.height + closed.exposures.height + closed.feedback.height
        )
        stored = self.tally.add(closed, watermark - self.settings.window)
        for name, table in (("kept", kept), ("units", stored), ("learned", learned)):
            if table is not None and table.height:
                self._logs[name].append(table)

    # bookkeeping -----------------------------------------------------------------------------------------------------

    def bins(self) -> dict[str, int]:
        """Return ``{"received": n, ...}``: how many events were received, judged, pending, late, ...."""
        counts = {name: self.counts[name] for name in ("received", *BINS)}
        return {**counts, "pending": self.join.n_pending}

    def check(self) -> None:
        """Raise X103 if the counts of judged, pending, ... events do not add up to the number received."""
        bins = self.bins()
        total = sum(bins[name] for name in BINS)
        if total != bins["received"]:
            parts = ", ".join(f"{name} {bins[name]:,}" for name in BINS)
            raise InternalError(
                "X103", f"{bins['received']:,} events were received, but {total:,} are counted: {parts}",
                where=self.state.path, hint="please report this; the state of the last commit is unharmed",
            )  # fmt: skip

    # the state -------------------------------------------------------------------------------------------------------

    def commit(self) -> None:
        """Write everything since the last commit to the state file, in one transaction, after a check of the counts."""
        self.check()
        state, self.versions = self.state, self.versions + 1
        with state.transaction():
            self._write_logs()
            for name, store in self._stores().items():
                state.write_sums(name, *store.changes())
            state.set_aside(self._aside)
            self.counts["letters dropped"] += state.write_letters(self._letters)
            watermark = self.join.watermark
            totals = [
                {name: dict(held) if isinstance(held := getattr(one, name), Counter) else held for name in names}
                for one, names in self._kept()
            ]
            state.write(TOTALS, archive_of((watermark, totals)))
        self._begin()

    def _write_logs(self) -> None:
        """Write new events, exposures of users and learned interactions, and delete what is no longer needed.

        If the stored exposures of users take much space, replace them by the table of all users. If the stored
        interactions take much space, or much time to learn again, replace them by the models.
        """
        state, watermark, learned = self.state, self.join.watermark, self._logs["learned"]
        for name, tables in self._logs.items():
            if tables:
                table = pl.concat(tables)
                state.append(name, table.filter(pl.col("time") >= watermark) if name == "waiting" else table)
        state.trim("waiting", watermark)
        state.trim("kept", watermark - self.settings.remember)
        size = state.log_bytes("units")
        if size > SMALL_LOG and size > DELTAS_PER_SNAPSHOT * state.log_bytes("users"):
            state.trim("units", END)
            state.trim("users", END)
            state.append("users", self.tally.users.snapshot(watermark - self.settings.window))
        self.to_relearn += sum(table.height for table in learned)
        if not learned or self.attached.unstored:  # then models learn everything again after a restart
            return
        if state.log_bytes("learned") > self.next_snapshot or self.attached.snapshot_due:
            snapshot = self.attached.snapshot()
            if snapshot is not None:
                state.write(SNAPSHOT, snapshot)
                state.trim("learned", END)
                self.next_snapshot, self.to_relearn = max(SMALL_LOG, DELTAS_PER_SNAPSHOT * len(snapshot)), 0

    def _stores(self) -> dict[str, Buckets]:
        tally = self.tally
        return {"exposures": tally.sums, "single": tally.single, "units": tally.unit_sums, "assigned": tally.assigned,
                "models": tally.models.means, "pairs of models": tally.models.pairs}  # fmt: skip

    def _kept(self) -> list[tuple[Any, tuple[str, ...]]]:
        """Return (object, names of its attributes) for all that a commit stores besides sums and events."""
        tally = self.tally
        return [
            (self, ("counts", "reasons", "positions", "finished", "versions")),
            (self.clock, ("watermark", "partitions")),
            (tally.evidence, ("arms", "single", "pair", "means", "assigned", "mismatch", "decisions")),
            (tally, ("arms", "evidence_at", "detected_at", "versions", "last", "counts", "alarms", "positions", "shown",
                     "detectors")),
        ]  # fmt: skip

    def _restore(self) -> None:
        """Restore the state of the last commit; open exposures are rebuilt from the stored events."""
        state, tally = self.state, self.tally
        self._restore_models(state.read(SNAPSHOT))
        if (stored := state.read(TOTALS)) is None:
            return
        watermark, totals = load_archive(stored)
        for name, store in self._stores().items():
            for period, data in state.sums(name):
                store.add([period], GroupSums.from_bytes(data, store.columns))
            store.changes()
        for table in state.log("users"):
            tally.users.restore(table)
        for table in state.log("units"):
            tally.add_units(table, table.select(pl.selectors.starts_with("m")).to_numpy())
        tally.users.close(watermark - self.settings.window)
        for (one, _), attributes in zip(self._kept(), totals, strict=True):  # at the end: counts have these exposures
            vars(one).update(attributes)
        self.counts, tally.counts = Counter(self.counts), Counter(tally.counts)
        self._restore_exposures(watermark)

    def _restore_models(self, snapshot: bytes | None) -> None:
        """Continue with the attached models in a snapshot, and let them learn the interactions after it again."""
        self.attached.start(self.length, snapshot)
        self.next_snapshot = max(SMALL_LOG, DELTAS_PER_SNAPSHOT * len(snapshot or b""))
        for learned in self.state.log("learned"):
            self.attached.lists(learned)
            self.to_relearn += learned.height

    def _restore_exposures(self, watermark: int) -> None:
        """Process the stored events again, so that exposures are open, and events wait, as before a restart.

        Exposures that were closed before ``watermark`` are dropped.
        """
        join = self.join
        for kept in self.state.log("kept"):
            join.repeated(kept)  # so that later copies are recognised
            join.replay(kept)
        join.watermark = watermark
        join.close()
        for waiting in self.state.log("waiting"):
            join.accept(waiting.filter(pl.col("time") >= watermark))

    def close(self) -> None:
        """Close the state file."""
        self.state.close()
