"""Binomial numbers for compiled loops."""

from __future__ import annotations

import numpy as np

from recassay._kernel_cache import njit
from recassay.portable._kernels import exp, log, log1p, log_gamma


@njit(nogil=True, cache=True)
def binomial(n: int, p: float, u: float) -> int:
    """Return the number of successes in ``n`` trials of probability ``p``, by inversion of a uniform number ``u``.

    Counts are tried from the most likely one outwards, and the probability of each is subtracted from u until nothing
    is left. So the result is found in about as many steps as the standard deviation.
    """
    if n <= 0 or p <= 0.0:
        return 0
    if p >= 1.0:
        return n
    mode = min(int((n + 1) * p), n)
    start = exp(
        log_gamma(n + 1.0) - log_gamma(mode + 1.0) - log_gamma(n - mode + 1.0)
        + mode * log(p) + (n - mode) * log1p(-p)
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


@njit(nogil=True, cache=True)
def multinomials(n: int, weights: np.ndarray, uniforms: np.ndarray, out: np.ndarray) -> None:
    """Write to each row of ``out`` how many of ``n`` draws fall into each cell; ``weights`` are those of the cells.

    A cell is drawn in proportion to its weight. Cell after cell gets a binomial number, made of its entry in
    ``uniforms`` (rows, cells).
    """
    left_over = np.zeros(
        weights.size + 1
    )  # summed from the end, so that the last cell with a weight takes what is left
    for cell in range(weights.size - 1, -1, -1):
        left_over[cell] = left_over[cell + 1] + weights[cell]
    for row in range(out.shape[0]):
        left = n
        for cell in range(weights.size):
            many = 0
            if left > 0 and weights[cell] > 0.0:
                many = binomial(left, weights[cell] / left_over[cell], uniforms[row, cell])
            out[row, cell] = many
            left -= many
