"""What everyone has in common with everyone else, counted as events come in: items of users, or users of items.

Nothing of size users x users (or items x items) is kept. How many things one has in common with every other is counted
from the lists of who has what, and kept exact for those asked last (``rows``): an event changes one number of each.
Held to the readable twins in ``tests/property/test_incremental_models.py``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from recassay.models.incremental._lists import GrowingLists, append_to
from recassay.models.incremental.base import grown

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]
Bools = NDArray[np.bool_]

BLOCK = 64  # of those who are passed over together where a row has nothing in common with any of them
NOBODY = -1


class Common(NamedTuple):
    """Who has what, as two sets of lists; how many things each has; and the rows that are kept."""

    things_start: Int64
    things_length: Int64
    things: Int32
    owners_start: Int64
    owners_length: Int64
    owners: Int32
    sizes: NDArray[np.float32]  # things of each once more; infinite for one without any
    rows: Int32  # things that the one of a row has in common with everyone
    touched: Bools  # blocks of a row with anything but 0
    one_of: Int64  # the one of a row
    row_of: Int64  # the row of one
    recent: Bools  # rows asked for since the hand passed
    hand: Int64  # the row to give away next


class InCommon:
    """The arrays of :class:`Common` as they grow. ``cells`` of rows are kept, and ``least`` rows anyway."""

    def __init__(self, least: int, cells: int = 0) -> None:
        self.least, self.cells = least, cells
        self.things, self.owners = GrowingLists(), GrowingLists()
        self.sizes = np.zeros(0, np.float32)
        self._widen(0)

    def reserve(self, ones: Int32, things: Int32) -> None:
        """Make room for these pairs of one and a thing."""
        self.things.reserve(ones)
        self.owners.reserve(things)

    def widen(self, ones: int, things: int) -> None:
        """Make room for so many; rows are counted anew when they are asked for."""
        self.things.grow(ones)
        self.owners.grow(things)
        if ones > self.sizes.size:
            self._widen(ones)

    def _widen(self, ones: int) -> None:
        known = self.sizes.size
        self.sizes = grown(self.sizes, ones)
        self.sizes[known:] = np.inf
        width = self.sizes.size
        rows = max(self.least, min(width, self.cells // max(width, 1)))
        self.rows, self.touched = np.zeros((rows, width), np.int32), np.zeros((rows, width // BLOCK), np.bool_)
        self.one_of, self.row_of = np.full(rows, NOBODY), np.full(width, NOBODY)
        self.recent, self.hand = np.zeros(rows, np.bool_), np.zeros(1, np.int64)

    @property
    def arrays(self) -> Common:
        """For compiled loops."""
        of, owners = self.things, self.owners
        return Common(
            of.start, of.length, of.values, owners.start, owners.length, owners.values, self.sizes,
            self.rows, self.touched, self.one_of, self.row_of, self.recent, self.hand,
        )  # fmt: skip


@njit(nogil=True, cache=True)
def count(one: int, thing: int, common: Common) -> None:
    """Count that one has a thing; a pair that is known changes nothing. There is room in the lists."""
    things = common.things[common.things_start[one] : common.things_start[one] + common.things_length[one]]
    for known in things:
        if known == thing:
            return
    others = common.owners[common.owners_start[thing] : common.owners_start[thing] + common.owners_length[thing]]
    block = one // BLOCK
    for other in others:
        row = common.row_of[other]
        if row != NOBODY:
            common.rows[row, one] += 1
            common.touched[row, block] = True
    if common.row_of[one] != NOBODY:
        _add(others, common.rows[common.row_of[one]], common.touched[common.row_of[one]])
    append_to(one, thing, common.things_start, common.things_length, common.things)
    append_to(thing, one, common.owners_start, common.owners_length, common.owners)
    common.sizes[one] = common.things_length[one]


@njit(nogil=True, cache=True, inline="always")
def _add(others: Int32, row: Int32, touched: Bools) -> None:
    for other in others:
        row[np.uint32(other)] += 1
        touched[np.uint32(other) // np.uint32(BLOCK)] = True


@njit(nogil=True, cache=True)
def row_for(one: int, common: Common) -> Any:
    """The row of what one has in common with all: kept, or counted anew in place of one long not asked for."""
    row = common.row_of[one]
    if row == NOBODY:
        while common.recent[common.hand[0]]:
            common.recent[common.hand[0]] = False
            common.hand[0] = (common.hand[0] + 1) % common.recent.size
        row = common.hand[0]
        common.hand[0] = (row + 1) % common.recent.size
        if common.one_of[row] != NOBODY:
            common.row_of[common.one_of[row]] = NOBODY
        common.one_of[row], common.row_of[one] = one, row
        _count_anew(one, common.rows[row], common.touched[row], common)
    common.recent[row] = True
    return row


@njit(nogil=True, cache=True)
def _count_anew(one: int, row: Int32, touched: Bools, common: Common) -> None:
    row[:] = 0
    touched[:] = False
    things = common.things[common.things_start[one] : common.things_start[one] + common.things_length[one]]
    pairs = 0
    for thing in things:
        pairs += common.owners_length[thing]
    everywhere = pairs > row.size // 8  # then nearly every block is touched, and saying so each time costs most
    if everywhere:
        touched[:] = True
    for thing in things:
        others = common.owners[common.owners_start[thing] : common.owners_start[thing] + common.owners_length[thing]]
        if everywhere:
            for other in others:
                row[np.uint32(other)] += 1
        else:
            _add(others, row, touched)
    row[one] = 0
