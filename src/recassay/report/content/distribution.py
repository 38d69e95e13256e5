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

from recassay.data.io.parquet import parquet_schema, read_parquet, scan_parquet
from recassay.report.content.grids import design_of
from recassay.results.exhibit import Exhibit
from recassay.results.score_set import Place

STEPS = 20  # from the smallest value to the largest
TOLERANCE = 1e-9  # of the range: a value this close below a step counts as reaching it
IDENTITY = ("dataset", "split", "protocol", "seed", "design", "system")
Values = NDArray[np.float64]
UNITS = {"prequential": "events", "sequence": "sequences"}  # the unit of a protocol; other protocols score users


@dataclass(frozen=True, eq=False)
class UnitValues:
    """The values per unit (user, sequence or event) in a ``scores.parquet`` file, read when they are needed.

    ``blocks[place][system]`` are the ranges of rows with the values of a system. A place is a data set, split,
    protocol, seed and design.
    """

    path: Path
    blocks: Mapping[Place, Mapping[str, Sequence[slice]]]

    @classmethod
    def of(cls, path: Path) -> UnitValues | None:
        """Return the values in a ``scores.parquet`` file, which are read from it when they are needed.

        Return None if the file is absent, or if the rows of a system on one data set, split, fold, seed and design are
        not next to each other.
        """
        names = parquet_schema(path) if path.is_file() else {}
        if any(name not in names for name in IDENTITY):
            return None
        keys = [name for name in (*IDENTITY, "fold") if name in names]
        row = pl.col("row")
        rows = scan_parquet(path).select(keys).with_row_index("row").group_by(keys)
        runs = rows.agg(begin=row.min(), end=row.max() + 1, n=pl.len()).sort("begin").collect(engine="streaming")
        if not runs.filter(pl.col("end") - pl.col("begin") != pl.col("n")).is_empty():
            return None
        blocks: dict[Place, dict[str, list[slice]]] = {}
        for run in runs.iter_rows(named=True):
            place = Place.of(run)._replace(design=design_of(run))
            blocks.setdefault(place, {}).setdefault(run["system"], []).append(slice(run["begin"], run["end"]))
        return cls(path, blocks)

    def exhibits(
        self,
        metrics: Mapping[str, bool | None],
        *,
        units: str = "users",
        progress: Callable[[int, int], None] | None = None,
    ) -> dict[tuple[Place, str], tuple[Exhibit, ...]]:
        """Return charts of the distributions of values, keyed by (place, metric).

        A place is a data set, split, protocol, seed and design. ``metrics`` maps each metric to whether higher is
        better (None: it has no better direction); metrics that the file lacks are left out. ``units`` is the word for
        what is counted, if no protocol says it. ``progress`` is called with the number of metrics done and the number
        of all metrics. There is a chart of wins only where all systems of a place have the same units in the same
        order.
        """
        columns = [metric for metric in metrics if metric in parquet_schema(self.path)]
        paired = {
            place: all(ids.equals(next(iter(systems.values()))) for ids in systems.values())
            for place, systems in self._by_system("unit").items()
        }
        exhibits: dict[tuple[Place, str], tuple[Exhibit, ...]] = {}
        for done, metric in enumerate(columns, start=1):
            for place, systems in self._by_system(metric).items():
                values = {name: own.cast(pl.Float64).fill_null(np.nan).to_numpy() for name, own in systems.items()}
                if all(np.isnan(own).all() for own in values.values()):
                    continue
                counted = UNITS.get(place.protocol.partition("(")[0], units)
                exhibits[place, metric] = (share_reaching(metric, values, counted),)
                if paired[place] and len(systems) > 1 and metrics[metric] is not None:
                    exhibits[place, metric] += (win_shares(metric, values, bool(metrics[metric]), counted),)
            if progress is not None:
                progress(done, len(columns))
        return exhibits

    def _by_system(self, column: str) -> dict[Place, dict[str, pl.Series]]:
        """Return the values of a column of the file as ``{place: {system: values}}``; a place is as in ``blocks``."""
        values = read_parquet(self.path, columns=[column])[column]
        return {
            place: {name: pl.concat([values[rows] for rows in parts]) for name, parts in systems.items()}
            for place, systems in self.blocks.items()
        }

    def equal(self, place: Place, a: str, b: str) -> bool:
        """Return whether two systems have exactly the same values, for the same users (or other units), in all metrics.

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


def share_reaching(metric: str, values: Mapping[str, Values], units: str = "users") -> Exhibit:
    """Return a chart with a line per system: the share of users whose value is at least each of 21 thresholds.

    The thresholds are equally spaced from the smallest finite value of all systems (0 if it is positive) to the
    largest. ``values`` maps a system to a value per user, NaN where undefined. ``units`` is the word for what is
    counted, such as users or events.

    >>> share_reaching("hit@1", {"a": np.array([0.0, 1, 1, 1])}).table.rows()[-1]
    ('a', 1.0, 0.75, 3)
    """
    finite = [own[np.isfinite(own)] for own in values.values()]
    low = min([0.0, *(own.min() for own in finite if own.size)])
    wide = max([low, *(own.max() for own in finite if own.size)]) - low or 1.0
    rows = []
    for name, own in values.items():
        reached = np.clip((own[~np.isnan(own)] - low) / (wide / STEPS) + TOLERANCE * STEPS, 0, STEPS).astype(np.int64)
        counts = np.bincount(reached, minlength=STEPS + 1)[::-1].cumsum()[::-1].tolist()
        rows += [
            {"system": name, metric: low + wide * step / STEPS, f"share of {units}": many / counts[0], units: many}
            for step, many in enumerate(counts if counts[0] else [])
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

    ``values`` maps each system to its values for the same units; a unit without a value in one of two systems does not
    count in their comparison. ``units`` is the word for what is counted.

    >>> wins = win_shares("hit@1", {"a": np.array([0.0, 1, 1]), "b": np.array([0.0, 0, 1])}, True)
    >>> wins.table.select("system", "against", "wins", "ties", "losses").rows()
    [('a', 'b', 1, 2, 0), ('b', 'a', 0, 2, 1)]
    """
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for a, b in itertools.combinations(values, 2):
        better, worse = (values[a], values[b]) if higher_is_better else (values[b], values[a])
        wins, ties, losses = (int(np.count_nonzero(one)) for one in (better > worse, better == worse, better < worse))
        rows[a, b] = _win_row(a, b, wins, ties, losses, units)
        rows[b, a] = _win_row(b, a, losses, ties, wins, units)
    return Exhibit(
        f"wins-{metric}",
        f"Share of {units} on which each system wins",
        f"The share of {units} for which the system in the row has a better {metric} than the system in the column, "
        f"over {units} where both have a value. The rest are ties.",
        pl.DataFrame([rows[pair] for pair in itertools.permutations(values, 2)]),
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
