"""Incremental user neighbours: counts of items that two users have in common, updated event by event.

``tests/property/test_incremental_models.py`` checks the compiled loops against a readable version.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recassay._kernel_cache import njit
from recassay.arrays import Bool, Float, Int32, Int64
from recassay.models.incremental._lists import BLOCK, NONE, CoCounts, GrowingCoCounts, count, row_for
from recassay.models.incremental._walk import StreamEvents, own_score_and_counts
from recassay.models.incremental.base import Incremental, Walker, grown
from recassay.naming.named import COUNT, Departure

Sizes = NDArray[np.float32]

# Weights are whole multiples of 1 / ONE, so sums are exact up to 2^53 / ONE = 2^15. A weight is at most the square root
# of a neighbour's number of items: that suffices for a hundred neighbours with a hundred thousand items each.
ONE = 2.0**38
EXACT = 2.0**52  # sums below it differ by more than a division can hide
END = np.iinfo(np.int32).max  # above every user: the end of neighbours in order
GROUP = 8  # users whose marks are read together, as one number
LEAST_ROWS = 16  # users whose co-counts with all others are cached: those queried last
SLACK = 0.98  # of the last k-th similarity: others move away when they learn other items


class NeighbourBuffers(NamedTuple):
    """Buffers for the search for nearest users, and the neighbours ``kept`` from earlier searches (users, k).

    ``kept`` has no columns if neighbours are found at each query. ``found`` are the nearest users, ascending, and
    ``closeness`` their similarities. ``threshold`` is a guess of each user's k-th largest similarity: it saves time and
    never changes results.
    """

    kept: Int32  # neighbours at each user's last event; without columns they are found at each query
    threshold: Float  # a guess of the k-th closeness, from the last query: it saves sorting and never changes results
    found: Int32  # nearest users, ascending
    closeness: Float  # of each: first the value they are selected by, then their weight
    ranked: Float  # memory for a selection
    is_near: NDArray[np.uint8]  # of each user, whether the guess is reached
    groups: Int32  # groups of users with one that reaches it


class WeightSums(NamedTuple):
    """For each cached user, the sums of neighbour weights per item, as they were at the last query of the user.

    A row is a cached user, as in the cache of co-counts. The neighbours of a user change little from one query to the
    next, so the next sums are made from the last ones.
    """

    sums: Float  # (rows, items): of each item, the weights of the neighbours that had it
    user: Int32  # whose row it is, NONE for nobody's
    members: Int32  # the neighbours, ascending; END follows the last one
    weights: Float  # the weight of each neighbour in the sums
    counted: Int32  # how many of the neighbour's items are in the sums


@njit(nogil=True, cache=True)
def keep_nearest(user: int, k: int, buffers: NeighbourBuffers, common: CoCounts) -> None:
    """Find the ``k`` neighbours of a user from the co-counts in ``common``, and write them to ``buffers.kept``."""
    row = row_for(user, common)
    found = nearest(user, k, common.rows[row], common.touched[row], common.sizes, buffers)
    buffers.kept[user, :found] = buffers.found[:found]
    buffers.kept[user, found:] = NONE


@njit(nogil=True, cache=True)
def nearest(user: int, k: int, row: Int32, touched: Bool, sizes: Sizes, buffers: NeighbourBuffers) -> int:
    """Write the ``k`` users most similar to ``user`` to ``buffers.found``, ascending by code, and return their number.

    They are selected by c^2 / |v|, which has the order of c / (sqrt |u| sqrt |v|) and is rounded once, so equal
    similarities stay equal. Ties are ordered by code. ``row`` are the user's co-counts with all users, ``touched`` is
    true for its blocks that are not all 0, and ``sizes`` are the numbers of items of all users.
    """
    guess = buffers.threshold[user]
    found, enough = _users_within(guess, row, touched, sizes, buffers)
    if guess > 0 and enough < k:
        buffers.threshold[user] = 0.0
        found, enough = _users_within(0.0, row, touched, sizes, buffers)
    if found <= k:
        return found
    closeness = buffers.closeness[:found]
    buffers.ranked[:found] = closeness
    last, above = kth_largest(buffers.ranked[:found], k)
    kept, room = 0, k - above
    for at in range(found):  # branch-free: which of them are kept cannot be predicted
        tied = closeness[at] == last
        buffers.found[kept] = buffers.found[at]
        kept += (closeness[at] > last) | (tied & (room > 0))
        room -= tied
    buffers.threshold[user] = SLACK * last
    return kept


@njit(nogil=True, cache=True)
def kth_largest(values: Float, k: int) -> tuple[Any, int]:
    """Return the ``k``-th largest of the values, and how many values are above it; ``values`` are reordered.

    The loop has no branches that depend on comparisons, because a processor could not predict them.
    """
    low, high = 0, values.size
    while True:
        pivot, above = values[(low + high) // 2], low
        for at in range(low, high):
            value = values[at]
            values[at], values[above] = values[above], value
            above += value > pivot
        if k <= above:
            high = above
            continue
        equal = above
        for at in range(above, high):
            value = values[at]
            values[at], values[equal] = values[equal], value
            equal += value == pivot
        if k <= equal:
            return pivot, above
        low = equal


@njit(nogil=True, cache=True)
def _users_within(guess: float, row: Int32, touched: Bool, sizes: Sizes, buffers: NeighbourBuffers) -> tuple[int, int]:
    """Write to ``buffers`` all users whose similarity to a user is at least ``guess``, and perhaps a few just below it.

    ``row`` are the user's co-counts with all users, ``touched`` is true for its blocks that are not all 0, and
    ``sizes`` are the numbers of items of all users. The users go to ``buffers.found`` and their similarities to
    ``buffers.closeness``. Return the number of users written, and how many of them reach the guess.
    """
    groups, found, enough, is_near = 0, 0, 0, buffers.is_near
    shared, size, near = row.reshape(-1, BLOCK), sizes.reshape(-1, BLOCK), is_near.reshape(-1, BLOCK)
    words, near_groups = is_near.view(np.uint64).reshape(-1, BLOCK // GROUP), buffers.groups
    bound = np.float32(guess * (1 - 1e-5))  # single precision is faster and may let a few more users through
    for block in range(touched.size):
        if touched[block]:
            for at in range(BLOCK):
                both = np.float32(shared[block, at])
                near[block, at] = both * both > bound * size[block, at]
            for group in range(BLOCK // GROUP):
                near_groups[groups] = block * (BLOCK // GROUP) + group
                groups += words[block, group] != 0
    for group in buffers.groups[:groups]:
        for other in range(group * GROUP, (group + 1) * GROUP):
            buffers.found[found] = other
            found += is_near[other]
    for at in range(found):
        other = buffers.found[at]
        buffers.closeness[at] = np.float64(row[other]) * row[other] / sizes[other]
        enough += buffers.closeness[at] >= guess
    return found, enough


@njit(nogil=True, cache=True)
def add_weights(
    user: int, k: int, buffers: NeighbourBuffers, last: WeightSums, common: CoCounts, scores: Float
) -> float:  # fmt: skip
    """Write, for each item, the total weight of the user's neighbours who have it; return the weight of all neighbours.

    The weights are written to ``scores``. Items of equally similar neighbours get bit-equal sums. Weights are roots of
    c^2 / |v|, which are equal for equal fractions, rounded to multiples of 1 / ONE, so sums are exact in any order, and
    what was added can be subtracted: the sums of the user's last query, in ``last``, are changed. ``common`` has the
    co-counts of users.
    """
    place = row_for(user, common)
    row = common.rows[place]
    if buffers.kept.shape[1]:
        found = 0
        while found < k and buffers.kept[user, found] != NONE:
            buffers.found[found] = buffers.kept[user, found]
            found += 1
    else:
        found = nearest(user, k, row, common.touched[place], common.sizes, buffers)
    total = 0.0
    for at in range(found):
        other = buffers.found[at]
        buffers.closeness[at] = np.rint(ONE * np.sqrt(np.float64(row[other]) * row[other] / common.sizes[other]))
        total += buffers.closeness[at]
    if last.user[place] != user or total >= EXACT:
        last.sums[place], last.members[place, 0] = 0.0, END
    last.user[place] = user if total < EXACT else NONE
    buffers.found[found] = END  # there is room, since nobody is a neighbour of themselves
    move_sums(
        buffers.found, buffers.closeness, last.sums[place], last.members[place], last.weights[place],
        last.counted[place], common.features_start, common.features_length, common.features,
    )  # fmt: skip
    sums = last.sums[place]
    for item in range(scores.size):  # numba copies a slice by way of other memory
        scores[item] = sums[item]
    return total


@njit(nogil=True, cache=True)
def move_sums(
    near: Int32, weight: Float, sums: Float, members: Int32, weights: Float, counted: Int32, start: Int64,
    length: Int64, items: Int32,
) -> None:  # fmt: skip
    """Update a row of :class:`WeightSums` to the neighbours ``near`` (ascending, then END) and their ``weight``.

    The items of user v are ``items[start[v] : start[v] + length[v]]``. Only the items of neighbours whose weight has
    changed are visited, and new items of the other neighbours.
    """
    old, new = 0, 0
    while members[old] != END or near[new] != END:
        user = min(members[old], near[new])
        was, now, done = 0.0, 0.0, 0
        if members[old] == user:
            was, done = weights[old], counted[old]
            old += 1
        if near[new] == user:
            now = weight[new]
            new += 1
        first, change = start[user], now - was
        if change != 0:
            for place in range(first, first + done):
                sums[np.uint32(items[place])] += change
        if now != 0:
            for place in range(first + done, first + length[user]):
                sums[np.uint32(items[place])] += now
    members[: new + 1] = near[: new + 1]
    weights[:new] = weight[:new]
    for at in range(new):
        counted[at] = length[near[at]]


@njit(nogil=True, cache=True, inline="always")
def _learn(state: Any, user: int, item: int, _value: float) -> None:
    """Add a pair of user and item to the co-counts, and find the user's neighbours if they are stored."""
    k, buffers, _, common = state
    count(user, item, common)
    if buffers.kept.shape[1]:
        keep_nearest(user, k, buffers, common)


@njit(nogil=True, cache=True, inline="always")
def _score(state: Any, user: int, item: int, known: int, universe: int, row: Float) -> Any:
    """Write to ``row``, for each learned item, the total weight of the user's neighbours who have it.

    It is not divided by the weight of all neighbours, which does not change the order. Sums below 2^52 are whole
    numbers, so different sums have different shares, in the same order. Return what
    :func:`~recassay.models.incremental._walk.own_score_and_counts` does.
    """
    k, buffers, last, common = state
    scores = row[:known]
    total = add_weights(user, k, buffers, last, common, scores)
    if total >= EXACT:
        scores /= total
    return own_score_and_counts(row, item, known, universe)


@dataclass(frozen=True, repr=False)
class UKNN(Incremental):
    """Incremental user-kNN: the score of an item is the share of the user's neighbours, by similarity, who had it.

    The similarity of users u and v is c / (sqrt |u| sqrt |v|), with c items in common and |u| the items of u.
    Neighbours are the most similar users with at least one common item; ties are ordered by first appearance. An event
    counts a pair of user and item; repeated pairs change nothing.

    Neighbours are found at each query, so they are exact. ``stale=True`` finds them when the user's own events are
    learned, as MyMediaLite does: later events of other users change similarities but not the set of neighbours.

    Similarities are rounded to a multiple of 2^-38 / sqrt |u|, so sums are exact and equal scores stay equal.

    Edges: without neighbours all scores are 0.

    >>> learner = UKNN(neighbours=2).start()
    >>> users, items = np.array([0, 0, 0, 1, 1, 1, 2, 2, 3]), np.array([0, 1, 2, 0, 1, 3, 2, 3, 0])
    >>> learner.learn(users.astype(np.int32), items.astype(np.int32), np.ones(9))
    >>> learner.scores(3).tolist()
    [1.0, 1.0, 0.5, 0.5]

    Reference: Miranda and Jorge, Incremental collaborative filtering for binary ratings, WI 2008.
    """

    departures: ClassVar[tuple[Departure, ...]] = (
        Departure(
            "prequential",
            "MyMediaLite, which the paper takes its user neighbours from, finds the neighbours of a user again when "
            "events of that user are learned; here they are found at each query, which is exact.",
            "UKNN(stale=True)",
        ),
        Departure(
            "prequential",
            "The version of the paper's first author also finds neighbours again for users who became more similar to "
            "the user of an event than to their last neighbour, and lets a repeated pair count again; here neighbours "
            "are exact or of the user's own events, and repeated pairs change nothing.",
        ),
    )

    neighbours: Annotated[int, COUNT] = 80
    stale: bool = False

    def start(self) -> LearningUKNN:
        """Return a new learner that has learned nothing."""
        return LearningUKNN(self)


class LearningUKNN(Walker):
    """The learner of ``UKNN``: it keeps the distinct pairs of user and item, and with ``stale`` users' neighbours.

    Memory is linear in users, items and pairs.
    """

    kernels = _learn, _score

    def __init__(self, model: UKNN) -> None:
        self.model, self.common = model, GrowingCoCounts(LEAST_ROWS)
        self.kept = np.zeros((0, model.neighbours if model.stale else 0), np.int32)
        self.threshold = np.zeros(0)

    def scores(self, user: int) -> Float:
        """Return, for each item learned so far, the share of the user's neighbours (by similarity) who have it."""
        code: Any = np.int32(user)  # as in a stream, for which the kernels are compiled
        (k, buffers, last, common), row = self.grow(user + 1, self.n_items)
        scores = row[: self.n_items]
        total = add_weights(code, k, buffers, last, common, scores)
        return scores / total if total > 0 else scores

    def grow(self, users: int, items: int, events: StreamEvents | None = None) -> tuple[Any, Float]:
        """Enlarge the arrays to hold at least ``users`` users and ``items`` items.

        Return (arrays that the compiled functions read and write, array for a score of each item). ``events`` are those
        that will be learned next.
        """
        if events is not None:
            self.common.reserve(events.users, events.items)
        self.common.widen(users, items)
        known = self.kept.shape[0]
        self.kept, self.threshold = grown(self.kept, users), grown(self.threshold, users)
        self.kept[known:] = NONE
        if (known, self.last.sums.shape[1]) != (self.threshold.size, self.common.owners.length.size):
            del self.last
        state = (self.model.neighbours, self._buffers(), self.last, self.common.arrays)
        return state, np.empty(self.common.owners.length.size)

    @functools.cached_property
    def last(self) -> WeightSums:
        """Return the sums of weights at the last query of each cached user; at first nobody has any."""
        rows, items = self.common.entity_of.size, self.common.owners.length.size
        width = min(self.model.neighbours, self.threshold.size)
        return WeightSums(
            np.zeros((rows, items)), np.full(rows, NONE, np.int32), np.zeros((rows, width + 1), np.int32),
            np.zeros((rows, width)), np.zeros((rows, width), np.int32),
        )  # fmt: skip

    def _buffers(self) -> NeighbourBuffers:
        """Return the buffers of a search, with the stored neighbours and the guesses of similarities."""
        users = self.threshold.size
        return NeighbourBuffers(
            self.kept, self.threshold, np.empty(users, np.int32), np.empty(users), np.empty(users),
            np.empty(users, np.uint8), np.empty(users // GROUP, np.int32),
        )  # fmt: skip
