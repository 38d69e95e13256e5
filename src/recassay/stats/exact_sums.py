"""Exact sums of doubles, rounded only when they are read, so that the order of addition does not matter.

Floating-point addition rounds, so a sum depends on the order and grouping of its terms. But every double is an integer
multiple of the smallest double, and integers add up exactly. :class:`ExactSum` is one sum of any doubles,
:class:`GroupSums` are sums of many groups at once in fixed point.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from recassay._kernel_cache import njit
from recassay.arrays import Float, Int64

ONE = 1 << 1074  # the number 1 in units of the smallest double
BITS, HALF = 53, 27  # of a significand, and of its lower half
TOGETHER = 1 << 26  # number of halves whose sum is a whole number that a double holds
LIMBS = 6  # integers per sum of a group, each 32 bits above the one before
LOWEST = 96  # the lowest bit of a sum of a group is 2^-96
UNIT = 1 << (1074 - LOWEST)  # that bit, in the unit of an ExactSum


@dataclass(frozen=True)
class ExactSum:
    """An exact sum of doubles, stored as a whole number of the smallest double, 2^-1074.

    ``quanta`` is that whole number, and ``beyond`` the sum of the infinite and NaN values. Conversion to float rounds
    once, to the nearest. So ``float(ExactSum.of(x))`` is ``math.fsum(x)``, with two exceptions. A sum too large for a
    float is infinite, and infinite or NaN values add up as floats do.

    >>> float(ExactSum.of([1e100, 1.0]) + ExactSum.of([-1e100]))
    1.0
    >>> ExactSum.of([0.1, 0.2]) + ExactSum.of([0.3]) == ExactSum.of([0.3, 0.1]) + ExactSum.of([0.2])
    True
    """

    quanta: int = 0
    beyond: float = 0.0

    @classmethod
    def of(cls, values: ArrayLike) -> ExactSum:
        """Return the exact sum of the values."""
        doubles = np.ascontiguousarray(values, np.float64).ravel()
        blocks = (doubles[begin : begin + TOGETHER] for begin in range(0, doubles.size, TOGETHER))
        return sum((_of_block(block) for block in blocks), cls())

    def __add__(self, other: ExactSum) -> ExactSum:
        return ExactSum(self.quanta + other.quanta, self.beyond + other.beyond)

    def __float__(self) -> float:
        if self.beyond:
            # NaN has a sign, which depends on the order of addition: return the plain one
            return self.beyond if math.isinf(self.beyond) else math.nan
        return _nearest(self.quanta, ONE)

    def __truediv__(self, other: ExactSum) -> float:
        """Return the quotient of two exact sums as a float, rounded once; NaN on division by 0.

        >>> ExactSum.of([0.5, 1.5]) / ExactSum.of([3.0]), ExactSum.of([1.0]) / ExactSum()
        (0.6666666666666666, nan)
        """
        if self.beyond or other.beyond:
            return float(self) / float(other) if other != ExactSum() else math.nan
        return _nearest(self.quanta, other.quanta) if other.quanta else math.nan


def _of_block(doubles: Float) -> ExactSum:
    """Return the exact sum of at most TOGETHER doubles, from sums of the halves of their significands by exponent."""
    finite = np.isfinite(doubles)
    with np.errstate(invalid="ignore"):
        beyond = float(doubles[~finite].sum())  # infinity minus infinity is undefined
    fractions, exponents = np.frexp(doubles[finite])
    places = exponents - np.int64(BITS) + np.int64(1074)  # below 0 for subnormal numbers, whose last bits are 0
    significands = np.ldexp(fractions, BITS).astype(np.int64) >> np.maximum(-places, 0)
    quanta = 0
    for part, shift in ((significands >> HALF, HALF), (significands & ((1 << HALF) - 1), 0)):
        sums = np.bincount(np.maximum(places, 0), part)
        quanta += sum(int(sums[place]) << (place + shift) for place in np.flatnonzero(sums).tolist())
    return ExactSum(quanta, beyond)


def _nearest(top: int, bottom: int) -> float:
    try:
        return top / bottom  # Python rounds the quotient of integers once, whatever their size
    except OverflowError:
        return math.inf if (top < 0) == (bottom < 0) else -math.inf


@njit(nogil=True, cache=True)
def add_by_group(groups: Int64, values: Float, counts: Int64, limbs: Int64) -> None:
    """Add each row of ``values`` (n, m), and its squares, to the sums of its group, in place.

    ``groups`` is the group of each row. ``counts`` (groups, m) counts the values that are below 2^31 in size and not
    NaN; others are left out. ``limbs`` (groups, m, 2, LIMBS) holds the sums and the sums of squares as integers of
    several limbs of 32 bits. A value is rounded to a multiple of 2^-96 before it is added.
    """
    for row in range(values.shape[0]):
        group = groups[row]
        for column in range(values.shape[1]):
            value = values[row, column]
            if not abs(value) < 2.0**31:
                continue
            counts[group, column] += 1
            if value == 0.0:
                continue
            for power in range(2):
                term = value if power == 0 else value * value
                fraction, exponent = math.frexp(abs(term))
                significand = np.int64(fraction * 2.0**53)
                shift = exponent - 53 + 96
                if shift < 0:
                    significand = (
                        np.int64(np.rint(math.ldexp(fraction, exponent + 96))) if shift > -120 else np.int64(0)
                    )
                    shift = 0
                sign = -1 if term < 0 else 1
                limb, inside = shift // 32, shift % 32
                low = (significand & 0xFFFFFFFF) << inside
                high = (significand >> 32) << inside
                middle = (low >> 32) + high
                limbs[group, column, power, limb] += sign * (low & 0xFFFFFFFF)
                limbs[group, column, power, limb + 1] += sign * (middle & 0xFFFFFFFF)
                if middle >> 32:
                    limbs[group, column, power, limb + 2] += sign * (middle >> 32)


@dataclass(frozen=True, eq=False)
class GroupSums:
    """Counts, sums and sums of squares of ``m`` columns, for each of many groups of rows; NaN is not counted.

    Values below 2^31 in size are rounded to a multiple of 2^-96, which changes no number of 1e-13 or more, and then
    added exactly.

    >>> sums = GroupSums.of(np.array([0, 1, 0]), np.array([[0.1], [1.0], [0.2]]), 2)
    >>> [float(sums.total(group, 0)) for group in (0, 1)], sums.counts[:, 0].tolist()
    ([0.30000000000000004, 1.0], [2, 1])
    """

    counts: Int64  # (groups, m)
    limbs: Int64  # (groups, m, 2, LIMBS): sum, sum of squares

    @classmethod
    def zeros(cls, groups: int, columns: int) -> GroupSums:
        """Return an object in which every count and sum is 0."""
        return cls(np.zeros((groups, columns), np.int64), np.zeros((groups, columns, 2, LIMBS), np.int64))

    @classmethod
    def of(cls, groups: Int64, values: Float, n_groups: int) -> GroupSums:
        """Return the counts and sums of the rows of ``values`` (n, m) by group; ``groups`` is the group of each row.

        ``n_groups`` is the number of groups.
        """
        sums = cls.zeros(n_groups, values.shape[1])
        add_by_group(groups, np.ascontiguousarray(values), sums.counts, sums.limbs)
        return sums

    def add(self, rows: Int64, other: GroupSums) -> None:
        """Add the counts and sums of group i of ``other`` to group ``rows[i]`` of this object, for all i.

        A number may occur only once in ``rows``.
        """
        self.counts[rows] += other.counts
        self.limbs[rows] += other.limbs

    def take(self, rows: Int64 | slice) -> GroupSums:
        """Return the counts and sums of the groups with the given numbers."""
        return GroupSums(self.counts[rows], self.limbs[rows])

    def merged(self) -> GroupSums:
        """Return a single group with the counts and sums of all groups together."""
        return GroupSums(self.counts.sum(axis=0, keepdims=True), self.limbs.sum(axis=0, keepdims=True))

    def total(self, group: int, column: int) -> ExactSum:
        """Return the sum of a column in a group."""
        return self._read(group, column, 0)

    def squares(self, group: int, column: int) -> ExactSum:
        """Return the sum of squares of a column in a group."""
        return self._read(group, column, 1)

    def mean(self, group: int, column: int) -> float:
        """Return the mean of a column in a group, rounded once; NaN without values."""
        return self.total(group, column) / ExactSum.of([float(self.counts[group, column])])

    def _read(self, group: int, column: int, power: int) -> ExactSum:
        whole = 0
        for limb in reversed(self.limbs[group, column, power].tolist()):
            whole = (whole << 32) + limb
        return ExactSum(whole * UNIT)

    def to_bytes(self) -> bytes:
        """Return all numbers as bytes, the same on every machine."""
        return self.counts.astype("<i8").tobytes() + self.limbs.astype("<i8").tobytes()

    @classmethod
    def from_bytes(cls, stored: bytes, columns: int) -> GroupSums:
        """Return the sums that :meth:`to_bytes` wrote."""
        numbers = np.frombuffer(stored, "<i8").astype(np.int64)
        groups = numbers.size // (columns * (1 + 2 * LIMBS)) if columns else 0
        split = groups * columns
        return cls(numbers[:split].reshape(groups, columns), numbers[split:].reshape(groups, columns, 2, LIMBS))
