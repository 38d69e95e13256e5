"""Distributions behind the means: how many users reach each score, and how often one system beats another.

Values per unit are read one metric at a time and reduced to counts, so the page stays small for any number of units.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay._kernel_cache import njit
from recassay.data.io.parquet import parquet_schema, read_parquet, scan_parquet
from recassay.report.content.grids import design_of
from recassay.results.exhibit import Exhibit
from recassay.results.score_set import Place
from recassay.threads import each_block, worth_starting

STEPS = 20  # from the smallest value to the largest
TOLERANCE = 1e-9  # of the range: a value this close below a step counts as reaching it
IDENTITY = ("dataset", "split", "protocol", "seed", "design", "system")
Values = NDArray[np.float64]
UNITS = {"prequential": "events", "sequence": "sequences"}  # the unit of a protocol; other protocols score users


@dataclass(frozen=True, eq=False)
class UnitValues:
    """The values per unit (user, sequence or event) in a ``scores.parquet`` file, read when they are needed.

    ``blocks`` are the ranges of rows that hold each system's values, by data set, split, protocol, seed and design.
    """

    path: Path
    blocks: Mapping[Place, Mapping[str, Sequence[slice]]]

    @classmethod
    def of(cls, path: Path) -> UnitValues | None:
        """Return the values in a ``scores.parquet`` file, which are read from it when they are needed.

        Return None if the file is absent, or if the rows of a system on one data set, split, fold, seed and design are
        not next to each other.
        """
        if not path.is_file():
            return None
        names = parquet_schema(path)
        if any(name not in names for name in IDENTITY):
            return None
        keys = [*IDENTITY, "fold"] if "fold" in names else list(IDENTITY)
        runs = _constant_runs(path, keys)
        if len({tuple(row[name] for name in keys) for row in runs}) < len(runs):
            return None
        blocks: dict[Place, dict[str, list[slice]]] = {}
        for row in runs:
            place = Place.of(row)._replace(design=design_of(row))
            blocks.setdefault(place, {}).setdefault(row["system"], []).append(row["rows"])
        return cls(path, blocks)

    def exhibits(
        self,
        metrics: Mapping[str, bool | None],
        *,
        units: str = "users",
        progress: Callable[[int, int], None] | None = None,
    ) -> dict[tuple[Place, str], tuple[Exhibit, ...]]:
        """Return charts of the distributions of values, by (place, metric).

        A place is a data set, split, protocol, seed and design. ``metrics`` maps each metric to whether higher is
        better (None: it has no better direction); metrics that the file lacks are left out. ``units`` is the word for
        what is counted, if no protocol says it. ``progress`` is called with the number of metrics done and the number
        of all metrics.
        """
        known = set(parquet_schema(self.path))
        available = [metric for metric in metrics if metric in known]
        paired = self._paired()
        exhibits: dict[tuple[Place, str], tuple[Exhibit, ...]] = {}
        for done, metric in enumerate(available, start=1):
            column = read_parquet(self.path, columns=[metric])[metric].cast(pl.Float64).fill_null(float("nan"))
            values = column.to_numpy()
            for place, systems in self.blocks.items():
                by_system = {name: np.concatenate([values[rows] for rows in parts]) for name, parts in systems.items()}
                if any(not np.isnan(own).all() for own in by_system.values()):
                    counted = UNITS.get(place.protocol.partition("(")[0], units)
                    exhibits[place, metric] = (share_reaching(metric, by_system, counted),)
                    if paired[place] and len(systems) > 1 and metrics[metric] is not None:
                        exhibits[place, metric] += (win_shares(metric, by_system, bool(metrics[metric]), counted),)
            if progress is not None:
                progress(done, len(available))
        return exhibits

    def equal(self, place: Place, a: str, b: str) -> bool:
        """Return whether two systems have exactly the same values for the same users (or other units), by all metrics.

        ``place`` is the data set, split, protocol, seed and design.
        """
        ours, theirs = (self.blocks.get(place, {}).get(system, ()) for system in (a, b))
        names = [name for name in parquet_schema(self.path) if name not in (*IDENTITY, "fold")]
        whole = scan_parquet(self.path).select(names)
        parts = (
            [whole.slice(rows.start, rows.stop - rows.start).collect() for rows in pair]
            for pair in zip(ours, theirs, strict=False)
        )
        return 0 < len(ours) == len(theirs) and all(one.equals(other) for one, other in parts)

    def _paired(self) -> dict[Place, bool]:
        """Return, by place, whether all its systems have the same users (or other units) in the same order.

        A place is a data set, split, protocol, seed and design.
        """
        units = read_parquet(self.path, columns=["unit"])["unit"]
        columns = {
            place: [pl.concat([units[rows] for rows in parts]) for parts in systems.values()]
            for place, systems in self.blocks.items()
        }
        return {place: all(column.equals(several[0]) for column in several) for place, several in columns.items()}


def _constant_runs(path: Path, keys: Sequence[str]) -> list[dict[str, Any]]:
    """Return a record per range of consecutive rows with equal keys: the keys, and the range as ``rows``.

    ``keys`` are columns. They are read one at a time, because the file may be larger than memory allows for all of
    them.
    """
    size, starts, held = 0, np.empty(0, np.int64), {}
    for key in keys:
        column = read_parquet(path, columns=[key])[key]
        size = len(column)
        changes = column.ne_missing(column.shift(1)).arg_true().to_numpy()
        changes = np.union1d(changes, [0]) if size else changes
        held[key] = (changes, column.gather(changes).to_list())
        starts = np.union1d(starts, changes)
    ends = [*starts[1:].tolist(), size]
    return [
        {key: values[int(np.searchsorted(changes, start, "right")) - 1] for key, (changes, values) in held.items()}
        | {"rows": slice(start, end)}
        for start, end in zip(starts.tolist(), ends, strict=True)
    ]


def share_reaching(metric: str, values: Mapping[str, Values], units: str = "users") -> Exhibit:
    """Return a chart with a line per system: the share of users whose value is at least each of 21 thresholds.

    The thresholds are equally spaced from the smallest value, or 0 if it is larger, to the largest value of all
    systems. ``values`` are by system, NaN where undefined. ``units`` is the word for what is counted, such as users or
    events.

    >>> share_reaching("hit@1", {"a": np.array([0.0, 1, 1, 1])}).table.rows()[-1]
    ('a', 1.0, 0.75, 3)
    """
    ranges = [value_range(own) for own in values.values()]
    low, high = min([0.0, *(low for low, _ in ranges)]), max(high for _, high in ranges)
    wide = high - low or 1.0
    columns = list(values.values())

    def count(begin: int, _end: int) -> list[int]:
        return list(count_reaching(columns[begin], low, wide / STEPS, STEPS, TOLERANCE * STEPS))

    counts = each_block(count, len(columns), size=1, threads=worth_starting(sum(own.size for own in columns)))
    rows = [
        {"system": name, metric: low + wide * step / STEPS, f"share of {units}": many / several[0], units: int(many)}
        for name, several in zip(values, counts, strict=True)
        for step, many in enumerate(several)
        if several[0]
    ]
    return Exhibit(
        f"spread-{metric}",
        f"Share of {units} reaching each score",
        f"The share of {units} whose {metric} is at least the value on the axis. A mean does not show whether many "
        f"{units} score a little or a few score a lot.",
        pl.DataFrame(rows),
        metric,
        f"share of {units}",
        "system",
    )


def win_shares(metric: str, values: Mapping[str, Values], higher_is_better: bool, units: str = "users") -> Exhibit:
    """Return a chart of the share of users (or other units) for which each system beats each other system.

    ``values`` are by system, for the same units; units where one of the two has no value do not count. ``units`` is the
    word for them.

    >>> wins = win_shares("hit@1", {"a": np.array([0.0, 1, 1]), "b": np.array([0.0, 0, 1])}, True)
    >>> wins.table.select("system", "against", "wins", "ties", "losses").rows()
    [('a', 'b', 1, 2, 0), ('b', 'a', 0, 2, 1)]
    """
    pairs = list(itertools.combinations(values, 2))

    def count(begin: int, _end: int) -> tuple[int, int, int]:
        more, equal, less = count_larger_equal_smaller(*(values[name] for name in pairs[begin]))
        return (more, equal, less) if higher_is_better else (less, equal, more)

    counts = each_block(count, len(pairs), size=1, threads=worth_starting(sum(values[a].size for a, _ in pairs)))
    rows = dict(zip(pairs, counts, strict=True))
    rows |= {(b, a): several[::-1] for (a, b), several in rows.items()}
    ordered = [_win_row(a, b, *rows[a, b], units) for a, b in itertools.permutations(values, 2)]
    return Exhibit(
        f"wins-{metric}",
        f"Share of {units} on which each system wins",
        f"The share of {units} for which the system in the row has a better {metric} than the system in the column, "
        f"over {units} where both have a value. The rest are ties.",
        pl.DataFrame(ordered),
        "against",
        "system",
        kind="heat",
        value="share won",
        label="won",
    )


def _win_row(system: str, against: str, wins: int, ties: int, losses: int, units: str) -> dict[str, Any]:
    n = wins + ties + losses
    return {
        "system": system, "against": against, "share won": wins / n if n else None,
        "won": f"{100 * wins / n:.0f} %" if n else "–", "wins": wins, "ties": ties, "losses": losses, units: n,
    }  # fmt: skip


# --- compiled counts of values per unit; NaN means that a unit has no value ---


@njit(cache=True, nogil=True)
def value_range(values: Values) -> tuple[float, float]:
    """Return the smallest and the largest value that is not NaN; (inf, -inf) if there is none."""
    low, high = np.inf, -np.inf
    for value in values:
        if value == value:  # noqa: PLR0124 (not NaN)
            low, high = min(low, value), max(high, value)
    return low, high


@njit(cache=True, nogil=True)
def count_reaching(values: Values, low: float, step: float, steps: int, tolerance: float) -> NDArray[np.int64]:
    """Return how many values are at least each of the thresholds ``low``, ``low + step``, ..., ``low + steps * step``.

    The result has ``steps`` + 1 counts. All values must lie between the first and the last threshold; NaN is not
    counted. A value up to ``tolerance`` steps below a threshold counts as reaching it, because of rounding errors.
    """
    counts = np.zeros(steps + 1, np.int64)
    for value in values:
        if value == value:  # noqa: PLR0124 (not NaN)
            counts[min(int((value - low) / step + tolerance), steps)] += 1
    for at in range(steps - 1, -1, -1):
        counts[at] += counts[at + 1]
    return counts


@njit(cache=True, nogil=True)
def count_larger_equal_smaller(left: Values, right: Values) -> tuple[int, int, int]:
    """Return for how many users (or other units) the left value is larger than, equal to, and below the right one.

    ``left`` and ``right`` are the values of two systems for the same units; a unit where one is NaN is not counted.
    """
    more, equal, less = 0, 0, 0
    for a, b in zip(left, right):  # noqa: B905 (numba does not support strict)
        more += a > b
        equal += a == b
        less += a < b
    return more, equal, less
