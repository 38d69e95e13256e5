"""Times of a log as comparable numbers, and parsing of instants written as text."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.columnar.times import UNITS, TimeScale
from recassay.data.interactions import Interactions
from recassay.errors import InputError, UsageError

TimeValues = NDArray[np.int64] | NDArray[np.float64]


def row_times(log: Interactions) -> TimeValues:
    """Return the time of every row: numbers unchanged, dates in seconds since 1970 (UTC).

    Raise I201 if the log has no times.

    >>> from datetime import date
    >>> frame = pl.DataFrame({"user_id": [1], "item_id": [2], "timestamp": [date(1970, 1, 2)]})
    >>> row_times(Interactions.from_frame(frame)).tolist()
    [86400.0]
    """
    if log.timestamps is None:
        raise InputError(
            "I201",
            "the log has no timestamps, so its events have no order",
            where=log.origin,
            hint="name the column (columns={'timestamp': ...}), or choose a random split such as random(test=0.2)",
        )
    return time_values(log.timestamps, log.origin)


def time_values(timestamps: pl.Series, origin: str = "") -> TimeValues:
    """Return timestamps as numbers: numbers unchanged, dates in seconds since 1970 (UTC).

    Raise I304 if a time is missing, NaN or infinite; ``origin`` names the log in the error.
    """
    if timestamps.null_count():
        first = int(timestamps.is_null().arg_max() or 0) + 1
        raise InputError(
            "I304",
            f"{timestamps.null_count():,} of {len(timestamps):,} rows have no timestamp, the first is row {first:,}",
            where=origin,
            hint="drop these rows, or give them a time",
        )
    dtype = timestamps.dtype
    if dtype.is_float() and not (known := timestamps.is_finite()).all():
        first = int((~known).arg_max() or 0)
        raise InputError(
            "I304",
            f"{int((~known).sum()):,} of {len(timestamps):,} rows have a timestamp that is NaN or infinite: "
            f"the first is {timestamps[first]} in row {first + 1:,}",
            where=origin,
            hint="drop these rows, or give them a time",
        )
    if dtype.is_temporal():
        return timestamps.cast(pl.Datetime("us")).to_physical().to_numpy() / 1e6
    if not dtype.is_numeric():
        raise InputError(
            "I202",
            f"timestamps are of type {dtype}, which does not measure time",
            where=origin,
            hint="write them as numbers or dates",
        )
    return timestamps.to_numpy()


def has_dates(log: Interactions) -> bool:
    """Return whether the times of a log are dates, not plain numbers."""
    return log.timestamps is not None and log.timestamps.dtype.is_temporal()


def parse_instant(at: float | str, where: str, scale: TimeScale) -> float:
    """Return the instant ``at`` on the scale of :func:`row_times`, for a log whose times have the magnitudes ``scale``.

    Text is a date (UTC). The times of the log must be dates then, or numbers since 1970, whose unit follows from their
    magnitude; raise U102 for other numbers. ``where`` names the option or argument ``at`` in an error.

    >>> milliseconds = TimeScale.of(pl.Series([1_600_000_000_000]))
    >>> parse_instant("2020-09-13T12:26:40", "", milliseconds), parse_instant(7, "", TimeScale())
    (1600000000000, 7)
    """
    if not isinstance(at, str):
        return at
    if (unit := scale.unit) is None and not scale.dates:
        raise UsageError(
            "U102",
            f"'{at}' is a date, but the times of this log are plain numbers, not times since 1970",
            where=where,
            hint="give the instant as a number in the unit of the log",
        )
    try:
        read = datetime.fromisoformat(at)
    except ValueError:
        raise UsageError("U102", f"'{at}' is not a date", where=where, hint="write it as 2024-05-31") from None
    read = read if read.tzinfo else read.replace(tzinfo=UTC)
    if unit is None or scale.dates:
        return read.timestamp()
    parts = (read - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1) * UNITS[unit]
    return parts // 10**6 if parts % 10**6 == 0 else parts / 10**6
