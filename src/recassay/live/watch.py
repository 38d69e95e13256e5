"""The function ``watch``, and the loop that it and the command run: read new events, move the clock, commit, show."""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from recassay.data.features import Features
from recassay.data.read import TableSource, read_items, read_training
from recassay.live.attached import AttachedModels, read_models, text_log
from recassay.live.clock import END, SECOND, Duration, microseconds, wall_clock
from recassay.live.opening import open_sources
from recassay.live.results import Watched
from recassay.live.settings import DEFAULT_METRICS, Rule, RuleSource, Unit, WatchSettings, read_rules
from recassay.live.sources import Arrival, Source
from recassay.live.watcher import Watcher
from recassay.metrics.context import Context
from recassay.metrics.registry import Metrics, parse_metrics
from recassay.models.base.capabilities import ModelSource
from recassay.naming.arguments import checks_types

DURATIONS = ("window", "lateness", "idle", "ahead", "remember", "every", "user_window", "forget")
PER_COMMIT = 100_000  # events after which a commit is made, whatever the time


@checks_types
def watch(
    events: TableSource,
    metrics: Metrics = DEFAULT_METRICS,
    *,
    output: str | Path | None = None,
    items: TableSource = None,
    train: TableSource = None,
    until: RuleSource = None,
    journal: str | Path | None = None,
    models: Mapping[str, ModelSource] | str | None = None,
    finish: bool = True,
    window: Duration | None = None,
    lateness: Duration | None = None,
    idle: Duration | None = None,
    ahead: Duration | None = None,
    remember: Duration | None = None,
    every: Duration | None = None,
    unit: Unit | None = None,
    user_window: Duration | None = None,
    forget: Duration | None = None,
    segments: Iterable[str] | None = None,
    shares: Mapping[str, float] | None = None,
    alpha: float | None = None,
    limits: Mapping[str, tuple[float, float]] | None = None,
    gains: Mapping[str, float] | None = None,
    max_items: int | None = None,
    control: str | None = None,
) -> Watched:
    """Evaluate the events of a running recommender: means of arms, bounds that are valid at any time, and findings.

    ``events`` are a table, a list of dicts, a path, or a list of these, each of which is a partition: rows in the
    order in which they came. The schema is in the reference. Everything is read; with ``finish`` every feedback window
    is then closed. The result equals that of a live watch over the same events to the last bit.

    ``output`` is a folder for the state: events that it has already are not read again, and the results are written
    to it. ``items`` and ``train`` are for metrics that need features or a training log. ``until`` are rules, such as
    ``"ndcg@10: new > old"``. ``journal`` is the folder of a live watch: deliveries that it excluded because of the
    clock are excluded here too. ``events`` must then have every delivery of an event, and are read twice. ``models``
    are recommenders by name, or a text such as ``"new=ISGD(factors=20)"``; each
    recommends before every interaction and then learns it. They first learn ``train``. All other keywords are
    those of :class:`~recassay.live.settings.WatchSettings`, with durations as text (``window="30m"``) or in seconds.

    >>> shown = [{"request_id": str(n), "user_id": f"u{n}", "items": ["a", "b"], "time": 60 * n} for n in range(4)]
    >>> clicks = [{"request_id": str(n), "item_id": "a", "time": 60 * n + 5} for n in (0, 2)]
    >>> found = watch(shown + clicks, "hit@1", lateness="1h", idle="1h")
    >>> found.summary().select("arm", "metric", "mean", "exposures").rows()
    [('all', 'hit@1', 0.5, 4)]
    >>> found.watcher.bins()
    {'received': 6, 'judged': 6, 'pending': 0, 'duplicate': 0, 'late': 0, 'malformed': 0}
    """
    settings = build_settings(
        metrics, read_rules(until), window=window, lateness=lateness, idle=idle, ahead=ahead, remember=remember,
        every=every, unit=unit, user_window=user_window, forget=forget, segments=segments, shares=shares, alpha=alpha,
        limits=limits, gains=gains, max_items=max_items, control=control,
    )  # fmt: skip
    folder = None if output is None else Path(output)
    context = build_context(items, train)
    attached = AttachedModels(read_models([models]) if isinstance(models, str) else models or {}, context.train)
    watcher = Watcher(settings, folder, context=context, journal=journal, models=attached)
    try:
        if journal is not None:
            watcher.count_deliveries(open_sources(events, follow=False))
        Loop(watcher, open_sources(events, follow=False), finish=finish).run()
    finally:
        if folder is not None:
            watcher.close()
    found = Watched(watcher)
    if folder is not None and found.arms:
        found.write(folder)
    return found


def build_context(items: Any, train: Any) -> Context:
    """Return the item features and training log that metrics need; ids become text, because events have text ids."""
    features = None if items is None else read_items(items)
    if features is not None and features.vocabulary.kind != "string":
        codes = [
            features.names.gather(features.codes[begin:end]).to_list()
            for begin, end in itertools.pairwise(features.offsets)
        ]
        columns = {"item_id": features.items.cast(pl.String), "codes": codes}
        pairs = pl.DataFrame(columns, schema={"item_id": pl.String, "codes": pl.List(pl.String)})
        features = Features.from_frame(pairs, columns=["codes"], origin=features.origin)
    return Context(None if train is None else text_log(read_training(train)), features)


def build_settings(metrics: Metrics, rules: tuple[Rule, ...] = (), **settings: Any) -> WatchSettings:
    """Return settings with these metrics and rules; durations are text or seconds. Metrics of rules are added."""
    given: dict[str, Any] = {
        name: microseconds(value, name) if name in DURATIONS else value
        for name, value in settings.items()
        if value is not None
    }
    if "segments" in given:
        given["segments"] = tuple(given["segments"])
    headings = tuple(parse_metrics(metrics if isinstance(metrics, str) else list(metrics)))  # type: ignore[arg-type]
    headings = tuple(dict.fromkeys([*headings, *(rule.metric for rule in rules)]))
    return WatchSettings(metrics=headings, rules=rules, **given)


def say(text: str) -> None:
    """Print a line to standard error."""
    print(text, file=sys.stderr)


@dataclass
class Loop:
    """The main loop: it reads events from sources and passes them to a watcher, which evaluates them.

    ``on_commit`` is called after each commit, and returns True to end the loop. With ``once`` the loop ends when no new
    events have come; with ``finish`` every feedback window is closed at its end. ``interval`` is the time in seconds
    between commits, and ``clock`` returns the wall time. ``say`` gets a line of text when a source cannot be read, or
    can be read again.
    """

    watcher: Watcher
    sources: list[Source]
    on_commit: Callable[[Watcher], bool | None] = lambda _: None
    once: bool = False
    finish: bool = False
    interval: float = 0.5
    clock: Callable[[], int] = wall_clock
    stopped: bool = False
    say: Callable[[str], None] = say
    names: dict[str, Source] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)  # by source, as far as they were said

    def run(self) -> None:
        """Evaluate events until the sources end, ``on_commit`` returns True, or :meth:`stop` is called."""
        watcher = self.watcher
        watcher.sources = self.sources
        if not any(source.follow for source in self.sources):
            watcher.clock.idle = END  # finished files are not silent while others are read
        try:
            for source in self.sources:
                source.answered = self.clock()
                for name in source.start(watcher.positions):
                    watcher.clock.expect(name, source.answered)
                    self.names[name] = source
            self._loop()
        finally:
            for source in self.sources:
                source.close()

    def stop(self) -> None:
        """End the loop after the next commit."""
        self.stopped = True

    def _loop(self) -> None:
        watcher, taken, committed = self.watcher, 0, time.monotonic()
        while True:
            arrivals, ended = self._poll(max(0.0, self.interval - (time.monotonic() - committed)))
            for arrival in arrivals:
                batch = watcher.read(arrival)
                watcher.take(arrival.partition, batch, self.clock(), position=arrival.position)
                taken += batch.received
                self.names[arrival.partition].heard = self.clock()
            for name, source in self.names.items():
                watcher.clock.partitions[name].ended |= source.at_end
            over = ended or (self.once and not arrivals) or self.stopped
            if not over and taken < PER_COMMIT and time.monotonic() - committed < self.interval:
                continue
            watcher.step(self.clock())
            if over and self.finish and not self.stopped:
                watcher.finish()
            watcher.commit()
            taken, committed = 0, time.monotonic()
            if self.on_commit(watcher) or over:
                return

    def _poll(self, timeout: float) -> tuple[list[Arrival], bool]:
        """Return new events, waiting for them up to ``timeout`` seconds, and whether all sources have ended.

        If all sources are finished files, the one whose events are oldest is read first.
        """
        live = {name: source for name, source in self.names.items() if not source.at_end}
        if live and not any(source.follow for source in live.values()):
            oldest = min(live, key=lambda name: self.watcher.clock.partitions[name].newest)
            live = {oldest: live[oldest]}
        sources = list(dict.fromkeys(live.values()))
        arrivals = [arrival for source in sources for arrival in source.poll(0.0)]
        if not arrivals and timeout > 0:
            arrivals = [arrival for source in sources for arrival in source.poll(timeout / len(sources))]
        self._report(sources)
        return arrivals, not arrivals and all(source.at_end for source in self.sources)

    def _report(self, polled: list[Source]) -> None:
        """Record which sources were read, and print which cannot be read now, and which can be read again.

        The clock waits for partitions whose server does not answer, because their events may still come.
        """
        now = self.clock()
        for name, source in self.names.items():
            if source.unreachable:
                self.watcher.clock.partitions[name].heard = now
        for source in polled:
            before, self.problems[source.name] = self.problems.get(source.name, ""), source.problem
            if source.problem and source.problem != before:
                self.say(f"Waiting for {source.name}: {source.problem}")
            elif before and not source.problem:
                self.say(f"{source.name} can be read again, after {(now - source.answered) / SECOND:,.0f} s")
            if not source.problem:
                source.answered = now
