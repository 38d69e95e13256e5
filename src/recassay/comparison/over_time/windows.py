"""Windows of scored events for each point of a curve, sums over them, and McNemar's test in each (Gama et al. 2009).

The test describes the stream and is no test of it: there are as many windows as events, and neighbouring windows
overlap almost fully. The level does not bound how often the curve crosses it by chance.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from statistics import NormalDist
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from recassay.arrays import Bool, Float, Int64
from recassay.data.times import TimeValues
from recassay.errors import UsageError
from recassay.stats.anytime import faded_sums, running_sums
from recassay.stats.significance import mcnemar_p, mcnemar_signed

How = Literal["moving", "fading", "cumulative"]
By = Literal["scored", "event", "time"]
WIDEST, PARTS = 5000, 50  # the window if none is given: a fiftieth of the stream, at most 5,000 scored events


@dataclass(frozen=True)
class WindowOptions:
    """Options of averaging over a stream: which past events are in the window of an event.

    :func:`windows` validates them and fills in defaults. ``window`` is a number of events, or a length of time; it is
    None for all events so far, which fade by the factor ``fading`` per scored event if that is not None.
    """

    how: How
    by: By
    window: float | None
    fading: float | None

    def over(self, event: Int64, moments: TimeValues | None = None) -> PastWindows:
        """Return the window of each scored event.

        ``event`` are the positions of the scored events in the stream, ``moments`` their times (for windows of time).
        """
        m = event.size
        if self.fading is not None:
            return PastWindows(None, self.fading, np.arange(1, m + 1) < 1 / (1 - self.fading))
        if self.window is None:
            return PastWindows(np.zeros(m, np.int64), None, np.zeros(m, np.bool_))
        places = {"scored": np.arange(m), "event": event, "time": np.asarray(moments, np.float64)}
        where = places[self.by]
        begins = where - self.window  # a window is (now - w, now]
        start = -1 if self.by != "time" else (where[0] if m else 0)
        return PastWindows(np.searchsorted(where, begins, side="right").astype(np.int64), None, begins < start)

    def __str__(self) -> str:
        if self.how == "cumulative":
            return "all scored events so far"
        if self.how == "fading":
            return f"all scored events so far, which fade by f = {self.fading:.10g}"
        unit = {"scored": "scored events", "event": "events of the stream", "time": "units of time"}[self.by]
        return f"the last {self.window:,.10g} {unit}"


LONGEST = 2.0**62  # events or units of time of a window


@dataclass(frozen=True, eq=False)
class PastWindows:
    """The window of past events that ends with each scored event.

    It begins with the scored event ``first``; if that is None, it has all events so far, whose weights fade by the
    factor ``fading``. ``partial`` marks windows that are not full, at the start of a stream.
    """

    first: Int64 | None
    fading: float | None
    partial: Bool

    def sums(self, values: Float) -> Float:
        """Return the sum of the values (one per scored event) in each window, weighted if events fade."""
        if self.first is None:
            assert self.fading is not None
            return np.asarray(faded_sums(values, self.fading))
        rounded, left = running_sums(values)
        return np.asarray((rounded[1:] - rounded[self.first]) + (left[1:] - left[self.first]))

    def sizes(self) -> Int64 | Float:
        """Return the number of scored events in each window, or the sum of their weights if these fade."""
        ones = np.ones(self.partial.size)
        return self.sums(ones) if self.first is None else np.arange(1, self.first.size + 1) - self.first

    def means(self, values: Float) -> Float:
        """Return the mean of the values in each window, weighted if the weights of events fade."""
        return self.sums(values) / self.sizes()


def windows(
    how: How = "moving",
    by: By = "scored",
    window: float | timedelta | None = None,
    fading: float | None = None,
    *,
    scored: int,
    events: int,
) -> WindowOptions:
    """Return validated options of windows, with defaults filled in.

    Raise U196 for a window or fading that is impossible. ``how`` is ``moving``, ``fading`` or ``cumulative``. The
    default ``window`` is a fiftieth of the ``scored`` events (``by="event"``: of all ``events``), at least 1 and at
    most 5,000; with ``by="time"`` it must be given. The default ``fading`` is 1 - 1 / window.

    >>> windows(scored=1000, events=4000)
    WindowOptions(how='moving', by='scored', window=20, fading=None)
    >>> windows("fading", window=100, scored=1000, events=4000)
    WindowOptions(how='fading', by='scored', window=None, fading=0.99)
    """
    if isinstance(window, timedelta):
        window = window.total_seconds()
    if how == "cumulative":
        return WindowOptions(how, by, None, None)
    if how == "fading" and fading is not None:
        if not 0 < fading < 1:
            raise UsageError("U196", f"fading must be between 0 and 1, got {fading:g}", hint="fading=0.999")
        return WindowOptions(how, by, None, fading)
    if window is None and by == "time":
        raise UsageError(
            "U196", "a time window needs a length", where="window=None",
            hint="window=86400 for a day if times are seconds or dates, or a timedelta",
        )  # fmt: skip
    if window is None:
        window = min(WIDEST, max(1, (scored if by == "scored" else events) // PARTS))
    if not 0 < window < LONGEST or (by != "time" and window != int(window)):
        raise UsageError(
            "U196", f"window must be a whole number of events, at least 1, got {window:g}", hint="window=5000"
        )
    if how == "fading":
        if by != "scored" or window < 2:
            raise UsageError(
                "U196", "fading averages count scored events, and need a window of at least 2",
                where=f"by={by!r}, window={window:g}", hint="by='scored', and fading=0.999 or window=1000",
            )  # fmt: skip
        return WindowOptions(how, by, None, 1 - 1 / window)
    return WindowOptions(how, by, window if by == "time" else int(window), None)


FEWEST = 10  # no claim while fewer events than this tell two systems apart, unless a caller says otherwise


@dataclass(frozen=True, eq=False)
class Signed:
    """McNemar's test in the window of each event, with the sign of the better system.

    ``only_a`` and ``only_b`` count the events of the window where only one of the two systems was right. ``signed`` is
    the statistic, positive where a is better. ``claim`` is 1 for a, -1 for b, and 0 if p >= alpha or if too few
    events distinguish the two. Counts that fade are not whole numbers and have no exact p.
    """

    only_a: Float
    only_b: Float
    signed: Float
    p: Float
    claim: NDArray[np.int8]


def signed_mcnemar(
    a: Float,
    b: Float,
    past: PastWindows,
    *,
    alpha: float = 0.01,
    correction: bool = False,
    exact: bool | None = None,
    fewest: int = FEWEST,
) -> Signed:
    """Return McNemar's test in the window of each paired event; where a and b differ, the larger value counts as right.

    ``past`` has the windows, ``alpha`` is the level of ``claim``. p is exact if fewer than 25 events distinguish the
    two; always with ``exact=True``, never with ``exact=False``. ``correction`` is the continuity correction of the
    statistic. Nothing is claimed of a window in which fewer than ``fewest`` events distinguish the two.

    >>> from recassay.comparison.over_time.windows import windows
    >>> a, b = np.array([1.0, 1, 0, 1, 1, 1]), np.array([0.0, 1, 0, 0, 0, 1])
    >>> past = windows(window=6, scored=6, events=6).over(np.arange(6))
    >>> signed_mcnemar(a, b, past).signed.tolist()
    [1.0, 1.0, 1.0, 2.0, 3.0, 3.0]
    """
    only_a, only_b = (past.sums((one > other).astype(np.float64)) for one, other in ((a, b), (b, a)))
    signed = mcnemar_signed(only_a, only_b, correction=correction)
    p = mcnemar_p(only_a, only_b, correction=correction, exact=exact if past.fading is None else False)
    sure = (p < alpha) & (only_a + only_b >= fewest)
    return Signed(only_a, only_b, signed, p, (sure * np.sign(signed)).astype(np.int8))


def threshold(alpha: float) -> float:
    """Return the absolute value of the statistic above which p is below alpha (chi-square with 1 degree of freedom).

    >>> round(threshold(0.01), 6), round(threshold(0.05), 3)
    (6.634897, 3.841)
    """
    return NormalDist().inv_cdf(alpha / 2) ** 2
