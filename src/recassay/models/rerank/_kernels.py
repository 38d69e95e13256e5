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

import numpy as np
from numpy.typing import NDArray

from recassay._kernel_cache import njit
from recassay.columnar._sets import count_bits, distance_from_sizes, is_empty_set
from recassay.models.rerank._greedy import append_rest, pick_best, start_candidates

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]
Float = NDArray[np.float64]
Words = NDArray[np.uint64]

MIN, MAX, MEAN, DETERMINANT = 0, 1, 2, 3  # of the distances to items already picked, or what an item adds to theirs
SETS, TABLE, VECTORS = 0, 1, 2  # where distances come from
SCORE_SHARE, GRADED, BINARY = 0, 1, 2  # how relevant an item is to an aspect that it has

DEPENDENT = 1e-10  # part of an item that its picks do not explain, below which it counts as a copy of them


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
    remaining, score, diversity = np.empty(depth, np.int64), np.empty(depth), np.empty(depth)
    state, pairs, distance = np.empty(depth), np.empty(depth, np.int64), np.empty(depth)
    factors, marks = np.empty((depth, places if form == DETERMINANT else 0)), 0
    for query in range(offsets.size - 1):
        n = start_candidates(query, offsets, scores, depth, norm, remaining, score, order)
        if weight == 0:
            continue
        diversity[:n] = 0.0
        state[:n] = 1.0 if form == DETERMINANT else 0.0
        pairs[:n] = 0
        for pick in range(min(places, n)):
            best, pick_values[query, pick] = pick_best(score, diversity, n - pick, weight, norm)
            row, own = remaining[best], state[best]
            order[offsets[query] + pick] = row
            rest = n - pick - 1
            for i in range(best, rest):
                remaining[i], score[i] = remaining[i + 1], score[i + 1]
                state[i], pairs[i] = state[i + 1], pairs[i + 1]
            if pick + 1 == places:
                break
            marks += 1
            _distances(
                rows, row, remaining, rest, kind, cosine, skip, masks, set_offsets, set_codes, marked, marks, table,
                distance,
            )  # fmt: skip
            if form == DETERMINANT:
                _explain(pick, row, own, distance, offsets[query], remaining, rest, factors, state, diversity)
                continue
            for i in range(rest):
                if not np.isnan(distance[i]):  # NaN: the pair is skipped
                    if form == MEAN:
                        state[i] += distance[i]
                    elif pairs[i] == 0 or (distance[i] < state[i]) == (form == MIN):
                        state[i] = distance[i]
                    pairs[i] += 1
                diversity[i] = state[i] / pairs[i] if form == MEAN and pairs[i] else state[i]
        append_rest(query, offsets, remaining, min(places, n), n, order)


@njit(nogil=True, cache=True)
def _explain(
    pick: int, row: int, own: float, distance: Float, first: int, remaining: Int64, rest: int, factors: Float,
    unexplained: Float, diversity: Float,
) -> None:  # fmt: skip
    """Grow a Cholesky decomposition by the row of a pick; write how much each candidate would add to ln det.

    The determinant is that of the similarities among the picks; the similarity of two items is 1 - their distance. A
    candidate adds ln d, with d the part of its similarity to itself that the picks do not explain (``unexplained``, of
    the pick ``own``). Where d falls to ``DEPENDENT`` it stays there. ``factors`` has a row per row of the list, which
    begins at ``first``, and ``distance`` are those of ``row``, the pick, to the first ``rest`` rows of ``remaining``.
    """
    for i in range(rest):
        other = remaining[i] - first
        common = 0.0
        for j in range(pick):
            common += factors[row - first, j] * factors[other, j]
        factor = (1.0 - distance[i] - common) / np.sqrt(own) if own > DEPENDENT else 0.0
        factors[other, pick] = factor
        unexplained[i] = max(unexplained[i] - factor * factor, DEPENDENT)
        diversity[i] = math.log(unexplained[i])


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
    remaining, score, diversity = np.empty(depth, np.int64), np.empty(depth), np.empty(depth)
    n_features = wanted.shape[1]
    shares, terms, own = np.empty(n_features), np.empty(n_features), np.empty(n_features)
    for query in range(offsets.size - 1):
        n = start_candidates(query, offsets, scores, depth, norm, remaining, score, order)
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
            for i in range(n - pick):
                item = rows[remaining[i]]
                if item < 0 or feature_offsets[item] == feature_offsets[item + 1]:
                    diversity[i] = -max(unchanged, 0.0)
                    continue
                begin, end = feature_offsets[item], feature_offsets[item + 1]
                own[:] = terms
                for at in range(begin, end):
                    feature = feature_codes[at]
                    q = (shares[feature] + 1.0 / (end - begin)) / (counted + 1)
                    own[feature] = _divergence_term(p[feature], q, alpha)
                diversity[i] = -max(own.sum(), 0.0)
            best, pick_values[query, pick] = pick_best(score, diversity, n - pick, weight, norm)
            row = remaining[best]
            order[offsets[query] + pick] = row
            item = rows[row]
            if item >= 0 and feature_offsets[item] < feature_offsets[item + 1]:
                counted += 1
                begin, end = feature_offsets[item], feature_offsets[item + 1]
                for at in range(begin, end):
                    shares[feature_codes[at]] += 1.0 / (end - begin)
            for i in range(best, n - pick - 1):
                remaining[i], score[i] = remaining[i + 1], score[i + 1]
        append_rest(query, offsets, remaining, min(places, n), n, order)


@njit(nogil=True, cache=True)
def _divergence_term(p: float, q: float, alpha: float) -> float:
    """Return p ln(p / ((1 - alpha) q + alpha p)), 0 where p is 0."""
    return p * math.log(p / ((1.0 - alpha) * q + alpha * p)) if p > 0 else 0.0


@njit(nogil=True, cache=True)
def pick_by_aspects(
    offsets: Int64, scores: Float, aspect_offsets: Int64, aspects: Int32, prior_offsets: Int64, priors: Float,
    weight: float, places: int, depth: int, norm: int, relevance: int, order: Int64, pick_values: Float,
) -> int:  # fmt: skip
    """Reorder lists greedily by (1 - weight) x score + weight x coverage of aspects that earlier picks hardly cover.

    Aspects are features of items, or groups of items. ``offsets[q]:offsets[q + 1]`` are the rows of list q, and the
    aspects of row r are ``aspects[aspect_offsets[r]:aspect_offsets[r + 1]]``. The prior of aspect a for the user of
    list q, which says how much the aspect counts, is ``priors[prior_offsets[q] + a]``; a list whose user has no aspects
    keeps its order. ``relevance`` is how an item's relevance to an aspect is computed (SCORE_SHARE, GRADED or BINARY).
    Only the first ``depth`` rows of a list compete for its first ``places`` places; ``norm`` says how values are
    scaled. Write the new order of rows to ``order`` and the value of each pick to ``pick_values``. Return the number of
    lists whose scores were shifted up because one was negative.
    """
    remaining, score, diversity = np.empty(depth, np.int64), np.empty(depth), np.empty(depth)
    most = 0
    for query in range(offsets.size - 1):
        most = max(most, prior_offsets[query + 1] - prior_offsets[query])
    unserved, totals = np.empty(most), np.empty(most)
    probability = np.empty(64)
    shifted = 0
    for query in range(offsets.size - 1):
        n = start_candidates(query, offsets, scores, depth, norm, remaining, score, order)
        own = priors[prior_offsets[query] : prior_offsets[query + 1]]
        if weight == 0 or own.size == 0 or n == 0:
            continue
        first = aspect_offsets[offsets[query]]
        entries = aspect_offsets[offsets[query] + n] - first
        if probability.size < entries:
            probability = np.empty(2 * entries)
        low = min(scores[offsets[query] : offsets[query] + n].min(), 0.0)
        shifted += low < 0
        _probabilities(
            query, offsets, scores, low, n, aspect_offsets, aspects, relevance, totals[: own.size], probability
        )  # fmt: skip
        unserved[: own.size] = own
        for pick in range(min(places, n)):
            for i in range(n - pick):
                total = 0.0
                for at in range(aspect_offsets[remaining[i]], aspect_offsets[remaining[i] + 1]):
                    total += unserved[aspects[at]] * probability[at - first]
                diversity[i] = total
            best, pick_values[query, pick] = pick_best(score, diversity, n - pick, weight, norm)
            row = remaining[best]
            order[offsets[query] + pick] = row
            for at in range(aspect_offsets[row], aspect_offsets[row + 1]):
                unserved[aspects[at]] *= 1.0 - probability[at - first]
            for i in range(best, n - pick - 1):
                remaining[i], score[i] = remaining[i + 1], score[i + 1]
        append_rest(query, offsets, remaining, min(places, n), n, order)
    return shifted


@njit(nogil=True, cache=True)
def _distances(
    rows: Int32, row: int, remaining: Int64, rest: int, kind: int, cosine: bool, skip: bool, masks: Words,
    set_offsets: Int64, set_codes: Int32, marked: Int64, mark: int, table: Float, distance: Float,
) -> None:  # fmt: skip
    """Write to ``distance`` the distances of ``row`` to the first ``rest`` rows of ``remaining``: rows of lists.

    ``kind`` says where distances come from: sets, a table or vectors. ``mark`` is a new number for each call, written
    to ``marked`` for the codes of ``row``. ``rows`` is the item of each row; the sets and the table are those of
    :func:`pick_by_distance`.
    """
    if kind == SETS:
        _set_distances(
            rows, row, remaining, rest, cosine, skip, masks, set_offsets, set_codes, marked, mark, distance
        )  # fmt: skip
    elif kind == TABLE:
        for i in range(rest):
            distance[i] = table[rows[row], rows[remaining[i]]]
    else:
        _vector_distances(rows, row, remaining, rest, table, distance)


@njit(nogil=True, cache=True)
def _set_distances(
    rows: Int32, row: int, remaining: Int64, rest: int, cosine: bool, skip: bool, masks: Words, set_offsets: Int64,
    set_codes: Int32, marked: Int64, mark: int, distance: Float,
) -> None:  # fmt: skip
    """Write to ``distance`` the distances of ``row`` to the first ``rest`` rows of ``remaining``, from sets of codes.

    ``rows`` is the item of each row. The set of item i is ``set_codes[set_offsets[i]:set_offsets[i + 1]]``, or the bits
    of ``masks[i]`` if 64 suffice. The distance is 1 - cosine of the sets, or Jaccard's without ``cosine``. ``marked``
    is scratch space, in which the codes of ``row`` get the number ``mark``. The distance to an empty set is 1, or NaN
    with ``skip``.
    """
    picked = rows[row]
    empty = is_empty_set(set_offsets, picked)
    if not empty and not masks.size:
        for at in range(set_offsets[picked], set_offsets[picked + 1]):
            marked[set_codes[at]] = mark
    for i in range(rest):
        other = rows[remaining[i]]
        if empty or is_empty_set(set_offsets, other):
            distance[i] = np.nan if skip else 1.0
            continue
        shared = 0
        if masks.size:
            shared = count_bits(masks[picked] & masks[other])
        else:
            for at in range(set_offsets[other], set_offsets[other + 1]):
                shared += marked[set_codes[at]] == mark
        sizes = set_offsets[picked + 1] - set_offsets[picked], set_offsets[other + 1] - set_offsets[other]
        distance[i] = distance_from_sizes(shared, sizes[0], sizes[1], cosine)


@njit(nogil=True, cache=True)
def _vector_distances(rows: Int32, row: int, remaining: Int64, rest: int, table: Float, distance: Float) -> None:
    """Write to ``distance`` (1 - cosine) / 2 of ``row`` and each of the first ``rest`` rows of ``remaining``.

    ``rows`` is the item of each row, and ``table`` has a vector of length 1 per item.
    """
    for i in range(rest):
        product = 0.0
        for dimension in range(table.shape[1]):
            product += table[rows[row], dimension] * table[rows[remaining[i]], dimension]
        distance[i] = min(max((1.0 - product) / 2.0, 0.0), 1.0)


@njit(nogil=True, cache=True)
def _probabilities(
    query: int, offsets: Int64, scores: Float, low: float, n: int, aspect_offsets: Int64, aspects: Int32,
    relevance: int, totals: Float, probability: Float,
) -> None:  # fmt: skip
    """Write to ``probability`` p(i | u, a), the relevance of each candidate i of list ``query`` to its aspects a.

    The candidates are the first ``n`` rows of the list, and s is the score of i minus ``low``. By default, the
    relevance is s / (sum of s over all candidates with a). If ``relevance`` is GRADED, it is (2^(s / m) - 1) / 2 with m
    the largest s of these candidates; if it is BINARY, 1. ``totals`` gets the sums, or the largest values. The aspects
    of row r are ``aspects[aspect_offsets[r]:aspect_offsets[r + 1]]``.
    """
    first = offsets[query]
    begin = aspect_offsets[first]
    totals[:] = 0.0
    for row in range(first, first + n):
        score = scores[row] - low
        for at in range(aspect_offsets[row], aspect_offsets[row + 1]):
            totals[aspects[at]] = (
                max(totals[aspects[at]], score) if relevance == GRADED else totals[aspects[at]] + score
            )
    for row in range(first, first + n):
        score = scores[row] - low
        for at in range(aspect_offsets[row], aspect_offsets[row + 1]):
            most = totals[aspects[at]]
            if relevance == BINARY:
                probability[at - begin] = 1.0
            elif most <= 0:
                probability[at - begin] = 0.0
            elif relevance == GRADED:
                probability[at - begin] = (2.0 ** (score / most) - 1.0) / 2.0
            else:
                probability[at - begin] = score / most
