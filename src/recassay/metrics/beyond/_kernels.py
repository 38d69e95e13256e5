"""Compiled loops over the items of lists and of profiles. Single-threaded, arrays in, arrays out, no validation.

``offsets[q]:offsets[q+1]`` are the places of list q; ``rows`` are their items as row numbers in the table of features,
or -1. ``feature_offsets`` and ``feature_codes`` are the features of each item, ascending; ``masks`` holds the same as
bits, if 64 bits are enough.

Row r has the aspects (features, or tastes of the user) ``codes[starts[r]:starts[r + 1]]`` and adds ``amount[r]`` to
each. It multiplies what later rows add to these aspects by ``keep[r]``. An item of amount 0 does not count.

Tests compare each loop with a slow, readable implementation, in ``tests/property/test_beyond.py`` and
``test_aspects.py``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recassay._kernel_cache import njit
from recassay.arrays import Bool, Float, Int32, Int64
from recassay.columnar._sets import distance, is_empty_set

Words = NDArray[np.uint64]


@njit(nogil=True, inline="always")
def _item_distance(
    masks: Words, feature_offsets: Int64, feature_codes: Int32, table: Float, cosine: bool, one: int, other: int
) -> float:
    """Return the distance of items ``one`` and ``other``, from ``table`` if it is not empty, else from their features.

    The distance is 1 if one of the items has no features, or the row -1 (not in the table of features). ``cosine``
    chooses cosine instead of Jaccard distance. The features of row r are
    ``feature_codes[feature_offsets[r]:feature_offsets[r + 1]]``, and ``masks[r]``, unless ``masks`` is empty, the same
    as bits.
    """
    if one >= 0 and one == other:
        return 0.0
    if table.shape[0] == 0:
        return distance(masks, feature_offsets, feature_codes, one, other, cosine)
    return float(table[one, other]) if one >= 0 and other >= 0 else 1.0


@njit(nogil=True, cache=True)
def expected_distance(
    offsets: Int64, rows: Int32, gain: Float, discount: Float,
    masks: Words, feature_offsets: Int64, feature_codes: Int32, table: Float, cosine: bool, skip: bool, out: Float,
) -> None:  # fmt: skip
    """Write to ``out[q]`` sum_p d(p) g_p D_p / sum_p d(p); D_p is a mean distance of the item at place p to others.

    d is ``discount`` and g is ``gain``. In D_p another place r has the weight g_r d(max(1, r - p)), so places above p
    and the next one below are not discounted. If d and g are 1 everywhere, it is the mean over pairs.
    ``offsets[q]:offsets[q + 1]`` are the places of list q, and ``rows`` the item at each place. Distances are from
    ``table``, or, if it is empty, from the features of items (``cosine`` or Jaccard): those of item i are
    ``feature_codes[feature_offsets[i]:feature_offsets[i + 1]]``, and ``masks[i]``, unless ``masks`` is empty, the same
    as bits. With ``skip``, items without features are left out of all sums.
    """
    near, away = np.empty(discount.size), np.empty(discount.size)  # sums of weights, and of weights x distances
    for query in range(offsets.size - 1):
        top, total, weight, counted = offsets[query], 0.0, 0.0, 0
        for place in range(offsets[query + 1] - top):
            near[place] = away[place] = 0.0
            if skip and is_empty_set(feature_offsets, rows[top + place]):
                continue
            counted += 1
            weight += discount[place]
            for above in range(place):
                if skip and is_empty_set(feature_offsets, rows[top + above]):
                    continue
                apart = _item_distance(
                    masks, feature_offsets, feature_codes, table, cosine, rows[top + above], rows[top + place]
                )
                near[place] += discount[0] * gain[top + above]
                away[place] += discount[0] * gain[top + above] * apart
                own = discount[place - above - 1] * gain[top + place]
                near[above] += own
                away[above] += own * apart
        for place in range(offsets[query + 1] - top):
            if near[place] > 0:
                total += discount[place] * gain[top + place] * away[place] / near[place]
        out[query] = total / weight if counted > 1 else np.nan


@njit(nogil=True, cache=True)
def profile_distance(
    offsets: Int64, rows: Int32, items: Int32, user: Int32, profile_offsets: Int64, profile_items: Int32,
    profile_rows: Int32, masks: Words, feature_offsets: Int64, feature_codes: Int32, table: Float,
    cosine: bool, skip: bool, out: Float,
) -> None:  # fmt: skip
    """Write to ``out[q]`` the mean over the items of list q of their mean distance to the items of the user's profile.

    ``offsets[q]:offsets[q + 1]`` are the places of list q, with their ``items`` and the ``rows`` of these items in the
    table of features. ``user[q]`` is the user's number u in the log, whose ``profile_items`` are those from
    ``profile_offsets[u]`` up to ``profile_offsets[u + 1]``; ``profile_rows`` is the row in the table of features of
    each item of the log. Distances are from ``table``, or, if it is empty, from the features of items (``cosine`` or
    Jaccard): those of row r are ``feature_codes[feature_offsets[r]:feature_offsets[r + 1]]``, and ``masks[r]``, unless
    ``masks`` is empty, the same as bits. With ``skip``, items without features are ignored.
    """
    for query in range(offsets.size - 1):
        total, counted = 0.0, 0
        for place in range(offsets[query], offsets[query + 1]):
            if user[query] < 0 or (skip and is_empty_set(feature_offsets, rows[place])):
                continue
            away, pairs = 0.0, 0
            for near in range(profile_offsets[user[query]], profile_offsets[user[query] + 1]):
                liked = profile_items[near]
                if skip and is_empty_set(feature_offsets, profile_rows[liked]):
                    continue
                pairs += 1
                if liked != items[place]:
                    other = profile_rows[liked]
                    away += _item_distance(masks, feature_offsets, feature_codes, table, cosine, rows[place], other)
            if pairs:
                total += away / pairs
                counted += 1
        out[query] = total / counted if counted else np.nan


@njit(nogil=True, cache=True)
def distinct_features(
    offsets: Int64, rows: Int32, counted: Bool, feature_offsets: Int64, feature_codes: Int32, features: int, out: Float
) -> None:
    """Write to ``out[q]`` the number of different features among the ``counted`` items of list q.

    ``offsets[q]:offsets[q + 1]`` are the places of list q, ``rows`` the item at each place, and
    ``feature_codes[feature_offsets[r]:feature_offsets[r + 1]]`` the features of item r. Their codes are below
    ``features``.
    """
    last_seen = np.full(features, -1, np.int64)
    for query in range(offsets.size - 1):
        found = 0
        for place in range(offsets[query], offsets[query + 1]):
            if not counted[place] or rows[place] < 0:
                continue
            for at in range(feature_offsets[rows[place]], feature_offsets[rows[place] + 1]):
                found += last_seen[feature_codes[at]] != query
                last_seen[feature_codes[at]] = query
        out[query] = found


EVEN = 1e-12  # gains closer than this count as equal


@njit(nogil=True, cache=True)
def gained(
    offsets: Int64, amount: Float, keep: Float, starts: Int64, codes: Int32, width: int,
    first: Int64, weight: Float, discount: Float, out: Float,
) -> None:  # fmt: skip
    """Write to ``out[q]`` the sum over places of list q of discount x amount x summed weights of the item's aspects.

    Aspect a starts with the weight ``weight[first[q] + a]`` (1 if ``weight`` is empty), and each row above that has the
    aspect multiplies this by its ``keep``. ``offsets[q]:offsets[q + 1]`` are the rows of list q,
    ``codes[starts[r]:starts[r + 1]]`` the aspects of row r, numbered below ``width``, and ``discount`` has a number per
    place. An ``amount`` of 0 marks an item that does not count.
    """
    left = np.ones(width)
    for query in range(offsets.size - 1):
        top, total = offsets[query], 0.0
        for row in range(top, offsets[query + 1]):
            if amount[row] == 0:
                continue
            here = 0.0
            for aspect in codes[starts[row] : starts[row + 1]]:
                here += left[aspect] * (weight[first[query] + aspect] if weight.size else 1.0)
                left[aspect] *= keep[row]
            total += discount[row - top] * amount[row] * here
        out[query] = total
        left[codes[starts[top] : starts[offsets[query + 1]]]] = 1.0


@njit(nogil=True, inline="always")
def _gain_of(row: int, amount: Float, starts: Int64, codes: Int32, left: Float) -> float:
    """Return the gain of a row: its amount x the sum over its aspects of ``left``, the weight each aspect still has."""
    here = 0.0
    for aspect in codes[starts[row] : starts[row + 1]]:
        here += left[aspect]
    return float(amount[row] * here)


@njit(nogil=True, cache=True)
def greedy_ideal(
    offsets: Int64, items: Int32, amount: Float, keep: Float, starts: Int64, codes: Int32, width: int,
    discount: Float, out: Float,
) -> None:  # fmt: skip
    """Write to ``out[q]`` the gain of a list built greedily: largest gain first, ties to the lower code in ``items``.

    The candidates of query q are the rows ``offsets[q]:offsets[q + 1]``, with ``codes[starts[r]:starts[r + 1]]`` the
    aspects of row r, numbered below ``width``. The list has as many places as ``discount``. Its gain is the sum over
    places of discount x ``amount`` of the item x weights left of its aspects. Every aspect starts with the weight 1;
    each picked item multiplies the weights of its aspects by its ``keep``.
    """
    left = np.ones(width)
    for query in range(offsets.size - 1):
        top, stop = offsets[query], offsets[query + 1]
        taken = np.zeros(stop - top, np.bool_)
        total = 0.0
        for pick in range(min(stop - top, discount.size)):
            best, most = -1, 0.0
            for row in range(top, stop):
                if taken[row - top] or amount[row] == 0:
                    continue
                here = _gain_of(row, amount, starts, codes, left)
                even = abs(here - most) <= EVEN
                if best < 0 or (here > most and not even) or (even and items[row] < items[best]):
                    best, most = row, here
            if best < 0:
                break
            taken[best - top] = True
            total += discount[pick] * most
            for aspect in codes[starts[best] : starts[best + 1]]:
                left[aspect] *= keep[best]
        out[query] = total
        left[codes[starts[top] : starts[stop]]] = 1.0


@njit(nogil=True, cache=True)
def exact_ideal(
    offsets: Int64, amount: Float, keep: Float, starts: Int64, codes: Int32, width: int, discount: Float, out: Float
) -> None:
    """Write to ``out[q]`` the largest gain of any list of the rows ``offsets[q]:offsets[q + 1]``.

    This is a depth-first search, largest gains first, bounded by the best list so far. The gain of an item never grows
    as others are picked, so the largest current gains bound every completion. The list has as many places as
    ``discount``. A list's gain is the sum over places of discount x ``amount`` of the row x weights left of its
    aspects, which are ``codes[starts[r]:starts[r + 1]]``, numbered below ``width``. Every aspect starts with the weight
    1; each row multiplies the weights of its aspects by its ``keep``.
    """
    left = np.ones(width)
    for query in range(offsets.size - 1):
        top, size = offsets[query], offsets[query + 1] - offsets[query]
        deep = min(size, discount.size)
        order, gains = np.empty((deep, size), np.int64), np.empty((deep, size))
        counted, tried = np.zeros(deep, np.int64), np.zeros(deep, np.int64)
        before = np.empty((deep, width))  # what was left of each aspect when the search entered a depth
        total, taken = np.zeros(deep + 1), np.zeros(size, np.bool_)
        best, depth, entering = 0.0, 0, True
        while depth >= 0 and deep:
            if entering:
                tried[depth], before[depth] = 0, left
                counted[depth] = _by_gain(top, amount, starts, codes, left, taken, order[depth], gains[depth])
            else:
                taken[order[depth, tried[depth] - 1]] = False
                left[:] = before[depth]
            entering = False
            at = tried[depth]
            if at < counted[depth]:
                most = total[depth] + discount[depth] * gains[depth, at]
                for below in range(1, min(counted[depth], deep - depth)):
                    most += discount[depth + below] * gains[depth, below - 1]
                if most > best + EVEN:
                    row = top + order[depth, at]
                    tried[depth] = at + 1
                    taken[row - top] = True
                    total[depth + 1] = total[depth] + discount[depth] * gains[depth, at]
                    best = max(best, total[depth + 1])
                    for aspect in codes[starts[row] : starts[row + 1]]:
                        left[aspect] *= keep[row]
                    entering = depth + 1 < deep
                    depth += entering
                    continue
            depth -= 1
        out[query] = best
        left[:] = 1.0


@njit(nogil=True, cache=True)
def _by_gain(
    top: int, amount: Float, starts: Int64, codes: Int32, left: Float, taken: Bool, order: Int64,
    gains: Float,
) -> int:  # fmt: skip
    """Write to ``order`` the rows with a gain, largest first, and to ``gains`` their gains; return their number.

    Rows are counted from ``top``. Rows that are ``taken`` have no gain. Of rows with the same amount and aspects only
    the first is written. ``left`` is the weight that each aspect still has, and ``codes[starts[r]:starts[r + 1]]`` are
    the aspects of row r.
    """
    found = 0
    for place in range(taken.size):
        row = top + place
        here = 0.0 if taken[place] else _gain_of(row, amount, starts, codes, left)
        if here <= 0 or _has_duplicate(row, here, top, amount, starts, codes, order[:found], gains):
            continue
        at = found
        while at and gains[at - 1] < here:
            gains[at], order[at] = gains[at - 1], order[at - 1]
            at -= 1
        gains[at], order[at] = here, place
        found += 1
    return found


@njit(nogil=True, cache=True)
def _has_duplicate(
    row: int, here: float, top: int, amount: Float, starts: Int64, codes: Int32, order: Int64, gains: Float
) -> bool:
    """Return whether a row in ``order`` has the same amount and aspects as ``row``, so that one of them is enough.

    ``here`` is the gain of ``row``, and ``gains`` are those of the rows in ``order``, which are counted from ``top``.
    ``codes[starts[r]:starts[r + 1]]`` are the aspects of row r.
    """
    size = starts[row + 1] - starts[row]
    for at in range(order.size):
        other = top + order[at]
        if gains[at] != here or amount[other] != amount[row] or starts[other + 1] - starts[other] != size:
            continue
        same = True
        for place in range(size):
            if codes[starts[row] + place] != codes[starts[other] + place]:
                same = False
                break
        if same:
            return True
    return False
