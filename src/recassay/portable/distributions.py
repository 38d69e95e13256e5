"""Tails and quantiles of the distributions that intervals and tests use, to about 14 digits.

Every function takes numbers or arrays, broadcast, and returns a float for numbers and doubles for arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from recassay.portable import _tails


def normal_cdf(x: ArrayLike) -> Any:
    """Return the share of a standard normal distribution below x.

    >>> normal_cdf(0.0), round(normal_cdf(-1.959963984540054), 12)
    (0.5, 0.025)
    """
    return _broadcast(_tails.each_normal_cdf, x)


def normal_quantile(p: ArrayLike) -> Any:
    """Return the x with P(Z < x) = p for a standard normal Z.

    >>> normal_quantile(0.5), round(normal_quantile(0.975), 9)
    (0.0, 1.959963985)
    """
    return _broadcast(_tails.each_normal_quantile, p)


def t_both_tails(t: ArrayLike, freedom: ArrayLike) -> Any:
    """Return P(|T| > |t|), a two-sided p-value, for Student's T with ``freedom`` degrees of freedom.

    >>> round(t_both_tails(2.0, 10.0), 9)
    0.073388035
    """
    return _broadcast(_tails.each_t_both_tails, t, freedom)


def t_cdf(t: ArrayLike, freedom: ArrayLike) -> Any:
    """Return P(T < t) for Student's T with ``freedom`` degrees of freedom.

    >>> round(t_cdf(-2.0, 10.0), 9), round(t_cdf(2.0, 10.0), 9)
    (0.036694017, 0.963305983)
    """
    tail = t_both_tails(t, freedom) / 2
    below = np.where(np.asarray(t) < 0, tail, 1 - tail)
    return below if below.ndim else float(below)


def t_quantile(p: float, freedom: float) -> float:
    """Return the t with P(T < t) = p for Student's T with ``freedom`` degrees of freedom.

    >>> round(t_quantile(0.975, 10), 9), t_quantile(0.5, 3)
    (2.228138852, 0.0)
    """
    if p == 0.5:
        return 0.0
    freedom = float(freedom)
    return _tails.t_quantile(p, freedom) if p > 0.5 else -_tails.t_quantile(1 - p, freedom)


def gamma_tail(shape: ArrayLike, x: ArrayLike) -> Any:
    """Return the share of a gamma distribution above x: the regularised upper incomplete gamma function.

    >>> round(gamma_tail(1.0, 2.0), 9)
    0.135335283
    """
    return _broadcast(_tails.each_gamma_tail, shape, x)


def chi2_tail(x: ArrayLike, freedom: ArrayLike) -> Any:
    """Return the share above x of a chi-square distribution with ``freedom`` degrees of freedom.

    >>> round(chi2_tail(3.841458820694124, 1), 12)
    0.05
    """
    return gamma_tail(np.asarray(freedom) / 2, np.asarray(x) / 2)


def f_tail(f: ArrayLike, above: ArrayLike, below: ArrayLike) -> Any:
    """Return the share of an F distribution above f; ``above`` and ``below`` are the degrees of freedom.

    ``above`` are those of the numerator and ``below`` those of the denominator.

    >>> round(f_tail(4.0, 2, 10), 9)
    0.052922149
    """
    above, below = np.asarray(above, np.float64), np.asarray(below, np.float64)
    return _broadcast(_tails.each_beta_tail, below / 2, above / 2, above * np.asarray(f) / below)


def coin_cdf(heads: ArrayLike, tosses: ArrayLike) -> Any:
    """Return the probability of at most ``heads`` heads in ``tosses`` tosses of a fair coin.

    >>> coin_cdf(1, 3), coin_cdf(np.array([0, 3]), 3).tolist()
    (0.5, [0.125, 1.0])
    """
    heads, tosses = np.asarray(heads, np.float64), np.asarray(tosses, np.float64)
    tails = np.maximum(tosses - heads, 0.5)  # without tails the probability is 1 below; 0.5 is only a valid shape
    below = np.where(heads < tosses, _broadcast(_tails.each_beta_tail, tails, heads + 1, 1.0), 1.0)
    return below if below.ndim else float(below)


def _broadcast(kernel: Callable[..., None], *values: ArrayLike) -> Any:
    """Broadcast the arguments, apply ``kernel`` to them as flat arrays, and return its output in the common shape.

    Arguments are copied, because numba would compile the loop again for read-only arrays.
    """
    arrays = np.broadcast_arrays(*(np.asarray(argument, np.float64) for argument in values))
    out = np.empty(arrays[0].shape)
    kernel(*(np.array(array, order="C").reshape(-1) for array in arrays), out.reshape(-1))
    return out if out.ndim else float(out)
