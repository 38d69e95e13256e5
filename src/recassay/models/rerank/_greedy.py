"""Compiled parts that all loops of greedy re-ranking share: a list's candidates, their scaled values, and the best one.

Arguments are those of :mod:`recassay.models.rerank._kernels`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recassay._kernel_cache import njit

Int64 = NDArray[np.int64]
Float = NDArray[np.float64]

NONE, MINMAX, STEP = 0, 1, 2  # how scores and diversities are scaled

# Relative difference up to which values are equal. The rounding error of a sum of up to 2^12 terms of equal sign, each
# exact to 2^-53 of its size, stays below it. Without it, standardising would turn rounding errors into differences.
TOLERANCE = 2.0**-40


@njit(nogil=True, cache=True)
def start_candidates(
    query: int, offsets: Int64, scores: Float, depth: int, norm: int, remaining: Int64, score: Float, order: Int64
) -> int:
    """Write the rows of list ``query`` to ``order`` in their old order, and return the number of candidates.

    The rows of list q are ``offsets[q]:offsets[q + 1]``. The candidates are the first ``depth`` of them: ``remaining``
    gets their rows, and ``score`` their ``scores``, scaled to 0..1 if ``norm`` is MINMAX (0 if all are equal).
    """
    first, last = offsets[query], offsets[query + 1]
    for row in range(first, last):
        order[row] = row
    n = min(last - first, depth)
    for i in range(n):
        remaining[i], score[i] = first + i, scores[first + i]
    if norm == MINMAX and n:
        low, high = score[:n].min(), score[:n].max()
        varied = not _nearly_equal(low, high)
        for i in range(n):
            score[i] = (score[i] - low) / (high - low) if varied else 0.0
    return int(n)


@njit(nogil=True, cache=True)
def append_rest(query: int, offsets: Int64, remaining: Int64, picked: int, n: int, order: Int64) -> None:
    """Write the candidates that were not picked to ``order``, behind the picks of list ``query``, in their old order.

    The list begins at row ``offsets[query]``. ``picked`` of ``n`` candidates were picked; the rows of the others are in
    ``remaining``.
    """
    for i in range(n - picked):
        order[offsets[query] + picked + i] = remaining[i]


@njit(nogil=True, cache=True)
def pick_best(score: Float, diversity: Float, n: int, weight: float, norm: int) -> tuple[int, float]:
    """Return (i, value) of the best of ``n`` candidates; of those equal up to rounding, the first.

    The value is (1 - weight) x score + weight x diversity. If ``norm`` is STEP, both are standardised first.
    """
    relevance_scale, diversity_scale = (1.0 - weight, 0.0, 1.0), (weight, 0.0, 1.0)  # weight, mean, standard deviation
    if norm == STEP:
        mean, sd = _moments(score, n)
        relevance_scale = (1.0 - weight, mean, sd)
        mean, sd = _moments(diversity, n)
        diversity_scale = (weight, mean, sd)
    best, most, reach = 0, -np.inf, 0.0
    for i in range(n):
        value, error = _value(score[i], diversity[i], relevance_scale, diversity_scale)
        if value > most:
            best, most, reach = i, value, error
    for i in range(best):
        value, error = _value(score[i], diversity[i], relevance_scale, diversity_scale)
        if most - value <= reach + error:
            return i, value
    return best, most


@njit(nogil=True, inline="always")
def _value(
    score: float,
    diversity: float,
    relevance_scale: tuple[float, float, float],
    diversity_scale: tuple[float, float, float],
) -> tuple[float, float]:
    """Return the value of a candidate, and a bound on its rounding error: TOLERANCE times the size of its terms.

    The value is the sum of weight x (x - mean) / standard deviation for ``score`` and ``diversity``.
    ``relevance_scale`` and ``diversity_scale`` are (weight, mean, standard deviation) of each; a term with standard
    deviation 0 is left out.
    """
    value, size = 0.0, 0.0
    if relevance_scale[2] > 0:
        value += relevance_scale[0] * ((score - relevance_scale[1]) / relevance_scale[2])
        size += relevance_scale[0] * ((abs(score) + abs(relevance_scale[1])) / relevance_scale[2])
    if diversity_scale[2] > 0:
        value += diversity_scale[0] * ((diversity - diversity_scale[1]) / diversity_scale[2])
        size += diversity_scale[0] * ((abs(diversity) + abs(diversity_scale[1])) / diversity_scale[2])
    return value, TOLERANCE * size


@njit(nogil=True, cache=True)
def _moments(values: Float, n: int) -> tuple[float, float]:
    """Return mean and sample standard deviation of the first ``n`` values.

    The standard deviation is 0 if the values are equal up to rounding.
    """
    total, low, high = 0.0, values[0], values[0]
    for i in range(n):
        total += values[i]
        low, high = min(low, values[i]), max(high, values[i])
    if _nearly_equal(low, high):
        return low, 0.0
    mean, reach = total / n, high - low
    squares = 0.0
    for i in range(n):
        share = (values[i] - mean) / reach  # squares of tiny values would underflow
        squares += share * share
    return mean, reach * float(np.sqrt(squares / (n - 1)))


@njit(nogil=True, inline="always")
def _nearly_equal(low: float, high: float) -> bool:
    """Return whether ``low`` and ``high`` differ by no more than rounding."""
    return bool(high - low <= TOLERANCE * max(abs(low), abs(high)))
