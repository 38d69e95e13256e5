"""The main loop of a live evaluation: read new events, move the clock, commit, acknowledge, show results."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from recassay.live.sources.base import Arrival, Source
from recassay.live.watcher import Watcher

PER_COMMIT = 100_000  # events after which a commit is made, whatever the time


def wall_clock() -> int:
    """Return the present time in microseconds since 1970."""
    return time.time_ns() // 1000


@dataclass
class Loop:
    """The main loop: it reads events from sources and passes them to a watcher, which evaluates them.

    ``on_commit`` is called after each commit, and returns True to end the loop. With ``once`` the loop ends when no new
    events have come; with ``finish`` every feedback window is closed at its end. ``interval`` is the time in seconds
    between commits, and ``clock`` returns the wall time.
    """

    watcher: Watcher
    sources: list[Source]
    on_commit: Callable[[Watcher], bool | None] = lambda _: None
    once: bool = False
    finish: bool = False
    interval: float = 0.5
    clock: Callable[[], int] = wall_clock
    stopped: bool = False
    names: dict[str, Source] = field(default_factory=dict)

    def run(self) -> None:
        """Evaluate events until the sources end, ``on_commit`` returns True, or :meth:`stop` is called."""
        watcher = self.watcher
        watcher.live = any(getattr(source, "follow", True) for source in self.sources)
        try:
            for source in self.sources:
                for name in source.start(watcher.positions):
                    watcher.clock.expect(name, self.clock())
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
                batch = arrival.read(watcher.settings.segments, watcher.settings.max_items, watcher.attached.names)
                watcher.take(arrival.partition, batch, self.clock(), position=arrival.position)
                taken += batch.received
            for name in {name for source in self.sources for name in source.ended()}:
                watcher.clock.end(name)
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
        ended = {name for source in self.sources for name in source.ended()}
        live = [source for source in self.sources if not set(source.ended())]
        if not live:
            return [], True
        finite = [source for source in live if getattr(source, "follow", True) is False]
        if len(finite) == len(live) and len(live) > 1:
            newest = {name: one.newest for name, one in self.watcher.clock.partitions.items() if name not in ended}
            known = [name for name in newest if name in self.names]
            if known:
                live = [self.names[min(known, key=lambda name: newest[name])]]
        found = [arrival for source in live for arrival in source.poll(0.0)]
        if not found and timeout > 0:
            share = timeout / len(live)
            found = [arrival for source in live for arrival in source.poll(share)]
        return found, not found and all(set(source.ended()) for source in self.sources)
