"""How large the times of a log are, in bands of size: what tells two units in one column, and times that are none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.errors import InputError

EARLIEST = 10**8  # smaller numbers are no seconds since 1970 of any log (it is March 1973)
FUTURE = 4_102_444_800  # 2100, in seconds
UNITS = {"seconds": 1, "milliseconds": 10**3, "microseconds": 10**6, "nanoseconds": 10**9}
# Band 0 is below EARLIEST; then come, for each unit, the times to 2100 and those after it.
EDGES = tuple(edge * unit for unit in UNITS.values() for edge in (EARLIEST, FUTURE))
YEAR = 366 * 86_400
APART = 100  # times of one unit are at most so many times larger than the next smaller one


@dataclass(frozen=True)
class TimeScale:
    """Count, least and greatest of the times in each band of size; ``dates`` are always in seconds."""

    counts: tuple[int, ...] = ()
    lows: tuple[float, ...] = ()
    highs: tuple[float, ...] = ()
    dates: bool = False

    @classmethod
    def of(cls, timestamps: pl.Series | None) -> TimeScale:
        """Of a column; missing times, NaN and infinite ones are left out.

        >>> TimeScale.of(pl.Series([5, 978_300_760, 978_300_800])).counts
        (1, 2, 0, 0, 0, 0, 0, 0, 0)
        """
        if timestamps is None or not (timestamps.dtype.is_numeric() or timestamps.dtype.is_temporal()):
            return cls()
        values, dates = numbers_of(timestamps), timestamps.dtype.is_temporal()
        edges = np.array(EDGES[:2] if dates else EDGES, np.float64)
        n = edges.size + 1
        counts, lows, highs = np.zeros(n, np.int64), np.full(n, np.inf), np.full(n, -np.inf)
        if values.size:
            low, high = (int(np.searchsorted(edges, end, side="right")) for end in (values.min(), values.max()))
            if low == high:  # as nearly always
                counts[low], lows[low], highs[low] = values.size, values.min(), values.max()
            else:
                band = np.searchsorted(edges, values, side="right")
                counts = np.bincount(band, minlength=n)
                np.minimum.at(lows, band, values)
                np.maximum.at(highs, band, values)
        return cls(tuple(counts.tolist()), tuple(lows.tolist()), tuple(highs.tolist()), dates)

    @property
    def unit(self) -> str | None:
        """The unit of most times, or None where they are too small to tell."""
        if not any(self.counts) or not any(self.counts[1:]):
            return None
        return list(UNITS)[(self._main - 1) // 2]

    @property
    def _main(self) -> int:
        """The band of most times, other than the first."""
        return 1 + int(np.argmax(self.counts[1:]))


def numbers_of(timestamps: pl.Series) -> NDArray[Any]:
    """The known times of a column as numbers, in seconds for dates."""
    known = timestamps.drop_nulls()
    if known.dtype.is_temporal():
        return known.cast(pl.Datetime("us")).to_physical().to_numpy() / 1e6
    values: NDArray[Any] = known.to_numpy()
    return values[np.isfinite(values)] if values.dtype.kind == "f" else values


def refuse_scale(scale: TimeScale, where: str) -> None:
    """Raise for times that cannot all be true: of two units (I387), or some far from all others (I388)."""
    found = [band for band, count in enumerate(scale.counts) if count]
    if len(found) < 2 or found == [0]:
        return
    main, total = scale._main, sum(scale.counts)
    for band in found:
        if band not in (0, main) and (problem := _of_other_unit(scale, main, band)):
            hint = "bring all times to one unit before the log is read"
            raise InputError("I387", f"{scale.counts[band]:,} of {total:,} times are {problem}", where=where, hint=hint)
    low, high = scale.lows[main], scale.highs[main]
    if 0 in found:
        if scale.lows[0] < -1 or scale.highs[0] > 1:
            return  # a clock that began at 0, in a unit of its own
        if low - scale.highs[0] > high - low:
            what = f"{scale.counts[0]:,} of {total:,} times are {scale.highs[0]:g}, and all others {low:.12g} or more"
            hint = "0 seems to stand for a missing time: drop these rows, or give them a time"
            raise InputError("I388", what, where=where, hint=hint)
    for band in found:
        if band > main and scale.lows[band] - high > high - low:
            what = f"{scale.counts[band]:,} of {total:,} times are {scale.lows[band]:.12g} or more, "
            what += f"and all others at most {high:.12g}"
            hint = "a time after 2100 seems to stand for a missing one: drop these rows, or give them a time"
            raise InputError("I388", what, where=where, hint=hint)


def _of_other_unit(scale: TimeScale, main: int, band: int) -> str:
    """In words, how the times of a band are those of the main one in another unit; nothing if they are not."""
    if scale.dates:
        return ""
    small, large = sorted((main, band))
    if scale.lows[large] < APART * scale.highs[small]:
        return ""
    ours, theirs = ([*UNITS.values()][(one - 1) // 2] for one in (main, band))
    early = scale.lows[band] / theirs <= scale.highs[main] / ours + 10 * YEAR
    late = scale.highs[band] / theirs >= scale.lows[main] / ours - 10 * YEAR
    if ours == theirs or not (early and late):
        return ""
    size = f"{theirs // ours:,} times larger" if theirs > ours else f"{ours // theirs:,} times smaller"
    return f"{size} than the others: {scale.lows[band]:.12g} and {scale.lows[main]:.12g}"
