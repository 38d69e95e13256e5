"""Compiled kernels for the first two moments of metrics over the random ranks in a sampled target set.

The relevant items of a query are in order, each with a number of non-relevant candidates above it. Walking down that
order, the number x of *sampled* candidates passed so far is a Markov chain. Between two relevant items with ``gap``
candidates between them, out of ``rest`` not yet passed, x grows by a hypergeometric (or binomial) number. So one walk
gives the mean and the second moment of any sum of credits. It carries, for every x, the probability of x and the first
two moments of the sum so far. Tied items are in random order: y sampled candidates that tie with m relevant items are
split into m + 1 runs, and all ways to split them are equally likely.

Row x of ``states`` is state x: its probability, then the first moments of all metrics, then their second moments, both
multiplied by the probability. ``done`` is a row of the same form, for walks that have left the ranks with credit. Other
arguments that the kernels share: ``q`` candidates remain to be drawn, ``place`` relevant items come before, ranks from
0 on below ``top`` have credit, ``logs[x]`` is log(x!), ``parts[x]`` is 1 / x, and ``probs``, ``more``, ``inner`` and
``outer`` are scratch space. ``tests/property/test_designs.py`` compares the kernels with enumerations of all samples
and orders.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recassay._kernel_cache import njit
from recassay.designs._distributions import NEGLIGIBLE, STEEP, few_hits, hit_probabilities
from recassay.designs._places import masses_above
from recassay.designs._replacement import credit_state, pass_repeated_ties

Int64 = NDArray[np.int64]
Int32 = NDArray[np.int32]
Float = NDArray[np.float64]
Bool = NDArray[np.bool_]

WORK = 4_000_000  # most steps for one set of ties; above it each item is placed separately, without second moments


@njit(nogil=True, cache=True)
def joint_moments(
    begin: int, end: int, chosen: Bool, offsets: Int64, above: Float, tied: Float, ties: Int32, pool: Float,
    drawn: Int64, level: Int64, number: Int64, mass: Float, replace: bool, apart: bool, only_first: bool, share: Float,
    credit: Float, limit: Int64, logs: Float, moments: Float,
) -> None:  # fmt: skip
    """Fill ``moments`` (queries, 2, metrics) with the mean and the second moment of each metric's sum of credits.

    Both are over random draws of candidates and random orders of ties.

    The sum runs over a query's relevant items; an item at rank r (from 1) adds share * credit[r - 1]. Only queries q in
    ``begin`` to ``end`` - 1 with ``chosen[q]`` are computed. ``offsets[q]:offsets[q + 1]`` are the pairs (query,
    relevant item) of query q, best first. Per pair, ``above`` and ``tied`` are the numbers of candidates above it and
    tied with it, or their masses, and ``ties`` is the number of other relevant items tied with it. Per query, ``pool``
    is the number or mass of all candidates, ``drawn`` is how many of them are sampled, and ranks beyond ``limit`` have
    no credit.

    With ``replace``, candidates are drawn with replacement; those that tie with pair p then form the classes
    ``level[p]:level[p + 1]``, and class c has ``number[c]`` candidates of mass ``mass[c]`` each. With ``apart``, each
    relevant item is ranked without the other relevant items, so they do not count in its rank. With ``only_first``,
    only the best relevant item gets credit. ``share`` is (pairs, metrics), ``credit`` is (metrics, ranks), and
    ``logs[x]`` is log(x!).
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
    """Pass ``gap`` of the ``rest`` candidates not passed yet: move each state's probability to the states that follow.

    A walk goes down the ranking; in state x it has passed x of the ``q`` sampled candidates. Row x of ``states`` has
    the probability of state x and the moments of the metrics so far. ``states[low:high + 1]`` are moved to
    ``next_states`` and set to 0; walks that reach ``top`` are added to ``done``. With ``replace``, candidates are drawn
    with replacement. ``logs[x]`` is log(x!), and ``probs`` is scratch space. Return the lowest and the highest state
    reached.
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

    A walk goes down the ranking and carries a probability and the moments of the metrics so far. It starts in one
    ``state``, with ``x`` sampled candidates passed; its moments are added to ``next_states``, and those of walks beyond
    the last rank with credit to ``done``. Return the lowest and the highest state reached.

    ``q`` of ``rest`` candidates remain to be drawn, without replacement. ``place`` is the number of relevant items
    above these, and ranks from ``top`` on (counted from 0) have no credit. A relevant item at a rank adds its credit to
    each metric: ``share`` (items, metrics) times ``credit`` (metrics, ranks). With ``apart``, relevant items do not
    count in each other's ranks. ``logs[x]`` is log(x!); ``probs``, ``inner`` and ``outer`` are scratch space.
    """
    n_tied, bottom, peak = share.shape[0], top, -1
    first, last = hit_probabilities(tied, rest, q, False, q, logs, probs)
    for y in range(first, last + 1):
        room = min(y, top - 1 - x)  # most sampled ties above a relevant item that still gets credit
        inner[: room + 1] = 0
        inner[0] = probs[y - first] * state
        if n_tied > 1 and n_tied * (room + 1.0) ** 2 > WORK:
            add_credit_separately(inner[0], x, y, room, place, apart, share, credit, top)
        else:
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
    candidates have been passed; its probability is moved to ``outer[p']``, the states at the next relevant item, p' >=
    p. ``left`` relevant items remain, the next one included. Walks that have passed more than ``room`` of the
    candidates are added to ``done``.
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
def add_credit_separately(
    state: Float, x: int, y: int, room: int, place: int, apart: bool, share: Float, credit: Float, top: int
) -> None:
    """Add the mean credit of each tied relevant item to ``state``, and set the second moments in ``state`` to NaN.

    ``state`` is a probability and the moments of the metrics so far. Each item is computed on its own. Products of the
    credits of two items are not computed, so the second moment of their sum is unknown. ``x`` sampled candidates are
    above the tie, and ``y`` are in it; a relevant item gets credit only if at most ``room`` of these are above it.
    ``place`` is the number of relevant items above the tie. The credit of an item at a rank, which it adds to each
    metric, is ``share`` (items, metrics) times ``credit`` (metrics, ranks); ranks from ``top`` on (counted from 0) have
    none. With ``apart``, relevant items do not count in each other's ranks.
    """
    n_tied, metrics = share.shape[0], credit.shape[0]
    for item in range(n_tied):
        # P(w) = C(w + one, one) C(y - w + many - one - 1, many - one - 1) / C(y + many, many)
        chance = 1.0
        for step in range(item + 1):
            chance *= (n_tied - step) / (y + n_tied - step)
        for w in range(room + 1):
            rank = x + w + place + (0 if apart else item)
            if rank < top:
                for metric in range(metrics):
                    state[1 + metric] += state[0] * chance * share[item, metric] * credit[metric, rank]
            if w < y:
                chance *= (w + item + 1.0) / (w + 1.0) * (y - w) / (y - w + n_tied - item - 1.0)
    state[1 + metrics :] = np.nan


@njit(nogil=True, cache=True)
def separate_moments(
    begin: int, end: int, chosen: Bool, offsets: Int64, above: Float, tied: Float, ties: Int32, pool: Float,
    drawn: Int64, level: Int64, number: Int64, mass: Float, replace: bool, apart: bool, only_first: bool, share: Float,
    credit: Float, limit: Int64, logs: Float, parts: Float, moments: Float,
) -> None:  # fmt: skip
    """Fill ``moments`` (queries, 2, metrics) with each metric's mean, and the sum of its items' second moments.

    This is :func:`joint_moments` item by item: faster, without the covariances of credits, over random draws of
    candidates and random orders of ties. The means are the same. The second moments are equal only if a single item
    gets credit: an item at rank r (from 1) gets share * credit[r - 1], and a metric is the sum over a query's items.

    Queries with ``begin`` <= number < ``end`` and ``chosen`` are computed. ``offsets[q]:offsets[q + 1]`` are the pairs
    (query, relevant item) of query q. Per pair, ``above`` and ``tied`` are the numbers (or masses) of candidates above
    it and tied with it, ``ties`` that of tied relevant items. Per query, ``pool`` is the number (or mass) of
    candidates, ``drawn`` how many are sampled, and ranks beyond ``limit`` have no credit. With ``replace``, candidates
    that tie with pair p form the classes ``level[p]:level[p + 1]``, and class c has ``number[c]`` candidates of mass
    ``mass[c]`` each. With ``apart``, relevant items do not count in each other's ranks; with ``only_first``, only the
    best gets credit. ``share`` is (pairs, metrics), ``credit`` (metrics, ranks), ``logs[x]`` is log(x!), ``parts[x]``
    is 1 / x.
    """
    probs, more = np.zeros(drawn[begin:end].max() + 3), np.zeros(drawn[begin:end].max() + 3)
    own, ones = np.zeros((2, credit.shape[0])), np.ones(credit.shape[0])
    for query in range(begin, end):
        if not chosen[query]:
            continue
        q, rest, first, place, i = drawn[query], pool[query], offsets[query], 0, 1
        top, of_query = min(limit[query], credit.shape[1]), moments[query]
        of_query[:] = 0
        for pair in range(first, first + 1 if only_first else offsets[query + 1]):
            new_level = pair == first or above[pair] != above[pair - 1] or tied[pair] != tied[pair - 1]
            n_tied = 1 if apart else ties[pair] + 1
            i = 1 if new_level or apart else i + 1
            if not apart:
                place = pair - first
            elif not new_level:  # a tied item in a set of its own has the moments of the one before
                of_query += own
                continue
            own[:] = 0
            weight = ones if apart else share[pair]
            if place >= top:
                continue
            if tied[pair] == 0 or q == 0:
                add_credit(above[pair], rest, q, replace, 1.0, place, weight, credit, top, logs, parts, probs, own)
            elif replace:
                classes = slice(level[pair], level[pair + 1])
                gaps, chances = masses_above(
                    number[classes], mass[classes], above[pair], i, n_tied, q, rest, top - 1 - place, logs
                )
                for at in range(gaps.size):
                    add_credit(
                        gaps[at], rest, q, replace, chances[at], place, weight, credit, top, logs, parts, probs, own
                    )
            elif n_tied == 1 and rest + 1 <= STEEP * (tied[pair] + 1) * (q + 1):
                add_credit_over_positions(
                    above[pair], tied[pair], rest, q, place, weight, credit, top, logs, probs, more, own
                )
            else:
                size, chance = int(tied[pair]), 1.0
                for step in range(i):
                    chance *= (n_tied - step) / (size + n_tied - step)
                for w in range(size + 1):
                    add_credit(
                        above[pair] + w, rest, q, replace, chance, place, weight, credit, top, logs, parts, probs, own
                    )
                    if w < size:
                        chance *= (w + i) / (w + 1.0) * (size - w) / (size - w + n_tied - i)
            of_query += own


@njit(nogil=True, cache=True)
def add_credit(
    gap: float, rest: float, q: int, replace: bool, chance: float, place: int, share: Float, credit: Float, top: int,
    logs: Float, parts: Float, probs: Float, moments: Float,
) -> None:  # fmt: skip
    """Add the mean and the mean square of an item's credit, both multiplied by ``chance``, to ``moments`` (2, metrics).

    The item has ``gap`` of the ``rest`` candidates above it; ``q`` of them are drawn, with replacement if ``replace``.
    ``place`` is the number of relevant items above it. Its credit at rank r (from 0) is share * credit[:, r]; ranks
    from ``top`` on have none. ``logs[x]`` is log(x!), ``parts[x]`` is 1 / x, and ``probs`` is scratch space.
    """
    most = min(q, top - 1 - place)
    if abs(chance) < NEGLIGIBLE or most < 0:
        return
    first, last = few_hits(gap, rest, q, replace, most, logs, parts, probs)
    for y in range(first, last + 1):
        for metric in range(share.size):
            value = share[metric] * credit[metric, place + y]
            moments[0, metric] += chance * probs[y - first] * value
            moments[1, metric] += chance * probs[y - first] * value * value


@njit(nogil=True, cache=True)
def add_credit_over_positions(
    above: float, tied: float, rest: float, q: int, place: int, share: Float, credit: Float, top: int, logs: Float,
    probs: Float, more: Float, moments: Float,
) -> None:  # fmt: skip
    """Add to ``moments`` the credit of an item whose position among the ``tied`` candidates that tie with it is random.

    All positions are equally likely. ``moments`` (2, metrics) gets the mean and the mean square of the credit.
    ``above`` of ``rest`` candidates are above the tie, and ``q`` of ``rest`` are drawn, without replacement. ``place``
    is the number of relevant items above. The credit at rank r (from 0) is share * credit[:, r]; ranks from ``top`` on
    have none. ``logs[x]`` is log(x!); ``probs`` and ``more`` are scratch space.

    The probability of y draws above the item, summed over all positions, is a difference of two tails: the sum over b
    <= B of C(b, y) C(N - b, q - y) is C(N + 1, q + 1) times the probability that more than y of q + 1 draws from N + 1
    hit the first B + 1. The difference has rounding errors, so the factor in front of it must be small (at most STEEP).
    """
    least, least_end = hit_probabilities(above, rest + 1, q + 1, False, q + 1, logs, probs)
    most, most_end = hit_probabilities(above + tied + 1, rest + 1, q + 1, False, q + 1, logs, more)
    factor, below, beyond = (rest + 1) / (tied + 1) / (q + 1), 0.0, 0.0
    for y in range(q, -1, -1):
        below += probs[y + 1 - least] if least <= y + 1 <= least_end else 0.0
        beyond += more[y + 1 - most] if most <= y + 1 <= most_end else 0.0
        if place + y < top:
            for metric in range(share.size):
                value = share[metric] * credit[metric, place + y]
                moments[0, metric] += factor * (beyond - below) * value
                moments[1, metric] += factor * (beyond - below) * value * value
