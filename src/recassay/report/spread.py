"""What stands behind a mean: how many users have at least so much, and for how many one system beats another.

The values of all units are read a metric at a time and counted at once, so a page stays small whatever was judged.
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

from recassay.data.exhibit import Exhibit
from recassay.report._kernels import duel, extent, reached
from recassay.report.page.board import design_of
from recassay.threads import each_block

STEPS = 20  # from the least value to the largest
SAME = 1e-9  # of the range: a value so close to a step counts as being there
IDENTITY = ("dataset", "split", "protocol", "seed", "design", "system")
Place = tuple[Any, ...]  # dataset, split, protocol, seed, design
Values = NDArray[np.float64]
UNITS = {"prequential": "events", "sequence": "sequences"}  # what protocols score; others score users


@dataclass(frozen=True)
class Stretch:
    """Rows of one system that stand together in the file."""

    begin: int
    end: int


@dataclass(frozen=True, eq=False)
class Spreads:
    """The values per unit of a folder: which rows belong to whom."""

    path: Path
    stretches: Mapping[Place, Mapping[str, tuple[Stretch, ...]]]

    @classmethod
    def of(cls, path: Path) -> Spreads | None:
        """Those of a ``scores.parquet``; None where there is none, or where rows of a system are scattered."""
        if not path.is_file():
            return None
        names = pl.read_parquet_schema(path)
        if any(name not in names for name in IDENTITY):
            return None
        keys = [*IDENTITY, "fold"] if "fold" in names else list(IDENTITY)
        found = _runs(path, keys)
        if len({tuple(row[name] for name in keys) for row in found}) < len(found):
            return None
        stretches: dict[Place, dict[str, list[Stretch]]] = {}
        for row in found:
            place = (*(row[name] for name in IDENTITY[:4]), design_of(row))
            own = stretches.setdefault(place, {}).setdefault(row["system"], [])
            own.append(Stretch(row["begin"], row["end"]))
        return cls(path, {place: {k: tuple(v) for k, v in one.items()} for place, one in stretches.items()})

    def exhibits(
        self, metrics: Mapping[str, bool | None], *, told: Callable[[int, int], None] | None = None
    ) -> dict[tuple[Place, str], tuple[Exhibit, ...]]:
        """The exhibits of every place and metric; ``metrics`` says whether more is better."""
        known = set(pl.read_parquet_schema(self.path))
        asked = [metric for metric in metrics if metric in known]
        paired = self._paired()
        found: dict[tuple[Place, str], tuple[Exhibit, ...]] = {}
        for done, metric in enumerate(asked, start=1):
            column = pl.read_parquet(self.path, columns=[metric])[metric].cast(pl.Float64).fill_null(float("nan"))
            values = column.to_numpy()
            for place, systems in self.stretches.items():
                own = {
                    name: np.concatenate([values[one.begin : one.end] for one in parts])
                    for name, parts in systems.items()
                }
                if any(extent(one)[0] <= extent(one)[1] for one in own.values()):
                    better = metrics[metric] if paired[place] else None
                    found[place, metric] = _exhibits(metric, own, better, _units(place))
            if told is not None:
                told(done, len(asked))
        return found

    def equal(self, place: Place, a: str, b: str) -> bool:
        """Whether two systems have the same values for the same units under all metrics."""
        ours, theirs = (self.stretches.get(place, {}).get(system, ()) for system in (a, b))
        names = [name for name in pl.read_parquet_schema(self.path) if name not in (*IDENTITY, "fold")]
        if not ours or len(ours) != len(theirs):
            return False
        whole = pl.scan_parquet(self.path).select(names)
        return all(
            whole.slice(one.begin, one.end - one.begin).collect().equals(
                whole.slice(other.begin, other.end - other.begin).collect()
            )
            for one, other in zip(ours, theirs, strict=True)
        )  # fmt: skip

    def _paired(self) -> dict[Place, bool]:
        """Whether all systems of a place have the same units in the same order."""
        units = pl.read_parquet(self.path, columns=["unit"])["unit"]
        answer = {}
        for place, systems in self.stretches.items():
            columns = [[units[one.begin : one.end] for one in parts] for parts in systems.values()]
            answer[place] = all(
                len(own) == len(columns[0]) and all(a.equals(b) for a, b in zip(own, columns[0], strict=True))
                for own in columns[1:]
            )
        return answer


def _runs(path: Path, keys: Sequence[str]) -> list[dict[str, Any]]:
    """Rows that agree in all keys and stand together: a record per run. Read a column at a time: there may be many."""
    size, starts, held = 0, np.empty(0, np.int64), {}
    for key in keys:
        column = pl.read_parquet(path, columns=[key])[key]
        size = len(column)
        own = column.ne_missing(column.shift(1)).arg_true().to_numpy()
        own = np.union1d(own, [0]) if size else own
        held[key] = (own, column.gather(own).to_list())
        starts = np.union1d(starts, own)
    ends = [*starts[1:].tolist(), size]
    return [
        {key: values[int(np.searchsorted(own, start, "right")) - 1] for key, (own, values) in held.items()}
        | {"begin": start, "end": end}
        for start, end in zip(starts.tolist(), ends, strict=True)
    ]


def _units(place: Place) -> str:
    return UNITS.get(str(place[IDENTITY.index("protocol")]).partition("(")[0], "users")


def _exhibits(
    metric: str, values: Mapping[str, Values], higher_is_better: bool | None, units: str
) -> tuple[Exhibit, ...]:
    many = len(values) > 1 and higher_is_better is not None
    wins = [win_loss(metric, values, bool(higher_is_better), units)] if many else []
    return (at_least(metric, values, units), *wins)


def at_least(metric: str, values: Mapping[str, Values], units: str = "users") -> Exhibit:
    """The share of units that have at least so much, for each system.

    >>> at_least("hit@1", {"a": np.array([0.0, 1, 1, 1])}).table.rows()[-1]
    ('a', 1.0, 0.75, 3)
    """
    ends = [extent(one) for one in values.values()]
    low, high = min([0.0, *(low for low, _ in ends)]), max(high for _, high in ends)
    wide = high - low or 1.0
    steps = [low + wide * step / STEPS for step in range(STEPS + 1)]
    names = list(values.items())

    def counted(begin: int, _end: int) -> NDArray[np.int64]:
        counts: NDArray[np.int64] = reached(names[begin][1], low, wide / STEPS, STEPS, SAME * STEPS)
        return counts

    rows = []
    for (name, _), counts in zip(names, each_block(counted, len(names), size=1), strict=True):
        n = int(counts[0])
        rows += [
            {"system": name, metric: step, f"share of {units}": count / n, units: count}
            for step, count in zip(steps, counts.tolist(), strict=True)
            if n
        ]
    return Exhibit(
        f"spread-{metric}",
        f"{units.capitalize()} with at least so much",
        f"The share of {units} whose {metric} is at least the value below. A mean hides whether many {units} have a "
        "little or few have much.",
        pl.DataFrame(rows),
        metric,
        f"share of {units}",
        "system",
    )


def win_loss(metric: str, values: Mapping[str, Values], higher_is_better: bool, units: str = "users") -> Exhibit:
    """For how many units a system is better than another, over the units where both have a value.

    >>> one = win_loss("hit@1", {"a": np.array([0.0, 1, 1]), "b": np.array([0.0, 0, 1])}, True)
    >>> one.table.select("system", "against", "wins", "ties", "losses").rows()
    [('a', 'b', 1, 2, 0), ('b', 'a', 0, 2, 1)]
    """
    names = list(values)
    pairs = list(itertools.combinations(range(len(names)), 2))

    def counted(begin: int, _end: int) -> tuple[int, int, int]:
        a, b = (values[names[one]] for one in pairs[begin])
        more, equal, less = duel(a, b)
        return more, equal, less

    rows: dict[tuple[int, int], dict[str, Any]] = {}
    for (a, b), (more, equal, less) in zip(pairs, each_block(counted, len(pairs), size=1), strict=True):
        wins, losses = (more, less) if higher_is_better else (less, more)
        rows[a, b] = _duel(names, a, b, (wins, equal, losses), units)
        rows[b, a] = _duel(names, b, a, (losses, equal, wins), units)
    whom = "whom" if units == "users" else "which"
    return Exhibit(
        f"wins-{metric}",
        "Who is better for whom" if units == "users" else "Who is better where",
        f"The share of {units} for {whom} the system of the row has the better {metric} than that of the column, over "
        f"{units} where both have a value. What two systems lack to 100 % are ties.",
        pl.DataFrame([rows[key] for key in sorted(rows)]),
        "against",
        "system",
        kind="heat",
        value="share won",
        label="won",
    )


def _duel(names: Sequence[str], a: int, b: int, counts: tuple[int, int, int], units: str) -> dict[str, Any]:
    wins, ties, losses = counts
    n = wins + ties + losses
    share = wins / n if n else None
    won = "–" if share is None else f"{100 * share:.0f} %"
    return {
        "system": names[a], "against": names[b], "share won": share, "won": won, "wins": wins, "ties": ties,
        "losses": losses, units: n,
    }  # fmt: skip
