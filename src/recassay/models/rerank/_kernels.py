"""Loops that pick items one by one. Single-threaded, arrays in, arrays out, no validation.

List q is rows ``offsets[q]:offsets[q + 1]`` in the order of its baseline, of which the first ``depth`` are candidates.
``order`` is filled with the rows of every list in their new order: ``places`` picks, then the rest as it was. ``worth``
is what each pick was worth, NaN where nothing was picked. What is picked is the first of the best: equal worth falls
to the better rank. Values that differ by no more than rounding (``CLOSE``) are equal. Each loop has a readable twin in
``tests/property/test_rerank.py``, in decimal arithmetic, that it is held to.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from recassay.data._sets import bits_set, is_bare, sets_distance
from recassay.portable._kernels import exp2

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]
Float = NDArray[np.float64]
Words = NDArray[np.uint64]

NONE, MINMAX, STEP = 0, 1, 2  # how scores and diversities are put on one scale
MIN, MAX, MEAN = 0, 1, 2  # of the distances to what is picked already
SETS, TABLE, VECTORS = 0, 1, 2  # where distances come from

# Equal up to this share of their size: sums of up to 2^12 terms of one sign, each exact to 2^-53 of its size, come no
# closer to each other. Without it a spread of rounding errors would count as much as a real one once it is divided by.
CLOSE = 2.0**-40


@njit(nogil=True, cache=True)
def by_distance(
    offsets: Int64, scores: Float, rows: Int32, weight: float, places: int, depth: int, norm: int, form: int,
    kind: int, cosine: bool, skip: bool, masks: Words, set_offsets: Int64, set_codes: Int32, marked: Int64,
    table: Float, order: Int64, worth: Float,
) -> None:  # fmt: skip
    """Pick by (1 - weight) score + weight distance to what is picked already, its least, largest or mean one."""
    left, score, spread = np.empty(depth, np.int64), np.empty(depth), np.empty(depth)
    state, met, away = np.empty(depth), np.empty(depth, np.int64), np.empty(depth)
    marks = 0
    for query in range(offsets.size - 1):
        n = _begin(query, offsets, scores, depth, norm, left, score, order)
        if weight == 0:
            continue
        spread[:n] = 0.0
        state[:n] = 0.0
        met[:n] = 0
        for pick in range(min(places, n)):
            best, worth[query, pick] = _best(score, spread, n - pick, weight, norm)
            row = left[best]
            order[offsets[query] + pick] = row
            rest = n - pick - 1
            for one in range(best, rest):
                left[one], score[one] = left[one + 1], score[one + 1]
                state[one], met[one] = state[one + 1], met[one + 1]
            if pick + 1 == places:
                break
            if kind == SETS:
                marks += 1
                _away_in_sets(rows, row, left, rest, cosine, skip, masks, set_offsets, set_codes, marked, marks, away)
            elif kind == TABLE:
                for one in range(rest):
                    away[one] = table[rows[row], rows[left[one]]]
            else:
                _away_in_space(rows, row, left, rest, table, away)
            for one in range(rest):
                if not np.isnan(away[one]):  # else the pair is skipped
                    if form == MEAN:
                        state[one] += away[one]
                    elif met[one] == 0 or (away[one] < state[one]) == (form == MIN):
                        state[one] = away[one]
                    met[one] += 1
                spread[one] = state[one] / met[one] if form == MEAN and met[one] else state[one]
        _finish(query, offsets, left, min(places, n), n, order)


@njit(nogil=True, cache=True)
def by_aspects(
    offsets: Int64, scores: Float, aspect_offsets: Int64, aspects: Int32, prior_offsets: Int64, priors: Float,
    weight: float, places: int, depth: int, norm: int, graded: bool, order: Int64, worth: Float,
) -> int:  # fmt: skip
    """Pick by (1 - weight) score + weight x how well it serves aspects that what is picked already serves badly.

    The aspects of row r are ``aspects[aspect_offsets[r]:aspect_offsets[r + 1]]``; the priors of aspects 0, 1, ... of
    the user of list q begin at ``prior_offsets[q]``. A list whose user has no aspects keeps its order. Returns in how
    many lists negative scores were shifted up for the chances of items.
    """
    left, score, spread = np.empty(depth, np.int64), np.empty(depth), np.empty(depth)
    most = 0
    for query in range(offsets.size - 1):
        most = max(most, prior_offsets[query + 1] - prior_offsets[query])
    unserved, whole = np.empty(most), np.empty(most)
    chance = np.empty(64)
    shifted = 0
    for query in range(offsets.size - 1):
        n = _begin(query, offsets, scores, depth, norm, left, score, order)
        own = priors[prior_offsets[query] : prior_offsets[query + 1]]
        if weight == 0 or own.size == 0 or n == 0:
            continue
        first = aspect_offsets[offsets[query]]
        entries = aspect_offsets[offsets[query] + n] - first
        if chance.size < entries:
            chance = np.empty(2 * entries)
        low = min(scores[offsets[query] : offsets[query] + n].min(), 0.0)
        shifted += low < 0
        _chances(query, offsets, scores, low, n, aspect_offsets, aspects, graded, whole[: own.size], chance)
        unserved[: own.size] = own
        for pick in range(min(places, n)):
            for one in range(n - pick):
                total = 0.0
                for at in range(aspect_offsets[left[one]], aspect_offsets[left[one] + 1]):
                    total += unserved[aspects[at]] * chance[at - first]
                spread[one] = total
            best, worth[query, pick] = _best(score, spread, n - pick, weight, norm)
            row = left[best]
            order[offsets[query] + pick] = row
            for at in range(aspect_offsets[row], aspect_offsets[row + 1]):
                unserved[aspects[at]] *= 1.0 - chance[at - first]
            for one in range(best, n - pick - 1):
                left[one], score[one] = left[one + 1], score[one + 1]
        _finish(query, offsets, left, min(places, n), n, order)
    return shifted


@njit(nogil=True, cache=True)
def _begin(
    query: int, offsets: Int64, scores: Float, depth: int, norm: int, left: Int64, score: Float, order: Int64
) -> int:
    """Leave the list as it is, and lay out its candidates; returns their number."""
    first, last = offsets[query], offsets[query + 1]
    for row in range(first, last):
        order[row] = row
    n = min(last - first, depth)
    for one in range(n):
        left[one], score[one] = first + one, scores[first + one]
    if norm == MINMAX and n:
        low, high = score[:n].min(), score[:n].max()
        varied = not _equal(low, high)
        for one in range(n):
            score[one] = (score[one] - low) / (high - low) if varied else 0.0
    return int(n)


@njit(nogil=True, cache=True)
def _finish(query: int, offsets: Int64, left: Int64, picked: int, n: int, order: Int64) -> None:
    """Put candidates that were not picked behind those that were."""
    for one in range(n - picked):
        order[offsets[query] + picked + one] = left[one]


@njit(nogil=True, inline="always")
def _equal(low: float, high: float) -> bool:
    """Return whether two numbers, the smaller one first, differ by no more than rounding."""
    return bool(high - low <= CLOSE * max(abs(low), abs(high)))


@njit(nogil=True, cache=True)
def _best(score: Float, spread: Float, n: int, weight: float, norm: int) -> tuple[int, float]:
    """The first of n candidates that is worth as much as the best one, up to rounding, and what it is worth."""
    like, far = (1.0 - weight, 0.0, 1.0), (weight, 0.0, 1.0)  # weight, mean and standard deviation
    if norm == STEP:
        mean, sd = _moments(score, n)
        like = (1.0 - weight, mean, sd)
        mean, sd = _moments(spread, n)
        far = (weight, mean, sd)
    best, most, reach = 0, -np.inf, 0.0
    for one in range(n):
        value, error = _worth(score[one], spread[one], like, far)
        if value > most:
            best, most, reach = one, value, error
    for one in range(best):
        value, error = _worth(score[one], spread[one], like, far)
        if most - value <= reach + error:
            return one, value
    return best, most


@njit(nogil=True, inline="always")
def _worth(
    score: float, spread: float, like: tuple[float, float, float], far: tuple[float, float, float]
) -> tuple[float, float]:
    """What a candidate is worth, and how far rounding may move that: by CLOSE of all that was added and subtracted."""
    value, size = 0.0, 0.0
    if like[2] > 0:
        value += like[0] * ((score - like[1]) / like[2])
        size += like[0] * ((abs(score) + abs(like[1])) / like[2])
    if far[2] > 0:
        value += far[0] * ((spread - far[1]) / far[2])
        size += far[0] * ((abs(spread) + abs(far[1])) / far[2])
    return value, CLOSE * size


@njit(nogil=True, cache=True)
def _moments(values: Float, n: int) -> tuple[float, float]:
    """Mean and sample standard deviation of n values; exactly 0 where all are equal, up to rounding."""
    total, low, high = 0.0, values[0], values[0]
    for one in range(n):
        total += values[one]
        low, high = min(low, values[one]), max(high, values[one])
    if _equal(low, high):
        return low, 0.0
    mean, reach = total / n, high - low
    squares = 0.0
    for one in range(n):
        share = (values[one] - mean) / reach  # squares of tiny values would underflow
        squares += share * share
    return mean, reach * float(np.sqrt(squares / (n - 1)))


@njit(nogil=True, cache=True)
def _away_in_sets(
    rows: Int32, row: int, left: Int64, rest: int, cosine: bool, skip: bool, masks: Words, set_offsets: Int64,
    set_codes: Int32, marked: Int64, mark: int, away: Float,
) -> None:  # fmt: skip
    """Distances of the first ``rest`` of ``left`` to a row, from the sets of both; as bits if 64 are enough."""
    near = rows[row]
    bare = is_bare(set_offsets, near)
    if not bare and not masks.size:
        for at in range(set_offsets[near], set_offsets[near + 1]):
            marked[set_codes[at]] = mark
    for one in range(rest):
        other = rows[left[one]]
        if bare or is_bare(set_offsets, other):
            away[one] = np.nan if skip else 1.0
            continue
        shared = 0
        if masks.size:
            shared = bits_set(masks[near] & masks[other])
        else:
            for at in range(set_offsets[other], set_offsets[other + 1]):
                shared += marked[set_codes[at]] == mark
        sizes = set_offsets[near + 1] - set_offsets[near], set_offsets[other + 1] - set_offsets[other]
        away[one] = sets_distance(shared, sizes[0], sizes[1], cosine)


@njit(nogil=True, cache=True)
def _away_in_space(rows: Int32, row: int, left: Int64, rest: int, table: Float, away: Float) -> None:
    """Half of 1 - cosine to a row, from vectors of length 1."""
    for one in range(rest):
        product = 0.0
        for dimension in range(table.shape[1]):
            product += table[rows[row], dimension] * table[rows[left[one]], dimension]
        away[one] = min(max((1.0 - product) / 2.0, 0.0), 1.0)


@njit(nogil=True, cache=True)
def _chances(
    query: int, offsets: Int64, scores: Float, low: float, n: int, aspect_offsets: Int64, aspects: Int32,
    graded: bool, whole: Float, chance: Float,
) -> None:  # fmt: skip
    """p(i | u, a) of every candidate and each of its aspects: its share of their scores, or by the largest of them."""
    first = offsets[query]
    begin = aspect_offsets[first]
    whole[:] = 0.0
    for row in range(first, first + n):
        score = scores[row] - low
        for at in range(aspect_offsets[row], aspect_offsets[row + 1]):
            whole[aspects[at]] = max(whole[aspects[at]], score) if graded else whole[aspects[at]] + score
    for row in range(first, first + n):
        score = scores[row] - low
        for at in range(aspect_offsets[row], aspect_offsets[row + 1]):
            most = whole[aspects[at]]
            if most <= 0:
                chance[at - begin] = 0.0
            elif graded:
                chance[at - begin] = (exp2(score / most) - 1.0) / 2.0
            else:
                chance[at - begin] = score / most
