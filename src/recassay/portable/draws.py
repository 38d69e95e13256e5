"""Random numbers of named distributions, computed from uniform ones with the same bits on every processor.

NumPy's generators draw uniform numbers, integers and permutations by integer arithmetic; those are used directly.
NumPy accepts or rejects its normal, gamma, beta, binomial and multinomial numbers by logarithms of the C library, so a
difference in the last bit could change everything drawn afterwards. The functions here replace them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from recassay.portable import _draws
from recassay.portable.distributions import normal_quantile
from recassay.portable.elementary import exp, log, power

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
    drawn: Floats = normal_quantile(uniforms(rng, shape))
    return drawn


def log_normals(rng: np.random.Generator, sigma: float, shape: Shape) -> Floats:
    """Return numbers whose logarithms are normal with mean 0 and standard deviation ``sigma``."""
    return exp(sigma * normals(rng, shape))


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
        scale = power(uniforms(rng, shape), 1 / alpha)
        drawn: Floats = gammas(rng, alpha + 1, shape) * scale
        return drawn
    d = alpha - 1 / 3
    c = 1 / np.sqrt(9 * d)
    out = np.empty(int(np.prod(shape)))
    missing = np.arange(out.size)
    while missing.size:
        x, u = normals(rng, missing.size), uniforms(rng, missing.size)
        root = np.maximum(1 + c * x, 0.0)
        v = root * root * root
        accepted = log(u) < 0.5 * x * x + d - d * v + d * log(v)  # log 0 is -inf: never accepted
        out[missing[accepted]] = d * v[accepted]
        missing = missing[~accepted]
    return out.reshape(shape)


def dirichlets(rng: np.random.Generator, alphas: Floats, rows: int) -> Floats:
    """Return (rows, len(alphas)) shares; each row sums to 1 and is Dirichlet distributed with parameters ``alphas``.

    >>> from recassay.rng import derive
    >>> dirichlets(derive(1, "example"), np.ones(3), 2).sum(axis=1).round(12).tolist()
    [1.0, 1.0]
    """
    drawn = np.empty((rows, alphas.size))
    for alpha in np.unique(alphas):
        columns = np.flatnonzero(alphas == alpha)
        drawn[:, columns] = gammas(rng, float(alpha), (rows, columns.size))
    shares: Floats = drawn / drawn.sum(axis=1, keepdims=True)
    return shares


def multinomials(rng: np.random.Generator, n: int, weights: NDArray[Any], rows: int) -> NDArray[np.int64]:
    """Return how many of ``n`` draws fall into each cell (rows, cells), for cells drawn in proportion to ``weights``.

    >>> from recassay.rng import derive
    >>> drawn = multinomials(derive(1, "example"), 100, np.array([1.0, 0.0, 3.0]), 1000)
    >>> drawn.sum(axis=1).tolist() == [100] * 1000, drawn[:, 1].any().item(), round(drawn[:, 0].mean())
    (True, False, 25)
    """
    out = np.zeros((rows, weights.size), np.int64)
    numbers = uniforms(rng, (rows, weights.size))
    if weights.size == 1 and weights[0] > 0:  # one cell takes all; the kernel is among the slowest to compile
        out[:] = n
    else:
        _draws.multinomials(n, weights.astype(np.float64), numbers, out)
    return out
