"""Logarithms, exponentials and powers in double-double arithmetic, for compiled loops.

A double-double is an unevaluated sum of two doubles, the second at most half a unit in the last place of the first, and
has some 106 bits. The sums and products below are exact (Dekker 1971, Knuth 1969) as long as nothing is contracted to a
fused multiply-add, which numba does only under ``fastmath``. A result is rounded to a double once, at the end: to the
nearest one, but for about one argument in 2^40.

``elementary.py`` has the same functions for arrays; ``tests/property/test_portable.py`` compares them with decimal
arithmetic.
"""

from __future__ import annotations

import math

import numpy as np

from recassay._kernel_cache import njit
from recassay.portable._tables import (
    EXP_LOWER,
    EXP_STEPS,
    EXP_UPPER,
    FIFTH,
    HALF_LOG_2PI,
    HUNDRED_TWENTIETH,
    LN2,
    LN2_HEAD,
    LN2_TAIL,
    LOG_LOWER,
    LOG_STEPS,
    LOG_UPPER,
    PER_LN2,
    SIXTH,
    THIRD,
    TWENTY_FOURTH,
)  # fmt: skip

SPLITTER = 134217729.0  # 2^27 + 1
ROOT_HALF = 0.7071067811865476
LARGEST, SMALLEST = 709.782712893384, -745.1332191019412  # exponentials beyond are infinite, or 0
TINY, HUGE = 2.0**-30, 2.0**100
NEARLY = 2.0**-66

# ``inline`` costs less compile time here than calls cost at run time: the functions are a few operations each.


@njit(nogil=True, cache=True, inline="always")
def two_sum(a: float, b: float) -> tuple[float, float]:
    """Return (rounded a + b, its rounding error), whose sum is exactly a + b."""
    total = a + b
    shadow = total - a
    return total, (a - (total - shadow)) + (b - shadow)


@njit(nogil=True, cache=True, inline="always")
def quick_sum(a: float, b: float) -> tuple[float, float]:
    """Return (rounded a + b, its rounding error); exact only if |a| >= |b|."""
    total = a + b
    return total, b - (total - a)


@njit(nogil=True, cache=True, inline="always")
def two_product(a: float, b: float) -> tuple[float, float]:
    """Return (rounded a * b, its rounding error), whose sum is exactly a * b."""
    product = a * b
    big_a, big_b = SPLITTER * a, SPLITTER * b
    upper_a, upper_b = big_a - (big_a - a), big_b - (big_b - b)
    lower_a, lower_b = a - upper_a, b - upper_b
    return product, ((upper_a * upper_b - product) + upper_a * lower_b + lower_a * upper_b) + lower_a * lower_b


@njit(nogil=True, cache=True)
def add(a: float, a_low: float, b: float, b_low: float) -> tuple[float, float]:
    """Return the sum of the double-doubles (a, a_low) and (b, b_low), as a double-double."""
    total, rest = two_sum(a, b)
    low, low_rest = two_sum(a_low, b_low)
    total, rest = quick_sum(total, rest + low)
    return quick_sum(total, rest + low_rest)


@njit(nogil=True, cache=True)
def multiply(a: float, a_low: float, b: float, b_low: float) -> tuple[float, float]:
    """Return the product of the double-doubles (a, a_low) and (b, b_low), as a double-double."""
    product, rest = two_product(a, b)
    return quick_sum(product, rest + (a * b_low + a_low * b))


@njit(nogil=True, cache=True)
def divide(a: float, b: float, b_low: float) -> tuple[float, float]:
    """Return the double ``a`` divided by the double-double (b, b_low), as a double-double."""
    first = a / b
    upper, lower = multiply(first, 0.0, b, b_low)
    second = ((a - upper) - lower) / b
    return quick_sum(first, second)


@njit(nogil=True, cache=True)
def _log_of_mantissa(m: float) -> tuple[float, float]:
    """Return the logarithm of a number between sqrt(1/2) and sqrt(2) as a double-double.

    It is log(c) + 2 (s + s^3 / 3 + s^5 / 5 + ...), with c the multiple of 1/128 nearest to m and s = (m - c) / (m + c);
    |s| is below 0.003.
    """
    step = int(m * LOG_STEPS + 0.5)
    c = step / LOG_STEPS
    below, below_low = two_sum(m, c)
    s, s_low = divide(m - c, below, below_low)
    if step == LOG_STEPS and s == 0.0:
        return 0.0, 0.0
    t, t_low = multiply(s, s_low, s, s_low)
    rest = 2.0 / 7.0 + t * (2.0 / 9.0 + t * (2.0 / 11.0 + t * (2.0 / 13.0)))
    p, p_low = multiply(t, t_low, rest, 0.0)
    p, p_low = add(FIFTH[0], FIFTH[1], p, p_low)
    p, p_low = multiply(t, t_low, p, p_low)
    p, p_low = add(THIRD[0], THIRD[1], p, p_low)
    p, p_low = multiply(t, t_low, p, p_low)
    p, p_low = add(2.0, 0.0, p, p_low)
    p, p_low = multiply(s, s_low, p, p_low)
    return (p, p_low) if step == LOG_STEPS else add(LOG_UPPER[step], LOG_LOWER[step], p, p_low)


@njit(nogil=True, cache=True)
def _quick_log_of_mantissa(m: float) -> tuple[float, float]:
    """Return the logarithm of a number between sqrt(1/2) and sqrt(2) as a double-double, correct to 70 bits.

    The series is that of :func:`_log_of_mantissa` in plain doubles, which takes a third of the time.
    """
    step = int(m * LOG_STEPS + 0.5)
    c = step / LOG_STEPS
    below, below_low = two_sum(m, c)
    s = (m - c) / below
    p, p_low = two_product(s, below)
    s_low = (((m - c) - p) - p_low - s * below_low) / below
    t = s * s
    rest = s * t * (2.0 / 3.0 + t * (2.0 / 5.0 + t * (2.0 / 7.0 + t * (2.0 / 9.0))))
    p, p_low = two_sum(LOG_UPPER[step], 2.0 * s)
    return quick_sum(p, p_low + (LOG_LOWER[step] + (2.0 * s_low + rest)))


@njit(nogil=True, cache=True, inline="always")
def _rounds_alike(p: float, p_low: float) -> bool:
    """Return whether all numbers within 2^-66 |p| of p + p_low round to the same double."""
    slack = abs(p) * NEARLY
    return p + (p_low - slack) == p + (p_low + slack)


@njit(nogil=True, cache=True)
def _parts(x: float) -> tuple[float, int]:
    """Return (m, e) with x = m 2^e and m between sqrt(1/2) and sqrt(2), for positive finite x."""
    m, e = math.frexp(x)
    return (2.0 * m, e - 1) if m < ROOT_HALF else (m, e)


@njit(nogil=True, cache=True)
def log_pair(x: float) -> tuple[float, float]:
    """Return the natural logarithm of a positive finite number as a double-double."""
    m, e = _parts(x)
    p, p_low = _log_of_mantissa(m)
    if e == 0:
        return p, p_low
    tail, tail_low = two_product(float(e), LN2_TAIL[0])
    tail, tail_low = quick_sum(tail, tail_low + e * LN2_TAIL[1])
    p, p_low = add(p, p_low, tail, tail_low)
    return add(e * LN2_HEAD, 0.0, p, p_low)


@njit(nogil=True, cache=True)
def _no_log(x: float) -> float:
    """Return the logarithm of a number that has no finite one: 0 (-inf), infinity, a negative number or NaN (NaN)."""
    if x == 0.0:
        return -np.inf
    return np.inf if x > 0.0 else np.nan


@njit(nogil=True, cache=True)
def log(x: float) -> float:
    """Return the natural logarithm."""
    if not 0.0 < x < np.inf:
        return _no_log(x)
    m, e = _parts(x)
    p, p_low = _quick_log_of_mantissa(m)
    if e != 0:
        p, low = two_sum(e * LN2_HEAD, p)
        p, p_low = quick_sum(p, low + (p_low + e * LN2_TAIL[0]))
    if not _rounds_alike(p, p_low):
        p, p_low = log_pair(x)
    return p + p_low


@njit(nogil=True, cache=True)
def log2(x: float) -> float:
    """Return the logarithm to base 2; exact for powers of 2."""
    if not 0.0 < x < np.inf:
        return _no_log(x)
    m, e = _parts(x)
    p, p_low = _quick_log_of_mantissa(m)
    p, p_low = multiply(p, p_low, PER_LN2[0], PER_LN2[1])
    p, low = two_sum(float(e), p)
    p, p_low = quick_sum(p, low + p_low)
    if not _rounds_alike(p, p_low):
        p, p_low = _log_of_mantissa(m)
        p, p_low = multiply(p, p_low, PER_LN2[0], PER_LN2[1])
        p, p_low = add(float(e), 0.0, p, p_low)
    return p + p_low


@njit(nogil=True, cache=True)
def log1p(x: float) -> float:
    """Return log(1 + x), also where x is tiny."""
    if not -1.0 < x < np.inf:
        return _no_log(1.0 + x)
    if x > HUGE:
        return log(x)
    whole, rest = two_sum(1.0, x)
    p, p_low = log_pair(whole)
    q, q_low = divide(rest, whole, 0.0)
    p, p_low = add(p, p_low, q, q_low - 0.5 * q * q)
    return p + p_low


@njit(nogil=True, cache=True)
def _exp_of_rest(r: float, r_low: float) -> tuple[float, float]:
    """Return e^(r + r_low) as a double-double, for |r| below 0.006, by the Taylor series."""
    rest = 1.0 / 39916800.0 + r * (1.0 / 479001600.0)
    rest = 1.0 / 40320.0 + r * (1.0 / 362880.0 + r * (1.0 / 3628800.0 + r * rest))
    rest = 1.0 / 720.0 + r * (1.0 / 5040.0 + r * rest)
    p, p_low = multiply(r, r_low, rest, 0.0)
    p, p_low = add(HUNDRED_TWENTIETH[0], HUNDRED_TWENTIETH[1], p, p_low)
    p, p_low = multiply(r, r_low, p, p_low)
    p, p_low = add(TWENTY_FOURTH[0], TWENTY_FOURTH[1], p, p_low)
    p, p_low = multiply(r, r_low, p, p_low)
    p, p_low = add(SIXTH[0], SIXTH[1], p, p_low)
    p, p_low = multiply(r, r_low, p, p_low)
    p, p_low = add(0.5, 0.0, p, p_low)
    p, p_low = multiply(r, r_low, p, p_low)
    p, p_low = add(1.0, 0.0, p, p_low)
    p, p_low = multiply(r, r_low, p, p_low)
    return add(1.0, 0.0, p, p_low)


@njit(nogil=True, cache=True)
def exp_pair(x: float, x_low: float) -> tuple[float, float, int]:
    """Return (high, low, k) such that e^(x + x_low) = (high + low) 2^k.

    With j the whole number nearest to 64 x / ln 2, e^x is 2^(j / 64) exp(x - j ln 2 / 64); 64 powers are tabulated.
    """
    k = math.floor(x * (EXP_STEPS / LN2[0]) + 0.5)
    part = k / EXP_STEPS
    tail, tail_low = two_product(part, LN2_TAIL[0])
    tail, tail_low = quick_sum(tail, tail_low + part * LN2_TAIL[1])
    r, r_low = add(x - part * LN2_HEAD, x_low, -tail, -tail_low)
    p, p_low = _exp_of_rest(r, r_low)
    step = int(k) % EXP_STEPS
    p, p_low = multiply(p, p_low, EXP_UPPER[step], EXP_LOWER[step])
    return p, p_low, (int(k) - step) // EXP_STEPS


@njit(nogil=True, cache=True)
def exp(x: float) -> float:
    """Return e^x."""
    if not SMALLEST < x < LARGEST:
        return x if math.isnan(x) else (np.inf if x > 0.0 else 0.0)
    p, p_low, e = exp_pair(x, 0.0)
    return math.ldexp(p + p_low, e)


@njit(nogil=True, cache=True)
def exp2(x: float) -> float:
    """Return 2^x; exact for whole numbers."""
    if not -1075.0 < x < 1024.0:
        return x if math.isnan(x) else (np.inf if x > 0.0 else 0.0)
    k = math.floor(x + 0.5)
    p, p_low = two_product(x - k, LN2[0])
    p, p_low, e = exp_pair(p, p_low + (x - k) * LN2[1])
    return math.ldexp(p + p_low, e + int(k))


@njit(nogil=True, cache=True)
def expm1(x: float) -> float:
    """Return e^x - 1, also where x is tiny."""
    if abs(x) < TINY:
        return x + 0.5 * x * x
    if not -40.0 < x < 40.0:
        return exp(x) - 1.0
    p, p_low, e = exp_pair(x, 0.0)
    p, p_low = add(math.ldexp(p, e), math.ldexp(p_low, e), -1.0, 0.0)
    return p + p_low


@njit(nogil=True, cache=True)
def power(x: float, y: float) -> float:
    """Return x^y of a base that is not negative; NaN for a negative one."""
    if y == 0.0 or x == 1.0:
        return 1.0
    if not (0.0 < x < np.inf and abs(y) < HUGE):
        return _no_power(x, y)
    p, p_low = log_pair(x)
    p, p_low = multiply(p, p_low, y, 0.0)
    if not SMALLEST < p < LARGEST:
        return np.inf if p > 0.0 else 0.0
    p, p_low, e = exp_pair(p, p_low)
    return math.ldexp(p + p_low, e)


@njit(nogil=True, cache=True)
def _no_power(x: float, y: float) -> float:
    """Return x^y where x is 0, infinite or negative, or y is huge or infinite, or one of them is NaN."""
    if math.isnan(x) or math.isnan(y) or x < 0.0:
        return np.nan
    grows = (x > 1.0) == (y > 0.0)  # away from 1 with a positive exponent, or towards 0 with a negative one
    return np.inf if grows else 0.0


@njit(nogil=True, cache=True)
def log_gamma_pair(x: float) -> tuple[float, float]:
    """Return the logarithm of the gamma function of a positive finite number, as a double-double.

    From 15 on by Stirling's series; below 15 it is log_gamma(x + n) - log(x (x + 1) ... (x + n - 1)). The series is a
    double, so about 1e-18 is lost.
    """
    product, product_low = 1.0, 0.0
    while x < 15.0:
        product, product_low = multiply(product, product_low, x, 0.0)
        x += 1.0
    y = 1.0 / (x * x)
    rest = 1.0 / 1188.0 + y * (-691.0 / 360360.0 + y * (1.0 / 156.0 + y * (-3617.0 / 122400.0)))
    series = (1.0 / 12.0 + y * (-1.0 / 360.0 + y * (1.0 / 1260.0 + y * (-1.0 / 1680.0 + y * rest)))) / x
    p, p_low = log_pair(x)
    p, p_low = multiply(p, p_low, x - 0.5, 0.0)
    p, p_low = add(p, p_low, -x, 0.0)
    p, p_low = add(p, p_low, HALF_LOG_2PI[0], HALF_LOG_2PI[1] + series)
    if product != 1.0:
        q, q_low = log_pair(product)
        p, p_low = add(p, p_low, -q, -q_low - product_low / product)
    return p, p_low


@njit(nogil=True, cache=True)
def log_gamma(x: float) -> float:
    """Return the logarithm of the gamma function of a positive number; infinity at 0, NaN for a negative number."""
    if not 0.0 < x < np.inf:
        return np.inf if x in (np.inf, 0.0) else np.nan
    p, p_low = log_gamma_pair(x)
    return 0.0 if x in (1.0, 2.0) else p + p_low


# Loops over flat arrays, one a function: numba keeps no compiled loop on disk that is handed a function.


@njit(nogil=True, cache=True)
def each_log(values: np.ndarray, out: np.ndarray) -> None:
    """Write log(values[i]) to ``out[i]``."""
    for i in range(values.size):
        out[i] = log(values[i])


@njit(nogil=True, cache=True)
def each_log2(values: np.ndarray, out: np.ndarray) -> None:
    """Write log2(values[i]) to ``out[i]``."""
    for i in range(values.size):
        out[i] = log2(values[i])


@njit(nogil=True, cache=True)
def each_log1p(values: np.ndarray, out: np.ndarray) -> None:
    """Write log(1 + values[i]) to ``out[i]``."""
    for i in range(values.size):
        out[i] = log1p(values[i])


@njit(nogil=True, cache=True)
def each_exp(values: np.ndarray, out: np.ndarray) -> None:
    """Write e^values[i] to ``out[i]``."""
    for i in range(values.size):
        out[i] = exp(values[i])


@njit(nogil=True, cache=True)
def each_exp2(values: np.ndarray, out: np.ndarray) -> None:
    """Write 2^values[i] to ``out[i]``."""
    for i in range(values.size):
        out[i] = exp2(values[i])


@njit(nogil=True, cache=True)
def each_log_gamma(values: np.ndarray, out: np.ndarray) -> None:
    """Write log_gamma(values[i]) to ``out[i]``."""
    for i in range(values.size):
        out[i] = log_gamma(values[i])


@njit(nogil=True, cache=True)
def each_power(bases: np.ndarray, exponents: np.ndarray, out: np.ndarray) -> None:
    """Write bases[i]^exponents[i] to ``out[i]``."""
    for i in range(bases.size):
        out[i] = power(bases[i], exponents[i])
