"""Compiled functions for the position of a relevant item among tied candidates, and the mass of those above it.

Tied items are in random order. Each item has one position, and a candidate drawn several times has all its copies
there. So the distribution of the draws above a relevant item is a mean over its positions. With k of the tied
candidates above it, each draw hits them with probability equal to their share of the mass.

Candidates of equal mass form a class. A position is the number of candidates above of each class. Few positions are all
visited. One large class is visited in blocks: over a block the distribution is nearly a polynomial of low degree in the
position, and the eight-node Gauss rule for sums over equally spaced points adds it up to rounding. Of two large
classes, all candidates together are visited in blocks, and how many of them are of the smaller class one by one; the
distribution is then evaluated at a few nodes of each small range of mass.
"""

from __future__ import annotations

import math

import numpy as np

from recassay._kernel_cache import njit
from recassay.arrays import Float, Int64

FEW = 7  # up to this many masses are stored one by one; of more candidates only sums of powers are stored
WIDTH = FEW + 1  # columns of a row of masses: their number, then the masses or their sums of powers
POWERS = 4  # sums of powers 1..4 of the masses
NODES, SMALLEST, SIZES = 8, 16, 16  # nodes of a block; the block sizes are 16, 32, .., 16 * 2^15
UNSEEN = 46.0  # minus the log of a probability that does not matter
MANY = 2_000  # positions of two classes above which their sum is visited in blocks
NEGLIGIBLE = 1e-17  # a probability that does not matter
EQUAL = 1e-9  # relative variance of masses below which they count as equal


def _gauss_rules() -> tuple[Float, Float]:
    """Return nodes and weights of Gauss rules for sums over 0..h-1: a row per block size h, a column per node.

    The nodes are the zeros of the polynomial of degree NODES that is orthogonal on the h points (Chebyshev). They are
    computed in units of half a block from its middle; the four positive ones are found by bisection. Only basic
    arithmetic is used, so the bits are the same on every processor.
    """
    size = (float(SMALLEST) * 2.0 ** np.arange(SIZES))[:, None]
    step = [k * k * (1 - (k / size) ** 2) / (4 * k * k - 1) for k in range(1, NODES)]

    def polynomials(x: Float) -> list[Float]:
        found = [np.ones_like(x), x]
        for coefficient in step:
            found.append(x * found[-1] - coefficient * found[-2])
        return found

    grid = np.linspace(0, 1, 65) * np.ones_like(size)
    sign = polynomials(grid)[-1] > 0
    low = grid[:, :-1][sign[:, 1:] != sign[:, :-1]].reshape(SIZES, NODES // 2)
    high, rising = low + 1 / 64, polynomials(low)[-1] <= 0
    for _ in range(60):
        middle = (low + high) / 2
        left = (polynomials(middle)[-1] > 0) == rising
        low, high = np.where(left, low, middle), np.where(left, middle, high)
    x = np.concatenate([-low[:, ::-1], low], axis=1)
    scale, total = np.ones_like(size), np.zeros_like(x)
    for k, polynomial in enumerate(polynomials(x)[:NODES]):
        scale = scale * step[k - 1] if k else scale
        total += polynomial * polynomial / scale
    return (size - 1) / 2 + x * size / 2, size / total


BLOCK_NODES, BLOCK_WEIGHTS = _gauss_rules()
UNIT_NODES = BLOCK_NODES[-1] / (SMALLEST << (SIZES - 1))
UNIT_SCALE = 1 / np.array([np.prod([a - b for b in UNIT_NODES if b != a]) for a in UNIT_NODES])


@njit(nogil=True, cache=True)
def fill_classes(table: Float, offsets: Int64, number: Int64, mass: Float) -> None:
    """Write the classes of each row of ``table``: groups of candidates of equal mass (weight in a draw).

    The classes of row r get the positions ``offsets[r]:offsets[r + 1]``. ``number`` gets the number of candidates of
    each class, ``mass`` the mass of each of them, and ``offsets`` (rows + 1) is filled too. A row of ``table`` is the
    number of masses, followed by the masses themselves if there are at most FEW, else by their sums of powers 1 to 4.
    Up to FEW masses are kept as they are. More are replaced by two classes with the same sums of masses and of squares,
    and nearly the same sums of cubes and fourth powers (see ``two_classes``).
    """
    filled = 0
    for row in range(table.shape[0]):
        offsets[row] = filled
        many = int(table[row, 0])
        if many > FEW:
            filled += two_classes(table[row], number[filled:], mass[filled:])
            continue
        kept = np.sort(table[row, 1 : 1 + many])
        for place in range(many):
            if place and kept[place] == kept[place - 1]:
                number[filled - 1] += 1
            else:
                number[filled], mass[filled] = 1, kept[place]
                filled += 1
    offsets[table.shape[0]] = filled


@njit(nogil=True, cache=True)
def two_classes(row: Float, number: Int64, mass: Float) -> int:
    """Write to ``number`` and ``mass`` at most two classes that approximate many masses; return the number of classes.

    A class is a group of candidates of equal mass: ``number`` gets the sizes of the classes, ``mass`` the mass of each
    candidate. ``row`` is (number of masses, their sums of powers 1 to 4). If all masses are equal, there is one class.
    The Gauss rule for the masses, each weighted by itself, gives the number of heavy candidates, which is rounded. The
    number of light ones is chosen for the best sum of cubes. The two masses then keep the sum and the sum of squares
    exactly.
    """
    many, sum1, sum2, sum3, sum4 = row[0], row[1], row[2], row[3], row[4]
    if sum2 * many <= sum1 * sum1 * (1 + EQUAL):
        number[0], mass[0] = int(many), sum1 / many
        return 1
    determinant = sum1 * sum3 - sum2 * sum2
    heavy, start = 1.0, many
    if determinant > EQUAL * sum2 * sum2:
        flat, slope = (sum2 * sum4 - sum3 * sum3) / determinant, (sum2 * sum3 - sum1 * sum4) / determinant
        root = np.sqrt(max(slope * slope - 4 * flat, 0.0))
        high, low = (root - slope) / 2, (-root - slope) / 2
        if low > 0 and high > low:
            heavy = (sum2 - sum1 * low) / (high - low) / high
            start = (sum1 * high - sum2) / (high - low) / low
    first = max(1, int(np.rint(heavy)))
    least = int(np.ceil(sum1 * sum1 / sum2)) - first
    second, best = 0, np.inf
    for light in range(max(least, 1, int(start * 0.8) - 3), int(start * 1.2) + max(least, 1) + 4):
        all_of_them = first + light
        mean = sum1 / all_of_them
        spread = np.sqrt(max(sum2 / all_of_them - mean * mean, 0.0))
        upper, lower = mean + spread * np.sqrt(light / first), mean - spread * np.sqrt(first / light)
        error = abs(first * upper**3 + light * lower**3 - sum3)
        if lower > 0 and error < best:
            second, best = light, error
            mass[0], mass[1] = lower, upper
    if second == 0:
        number[0] = max(1, int(np.rint(sum1 * sum1 / sum2)))
        mass[0] = sum1 / number[0]
        return 1
    number[0], number[1] = second, first
    return 2


@njit(nogil=True, cache=True)
def masses_above(
    number: Int64, mass: Float, above: float, i: int, m: int, q: int, pool: float, most: int, logs: Float
) -> tuple[Float, Float]:
    """Return the possible masses above the ``i``-th of ``m`` tied relevant items, and their probabilities.

    The mass of a candidate is its weight in draws. The tied candidates are in random order with the tied relevant
    items. Positions of negligible probability are left out, and so are positions with so much mass above that ``most``
    or fewer hits are almost impossible.

    - ``number``, ``mass``: class c has ``number[c]`` tied candidates of mass ``mass[c]`` each
    - ``above``: the mass above all tied items
    - ``q``, ``pool``: the number of draws, and the mass that they are made from
    - ``most``: the largest number of hits above the item that matters
    - ``logs[x]``: log(x!)
    """
    n = 0
    for c in range(number.size):
        n += number[c]
    if number.size == 1:
        return masses_above_in_one_class(int(n), mass[0], above, i, m, q, pool, most)
    points = 1
    for c in range(number.size):
        points *= number[c] + 1
    if points > MANY:  # more than FEW masses, so two classes
        return masses_above_in_two_classes(number, mass, above, i, m, q, pool, most, logs)
    gaps, chances = np.zeros(points), np.zeros(points)
    at, filled = np.zeros(number.size, np.int64), 0
    base = logs[m] - logs[i - 1] - logs[m - i] - logs[n + m]
    for c in range(number.size):
        base += logs[number[c]]
    while at[number.size - 1] <= number[number.size - 1]:
        k, gap, log = 0, above, base
        for c in range(number.size):
            k += at[c]
            gap += at[c] * mass[c]
            log -= logs[at[c]] + logs[number[c] - at[c]]
        log += logs[k + i - 1] + logs[n - k + m - i]
        if is_out_of_reach(gap, pool, q, most):
            at[0] = number[0]  # positions with more of the first class above are out of reach too
        elif log > -UNSEEN:
            gaps[filled], chances[filled] = gap, math.exp(log)
            filled += 1
        at[0] += 1
        for c in range(number.size - 1):  # the next position
            if at[c] > number[c]:
                at[c] = 0
                at[c + 1] += 1
    return gaps[:filled], chances[:filled]


@njit(nogil=True, cache=True)
def masses_above_in_two_classes(
    number: Int64, mass: Float, above: float, i: int, m: int, q: int, pool: float, most: int, logs: Float
) -> tuple[Float, Float]:
    """Return the possible masses above a relevant item among candidates of two classes, with probabilities.

    The parameters are those of ``masses_above``.
    """
    more, fewer = (0, 1) if number[0] >= number[1] else (1, 0)
    large, small = int(number[more]), int(number[fewer])
    n, width, each = large + small, pool / max(q, 1), (large * mass[more] + small * mass[fewer]) / (large + small)
    chances, rest = np.zeros(NODES * (q + 1)), np.ones(NODES)
    of_fewer = np.zeros(small + 1)
    largest = largest_block(3.0 / (q * each / pool + (m + 1.0) / n))
    start = 0
    while start <= n and not is_out_of_reach(above + start * min(mass[0], mass[1]), pool, q, most):
        rule = block_within(largest, n + 1 - start)
        for node in range(NODES if rule >= 0 else 1):
            k = start + (BLOCK_NODES[rule, node] if rule >= 0 else 0.0)
            weight = position_probability(k, n, i, m) * (BLOCK_WEIGHTS[rule, node] if rule >= 0 else 1.0)
            first, last = fewer_above(k, large, small, weight, logs, of_fewer)
            for a in range(first, last + 1):
                where = (above + k * mass[more] + a * (mass[fewer] - mass[more])) / width
                spread_over_nodes(where, of_fewer[a], rest, chances)
        start += SMALLEST << rule if rule >= 0 else 1
    gaps, filled = np.zeros(chances.size), 0
    for place in range(chances.size):
        if chances[place] != 0:
            gaps[filled], chances[filled] = width * (place // NODES + UNIT_NODES[place % NODES]), chances[place]
            filled += 1
    return gaps[:filled], chances[:filled]


@njit(nogil=True, cache=True)
def fewer_above(k: float, large: int, small: int, weight: float, logs: Float, chances: Float) -> tuple[int, int]:
    """Fill ``chances[a]`` with the probability that ``a`` of the k candidates above an item are of the small class.

    Probabilities are multiplied by ``weight``. Return (first, last): the range of a beyond which they are negligible.
    The two classes have ``large`` and ``small`` candidates, all in random order (hypergeometric). The most likely
    number gets its probability from factorials, and its neighbours from the ratio of neighbours. If k is not whole, the
    probabilities are interpolated by the polynomials in k through those of whole k. ``logs[x]`` is log(x!).
    """
    n = large + small
    likely = int(small * k / n)
    base = logs[large] + logs[small] - logs[n]
    log = base + math.lgamma(k + 1) + math.lgamma(n - k + 1) - logs[likely] - logs[small - likely]
    here = weight * math.exp(log - math.lgamma(k - likely + 1) - math.lgamma(large - k + likely + 1))
    chances[likely] = here
    first, last = likely, likely if abs(here) > NEGLIGIBLE else likely - 1
    while first > 0 and abs(chances[first]) > NEGLIGIBLE:
        a = first - 1
        chances[a] = chances[first] * ((a + 1) * (large - k + a + 1) / ((small - a) * (k - a)))
        first = a
    while first <= last < small:
        a = last
        chance = chances[a] * ((small - a) * (k - a) / ((a + 1) * (large - k + a + 1)))
        if abs(chance) <= NEGLIGIBLE:
            break
        last += 1
        chances[last] = chance
    return first, last


@njit(nogil=True, cache=True)
def spread_over_nodes(where: float, chance: float, rest: Float, chances: Float) -> int:
    """Add ``chance``, the probability that the mass above an item is ``where``, to the NODES fixed masses around it.

    The mass above an item is the sum of the weights (in a draw) of the candidates above it. For q draws, the masses
    from 0 to that of all candidates are divided into q equal intervals, and ``where`` is in units of one interval.
    ``chances`` has NODES entries ("nodes") per interval, to which parts of ``chance`` are added. The mean of any
    polynomial of the mass up to degree 7 stays the same. Over one interval, the distribution of the number of draws
    above the item is such a polynomial with an error below 1e-6. ``rest`` (NODES) ends with 1; the rest is overwritten.
    Return the first node of the interval.
    """
    cell = max(0, min(int(where), chances.size // NODES - 1))
    inside, first = where - cell, NODES * cell
    for node in range(NODES - 1, 0, -1):  # the product over the nodes after
        rest[node - 1] = rest[node] * (inside - UNIT_NODES[node])
    before = chance  # the product over the nodes before
    for node in range(NODES):
        chances[first + node] += UNIT_SCALE[node] * before * rest[node]
        before *= inside - UNIT_NODES[node]
    return first


@njit(nogil=True, cache=True)
def largest_block(smooth: float) -> int:
    """Return the index of the largest block size of at most ``smooth`` positions; -1 if there is none."""
    largest = -1
    while largest + 1 < SIZES and (SMALLEST << (largest + 1)) <= smooth:
        largest += 1
    return largest


@njit(nogil=True, cache=True)
def block_within(largest: int, left: int) -> int:
    """Return the index, up to ``largest``, of the largest block size that ``left`` positions can fill; -1 if none."""
    rule = largest
    while rule >= 0 and (SMALLEST << rule) > left:
        rule -= 1
    return rule


@njit(nogil=True, cache=True)
def masses_above_in_one_class(
    n: int, mass: float, above: float, i: int, m: int, q: int, pool: float, most: int
) -> tuple[Float, Float]:
    """Return the possible masses above a relevant item among ``n`` tied candidates of equal mass, with probabilities.

    The item is the ``i``-th of ``m`` tied relevant items, ``mass`` is the mass (weight in draws) of each candidate, and
    ``above`` the mass above all tied items. ``q`` draws are made from the mass ``pool``, and ``most`` is the largest
    number of hits above that matters.
    """
    largest = largest_block(1.0 / (q * mass / pool + (m + 1.0) / n))  # over so many positions it is smooth
    gaps, chances, filled, start = np.empty(n + 1), np.empty(n + 1), 0, 0
    while start <= n and not is_out_of_reach(above + start * mass, pool, q, most):
        rule = block_within(largest, n + 1 - start)
        for node in range(NODES if rule >= 0 else 1):
            k = start + (BLOCK_NODES[rule, node] if rule >= 0 else 0.0)
            chance = position_probability(k, n, i, m) * (BLOCK_WEIGHTS[rule, node] if rule >= 0 else 1.0)
            if chance > 1e-20:
                gaps[filled], chances[filled] = above + k * mass, chance
                filled += 1
        start += SMALLEST << rule if rule >= 0 else 1
    return gaps[:filled], chances[:filled]


@njit(nogil=True, cache=True)
def position_probability(k: float, n: int, i: int, m: int) -> float:
    """Return the probability that k of n candidates are above the i-th of m relevant items, all in random order.

    It is C(k + i - 1, i - 1) C(n - k + m - i, m - i) / C(n + m, m), a polynomial in k.
    """
    chance = m / (n + m)
    for step in range(1, i):
        chance *= (k + step) / (n + step) * ((m - i + step) / step)
    for step in range(1, m - i + 1):
        chance *= (n - k + step) / (n + i - 1.0 + step)
    return chance


@njit(nogil=True, cache=True)
def is_out_of_reach(gap: float, pool: float, q: int, most: int) -> bool:
    """Return whether a relevant item almost surely has more than ``most`` sampled candidates above it.

    ``gap`` is the mass (weight in draws) above the item and ``pool`` the mass of all candidates, so each of ``q`` draws
    is above the item with probability ``gap`` / ``pool``. The answer is yes if a Chernoff bound of the probability of
    ``most`` or fewer is below exp(-UNSEEN).
    """
    mean = q * gap / pool
    return mean > most and (mean - most) * (mean - most) > 2 * UNSEEN * mean
