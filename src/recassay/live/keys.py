"""A map from texts to whole numbers that works on whole columns: texts are identified by two 64-bit hashes."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.columnar.layout import readonly
from recassay.columnar.texts import text_hashes
from recassay.live._kernels import ABSENT, Keys, Whole, rebuild, visit

SMALLEST = 1024


class KeyMap:
    """A map from texts, given as pairs of 64-bit hashes, to whole numbers (stamps), kept in arrays.

    Entries with stamps below a floor are dropped when the arrays are full.

    >>> seen = KeyMap()
    >>> texts, times = pl.Series(["a", "b", "a"]), np.array([10, 11, 12])
    >>> (seen.add(texts, times, span=5) != ABSENT).tolist()
    [False, False, True]
    >>> (seen.add(pl.Series(["a"]), np.array([16]), span=5) != ABSENT).tolist()
    [False]
    """

    def __init__(self) -> None:
        self.count = 0
        self._allocate(SMALLEST)

    def _allocate(self, size: int) -> None:
        self.slots: Keys = np.zeros((size, 2), np.uint64)
        self.values: Whole = np.full(size, ABSENT, np.int64)

    @property
    def bytes(self) -> int:
        """Return the size of the arrays in bytes."""
        return self.slots.nbytes + self.values.nbytes

    def add(self, texts: pl.Series, stamps: NDArray[np.int64], *, span: int, floor: int = ABSENT) -> Whole:
        """Give each text its stamp, in order, unless it already has one that is at most ``span`` lower.

        Return the stamps that the texts had before, :data:`ABSENT` for none. Stamps below ``floor`` may be dropped.
        """
        return self.visit(*text_hashes(texts), np.ones(len(texts), np.bool_), stamps, span=span, floor=floor)

    def visit(
        self, keys: Keys, checks: Keys, put: NDArray[np.bool_], stamps: NDArray[np.int64], *, span: int, floor: int
    ) -> Whole:
        """Look up texts in order, store ``stamps`` where ``put`` is true, and return the stamps that were found.

        ``keys`` and ``checks`` are two hashes of each text. The result is :data:`ABSENT` for a text without a stamp.
        Where ``put`` is true, a stored stamp is replaced, and counts as absent, only if it is more than ``span`` lower
        than the new one; with ``span`` -1 it is always replaced, and returned. Stamps below ``floor`` may be dropped.
        """
        self._reserve(int(put.sum()), floor)
        found = np.empty(keys.size, np.int64)
        self.count += visit(self.slots, self.values, keys, checks, put, readonly(stamps), span, found)
        return found

    def _reserve(self, more: int, floor: int) -> None:
        """Rebuild the arrays if ``more`` new entries would fill more than half of them.

        Entries with stamps below ``floor`` are dropped then.
        """
        if 2 * (self.count + more) <= self.values.size:
            return
        alive = int((self.values >= max(floor, ABSENT + 1)).sum())
        size = SMALLEST
        while size < 3 * (alive + more):
            size *= 2
        slots, values = self.slots, self.values
        self._allocate(size)
        self.count = rebuild(slots, values, max(floor, ABSENT + 1), self.slots, self.values)
