"""How well a system does while a stream runs: moving, fading and cumulative averages."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.comparison.windows import By, How, Windows, windows
from recassay.data.exhibit import Exhibit
from recassay.data.outcomes import EVENT, TIME, Outcomes, Played, outcomes_of
from recassay.data.times import Moments, moments
from recassay.errors import InputError

SHOWN = 500  # points of a curve in a picture

Floats = NDArray[np.float64]


class Errors(NamedTuple):
    """A metric that is made of the averages of another column."""

    column: str
    before: Callable[[Floats], Floats]
    after: Callable[[Floats], Floats]


ERRORS = {"mae": Errors("absolute_error", np.asarray, np.asarray), "rmse": Errors("absolute_error", np.square, np.sqrt)}


@dataclass(frozen=True, eq=False)
class Curve:
    """One point per scored event: ``table`` has event, timestamp if there are any, value, n and partial.

    ``n`` is how many scored events stand behind the value, and ``partial`` marks those that have less behind them than
    the window asks for. ``marks`` are events of the stream worth a line in the picture, an alarm say, and what they
    are. ``undefined`` counts scored events where the metric is undefined: they are no points. ``notes`` are about the
    whole of it.
    """

    system: str
    metric: str
    windows: Windows
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
        lines.append(f"{size:,} points, {partial:,} of them with less than a window behind them")
        lines += [f"event {event:,}: {what}" for event, what in self.marks]
        lines += self.notes
        return "\n".join(lines)

    __repr__ = __str__

    def marked(self, marks: Iterable[tuple[int, str]]) -> Curve:
        """The same curve with more marks."""
        return replace(self, marks=tuple(sorted([*self.marks, *marks])))

    def at(self, events: NDArray[np.int64]) -> Floats:
        """The value as it stood at events of the stream: that of the last point up to there; NaN before the first."""
        after = np.searchsorted(self.table[EVENT].to_numpy(), events, side="right")
        return np.append(np.nan, self.table["value"].to_numpy())[after]

    def exhibit(self) -> Exhibit:
        """The curve as a picture of at most 500 points."""
        return exhibit([self])


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
    """The average of a metric up to every scored event.

    ``moving`` is the mean of the last ``window`` scored events, or with ``by="event"`` of the scored ones among the
    last so many of the stream, or with ``by="time"`` of those of the last so many units of time (seconds, for dates).
    ``fading`` is S_j / B_j with S_j = x_j + f S_(j-1) and B_j = 1 + f B_(j-1); f is ``fading``, or 1 - 1 / window.
    ``cumulative`` is the mean so far. The default window is a fiftieth of the stream, at most 5,000 events. Points at
    the start that have less than a window behind them are marked, and with ``partial=False`` left out.

    ``mae`` and ``rmse`` are made of ``absolute_error``: rmse is the root of the mean of squares in the window.

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
    asked = windows(how, by, window, fading, scored=rows.size, events=one.events)
    behind = asked.over(event, moments_of(times, one.system) if asked.by == "time" else None)
    columns: dict[str, Any] = {EVENT: event}
    if times is not None:
        columns[TIME] = times
    columns |= {"value": after(behind.means(values)), "n": behind.sizes(), "partial": behind.partial}
    table = pl.DataFrame(columns)
    kept = table if partial else table.filter(~pl.col("partial"))
    return Curve(one.system, metric, asked, kept, len(one) - rows.size)


def exhibit(curves: Iterable[Curve], name: str = "over-time") -> Exhibit:
    """Curves of one metric in one picture, with their marks."""
    curves = list(curves)
    undefined = sum(one.undefined for one in curves)
    told = [f"{one.system} at event {event:,}: {what}." for one in curves for event, what in one.marks]
    told += [f"{undefined:,} scored events have no value."] if undefined else []
    told += [f"{note}." for note in dict.fromkeys(note for one in curves for note in one.notes)]
    note = "Points with less than a window behind them are marked partial."
    return Exhibit(
        name,
        f"{curves[0].metric} over time",
        " ".join([f"Averages over {curves[0].windows}. {note}", *told]),
        pl.concat([_pictured(one) for one in curves], how="diagonal"),
        EVENT,
        "value",
        "system",
        mark="mark",
    )


def _pictured(curve: Curve) -> pl.DataFrame:
    """A few hundred points of a curve, and one at each mark."""
    table = thinned(curve.table).with_columns(mark=pl.lit(None, pl.String))
    if curve.marks:
        events, texts = zip(*curve.marks, strict=True)
        values = curve.at(np.array(events))
        short = [text.partition("(")[0].partition(":")[0] for text in texts]  # the caption has all of it
        marks = pl.DataFrame({EVENT: events, "value": values, "mark": short})
        table = pl.concat([table, marks.cast({EVENT: pl.Int64})], how="diagonal").sort(EVENT)
    return table.with_columns(system=pl.lit(curve.system))


def thinned(table: pl.DataFrame, points: int = SHOWN) -> pl.DataFrame:
    """At most so many rows, evenly spread, the last one among them.

    >>> thinned(pl.DataFrame({"x": range(10)}), 3)["x"].to_list()
    [1, 5, 9]
    """
    step = -(-table.height // points) or 1
    return table[(table.height - 1) % step :: step] if table.height else table


def moments_of(times: pl.Series | None, system: str) -> Moments:
    """Times of scored events as numbers that do not fall."""
    where = f"outcomes of {system}"
    if times is None:
        what = "these outcomes have no times, so there is no window of time"
        raise InputError("I383", what, where=where, hint="by='event', or play a log that has timestamps")
    found = moments(times, where)
    backwards = np.flatnonzero(found[1:] < found[:-1])
    if backwards.size:
        before, after = found[backwards[0] : backwards[0] + 2].tolist()
        what = f"time goes backwards {backwards.size:,} times: {after:g} comes after {before:g}"
        raise InputError("I383", what, where=where, hint="by='event', or sort the log by time before it is played")
    return found


def made_of(outcomes: Outcomes, metric: str) -> Errors:
    """The column whose averages a metric is made of, and what is done before and after."""
    if metric not in outcomes.values and metric in ERRORS and ERRORS[metric].column in outcomes.values:
        return ERRORS[metric]
    return Errors(metric, np.asarray, np.asarray)
