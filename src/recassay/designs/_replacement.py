"""Compiled walk through tied items when candidates are drawn with replacement.

All copies of a candidate (the draws that hit it) have the same position, so they are passed at once. Tied items are
passed one by one in random order. A state consists of the candidates of each class passed so far, the relevant items
passed, and the number of sampled copies above. The next item is any of the remaining ones with equal probability. A
relevant item adds its credit; a candidate of mass v adds a binomial number of copies.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recassay._kernel_cache import njit
from recassay.designs._distributions import NEGLIGIBLE, hit_probabilities

Int64 = NDArray[np.int64]
Float = NDArray[np.float64]

POINTS = 300  # most combinations of passed candidates per class; above it all candidates get the same mass
WORK = 4_000_000  # most steps; above it the result is NaN


@njit(nogil=True, cache=True)
def pass_repeated_ties(
    states: Float, next_states: Float, low: int, high: int, numbered: Int64, masses: Float, rest: float, q: int,
    top: int, logs: Float, probs: Float, place: int, apart: bool, share: Float, credit: Float, done: Float,
) -> tuple[int, int]:  # fmt: skip
    """Advance the states past the candidates that tie with some relevant items, in all random orders of the ties.

    Return the lowest and the highest state reached; the highest is -1 if no state was reached.

    Row x of ``states`` is state x: the probability that x of ``q`` draws have been passed, and the moments of the
    metrics so far. Rows ``low`` to ``high`` are moved to ``next_states`` and set to 0; walks beyond the last rank with
    credit are added to ``done``. If that would take too many steps, ``done`` becomes NaN. Class c has ``numbered[c]``
    tied candidates of mass ``masses[c]`` each, and ``rest`` is the mass of all candidates not passed yet.

    ``place`` is the number of relevant items above the tied ones. The credit of an item at a rank, which it adds to
    each metric, is ``share`` (tied relevant items, metrics) times ``credit`` (metrics, ranks), and ranks from ``top``
    on (counted from 0) have none. With ``apart``, relevant items do not count in each other's ranks. ``logs[x]`` is
    log(x!), ``probs`` scratch space.
    """
    n_tied, width = share.shape[0], states.shape[1]
    number, mass = numbered.copy(), masses.copy()
    points = 1.0
    for c in range(number.size):
        points *= number[c] + 1
    if number.size > 1 and points > POINTS:
        number, mass = merge_classes(number, mass)
        points = number[0] + 1.0
    if points * number.size * (min(n_tied, top) + 1) * (high - low + 1 + min(q, top)) > WORK:
        done[:] = np.nan
        states[low : high + 1] = 0
        return top, -1
    classes = number.size
    stride, left, at = np.ones(classes, np.int64), 0, np.zeros(classes, np.int64)
    for c in range(classes):
        left += number[c]
        if c:
            stride[c] = stride[c - 1] * (number[c - 1] + 1)
    depth = stride[classes - 1] + 1
    ring, scratch = np.zeros((depth, n_tied + 1, top, width)), np.zeros(width)
    for x in range(low, high + 1):
        ring[0, 0, x] = states[x]
        states[x] = 0
    bottom, peak = top, -1
    for point in range(int(points)):
        here, passed, weight = ring[point % depth], 0, rest
        for c in range(classes):
            passed += at[c]
            weight -= at[c] * mass[c]
        to_go = left - passed
        next_relevant(here, to_go, place, apart, share, credit, scratch)
        if to_go == 0:
            for x in range(top):
                if here[n_tied, x, 0] > NEGLIGIBLE:
                    next_states[x] += here[n_tied, x]
                    bottom, peak = min(bottom, x), max(peak, x)
            continue
        for c in range(classes):  # the next item is a candidate of this class
            if at[c] == number[c]:
                continue
            chance, there = (number[c] - at[c]) / to_go, ring[(point + stride[c]) % depth]
            next_candidate(here, there, chance, mass[c], max(weight, mass[c]), q, logs, probs, done)
        here[:] = 0
        for c in range(classes):
            at[c] += 1
            if at[c] <= number[c]:
                break
            at[c] = 0
    return bottom, peak


@njit(nogil=True, cache=True)
def next_relevant(
    here: Float, to_go: int, place: int, apart: bool, share: Float, credit: Float, scratch: Float
) -> None:  # fmt: skip
    """Move the share of the walks whose next tied item is relevant from each state to the next; add the item's credit.

    ``here[i, x]`` is the state after i of the tied relevant items, with x sampled candidates above: a probability and
    the moments of the metrics so far. ``to_go`` tied candidates remain, so the next item is relevant with probability c
    = (relevant left) / (relevant left + ``to_go``). ``here[i, x]`` is multiplied by 1 - c, and c times its old value,
    with the credit added, goes to ``here[i + 1, x]``.

    ``place`` is the number of relevant items above the tie. The credit of an item at a rank, which it adds to each
    metric, is ``share`` (tied relevant items, metrics) times ``credit`` (metrics, ranks). With ``apart``, relevant
    items do not count in each other's ranks. ``scratch`` has room for one state.
    """
    n_tied, top, width = share.shape[0], here.shape[1], scratch.size
    for i in range(n_tied):
        chance = (n_tied - i) / (n_tied - i + to_go)
        for x in range(top):
            if here[i, x, 0] > NEGLIGIBLE:
                for moment in range(width):
                    scratch[moment] = chance * here[i, x, moment]
                    here[i, x, moment] -= scratch[moment]
                credit_state(scratch, share[i], credit, x + place + (0 if apart else i), top)
                for moment in range(width):
                    here[i + 1, x, moment] += scratch[moment]


@njit(nogil=True, cache=True)
def next_candidate(
    here: Float,
    there: Float,
    chance: float,
    mass: float,
    rest: float,
    q: int,
    logs: Float,
    probs: Float,
    done: Float,
) -> None:
    """Add the share of walks whose next tied item is one given candidate to the states after that candidate.

    The candidate, of mass ``mass``, is the next item with probability ``chance``. ``here[i, x]`` is the state after i
    of the tied relevant items, with x sampled candidates above: a probability and the moments of the metrics so far.
    ``chance`` times this state goes to ``there[i, x + y]`` if y of the ``q - x`` draws left hit the candidate; ``here``
    is not changed. ``rest`` is the mass of all candidates not passed yet.

    Walks beyond the last rank with credit are added to ``done``. ``logs[x]`` is log(x!), ``probs`` scratch space.
    """
    relevant, top, width = here.shape
    for x in range(top):
        if not (here[:, x, 0] > NEGLIGIBLE).any():
            continue
        first, last = hit_probabilities(mass, rest, q - x, True, top - 1 - x, logs, probs)
        for i in range(relevant):
            if here[i, x, 0] <= NEGLIGIBLE:
                continue
            total = 0.0
            for y in range(first, last + 1):
                total += probs[y - first]
                part = chance * probs[y - first]
                for moment in range(width):
                    there[i, x + y, moment] += part * here[i, x, moment]
            beyond = chance * max(0.0, 1.0 - total)
            for moment in range(width):
                done[moment] += beyond * here[i, x, moment]


@njit(nogil=True, cache=True)
def merge_classes(number: Int64, mass: Float) -> tuple[Int64, Float]:
    """Return (number, mass) of one class of equal masses that replaces several classes.

    Class c has ``number[c]`` candidates of mass ``mass[c]`` each. Both results have one entry. The new class has the
    same total mass and nearly the same sum of squared masses.
    """
    total, squares = 0.0, 0.0
    for place in range(number.size):
        total += number[place] * mass[place]
        squares += number[place] * mass[place] ** 2
    n = max(1, int(np.rint(total * total / squares)))
    return np.array([n]), np.array([total / n])


@njit(nogil=True, cache=True)
def credit_state(state: Float, share: Float, credit: Float, place: int, top: int) -> None:
    """Add the credit of a relevant item at rank ``place`` (from 0) to the first and second moments in ``state``.

    The credit, which the item adds to each metric, is share * credit[:, place]; ranks from ``top`` on have none.
    ``state`` is a probability, then the moments of the metrics.
    """
    if place >= top:
        return
    metrics = credit.shape[0]
    for metric in range(metrics):
        value = share[metric] * credit[metric, place]
        state[1 + metrics + metric] += 2 * value * state[1 + metric] + value * value * state[0]
        state[1 + metric] += value * state[0]
