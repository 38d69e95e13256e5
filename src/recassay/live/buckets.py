"""Exact sums by period of event time, arm (variant of the recommender) and segment of users.

Old periods are merged to longer ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recassay.live.events.durations import DAY, HOUR
from recassay.stats.exact_sums import GroupSums

KEEP_FINE, KEEP_HOURS = 2 * DAY, 60 * DAY  # ages at which periods are merged to hours, and hours to days


class Period(NamedTuple):
    """The key of a row of sums: length and beginning of the period in microseconds, the arm, and the segment.

    The segment is "" for sums over all segments.
    """

    length: int
    begin: int
    arm: str
    segment: str = ""


class Buckets:
    """A table of exact sums of values: a row per period, arm and segment, and ``columns`` columns, such as metrics.

    ``changed`` and ``dropped`` are the periods to write to, or delete from, the state file at the next commit.
    """

    def __init__(self, columns: int) -> None:
        self.columns = columns
        self.rows: dict[Period, int] = {}
        self.sums = GroupSums.zeros(64, columns)
        self.used = 0  # rows of ``sums`` that were ever in use; those of merged periods are in ``free``
        self.free: list[int] = []
        self.changed: set[Period] = set()
        self.dropped: set[Period] = set()

    def add(self, periods: Iterable[Period], sums: GroupSums) -> None:
        """Add sums to periods, which must be distinct: row i of ``sums`` to the row of the i-th period."""
        rows = np.array([self._row(period) for period in periods], np.int64)
        if rows.size:
            self.sums.add(rows, sums)

    def _row(self, period: Period) -> int:
        self.changed.add(period)
        self.dropped.discard(period)
        row = self.rows.get(period)
        if row is None:
            row = self.free.pop() if self.free else self.used
            self.used = max(self.used, row + 1)
            if row >= self.sums.counts.shape[0]:
                grown = GroupSums.zeros(2 * row, self.columns)
                grown.add(np.arange(row), self.sums)
                self.sums = grown
            self.rows[period] = row
        return row

    def of(self, period: Period) -> GroupSums | None:
        """Return the sums of one period, arm and segment; None if nothing was added to it."""
        row = self.rows.get(period)
        return None if row is None else self.sums.take(slice(row, row + 1))

    def select(self, *, arm: str | None = None, segment: str = "", since: int | None = None) -> GroupSums:
        """Return the sums over all periods of an arm and segment as one row; ``arm`` None means all arms.

        Periods that begin before ``since`` (microseconds) are left out; with None all are included. The segment "" is
        all users.
        """
        rows = [
            row
            for period, row in self.rows.items()
            if period.segment == segment
            and (arm is None or period.arm == arm)
            and (since is None or period.begin >= since)
        ]
        return self.sums.take(np.array(rows, np.int64)).merged()

    def coarsen(self, now: int) -> None:
        """Merge old periods into longer ones; ``now`` is the time in microseconds.

        Periods that are 2 days old are merged into hours, and those that are 60 days old into days.
        """
        for length, age in ((HOUR, KEEP_FINE), (DAY, KEEP_HOURS)):
            old = [one for one in self.rows if one.length < length and one.begin + length <= now - age]
            for period in old:
                row = self.rows.pop(period)
                target = period._replace(length=length, begin=period.begin // length * length)
                self.add([target], self.sums.take(slice(row, row + 1)))
                self.sums.counts[row], self.sums.limbs[row] = 0, 0
                self.free.append(row)
                self.changed.discard(period)
                self.dropped.add(period)

    def periods(self, *, arm: str, segment: str = "") -> Iterator[tuple[Period, GroupSums]]:
        """Yield (period, its sums) for an arm and segment, in order of time; the segment "" is all users."""
        own = sorted(one for one in self.rows if one.arm == arm and one.segment == segment)
        for period in sorted(own, key=lambda one: one.begin):
            row = self.rows[period]
            yield period, self.sums.take(slice(row, row + 1))

    @property
    def segments(self) -> list[str]:
        """Return the names of all segments in ascending order; "" stands for all users."""
        return sorted({period.segment for period in self.rows})


def grouped(
    begins: NDArray[np.int64], arms: NDArray[np.int64], names: list[str], length: int,
    segments: NDArray[np.int64] | None = None, segment_names: list[str] | None = None,
) -> tuple[list[Period], NDArray[np.int64]]:  # fmt: skip
    """Return the distinct periods of some exposures (shown lists), and for each exposure the index of its period.

    ``begins`` are the times of the exposures, in microseconds like ``length``, the length of a period. ``arms`` and
    ``segments`` are codes, which index ``names`` and ``segment_names``.

    >>> periods, groups = grouped(np.array([0, 7, 1]), np.array([0, 0, 1]), ["new", "old"], 5)
    >>> [(one.begin, one.arm) for one in periods], groups.tolist()
    ([(0, 'new'), (0, 'old'), (5, 'new')], [0, 2, 1])
    """
    buckets = begins // length
    first = int(buckets.min()) if buckets.size else 0
    n_segments = len(segment_names or [""])
    inside = arms * n_segments + (0 if segments is None else segments)
    code = (buckets - first) * (len(names) * n_segments) + inside
    distinct, groups = np.unique(code, return_inverse=True)
    periods = []
    for one in distinct.tolist():
        bucket, rest = divmod(one, len(names) * n_segments)
        arm, segment = divmod(rest, n_segments)
        periods.append(Period(length, (first + bucket) * length, names[arm], (segment_names or [""])[segment]))
    return periods, groups
