"""The law of ranks in a sampled target set, and sums of what a metric credits for them.

A query's relevant items stand in order, each with a number of non-relevant candidates above it. Walking down that
order, the number x of *sampled* candidates passed so far is a Markov chain: between two relevant items with ``gap``
candidates between them, out of ``rest`` not yet passed, it grows by a hypergeometric (or binomial) number. So the mean
and the second moment of any sum of credits come from one walk that carries, for every x, its chance and the first two
moments of the sum so far. Items that tie stand in random order: of y sampled ones that tie with m relevant items, all
ways to cut y into m + 1 stretches are equally likely.

A state is a row: its chance, then for every metric the first, then for every metric the second moment. Held to twins
that enumerate all samples and orders in ``tests/property/test_designs.py``.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from recassay.designs._laws import NEGLIGIBLE, STEEP, numbers, rising
from recassay.designs._places import places
from recassay.designs._repeats import earn, through
from recassay.portable._kernels import log1p

Int64 = NDArray[np.int64]
Int32 = NDArray[np.int32]
Float = NDArray[np.float64]
Bool = NDArray[np.bool_]

SHORT = 64  # ranks down to which a law is taken from its beginning
WORK = 4_000_000  # steps in one tangle; beyond it each item is placed by itself, and there is no second moment


@njit(nogil=True, cache=True)
def walk(
    begin: int, end: int, chosen: Bool, offsets: Int64, above: Float, tied: Float, ties: Int32, pool: Float,
    drawn: Int64, level: Int64, number: Int64, mass: Float, replace: bool, apart: bool, only_first: bool, share: Float,
    credit: Float, limit: Int64, logs: Float, moments: Float,
) -> None:  # fmt: skip
    """Mean and second moment of the sum over pairs of share * credit[rank - 1], for chosen queries and every metric.

    ``above``, ``tied`` and ``pool`` are numbers of candidates, or their mass; ``drawn`` of them are sampled.
    ``apart``: each relevant item stands in a set of its own, so none counts in another's rank. ``share`` is
    (pairs, metrics), ``credit`` (metrics, ranks); ranks beyond ``limit`` earn nothing. ``only_first``: so do all
    relevant items but the first. ``logs`` are log factorials.
    """
    metrics, most = credit.shape
    now, then = np.zeros((most + 1, 1 + 2 * metrics)), np.zeros((most + 1, 1 + 2 * metrics))
    inner, outer = np.zeros((most + 1, 1 + 2 * metrics)), np.zeros((most + 1, 1 + 2 * metrics))
    law = np.zeros(max(most, drawn[begin:end].max()) + 2)
    done = np.zeros(1 + 2 * metrics)
    for query in range(begin, end):
        if not chosen[query]:
            continue
        top = min(limit[query], most)
        done[:] = 0
        now[0, 0] = 1  # all else is zero, and is left so
        low, high, passed, pair, first = 0, 0, 0.0, offsets[query], offsets[query]
        while pair < offsets[query + 1] and high >= low and not (only_first and pair > first):
            many, q = ties[pair] + 1, drawn[query]
            gap, rest = above[pair] - passed, pool[query] - passed
            low, high = onward(now, then, low, high, gap, rest, q, replace, top, logs, law, done)
            now, then = then, now
            place = 0 if apart else pair - first
            if tied[pair] == 0:
                for one in range(many):
                    for x in range(low, high + 1):
                        earn(now[x], share[pair + one], credit, x + place + (0 if apart else one), top)
            elif replace:
                classes = slice(level[pair], level[pair + 1])
                low, high = through(
                    now, then, low, high, number[classes], mass[classes], rest - gap, q, top, logs, law, place, apart,
                    share[pair : pair + many], credit, done,
                )  # fmt: skip
                now, then = then, now
            else:
                bottom, peak = top, -1
                for x in range(low, high + 1):
                    if now[x, 0] > NEGLIGIBLE:
                        some, more = tangle(
                            now[x], x, tied[pair], rest - gap, q - x, top, logs, law, place, apart,
                            share[pair : pair + many], credit, inner, outer, then, done,
                        )  # fmt: skip
                        bottom, peak = min(bottom, some), max(peak, more)
                    now[x] = 0
                now, then, low, high = then, now, bottom, peak
            passed = above[pair] + tied[pair]
            pair += many
        for x in range(low, high + 1):
            done += now[x]
            now[x] = 0
        moments[query, 0], moments[query, 1] = done[1 : 1 + metrics], done[1 + metrics :]


@njit(nogil=True, cache=True)
def onward(
    now: Float, then: Float, low: int, high: int, gap: float, rest: float, q: int, replace: bool, top: int, logs: Float,
    law: Float, done: Float,
) -> tuple[int, int]:  # fmt: skip
    """Pass ``gap`` candidates: every state goes on to all it can become, and is done beyond the last rank.

    ``now`` is left empty. Returns the first and last state there is now.
    """
    bottom, peak = top, -1
    for x in range(low, high + 1):
        if now[x, 0] > NEGLIGIBLE:
            first, last = numbers(gap, rest, q - x, replace, top - 1 - x, logs, law)
            total = 0.0
            for y in range(first, last + 1):
                total += law[y - first]
                for moment in range(now.shape[1]):
                    then[x + y, moment] += law[y - first] * now[x, moment]
            for moment in range(now.shape[1]):
                done[moment] += max(0.0, 1.0 - total) * now[x, moment]
            bottom, peak = min(bottom, x + first), max(peak, x + last)
        now[x] = 0
    return bottom, peak


@njit(nogil=True, cache=True)
def tangle(
    state: Float, x: int, tied: float, rest: float, q: int, top: int, logs: Float, law: Float, place: int,
    apart: bool, share: Float, credit: Float, inner: Float, outer: Float, then: Float, done: Float,
) -> tuple[int, int]:  # fmt: skip
    """Pass candidates that tie with some relevant items, all in random order, drawn without replacement; return the
    first and last state that come of it."""
    many, bottom, peak = share.shape[0], top, -1
    first, last = numbers(tied, rest, q, False, q, logs, law)
    for y in range(first, last + 1):
        room = min(y, top - 1 - x)  # sampled ties above a relevant item that still earns something
        inner[: room + 1] = 0
        inner[0] = law[y - first] * state
        if many > 1 and many * (room + 1.0) ** 2 > WORK:
            place_each(inner[0], x, y, room, place, apart, share, credit, top)
        else:
            for one in range(many):
                outer[: room + 1] = 0
                between(inner, outer, y, room, many - one, done)
                for passed in range(room + 1):
                    inner[passed] = outer[passed]
                    earn(inner[passed], share[one], credit, x + passed + place + (0 if apart else one), top)
        inside = x + y < top
        for passed in range(room + 1):
            for moment in range(state.size):
                if inside:
                    then[x + y, moment] += inner[passed, moment]
                else:
                    done[moment] += inner[passed, moment]
        if inside:
            bottom, peak = min(bottom, x + y), max(peak, x + y)
    return bottom, peak


@njit(nogil=True, cache=True)
def between(inner: Float, outer: Float, y: int, room: int, left: int, done: Float) -> None:
    """The stretch of ties before the next of ``left`` relevant items, after ``passed`` of y."""
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
def place_each(
    state: Float, x: int, y: int, room: int, place: int, apart: bool, share: Float, credit: Float, top: int
) -> None:
    """Mean credits of tied items, each by itself; what they have in common is lost, so the second moment is NaN."""
    many, metrics = share.shape[0], credit.shape[0]
    for one in range(many):
        # P(w) = C(w + one, one) C(y - w + many - one - 1, many - one - 1) / C(y + many, many)
        chance = 1.0
        for other in range(one + 1):
            chance *= (many - other) / (y + many - other)
        for w in range(room + 1):
            rank = x + w + place + (0 if apart else one)
            if rank < top:
                for metric in range(metrics):
                    state[1 + metric] += state[0] * chance * share[one, metric] * credit[metric, rank]
            if w < y:
                chance *= (w + one + 1.0) / (w + 1.0) * (y - w) / (y - w + many - one - 1.0)
    state[1 + metrics :] = np.nan


@njit(nogil=True, cache=True)
def shuffle(
    relevant: Int64, drawn: Int64, limit: Int64, places: int, by_place: bool, credit: Float, out: Float
) -> None:
    """For each set the mean sum of credits of its first ``places`` relevant items when all stand in random order.

    Of S items, R relevant, the i-th relevant one stands at rank p with chance C(p-1, i-1) C(S-p, R-i) / C(S, R).
    ``by_place``: it earns i times as much.
    """
    for one in range(relevant.size):
        many, others = relevant[one], drawn[one]
        out[one], first = 0.0, 1.0
        for i in range(1, min(places, many) + 1):
            first *= (many - i + 1.0) / (many + others - i + 1.0)  # chance that the first i ranks are all relevant
            chance, w = first, 0
            while i + w <= limit[one] and w <= others:
                out[one] += chance * credit[i + w - 1] * (i if by_place else 1)
                chance *= (w + i) / (w + 1.0) * (others - w) / (others - w + many - i) if w < others else 0.0
                w += 1


@njit(nogil=True, cache=True)
def alone(
    begin: int, end: int, chosen: Bool, offsets: Int64, above: Float, tied: Float, ties: Int32, pool: Float,
    drawn: Int64, level: Int64, number: Int64, mass: Float, replace: bool, apart: bool, only_first: bool, share: Float,
    credit: Float, limit: Int64, logs: Float, parts: Float, moments: Float,
) -> None:  # fmt: skip
    """Means as of :func:`walk`, item by item: quicker, and blind to what items have in common.

    The second moment adds up the items' own second moments: that of the sum where only one item earns anything.
    ``parts`` are 1 / x. ``number`` and ``mass`` are the classes of candidates that tie with pair p,
    ``level[p]:level[p + 1]``, where they are drawn with replacement.
    """
    law, more = np.zeros(drawn[begin:end].max() + 3), np.zeros(drawn[begin:end].max() + 3)
    own, lone = np.zeros((2, credit.shape[0])), np.ones(credit.shape[0])
    for query in range(begin, end):
        if not chosen[query]:
            continue
        q, rest, first, place, i = drawn[query], pool[query], offsets[query], 0, 1
        top, both = min(limit[query], credit.shape[1]), moments[query]
        both[:] = 0
        for pair in range(first, first + 1 if only_first else offsets[query + 1]):
            new = pair == first or above[pair] != above[pair - 1] or tied[pair] != tied[pair - 1]
            many = 1 if apart else ties[pair] + 1
            i = 1 if new or apart else i + 1
            if not apart:
                place = pair - first
            elif not new:  # in a set of its own as the one before
                both += own
                continue
            own[:] = 0
            worth = lone if apart else share[pair]
            if place >= top:
                continue
            if tied[pair] == 0 or q == 0:
                credited(above[pair], rest, q, replace, 1.0, place, worth, credit, top, logs, parts, law, own)
            elif replace:
                classes = slice(level[pair], level[pair + 1])
                gaps, chances = places(
                    number[classes], mass[classes], above[pair], i, many, q, rest, top - 1 - place, logs
                )
                for at in range(gaps.size):
                    credited(gaps[at], rest, q, True, chances[at], place, worth, credit, top, logs, parts, law, own)
            elif many == 1 and rest + 1 <= STEEP * (tied[pair] + 1) * (q + 1):
                slots(above[pair], tied[pair], rest, q, place, worth, credit, top, logs, law, more, own)
            else:
                size, chance = int(tied[pair]), 1.0
                for step in range(i):
                    chance *= (many - step) / (size + many - step)
                for w in range(size + 1):
                    credited(above[pair] + w, rest, q, False, chance, place, worth, credit, top, logs, parts, law, own)
                    if w < size:
                        chance *= (w + i) / (w + 1.0) * (size - w) / (size - w + many - i)
            both += own


@njit(nogil=True, cache=True)
def credited(
    gap: float, rest: float, q: int, replace: bool, chance: float, place: int, share: Float, credit: Float, top: int,
    logs: Float, parts: Float, law: Float, moments: Float,
) -> None:  # fmt: skip
    """Credit an item with ``gap`` candidates above it; ranks beyond ``top`` earn nothing."""
    most = min(q, top - 1 - place)
    if abs(chance) < NEGLIGIBLE or most < 0:
        return
    first, last = 0, -1
    if most <= SHORT and gap < rest:
        least = log1p(-gap / rest) if replace else 0.0
        last = rising(gap, rest, q, replace, least, most + 1, logs, parts, law)
    if last == -1:
        first, last = numbers(gap, rest, q, replace, most, logs, law)
    for y in range(first, last + 1):
        for metric in range(share.size):
            value = share[metric] * credit[metric, place + y]
            moments[0, metric] += chance * law[y - first] * value
            moments[1, metric] += chance * law[y - first] * value * value


@njit(nogil=True, cache=True)
def slots(
    above: float, tied: float, rest: float, q: int, place: int, share: Float, credit: Float, top: int, logs: Float,
    law: Float, more: Float, moments: Float,
) -> None:  # fmt: skip
    """Credit an item that ties with ``tied`` candidates, at any of its places alike; draws without replacement.

    The law of y, summed over all places, is a difference of two tails: the sum over b <= B of C(b, y) C(N - b, q - y)
    is C(N + 1, q + 1) times the chance that more than y of q + 1 draws from N + 1 fall on the first B + 1. The factor
    before the difference must be small (STEEP), or rounding would show.
    """
    least, least_end = numbers(above, rest + 1, q + 1, False, q + 1, logs, law)
    most, most_end = numbers(above + tied + 1, rest + 1, q + 1, False, q + 1, logs, more)
    factor, below, beyond = (rest + 1) / (tied + 1) / (q + 1), 0.0, 0.0
    for y in range(q, -1, -1):
        below += law[y + 1 - least] if least <= y + 1 <= least_end else 0.0
        beyond += more[y + 1 - most] if most <= y + 1 <= most_end else 0.0
        if place + y < top:
            for metric in range(share.size):
                value = share[metric] * credit[metric, place + y]
                moments[0, metric] += factor * (beyond - below) * value
                moments[1, metric] += factor * (beyond - below) * value * value
