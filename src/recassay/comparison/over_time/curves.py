"""The course of a metric along a stream: moving, fading and cumulative averages, also of several folds of users."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
import polars as pl

from recassay.arrays import Float, Int64
from recassay.comparison.over_time.windows import By, How, WindowOptions, windows
from recassay.data.times import TimeValues, time_values
from recassay.errors import InputError, UsageError
from recassay.naming.arguments import checks_types
from recassay.results.exhibit import Exhibit
from recassay.results.outcomes import EVENT, TIME, Outcomes, Played, outcomes_of

SHOWN = 500  # points of a curve in a picture


class Errors(NamedTuple):
    """The computation of an error metric from averages of a column, such as rmse from absolute errors.

    ``before``, such as squaring, is applied to the values of ``column``; ``after``, such as the root, to the averages
    of the results.
    """

    column: str
    before: Callable[[Float], Float]
    after: Callable[[Float], Float]


ERRORS = {"mae": Errors("absolute_error", np.asarray, np.asarray), "rmse": Errors("absolute_error", np.square, np.sqrt)}


@dataclass(frozen=True, eq=False)
class Curve:
    """The average of a metric at each scored event: ``table`` has event, timestamp if known, value, n and partial.

    ``n`` is the number of scored events in the average; ``partial`` marks averages over less than a full window.
    ``marks`` are events to mark in the figure, alarms for instance, with their texts. ``undefined`` counts scored
    events without a defined value; they have no point. ``notes`` are remarks on the whole curve.
    """

    system: str
    metric: str
    windows: WindowOptions
    table: pl.DataFrame
    undefined: int = 0
    marks: tuple[tuple[int, str], ...] = ()
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        size, partial = self.table.height, int(self.table["partial"].sum())
        lines = [f"{self.metric} of {self.system}, over {self.windows}"]
        if size:
            values = self.table["value"].to_numpy()
            lines.append(f"last {values[-1]:.4f}, lowest {values.min():.4f}, highest {values.max():.4f}")
        lines.append(f"{size:,} points, {partial:,} of them with less than a full window")
        lines += [f"event {event:,}: {what}" for event, what in self.marks]
        lines += self.notes
        return "\n".join(lines)

    __repr__ = __str__

    def marked(self, marks: Iterable[tuple[int, str]]) -> Curve:
        """Return the curve with further ``marks``: (event, text) of events to point out in figures, such as alarms."""
        return replace(self, marks=tuple(sorted([*self.marks, *marks])))

    def at(self, events: Int64) -> Float:
        """Return the value of the curve at each event of the stream.

        It is that of the last point up to the event, NaN before the first point.
        """
        after = np.searchsorted(self.table[EVENT].to_numpy(), events, side="right")
        return np.append(np.nan, self.table["value"].to_numpy())[after]

    def exhibit(self) -> Exhibit:
        """Return a figure of the curve with at most 500 points."""
        return exhibit([self])


@checks_types
def over_time(
    outcomes: Outcomes | Played,
    metric: str,
    *,
    window: float | timedelta | None = None,
    how: How = "moving",
    by: By = "scored",
    fading: float | None = None,
    partial: bool = True,
) -> Curve:
    """Return the average of a metric at every scored event.

    ``moving`` is the mean over the last ``window`` scored events; with ``by="event"`` over the scored ones among the
    last ``window`` events of the stream; with ``by="time"`` over those of the last ``window`` time units (seconds for
    dates). ``fading`` is S_j / B_j with S_j = x_j + f S_(j-1) and B_j = 1 + f B_(j-1); f is ``fading``, or 1 - 1 /
    window. ``cumulative`` is the mean so far. The default window is a fiftieth of the stream, at most 5,000 events.
    Points at the start with less than a full window are marked, and left out with ``partial=False``.

    ``mae`` and ``rmse`` are computed from ``absolute_error``: rmse is the root of the mean square in the window.

    >>> hits = np.array([0.0, 1, 0, 1, 1, 1, 0, 1])
    >>> outcomes = Outcomes("Popular", np.array([1, 3, 4, 6, 8, 9, 10, 11]), {"recall@2": hits}, events=12)
    >>> over_time(outcomes, "recall@2", window=3).table["value"].round(4).to_list()
    [0.0, 0.5, 0.3333, 0.6667, 0.6667, 1.0, 0.6667, 0.6667]
    >>> over_time(outcomes, "recall@2", window=3, partial=False).table.head(1).rows()
    [(4, 0.3333333333333333, 3, False)]
    """
    one = outcomes_of(outcomes)
    column, before, after = made_of(one, metric)
    values = one.of(column)
    rows = np.flatnonzero(~np.isnan(values))
    event, values = one.event[rows], before(values[rows])
    times = None if one.times is None else one.times.gather(rows)
    options = windows(how, by, window, fading, scored=rows.size, events=one.events)
    past = options.over(event, moments_of(times, one.system) if options.by == "time" else None)
    columns: dict[str, Any] = {EVENT: event}
    if times is not None:
        columns[TIME] = times
    columns |= {"value": after(past.means(values)), "n": past.sizes(), "partial": past.partial}
    table = pl.DataFrame(columns)
    kept = table if partial else table.filter(~pl.col("partial"))
    return Curve(one.system, metric, options, kept, len(one) - rows.size)


def exhibit(curves: Iterable[Curve], name: str = "over-time") -> Exhibit:
    """Return one figure called ``name`` with the curves of a metric and the events marked in them."""
    curves = list(curves)
    undefined = sum(one.undefined for one in curves)
    notes = [f"{one.system} at event {event:,}: {what}." for one in curves for event, what in one.marks]
    notes += [f"{undefined:,} scored events have no value."] if undefined else []
    notes += [f"{note}." for note in dict.fromkeys(note for one in curves for note in one.notes)]
    note = "Points with less than a full window are marked partial."
    return Exhibit(
        name,
        f"{curves[0].metric} over time",
        " ".join([f"Averages over {curves[0].windows}. {note}", *notes]),
        pl.concat([_thinned_curve(one) for one in curves], how="diagonal"),
        EVENT,
        "value",
        "system",
        mark="mark",
    )


def _thinned_curve(curve: Curve) -> pl.DataFrame:
    """Return a few hundred points of a curve for a figure, among them one at each marked event."""
    table = thinned(curve.table).with_columns(mark=pl.lit(None, pl.String))
    if curve.marks:
        events, texts = zip(*curve.marks, strict=True)
        values = curve.at(np.array(events))
        short = [text.partition("(")[0].partition(":")[0] for text in texts]  # the caption has all of it
        marks = pl.DataFrame({EVENT: events, "value": values, "mark": short})
        table = pl.concat([table, marks.cast({EVENT: pl.Int64})], how="diagonal").sort(EVENT)
    return table.with_columns(system=pl.lit(curve.system))


def thinned(table: pl.DataFrame, points: int = SHOWN) -> pl.DataFrame:
    """Return at most ``points`` rows, evenly spaced, the last row included.

    >>> thinned(pl.DataFrame({"x": range(10)}), 3)["x"].to_list()
    [1, 5, 9]
    """
    step = -(-table.height // points) or 1
    return table[(table.height - 1) % step :: step] if table.height else table


def moments_of(times: pl.Series | None, system: str) -> TimeValues:
    """Return the times of scored events as numbers that never fall; raise I383 if a time falls or there are none.

    ``system`` names the outcomes in the error.
    """
    where = f"outcomes of {system}"
    if times is None:
        what = "these outcomes have no times, so there is no window of time"
        raise InputError("I383", what, where=where, hint="by='event', or play a log that has timestamps")
    moments = time_values(times, where)
    backwards = np.flatnonzero(moments[1:] < moments[:-1])
    if backwards.size:
        before, after = moments[backwards[0] : backwards[0] + 2].tolist()
        what = f"time goes backwards {backwards.size:,} times: {after:g} comes after {before:g}"
        raise InputError("I383", what, where=where, hint="by='event', or sort the log by time before it is played")
    return moments


def made_of(outcomes: Outcomes, metric: str) -> Errors:
    """Return the column that a metric is averaged from, and the functions applied before and after averaging.

    For ``mae`` and ``rmse`` the column is ``absolute_error``, unless ``outcomes`` have the metric itself. Any other
    metric is its own column, and the functions change nothing.
    """
    if metric not in outcomes.values and metric in ERRORS and ERRORS[metric].column in outcomes.values:
        return ERRORS[metric]
    return Errors(metric, np.asarray, np.asarray)


Systems = Outcomes | Played | Iterable[Outcomes | Played] | Mapping[str, Outcomes | Played]


def systems_of(a: Systems, b: Outcomes | Played | None = None) -> dict[str, Outcomes]:
    """Return {name: outcomes} of the systems to compare.

    ``a`` and ``b`` are two systems, or ``a`` alone is a collection of several; a mapping renames them.
    """
    if isinstance(a, Mapping):
        named = [replace(outcomes_of(one), system=name) for name, one in a.items()]
    else:
        named = [outcomes_of(one) for one in (a if isinstance(a, Iterable) else [a])]
    systems: dict[str, Outcomes] = {}
    for one in named if b is None else [*named, outcomes_of(b)]:
        if one.system in systems:
            hint = "give a mapping of name to what was played"
            raise UsageError("U109", f"two systems are called '{one.system}'", hint=hint)
        systems[one.system] = one
    return systems


class PairedValues(NamedTuple):
    """The values of two systems under a metric at the events scored for both, with the times of these events, if known.

    ``dropped`` counts events that were scored for one system only, or where one value is undefined.
    """

    metric: str
    a: str
    b: str
    event: Int64
    times: pl.Series | None
    values_a: Float
    values_b: Float
    dropped: int


def paired_values(a: Outcomes, b: Outcomes, metric: str) -> PairedValues:
    """Return the values of two systems under a metric, at the events of one stream that were scored for both."""
    where = f"{a.system} and {b.system}"
    if a.events != b.events:
        what = f"one stream has {a.events:,} events and the other {b.events:,}"
        raise InputError("I311", what, where=where, hint="play both systems on the same log")
    event, in_a, in_b = np.intersect1d(a.event, b.event, assume_unique=True, return_indices=True)
    if a.users is not None and b.users is not None:
        other = np.flatnonzero((a.users.gather(in_a) != b.users.gather(in_b)).to_numpy())
        if other.size:
            what = f"{other.size:,} of {event.size:,} events are of other users, the first is event {event[other[0]]:,}"
            raise InputError("I311", what, where=where, hint="play both systems on the same log")
    column, _, after = made_of(a, metric)
    if after is not np.asarray:
        what = f"{metric} of a stream is not a mean over its events, so events have no differences"
        raise UsageError("U114", what, where=where, hint=f"compare {column}, or squares of it, event by event")
    values_a, values_b = a.of(column)[in_a], b.of(column)[in_b]
    known = ~(np.isnan(values_a) | np.isnan(values_b))
    if not known.any():
        what = f"no event has a value of {metric} for both: {len(a):,} were scored for one, {len(b):,} for the other"
        raise InputError("I311", what, where=where, hint="play both with the same protocol")
    times = None if a.times is None else a.times.gather(in_a[known])
    dropped = len(a) + len(b) - event.size - int(np.count_nonzero(known))
    return PairedValues(metric, a.system, b.system, event[known], times, values_a[known], values_b[known], dropped)


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
    outcomes = outcomes_of_folds(folds)
    curves = tuple(over_time(one, metric, **options) for one in outcomes)
    events = outcomes[0].events
    at = np.unique(np.linspace(0, events - 1, min(points, events)).round().astype(np.int64))
    read = [pl.DataFrame({EVENT: at, "value": curve.at(at)}) for curve in curves]
    value = pl.col("value")
    table = (
        pl.concat(read)
        .filter(value.is_not_nan())
        .group_by(EVENT)
        .agg(
            mean=value.mean(),
            sd=value.std().fill_null(np.nan),
            lowest=value.min(),
            highest=value.max(),
            folds=pl.len().cast(pl.Int64),
        )
        .sort(EVENT)
    )
    return FoldCurves(curves, table)


def outcomes_of_folds(folds: Folds) -> list[Outcomes]:
    """Return the outcomes (a value per scored event) of each fold: each copy of a system, which has its own users.

    ``folds`` is a list of outcomes, or a result with copies. Raise U113 if there are none, and I311 if they belong to
    streams of different lengths.
    """
    outcomes = [outcomes_of(one) for one in (folds if isinstance(folds, Iterable) else folds.copies)]
    if not outcomes:
        raise UsageError("U113", "there are no folds", hint="play with prequential(folds='split', copies=5)")
    lengths = sorted({one.events for one in outcomes})
    if len(lengths) > 1:
        what = f"the folds belong to streams of {lengths[0]:,} and {lengths[-1]:,} events"
        raise InputError("I311", what, where=f"outcomes of {outcomes[0].system}", hint="give the folds of one stream")
    return outcomes
