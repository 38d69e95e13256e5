"""Statistics of a log: size, density, popularity, time range and ratings."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.columnar.layout import row_groups
from recassay.columnar.times import UNITS, TimeScale, require_times
from recassay.data.interactions import Interactions
from recassay.data.io.write import finite
from recassay.data.sequences import Sequences
from recassay.errors import InputError
from recassay.stats.concentration import entropy, gini, top_share

MOST_VALUES = 12  # up to this many distinct ratings are counted one by one; more are summarised by quantiles
QUANTILES = {"min": 0.0, "25%": 0.25, "median": 0.5, "75%": 0.75, "max": 1.0}


@dataclass(frozen=True)
class Distribution:
    """The mean, median, minimum and maximum of some numbers."""

    mean: float
    median: float
    min: float
    max: float


@dataclass(frozen=True)
class PopularityStats:
    """The spread of the rows of a log over its items.

    It has the Gini coefficient, the shares of rows of the most popular items, and the number of items with a single
    row. ``entropy`` is that of the items' numbers of rows, in bits.
    """

    gini: float
    top_1_percent: float
    top_10_percent: float
    top_20_percent: float
    items_with_one_row: float
    entropy: float


@dataclass(frozen=True)
class TimeStats:
    """The time range of a log and the quality of its times.

    ``first`` and ``last`` are text. ``unit`` is ``order`` for positions, and ``numbers`` for a clock of unknown unit.
    ``kind`` is what the times can order: ``clock``, ``global`` or ``user``. ``problem`` tells why they cannot all be
    right. ``tied`` is the share of rows with the same time as another row of their user. ``last_unclear`` is the share
    of users whose last item is not determined because of such ties.
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
class RatingStats:
    """The number of rows with each rating, or quantiles and the mean if there are more than twelve distinct ratings."""

    counts: dict[str, int] | None
    quantiles: dict[str, float] | None
    missing: int


@dataclass(frozen=True)
class SequenceStats:
    """The size of sequences: their number, users, items and ``rows``, their ``lengths``, and the entropy of items.

    ``entropy`` is that of the items' numbers of rows, in bits.
    """

    sequences: int
    users: int
    items: int
    rows: int
    lengths: Distribution
    entropy: float


@dataclass(frozen=True)
class Stats:
    """Statistics of a log, the result of :func:`stats`.

    ``pairs`` are distinct (user, item); ``duplicates`` are the rows beyond them.

    ``density`` is pairs / (users * items); ``profile`` is the distribution of distinct items per user. ``sequences``
    describes the sequences that a rule makes of the log, if one was given.
    """

    rows: int
    users: int
    items: int
    pairs: int
    duplicates: int
    density: float
    profile: Distribution
    popularity: PopularityStats
    times: TimeStats | None = None
    ratings: RatingStats | None = None
    sequences: SequenceStats | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain dicts and numbers, ready for JSON; undefined values are None."""
        return dict(finite(dataclasses.asdict(self)))


def stats(log: Interactions) -> Stats:
    """Return the size, density, popularity distribution, time range and ratings of a log.

    >>> log = Interactions.from_frame(pl.DataFrame({"user_id": [1, 1, 1, 2], "item_id": [7, 8, 7, 7]}))
    >>> found = stats(log)
    >>> found.rows, found.pairs, found.duplicates, found.density, found.profile.mean
    (4, 3, 1, 0.75, 1.5)
    """
    offsets, items = log.by_user
    pairs, lengths, events = int(items.size), np.diff(offsets), log.item_events
    popularity = PopularityStats(
        gini(events),
        top_share(events, 0.01),
        top_share(events, 0.10),
        top_share(events, 0.20),
        float((events == 1).mean()) if events.size else float("nan"),
        entropy(events),
    )
    cells = log.n_users * log.n_items
    return Stats(
        rows=len(log),
        users=log.n_users,
        items=log.n_items,
        pairs=pairs,
        duplicates=len(log) - pairs,
        density=pairs / cells if cells else float("nan"),
        profile=_distribution(lengths),
        popularity=popularity,
        times=None if log.timestamps is None else _times(log, log.timestamps),
        ratings=None if log.ratings is None else _ratings(log.ratings),
    )


def sequence_stats(*parts: Sequences) -> SequenceStats:
    """Return the number of sequences, users, items and rows, the lengths, and the entropy of items.

    Several parts, such as training and test, are described together; they must share users and items.

    >>> frame = pl.DataFrame({"sequence_id": [1, 1, 1, 2, 2, 2, 2, 2], "item_id": [*"abbccddd"]})
    >>> found = sequence_stats(Sequences.from_frame(frame))
    >>> found.sequences, found.items, found.rows, found.lengths.mean, round(found.entropy, 4)
    (2, 4, 8, 4.0, 1.9056)
    """
    counts = np.sum([np.bincount(part.items, minlength=part.n_items) for part in parts], axis=0)
    lengths = np.concatenate([part.lengths for part in parts])
    users = np.unique(np.concatenate([part.users for part in parts])).size
    sizes = lengths.size, users, int(np.count_nonzero(counts)), int(counts.sum())
    return SequenceStats(*sizes, _distribution(lengths), entropy(counts))


def _distribution(values: NDArray[np.int64]) -> Distribution:
    if values.size == 0:
        return Distribution(*[float("nan")] * 4)
    return Distribution(float(values.mean()), float(np.median(values)), float(values.min()), float(values.max()))


def time_span(log: Interactions) -> str:
    """Return the first and last time of a log as text; empty if it has none.

    >>> times = pl.DataFrame({"user_id": [1, 1], "item_id": [7, 8], "timestamp": [1_600_000_000, 1_650_000_000]})
    >>> time_span(Interactions.from_frame(times))
    '2020-09-13 to 2022-04-15'
    """
    known = None if log.timestamps is None else log.timestamps.drop_nulls()
    if known is None or known.is_empty():
        return ""
    unit = _unit(known) if log.times == "clock" else "order"
    first, last = (_as_text(value, unit) for value in (known.min(), known.max()))
    if first == last:
        return first
    days = [first[:10], last[:10]]
    return f"{days[0]} to {days[1]}" if unit in {*UNITS, "date"} and days[0] != days[1] else f"{first} to {last}"


def _times(log: Interactions, column: pl.Series) -> TimeStats:
    known = (column.is_finite().fill_null(False) if column.dtype.is_float() else column.is_not_null()).to_numpy()
    times, users, items = column.filter(pl.Series(known)), log.users[known], log.items[known]
    missing = int((~known).sum())
    if times.len() == 0:
        return TimeStats("", "", "order", missing, float("nan"), float("nan"), str(log.times))
    unit = _unit(times) if log.times == "clock" else "order"
    numbers = (times.cast(pl.Int64) if times.dtype.is_temporal() else times).to_numpy()
    order = np.lexsort((items, numbers, users))
    users, numbers, items = users[order], numbers[order], items[order]
    same = (users[1:] == users[:-1]) & (numbers[1:] == numbers[:-1])
    tied = np.append(same, False) | np.append(False, same)
    starts = np.flatnonzero(np.append(True, users[1:] != users[:-1]))
    ends = np.append(starts[1:], users.size)
    is_last = numbers == numbers[ends - 1][row_groups(np.append(starts, users.size))]
    other_item = same & (items[1:] != items[:-1]) & is_last[1:]
    unclear = np.unique(users[1:][other_item]).size
    shown = [_as_text(value, unit) for value in (times.min(), times.max())]
    found = (float(tied.mean()), unclear / starts.size, str(log.times), _problem(log))
    return TimeStats(shown[0], shown[1], unit, missing, *found)


def _unit(times: pl.Series) -> str:
    """Return the unit of numbers since 1970, inferred from their magnitude; ``date`` for a column of dates."""
    return "date" if times.dtype.is_temporal() else TimeScale.of(pl.Series([times.max()])).unit or "numbers"


def _problem(log: Interactions) -> str:
    """Return a sentence on why the times of a log cannot all be right; empty if they can."""
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
    seconds = value / UNITS[unit]
    return datetime.fromtimestamp(math.floor(seconds), UTC).strftime("%Y-%m-%d %H:%M:%S")


def _ratings(ratings: NDArray[np.float64]) -> RatingStats:
    known = ratings[~np.isnan(ratings)]
    missing = int(ratings.size - known.size)
    values, counts = np.unique(known, return_counts=True)
    if values.size <= MOST_VALUES:
        return RatingStats({f"{value:g}": int(n) for value, n in zip(values, counts, strict=True)}, None, missing)
    quantiles = {name: float(np.quantile(known, at)) for name, at in QUANTILES.items()}
    return RatingStats(None, {**quantiles, "mean": float(np.sort(known).mean())}, missing)
