"""Discrete Chebyshev polynomials: functions of a rank that are uncorrelated while every rank is equally likely.

On the places 0..N there is one of every degree k up to N, with mean square 1 over the places and positive at 0. They
come from their value at an edge, and from each place to the next:

    y(0)^2 = (2k + 1) N (N-1) .. (N-k+1) / ((N+2) (N+3) .. (N+k+1))
    (x+1) (N-x) (y(x+1) - y(x)) = x (N+1-x) (y(x) - y(x-1)) - k (k+1) y(x)

From an edge inwards that is stable for every degree; from one degree to the next, as is usual, it would not be. The
right half mirrors the left: y(N-x) = (-1)^k y(x).

Reference: Nikiforov, Suslov and Uvarov, Classical orthogonal polynomials of a discrete variable, 1991.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from recassay.data.layout import readonly
from recassay.portable.elementary import exp, log

Float = NDArray[np.float64]


def log_edges(last: int, degrees: int) -> Float:
    """Logarithms of the values at 0 of degrees 0, 1, ... on 0..last, which may be too small to be numbers.

    >>> np.exp(log_edges(1, 2)).round(12).tolist()
    [1.0, 1.0]
    """
    k = np.arange(1.0, degrees)
    steps = np.append(0.0, np.cumsum(log((last - k + 1) / (last + 1 + k))))
    found: Float = (steps + log(2 * np.arange(degrees) + 1)) / 2
    return found


def values(last: int, degrees: int) -> Float:
    """Every degree (columns) at every place (rows).

    >>> values(2, 3).round(6).tolist()
    [[1.0, 1.224745, 0.707107], [1.0, 0.0, -1.414214], [1.0, -1.224745, 0.707107]]
    """
    half = last // 2 + 1
    left = _from_edge(last, readonly(exp(log_edges(last, degrees))), half).T
    right: Float = (left[: last + 1 - half] * _signs(degrees))[::-1]
    return np.concatenate([left, right])


def coefficients(last: int, degrees: int, worth: Float) -> Float:
    """The mean over all places of every degree times a function that is ``worth`` at the first ones, then 0.

    >>> coefficients(2, 3, np.array([1.0])).round(6).tolist()
    [0.333333, 0.408248, 0.235702]
    """
    half = last // 2 + 1
    left = _from_edge(last, readonly(exp(log_edges(last, degrees))), min(worth.size, half))
    found: Float = left @ worth[: left.shape[1]]
    if worth.size > half:
        mirrored = left[:, last + 1 - worth.size : last + 1 - half]
        found += _signs(degrees) * (mirrored[:, ::-1] @ worth[half:])
    return found / (last + 1)


def _signs(degrees: int) -> Float:
    return np.where(np.arange(degrees) % 2 == 0, 1.0, -1.0)


@njit(nogil=True, cache=True)
def _from_edge(last: int, edges: Float, places: int) -> Float:
    """Degrees (rows) at the first places (columns), none of them beyond the middle."""
    found = np.empty((edges.size, places))
    for k in range(edges.size):
        now, step = edges[k], 0.0
        for x in range(places):
            found[k, x] = now
            step = (x * (last + 1.0 - x) * step - k * (k + 1.0) * now) / ((x + 1.0) * max(last - x, 1))
            now += step
    return found
