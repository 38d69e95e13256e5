"""Times and durations in microseconds, and the clock of a live evaluation, which follows the times of events."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from recassay.errors import UsageError

SECOND = 1_000_000
MINUTE, HOUR, DAY = 60 * SECOND, 3600 * SECOND, 86_400 * SECOND
LONGEST = 10_000 * DAY  # more would overflow 64 bits where times are added
Duration = str | float  # such as "30m"; a number is in seconds
Mask = NDArray[np.bool_]
BEGINNING, END = -(1 << 62), 1 << 62  # no event has come; the source has ended
UNITS = {"ms": SECOND // 1000, "s": SECOND, "m": MINUTE, "h": HOUR, "d": DAY}


def microseconds(text: Duration, name: str = "duration") -> int:
    """Return a duration such as "30m" in microseconds; a number without a unit is in seconds.

    Raise U107 if it cannot be read; ``name`` is what the error calls it.

    >>> microseconds("30m"), microseconds("1.5s"), microseconds(2)
    (1800000000, 1500000, 2000000)
    """
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)?\s*", str(text))
    if not found:
        raise UsageError(
            "U107", f"{name} must be a duration, got {text!r}", hint="write a number and ms, s, m, h or d, such as 30m"
        )
    span = float(found[1]) * UNITS[found[2] or "s"]
    if span > LONGEST:
        raise UsageError("U107", f"{name} must be at most {duration_text(LONGEST)}, got {text!r}", hint="write less")
    return round(span)


def duration_text(span: int) -> str:
    """Return a duration in microseconds as text, in the largest unit that gives a whole number.

    >>> duration_text(1_800_000_000), duration_text(90 * 1_000_000), duration_text(250_000)
    ('30m', '90s', '250ms')
    """
    for unit in ("d", "h", "m", "s"):
        if span and span % UNITS[unit] == 0:
            return f"{span // UNITS[unit]}{unit}"
    return f"{span / UNITS['ms']:g}ms"


def wall_clock() -> int:
    """Return the present time in microseconds since 1970."""
    return time.time_ns() // 1000


@dataclass
class Partition:
    """One ordered part of a source of events, such as a file: its latest event time, and when its last event came.

    ``newest`` is the latest event time, ``heard`` the wall time when its last event came, both in microseconds.
    """

    newest: int = BEGINNING
    heard: int = 0
    ended: bool = False


@dataclass
class Clock:
    """The watermark of a live evaluation: events before it are taken to be complete; later arrivals count as late.

    Times are in microseconds. The watermark is the newest event time of the active partition that is furthest behind,
    minus ``lateness``. A partition without an event for ``idle`` of wall time, or at its end, is not active. If all are
    idle, the watermark moves on with the wall clock. It never falls. An event dated more than ``ahead`` later than the
    wall clock lies in the future, and does not count.
    """

    lateness: int
    idle: int
    ahead: int
    watermark: int = BEGINNING
    partitions: dict[str, Partition] = field(default_factory=dict)

    def expect(self, name: str, now: int) -> None:
        """Register a partition at wall time ``now``: until it has an event or is idle, it holds the watermark back."""
        if name not in self.partitions:
            self.partitions[name] = Partition(heard=now)

    def observe(
        self, name: str, times: NDArray[np.int64], now: int, known: tuple[Mask, Mask, Mask] | None = None
    ) -> tuple[Mask, Mask]:
        """Record the times of new events of a partition; return masks of the late ones and of those in the future.

        An event is late if it is older than the watermark, or more than ``lateness`` older than an earlier event of its
        own partition. The second rule does not depend on batches or on the pace of other partitions. ``now`` is the
        wall time. ``known`` are masks from a journal: late events and events in the future, which replace the second
        rule and the wall clock, and events that do not move this clock.

        >>> clock = Clock(lateness=10, idle=60, ahead=1000)
        >>> late, future = clock.observe("file", np.array([100, 95, 120, 105, 9999]), now=200)
        >>> late.tolist(), future.tolist(), clock.partitions["file"].newest
        ([False, False, False, True, False], [False, False, False, False, True], 120)
        """
        self.expect(name, now)
        partition = self.partitions[name]
        if not times.size:
            return np.zeros(0, np.bool_), np.zeros(0, np.bool_)
        future = unmoving = times > now + self.ahead
        if known is not None:
            behind, future, unmoving = known
        newest = np.maximum.accumulate(np.maximum(np.where(unmoving, BEGINNING, times), partition.newest))
        if known is None:
            behind = times < newest - self.lateness
        late = ~future & (behind | (times < self.watermark))
        partition.newest, partition.heard, partition.ended = int(newest[-1]), now, False
        return late, future

    def advance(self, now: int) -> None:
        """Move the watermark forward as far as wall time ``now`` and the events allow."""
        known = [one for one in self.partitions.values() if one.newest > BEGINNING]
        waiting = [one for one in self.partitions.values() if not one.ended]
        active = [one for one in waiting if now - one.heard < self.idle]
        if not known:
            return
        reached = min(one.newest for one in active or known)  # if all have ended, their owner closes them
        if waiting and not active:
            reached = max(one.newest for one in known) + now - max(one.heard for one in waiting)
        self.watermark = max(self.watermark, reached - self.lateness)

    @property
    def newest(self) -> int:
        """Return the latest event time of all partitions, in microseconds."""
        return max((one.newest for one in self.partitions.values()), default=BEGINNING)
