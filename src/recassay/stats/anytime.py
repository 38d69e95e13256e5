"""Anytime-valid bounds for the difference of two systems: they hold at all events of a stream at once.

Let d_t in [-c, c] be the difference at event t, and mu_t its expectation given everything before t. S_t is the sum of
the d so far and V_t the sum of their squares. Then exp(l (S_t - mu_1 - .. - mu_t) - psi(l) V_t) is a supermartingale
for every l in [0, 1/c), with psi(l) = (-log(1 - c l) - c l) / c^2 (Fan, Grama and Liu 2015).

Its mixture over l by a gamma distribution is a supermartingale too. The mixture has a closed form m(s, v) (Howard,
Ramdas, McAuliffe and Sekhon 2021, proposition 9). By Ville's inequality it ever reaches 2 / alpha with probability at
most alpha / 2. So with probability 1 - alpha or more, at all events t,

    |S_t / t - (mu_1 + .. + mu_t) / t| < u(V_t) / t,        u(v) the s at which m(s, v) = 2 / alpha.

This is the comparison of forecasters of Choe and Ramdas (2023), with 0 as the forecast of d_t. Where metrics are 0 or 1
and two systems are close, V_t counts the events at which only one system was right. The only assumption is the range of
d: events may depend on each other, and the mean may drift. The bounds are for the mean of the expected differences so
far.
"""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import numpy as np

from recassay._kernel_cache import njit
from recassay.arrays import Float
from recassay.errors import InputError, UsageError

TUNED_FOR = 500.0  # sum of squares at which the bounds are tightest; for 0/1 metrics: events with one right system
STEPS, CLOSE = 60, 1e-9  # Newton's method: most steps, and the relative step at which it stops; it takes about three


class AnytimeBounds(NamedTuple):
    """The mean difference of two systems up to each event, with bounds that hold at all events at once."""

    mean: Float
    low: Float
    high: Float


def anytime_bounds(
    differences: Float, *, alpha: float = 0.05, largest: float = 1.0, tuned_for: float = TUNED_FOR
) -> AnytimeBounds:
    """Return bounds at every event for the mean of the expected differences so far, valid for any stopping rule.

    All bounds hold at once with probability 1 - ``alpha``. ``largest`` is the largest possible difference: 1 for
    metrics between 0 and 1. ``tuned_for`` is the sum of squared differences (in units of ``largest``) at which the
    bounds are tightest. The bounds are valid for any ``tuned_for``.

    >>> found = anytime_bounds(np.tile([1.0, 0, 0, 1, -1], 100))
    >>> np.argmax(found.low > 0).item(), found.low[-1].round(4).item(), found.high[-1].round(4).item()
    (183, 0.0882, 0.3118)
    """
    d = np.asarray(differences, np.float64) / largest
    _check(d, alpha, largest, tuned_for)
    if not d.size:
        return AnytimeBounds(d, d, d)
    rounded, errors = running_sums(d)
    squares, square_errors = running_sums(d**2)
    sums, spread = (rounded + errors)[1:], (squares + square_errors)[1:]
    radius = boundary(spread, alpha / 2, tuned_for)
    count = np.arange(1, d.size + 1)
    return AnytimeBounds(
        mean=largest * sums / count,
        low=largest * np.maximum((sums - radius) / count, -1.0),
        high=largest * np.minimum((sums + radius) / count, 1.0),
    )


def boundary(spread: Float, alpha: float, tuned_for: float = TUNED_FOR, c: float = 1.0) -> Float:
    """Return the bound u(v) that a sum exceeds with probability at most ``alpha``, ever, for each v in ``spread``.

    The sum is that of all differences so far, and v the sum of their squares; the bound is one-sided. ``tuned_for`` is
    the v at which it is tightest, and ``c`` is the largest size of a difference.

    >>> boundary(np.array([100.0]), 0.05, 100.0, c=2.0).round(5).tolist()
    [33.02017]
    """
    v, place = np.unique(spread, return_inverse=True)
    rho, goal = best_rho(tuned_for, alpha), math.log(1 / alpha)
    knots = _knots()[: np.searchsorted(_knots(), v[-1]) + 1]
    at_knots = _at_knots(knots.size, rho, c, goal)
    return np.asarray(_root(np.interp(v, knots, at_knots), v, rho, c, goal)[place])


@functools.cache
def _knots() -> Float:
    """Return sums of squares v at which the boundary u(v) is computed exactly; in between it is interpolated."""
    return np.append(0.0, 2.0 ** (np.arange(-40, 241) / 4))


@functools.lru_cache(maxsize=64)  # bounds of several windows or systems often have the same parameters
def _at_knots(n: int, rho: float, c: float, goal: float) -> Float:
    """Return the boundary u(v) at the first ``n`` sums of squares v of :func:`_knots`.

    The other parameters are those of :func:`_root`. u is smooth, so a straight line between knots is a good starting
    point for Newton's method.
    """
    knots = _knots()[:n]
    ends = goal + np.log1p(knots / rho)
    return _root(np.sqrt(2 * (knots + rho) * ends) + 2 * c * ends, knots, rho, c, goal)


def _root(s: Float, v: Float, rho: float, c: float, goal: float) -> Float:
    """Return for each sum of squares v the sum s at which log m(s, v) is ``goal``, m being the mixture of the module.

    Newton's method begins at the given ``s``. ``rho`` is the parameter of the mixture, and ``c`` the largest size of a
    difference. log m is convex in s, so the steps approach the root from above.
    """
    s, active = s.copy(), np.arange(v.size)
    for _ in range(STEPS):
        value, slope = _log_mixture(s[active], v[active], rho, c)
        step = (value - goal) / slope
        s[active] -= step
        active = active[np.abs(step) > CLOSE * s[active]]
        if not active.size:
            break
    return s


def log_mixture(s: Float, v: Float, rho: float, c: float = 1.0) -> Float:
    """Return the logarithm of the gamma-exponential mixture m(s, v) of the module.

    ``s`` are sums of differences and ``v`` sums of their squares; ``rho`` is the parameter of the mixture, and ``c``
    the largest size of a difference.

    >>> rho = best_rho(100.0, 0.05)
    >>> log_mixture(np.array([10.0]), np.array([100.0]), rho, 2.0).round(7).tolist()
    [-0.2490165]
    """
    return _log_mixture(s, v, rho, c)[0]


def _log_mixture(s: Float, v: Float, rho: float, c: float) -> tuple[Float, Float]:
    """Return (log m(s, v), its derivative with respect to s), elementwise, for the mixture m of the module.

    ``s`` are sums of differences and ``v`` sums of their squares; ``rho`` is the parameter of the mixture, and ``c``
    the largest size of a difference.
    """
    from scipy.special import gammainc, gammaln  # late: in older versions it imports linear algebra

    r, a, x = rho / c**2, (v + rho) / c**2, (c * s + v + rho) / c**2
    constant = _log_constant(r)
    below, log_factor, log_x = gammainc(a, x), gammaln(a), np.log(x)
    density = np.exp((a - 1) * log_x - x - log_factor) / below
    return constant + log_factor + np.log(below) - a * log_x + x, (density - a / x + 1) / c


@functools.lru_cache(maxsize=64)
def _log_constant(r: float) -> float:
    """Return the part of the log mixture log m(s, v) that does not depend on the sums s and v.

    ``r`` is rho / c^2, with rho the parameter of the mixture and c the largest size of a difference.
    """
    from scipy.special import gammainc, gammaln

    return float(r * np.log(r) - gammaln(r) - np.log(gammainc(r, r)) - r)


def best_rho(tuned_for: float, alpha: float) -> float:
    """Return the mixture parameter rho that nearly minimises u(tuned_for), the boundary at that sum of squares.

    ``alpha`` is the one-sided error probability.
    """
    level = math.log(1 / min(2 * alpha, 0.5))
    return tuned_for / (2 * level + math.log(1 + 2 * level))


def _check(d: Float, alpha: float, largest: float, tuned_for: float) -> None:
    """Raise U102 for a parameter outside its range, I384 for a difference that is NaN or outside [-1, 1].

    The differences ``d`` are in units of ``largest``.
    """
    checks = [
        ("alpha", alpha, 0 < alpha < 1, "be between 0 and 1"),
        ("largest", largest, largest > 0, "be above 0"),
        ("tuned_for", tuned_for, 0 < tuned_for < 1e100, "be above 0, and below 1e100"),
    ]
    for name, value, valid, rule in checks:
        if not valid:
            raise UsageError("U102", f"{name} must {rule}, got {value:g}", hint=f"leave {name} out for the default")
    invalid = np.flatnonzero(~(np.abs(d) <= 1))
    if invalid.size:
        first = d[invalid[0]] * largest
        raise InputError(
            "I384",
            f"{invalid.size:,} of {d.size:,} differences are undefined or larger than {largest:g}: {first:g}",
            hint="give the largest possible difference: largest=4 for errors of ratings from 1 to 5",
        )


@njit(nogil=True, cache=True)
def running_sums(values: Float) -> tuple[Float, Float]:
    """Return the rounded sums of the first 0, 1, 2, ... values, and the rounding error of each (Neumaier's summation).

    The sum of a range is the difference of the two rounded sums plus the difference of the two errors. It is correct to
    within one unit in the last place, however late in the stream the range lies. A running sum does not depend on later
    values. For zeros and ones there is no rounding error.
    """
    rounded, left = np.zeros(values.size + 1), np.zeros(values.size + 1)
    for j in range(values.size):
        before, value = rounded[j], values[j]
        after = before + value
        large, small = (before, value) if abs(before) >= abs(value) else (value, before)
        rounded[j + 1], left[j + 1] = after, left[j] + ((large - after) + small)
    return rounded, left


@njit(nogil=True, cache=True)
def faded_sums(values: Float, fading: float) -> Float:
    """Return the exponentially fading sum up to each value: S_j = x_j + f S_(j-1), with f = ``fading``."""
    sums = np.empty(values.size)
    last = 0.0
    for j in range(values.size):
        last = values[j] + fading * last
        sums[j] = last
    return sums
