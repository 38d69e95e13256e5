"""Bounds for the difference of two systems that hold at every event at once, so that a stream may be watched.

Let d_t in [-c, c] be the difference at event t and mu_t its expectation given everything before t. With S_t the sum of
the d and V_t that of their squares, exp(l (S_t - mu_1 - .. - mu_t) - psi(l) V_t) is, for every l in [0, 1/c), a
supermartingale, psi(l) = (-log(1 - c l) - c l) / c^2 (Fan, Grama and Liu 2015). So is its mixture over l by a gamma
law, which has a closed form m(s, v) (Howard, Ramdas, McAuliffe and Sekhon 2021, proposition 9). It ever reaches
2 / alpha with a chance of at most alpha / 2 (Ville), so that with a chance of 1 - alpha or more, at all events t,

    |S_t / t - (mu_1 + .. + mu_t) / t| < u(V_t) / t,        u(v) the s at which m(s, v) = 2 / alpha.

That is the comparison of forecasters of Choe and Ramdas (2023), with 0 as the forecast of d_t: where metrics are 0 or 1
and two systems are near each other, V_t counts the events at which only one was right. Nothing is assumed of the stream
but the range of d: events may hang on each other, and the mean may drift. What is bounded is the mean of the expected
differences so far, whatever they are.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recassay.comparison._running import running_sums
from recassay.errors import InputError, UsageError
from recassay.portable.distributions import gamma_tail
from recassay.portable.elementary import exp, exp2, log, log1p, log_gamma

TUNED_FOR = 500.0  # the sum of squares at which bounds are made tightest: so many events where one alone is right
STEPS, CLOSE = 60, 1e-9  # of Newton's method: at most so many, until a step is that small; it takes about three

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Bounds:
    """For every event the mean difference so far and its bounds, all of which hold at once with a chance of ``level``.

    ``decided`` is the first event (0 for the first of all) at which the bounds leave out 0, or None.
    """

    mean: Floats
    low: Floats
    high: Floats
    alpha: float
    largest: float
    decided: int | None

    @property
    def level(self) -> float:
        """The chance that all bounds hold."""
        return 1 - self.alpha


def anytime_bounds(
    differences: Floats, *, alpha: float = 0.05, largest: float = 1.0, tuned_for: float = TUNED_FOR
) -> Bounds:
    """Bounds for the mean of the expected differences so far, at every event, valid however one looks and stops.

    ``largest`` is the largest difference there can be: 1 for metrics between 0 and 1. ``tuned_for`` is the sum of
    squared differences (in units of ``largest``) at which the bounds are to be tightest; they hold for any.

    >>> found = anytime_bounds(np.tile([1.0, 0, 0, 1, -1], 100))
    >>> found.decided, found.low[-1].round(4).item(), found.high[-1].round(4).item()
    (183, 0.0882, 0.3118)
    """
    d = np.asarray(differences, np.float64) / largest
    _checked(d, alpha, largest, tuned_for)
    if not d.size:
        return Bounds(d, d, d, alpha, largest, None)
    rounded, left = running_sums(d)
    squares, more = running_sums(d**2)
    sums, spread = (rounded + left)[1:], (squares + more)[1:]
    radius = boundary(spread, alpha / 2, tuned_for)
    count = np.arange(1, d.size + 1)
    outside = np.abs(sums) > radius
    return Bounds(
        mean=largest * sums / count,
        low=largest * np.maximum((sums - radius) / count, -1.0),
        high=largest * np.minimum((sums + radius) / count, 1.0),
        alpha=alpha,
        largest=largest,
        decided=int(outside.argmax()) if outside.any() else None,
    )


def boundary(spread: Floats, alpha: float, tuned_for: float = TUNED_FOR, c: float = 1.0) -> Floats:
    """u(v): what a sum with so much spread ever exceeds with a chance of at most alpha, one-sided.

    >>> boundary(np.array([100.0]), 0.05, 100.0, c=2.0).round(5).tolist()
    [33.02017]
    """
    v, place = np.unique(spread, return_inverse=True)
    rho, goal = best_rho(tuned_for, alpha), log(1 / alpha)
    knots = _knots()  # u is smooth: between knots a straight line is a good start
    knots = knots[: np.searchsorted(knots, v[-1]) + 1]
    ends = goal + log1p(knots / rho)
    at_knots = _root(np.sqrt(2 * (knots + rho) * ends) + 2 * c * ends, knots, rho, c, goal)
    found: Floats = _root(np.interp(v, knots, at_knots), v, rho, c, goal)[place]
    return found


@functools.cache
def _knots() -> Floats:
    """Return values of spread between which the boundary is nearly straight; made when first needed, not at import."""
    return np.append(0.0, exp2(np.arange(-40, 241) / 4))


def _root(s: Floats, v: Floats, rho: float, c: float, goal: float) -> Floats:
    """The s at which log m(s, v) is the goal, by Newton's method: log m is convex in s, so it comes down from above."""
    s, active = s.copy(), np.arange(v.size)
    for _ in range(STEPS):
        value, slope = _log_mixture(s[active], v[active], rho, c)
        step = (value - goal) / slope
        s[active] -= step
        active = active[np.abs(step) > CLOSE * s[active]]
        if not active.size:
            break
    return s


def log_mixture(s: Floats, v: Floats, rho: float, c: float = 1.0) -> Floats:
    """The logarithm of the gamma-exponential mixture m(s, v).

    >>> rho = best_rho(100.0, 0.05)
    >>> log_mixture(np.array([10.0]), np.array([100.0]), rho, 2.0).round(7).tolist()
    [-0.2490165]
    """
    return _log_mixture(s, v, rho, c)[0]


def _log_mixture(s: Floats, v: Floats, rho: float, c: float) -> tuple[Floats, Floats]:
    """log m and its derivative by s."""
    r, a, x = rho / c**2, (v + rho) / c**2, (c * s + v + rho) / c**2
    constant = r * log(r) - log_gamma(r) - log(1 - gamma_tail(r, r)) - r
    below, log_factor, log_x = 1 - gamma_tail(a, x), log_gamma(a), log(x)
    density = exp((a - 1) * log_x - x - log_factor) / below
    return constant + log_factor + log(below) - a * log_x + x, (density - a / x + 1) / c


def best_rho(tuned_for: float, alpha: float) -> float:
    """The parameter of the mixture that makes u(tuned_for) about as small as it gets for this alpha (one-sided)."""
    level = log(1 / min(2 * alpha, 0.5))
    return tuned_for / (2 * level + log(1 + 2 * level))


def _checked(d: Floats, alpha: float, largest: float, tuned_for: float) -> None:
    asked: dict[str, Any] = {"alpha": (alpha, 0 < alpha < 1), "largest": (largest, largest > 0)}
    for name, (value, fine) in {**asked, "tuned_for": (tuned_for, tuned_for > 0)}.items():
        if not fine:
            raise UsageError("U102", f"{name}={value:g} makes no sense", hint=f"leave {name} out for the default")
    beyond = np.flatnonzero(~(np.abs(d) <= 1))
    if beyond.size:
        first = d[beyond[0]] * largest
        raise InputError(
            "I384",
            f"{beyond.size:,} of {d.size:,} differences are undefined or larger than {largest:g}: {first:g}",
            hint="give the largest difference there can be: largest=4 for errors of ratings from 1 to 5",
        )
