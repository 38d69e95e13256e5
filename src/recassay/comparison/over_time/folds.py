"""Curves of k copies of a system on one stream, each with its own users: their mean and range."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
import polars as pl

from recassay.comparison.over_time.compare import OverTime, compare_over_time
from recassay.comparison.over_time.curves import SHOWN, Curve, over_time
from recassay.errors import InputError, UsageError
from recassay.naming.arguments import checks_types
from recassay.results.exhibit import Exhibit
from recassay.results.outcomes import EVENT, Outcomes, Played, outcomes_of


@runtime_checkable
class Copies(Protocol):
    """A protocol for the results of several copies of one system on one stream, each with its own users."""

    @property
    def copies(self) -> tuple[Outcomes, ...]:
        """Return the values of the scored events of each copy."""


Folds = Copies | Iterable[Outcomes | Played]


@dataclass(frozen=True, eq=False)
class FoldCurves:
    """The curves of all folds, and their mean and range at the same events of the stream.

    ``table`` has event, ``mean`` and ``sd`` (NaN for a single fold) of the values at that event, the ``lowest`` and
    ``highest``, and the number of ``folds`` that have started.
    """

    curves: tuple[Curve, ...]
    table: pl.DataFrame

    def exhibit(self) -> Exhibit:
        """Return a figure of the mean of the folds with one standard deviation to either side."""
        first = self.curves[0]
        table = self.table.with_columns(
            low=pl.col("mean") - pl.col("sd"), high=pl.col("mean") + pl.col("sd"), system=pl.lit(first.system)
        )
        return Exhibit(
            "folds-over-time",
            f"{first.metric} over time, {len(self.curves)} folds",
            f"Averages over {first.windows}: the mean of {len(self.curves)} folds and one standard deviation to either "
            "side. Folds share the stream, so this is the spread over users and chance, not over streams.",
            table,
            EVENT,
            "mean",
            "system",
            low="low",
            high="high",
        )


@checks_types
def over_folds(
    folds: Folds,
    metric: str,
    *,
    points: int = SHOWN,
    **options: Any,
) -> FoldCurves:
    """Return the curves of k folds, their mean and their range, at up to ``points`` events of the stream.

    Each curve is the one of :func:`~recassay.comparison.over_time.curves.over_time`, read at these events; ``options``
    are its keywords.

    >>> one = Outcomes("a", np.array([0, 2]), {"mrr": np.array([0.0, 1.0])}, events=4)
    >>> other = Outcomes("a", np.array([1, 3]), {"mrr": np.array([1.0, 1.0])}, events=4)
    >>> over_folds([one, other], "mrr", how="cumulative").table.select("event", "mean", "lowest", "folds").rows()
    [(0, 0.0, 0.0, 1), (1, 0.5, 0.0, 2), (2, 0.75, 0.5, 2), (3, 0.75, 0.5, 2)]
    """
    outcomes = _folds(folds)
    curves = tuple(over_time(one, metric, **options) for one in outcomes)
    events = outcomes[0].events
    at = np.unique(np.linspace(0, events - 1, min(points, events)).round().astype(np.int64))
    values = np.column_stack([one.at(at) for one in curves])
    begun = ~np.isnan(values)
    at, values, count = at[begun.any(axis=1)], values[begun.any(axis=1)], begun.sum(axis=1)[begun.any(axis=1)]
    mean = np.nansum(values, axis=1) / count
    squares = np.nansum((values - mean[:, None]) ** 2, axis=1)
    table = pl.DataFrame(
        {
            EVENT: at,
            "mean": mean,
            "sd": np.sqrt(np.divide(squares, count - 1, out=np.full(at.size, np.nan), where=count > 1)),
            "lowest": np.nanmin(values, axis=1, initial=np.inf),
            "highest": np.nanmax(values, axis=1, initial=-np.inf),
            "folds": count,
        }
    )
    return FoldCurves(curves, table)


@checks_types
def compare_folds(a: Folds, b: Folds, *, metric: str, **options: Any) -> dict[str, OverTime]:
    """Return the comparison of two systems in each fold, by label such as ``fold 0``; raise U113 for unequal numbers.

    The other keywords are those of :func:`~recassay.compare_over_time`. The function ``declared`` puts the final tests
    of all folds into one table, with p adjusted for their number.

    >>> from recassay.comparison.over_time.compare import declared
    >>> a, b = (
    ...     [Outcomes(name, np.arange(30), {"hit@1": hits}, events=30, settings={"fold": f}) for f in (0, 1)]
    ...     for name, hits in (("a", np.ones(30)), ("b", np.zeros(30)))
    ... )
    >>> declared(compare_folds(a, b, metric="hit@1")).select("stream", "only_a", "only_b", "significant").rows()
    [('fold 0', 30, 0, True), ('fold 1', 30, 0, True)]
    """
    first, second = _folds(a), _folds(b)
    if len(first) != len(second):
        what = f"{first[0].system} has {len(first)} folds and {second[0].system} {len(second)}"
        raise UsageError("U113", what, hint="play both with the same protocol")
    return {
        f"fold {one.settings.get('fold', number)}": compare_over_time(one, other, metric=metric, **options)
        for number, (one, other) in enumerate(zip(first, second, strict=True))
    }


def _folds(folds: Folds) -> list[Outcomes]:
    found = [outcomes_of(one) for one in (folds if isinstance(folds, Iterable) else folds.copies)]
    if not found:
        raise UsageError("U113", "there are no folds", hint="play with prequential(folds='split', copies=5)")
    lengths = sorted({one.events for one in found})
    if len(lengths) > 1:
        what = f"the folds belong to streams of {lengths[0]:,} and {lengths[-1]:,} events"
        raise InputError("I311", what, where=f"outcomes of {found[0].system}", hint="give the folds of one stream")
    return found
