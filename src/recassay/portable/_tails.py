"""Tails and quantiles of distributions, for compiled loops: incomplete gamma and beta functions, the normal quantile.

Factors such as x^a e^-x / Gamma(a) are exponentials of large numbers that nearly cancel, so their exponents are
double-doubles. ``distributions.py`` has the same functions for arrays.

References: Numerical Recipes (Press et al. 2007, chapter 6) for the series and continued fractions; Wichura, Algorithm
AS 241 (1988) for the normal quantile.
"""

from __future__ import annotations

import math

import numpy as np

from recassay._kernel_cache import njit
from recassay.portable._kernels import add, exp_pair, log, log_gamma_pair, log_pair, multiply, two_product, two_sum

ENOUGH = 2.0**-56  # a term that changes nothing any more
LEAST = 1e-300  # in place of 0 in a continued fraction
MOST_STEPS = 1_000_000


@njit(nogil=True, cache=True)
def _exp_of_pair(x: float, x_low: float) -> float:
    """Return the exponential of the double-double (x, x_low), rounded to a double."""
    if x < -745.0:
        return 0.0
    p, p_low, e = exp_pair(x, x_low)
    return math.ldexp(p + p_low, e)


@njit(nogil=True, cache=True)
def gamma_tail(a: float, x: float, x_low: float) -> float:
    """Return Q(a, x), the share of a gamma distribution of shape a above x, where x is the double-double (x, x_low).

    For x below a + 1 it is 1 minus the power series of the share below x, and for larger x a continued fraction.
    """
    if x <= 0.0:
        return 1.0
    if not x < np.inf:
        return np.nan if math.isnan(x) else 0.0
    p, p_low = log_pair(x)
    p, p_low = multiply(p, p_low + x_low / x, a, 0.0)
    p, p_low = add(p, p_low, -x, -x_low)
    q, q_low = log_gamma_pair(a)
    p, p_low = add(p, p_low, -q, -q_low)
    factor = _exp_of_pair(p, p_low)
    if x < a + 1.0:
        term, total, n = 1.0 / a, 1.0 / a, a
        while term > total * ENOUGH:
            n += 1.0
            term *= x / n
            total += term
        return 1.0 - total * factor
    b = x + 1.0 - a
    c, d = 1.0 / LEAST, 1.0 / b
    h = d
    for i in range(1, MOST_STEPS):
        top = i * (a - i)
        b += 2.0
        d = top * d + b
        c = b + top / c
        d = 1.0 / (d if d != 0.0 else LEAST)
        step = d * (c if c != 0.0 else LEAST)
        h *= step
        if abs(step - 1.0) < ENOUGH:
            break
    return factor * h


@njit(nogil=True, cache=True)
def _beta_fraction(a: float, b: float, x: float, y: float) -> float:
    """Return I_x(a, b) B(a, b) / (x^a y^b) with y = 1 - x, for x at most its mean a / (a + b).

    It is computed by the continued fraction of DiDonato and Morris (1992, equation 9), which loses no digits where x or
    y is tiny.
    """
    excess = a * y - b * x + 1.0  # 1 + a - (a + b) x
    before_top, before_bottom, top, bottom = 0.0, 1.0, 1.0, excess / (1.0 + 1.0 / a)
    value = top / bottom
    for n in range(1, MOST_STEPS):
        shape = a + 2.0 * n - 1.0
        w = n * (b - n) * x
        alpha = (a + n - 1.0) * (a + b + n - 1.0) / (shape * shape) * w * x
        beta = n + w / shape + (a + n) / (shape + 2.0) * (excess + n * (1.0 + y))
        before_top, top = top, alpha * before_top + beta * top
        before_bottom, bottom = bottom, alpha * before_bottom + beta * bottom
        last, value = value, top / bottom
        if abs(value - last) <= ENOUGH * value:
            break
        before_top, before_bottom, top, bottom = before_top / bottom, before_bottom / bottom, value, 1.0
    return value


@njit(nogil=True, cache=True)
def beta_tail(a: float, b: float, z: float, z_low: float) -> float:
    """Return the regularised incomplete beta function I_x(a, b) at x = 1 / (1 + z), for the double-double (z, z_low).

    Given as z, neither x nor 1 - x = z / (1 + z) loses digits.
    """
    if z <= 0.0:
        return 1.0
    if not z < np.inf:
        return np.nan if math.isnan(z) else 0.0
    whole, rest = two_sum(1.0, z)
    rest += z_low
    p, p_low = log_pair(whole)
    q = rest / whole
    p, p_low = add(p, p_low, q, -0.5 * q * q)  # log(1 + z)
    q, q_low = log_pair(z)
    q, q_low = multiply(q, q_low + z_low / z, b, 0.0)
    p, p_low = multiply(p, p_low, a + b, 0.0)
    p, p_low = add(q, q_low, -p, -p_low)  # of x^a (1 - x)^b
    for shape, sign in ((a + b, 1.0), (a, -1.0), (b, -1.0)):
        q, q_low = log_gamma_pair(shape)
        p, p_low = add(p, p_low, sign * q, sign * q_low)
    factor = _exp_of_pair(p, p_low)
    x, y = 1.0 / (1.0 + z), z / (1.0 + z)
    if a * y >= b * x:
        return factor * _beta_fraction(a, b, x, y)
    return 1.0 - factor * _beta_fraction(b, a, y, x)


@njit(nogil=True, cache=True)
def normal_cdf(x: float) -> float:
    """Return the share of a standard normal distribution below x."""
    square, square_low = two_product(x, x)
    tail = 0.5 * gamma_tail(0.5, 0.5 * square, 0.5 * square_low)
    return tail if x < 0.0 else 1.0 - tail


@njit(nogil=True, cache=True)
def _ratio(x: float, table: np.ndarray) -> float:
    """Return the quotient of two polynomials of degree 7 at x.

    The two rows of ``table`` are their coefficients, that of the highest power first.
    """
    top, bottom = 0.0, 0.0
    for i in range(8):
        top = top * x + table[0, i]
        bottom = bottom * x + table[1, i]
    return top / bottom


MIDDLE = np.array([
    (2509.0809287301226727, 33430.575583588128105, 67265.770927008700853, 45921.953931549871457,
     13731.693765509461125, 1971.5909503065514427, 133.14166789178437745, 3.387132872796366608),
    (5226.495278852854561, 28729.085735721942674, 39307.89580009271061, 21213.794301586595867,
     5394.1960214247511077, 687.1870074920579083, 42.313330701600911252, 1.0),
])  # fmt: skip
OUTER = np.array([
    (7.7454501427834140764e-4, 0.0227238449892691845833, 0.24178072517745061177, 1.27045825245236838258,
     3.64784832476320460504, 5.7694972214606914055, 4.6303378461565452959, 1.42343711074968357734),
    (1.05075007164441684324e-9, 5.475938084995344946e-4, 0.0151986665636164571966, 0.14810397642748007459,
     0.68976733498510000455, 1.6763848301838038494, 2.05319162663775882187, 1.0),
])  # fmt: skip
FAR = np.array([
    (2.01033439929228813265e-7, 2.71155556874348757815e-5, 0.0012426609473880784386, 0.026532189526576123093,
     0.29656057182850489123, 1.7848265399172913358, 5.4637849111641143699, 6.6579046435011037772),
    (2.04426310338993978564e-15, 1.4215117583164458887e-7, 1.8463183175100546818e-5, 7.868691311456132591e-4,
     0.0148753612908506148525, 0.13692988092273580531, 0.59983220655588793769, 1.0),
])  # fmt: skip


@njit(nogil=True, cache=True)
def normal_quantile(p: float) -> float:
    """Return the x with P(Z < x) = p for a standard normal Z; -inf and inf at 0 and 1."""
    if not 0.0 < p < 1.0:
        return -np.inf if p == 0.0 else (np.inf if p == 1.0 else np.nan)
    q = p - 0.5
    if abs(q) <= 0.425:
        return q * _ratio(0.180625 - q * q, MIDDLE)
    r = math.sqrt(-log(p if q < 0.0 else 1.0 - p))
    x = _ratio(r - 1.6, OUTER) if r <= 5.0 else _ratio(r - 5.0, FAR)
    return -x if q < 0.0 else x


@njit(nogil=True, cache=True)
def t_both_tails(t: float, freedom: float) -> float:
    """Return P(|T| > |t|) for Student's T with ``freedom`` degrees of freedom."""
    square, square_low = two_product(t, t)
    z = square / freedom
    back, back_low = two_product(z, freedom)
    return beta_tail(0.5 * freedom, 0.5, z, ((square - back) - back_low + square_low) / freedom)


@njit(nogil=True, cache=True)
def t_quantile(p: float, freedom: float) -> float:
    """Return the t with P(T < t) = p for Student's T, p at least 1/2, by bisection to the last bit."""
    beyond = 2.0 * (1.0 - p)
    low, high = 0.0, 2.0
    while t_both_tails(high, freedom) > beyond:
        low, high = high, 2.0 * high
    middle = 0.5 * (low + high)
    while low < middle < high:
        if t_both_tails(middle, freedom) > beyond:
            low = middle
        else:
            high = middle
        middle = 0.5 * (low + high)
    return high


# Loops over flat arrays, one a function: numba keeps no compiled loop on disk that is handed a function.


@njit(nogil=True, cache=True)
def each_normal_cdf(values: np.ndarray, out: np.ndarray) -> None:
    """Write normal_cdf(values[i]) to ``out[i]``."""
    for i in range(values.size):
        out[i] = normal_cdf(values[i])


@njit(nogil=True, cache=True)
def each_normal_quantile(values: np.ndarray, out: np.ndarray) -> None:
    """Write normal_quantile(values[i]) to ``out[i]``."""
    for i in range(values.size):
        out[i] = normal_quantile(values[i])


@njit(nogil=True, cache=True)
def each_gamma_tail(shapes: np.ndarray, values: np.ndarray, out: np.ndarray) -> None:
    """Write Q(shapes[i], values[i]) to ``out[i]``: the share of a gamma distribution above the value."""
    for i in range(values.size):
        out[i] = gamma_tail(shapes[i], values[i], 0.0)


@njit(nogil=True, cache=True)
def each_beta_tail(a: np.ndarray, b: np.ndarray, z: np.ndarray, out: np.ndarray) -> None:
    """Write to ``out[i]`` the regularised incomplete beta function I_x(a[i], b[i]) at x = 1 / (1 + z[i])."""
    for i in range(z.size):
        out[i] = beta_tail(a[i], b[i], z[i], 0.0)


@njit(nogil=True, cache=True)
def each_t_both_tails(values: np.ndarray, freedoms: np.ndarray, out: np.ndarray) -> None:
    """Write P(|T| > |values[i]|) to ``out[i]``, T with ``freedoms[i]`` degrees of freedom."""
    for i in range(values.size):
        out[i] = t_both_tails(values[i], freedoms[i])
