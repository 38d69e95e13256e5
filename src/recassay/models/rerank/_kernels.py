"""Compiled loops of greedy re-ranking: single-threaded, arrays in, arrays out, no validation.

List q is rows ``offsets[q]:offsets[q + 1]`` in the baseline's order; its first ``depth`` rows are candidates. The loops
write to two arrays. ``order`` gets the rows of every list in their new order: first ``places`` picks, then all other
rows in the old order. ``pick_values`` gets the objective's value at each pick, NaN where nothing was picked.

Each pick is the candidate with the highest value; ties go to the better rank. Values that differ by no more than
rounding are ties. ``tests/property/test_rerank.py`` checks each loop against a readable version in
decimal arithmetic.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recassay._kernel_cache import njit
from recassay.arrays import Float, Int32, Int64
from recassay.columnar._sets import count_bits, distance_from_sizes, is_empty_set

Words = NDArray[np.uint64]
NONE, MINMAX, STEP = 0, 1, 2  # how scores and diversities are scaled
MIN, MAX, MEAN, DETERMINANT = 0, 1, 2, 3  # of the distances to items already picked, or what an item adds to theirs
SETS, TABLE, VECTORS = 0, 1, 2  # where distances come from

DEPENDENT = 1e-10  # part of an item that its picks do not explain, below which it counts as a copy of them

# Relative difference up to which values are equal. The rounding error of a sum of up to 2^12 terms of equal sign, each
# exact to 2^-53 of its size, stays below it. Without it, standardising would turn rounding errors into differences.
TOLERANCE = 2.0**-40


@njit(nogil=True, cache=True)
def pick_by_distance(
    offsets: Int64, scores: Float, rows: Int32, weight: float, places: int, depth: int, norm: int, form: int,
    kind: int, cosine: bool, skip: bool, masks: Words, set_offsets: Int64, set_codes: Int32, marked: Int64,
    table: Float, order: Int64, pick_values: Float,
) -> None:  # fmt: skip
    """Reorder lists greedily by (1 - weight) x score + weight x diversity, computed from distances to items picked.

    ``offsets[q]:offsets[q + 1]`` are the rows of list q, best first, and ``scores`` and ``rows`` the score and the item
    of each row. Only the first ``depth`` rows of a list compete for its first ``places`` places. ``norm``: values are
    used unchanged (NONE), scores are scaled to 0..1 once (MINMAX), or scores and distances are standardised at each
    place (STEP).

    ``form`` says what diversity is: the least distance, the largest or the mean (MIN, MAX, MEAN), or what the item adds
    to the log determinant of the similarities of the picks (DETERMINANT; see :func:`_explain`). ``kind`` is where
    distances come from: sets, where item i has the codes ``set_codes[set_offsets[i]:set_offsets[i + 1]]`` (or the bits
    of ``masks[i]``) and ``cosine`` replaces Jaccard; distances in ``table``; or vectors in ``table``. With ``skip``,
    pairs with an empty set are ignored. ``marked`` is scratch space.

    Write the rows in their new order to ``order``, and the value of pick p of list q to ``pick_values[q, p]``.
    """
    score, diversity, state = np.empty(depth), np.empty(depth), np.empty(depth)
    pairs, distance = np.empty(depth, np.int64), np.empty(depth)
    factors, marks = np.empty((depth, places if form == DETERMINANT else 0)), 0
    for query in range(offsets.size - 1):
        first = offsets[query]
        n = _candidates(first, offsets[query + 1], scores, depth, norm, score, order)
        if weight == 0:
            continue
        diversity[:n], pairs[:n] = 0.0, 0
        state[:n] = 1.0 if form == DETERMINANT else 0.0
        for pick in range(min(places, n)):
            best, pick_values[query, pick] = _best(score, diversity, pick, n, weight, norm)
            _to_front(order, first + pick, first + best)
            _to_front(score, pick, best)
            _to_front(state, pick, best)
            _to_front(pairs, pick, best)
            if pick + 1 == places:
                break
            row, others, marks = order[first + pick], order[first + pick + 1 : first + n], marks + 1
            _distances(
                rows, row, others, kind, cosine, skip, masks, set_offsets, set_codes, marked, marks, table, distance
            )  # fmt: skip
            if form == DETERMINANT:
                _explain(pick, row, others, first, distance, factors, state[pick:n], diversity[pick + 1 : n])
                continue
            for i in range(pick + 1, n):
                away = distance[i - pick - 1]
                if not np.isnan(away):  # NaN: the pair is skipped
                    if form == MEAN:
                        state[i] += away
                    elif pairs[i] == 0 or (away < state[i]) == (form == MIN):
                        state[i] = away
                    pairs[i] += 1
                diversity[i] = state[i] / pairs[i] if form == MEAN and pairs[i] else state[i]


@njit(nogil=True, cache=True)
def _distances(
    rows: Int32, row: int, others: Int64, kind: int, cosine: bool, skip: bool, masks: Words, set_offsets: Int64,
    set_codes: Int32, marked: Int64, mark: int, table: Float, distance: Float,
) -> None:  # fmt: skip
    """Write to ``distance`` the distances of ``row``, a row of a list, to the rows ``others``.

    ``rows`` is the item of each row, and ``kind`` says where distances come from. ``table`` has the distance of every
    two items, or a vector of length 1 per item, whose distance is (1 - cosine) / 2. The set of item i is
    ``set_codes[set_offsets[i]:set_offsets[i + 1]]``, or the bits of ``masks[i]`` if 64 suffice; the distance is 1 -
    cosine of the sets, or Jaccard's without ``cosine``, and that to an empty set 1, or NaN with ``skip``. ``marked`` is
    scratch space, in which the codes of ``row`` get the number ``mark``, a new one for each call.
    """
    item = rows[row]
    if kind == TABLE:
        for i in range(others.size):
            distance[i] = table[item, rows[others[i]]]
        return
    if kind == VECTORS:
        for i in range(others.size):
            product = 0.0
            for dimension in range(table.shape[1]):
                product += table[item, dimension] * table[rows[others[i]], dimension]
            distance[i] = min(max((1.0 - product) / 2.0, 0.0), 1.0)
        return
    empty = is_empty_set(set_offsets, item)
    if not empty and not masks.size:
        for at in range(set_offsets[item], set_offsets[item + 1]):
            marked[set_codes[at]] = mark
    for i in range(others.size):
        other, shared = rows[others[i]], 0
        if empty or is_empty_set(set_offsets, other):
            distance[i] = np.nan if skip else 1.0
            continue
        if masks.size:
            shared = count_bits(masks[item] & masks[other])
        else:
            for at in range(set_offsets[other], set_offsets[other + 1]):
                shared += marked[set_codes[at]] == mark
        size, others_size = set_offsets[item + 1] - set_offsets[item], set_offsets[other + 1] - set_offsets[other]
        distance[i] = distance_from_sizes(shared, size, others_size, cosine)


@njit(nogil=True, cache=True)
def _explain(
    pick: int, row: int, others: Int64, first: int, distance: Float, factors: Float, unexplained: Float,
    diversity: Float,
) -> None:  # fmt: skip
    """Grow a Cholesky decomposition by the row of a pick; write how much each of ``others`` would add to ln det.

    The determinant is that of the similarities among the picks; the similarity of two items is 1 - their distance. A
    candidate adds ln d, with d the part of its similarity to itself that the picks do not explain (``unexplained``, the
    first of them that of the pick itself). Where d falls to ``DEPENDENT`` it stays there. ``factors`` has a row per row
    of the list, which begins at ``first``, and ``distance`` are those of ``row``, the pick, to the rows ``others``.
    """
    own = unexplained[0]
    for i in range(others.size):
        other = others[i] - first
        common = 0.0
        for j in range(pick):
            common += factors[row - first, j] * factors[other, j]
        factor = (1.0 - distance[i] - common) / np.sqrt(own) if own > DEPENDENT else 0.0
        factors[other, pick] = factor
        unexplained[i + 1] = max(unexplained[i + 1] - factor * factor, DEPENDENT)
        diversity[i] = math.log(unexplained[i + 1])


@njit(nogil=True, cache=True)
def pick_by_calibration(
    offsets: Int64, scores: Float, rows: Int32, feature_offsets: Int64, feature_codes: Int32, wanted: Float,
    alpha: float, weight: float, places: int, depth: int, norm: int, order: Int64, pick_values: Float,
) -> None:  # fmt: skip
    """Reorder lists by (1 - weight) x score - weight x the divergence of the picks' features from ``wanted``.

    ``wanted[q]`` are the shares p of features in the profile of the user of list q, NaN for a user without any, whose
    list keeps its order. The divergence is the sum of p ln(p / ((1 - alpha) q + alpha p)), with q the mean shares of
    the picks, the candidate included. The features of row r of the lists are ``feature_codes[feature_offsets[rows[r]]:
    feature_offsets[rows[r] + 1]]``, in equal shares; an item without features (row -1 or an empty set) leaves q as it
    is. Only the first ``depth`` rows of a list (``offsets[q]:offsets[q + 1]``) compete for its first ``places`` places;
    ``norm`` says how values are scaled. Write the new order of rows to ``order`` and the value of each pick to
    ``pick_values``, as :func:`pick_by_distance` does.
    """
    score, diversity = np.empty(depth), np.empty(depth)
    n_features = wanted.shape[1]
    shares, terms, own = np.empty(n_features), np.empty(n_features), np.empty(n_features)
    for query in range(offsets.size - 1):
        first = offsets[query]
        n = _candidates(first, offsets[query + 1], scores, depth, norm, score, order)
        p = wanted[query]
        if weight == 0 or n_features == 0 or np.isnan(p[0]):
            continue
        shares[:] = 0.0
        counted = 0
        for pick in range(min(places, n)):
            unchanged = 0.0
            for feature in range(n_features):
                unchanged += _divergence_term(p[feature], shares[feature] / max(counted, 1), alpha)
                terms[feature] = _divergence_term(p[feature], shares[feature] / (counted + 1), alpha)
            for i in range(pick, n):
                item = rows[order[first + i]]
                if is_empty_set(feature_offsets, item):
                    diversity[i] = -max(unchanged, 0.0)
                    continue
                own[:] = terms
                begin, end = feature_offsets[item], feature_offsets[item + 1]
                for at in range(begin, end):
                    feature = feature_codes[at]
                    q = (shares[feature] + 1.0 / (end - begin)) / (counted + 1)
                    own[feature] = _divergence_term(p[feature], q, alpha)
                diversity[i] = -max(own.sum(), 0.0)
            best, pick_values[query, pick] = _best(score, diversity, pick, n, weight, norm)
            _to_front(order, first + pick, first + best)
            _to_front(score, pick, best)
            item = rows[order[first + pick]]
            if not is_empty_set(feature_offsets, item):
                counted += 1
                begin, end = feature_offsets[item], feature_offsets[item + 1]
                for at in range(begin, end):
                    shares[feature_codes[at]] += 1.0 / (end - begin)


@njit(nogil=True, cache=True)
def _divergence_term(p: float, q: float, alpha: float) -> float:
    """Return p ln(p / ((1 - alpha) q + alpha p)), 0 where p is 0."""
    return p * math.log(p / ((1.0 - alpha) * q + alpha * p)) if p > 0 else 0.0


@njit(nogil=True, cache=True)
def pick_by_aspects(
    offsets: Int64, scores: Float, aspect_offsets: Int64, aspects: Int32, chances: Float, prior_offsets: Int64,
    unserved: Float, weight: float, places: int, depth: int, norm: int, order: Int64, pick_values: Float,
) -> None:  # fmt: skip
    """Reorder lists greedily by (1 - weight) x score + weight x coverage of aspects that earlier picks hardly cover.

    Aspects are features of items, or groups of items. ``offsets[q]:offsets[q + 1]`` are the rows of list q, and the
    aspects of row r are ``aspects[aspect_offsets[r]:aspect_offsets[r + 1]]``, with the probabilities ``chances`` that
    the row is relevant to them. ``unserved[prior_offsets[q] + a]`` is the prior of aspect a for the user of list q,
    which says how much the aspect counts; it is overwritten. A list whose user has no aspects keeps its order. Only the
    first ``depth`` rows of a list compete for its first ``places`` places; ``norm`` says how values are scaled. Write
    the new order of rows to ``order`` and the value of each pick to ``pick_values``.
    """
    score, diversity = np.empty(depth), np.empty(depth)
    for query in range(offsets.size - 1):
        first = offsets[query]
        n = _candidates(first, offsets[query + 1], scores, depth, norm, score, order)
        left = unserved[prior_offsets[query] : prior_offsets[query + 1]]
        if weight == 0 or left.size == 0:
            continue
        for pick in range(min(places, n)):
            for i in range(pick, n):
                row, total = order[first + i], 0.0
                for at in range(aspect_offsets[row], aspect_offsets[row + 1]):
                    total += left[aspects[at]] * chances[at]
                diversity[i] = total
            best, pick_values[query, pick] = _best(score, diversity, pick, n, weight, norm)
            _to_front(order, first + pick, first + best)
            _to_front(score, pick, best)
            row = order[first + pick]
            for at in range(aspect_offsets[row], aspect_offsets[row + 1]):
                left[aspects[at]] *= 1.0 - chances[at]


@njit(nogil=True, cache=True)
def _candidates(first: int, last: int, scores: Float, depth: int, norm: int, score: Float, order: Int64) -> int:
    """Write the rows ``first`` to ``last`` - 1 of a list to ``order`` in their old order; return how many compete.

    The candidates are the first ``depth`` rows: ``score`` gets their ``scores``, scaled to 0..1 if ``norm`` is MINMAX
    (0 if all are equal).
    """
    for row in range(first, last):
        order[row] = row
    n = min(last - first, depth)
    score[:n] = scores[first : first + n]
    if norm == MINMAX and n:
        low, high = score[:n].min(), score[:n].max()
        varied = not _nearly_equal(low, high)
        for i in range(n):
            score[i] = (score[i] - low) / (high - low) if varied else 0.0
    return int(n)


@njit(nogil=True, inline="always")
def _to_front(array: Any, begin: int, at: int) -> None:
    """Move the element at index ``at`` to ``begin``, and the elements between one position back."""
    moved = array[at]
    for place in range(at, begin, -1):
        array[place] = array[place - 1]
    array[begin] = moved


@njit(nogil=True, cache=True)
def _best(score: Float, diversity: Float, begin: int, end: int, weight: float, norm: int) -> tuple[int, float]:
    """Return (i, value) of the best candidate from ``begin`` to ``end`` - 1; of those equal up to rounding, the first.

    The value is (1 - weight) x score + weight x diversity. If ``norm`` is STEP, both are standardised first.
    """
    relevance_scale, diversity_scale = (1.0 - weight, 0.0, 1.0), (weight, 0.0, 1.0)  # weight, mean, standard deviation
    if norm == STEP:
        mean, sd = _moments(score, begin, end)
        relevance_scale = (1.0 - weight, mean, sd)
        mean, sd = _moments(diversity, begin, end)
        diversity_scale = (weight, mean, sd)
    best, most, reach = begin, -np.inf, 0.0
    for i in range(begin, end):
        value, error = _value(score[i], diversity[i], relevance_scale, diversity_scale)
        if value > most:
            best, most, reach = i, value, error
    for i in range(begin, best):
        value, error = _value(score[i], diversity[i], relevance_scale, diversity_scale)
        if most - value <= reach + error:
            return i, value
    return best, most


@njit(nogil=True, inline="always")
def _value(
    score: float,
    diversity: float,
    relevance_scale: tuple[float, float, float],
    diversity_scale: tuple[float, float, float],
) -> tuple[float, float]:
    """Return the value of a candidate, and a bound on its rounding error: TOLERANCE times the size of its terms.

    The value is the sum of weight x (x - mean) / standard deviation for ``score`` and ``diversity``.
    ``relevance_scale`` and ``diversity_scale`` are (weight, mean, standard deviation) of each; a term with standard
    deviation 0 is left out.
    """
    value, size = 0.0, 0.0
    if relevance_scale[2] > 0:
        value += relevance_scale[0] * ((score - relevance_scale[1]) / relevance_scale[2])
        size += relevance_scale[0] * ((abs(score) + abs(relevance_scale[1])) / relevance_scale[2])
    if diversity_scale[2] > 0:
        value += diversity_scale[0] * ((diversity - diversity_scale[1]) / diversity_scale[2])
        size += diversity_scale[0] * ((abs(diversity) + abs(diversity_scale[1])) / diversity_scale[2])
    return value, TOLERANCE * size


@njit(nogil=True, cache=True)
def _moments(values: Float, begin: int, end: int) -> tuple[float, float]:
    """Return (mean, sample standard deviation) of ``values[begin:end]``.

    The standard deviation is 0 if the values are equal up to rounding.
    """
    total, low, high = 0.0, values[begin], values[begin]
    for i in range(begin, end):
        total += values[i]
        low, high = min(low, values[i]), max(high, values[i])
    if _nearly_equal(low, high):
        return low, 0.0
    mean, reach = total / (end - begin), high - low
    squares = 0.0
    for i in range(begin, end):
        share = (values[i] - mean) / reach  # squares of tiny values would underflow
        squares += share * share
    return mean, reach * float(np.sqrt(squares / (end - begin - 1)))


@njit(nogil=True, inline="always")
def _nearly_equal(low: float, high: float) -> bool:
    """Return whether ``low`` and ``high`` differ by no more than rounding."""
    return bool(high - low <= TOLERANCE * max(abs(low), abs(high)))
