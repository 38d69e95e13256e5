"""k copies of a system on one stream, each with users of its own: what their curves have in common."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import polars as pl

from recassay.comparison.compare_over_time import OverTime, compare_over_time
from recassay.comparison.over_time import SHOWN, Curve, over_time
from recassay.data.exhibit import Exhibit
from recassay.data.outcomes import EVENT, Outcomes, Played, outcomes_of
from recassay.errors import InputError, UsageError


class Copies(Protocol):
    """The result of playing several copies of a system on a stream."""

    @property
    def copies(self) -> tuple[Outcomes, ...]:
        """What each did, event by event."""


Folds = Copies | Iterable[Outcomes | Played]


@dataclass(frozen=True, eq=False)
class FoldCurves:
    """The curves of all folds, and how they lie together at the same events of the stream.

    ``table`` has event, ``mean`` and ``sd`` (NaN for a single fold) of the values as they stood, the lowest and the
    highest of them, and how many ``folds`` had begun.
    """

    curves: tuple[Curve, ...]
    table: pl.DataFrame

    def exhibit(self) -> Exhibit:
        """The mean of the folds, and one standard deviation to either side."""
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


def over_folds(folds: Folds, metric: str, *, points: int = SHOWN, **how: Any) -> FoldCurves:
    """Curves of k folds as :func:`~recassay.comparison.over_time.over_time` makes them, their mean and their spread.

    They are read off at up to ``points`` events of the stream, each curve as it stood then.

    >>> one = Outcomes("a", np.array([0, 2]), {"mrr": np.array([0.0, 1.0])}, events=4)
    >>> other = Outcomes("a", np.array([1, 3]), {"mrr": np.array([1.0, 1.0])}, events=4)
    >>> over_folds([one, other], "mrr", how="cumulative").table.select("event", "mean", "lowest", "folds").rows()
    [(0, 0.0, 0.0, 1), (1, 0.5, 0.0, 2), (2, 0.75, 0.5, 2), (3, 0.75, 0.5, 2)]
    """
    outcomes = _folds(folds)
    curves = tuple(over_time(one, metric, **how) for one in outcomes)
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


def compare_folds(a: Folds, b: Folds, *, metric: str, **how: Any) -> dict[str, OverTime]:
    """Two systems fold by fold, as :func:`~recassay.comparison.compare_over_time.compare_over_time` compares them.

    ``declared`` makes one table of the final tests of all folds, with p adjusted for their number.

    >>> from recassay.comparison.compare_over_time import declared
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
    pairs = enumerate(zip(first, second, strict=True))
    return {
        f"fold {one.settings.get('fold', number)}": compare_over_time(one, other, metric=metric, **how)
        for number, (one, other) in pairs
    }


def _folds(folds: Folds) -> list[Outcomes]:
    found = [outcomes_of(one) for one in (folds if isinstance(folds, Iterable) else folds.copies)]
    if not found:
        raise UsageError("U113", "there are no folds", hint="play with prequential(folds='split', copies=5)")
    lengths = sorted({one.events for one in found})
    if len(lengths) > 1:
        what = f"folds are of streams of {lengths[0]:,} and of {lengths[-1]:,} events"
        raise InputError("I382", what, where=f"outcomes of {found[0].system}", hint="give the folds of one stream")
    return found
