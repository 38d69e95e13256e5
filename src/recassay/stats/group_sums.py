"""Exact sums of many groups at once, in fixed point: arrays of integers that add up in any order to the same bits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recassay.stats._fixed_point import LIMBS, LOWEST, add_by_group
from recassay.stats.exact_sums import ExactSum

UNIT = 1 << (1074 - LOWEST)  # the lowest bit of a sum, in the unit of an ExactSum


@dataclass(frozen=True, eq=False)
class GroupSums:
    """Counts, sums and sums of squares of ``m`` columns, for each of many groups of rows; NaN is not counted.

    Values below 2^31 in size are rounded to a multiple of 2^-96, which changes no number of 1e-13 or more, and then
    added exactly.

    >>> sums = GroupSums.of(np.array([0, 1, 0]), np.array([[0.1], [1.0], [0.2]]), 2)
    >>> [float(sums.total(group, 0)) for group in (0, 1)], sums.counts[:, 0].tolist()
    ([0.30000000000000004, 1.0], [2, 1])
    """

    counts: NDArray[np.int64]  # (groups, m)
    limbs: NDArray[np.int64]  # (groups, m, 2, LIMBS): sum, sum of squares

    @classmethod
    def zeros(cls, groups: int, columns: int) -> GroupSums:
        """Return an object in which every count and sum is 0."""
        return cls(np.zeros((groups, columns), np.int64), np.zeros((groups, columns, 2, LIMBS), np.int64))

    @classmethod
    def of(cls, groups: NDArray[np.int64], values: NDArray[np.float64], n_groups: int) -> GroupSums:
        """Return the counts and sums of the rows of ``values`` (n, m) by group; ``groups`` is the group of each row.

        ``n_groups`` is the number of groups.
        """
        made = cls.zeros(n_groups, values.shape[1])
        add_by_group(groups, np.ascontiguousarray(values), made.counts, made.limbs)
        return made

    def add(self, rows: NDArray[np.int64], other: GroupSums) -> None:
        """Add the groups of ``other`` to the groups numbered ``rows`` of this object.

        A number may occur only once in ``rows``.
        """
        self.counts[rows] += other.counts
        self.limbs[rows] += other.limbs

    def take(self, rows: NDArray[np.int64] | slice) -> GroupSums:
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
