"""Random numbers of named distributions, computed from uniform numbers.

NumPy may change how it draws normal, gamma and multinomial numbers from one version to the next; uniform numbers stay.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from recassay._kernel_cache import njit

Floats = NDArray[np.float64]
Shape = int | tuple[int, ...]
HALF_STEP = 2.0**-53


def uniforms(rng: np.random.Generator, shape: Shape) -> Floats:
    """Return uniform numbers between 0 and 1, both excluded: odd multiples of 2^-53."""
    return np.floor(rng.random(shape) * 2.0**52) * 2.0**-52 + HALF_STEP


def normals(rng: np.random.Generator, shape: Shape) -> Floats:
    """Return standard normal numbers, by the quantile function.

    >>> from recassay.rng import derive
    >>> drawn = normals(derive(1, "example"), 100_000)
    >>> abs(float(drawn.mean())) < 0.01, abs(float(drawn.std()) - 1) < 0.01
    (True, True)
    """
    return np.asarray(scipy.special.ndtri(uniforms(rng, shape)))


def gammas(rng: np.random.Generator, alpha: float, shape: Shape) -> Floats:
    """Return gamma numbers of shape ``alpha`` and scale 1.

    By Marsaglia and Tsang (2000): d v with v = (1 + c x)^3 for a normal x, accepted if
    log u < x^2 / 2 + d - d v + d log v. A shape below 1 is that of alpha + 1 times u^(1 / alpha).

    >>> from recassay.rng import derive
    >>> drawn = gammas(derive(1, "example"), 0.5, 100_000)
    >>> abs(float(drawn.mean()) - 0.5) < 0.01, abs(float(drawn.var()) - 0.5) < 0.02
    (True, True)
    """
    if alpha < 1:
        scale = uniforms(rng, shape) ** (1 / alpha)
        return gammas(rng, alpha + 1, shape) * scale
    d = alpha - 1 / 3
    c = 1 / np.sqrt(9 * d)
    out = np.empty(int(np.prod(shape)))
    missing = np.arange(out.size)
    while missing.size:
        x, u = normals(rng, missing.size), uniforms(rng, missing.size)
        root = np.maximum(1 + c * x, 0.0)
        v = root * root * root
        with np.errstate(divide="ignore"):  # log 0 is -inf: never accepted
            accepted = np.log(u) < 0.5 * x * x + d - d * v + d * np.log(v)
        out[missing[accepted]] = d * v[accepted]
        missing = missing[~accepted]
    return out.reshape(shape)


def multinomials(rng: np.random.Generator, n: int, weights: NDArray[Any], rows: int) -> NDArray[np.int64]:
    """Return how many of ``n`` draws fall into each category, ``rows`` times independently: (rows, categories).

    A category is drawn with probability proportional to its entry in ``weights``.

    >>> from recassay.rng import derive
    >>> drawn = multinomials(derive(1, "example"), 100, np.array([1.0, 0.0, 3.0]), 1000)
    >>> drawn.sum(axis=1).tolist() == [100] * 1000, drawn[:, 1].any().item(), round(drawn[:, 0].mean())
    (True, False, 25)
    """
    numbers = uniforms(rng, (rows, weights.size))
    if weights.size == 1 and weights[0] > 0:  # one cell takes all, so that small jobs compile no kernel
        return np.full((rows, 1), n)
    out = np.zeros((rows, weights.size), np.int64)
    _multinomials(n, weights.astype(np.float64), numbers, out)
    return out


@njit(nogil=True, cache=True)
def _multinomials(n: int, weights: np.ndarray, uniforms: np.ndarray, out: np.ndarray) -> None:
    """Write to each row of ``out`` how many of ``n`` draws fall into each category (rows, categories).

    A category is drawn with probability proportional to its weight. One category after another gets a binomial number,
    made of its entry in ``uniforms`` (rows, categories).
    """
    left_over = np.zeros(weights.size + 1)  # added from the end: the last cell with a weight takes what is left
    for cell in range(weights.size - 1, -1, -1):
        left_over[cell] = left_over[cell + 1] + weights[cell]
    for row in range(out.shape[0]):
        left = n
        for cell in range(weights.size):
            if left > 0 and weights[cell] > 0.0:
                out[row, cell] = _binomial(left, weights[cell] / left_over[cell], uniforms[row, cell])
                left -= out[row, cell]


@njit(nogil=True, cache=True)
def _binomial(n: int, p: float, u: float) -> int:
    """Return the number of successes in ``n`` trials of probability ``p``, by inversion of a uniform number ``u``.

    Counts are tried from the most likely one outwards, and the probability of each is subtracted from u until nothing
    is left. So the result is found in about as many steps as the standard deviation.
    """
    if p >= 1.0:
        return n
    mode = min(int((n + 1) * p), n)
    start = math.exp(
        math.lgamma(n + 1.0) - math.lgamma(mode + 1.0) - math.lgamma(n - mode + 1.0)
        + mode * math.log(p) + (n - mode) * math.log1p(-p)
    )  # fmt: skip
    odds = p / (1.0 - p)
    low, high, chance_low, chance_high = mode, mode, start, start
    u -= start
    while u > 0.0 and (low > 0 or high < n):
        if high < n:
            chance_high *= (n - high) / (high + 1.0) * odds
            high += 1
            u -= chance_high
            if u <= 0.0:
                return high
        if low > 0:
            chance_low *= low / ((n - low + 1.0) * odds)
            low -= 1
            u -= chance_low
            if u <= 0.0:
                return low
        if chance_low + chance_high < 1e-320:  # what is left of u is what rounding lost
            break
    return mode
