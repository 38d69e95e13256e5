"""One pass over a block of score rows: counts of items above every relevant item, and the top of each list.

A slow, readable implementation in ``tests/property/test_standings.py`` must give the same results.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recassay._kernel_cache import njit
from recassay.arrays import Bool, Float, Int32, Int64
from recassay.columnar._top import top_k
from recassay.designs._places import FEW as FEW_MASSES
from recassay.designs._places import POWERS

Scores = NDArray[np.floating]  # single or double precision, as given by the system
Bits = NDArray[np.unsignedinteger]  # the bits of scores, as whole numbers

NEAR = 4096  # scores that the first cache holds
LARGEST = 2**31 - 1  # that 32 bits hold: few enough weights are added in 32 bits, and these sums in 64


@njit(nogil=True, cache=True)
def read_block(
    scores: Scores, bits: Bits, queries: Int32, seen_offsets: Int64, seen: Int32, offsets: Int64, relevant: Int32,
    ids: Int32, cells: Int64, member: Bool, bins: Int32, rated_offsets: Int64, rated: Int32, weight: Int32,
    above: Int64, tied: Int64, mass_above: Int64, mass_tied: Int64, tied_masses: Float, tie_relevant: Int32,
    bottom: Bool, top: Int32, top_scores: Float,
) -> None:  # fmt: skip
    """Count, for a block of queries with a row of scores each, the items above and tied with each relevant item.

    Also write the list of the items with the highest scores for each query. A pair is a query with one of its relevant
    items. Items are numbered by their position in a row of scores. Adjacent items are cut into ranges, within which
    all items have the same popularity bin and belong to the same base sets (sets that candidates can be drawn from).

    - ``scores``: row i has the scores of all items for query ``queries[i]``, and is overwritten; a negative
      ``queries[i]`` marks an empty row
    - ``bits``: the memory of ``scores``, read as whole numbers
    - ``relevant``, ``offsets``: the relevant items of query q are ``relevant[offsets[q]:offsets[q + 1]]``; they are
      sorted here by descending score, then by ``ids``
    - ``seen``, ``seen_offsets``: likewise the items to leave out
    - ``rated``, ``rated_offsets``: likewise the items with a low test rating
    - ``cells``: range c of items has the positions ``cells[c]:cells[c + 1]``
    - ``member[b, c]``: whether range c is in base set b; base set 0 has all ranges
    - ``bins[m, c]``: the popularity bin of range c in the m-th way to cut the items into bins
    - ``weight``: the weight of each item

    These are written:

    - ``above``, ``tied``: for each pair, how many items score above its item and equal to it, neither relevant nor
      seen. A row per base set, a row per way to cut the items (those in the same bin as the pair's item), and a row of
      the ``rated`` items; zeros at first
    - ``mass_above``, ``mass_tied``: a row per base set with the sums of the weights of these items
    - ``tied_masses[b, p]``: the weights of the candidates tied with pair p, as in ``Standings.tied_masses``; zeros at
      first
    - ``tie_relevant[p]``, ``bottom[p]``: the number of other relevant items tied with pair p, and whether its score is
      minus infinity
    - ``top``, ``top_scores``: the items of the list of each query, best first, and their scores

    Functions get whole arrays and ranges rather than slices: a slice counts references, and a count takes 5 ns.
    """
    zones, most, near = find_zones(member), 0, min(NEAR, LARGEST // max(weight.max(), 1))
    for query in queries:
        most = max(most, offsets[query + 1] - offsets[query] if query >= 0 else 0)
    levels, sums = np.empty((most + 3) // 4 * 4, scores.dtype), np.empty((4, (most + 3) // 4 * 4), np.int64)
    level_bits, some = levels.view(bits.dtype), np.empty((2, levels.size), np.int32)
    for row in range(scores.shape[0]):
        query = queries[row]
        if query < 0:
            continue
        first, last = offsets[query], offsets[query + 1]
        for place in range(seen_offsets[query], seen_offsets[query + 1]):
            scores[row, seen[place]] = np.nan  # NaN is neither above nor equal to anything
        if top.shape[1]:
            top_k(scores[row], ids, top[query], top_scores[query])
        sort_by_score(scores, row, ids, relevant, first, last, levels, some)
        for pair in range(first, last):
            scores[row, relevant[pair]] = np.nan
        for zone in range(zones.size - 1 if first < last else 0):
            begin, end = cells[zones[zone]], cells[zones[zone + 1]]
            count(scores, bits, row, begin, end, weight, near, levels, level_bits, last - first, sums)
            for base in range(member.shape[0]):
                for pair in range(first, last if member[base, zones[zone]] else first):
                    above[base, pair] += sums[0, pair - first]
                    tied[base, pair] += sums[1, pair - first]
                    mass_above[base, pair] += sums[2, pair - first]
                    mass_tied[base, pair] += sums[3, pair - first]
        count_bins(scores, row, levels, weight, relevant, first, last, cells, bins, above, tied)
        count_rated(scores, row, levels, first, last, rated, rated_offsets, query, above, tied)
        describe_ties(
            scores, row, levels, weight, first, last, cells, member, mass_tied, tied_masses, tie_relevant, bottom
        )


@njit(nogil=True, cache=True)
def find_zones(member: Bool) -> Int64:
    """Return the borders of zones: runs of adjacent ranges of items that are in the same base sets.

    ``member[b, c]`` says whether range c of items is in base set b, which candidates come from. The borders are numbers
    of ranges.
    """
    n_cells, size = member.shape[1], 0
    borders = np.empty(n_cells + 1, np.int64)
    for cell in range(n_cells):
        if cell == 0 or (member[:, cell] != member[:, cell - 1]).any():
            borders[size] = cell
            size += 1
    borders[size] = n_cells
    return borders[: size + 1]


@njit(nogil=True, cache=True)
def count(
    scores: Scores, bits: Bits, row: int, begin: int, end: int, weight: Int32, near: int, levels: Scores,
    level_bits: Bits, n: int, sums: Int64,
) -> None:  # fmt: skip
    """Write to ``sums`` how many scores of ``scores[row, begin:end]`` exceed, and equal, each of the first n levels.

    The rows of ``sums`` are: the number of scores above the level, the number of those equal to it, and the totals of
    the ``weight`` of both. Weights are added in 32 bits over ``near`` items each. ``bits`` and ``level_bits`` are the
    bits of scores and levels. Levels are filled up with infinity to a multiple of four; their entries in ``sums`` are
    meaningless.
    """
    sums[:] = 0
    for start in range(begin, end, near):
        stop = min(start + near, end)
        for first in range(0, n, 4):
            may_tie = count_four(scores, bits, row, start, stop, weight, levels, level_bits, first, sums)
            for pair in range(first, min(first + 4, n) if may_tie else first):
                number, mass = count_equal(scores, row, start, stop, weight, levels[pair])
                sums[1, pair] += number
                sums[3, pair] += mass


@njit(nogil=True, cache=True)
def count_four(
    scores: Scores, bits: Bits, row: int, begin: int, end: int, weight: Int32, levels: Scores, level_bits: Bits,
    first: int, sums: Int64,
) -> bool:  # fmt: skip
    """Add to ``sums`` how many of ``scores[row, begin:end]`` exceed each of four ``levels`` from ``first`` on.

    Their total ``weight`` is added too. Return whether a score may equal one of the levels, which is rare: scores
    differ from all levels if their bits do, or if a level is zero, which has two patterns of bits.
    """
    line, line_bits = scores[row, begin:end], bits[row, begin:end]
    a, b, c, d = levels[first], levels[first + 1], levels[first + 2], levels[first + 3]
    bits_a, bits_b, bits_c = level_bits[first], level_bits[first + 1], level_bits[first + 2]
    bits_d = level_bits[first + 3]
    weights = weight[begin:end]
    kind, zero = bits.dtype.type, np.int32(0)
    one = np.int32(sums.shape[0] // 4)  # adding an unknown number where a score exceeds a level is one instruction
    over_a, over_b, over_c, over_d, mass_a, mass_b, mass_c, mass_d = zero, zero, zero, zero, zero, zero, zero, zero
    nearest = kind(~kind(0))
    for place in range(line.size):
        score, score_bits = line[place], line_bits[place]
        over_a = np.int32(over_a + (one if score > a else zero))
        over_b = np.int32(over_b + (one if score > b else zero))
        over_c = np.int32(over_c + (one if score > c else zero))
        over_d = np.int32(over_d + (one if score > d else zero))
        own = weights[place]
        mass_a = np.int32(mass_a + (own if score > a else zero))
        mass_b = np.int32(mass_b + (own if score > b else zero))
        mass_c = np.int32(mass_c + (own if score > c else zero))
        mass_d = np.int32(mass_d + (own if score > d else zero))
        near_ab = min(kind(score_bits ^ bits_a), kind(score_bits ^ bits_b))
        near_cd = min(kind(score_bits ^ bits_c), kind(score_bits ^ bits_d))
        nearest = min(nearest, near_ab, near_cd)
    for pair, over in enumerate((over_a, over_b, over_c, over_d)):
        sums[0, first + pair] += over
    for pair, mass in enumerate((mass_a, mass_b, mass_c, mass_d)):
        sums[2, first + pair] += mass
    return bool(nearest == 0 or a == 0 or b == 0 or c == 0 or d == 0)


@njit(nogil=True, cache=True)
def count_above(scores: Scores, row: int, begin: int, end: int, level: float) -> int:
    """Return how many of ``scores[row, begin:end]`` exceed ``level``.

    The sum has 32 bits so that the compiler can compare as many scores at a time as it can.
    """
    line, over = scores[row, begin:end], np.int32(0)
    for place in range(line.size):
        over = np.int32(over + np.int32(line[place] > level))
    return int(over)


@njit(nogil=True, cache=True)
def count_equal(scores: Scores, row: int, begin: int, end: int, weight: Int32, level: float) -> tuple[int, int]:
    """Return how many of ``scores[row, begin:end]`` equal ``level``, and their total ``weight``."""
    line, weights, number, mass = scores[row, begin:end], weight[begin:end], np.int32(0), np.int32(0)
    for place in range(line.size):
        equal = line[place] == level
        number = np.int32(number + np.int32(equal))
        mass = np.int32(mass + (weights[place] if equal else np.int32(0)))
    return int(number), int(mass)


@njit(nogil=True, cache=True)
def count_bins(
    scores: Scores, row: int, levels: Scores, weight: Int32, relevant: Int32, first: int, last: int, cells: Int64,
    bins: Int32, above: Int64, tied: Int64,
) -> None:  # fmt: skip
    """Write to ``above`` and ``tied`` how many scores of the popularity bin of each relevant item exceed and equal it.

    - ``relevant[first:last]``: the positions of the relevant items in ``scores[row]``; ``levels`` are their scores
    - ``cells``: range c of items has the positions ``cells[c]:cells[c + 1]``; a bin is several adjacent ranges
    - ``bins[m, c]``: the bin of range c in the m-th way to cut the items into bins
    - ``above``, ``tied``: they have a row for each of these ways, behind others and before the last; their first row is
      for all items and filled already
    """
    n_ways = bins.shape[0]
    for pair in range(first, last if n_ways else first):
        own, level = np.searchsorted(cells, relevant[pair], side="right") - 1, levels[pair - first]
        for way in range(n_ways):
            low, high, output = own, own + 1, above.shape[0] - 1 - n_ways + way
            while low > 0 and bins[way, low - 1] == bins[way, own]:
                low -= 1
            while high < cells.size - 1 and bins[way, high] == bins[way, own]:
                high += 1
            above[output, pair] = count_above(scores, row, cells[low], cells[high], level)
            if tied[0, pair]:
                tied[output, pair] = count_equal(scores, row, cells[low], cells[high], weight, level)[0]


@njit(nogil=True, cache=True)
def count_rated(
    scores: Scores, row: int, levels: Scores, first: int, last: int, rated: Int32, rated_offsets: Int64, query: int,
    above: Int64, tied: Int64,
) -> None:  # fmt: skip
    """Add to the last rows of ``above`` and ``tied`` how many ``rated`` items of a query exceed and equal each level.

    The items are the positions ``rated[rated_offsets[query]:rated_offsets[query + 1]]`` in ``scores[row]``. ``levels``
    are for the columns ``first:last`` of the outputs.
    """
    for pair in range(first, last):
        for place in range(rated_offsets[query], rated_offsets[query + 1]):
            above[-1, pair] += scores[row, rated[place]] > levels[pair - first]
            tied[-1, pair] += scores[row, rated[place]] == levels[pair - first]


@njit(nogil=True, cache=True)
def describe_ties(
    scores: Scores, row: int, levels: Scores, weight: Int32, first: int, last: int, cells: Int64, member: Bool,
    mass_tied: Int64, tied_masses: Float, tie_relevant: Int32, bottom: Bool,
) -> None:  # fmt: skip
    """Write the numbers and weights of the items that tie with each of the pairs ``first:last`` of a query.

    ``levels`` are the scores of these pairs, descending. The other parameters are those of ``read_block``.
    """
    start = first
    for pair in range(first, last):
        level = levels[pair - first]
        start = start if level == levels[start - first] else pair
        for other in range(start, pair):
            tie_relevant[other] += 1
        tie_relevant[pair] = pair - start
        bottom[pair] = level == -np.inf
        for base in range(member.shape[0]):
            own = tied_masses[base, pair]
            if start < pair:
                own[:] = tied_masses[base, start]
            elif mass_tied[base, pair]:
                list_masses(scores[row], weight, level, cells, member[base], mass_tied[base, pair], own)


@njit(nogil=True, cache=True)
def list_masses(line: Scores, weight: Int32, level: float, cells: Int64, inside: Bool, total: int, row: Float) -> None:
    """Write to ``row`` the number of candidates with the score ``level``, followed by a description of their weights.

    Up to FEW_MASSES weights are written one by one. Of more, the sums of the weights' powers 1, 2, ... up to POWERS are
    written.

    - ``line``, ``weight``: the score and the weight of each item
    - ``cells``, ``inside``: range c of items has the positions ``cells[c]:cells[c + 1]``; its items are candidates if
      ``inside[c]``
    - ``total``: the sum of the weights to be listed; the search stops when it is reached
    """
    row[:] = 0
    powers, found = np.zeros(POWERS), 0
    for cell in range(cells.size - 1):
        if not inside[cell]:
            continue
        for place in range(cells[cell], cells[cell + 1]):
            if line[place] == level and weight[place] > 0:
                found += weight[place]
                add_mass(row, powers, float(weight[place]))
                if found == total:
                    break
    if row[0] > FEW_MASSES:
        row[1:] = 0
        row[1 : 1 + POWERS] = powers


@njit(nogil=True, cache=True)
def add_mass(row: Float, powers: Float, mass: float) -> None:
    """Add an item of weight ``mass`` to ``row`` (number of items, then their weights), and its powers to ``powers``."""
    row[0] += 1
    if row[0] <= FEW_MASSES:
        row[int(row[0])] = mass
    power = 1.0
    for place in range(POWERS):
        power *= mass
        powers[place] += power


@njit(nogil=True, cache=True)
def sort_by_score(
    scores: Scores, row: int, ids: Int32, items: Int32, first: int, last: int, levels: Scores, some: Int32
) -> None:
    """Sort ``items[first:last]`` by descending score in ``scores[row]``, then by ascending ``ids``.

    Write the scores to ``levels``, followed by infinity. ``some`` is scratch space: two rows of the same size. The new
    position of an item is the number of items before it; counting these takes no branches, and less time than counting
    all items above each.
    """
    n = last - first
    for place in range(n):
        item = items[first + place]
        some[0, place], some[1, place], levels[place] = item, ids[item], scores[row, item]
    for place in range(n):
        level, key, before = levels[place], some[1, place], np.int32(0)
        for other in range(n):
            equal = (levels[other] == level) & (some[1, other] < key)
            before = np.int32(before + np.int32((levels[other] > level) | equal))
        items[first + before] = some[0, place]
    for place in range(levels.size):
        levels[place] = scores[row, items[first + place]] if place < n else np.inf
