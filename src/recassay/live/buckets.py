"""Exact sums by period of event time, arm (variant of the recommender) and segment of users.

Old periods are merged to longer ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.live.clock import DAY, HOUR
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
        self.rows: dict[Period, GroupSums] = {}
        self.changed: set[Period] = set()
        self.dropped: set[Period] = set()

    def add(self, periods: Iterable[Period], sums: GroupSums) -> None:
        """Add sums to periods, which must be distinct: row i of ``sums`` to the row of the i-th period."""
        for at, period in enumerate(periods):
            row, known = sums.take(slice(at, at + 1)), self.rows.get(period)
            self.rows[period] = row if known is None else GroupSums(known.counts + row.counts, known.limbs + row.limbs)
            self.changed.add(period)
            self.dropped.discard(period)

    def _sum(self, several: list[GroupSums]) -> GroupSums:
        """Return one row with the sum of several rows of sums."""
        rows = [GroupSums.zeros(1, self.columns), *several]
        return GroupSums(
            np.concatenate([one.counts for one in rows]), np.concatenate([one.limbs for one in rows])
        ).merged()

    def count(
        self, times: NDArray[np.int64], codes: NDArray[np.int64], names: Sequence[tuple[str, ...]], length: int,
        values: NDArray[np.float64],
    ) -> None:  # fmt: skip
        """Add the row of ``values`` of each exposure (a shown list) to the period in which its time lies.

        Times are in microseconds, like ``length``, the length of a period. ``codes`` has, for each exposure, the index
        in ``names`` of its arm, or of its arm and segment.

        >>> store = Buckets(1)
        >>> store.count(np.array([0, 7, 1]), np.array([0, 0, 1]), [("new",), ("old",)], 5, np.ones((3, 1)))
        >>> [(one.begin, one.arm) for one in store.rows]
        [(0, 'new'), (0, 'old'), (5, 'new')]
        """
        buckets = times // length
        first = int(buckets[0]) if buckets.size else 0  # keeps the numbers small
        distinct, groups = np.unique((buckets - first) * len(names) + codes, return_inverse=True)
        pairs = [divmod(one, len(names)) for one in distinct.tolist()]
        periods = [Period(length, (first + bucket) * length, *names[code]) for bucket, code in pairs]
        self.add(periods, GroupSums.of(groups, values, len(periods)))

    def select(self, *, arm: str | None = None, segment: str = "", since: int | None = None) -> GroupSums:
        """Return the sums over all periods of an arm and segment as one row; ``arm`` None means all arms.

        Periods that begin before ``since`` (microseconds) are left out; with None all are included. The segment "" is
        all users.
        """
        return self._sum(
            [
                sums
                for period, sums in self.rows.items()
                if period.segment == segment
                and (arm is None or period.arm == arm)
                and (since is None or period.begin >= since)
            ]
        )

    def complete(self, length: int, since: int, upto: int) -> list[tuple[Period, GroupSums]]:
        """Return the periods of ``length`` from ``since`` to ``upto`` with their sums, in order of time and arm.

        All are in microseconds. Sums of segments are left out.
        """
        periods = [one for one in self.rows if one.length == length and not one.segment]
        periods = [one for one in periods if since <= one.begin and one.begin + length <= upto]
        return [(one, self.rows[one]) for one in sorted(periods, key=lambda one: (one.begin, one.arm))]

    def coarsen(self, now: int) -> None:
        """Merge old periods into longer ones; ``now`` is the time in microseconds.

        Periods that are 2 days old are merged into hours, and those that are 60 days old into days.
        """
        for length, age in ((HOUR, KEEP_FINE), (DAY, KEEP_HOURS)):
            old = [one for one in self.rows if one.length < length and one.begin + length <= now - age]
            for period in old:
                target = period._replace(length=length, begin=period.begin // length * length)
                self.add([target], self.rows.pop(period))
                self.changed.discard(period)
                self.dropped.add(period)

    def periods(self, *, arm: str, segment: str = "", length: int = 0) -> Iterator[tuple[Period, GroupSums]]:
        """Yield (period, its sums) for an arm and segment, in order of time; the segment "" is all users.

        Periods shorter than ``length`` microseconds are merged to that length.
        """
        merged: dict[Period, list[GroupSums]] = {}
        for period in sorted(one for one in self.rows if one.arm == arm and one.segment == segment):
            span = max(length, period.length)
            whole = period._replace(length=span, begin=period.begin // span * span)
            merged.setdefault(whole, []).append(self.rows[period])
        for period, rows in sorted(merged.items(), key=lambda one: one[0].begin):
            yield period, self._sum(rows)

    def changes(self) -> tuple[list[Period], list[tuple[Period, bytes]]]:
        """Return the periods to delete from the state file, and (period, sums) to write; both are then cleared."""
        dropped, changed = sorted(self.dropped), sorted(self.changed)
        self.dropped, self.changed = set(), set()
        return dropped, [(period, self.rows[period].to_bytes()) for period in changed]

    def names(self, field: Literal["arm", "segment"] = "arm") -> list[str]:
        """Return all arms, or all segments, in ascending order; the segment "" stands for all users."""
        return sorted({getattr(period, field) for period in self.rows})


def codes_of(texts: pl.Series, names: list[str]) -> NDArray[np.int64]:
    """Return, for each text, its index in ``names``."""
    places = {name: place for place, name in enumerate(names)}
    return texts.replace_strict(places, return_dtype=pl.Int64).to_numpy()
