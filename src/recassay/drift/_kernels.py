"""Loops of drift detectors over losses. Each has a readable twin in ``tests/property/test_drift.py``.

Both write what they know back into the arrays they are handed, so that blocks of any size give the same alarms.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from recassay.portable._kernels import log

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@njit(nogil=True, cache=True)
def page_hinkley(
    events: Ints,
    losses: Floats,
    numbers: Floats,
    delta: float,
    threshold: float,
    fading: float,
    least: int,
    at_zero: bool,
    warn_at: float,
) -> tuple[Ints, NDArray[np.bool_], Ints, Floats, Floats]:
    """Row, kind, begin of the change, mean before and mean after of each alarm.

    ``at_zero``: what adds up is cut off at 0, instead of being held against the lowest it has been.
    """
    place, drift = np.empty(losses.size, np.int64), np.empty(losses.size, np.bool_)
    since, before, after = np.empty(losses.size, np.int64), np.empty(losses.size), np.empty(losses.size)
    found = 0
    n, total, up, lowest, low_n, low_total, low_event, warned = numbers
    for j in range(losses.size):
        if low_event < 0 or n == 0:
            low_event = events[j]
        n += 1
        total += losses[j]
        up = fading * up + (losses[j] - total / n - delta)
        height = max(up, 0.0) if at_zero else up - min(lowest, up)
        if height <= 0:  # the change, if one comes, begins with the next loss
            low_n, low_total, low_event = n, total, -1.0
        if at_zero:
            up = height
        else:
            lowest = min(lowest, up)
        alarm = n >= least and (height >= threshold if at_zero else height > threshold)
        if alarm or (n >= least and not warned and height >= warn_at):
            place[found], drift[found], since[found] = j, alarm, np.int64(low_event)
            before[found] = low_total / low_n if low_n > 0 else np.nan
            after[found] = (total - low_total) / (n - low_n)
            found += 1
            warned = 1.0
        if alarm:
            n, total, up, lowest, low_n, low_total, low_event, warned = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for k, number in enumerate((n, total, up, lowest, low_n, low_total, low_event, warned)):
        numbers[k] = number
    return place[:found].copy(), drift[:found].copy(), since[:found].copy(), before[:found].copy(), after[:found].copy()


@njit(nogil=True, cache=True)
def adwin(
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
) -> tuple[Ints, Ints, Floats, Floats]:
    """Row, begin of the window that is left, mean of what went and mean of what is left, of each alarm.

    Row r of the arrays has buckets of 2^r losses, the oldest first; ``filled`` says how many.
    """
    place, since = np.empty(losses.size, np.int64), np.empty(losses.size, np.int64)
    before, after = np.empty(losses.size), np.empty(losses.size)
    found = 0
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
            place[found], since[found] = j, firsts[oldest, 0]
            before[found], after[found] = gone_sum / gone_n, total / n
            found += 1
    return place[:found].copy(), since[:found].copy(), before[:found].copy(), after[:found].copy()


@njit(nogil=True, cache=True)
def _insert(event: int, loss: float, sums: Floats, squares: Floats, firsts: Ints, filled: Ints) -> None:
    """Put a loss into the first row, and where a row is too full make one bucket of its two oldest for the next."""
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
    """Forget the oldest buckets of a row."""
    for k in range(by, filled[row]):
        sums[row, k - by], squares[row, k - by], firsts[row, k - by] = sums[row, k], squares[row, k], firsts[row, k]
    filled[row] -= by


@njit(nogil=True, cache=True)
def _window(sums: Floats, squares: Floats, filled: Ints) -> tuple[int, float, float, int]:
    """Length, sum and sum of squared deviations of the window, and the row of its oldest bucket."""
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
    """Row and place of the last bucket of the old part at the earliest split that differs too much, or -1, -1."""
    n, total, square, oldest = _window(sums, squares, filled)
    if n < 2:
        return -1, -1
    level = log((4 if hoeffding else 2) * n / delta)
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
    """Forget all that is older than a bucket, and the bucket: how many losses that were, and their sum."""
    n, total = 0, 0.0
    for old in range(filled.size - 1, row - 1, -1):
        buckets = bucket + 1 if old == row else filled[old]
        for k in range(buckets):
            n += 1 << old
            total += sums[old, k]
        _shift(old, buckets, sums, squares, firsts, filled)
    return n, total
