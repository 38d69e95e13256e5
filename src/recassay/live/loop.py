"""The main loop of a live evaluation: read new events, move the clock, commit, acknowledge, show results."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from recassay.live.clock import END, SECOND, wall_clock
from recassay.live.sources import Arrival, Source
from recassay.live.watcher import Watcher

PER_COMMIT = 100_000  # events after which a commit is made, whatever the time


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
            for source in self.sources:
                source.acknowledge()
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
        """Note that sources were read, and say which cannot be read, and which can again.

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
