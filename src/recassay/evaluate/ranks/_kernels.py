"""One pass over a block of score rows: counts of items above every relevant item, and the top of each list.

A slow, readable implementation in ``tests/property/test_standings.py`` must give the same results.
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
Counts = NDArray[np.signedinteger]  # 32 bits for counts, 64 for weights
Scores = NDArray[np.floating]  # single or double precision, as given by the system

FEW = 256  # up to this many levels, compare the row with each (vectorised); with more, search the levels per item
CHUNK = 1024  # weights are added in 32 bits over a chunk, then in 64 bits


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
    n_cells = cells.size - 1
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
        over, level_with = np.empty((levels.size, n_cells), np.int32), np.empty((levels.size, n_cells), np.int32)
        for cell in range(n_cells):
            count(line[cells[cell] : cells[cell + 1]], levels, over, level_with, cell)
        add_up(over, level_with, cells, relevant[first:last], member, bins, above[first:last], tied[first:last])
        if weight.size:
            heavy, equal = np.empty((levels.size, n_cells), np.int64), np.empty((levels.size, n_cells), np.int64)
            for cell in range(n_cells):
                part = slice(cells[cell], cells[cell + 1])
                for pair in range(levels.size):
                    weigh(line[part], weight[part], levels[pair], heavy[pair], equal[pair], cell)
            nothing = bins[:0]
            add_up(
                heavy,
                equal,
                cells,
                relevant[first:last],
                member,
                nothing,
                mass_above[first:last],
                mass_tied[first:last],
            )
            for pair in range(first, last):
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
def add_up(
    over: Counts, equal: Counts, cells: Int64, relevant: Int32, member: Bool, bins: Int32, above: Counts, tied: Counts
) -> None:
    """Sum the counts of items in cells over base sets and popularity bins; write the sums to ``above`` and ``tied``.

    A cell is a range of items; a base set holds the items that candidates come from. ``over`` and ``equal`` (pairs,
    cells) are the counts of items that score above the pair's item and equal to it. Cell c has the positions
    ``cells[c]:cells[c + 1]`` of a score row, and ``relevant`` is the position of each pair's item. Column b of the
    output sums the cells with ``member[b, c]`` (base set b). The columns after these, one per row of ``bins`` (the bin
    of each cell), sum the cells in the same bin as the pair's item.
    """
    for pair in range(relevant.size):
        own = np.searchsorted(cells, relevant[pair], side="right") - 1
        for base in range(member.shape[0] + bins.shape[0]):
            some, same = 0, 0
            for cell in range(cells.size - 1):
                if base < member.shape[0]:
                    inside = member[base, cell]
                else:
                    inside = bins[base - member.shape[0], cell] == bins[base - member.shape[0], own]
                some += over[pair, cell] if inside else 0
                same += equal[pair, cell] if inside else 0
            above[pair, base], tied[pair, base] = some, same


@njit(nogil=True, cache=True)
def count(line: Scores, levels: Scores, above: Int32, tied: Int32, cell: int) -> None:
    """Write to column ``cell`` of ``above`` and ``tied`` how many scores of ``line`` exceed, and equal, each level.

    ``levels`` (descending) are the scores of relevant items, one per row of ``above`` and ``tied``; ``line`` has the
    scores of a cell, a range of items.
    """
    if levels.size > FEW:
        count_all(line, levels, above, tied, cell)
        return
    fours = levels.size - levels.size % 4
    for pair in range(0, fours, 4):
        count_four(line, levels[pair:], above[pair:], tied[pair:], cell)
    for pair in range(fours, levels.size):
        count_one(line, levels[pair], above[pair], tied[pair], cell)


@njit(nogil=True, cache=True)
def count_four(line: Scores, levels: Scores, above: Int32, tied: Int32, cell: int) -> None:
    """Write to ``above`` and ``tied`` how many scores of ``line`` exceed, and equal, each of the first four ``levels``.

    Every score is read only once. Rows 0 to 3 of the outputs are for these levels, and ``cell`` is their column.
    """
    a, b, c, d = levels[0], levels[1], levels[2], levels[3]
    over_a, over_b, over_c, over_d = np.int32(0), np.int32(0), np.int32(0), np.int32(0)
    reach_a, reach_b, reach_c, reach_d = np.int32(0), np.int32(0), np.int32(0), np.int32(0)
    for place in range(line.size):
        score = line[place]
        over_a = np.int32(over_a + np.int32(score > a))
        over_b = np.int32(over_b + np.int32(score > b))
        over_c = np.int32(over_c + np.int32(score > c))
        over_d = np.int32(over_d + np.int32(score > d))
        reach_a = np.int32(reach_a + np.int32(score >= a))
        reach_b = np.int32(reach_b + np.int32(score >= b))
        reach_c = np.int32(reach_c + np.int32(score >= c))
        reach_d = np.int32(reach_d + np.int32(score >= d))
    above[0, cell], above[1, cell], above[2, cell], above[3, cell] = over_a, over_b, over_c, over_d
    tied[0, cell], tied[1, cell], tied[2, cell], tied[3, cell] = (
        reach_a - over_a, reach_b - over_b, reach_c - over_c, reach_d - over_d,
    )  # fmt: skip


@njit(nogil=True, cache=True)
def count_one(line: Scores, level: float, above: Int32, tied: Int32, cell: int) -> None:
    """Write to ``above[cell]`` and ``tied[cell]`` how many scores of ``line`` exceed ``level``, and how many equal it.

    The sums have 32 bits so that the compiler can compare eight items at a time.
    """
    over, reaching = np.int32(0), np.int32(0)
    for place in range(line.size):
        over = np.int32(over + np.int32(line[place] > level))
        reaching = np.int32(reaching + np.int32(line[place] >= level))
    above[cell] = over
    tied[cell] = reaching - over


@njit(nogil=True, cache=True)
def count_all(line: Scores, levels: Scores, above: Int32, tied: Int32, cell: int) -> None:
    """Write to ``above`` and ``tied`` how many scores of ``line`` exceed, and equal, each of many ``levels``.

    Levels descend; there is a row of the outputs for each, and ``cell`` is the column. For each score of ``line``, a
    binary search finds the first level that is not above it.
    """
    above[:, cell] = 0
    tied[:, cell] = 0
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
            tied[left, cell] += 1
        else:
            above[left, cell] += 1
    for pair in range(1, levels.size):
        if levels[pair] == levels[pair - 1]:
            above[pair, cell], tied[pair, cell] = above[pair - 1, cell], tied[pair - 1, cell]
        else:
            above[pair, cell] += above[pair - 1, cell] + tied[pair - 1, cell]


@njit(nogil=True, cache=True)
def weigh(line: Scores, weight: Int32, level: float, above: Int64, tied: Int64, cell: int) -> None:
    """Write to ``above[cell]`` the total weight of items scored above ``level``, to ``tied[cell]`` that of items at it.

    ``line`` has the scores of the items, and ``weight`` their weights.
    """
    over, reaching = 0, 0
    for begin in range(0, line.size, CHUNK):
        scores, weights = line[begin : begin + CHUNK], weight[begin : begin + CHUNK]
        some, more = np.int32(0), np.int32(0)
        for place in range(scores.size):
            some = np.int32(some + (weights[place] if scores[place] > level else np.int32(0)))
            more = np.int32(more + (weights[place] if scores[place] >= level else np.int32(0)))
        over += int(some)
        reaching += int(more)
    above[cell] = over
    tied[cell] = reaching - over


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
