"""Compiled kernels for the first two moments of metrics over the random ranks in a sampled target set.

The relevant items of a query are in order, each with a number of non-relevant candidates above it. Walking down that
order, the number x of *sampled* candidates passed so far is a Markov chain. Between two relevant items with ``gap``
candidates between them, out of ``rest`` not yet passed, x grows by a hypergeometric (or binomial) number. So one walk
gives the mean and the second moment of any sum of credits. It carries, for every x, the probability of x and the first
two moments of the sum so far. Tied items are in random order: y sampled candidates that tie with m relevant items are
split into m + 1 runs, and all ways to split them are equally likely.

With replacement, all copies of a candidate (the draws that hit it) have the same position, so they are passed at once.
Tied items are then passed one by one: a state also has the candidates of each class passed so far and the relevant
items passed, and the next item is any of the remaining ones with equal probability.

Row x of ``states`` is state x: its probability, then the first moments of all metrics, then their second moments, both
multiplied by the probability. ``done`` is a row of the same form, for walks that have left the ranks with credit. Other
arguments that the kernels share: ``q`` candidates remain to be drawn, ``place`` relevant items come before, ranks from
0 on below ``top`` have credit, ``logs[x]`` is log(x!), ``parts[x]`` is 1 / x, and ``probs``, ``more``, ``inner`` and
``outer`` are scratch space. ``tests/property/test_designs.py`` compares the kernels with enumerations of all samples
and orders.
"""

from __future__ import annotations

import numpy as np

from recassay._kernel_cache import njit
from recassay.arrays import Bool, Float, Int32, Int64
from recassay.designs._single import NEGLIGIBLE, hit_probabilities

WORK = 4_000_000  # most steps for one set of ties; above it second moments are not computed
POINTS = 300  # most combinations of passed candidates per class; above it all candidates get the same mass


@njit(nogil=True, cache=True)
def joint_moments(
    begin: int, end: int, chosen: Bool, offsets: Int64, above: Float, tied: Float, ties: Int32, pool: Float,
    drawn: Int64, level: Int64, number: Int64, mass: Float, replace: bool, apart: bool, only_first: bool, share: Float,
    credit: Float, limit: Int64, logs: Float, moments: Float,
) -> None:  # fmt: skip
    """Fill ``moments`` (queries, 2, metrics) with the mean and the second moment of each metric's sum of credits.

    Both are over random draws of candidates and random orders of ties. The sum runs over a query's relevant items; an
    item at rank r (from 1) adds share * credit[r - 1]. A pair is a query and one of its relevant items.

    - ``begin``, ``end``, ``chosen``: queries q in ``begin`` to ``end`` - 1 with ``chosen[q]`` are computed
    - ``offsets``: the pairs of query q are ``offsets[q]:offsets[q + 1]``, best first
    - ``above``, ``tied``: for each pair, the numbers of candidates above it and tied with it, or their masses
    - ``ties``: for each pair, the number of other relevant items tied with it
    - ``pool``, ``drawn``: for each query, the number or mass of all candidates, and how many of them are sampled
    - ``level``: with ``replace``, the candidates that tie with pair p are the classes ``level[p]:level[p + 1]``
    - ``number``, ``mass``: the number of candidates of each class, and the mass of each of them
    - ``replace``: whether candidates are drawn with replacement
    - ``apart``: whether each relevant item is ranked without the other relevant items
    - ``only_first``: whether only the best relevant item gets credit
    - ``share``: for each pair and metric, a factor of the credit
    - ``credit``: for each metric and rank, the credit; ``limit``: for each query, the last rank with credit
    - ``logs[x]``: log(x!)
    """
    metrics, most = credit.shape
    states, next_states = np.zeros((most + 1, 1 + 2 * metrics)), np.zeros((most + 1, 1 + 2 * metrics))
    inner, outer = np.zeros((most + 1, 1 + 2 * metrics)), np.zeros((most + 1, 1 + 2 * metrics))
    probs = np.zeros(max(most, drawn[begin:end].max()) + 2)
    done = np.zeros(1 + 2 * metrics)
    for query in range(begin, end):
        if not chosen[query]:
            continue
        top = min(limit[query], most)
        done[:] = 0
        states[0, 0] = 1  # all other states are zero, and every query leaves them so
        low, high, passed, pair, first = 0, 0, 0.0, offsets[query], offsets[query]
        while pair < offsets[query + 1] and high >= low and not (only_first and pair > first):
            n_tied, q = ties[pair] + 1, drawn[query]
            gap, rest = above[pair] - passed, pool[query] - passed
            low, high = pass_candidates(states, next_states, low, high, gap, rest, q, replace, top, logs, probs, done)
            states, next_states = next_states, states
            place = 0 if apart else pair - first
            if tied[pair] == 0:
                for item in range(n_tied):
                    for x in range(low, high + 1):
                        credit_state(states[x], share[pair + item], credit, x + place + (0 if apart else item), top)
            elif replace:
                classes = slice(level[pair], level[pair + 1])
                low, high = pass_repeated_ties(
                    states, next_states, low, high, number[classes], mass[classes], rest - gap, q, top, logs, probs,
                    place, apart, share[pair : pair + n_tied], credit, done,
                )  # fmt: skip
                states, next_states = next_states, states
            else:
                bottom, peak = top, -1
                for x in range(low, high + 1):
                    if states[x, 0] > NEGLIGIBLE:
                        lowest, highest = pass_ties(
                            states[x], x, tied[pair], rest - gap, q - x, top, logs, probs, place, apart,
                            share[pair : pair + n_tied], credit, inner, outer, next_states, done,
                        )  # fmt: skip
                        bottom, peak = min(bottom, lowest), max(peak, highest)
                    states[x] = 0
                states, next_states, low, high = next_states, states, bottom, peak
            passed = above[pair] + tied[pair]
            pair += n_tied
        for x in range(low, high + 1):
            done += states[x]
            states[x] = 0
        moments[query, 0], moments[query, 1] = done[1 : 1 + metrics], done[1 + metrics :]


@njit(nogil=True, cache=True)
def pass_candidates(
    states: Float, next_states: Float, low: int, high: int, gap: float, rest: float, q: int, replace: bool, top: int,
    logs: Float, probs: Float, done: Float,
) -> tuple[int, int]:  # fmt: skip
    """Pass the next ``gap`` of the ``rest`` candidates not passed yet, in a walk down the ranking.

    In state x, the walk has passed x of the ``q`` sampled candidates; the probability of each state is moved to the
    states that can follow it. Return the lowest and the highest state reached.

    - ``states``: row x has the probability of state x and the moments of the metrics so far; set to 0 afterwards
    - ``next_states``: the rows ``low`` to ``high`` of ``states`` are moved to rows of this table
    - ``replace``: whether candidates are drawn with replacement
    - ``top``, ``done``: walks that reach state ``top`` are added to ``done``
    - ``logs[x]``: log(x!); ``probs`` is scratch space
    """
    bottom, peak = top, -1
    for x in range(low, high + 1):
        if states[x, 0] > NEGLIGIBLE:
            first, last = hit_probabilities(gap, rest, q - x, replace, top - 1 - x, logs, probs)
            total = 0.0
            for y in range(first, last + 1):
                total += probs[y - first]
                for moment in range(states.shape[1]):
                    next_states[x + y, moment] += probs[y - first] * states[x, moment]
            for moment in range(states.shape[1]):
                done[moment] += max(0.0, 1.0 - total) * states[x, moment]
            bottom, peak = min(bottom, x + first), max(peak, x + last)
        states[x] = 0
    return bottom, peak


@njit(nogil=True, cache=True)
def pass_ties(
    state: Float, x: int, tied: float, rest: float, q: int, top: int, logs: Float, probs: Float, place: int,
    apart: bool, share: Float, credit: Float, inner: Float, outer: Float, next_states: Float, done: Float,
) -> tuple[int, int]:  # fmt: skip
    """Pass ``tied`` candidates that tie with ``len(share)`` relevant items, in random order, and credit these items.

    A walk goes down the ranking and carries a probability and the moments of the metrics so far. Return the lowest and
    the highest state reached.

    - ``state``, ``x``: the state in which the walk starts, with ``x`` sampled candidates passed
    - ``rest``, ``q``: the number of candidates not passed yet, of which ``q`` are to be drawn, without replacement
    - ``top``: ranks from ``top`` on (counted from 0) have no credit
    - ``place``: the number of relevant items above these
    - ``apart``: whether relevant items do not count in each other's ranks
    - ``share``, ``credit``: an item at a rank adds to each metric its ``share`` (items, metrics) times the rank's
      ``credit`` (metrics, ranks)
    - ``next_states``, ``done``: the moments are added to ``next_states``, those of walks beyond the last rank with
      credit to ``done``
    - ``logs[x]``: log(x!); ``probs``, ``inner`` and ``outer`` are scratch space
    """
    n_tied, bottom, peak = share.shape[0], top, -1
    first, last = hit_probabilities(tied, rest, q, False, q, logs, probs)
    for y in range(first, last + 1):
        room = min(y, top - 1 - x)  # most sampled ties above a relevant item that still gets credit
        inner[: room + 1] = 0
        inner[0] = probs[y - first] * state
        for item in range(n_tied):
            outer[: room + 1] = 0
            pass_to_next_relevant(inner, outer, y, room, n_tied - item, done)
            for passed in range(room + 1):
                inner[passed] = outer[passed]
                credit_state(inner[passed], share[item], credit, x + passed + place + (0 if apart else item), top)
        inside = x + y < top
        for passed in range(room + 1):
            for moment in range(state.size):
                if inside:
                    next_states[x + y, moment] += inner[passed, moment]
                else:
                    done[moment] += inner[passed, moment]
        if inside:
            bottom, peak = min(bottom, x + y), max(peak, x + y)
    return bottom, peak


@njit(nogil=True, cache=True)
def pass_to_next_relevant(inner: Float, outer: Float, y: int, room: int, left: int, done: Float) -> None:
    """Move the walk from one tied relevant item to the next, past some of the ``y`` sampled candidates of the tie.

    The walk goes down the ranking. ``inner[p]`` is the state (its probability and the moments so far) after p of these
    candidates. It is moved to the states ``outer[p']`` at the next relevant item, p' >= p. ``left`` relevant items
    remain, the next one included. Walks that have passed more than ``room`` of the candidates are added to ``done``.
    """
    for passed in range(room + 1):
        if inner[passed, 0] == 0:
            continue
        chance, total = left / (y - passed + left), 0.0
        for following in range(passed, room + 1):
            total += chance
            for moment in range(inner.shape[1]):
                outer[following, moment] += chance * inner[passed, moment]
            to_go = y - following
            chance = chance * to_go / (to_go + left - 1) if to_go > 0 else 0.0
        if room < y:
            for moment in range(inner.shape[1]):
                done[moment] += max(0.0, 1.0 - total) * inner[passed, moment]


@njit(nogil=True, cache=True)
def pass_repeated_ties(
    states: Float, next_states: Float, low: int, high: int, numbered: Int64, masses: Float, rest: float, q: int,
    top: int, logs: Float, probs: Float, place: int, apart: bool, share: Float, credit: Float, done: Float,
) -> tuple[int, int]:  # fmt: skip
    """Advance the states past the candidates that tie with some relevant items, in all random orders of the ties.

    Return the lowest and the highest state reached; the highest is -1 if no state was reached. If the orders would take
    too many steps, ``done`` becomes NaN.

    - ``states``: row x is state x: the probability that x of ``q`` draws have been passed, and the moments of the
      metrics so far; set to 0 afterwards
    - ``next_states``, ``done``: rows ``low`` to ``high`` of ``states`` are moved to ``next_states``, and walks beyond
      the last rank with credit to ``done``
    - ``numbered``, ``masses``: class c has ``numbered[c]`` tied candidates of mass ``masses[c]`` each
    - ``rest``: the mass of all candidates not passed yet
    - ``top``: ranks from ``top`` on (counted from 0) have no credit
    - ``place``: the number of relevant items above the tied ones
    - ``apart``: whether relevant items do not count in each other's ranks
    - ``share``, ``credit``: an item at a rank adds to each metric its ``share`` (tied relevant items, metrics) times
      the rank's ``credit`` (metrics, ranks)
    - ``logs[x]``: log(x!); ``probs`` is scratch space
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
    """Move the walks whose next tied item is relevant from each state to the next, and add the item's credit.

    With ``to_go`` tied candidates left, the next item is relevant with probability c = (relevant left) / (relevant left
    + ``to_go``). ``here[i, x]`` is multiplied by 1 - c, and c times its old value, with the credit added, goes to
    ``here[i + 1, x]``.

    - ``here[i, x]``: the state after i of the tied relevant items, with x sampled candidates above: a probability and
      the moments of the metrics so far
    - ``place``: the number of relevant items above the tie
    - ``apart``: whether relevant items do not count in each other's ranks
    - ``share``, ``credit``: an item at a rank adds to each metric its ``share`` (tied relevant items, metrics) times
      the rank's ``credit`` (metrics, ranks)
    - ``scratch``: room for one state
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
    """Add to ``there`` the walks whose next tied item is a certain candidate.

    ``chance`` times the state ``here[i, x]`` goes to ``there[i, x + y]`` if y of the ``q - x`` draws left hit the
    candidate; ``here`` is not changed.

    - ``here[i, x]``: the state after i of the tied relevant items, with x sampled candidates above: a probability and
      the moments of the metrics so far
    - ``chance``: the probability that the candidate is the next item
    - ``mass``, ``rest``: the mass of the candidate, and of all candidates not passed yet
    - ``done``: walks beyond the last rank with credit are added to it
    - ``logs[x]``: log(x!); ``probs`` is scratch space
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
