"""One pass over a block of score rows: counts of items above every relevant item, and the top of each list.

Slow, readable implementations in ``tests/property`` (``test_standings.py`` and ``test_counting.py``) must give the same
results.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recassay._kernel_cache import njit
from recassay.columnar._top import top_k
from recassay.designs._places import FEW as FEW_MASSES
from recassay.designs._places import POWERS

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]
Bool = NDArray[np.bool_]
Float = NDArray[np.float64]
Scores = NDArray[np.floating]  # single or double precision, as given by the system

FEW = 256  # up to this many levels, compare the row with each (vectorised); with more, search the levels per item
CHUNK = 1024  # weights are added in 32 bits over a chunk, then in 64 bits
NEAR = 4096  # scores that the first cache holds
SCORES = 64  # a multiple of what a vector loop reads in a round


@njit(nogil=True, cache=True)
def read_block(
    scores: Scores, queries: Int32, seen_offsets: Int64, seen: Int32, offsets: Int64, relevant: Int32, ids: Int32,
    cells: Int64, member: Bool, bins: Int32, rated_offsets: Int64, rated: Int32, weight: Int32, above: Int32,
    tied: Int32, mass_above: Int64, mass_tied: Int64, tied_masses: Float, tie_relevant: Int32, bottom: Bool,
    top: Int32, top_scores: Scores,
) -> None:  # fmt: skip
    """Count the items above and tied with each relevant item of the ``queries`` of a block; write their top lists.

    Row i of ``scores`` (overwritten) is for query ``queries[i]``; a negative number marks an empty row. Items are
    numbered by their position in a row, and ``ids`` of the items order equal scores. A pair is a query with one of its
    relevant items: ``relevant[offsets[q]:offsets[q + 1]]`` are those of query q, sorted here by descending score, then
    id. Likewise ``seen`` (with ``seen_offsets``) are the items to leave out, and ``rated`` (with ``rated_offsets``) the
    items with a low test rating. Cell c is the group of items at the positions ``cells[c]:cells[c + 1]``.

    ``above`` and ``tied`` (pairs, columns) receive the numbers of items that score above the pair's item and equal to
    it, neither relevant nor seen. The columns are: one per base set b (the items a design can take candidates from: the
    cells with ``member[b, c]``), one per row of ``bins`` (the cells in the same popularity bin as the pair's item), and
    one for the ``rated`` items. ``mass_above`` and ``mass_tied`` (pairs, base sets) receive the sums of the ``weight``
    of these items; an empty ``weight`` leaves them out. ``tied_masses[b, p]``, zeros at first, receives the weights of
    the candidates tied with pair p (as in ``Standings.tied_masses``). ``tie_relevant[p]`` is the number of other
    relevant items tied with pair p, and ``bottom[p]`` whether its score is minus infinity. ``top`` receives a list per
    query, and ``top_scores`` its scores per row.
    """
    zones = find_zones(member)
    for row in range(scores.shape[0]):
        line, query = scores[row], queries[row]
        if query < 0:
            continue
        first, last = offsets[query], offsets[query + 1]
        for place in range(seen_offsets[query], seen_offsets[query + 1]):
            line[seen[place]] = np.nan  # NaN is neither above nor equal to anything
        if top.shape[1]:
            top_k(line, ids, top[query], top_scores[row])
        if first == last:
            continue
        sort_by_score(line, ids, relevant, first, last)
        levels = line[relevant[first:last]]
        for pair in range(first, last):
            line[relevant[pair]] = np.nan
        count_zones(
            line, levels, weight, cells, zones, member, above[first:last], tied[first:last],
            mass_above[first:last], mass_tied[first:last],
        )  # fmt: skip
        count_bins(line, levels, relevant[first:last], cells, bins, above[first:last], tied[first:last])
        for pair in range(first, last if weight.size else first):
            again = pair > first and levels[pair - first] == levels[pair - 1 - first]
            for base in range(member.shape[0]):
                own = tied_masses[base, pair]
                if again:
                    own[:] = tied_masses[base, pair - 1]
                elif mass_tied[pair, base]:
                    list_masses(line, weight, levels[pair - first], cells, member[base], mass_tied[pair, base], own)
        start = first
        for pair in range(first, last):
            level = levels[pair - first]
            start = start if level == levels[start - first] else pair
            tie_relevant[start] = pair - start
            bottom[pair] = level == -np.inf
            more, same = 0, 0
            for other in range(rated_offsets[query], rated_offsets[query + 1]):
                more += line[rated[other]] > level
                same += line[rated[other]] == level
            above[pair, -1], tied[pair, -1] = more, same
        for pair in range(first + 1, last):
            if levels[pair - first] == levels[pair - 1 - first]:
                tie_relevant[pair] = tie_relevant[pair - 1]


@njit(nogil=True, cache=True)
def find_zones(member: Bool) -> Int64:
    """Return the borders of ranges of cells that are in the same base sets, as numbers of cells.

    A base set is a set of items that candidates come from: that of the cells with ``member[b, c]`` for base set b.
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
def count_zones(
    line: Scores, levels: Scores, weight: Int32, cells: Int64, zones: Int64, member: Bool, above: Int32, tied: Int32,
    mass_above: Int64, mass_tied: Int64,
) -> None:  # fmt: skip
    """Add to ``above`` and ``tied`` how many scores of each base set exceed, and equal, each level.

    ``levels`` (descending) are the scores of relevant items, one per row of the outputs. There is a column for each
    base set, a set of items. ``line`` has the scores of all items, and cell c those at ``cells[c]:cells[c + 1]``.
    ``member[b, c]`` says whether the cell is in base set b. A zone is a range of cells that are in the same base sets:
    zone z has the cells ``zones[z]:zones[z + 1]``. ``mass_above`` and ``mass_tied`` get the sums of the ``weight`` of
    the counted items, unless ``weight`` is empty.
    """
    n, room = levels.size, (levels.size + 3) // 4 * 4
    padded, rest = np.full(room, np.inf, line.dtype), np.empty(SCORES, line.dtype)
    padded[:n] = levels
    sums = np.empty((4, room), np.int64)
    over, equal, heavy, heavy_equal = sums[0], sums[1], sums[2], sums[3]
    for zone in range(zones.size - 1):
        part = slice(cells[zones[zone]], cells[zones[zone + 1]])
        sums[:] = 0
        count(line[part], padded, n, rest, over, equal)
        for pair in range(0, n if weight.size else 0, 4):
            weigh_four(line[part], weight[part], padded, pair, heavy)
        for pair in range(n if weight.size else 0):
            if equal[pair]:
                heavy_equal[pair] = weigh_equal(line[part], weight[part], levels[pair])
        for base in range(member.shape[0]):
            for pair in range(n if member[base, zones[zone]] else 0):
                above[pair, base] += over[pair]
                tied[pair, base] += equal[pair]
                if weight.size:
                    mass_above[pair, base] += heavy[pair]
                    mass_tied[pair, base] += heavy_equal[pair]


@njit(nogil=True, cache=True)
def count_bins(
    line: Scores, levels: Scores, relevant: Int32, cells: Int64, bins: Int32, above: Int32, tied: Int32
) -> None:
    """Write to ``above`` and ``tied`` how many scores of the popularity bin of each relevant item exceed and equal it.

    ``relevant`` is the position of each relevant item in the row of scores ``line``, and ``levels`` its score. Cell c
    has the positions ``cells[c]:cells[c + 1]``, and ``bins[m, c]`` is its bin in the m-th way to cut the items. A bin
    is a range of cells. The outputs have a column for each of these ways, behind others and before the last.
    """
    n_ways = bins.shape[0]
    for pair in range(levels.size if n_ways else 0):
        own = np.searchsorted(cells, relevant[pair], side="right") - 1
        for way in range(n_ways):
            low, high, column = own, own + 1, above.shape[1] - 1 - n_ways + way
            while low > 0 and bins[way, low - 1] == bins[way, own]:
                low -= 1
            while high < cells.size - 1 and bins[way, high] == bins[way, own]:
                high += 1
            above[pair, column], tied[pair, column] = count_one(line[cells[low] : cells[high]], levels[pair])


@njit(nogil=True, cache=True)
def count(line: Scores, levels: Scores, n: int, rest: Scores, above: Int64, tied: Int64) -> None:
    """Add to ``above`` and ``tied`` how many scores of ``line`` exceed, and equal, each of the first ``n`` levels.

    ``levels`` (descending) are the scores of relevant items, one per entry of ``above`` and ``tied``. They are filled
    up to a multiple of four; the counts of the added ones mean nothing. ``rest`` is scratch space.
    """
    if n > FEW:
        count_all(line, levels[:n], above, tied)
        return
    whole, fours = line.size - line.size % SCORES, (n + 2) // 4 * 4
    for begin in range(0, whole, NEAR):
        part = line[begin : min(begin + NEAR, whole)]
        for pair in range(0, fours, 4):
            count_four(part, levels, pair, above, tied)
    if whole < line.size:  # filled up, because the remainder of a vector loop is slow
        rest[:] = np.nan
        rest[: line.size - whole] = line[whole:]
    for pair in range(0, fours if whole < line.size else 0, 4):
        count_four(rest, levels, pair, above, tied)
    if fours < n:
        more, same = count_one(line, levels[fours])
        above[fours] += more
        tied[fours] += same


@njit(nogil=True, cache=True)
def count_four(line: Scores, levels: Scores, first: int, above: Int64, tied: Int64) -> None:
    """Add to ``above`` and ``tied`` how many scores of ``line`` exceed, and equal, four ``levels`` from ``first`` on.

    Every score is read only once. The size of ``line`` is a multiple of SCORES, and the loop says so: a loop without a
    remainder is faster.
    """
    a, b, c, d = levels[first], levels[first + 1], levels[first + 2], levels[first + 3]
    over_a, over_b, over_c, over_d = np.int32(0), np.int32(0), np.int32(0), np.int32(0)
    reach_a, reach_b, reach_c, reach_d = np.int32(0), np.int32(0), np.int32(0), np.int32(0)
    for place in range(line.size // SCORES * SCORES):
        score = line[place]
        over_a = np.int32(over_a + np.int32(score > a))
        over_b = np.int32(over_b + np.int32(score > b))
        over_c = np.int32(over_c + np.int32(score > c))
        over_d = np.int32(over_d + np.int32(score > d))
        reach_a = np.int32(reach_a + np.int32(score >= a))
        reach_b = np.int32(reach_b + np.int32(score >= b))
        reach_c = np.int32(reach_c + np.int32(score >= c))
        reach_d = np.int32(reach_d + np.int32(score >= d))
    above[first] += over_a
    above[first + 1] += over_b
    above[first + 2] += over_c
    above[first + 3] += over_d
    tied[first] += reach_a - over_a
    tied[first + 1] += reach_b - over_b
    tied[first + 2] += reach_c - over_c
    tied[first + 3] += reach_d - over_d


@njit(nogil=True, cache=True)
def count_one(line: Scores, level: float) -> tuple[int, int]:
    """Return how many scores of ``line`` exceed ``level``, and how many equal it.

    The sums have 32 bits so that the compiler can compare eight items at a time.
    """
    over, reaching = np.int32(0), np.int32(0)
    for place in range(line.size):
        over = np.int32(over + np.int32(line[place] > level))
        reaching = np.int32(reaching + np.int32(line[place] >= level))
    return int(over), int(reaching - over)


@njit(nogil=True, cache=True)
def count_all(line: Scores, levels: Scores, above: Int64, tied: Int64) -> None:
    """Write to ``above`` and ``tied`` how many scores of ``line`` exceed, and equal, each of many ``levels``.

    Levels descend; there is an entry of the outputs, zeros at first, for each. For each score of ``line``, a binary
    search finds the first level that is not above it.
    """
    for place in range(line.size):
        score = line[place]
        if not score >= levels[-1]:
            continue
        left, right = 0, levels.size - 1
        while left < right:
            middle = (left + right) // 2
            if levels[middle] > score:
                left = middle + 1
            else:
                right = middle
        if levels[left] == score:
            tied[left] += 1
        else:
            above[left] += 1
    for pair in range(1, levels.size):
        if levels[pair] == levels[pair - 1]:
            above[pair], tied[pair] = above[pair - 1], tied[pair - 1]
        else:
            above[pair] += above[pair - 1] + tied[pair - 1]


@njit(nogil=True, cache=True)
def weigh_four(line: Scores, weight: Int32, levels: Scores, first: int, above: Int64) -> None:
    """Write to ``above`` the total weight of the items scored above each of four ``levels`` from ``first`` on.

    ``line`` has the scores of the items, and ``weight`` their weights. ``above`` has zeros at first.
    """
    a, b, c, d, zero = levels[first], levels[first + 1], levels[first + 2], levels[first + 3], np.int32(0)
    for begin in range(0, line.size, CHUNK):
        scores, weights = line[begin : begin + CHUNK], weight[begin : begin + CHUNK]
        over_a, over_b, over_c, over_d = zero, zero, zero, zero
        for place in range(scores.size):
            score, own = scores[place], weights[place]
            over_a = np.int32(over_a + (own if score > a else zero))
            over_b = np.int32(over_b + (own if score > b else zero))
            over_c = np.int32(over_c + (own if score > c else zero))
            over_d = np.int32(over_d + (own if score > d else zero))
        above[first] += over_a
        above[first + 1] += over_b
        above[first + 2] += over_c
        above[first + 3] += over_d


@njit(nogil=True, cache=True)
def weigh_equal(line: Scores, weight: Int32, level: float) -> int:
    """Return the total weight of the items with the score ``level``.

    ``line`` has the scores of the items, and ``weight`` their weights.
    """
    total = 0
    for begin in range(0, line.size, CHUNK):
        scores, weights, some = line[begin : begin + CHUNK], weight[begin : begin + CHUNK], np.int32(0)
        for place in range(scores.size):
            some = np.int32(some + (weights[place] if scores[place] == level else np.int32(0)))
        total += int(some)
    return total


@njit(nogil=True, cache=True)
def list_masses(line: Scores, weight: Int32, level: float, cells: Int64, inside: Bool, total: int, row: Float) -> None:
    """Write to ``row`` the number of candidates with the score ``level``, followed by a description of their weights.

    Up to FEW_MASSES weights are written one by one. Of more, the sums of the weights' powers 1, 2, ... up to POWERS are
    written. ``line`` has the scores of all items and ``weight`` their weights. Items come in groups ("cells"): cell c
    has the positions ``cells[c]:cells[c + 1]``, and its items are candidates if ``inside[c]``. ``total`` is the known
    sum of the weights of all items to be found: the search stops when it is reached.
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
def sort_by_score(line: Scores, ids: Int32, items: Int32, first: int, last: int) -> None:
    """Sort ``items[first:last]`` by descending score in ``line``, then by ascending id in ``ids`` (Shell sort)."""
    gap = 1
    while 3 * gap < last - first:
        gap = 3 * gap + 1
    while gap > 0:
        for start in range(first + gap, last):
            item, place = items[start], start
            score = line[item]
            while place >= first + gap:
                other = items[place - gap]
                if line[other] > score or (line[other] == score and ids[other] < ids[item]):
                    break
                items[place] = other
                place -= gap
            items[place] = item
        gap //= 3
