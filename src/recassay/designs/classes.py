"""Groups ("classes") of candidates that have equal mass, the probability of being drawn; for draws with replacement."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recassay.arrays import Float, Int64
from recassay.columnar.layout import readonly, row_groups, rows_of_groups
from recassay.designs import _places


@dataclass(frozen=True, eq=False)
class Classes:
    """Classes of candidates with equal mass: row r of the caller's table has the classes ``offsets[r]:offsets[r + 1]``.

    Class c has ``number[c]`` candidates, each of mass ``mass[c]`` (its weight in a random draw).

    >>> Classes.equal(np.array([3, 0, 2]), np.array([6.0, 0.0, 2.0])).number.tolist()
    [3, 2]
    """

    offsets: Int64
    number: Int64
    mass: Float

    @classmethod
    def equal(cls, number: NDArray[Any], mass: Float) -> Classes:
        """Return one class per row: ``number[r]`` candidates that share the total mass ``mass[r]`` equally.

        A row without candidates or mass gets no class.
        """
        present = (np.asarray(number) > 0) & (mass > 0)
        numbers = np.asarray(number)[present].astype(np.int64)
        return cls(np.append(0, np.cumsum(present)).astype(np.int64), numbers, mass[present] / numbers)

    @classmethod
    def of(cls, table: Float) -> Classes:
        """Return, for each row of ``table``, groups ("classes") of candidates that have equal mass.

        A row describes the masses (weights in a draw) of some candidates: their number, then the masses themselves if
        they are few, else the sums of their powers 1 to 4. Few masses are kept as they are. Many are replaced by two
        classes with the same sums of masses and of squares, and nearly the same sums of cubes and fourth powers.
        """
        room = int(np.minimum(table[:, 0], _places.FEW).sum()) if table.size else 0
        offsets, number, mass = np.zeros(len(table) + 1, np.int64), np.zeros(room + 2, np.int64), np.zeros(room + 2)
        _places.fill_classes(readonly(np.ascontiguousarray(table, np.float64)), offsets, number, mass)
        return cls(offsets, number[: offsets[-1]], mass[: offsets[-1]])

    @classmethod
    def drawn(cls, by: str, number: Int64, mass: Int64 | None, table: Float | None) -> Classes:
        """Return, for each row, the classes of ``number`` candidates that are drawn ``by`` chance or by popularity.

        ``mass`` is their total popularity, and ``table`` describes it as :meth:`of` takes it. Without a table they are
        assumed to be equally popular.
        """
        if by == "uniform":
            return cls.equal(number, number.astype(np.float64))
        if table is not None:
            return cls.of(table)
        assert mass is not None, "the standings have popularity masses"
        return cls.equal(number, mass.astype(np.float64))

    @staticmethod
    def draws_of_heaviest(table: Float, pool: Float, drawn: int) -> Float:
        """Return how often the heaviest candidates of each row are drawn, on average, where classes approximate a row.

        ``table`` has the rows that :meth:`of` takes, ``pool`` the mass that each row's candidates are drawn from, and
        ``drawn`` is the number of draws. The mass of the heaviest candidates is taken as the sum of 4th powers over
        that of 3rd powers. The result is 0 where a row is exact: at most seven masses, or equal ones.
        """
        number, first, second, third, fourth = table[:, : 1 + _places.POWERS].T
        approximated = (number > _places.FEW) & (second * number > first**2 * (1 + _places.EQUAL))
        return np.where(approximated, drawn * fourth / np.maximum(third * pool, 1e-300), 0.0)

    def take(self, rows: Int64) -> Classes:
        """Return the classes of the given rows, in the order of ``rows``."""
        at, offsets = rows_of_groups(self.offsets, rows)
        return Classes(offsets, self.number[at], self.mass[at])

    @property
    def squares(self) -> Float:
        """Return the sum of the squared masses (weights in a draw) of the candidates that each row describes."""
        rows, squares = row_groups(self.offsets), self.number * self.mass**2
        return np.bincount(rows, weights=squares, minlength=self.offsets.size - 1).astype(np.float64)
