"""Lists of integers, one per key, to which compiled loops append, and co-counts, which are computed from them.

A list has the items of a user, or the users of an item.

All lists are in one array, each with free capacity at its end. :meth:`GrowingLists.reserve` allocates the memory a loop
will need, so the loop itself never moves a list. Memory is linear in the number of values.

Co-counts are common items of users, or common users of items, updated event by event. An *entity* is a user and its
*features* are items, or the other way round; the *owners* of a feature are the entities that have it. The co-count of
two entities is the number of features that both have. Memory is never users x users or items x items: co-counts with
all others are computed from the lists of features and owners, and cached for some entities that were queried
(``rows``). An event changes one number in each cached row. ``tests/property/test_incremental_models.py`` checks the
loops against readable versions.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recassay._kernel_cache import njit
from recassay.arrays import Bool, Int32, Int64
from recassay.models.incremental.base import grown

Codes = NDArray[np.int32] | NDArray[np.int64]

BLOCK = 64  # entities of a row that are skipped together if all their co-counts are 0
NONE = -1


@dataclass(eq=False)
class GrowingLists:
    """Growing lists of integers, one per key, in one array: list k is ``values[start[k] : start[k] + length[k]]``.

    List k has memory for ``capacity[k]`` values, and ``used[0]`` is the end of the part of ``values`` in use.
    ``pending`` is scratch space.
    """

    start: Int64 = field(default_factory=lambda: np.zeros(0, np.int64))
    length: Int64 = field(default_factory=lambda: np.zeros(0, np.int64))
    capacity: Int64 = field(default_factory=lambda: np.zeros(0, np.int64))
    values: Int32 = field(default_factory=lambda: np.zeros(0, np.int32))
    pending: Int64 = field(default_factory=lambda: np.zeros(0, np.int64))
    used: Int64 = field(default_factory=lambda: np.zeros(1, np.int64))

    def grow(self, keys: int) -> None:
        """Enlarge the arrays to hold at least ``keys`` lists, those of the keys 0, 1, ...; new lists are empty."""
        for name in ("start", "length", "capacity", "pending"):
            setattr(self, name, grown(getattr(self, name), keys))

    def reserve(self, keys: Codes) -> None:
        """Allocate memory so that a value can be appended to list k once for every time that k occurs in ``keys``."""
        if keys.size:
            self.grow(int(keys.max()) + 1)
            self.values = make_room(keys, self.start, self.length, self.capacity, self.pending, self.used, self.values)


@njit(nogil=True, cache=True)
def append_to(key: int, value: int, start: Int64, length: Int64, values: Int32) -> None:
    """Append ``value`` to the list of ``key``; the caller has allocated the memory.

    List k is ``values[start[k]:start[k] + length[k]]``.
    """
    values[start[key] + length[key]] = value
    length[key] += 1


@njit(nogil=True, cache=True)
def make_room(
    keys: Codes, start: Int64, length: Int64, capacity: Int64, pending: Int64, used: Int64, values: Int32
) -> Int32:  # fmt: skip
    """Make room to append one value to list k for each occurrence of k in ``keys``; return the array of values.

    List k is ``values[start[k]:start[k] + length[k]]`` and has room for ``capacity[k]`` values. ``used[0]`` is the
    number of places of ``values`` that lists occupy. A list that is full moves to this position; if the array is too
    small for that, all lists move to a larger array. ``pending`` is scratch space, 0 before and after the call: it
    holds the number of occurrences of each key, then minus the new capacity.
    """
    for key in keys:
        pending[key] += 1
    missing = 0
    for key in keys:
        if pending[key] > 0:
            needed = length[key] + pending[key]
            pending[key] = -max(needed, 2 * capacity[key]) if needed > capacity[key] else 0
            missing -= pending[key]
    if used[0] + missing > values.size:
        values = _compacted(start, length, capacity, used, values, np.empty(2 * (used[0] + missing), np.int32))
    for key in keys:
        if pending[key] < 0:
            capacity[key] = -pending[key]
            pending[key] = 0
            for place in range(length[key]):
                values[used[0] + place] = values[start[key] + place]
            start[key] = used[0]
            used[0] += capacity[key]
    return values


@njit(nogil=True, cache=True)
def _compacted(start: Int64, length: Int64, capacity: Int64, used: Int64, values: Int32, larger: Int32) -> Int32:
    """Return ``larger``, an empty array, after copying all lists to it one after another.

    List k is ``values[start[k]:start[k] + length[k]]``, with memory for ``capacity[k]`` values; ``start`` and
    ``used[0]``, the end of the part in use, are changed to match. Lists that moved to the end of the old array had left
    gaps there, which the new array does not have.
    """
    used[0] = 0
    for key in range(capacity.size):
        for place in range(length[key]):
            larger[used[0] + place] = values[start[key] + place]
        start[key] = used[0]
        used[0] += capacity[key]
    return larger


class CoCounts(NamedTuple):
    """Arrays of co-counts: the features of each entity, the owners of each feature, and a cache of rows of co-counts.

    An entity is a user and its features are items, or the other way round. The co-count of two entities is the number
    of features that both have.

    Lists: the features of entity e are ``features[features_start[e]:features_start[e] + features_length[e]]``; the
    entities that have a feature are found in ``owners`` in the same way. ``sizes`` is the number of features of each
    entity, infinite for none.

    Cache: the co-counts of entity e with all entities are in row r = e modulo the number of rows (a power of 2), if
    ``entity_of[r]`` is e. ``touched[r]`` is true for the blocks of row r (BLOCK entities each) that are not all 0.
    """

    features_start: Int64
    features_length: Int64
    features: Int32
    owners_start: Int64
    owners_length: Int64
    owners: Int32
    sizes: NDArray[np.float32]  # number of features of each entity as a float; infinite for none
    rows: Int32  # co-counts of the row's entity with all entities
    touched: Bool  # blocks of a row with a co-count other than 0
    entity_of: Int64  # the entity of a row


class GrowingCoCounts:
    """The arrays of :class:`CoCounts`, which grow with the stream.

    The co-counts of ``least_rows`` entities are cached, or of more as long as the cache has at most ``cells`` numbers
    in all. Both are powers of 2.
    """

    def __init__(self, least_rows: int, cells: int = 0) -> None:
        self.least_rows, self.cells = least_rows, cells
        self.features, self.owners = GrowingLists(), GrowingLists()
        self.sizes = np.zeros(0, np.float32)
        self._widen(0)

    def reserve(self, entities: Int32, features: Int32) -> None:
        """Allocate memory so that ``features[i]`` can be added to the list of ``entities[i]``, for each i."""
        self.features.reserve(entities)
        self.owners.reserve(features)

    def widen(self, entities: int, features: int) -> None:
        """Enlarge the arrays to hold at least ``entities`` entities and ``features`` features.

        Cached rows are dropped if the arrays of entities grow.
        """
        self.features.grow(entities)
        self.owners.grow(features)
        if entities > self.sizes.size:
            self._widen(entities)

    def _widen(self, entities: int) -> None:
        """Enlarge the arrays of entities to hold at least ``entities``, and empty the cache of co-counts."""
        known = self.sizes.size
        self.sizes = grown(self.sizes, entities)
        self.sizes[known:] = np.inf
        width = self.sizes.size
        rows = max(self.least_rows, min(width, self.cells // max(width, 1)))
        self.rows, self.touched = np.zeros((rows, width), np.int32), np.zeros((rows, width // BLOCK), np.bool_)
        self.entity_of = np.full(rows, NONE)

    @property
    def arrays(self) -> CoCounts:
        """Return the arrays for compiled loops."""
        features, owners = self.features, self.owners
        return CoCounts(
            features.start, features.length, features.values, owners.start, owners.length, owners.values, self.sizes,
            self.rows, self.touched, self.entity_of,
        )  # fmt: skip


@njit(nogil=True, cache=True)
def count(entity: int, feature: int, common: CoCounts) -> None:
    """Add a feature to an entity and update all cached co-counts; do nothing if the entity has the feature already.

    The caller has allocated memory for it in the lists of ``common``.
    """
    features = common.features[
        common.features_start[entity] : common.features_start[entity] + common.features_length[entity]
    ]
    for known in features:
        if known == feature:
            return
    others = common.owners[common.owners_start[feature] : common.owners_start[feature] + common.owners_length[feature]]
    block, mask = entity // BLOCK, common.entity_of.size - 1
    for other in others:
        row = other & mask
        if common.entity_of[row] == other:
            common.rows[row, entity] += 1
            common.touched[row, block] = True
    row = entity & mask
    if common.entity_of[row] == entity:
        _add(others, common.rows[row], common.touched[row])
    append_to(entity, feature, common.features_start, common.features_length, common.features)
    append_to(feature, entity, common.owners_start, common.owners_length, common.owners)
    common.sizes[entity] = common.features_length[entity]


@njit(nogil=True, cache=True, inline="always")
def _add(others: Int32, row: Int32, touched: Bool) -> None:
    """Add 1 to ``row[e]`` for each entity e of ``others``, and mark the block of e in ``touched``.

    ``row`` are the co-counts of one entity with all entities.
    """
    for other in others:
        row[np.uint32(other)] += 1
        touched[np.uint32(other) // np.uint32(BLOCK)] = True


@njit(nogil=True, cache=True)
def row_for(entity: int, common: CoCounts) -> Any:
    """Return the number of the row of ``common.rows`` that has an entity's co-counts.

    If the entity is not cached, the co-counts are computed from the lists, in place of another entity's.
    """
    row = entity & (common.entity_of.size - 1)
    if common.entity_of[row] != entity:
        common.entity_of[row] = entity
        _recount(entity, common.rows[row], common.touched[row], common)
    return row


@njit(nogil=True, cache=True)
def _recount(entity: int, row: Int32, touched: Bool, common: CoCounts) -> None:
    """Compute an entity's co-counts from the lists in ``common`` and write them to ``row``.

    Its blocks that are not all 0 are marked in ``touched``.
    """
    row[:] = 0
    touched[:] = False
    features = common.features[
        common.features_start[entity] : common.features_start[entity] + common.features_length[entity]
    ]
    pairs = 0
    for feature in features:
        pairs += common.owners_length[feature]
    dense = pairs > row.size // 8  # nearly every block is touched then, and marking each costs most
    if dense:
        touched[:] = True
    for feature in features:
        others = common.owners[
            common.owners_start[feature] : common.owners_start[feature] + common.owners_length[feature]
        ]
        if dense:
            for other in others:
                row[np.uint32(other)] += 1
        else:
            _add(others, row, touched)
    row[entity] = 0
