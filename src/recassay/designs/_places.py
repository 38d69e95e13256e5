"""Where a relevant item can be among the candidates that tie with it, and what mass of them is then above it.

Tied items are in random order. An item has one place in that order, and a candidate that is drawn several times has all
its copies there. So the law of the drawn candidates above a relevant item is a mean over its places: with k of the tied
candidates above it, each draw falls on them with the share of the mass that these k have.

Candidates of one mass are a class. A place is then the number above of each class, and all of them are visited; laws of
very many places are read at a few nodes of each small range of mass. Where there is one large class, its places are
visited in blocks: over a block the law is a polynomial of low degree, and eight nodes of the Gauss rule for a sum over
equally spaced points add it up to rounding.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from recassay.portable._kernels import exp

Int64 = NDArray[np.int64]
Float = NDArray[np.float64]

FEW = 7  # masses that are kept one by one; of more candidates only sums of powers are kept
WIDTH = FEW + 1  # of a row of masses: how many, and the masses, or their sums of powers
POWERS = 4  # sums of powers 1..4 of the masses
NODES, SMALLEST, SIZES = 8, 16, 16  # of the rule of a block; block sizes are 16, 32, .., 16 * 2^15
UNSEEN = 46.0  # minus the logarithm of a chance that does not matter
MANY = 2_000  # places beyond which the law is read at nodes
EQUAL = 1e-9  # relative variance of masses below which they are equal


def _rules() -> tuple[Float, Float]:
    """Nodes and weights for the sum over 0..h-1, for every block size h, by plain arithmetic.

    The nodes are the zeros of the polynomial of degree NODES that is orthogonal on the h points (Chebyshev); here in
    units of half a block, from its middle, where the four positive ones are found by halves.
    """
    size = (float(SMALLEST) * 2.0 ** np.arange(SIZES))[:, None]
    step = [k * k * (1 - (k / size) ** 2) / (4 * k * k - 1) for k in range(1, NODES)]

    def polynomials(x: Float) -> list[Float]:
        found = [np.ones_like(x), x]
        for one in step:
            found.append(x * found[-1] - one * found[-2])
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
    for k, one in enumerate(polynomials(x)[:NODES]):
        scale = scale * step[k - 1] if k else scale
        total += one * one / scale
    return (size - 1) / 2 + x * size / 2, size / total


BLOCK_NODES, BLOCK_WEIGHTS = _rules()
UNIT_NODES = BLOCK_NODES[-1] / (SMALLEST << (SIZES - 1))
UNIT_SCALE = 1 / np.array([np.prod([a - b for b in UNIT_NODES if b != a]) for a in UNIT_NODES])


@njit(nogil=True, cache=True)
def classes_of(table: Float, offsets: Int64, number: Int64, mass: Float) -> None:
    """Fill ``number`` and ``mass`` with the classes of each row of masses; ``offsets`` has room for FEW a row.

    Up to FEW masses are what they are. More are replaced by two classes of whole numbers of candidates that have the
    same sums of masses and of squares, and nearly the same of cubes and fourth powers (see ``two_classes``).
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
    """Two classes for many masses, from their number and their sums of powers 1..4; one where all masses are equal.

    The Gauss rule for the masses, each weighed by itself, says how many heavy ones there are. With that number rounded,
    the number of light ones is the one with the best sum of cubes, and the two masses keep sums and squares exactly.
    """
    many, one, two, three, four = row[0], row[1], row[2], row[3], row[4]
    if two * many <= one * one * (1 + EQUAL):
        number[0], mass[0] = int(many), one / many
        return 1
    det = one * three - two * two
    heavy, start = 1.0, many
    if det > EQUAL * two * two:
        flat, slope = (two * four - three * three) / det, (two * three - one * four) / det
        root = np.sqrt(max(slope * slope - 4 * flat, 0.0))
        high, low = (root - slope) / 2, (-root - slope) / 2
        if low > 0 and high > low:
            heavy = (two - one * low) / (high - low) / high
            start = (one * high - two) / (high - low) / low
    first = max(1, int(np.rint(heavy)))
    least = int(np.ceil(one * one / two)) - first
    second, best = 0, np.inf
    for light in range(max(least, 1, int(start * 0.8) - 3), int(start * 1.2) + max(least, 1) + 4):
        all_of_them = first + light
        mean = one / all_of_them
        spread = np.sqrt(max(two / all_of_them - mean * mean, 0.0))
        upper, lower = mean + spread * np.sqrt(light / first), mean - spread * np.sqrt(first / light)
        error = abs(first * upper**3 + light * lower**3 - three)
        if lower > 0 and error < best:
            second, best = light, error
            mass[0], mass[1] = lower, upper
    if second == 0:
        number[0] = max(1, int(np.rint(one * one / two)))
        mass[0] = one / number[0]
        return 1
    number[0], number[1] = second, first
    return 2


@njit(nogil=True, cache=True)
def places(
    number: Int64, mass: Float, above: float, i: int, m: int, q: int, pool: float, most: int, logs: Float
) -> tuple[Float, Float]:
    """The mass above the ``i``-th of ``m`` relevant items that tie with classes of candidates, and its chances.

    Places with so much mass above that ``most`` or fewer of ``q`` draws fall on it only with a negligible chance are
    left out, and those with a negligible chance of their own.
    """
    n = 0
    for one in range(number.size):
        n += number[one]
    if number.size == 1:
        return along_one(int(n), mass[0], above, i, m, q, pool, most)
    points = 1
    for one in range(number.size):
        points *= number[one] + 1
    cells = points > MANY
    room = NODES * (q + 1) if cells else points
    gaps, chances = np.zeros(room), np.zeros(room)
    at, filled, width = np.zeros(number.size, np.int64), 0, pool / max(q, 1)
    base = logs[m] - logs[i - 1] - logs[m - i] - logs[n + m]
    for one in range(number.size):
        base += logs[number[one]]
    while at[number.size - 1] <= number[number.size - 1]:
        k, gap, log = 0, above, base
        for one in range(number.size):
            k += at[one]
            gap += at[one] * mass[one]
            log -= logs[at[one]] + logs[number[one] - at[one]]
        log += logs[k + i - 1] + logs[n - k + m - i]
        if hopeless(gap, pool, q, most):
            at[0] = number[0]  # as are those with more of the first class above
        elif log > -UNSEEN and cells:
            share_out(gap / width, exp(log), chances)
        elif log > -UNSEEN:
            gaps[filled], chances[filled] = gap, exp(log)
            filled += 1
        at[0] += 1
        for one in range(number.size - 1):  # the next place
            if at[one] > number[one]:
                at[one] = 0
                at[one + 1] += 1
    if not cells:
        return gaps[:filled], chances[:filled]
    for place in range(room):
        if chances[place] != 0:
            gaps[filled], chances[filled] = width * (place // NODES + UNIT_NODES[place % NODES]), chances[place]
            filled += 1
    return gaps[:filled], chances[:filled]


@njit(nogil=True, cache=True)
def share_out(where: float, chance: float, chances: Float) -> None:
    """Give the chance of a place to the nodes of its cell, so that polynomials up to degree 7 keep their means.

    Over a cell, a q-th of all mass, laws of q draws are such polynomials to within 1e-6 of 1.
    """
    cell = min(int(where), chances.size // NODES - 1)
    inside = where - cell
    for node in range(NODES):
        part = UNIT_SCALE[node]
        for other in range(NODES):
            if other != node:
                part *= inside - UNIT_NODES[other]
        chances[NODES * cell + node] += chance * part


@njit(nogil=True, cache=True)
def along_one(n: int, mass: float, above: float, i: int, m: int, q: int, pool: float, most: int) -> tuple[Float, Float]:
    """As ``places`` for candidates of one mass."""
    size = 1.0 / (q * mass / pool + (m + 1.0) / n)  # over so many places the law is smooth
    largest = -1
    while largest + 1 < SIZES and (SMALLEST << (largest + 1)) <= size:
        largest += 1
    gaps, chances, filled, start = np.empty(n + 1), np.empty(n + 1), 0, 0
    while start <= n and not hopeless(above + start * mass, pool, q, most):
        rule = largest
        while rule >= 0 and (SMALLEST << rule) > n + 1 - start:
            rule -= 1
        for node in range(NODES if rule >= 0 else 1):
            k = start + (BLOCK_NODES[rule, node] if rule >= 0 else 0.0)
            chance = placed(k, n, i, m) * (BLOCK_WEIGHTS[rule, node] if rule >= 0 else 1.0)
            if chance > 1e-20:
                gaps[filled], chances[filled] = above + k * mass, chance
                filled += 1
        start += SMALLEST << rule if rule >= 0 else 1
    return gaps[:filled], chances[:filled]


@njit(nogil=True, cache=True)
def placed(k: float, n: int, i: int, m: int) -> float:
    """The chance that k of n candidates are above the i-th of m relevant items, all in random order.

    C(k + i - 1, i - 1) C(n - k + m - i, m - i) / C(n + m, m), a polynomial in k.
    """
    chance = m / (n + m)
    for step in range(1, i):
        chance *= (k + step) / (n + step) * ((m - i + step) / step)
    for step in range(1, m - i + 1):
        chance *= (n - k + step) / (n + i - 1.0 + step)
    return chance


@njit(nogil=True, cache=True)
def hopeless(gap: float, pool: float, q: int, most: int) -> bool:
    """Whether ``most`` or fewer of ``q`` draws fall on so much mass with a negligible chance (Chernoff's bound)."""
    mean = q * gap / pool
    return mean > most and (mean - most) * (mean - most) > 2 * UNSEEN * mean
