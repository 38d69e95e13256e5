"""Discrete Chebyshev polynomials: functions of a rank that are uncorrelated if every rank is equally likely.

On the points 0..N there is one of every degree k up to N, with mean square 1 over the points and positive at 0. They
are computed from their value at an edge (point 0 or N), and from each point to the next:

    y(0)^2 = (2k + 1) N (N-1) .. (N-k+1) / ((N+2) (N+3) .. (N+k+1))
    (x+1) (N-x) (y(x+1) - y(x)) = x (N+1-x) (y(x) - y(x-1)) - k (k+1) y(x)

From an edge inwards this recurrence is stable for every degree; the usual recurrence from one degree to the next is
not. The right half mirrors the left: y(N-x) = (-1)^k y(x).

Reference: Nikiforov, Suslov and Uvarov, Classical orthogonal polynomials of a discrete variable, 1991.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recassay._kernel_cache import njit
from recassay.columnar.layout import readonly

Float = NDArray[np.float64]


def log_edge_values(last: int, degrees: int) -> Float:
    """Return the logs of the values at point 0 of the polynomials of degrees 0..degrees-1 on the points 0..last.

    The values themselves may be too small for a float.

    >>> np.exp(log_edge_values(1, 2)).round(12).tolist()
    [1.0, 1.0]
    """
    k = np.arange(1.0, degrees)
    steps = np.append(0.0, np.cumsum(np.log((last - k + 1) / (last + 1 + k))))
    found: Float = (steps + np.log(2 * np.arange(degrees) + 1)) / 2
    return found


def polynomial_values(last: int, degrees: int) -> Float:
    """Return the polynomials of degrees 0..degrees-1 (columns) at every point 0..last (rows).

    >>> polynomial_values(2, 3).round(6).tolist()
    [[1.0, 1.224745, 0.707107], [1.0, 0.0, -1.414214], [1.0, -1.224745, 0.707107]]
    """
    half = last // 2 + 1
    left = _from_edge(last, readonly(np.exp(log_edge_values(last, degrees))), half).T
    right: Float = (left[: last + 1 - half] * _signs(degrees))[::-1]
    return np.concatenate([left, right])


def coefficients(last: int, degrees: int, credit: Float) -> Float:
    """Return the mean of credit(x) * polynomial(x) over the points x = 0..last, for each degree below ``degrees``.

    credit(x) is ``credit[x]``, and 0 at the points beyond the end of that array.

    >>> coefficients(2, 3, np.array([1.0])).round(6).tolist()
    [0.333333, 0.408248, 0.235702]
    """
    half = last // 2 + 1
    left = _from_edge(last, readonly(np.exp(log_edge_values(last, degrees))), min(credit.size, half))
    found: Float = left @ credit[: left.shape[1]]
    if credit.size > half:
        mirrored = left[:, last + 1 - credit.size : last + 1 - half]
        found += _signs(degrees) * (mirrored[:, ::-1] @ credit[half:])
    return found / (last + 1)


def _signs(degrees: int) -> Float:
    return np.where(np.arange(degrees) % 2 == 0, 1.0, -1.0)


@njit(nogil=True, cache=True)
def _from_edge(last: int, edges: Float, places: int) -> Float:
    """Return the polynomials (rows) on the points 0..last at the first ``places`` points (columns).

    ``edges[k]`` is the value of polynomial k at 0. No point is beyond the middle.
    """
    found = np.empty((edges.size, places))
    for k in range(edges.size):
        now, step = edges[k], 0.0
        for x in range(places):
            found[k, x] = now
            step = (x * (last + 1.0 - x) * step - k * (k + 1.0) * now) / ((x + 1.0) * max(last - x, 1))
            now += step
    return found
