"""Passing tied items whose candidates are drawn with replacement: all copies of a candidate are passed at once.

Tied items are passed one by one in random order. Before each step every state says how many candidates of each class
and how many relevant items have been passed, and how many sampled copies stand above. The next item is each of those
left with equal chance; a relevant one earns its credit, and a candidate of mass v brings a binomial number of copies.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from recassay.designs._laws import NEGLIGIBLE, numbers

Int64 = NDArray[np.int64]
Float = NDArray[np.float64]

POINTS = 300  # numbers of candidates passed that are told apart by class; beyond, all candidates weigh the same
WORK = 4_000_000  # steps; beyond it there is no second moment


@njit(nogil=True, cache=True)
def through(
    now: Float, then: Float, low: int, high: int, numbered: Int64, masses: Float, rest: float, q: int, top: int,
    logs: Float, law: Float, place: int, apart: bool, share: Float, credit: Float, done: Float,
) -> tuple[int, int]:  # fmt: skip
    """Pass candidates, in classes, that tie with some relevant items; return the first and last state there is then.

    ``now`` is left empty, and ``then`` filled. ``rest`` is the mass that has not been passed, ``place`` the number of
    relevant items before, and ``share`` has a row for each of those here.
    """
    many, width = share.shape[0], now.shape[1]
    number, mass = numbered.copy(), masses.copy()
    points = 1.0
    for one in range(number.size):
        points *= number[one] + 1
    if number.size > 1 and points > POINTS:
        number, mass = merged(number, mass)
        points = number[0] + 1.0
    if points * number.size * (min(many, top) + 1) * (high - low + 1 + min(q, top)) > WORK:
        done[:] = np.nan
        now[low : high + 1] = 0
        return top, -1
    classes = number.size
    stride, left, at = np.ones(classes, np.int64), 0, np.zeros(classes, np.int64)
    for one in range(classes):
        left += number[one]
        if one:
            stride[one] = stride[one - 1] * (number[one - 1] + 1)
    depth = stride[classes - 1] + 1
    ring, state = np.zeros((depth, many + 1, top, width)), np.zeros(width)
    for x in range(low, high + 1):
        ring[0, 0, x] = now[x]
        now[x] = 0
    bottom, peak = top, -1
    for point in range(int(points)):
        here, passed, weight = ring[point % depth], 0, rest
        for one in range(classes):
            passed += at[one]
            weight -= at[one] * mass[one]
        to_go = left - passed
        next_relevant(here, to_go, place, apart, share, credit, state)
        if to_go == 0:
            for x in range(top):
                if here[many, x, 0] > NEGLIGIBLE:
                    then[x] += here[many, x]
                    bottom, peak = min(bottom, x), max(peak, x)
            continue
        for one in range(classes):  # or a candidate
            if at[one] == number[one]:
                continue
            chance, there = (number[one] - at[one]) / to_go, ring[(point + stride[one]) % depth]
            next_candidate(here, there, chance, mass[one], max(weight, mass[one]), q, logs, law, done)
        here[:] = 0
        for one in range(classes):
            at[one] += 1
            if at[one] <= number[one]:
                break
            at[one] = 0
    return bottom, peak


@njit(nogil=True, cache=True)
def next_relevant(
    here: Float, to_go: int, place: int, apart: bool, share: Float, credit: Float, state: Float
) -> None:  # fmt: skip
    """Let the next items be relevant with their chance, beside ``to_go`` candidates; each earns its credit."""
    many, top, width = share.shape[0], here.shape[1], state.size
    for i in range(many):
        chance = (many - i) / (many - i + to_go)
        for x in range(top):
            if here[i, x, 0] > NEGLIGIBLE:
                for moment in range(width):
                    state[moment] = chance * here[i, x, moment]
                    here[i, x, moment] -= state[moment]
                earn(state, share[i], credit, x + place + (0 if apart else i), top)
                for moment in range(width):
                    here[i + 1, x, moment] += state[moment]


@njit(nogil=True, cache=True)
def next_candidate(
    here: Float, there: Float, chance: float, mass: float, rest: float, q: int, logs: Float, law: Float, done: Float
) -> None:
    """Let the next item be a candidate of a mass, with a chance; its copies are among those of ``rest``."""
    relevant, top, width = here.shape
    for x in range(top):
        if not (here[:, x, 0] > NEGLIGIBLE).any():
            continue
        first, last = numbers(mass, rest, q - x, True, top - 1 - x, logs, law)
        for i in range(relevant):
            if here[i, x, 0] <= NEGLIGIBLE:
                continue
            total = 0.0
            for y in range(first, last + 1):
                total += law[y - first]
                part = chance * law[y - first]
                for moment in range(width):
                    there[i, x + y, moment] += part * here[i, x, moment]
            beyond = chance * max(0.0, 1.0 - total)
            for moment in range(width):
                done[moment] += beyond * here[i, x, moment]


@njit(nogil=True, cache=True)
def merged(number: Int64, mass: Float) -> tuple[Int64, Float]:
    """One class with the same mass, and nearly the same sum of squares."""
    one, two = 0.0, 0.0
    for place in range(number.size):
        one += number[place] * mass[place]
        two += number[place] * mass[place] ** 2
    many = max(1, int(np.rint(one * one / two)))
    return np.array([many]), np.array([one / many])


@njit(nogil=True, cache=True)
def earn(state: Float, share: Float, credit: Float, place: int, top: int) -> None:
    """A relevant item at a rank (from 0) enters the moments of the sum."""
    if place >= top:
        return
    metrics = credit.shape[0]
    for metric in range(metrics):
        value = share[metric] * credit[metric, place]
        state[1 + metrics + metric] += 2 * value * state[1 + metric] + value * value * state[0]
        state[1 + metric] += value * state[0]
