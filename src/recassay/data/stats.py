"""What is in a log: how much of it, how evenly spread, over which time, with which ratings."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.data.concentration import gini, top_share
from recassay.data.interactions import Interactions
from recassay.data.layout import stretch_of
from recassay.data.time_kind import require_times
from recassay.data.time_scale import EARLIEST
from recassay.errors import InputError

MOST_VALUES = 12  # so many different ratings are counted one by one; more are told by their quantiles
QUANTILES = {"min": 0.0, "25%": 0.25, "median": 0.5, "75%": 0.75, "max": 1.0}
UNITS = {"seconds": 10**11, "milliseconds": 10**14, "microseconds": 10**17, "nanoseconds": 10**20}


@dataclass(frozen=True)
class Spread:
    """A distribution in four numbers."""

    mean: float
    median: float
    min: float
    max: float


@dataclass(frozen=True)
class Popularity:
    """How rows are spread over items: their Gini coefficient, shares of the top items, items with a single row."""

    gini: float
    top_1_percent: float
    top_10_percent: float
    top_20_percent: float
    items_with_one_row: float


@dataclass(frozen=True)
class Times:
    """First and last time as text; ``unit`` is ``order`` for positions, and ``numbers`` for a clock of unknown unit.

    ``kind`` says what they can tell: ``clock``, ``global`` or ``user``; ``problem`` why they cannot all be true.
    ``tied`` is the share of rows that have the very time of another row of their user; ``last_unclear`` the share of
    users whose last item is therefore not determined.
    """

    first: str
    last: str
    unit: str
    missing: int
    tied: float
    last_unclear: float
    kind: str = "clock"
    problem: str = ""


@dataclass(frozen=True)
class Ratings:
    """Rows of each rating, or, if there are more than twelve, quantiles and the mean."""

    counts: dict[str, int] | None
    quantiles: dict[str, float] | None
    missing: int


@dataclass(frozen=True)
class Stats:
    """What :func:`stats` found. ``pairs`` are distinct (user, item); ``duplicates`` the rows beyond them.

    ``density`` is pairs / (users * items); ``profile`` is about the distinct items of each user.
    """

    rows: int
    users: int
    items: int
    pairs: int
    duplicates: int
    density: float
    profile: Spread
    popularity: Popularity
    times: Times | None = None
    ratings: Ratings | None = None

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain dicts and numbers, ready for JSON; what is undefined is None."""
        found: dict[str, Any] = _plain(dataclasses.asdict(self))
        return found


def stats(log: Interactions) -> Stats:
    """Count, spread, time range and ratings of a log.

    >>> log = Interactions.from_frame(pl.DataFrame({"user_id": [1, 1, 1, 2], "item_id": [7, 8, 7, 7]}))
    >>> found = stats(log)
    >>> found.rows, found.pairs, found.duplicates, found.density, found.profile.mean
    (4, 3, 1, 0.75, 1.5)
    """
    offsets, items = log.by_user
    pairs, lengths, events = int(items.size), np.diff(offsets), log.item_events
    popularity = Popularity(
        gini(events),
        top_share(events, 0.01),
        top_share(events, 0.10),
        top_share(events, 0.20),
        float((events == 1).mean()) if events.size else float("nan"),
    )
    cells = log.n_users * log.n_items
    return Stats(
        rows=len(log),
        users=log.n_users,
        items=log.n_items,
        pairs=pairs,
        duplicates=len(log) - pairs,
        density=pairs / cells if cells else float("nan"),
        profile=_spread(lengths),
        popularity=popularity,
        times=None if log.timestamps is None else _times(log, log.timestamps),
        ratings=None if log.ratings is None else _ratings(log.ratings),
    )


def _spread(values: NDArray[np.int64]) -> Spread:
    if values.size == 0:
        return Spread(*[float("nan")] * 4)
    return Spread(float(values.mean()), float(np.median(values)), float(values.min()), float(values.max()))


def _times(log: Interactions, column: pl.Series) -> Times:
    known = (column.is_finite().fill_null(False) if column.dtype.is_float() else column.is_not_null()).to_numpy()
    times, users, items = column.filter(pl.Series(known)), log.users[known], log.items[known]
    missing = int((~known).sum())
    if times.len() == 0:
        return Times("", "", "order", missing, float("nan"), float("nan"), str(log.times))
    unit = _unit(times) if log.times == "clock" else "order"
    numbers = (times.cast(pl.Int64) if times.dtype.is_temporal() else times).to_numpy()
    order = np.lexsort((items, numbers, users))
    users, numbers, items = users[order], numbers[order], items[order]
    same = (users[1:] == users[:-1]) & (numbers[1:] == numbers[:-1])
    tied = np.append(same, False) | np.append(False, same)
    starts = np.flatnonzero(np.append(True, users[1:] != users[:-1]))
    ends = np.append(starts[1:], users.size)
    is_last = numbers == numbers[ends - 1][stretch_of(np.append(starts, users.size))]
    other_item = same & (items[1:] != items[:-1]) & is_last[1:]
    unclear = np.unique(users[1:][other_item]).size
    shown = [_as_text(value, unit) for value in (times.min(), times.max())]
    found = (float(tied.mean()), unclear / starts.size, str(log.times), _problem(log))
    return Times(shown[0], shown[1], unit, missing, *found)


def _unit(times: pl.Series) -> str:
    """The unit of whole numbers since 1970, told by their size; ``date`` for a column of dates."""
    if times.dtype.is_temporal():
        return "date"
    largest = float(times.max())  # type: ignore[arg-type]
    if largest < EARLIEST:
        return "numbers"
    return next((unit for unit, below in UNITS.items() if largest < below), "numbers")


def _problem(log: Interactions) -> str:
    """Why the times cannot all be true."""
    try:
        require_times(log, log.times, "")
    except InputError as error:
        return f"{error.code}: {error.what}"
    return ""


def _as_text(value: Any, unit: str) -> str:
    if isinstance(value, datetime):
        return value.isoformat(sep=" ", timespec="seconds")
    if unit not in UNITS:
        return f"{value:g}" if isinstance(value, float) else str(value)
    seconds = value / 1000 ** list(UNITS).index(unit)
    return datetime.fromtimestamp(math.floor(seconds), UTC).strftime("%Y-%m-%d %H:%M:%S")


def _ratings(ratings: NDArray[np.float64]) -> Ratings:
    known = ratings[~np.isnan(ratings)]
    missing = int(ratings.size - known.size)
    values, counts = np.unique(known, return_counts=True)
    if values.size <= MOST_VALUES:
        return Ratings({f"{value:g}": int(n) for value, n in zip(values, counts, strict=True)}, None, missing)
    quantiles = {name: float(np.quantile(known, at)) for name, at in QUANTILES.items()}
    return Ratings(None, {**quantiles, "mean": float(np.sort(known).mean())}, missing)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value
