"""Candidates by what they weigh in a draw with replacement: what standings keep of them, as kernels read it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recassay.data.layout import readonly, stretch_of
from recassay.designs import _places

Int64 = NDArray[np.int64]
Float = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Classes:
    """Classes of candidates of one mass: those of row r are ``offsets[r]:offsets[r + 1]``, ``number`` of ``mass`` each.

    >>> Classes.alike(np.array([3, 0, 2]), np.array([6.0, 0.0, 2.0])).number.tolist()
    [3, 2]
    """

    offsets: Int64
    number: Int64
    mass: Float

    @classmethod
    def alike(cls, number: NDArray[Any], mass: Float) -> Classes:
        """A class a row, of candidates that share a mass equally; none where there are no candidates or no mass."""
        there = (np.asarray(number) > 0) & (mass > 0)
        many = np.asarray(number)[there].astype(np.int64)
        return cls(np.append(0, np.cumsum(there)).astype(np.int64), many, mass[there] / many)

    @classmethod
    def of(cls, table: Float) -> Classes:
        """The classes of rows of masses (``Standings.tied_masses``)."""
        room = int(np.minimum(table[:, 0], _places.FEW).sum()) if table.size else 0
        offsets, number, mass = np.zeros(len(table) + 1, np.int64), np.zeros(room + 2, np.int64), np.zeros(room + 2)
        _places.classes_of(readonly(np.ascontiguousarray(table, np.float64)), offsets, number, mass)
        return cls(offsets, number[: offsets[-1]], mass[: offsets[-1]])

    def take(self, rows: Int64) -> Classes:
        """Some rows, in another order."""
        lengths = np.diff(self.offsets)[rows]
        offsets = np.append(0, np.cumsum(lengths)).astype(np.int64)
        at = np.repeat(self.offsets[rows] - offsets[:-1], lengths) + np.arange(offsets[-1])
        return Classes(offsets, self.number[at], self.mass[at])

    @property
    def squares(self) -> Float:
        """The sum of the squared masses of each row."""
        rows, squares = stretch_of(self.offsets), self.number * self.mass**2
        return np.bincount(rows, weights=squares, minlength=self.offsets.size - 1).astype(np.float64)
