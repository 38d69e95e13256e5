"""Logarithms, exponentials and powers of numbers and arrays, correctly rounded.

Every function returns a float for a number and an array of doubles for an array. For compiled loops the same functions
are in ``portable/_kernels.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recassay.portable import _kernels

Floats = NDArray[np.float64]
Number = float | np.floating[Any] | np.integer[Any]


@overload
def log(x: Number) -> float: ...
@overload
def log(x: NDArray[Any]) -> Floats: ...
def log(x: Number | NDArray[Any]) -> Any:
    """Return the natural logarithm: -inf of 0, NaN of a negative number.

    >>> log(1.0), log(np.array([0.0, 1.0])).tolist()
    (0.0, [-inf, 0.0])
    """
    return _each(_kernels.log, _kernels.each_log, x)


@overload
def log2(x: Number) -> float: ...
@overload
def log2(x: NDArray[Any]) -> Floats: ...
def log2(x: Number | NDArray[Any]) -> Any:
    """Return the logarithm to base 2, exact for powers of 2.

    >>> log2(np.array([1, 2, 1024])).tolist()
    [0.0, 1.0, 10.0]
    """
    return _each(_kernels.log2, _kernels.each_log2, x)


@overload
def log1p(x: Number) -> float: ...
@overload
def log1p(x: NDArray[Any]) -> Floats: ...
def log1p(x: Number | NDArray[Any]) -> Any:
    """Return log(1 + x), precise where x is tiny.

    >>> log1p(1e-20)
    1e-20
    """
    return _each(_kernels.log1p, _kernels.each_log1p, x)


@overload
def exp(x: Number) -> float: ...
@overload
def exp(x: NDArray[Any]) -> Floats: ...
def exp(x: Number | NDArray[Any]) -> Any:
    """Return e^x.

    >>> exp(0.0), exp(1.0)
    (1.0, 2.718281828459045)
    """
    return _each(_kernels.exp, _kernels.each_exp, x)


@overload
def exp2(x: Number) -> float: ...
@overload
def exp2(x: NDArray[Any]) -> Floats: ...
def exp2(x: Number | NDArray[Any]) -> Any:
    """Return 2^x, exact for whole numbers.

    >>> exp2(np.array([-1, 0.5, 10])).tolist()
    [0.5, 1.4142135623730951, 1024.0]
    """
    return _each(_kernels.exp2, _kernels.each_exp2, x)


@overload
def log_gamma(x: Number) -> float: ...
@overload
def log_gamma(x: NDArray[Any]) -> Floats: ...
def log_gamma(x: Number | NDArray[Any]) -> Any:
    """Return the logarithm of the gamma function of positive numbers: log (n - 1)! for whole n.

    The error is at most 2e-15 or one unit in the last place.

    >>> log_gamma(np.array([1, 2, 5])).round(6).tolist()
    [0.0, 0.0, 3.178054]
    """
    return _each(_kernels.log_gamma, _kernels.each_log_gamma, x)


def power(base: ArrayLike, exponent: ArrayLike) -> Any:
    """Return base^exponent, broadcast; NaN for a negative base.

    >>> power(0.5, np.arange(3)).tolist(), power(2.0, 0.5)
    ([1.0, 0.5, 0.25], 1.4142135623730951)
    """
    bases, exponents = np.broadcast_arrays(np.asarray(base, np.float64), np.asarray(exponent, np.float64))
    if not bases.ndim:
        return _kernels.power(float(bases), float(exponents))
    out = np.empty(bases.shape)
    _kernels.each_power(_flat_copy(bases), _flat_copy(exponents), out.reshape(-1))
    return out


def whole_power(base: Floats, exponent: int) -> Floats:
    """Return base^exponent, elementwise, for a non-negative integer exponent, by squaring and multiplying.

    >>> whole_power(np.array([1.0, 2.0, -3.0]), 3).tolist(), whole_power(np.array([5.0]), 0).tolist()
    ([1.0, 8.0, -27.0], [1.0])
    """
    result = np.ones_like(base)
    for bit in bin(exponent)[2:]:
        result = result * result * base if bit == "1" else result * result
    return result


def zeta(s: float) -> float:
    """Return Riemann's zeta function at ``s`` above 1: 19 terms, and the rest by the formula of Euler and Maclaurin.

    >>> round(zeta(2.0), 12)
    1.644934066848
    """
    n = 20.0
    found = float(np.sum(power(np.arange(1.0, n), -s)))
    term = float(power(n, -s))
    found += term * n / (s - 1.0) + term / 2.0
    for k, weight in enumerate((1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160)):
        term *= (s if k == 0 else (s + 2 * k - 1) * (s + 2 * k) / n) / n
        found += weight * term
    return found


def _each(scalar: Callable[[float], float], loop: Callable[[Floats, Floats], None], x: Number | NDArray[Any]) -> Any:
    """Return ``scalar(x)`` for a number; for an array call ``loop(x, out)`` and return ``out``."""
    values = np.asarray(x, np.float64)
    if not values.ndim:
        return scalar(float(values))
    out = np.empty(values.shape)
    loop(_flat_copy(values), out.reshape(-1))
    return out


def _flat_copy(values: Floats) -> Floats:
    """Return a flat, writable copy; numba would compile a loop again for a read-only array."""
    return np.array(values, order="C").reshape(-1)
