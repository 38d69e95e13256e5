"""The magnitude of a log's times: it reveals mixed units, and values that are not times."""

from __future__ import annotations

from dataclasses import dataclass
from operator import add
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.errors import InputError

EARLIEST = 10**8  # March 1973 in seconds since 1970: smaller numbers are not seconds since 1970 in any log
FUTURE = 4_102_444_800  # 2100, in seconds
UNITS = {"seconds": 1, "milliseconds": 10**3, "microseconds": 10**6, "nanoseconds": 10**9}
# Band 0 is below EARLIEST; each unit then has two bands: times up to 2100 and times after it.
EDGES = tuple(edge * unit for unit in UNITS.values() for edge in (EARLIEST, FUTURE))
YEAR = 366 * 86_400
APART = 100  # in one unit, times of neighbouring bands differ by at most this factor


@dataclass(frozen=True)
class TimeScale:
    """The count, minimum and maximum of a log's times in each band of magnitudes.

    Each unit of times since 1970 (seconds, milliseconds, ...) has two bands: times up to the year 2100 and later ones.
    Band 0 has numbers too small to be times since 1970. ``dates`` is True for a column of dates, which are in seconds.
    """

    counts: tuple[int, ...] = ()
    lows: tuple[float, ...] = ()
    highs: tuple[float, ...] = ()
    dates: bool = False

    @classmethod
    def of(cls, timestamps: pl.Series | None) -> TimeScale:
        """Return the counts, minima and maxima of a column of times; missing, NaN and infinite times are left out.

        >>> TimeScale.of(pl.Series([5, 978_300_760, 978_300_800])).counts
        (1, 2, 0, 0, 0, 0, 0, 0, 0)
        """
        if timestamps is None or not (timestamps.dtype.is_numeric() or timestamps.dtype.is_temporal()):
            return cls()
        values, dates = known_numbers(timestamps), timestamps.dtype.is_temporal()
        edges = np.array(EDGES[:2] if dates else EDGES, np.float64)
        n = edges.size + 1
        counts, lows, highs = np.zeros(n, np.int64), np.full(n, np.inf), np.full(n, -np.inf)
        if values.size:
            low, high = (int(np.searchsorted(edges, end, side="right")) for end in (values.min(), values.max()))
            if low == high:  # the usual case
                counts[low], lows[low], highs[low] = values.size, values.min(), values.max()
            else:
                band = np.searchsorted(edges, values, side="right")
                counts = np.bincount(band, minlength=n)
                np.minimum.at(lows, band, values)
                np.maximum.at(highs, band, values)
        return cls(tuple(counts.tolist()), tuple(lows.tolist()), tuple(highs.tolist()), dates)

    def __add__(self, other: TimeScale) -> TimeScale:
        """Return the counts, minima and maxima of two columns of the same type together."""
        if not (self.counts and other.counts):
            return self if self.counts else other
        counts, lows, highs = (
            tuple(map(combine, ours, theirs))
            for combine, ours, theirs in ((add, self.counts, other.counts), (min, self.lows, other.lows),
                                          (max, self.highs, other.highs))
        )  # fmt: skip
        return TimeScale(counts, lows, highs, self.dates)

    @property
    def unit(self) -> str | None:
        """Return the unit of most times; None if all numbers are too small to be times since 1970."""
        if not any(self.counts) or not any(self.counts[1:]):
            return None
        return list(UNITS)[(self._main - 1) // 2]

    @property
    def _main(self) -> int:
        """Return the number of the band with most times, other than band 0."""
        return 1 + int(np.argmax(self.counts[1:]))


def known_numbers(timestamps: pl.Series) -> NDArray[Any]:
    """Return the times of a column as numbers, without missing and infinite ones; dates become seconds since 1970."""
    known = timestamps.drop_nulls()
    if known.dtype.is_temporal():
        return known.cast(pl.Datetime("us")).to_physical().to_numpy() / 1e6
    values: NDArray[Any] = known.to_numpy()
    return values[np.isfinite(values)] if values.dtype.kind == "f" else values


def check_scale(scale: TimeScale, where: str) -> None:
    """Raise if times cannot all be right: two units (I387), or some far away from all others (I387)."""
    found = [band for band, count in enumerate(scale.counts) if count]
    if len(found) < 2 or found == [0]:
        return
    main, total = scale._main, sum(scale.counts)
    for band in found:
        if band not in (0, main) and (problem := _unit_mismatch(scale, main, band)):
            hint = "convert all times to one unit before reading the log"
            raise InputError("I387", f"{scale.counts[band]:,} of {total:,} times are {problem}", where=where, hint=hint)
    low, high = scale.lows[main], scale.highs[main]
    if 0 in found:
        if scale.lows[0] < -1 or scale.highs[0] > 1:
            return  # a clock that starts at 0, in an unknown unit
        if low - scale.highs[0] > high - low:
            what = f"{scale.counts[0]:,} of {total:,} times are {scale.highs[0]:g}, and all others {low:.12g} or more"
            hint = "0 probably marks a missing time: drop these rows, or give them a time"
            raise InputError("I387", what, where=where, hint=hint)
    for band in found:
        if band > main and scale.lows[band] - high > high - low:
            what = f"{scale.counts[band]:,} of {total:,} times are {scale.lows[band]:.12g} or more, "
            what += f"and all others at most {high:.12g}"
            hint = "a time after 2100 probably marks a missing time: drop these rows, or give them a time"
            raise InputError("I387", what, where=where, hint=hint)


def _unit_mismatch(scale: TimeScale, main: int, band: int) -> str:
    """Return a phrase that says that the times in a band are in another unit than those in the ``main`` band.

    It says how many times larger or smaller they are, with examples. It is "" unless both bands cover about the same
    years once each is read in its own unit.
    """
    if scale.dates:
        return ""
    small, large = sorted((main, band))
    if scale.lows[large] < APART * scale.highs[small]:
        return ""
    ours, theirs = ([*UNITS.values()][(number - 1) // 2] for number in (main, band))
    early = scale.lows[band] / theirs <= scale.highs[main] / ours + 10 * YEAR
    late = scale.highs[band] / theirs >= scale.lows[main] / ours - 10 * YEAR
    if ours == theirs or not (early and late):
        return ""
    size = f"{theirs // ours:,} times larger" if theirs > ours else f"{ours // theirs:,} times smaller"
    return f"{size} than the others: {scale.lows[band]:.12g} and {scale.lows[main]:.12g}"
