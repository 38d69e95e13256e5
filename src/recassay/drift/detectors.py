"""The detectors: ADWIN (Bifet and Gavalda 2007), and the test of Page and Hinkley (Page 1954, Hinkley 1971).

The compiled loops write the state of a detector back into the arrays they are given, so that blocks of any size give
the same alarms. ``tests/property/test_drift.py`` compares each loop with a readable version.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from recassay._kernel_cache import njit
from recassay.drift.base import Alarm, Detector, State
from recassay.naming.named import ABOVE_0_UP_TO_1, COUNT, INSIDE, POSITIVE

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
ROWS = 48  # rows of buckets; bucket sizes double from row to row, so no stream can fill them all
STATE = 8  # numbers: count, sum, cumulative sum, its minimum; count, sum and event at the minimum; warned


@dataclass(frozen=True, repr=False)
class ADWIN(Detector):
    """A detector with the longest window of losses consistent with one mean; it drops the old part after a change.

    A window of n losses is split into n0 and n1, with h = 1 / (1/n0 + 1/n1) and d = delta / n. The means of both parts
    differ too much if their difference exceeds sqrt(2/h var ln(2/d)) + 2/(3h) ln(2/d), with the variance of the window
    (``bound="variance"``), or sqrt(ln(4/d) / (2h)) (``bound="hoeffding"``, for losses in [0, 1]).

    The window is stored in buckets whose sizes double, at most ``buckets`` of a size, and is split between buckets. So
    memory grows with the logarithm of its length. It is tested after every ``clock`` losses. An alarm reports any
    change of the mean, or with ``sees="rise"`` only rises.

    >>> losses = np.repeat([0.0, 1.0], 30)
    >>> [alarm.event for alarm in ADWIN(delta=0.05, buckets=100).start().on_scores(np.arange(60), losses)]
    [48]
    """

    name: ClassVar[str] = "ADWIN"
    delta: Annotated[float, INSIDE] = 0.002
    bound: Literal["variance", "hoeffding"] = "variance"
    buckets: Annotated[int, COUNT] = 5
    clock: Annotated[int, COUNT] = 1
    sees: Literal["change", "rise"] = "change"

    def initial_state(self) -> State:
        """Return the state, named arrays, of a detector without buckets."""
        shape = (ROWS, self.buckets + 1)
        return {
            "sums": np.zeros(shape),
            "squares": np.zeros(shape),  # of deviations from the mean of the bucket
            "firsts": np.zeros(shape, np.int64),  # the event of the first loss of each bucket
            "filled": np.zeros(ROWS, np.int64),
            "seen": np.zeros(1, np.int64),
        }

    def update(self, state: State, events: NDArray[np.int64], losses: NDArray[np.float64]) -> list[Alarm]:
        """Add the losses at these events to ``state``, drop those from before a change of mean; return the alarms."""
        rows = _adwin(
            events, losses, state["sums"], state["squares"], state["firsts"], state["filled"], state["seen"],
            self.delta, self.bound == "hoeffding", self.clock,
        )  # fmt: skip
        alarms = _alarms(rows, self)
        return alarms if self.sees == "change" else [alarm for alarm in alarms if alarm.after > alarm.before]


@dataclass(frozen=True, repr=False)
class PageHinkley(Detector):
    """A detector of a rising mean: it sums the deviations of losses from their running mean.

    Let mean_n be the mean of all n losses x since the last alarm, and m_n = f m_(n-1) + (x_n - mean_n - delta). An
    alarm is raised if n >= least and m_n - min(0, m_1 .. m_n) > threshold (``form="classic"``, as in river). The other
    form uses s_n = max(0, f s_(n-1) + x_n - mean_n - delta) >= threshold (``form="cusum"``, cut off at 0). With fading
    f = 1 the two differ only in > and >=. After an alarm the detector restarts. With ``warn_at`` below the threshold it
    raises one warning when the sum reaches it. It detects only rises of the loss.

    >>> watch = PageHinkley(delta=0.05, threshold=1, least=1, warn_at=0.6).start()
    >>> found = watch.on_scores([3, 5, 8, 9, 11, 12, 13], [0, 0, 1, 0, 0, 1, 1])
    >>> [(alarm.event, alarm.kind, alarm.since) for alarm in found]
    [(8, 'warning', 8), (13, 'drift', 8)]
    """

    name: ClassVar[str] = "PageHinkley"
    delta: float = 0.005
    threshold: Annotated[float, POSITIVE] = 50.0
    fading: Annotated[float, ABOVE_0_UP_TO_1] = 1.0
    least: int = 30
    form: Literal["classic", "cusum"] = "classic"
    warn_at: float | None = None

    def validate(self) -> None:
        """Raise U102 if a warning does not come before an alarm."""
        if self.warn_at is not None and not 0 < self.warn_at < self.threshold:
            raise self.refuse("warn_at", "a warning comes before an alarm", "choose it between 0 and threshold")

    def initial_state(self) -> State:
        """Return the state of a detector that has seen no loss: sums of 0."""
        return {"numbers": np.zeros(STATE)}

    def update(self, state: State, events: NDArray[np.int64], losses: NDArray[np.float64]) -> list[Alarm]:
        """Add the losses at these events to the sums in ``state``, in place, and return the alarms."""
        rows = _page_hinkley(
            events, losses, state["numbers"], float(self.delta), float(self.threshold), float(self.fading), self.least,
            self.form == "cusum", np.inf if self.warn_at is None else float(self.warn_at),
        )  # fmt: skip
        return _alarms(rows, self)


def _alarms(rows: Floats, detector: Detector) -> list[Alarm]:
    """Return the alarms of a detector from rows (event, 1 for drift or 0 for a warning, since, before, after)."""
    return [
        Alarm(int(event), "drift" if drift else "warning", str(detector), int(since), before, after)
        for event, drift, since, before, after in rows.tolist()
    ]


@njit(nogil=True, cache=True)
def _page_hinkley(
    events: Ints,
    losses: Floats,
    numbers: Floats,
    delta: float,
    threshold: float,
    fading: float,
    least: int,
    at_zero: bool,
    warn_at: float,
) -> Floats:
    """Return a row per alarm: event, kind, first event of the change, mean before, mean after.

    The kind is 1 for drift and 0 for a warning. ``losses[j]`` is the loss at event ``events[j]`` of the stream.
    ``numbers`` is the state of the detector, which is updated in place. ``delta`` is subtracted from each deviation
    from the mean, ``fading`` multiplies the old sum, an alarm needs a sum above ``threshold`` and at least ``least``
    losses, and a warning a sum of ``warn_at``; see :class:`~recassay.drift.PageHinkley`. With ``at_zero``, the
    cumulative sum is cut off at 0; otherwise it is compared with its minimum so far.
    """
    alarms, found = np.empty((losses.size, 5)), 0
    n, total, up, lowest, low_n, low_total, low_event, warned = numbers
    for j in range(losses.size):
        if low_event < 0 or n == 0:
            low_event = events[j]
        n += 1
        total += losses[j]
        up = fading * up + (losses[j] - total / n - delta)
        height = max(up, 0.0) if at_zero else up - min(lowest, up)
        if height <= 0:  # a change, if any, begins with the next loss
            low_n, low_total, low_event = n, total, -1.0
        if at_zero:
            up = height
        else:
            lowest = min(lowest, up)
        alarm = n >= least and (height >= threshold if at_zero else height > threshold)
        if alarm or (n >= least and not warned and height >= warn_at):
            before = low_total / low_n if low_n > 0 else np.nan
            after = (total - low_total) / (n - low_n)
            alarms[found] = np.array([float(events[j]), 1.0 if alarm else 0.0, low_event, before, after])
            found += 1
            warned = 1.0
        if alarm:
            n, total, up, lowest, low_n, low_total, low_event, warned = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for k, number in enumerate((n, total, up, lowest, low_n, low_total, low_event, warned)):
        numbers[k] = number
    return alarms[:found].copy()


@njit(nogil=True, cache=True)
def _adwin(
    events: Ints,
    losses: Floats,
    sums: Floats,
    squares: Floats,
    firsts: Ints,
    filled: Ints,
    seen: Ints,
    delta: float,
    hoeffding: bool,
    clock: int,
) -> Floats:
    """Return a row per alarm: event, kind, first event still in the window, mean before and mean after.

    The kind is always 1 (drift). The means are those of the losses that the alarm drops from the window, and of those
    that it keeps. ``losses[j]`` is the loss at event ``events[j]`` of the stream. The state is updated in place: row r
    of ``sums``, ``squares`` (of deviations from the mean) and ``firsts`` (first event) has ``filled[r]`` buckets of 2^r
    losses each, the oldest first; ``seen`` is the number of losses so far. The window is checked after every ``clock``
    losses, at confidence ``delta``, with the bound of Hoeffding if ``hoeffding``, else with that of the variance.
    """
    alarms, found = np.empty((losses.size, 5)), 0
    for j in range(losses.size):
        _insert(events[j], losses[j], sums, squares, firsts, filled)
        seen[0] += 1
        if seen[0] % clock:
            continue
        gone_n, gone_sum = 0, 0.0
        while True:
            row, bucket = _split(sums, squares, filled, delta, hoeffding)
            if row < 0:
                break
            n, total = _drop(row, bucket, sums, squares, firsts, filled)
            gone_n += n
            gone_sum += total
        if gone_n:
            n, total, _, oldest = _window(sums, squares, filled)
            alarms[found] = np.array([float(events[j]), 1.0, float(firsts[oldest, 0]), gone_sum / gone_n, total / n])
            found += 1
    return alarms[:found].copy()


@njit(nogil=True, cache=True)
def _insert(event: int, loss: float, sums: Floats, squares: Floats, firsts: Ints, filled: Ints) -> None:
    """Add a loss as a bucket of row 0; merge the two oldest buckets of a full row into one bucket of the next row.

    ``event`` is the number of the event that had this loss. Row r of ``sums``, ``squares`` (of deviations from the
    mean) and ``firsts`` (first events) has ``filled[r]`` buckets of 2^r losses, the oldest first.
    """
    total, square, first = loss, 0.0, event
    for row in range(filled.size):
        last = filled[row]
        sums[row, last], squares[row, last], firsts[row, last] = total, square, first
        filled[row] += 1
        if filled[row] < sums.shape[1]:
            return
        size = 2.0**row
        apart = sums[row, 0] - sums[row, 1]
        total, first = sums[row, 0] + sums[row, 1], firsts[row, 0]
        square = squares[row, 0] + squares[row, 1] + apart * apart / (2 * size)
        _shift(row, 2, sums, squares, firsts, filled)


@njit(nogil=True, cache=True)
def _shift(row: int, by: int, sums: Floats, squares: Floats, firsts: Ints, filled: Ints) -> None:
    """Remove the ``by`` oldest buckets of row ``row`` in place, and move the others to the front.

    Row r of ``sums``, ``squares`` and ``firsts`` has ``filled[r]`` buckets of 2^r losses, the oldest first.
    """
    for k in range(by, filled[row]):
        sums[row, k - by], squares[row, k - by], firsts[row, k - by] = sums[row, k], squares[row, k], firsts[row, k]
    filled[row] -= by


@njit(nogil=True, cache=True)
def _window(sums: Floats, squares: Floats, filled: Ints) -> tuple[int, float, float, int]:
    """Return (number of losses in buckets, their sum, their squared deviations, row of the oldest bucket).

    Deviations are from the mean of all these losses. Row r of ``sums`` and ``squares`` has ``filled[r]`` buckets of 2^r
    losses, the oldest first.
    """
    n, total, square, oldest = 0, 0.0, 0.0, 0
    for row in range(filled.size):
        size = 1 << row
        for k in range(filled[row]):
            oldest = row
            if n:
                apart = sums[row, k] / size - total / n
                square += squares[row, k] + apart * apart * (n * size / (n + size))
            else:
                square = squares[row, k]
            n += size
            total += sums[row, k]
    return n, total, square, oldest


@njit(nogil=True, cache=True)
def _split(sums: Floats, squares: Floats, filled: Ints, delta: float, hoeffding: bool) -> tuple[int, int]:
    """Return (row, position) of the last bucket before the earliest split whose two parts have too different means.

    Return (-1, -1) without such a split. The test is ADWIN's at confidence ``delta``, with the bound of Hoeffding if
    ``hoeffding``, else with that of the variance. Row r of ``sums`` and ``squares`` has ``filled[r]`` buckets of 2^r
    losses, the oldest first.
    """
    n, total, square, oldest = _window(sums, squares, filled)
    if n < 2:
        return -1, -1
    level = math.log((4 if hoeffding else 2) * n / delta)
    spread = 2 * level * square / n
    n0, total0 = 0, 0.0
    for row in range(oldest, -1, -1):
        for k in range(filled[row]):
            n0 += 1 << row
            total0 += sums[row, k]
            n1 = n - n0
            if not n1:
                return -1, -1
            each = 1 / n0 + 1 / n1  # 1 / h
            apart = abs(total0 / n0 - (total - total0) / n1)
            if apart > (np.sqrt(level * each / 2) if hoeffding else np.sqrt(spread * each) + 2 * level * each / 3):
                return row, k
    return -1, -1


@njit(nogil=True, cache=True)
def _drop(row: int, bucket: int, sums: Floats, squares: Floats, firsts: Ints, filled: Ints) -> tuple[int, float]:
    """Remove a bucket and all older ones; return the number of the removed losses and their sum.

    The bucket is at position ``bucket`` of row ``row``. Row r of ``sums``, ``squares`` and ``firsts`` has ``filled[r]``
    buckets of 2^r losses, the oldest first.
    """
    n, total = 0, 0.0
    for old in range(filled.size - 1, row - 1, -1):
        buckets = bucket + 1 if old == row else filled[old]
        for k in range(buckets):
            n += 1 << old
            total += sums[old, k]
        _shift(old, buckets, sums, squares, firsts, filled)
    return n, total
