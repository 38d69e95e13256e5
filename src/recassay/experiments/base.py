"""The base of experiments on an evaluation, with systems that are already fitted."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.data.fold import Fold
from recassay.data.run import Run
from recassay.data.standings import Standings
from recassay.errors import UsageError
from recassay.naming.named import Named
from recassay.protocols.base import UserProtocol
from recassay.results.exhibit import Exhibit


class Lazy(Mapping[str, Any]):
    """A mapping whose values are computed when they are asked for: most experiments read ranks, and fit nothing.

    >>> lazy = Lazy(["a"], lambda name: print(f"computing {name}") or name.upper())
    >>> list(lazy), lazy["a"], lazy["a"]
    computing a
    (['a'], 'A', 'A')
    """

    def __init__(self, names: Iterable[str], compute: Callable[[str], Any]) -> None:
        self.names = tuple(names)
        self.compute = functools.cache(compute)

    def __getitem__(self, name: str) -> Any:
        if name not in self.names:
            raise KeyError(name)
        return self.compute(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)


@dataclass(frozen=True, eq=False)
class Trial:
    """The input of experiments: a fold, the systems fitted on it, and their recommendations.

    ``models`` are unfitted models, ``fitted`` the fitted ones and ``runs`` their recommendations, all by name of the
    system. ``ask`` is the protocol, which says what each system must recommend.
    """

    fold: Fold
    ask: UserProtocol
    models: Mapping[str, Any]
    fitted: Mapping[str, Any]
    runs: Mapping[str, Run]
    threads: int | None = field(default=None)

    def standings(self) -> dict[str, Standings]:
        """Return for every system how many candidates are above each relevant item, and tied with it.

        Raise U122 if a run does not have these numbers.
        """
        found = {name: run.standings for name, run in self.runs.items()}
        missing = [name for name, standings in found.items() if standings is None]
        if missing:
            raise UsageError("U122", f"the run '{missing[0]}' has no standings", hint="play it on the fold")
        return {name: standings for name, standings in found.items() if standings is not None}


class Experiment(Named):
    """Base of experiments: a frozen description that, called on fitted systems, returns tables with a figure."""

    def __call__(self, trial: Trial) -> tuple[Exhibit, ...]:
        """Run the experiment on the fold and the systems in ``trial``; return tables with a figure (exhibits)."""
        raise NotImplementedError(f"{type(self).__name__} must say what it does")


@dataclass(frozen=True)
class LinearFit:
    """A straight line through points, and the share of their variance that it explains (``r2``)."""

    slope: float
    intercept: float
    r2: float

    @classmethod
    def through(cls, x: NDArray[np.float64], y: NDArray[np.float64]) -> LinearFit:
        """Return the least-squares line through points.

        >>> LinearFit.through(np.array([0.0, 1.0, 2.0]), np.array([1.0, 3.0, 5.0]))
        LinearFit(slope=2.0, intercept=1.0, r2=1.0)
        """
        dx, dy = x - x.mean(), y - y.mean()
        slope = float((dx * dy).sum() / (dx**2).sum())
        left = float(((dy - slope * dx) ** 2).sum())
        whole = float((dy**2).sum())
        r2 = 1 - left / whole if whole > 1e-30 else float("nan")
        return cls(slope, float(y.mean() - slope * x.mean()), r2)


def fits(table: pl.DataFrame, x: str, y: str, by: list[str]) -> pl.DataFrame:
    """Return slope, intercept and R2 of the least-squares line of ``y`` over ``x`` in every group of rows.

    ``by`` are the columns that define the groups.
    """
    rows = []
    for key, part in table.group_by(by, maintain_order=True):
        line = LinearFit.through(part[x].to_numpy().astype(float), part[y].to_numpy().astype(float))
        rows.append(dict(zip(by, key, strict=True)) | {"slope": line.slope, "intercept": line.intercept, "r2": line.r2})
    return pl.DataFrame(rows)
