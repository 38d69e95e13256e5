"""Training data of networks: windows of histories, shuffled batches of windows, and sampled items."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recassay.arrays import Int32, Int64
from recassay.columnar.layout import ranges, row_groups
from recassay.data.interactions import Interactions
from recassay.data.sequences import Histories

POOL_BATCHES = 16  # batches sorted by length together, so batches have windows of similar length and little padding


def cut_windows(histories: Histories, size: int, step: int | None) -> Histories:
    """Return windows of ``size`` items of each history: one that ends at its last item, and earlier ones.

    An earlier window ends ``step`` items before the next one; the earliest of a history may be shorter. Without a
    ``step`` there is only the last window. A history of one item has no next item and gives no window. The user of a
    window is the number of its history.

    >>> windows = cut_windows(Histories(np.array([0, 1, 6]), np.arange(6, dtype=np.int32)), 3, 2)
    >>> windows.users.tolist(), windows.rows()
    ([1, 1], [[3, 4, 5], [1, 2, 3]])
    """
    lengths = np.where(histories.lengths > 1, histories.lengths, 0)
    more = 0 if step is None else -(-np.maximum(lengths - size, 0) // step)
    offsets = np.append(0, np.cumsum(np.where(lengths > 0, 1 + more, 0)))
    users = row_groups(offsets)
    end = histories.offsets[1:][users] - (np.arange(users.size) - offsets[users]) * (step or 0)
    begin = np.maximum(histories.offsets[users], end - size)
    items = histories.items[ranges(begin, end - begin)]
    return Histories(np.append(0, np.cumsum(end - begin)), items, users.astype(np.int32))


def shuffled_batches(lengths: Int64, size: int, rng: np.random.Generator) -> Iterator[Int64]:
    """Yield batches of at most ``size`` window numbers; the batches are in random order.

    ``lengths`` has the length of each window. Windows of a batch have similar lengths and are ordered by length,
    longest first.

    >>> from recassay.rng import derive
    >>> [batch.tolist() for batch in shuffled_batches(np.array([5, 2, 4, 1]), 2, derive(1, "example"))]
    [[0, 2], [1, 3]]
    """
    order = rng.permutation(lengths.size)
    pools = [order[begin : begin + POOL_BATCHES * size] for begin in range(0, order.size, POOL_BATCHES * size)]
    pools = [pool[np.argsort(-lengths[pool], kind="stable")] for pool in pools]
    batches = [pool[begin : begin + size] for pool in pools for begin in range(0, pool.size, size)]
    for number in rng.permutation(len(batches)):
        yield batches[number]


class NegativeSampler:
    """Random draws of items that a user never had, all equally likely."""

    def __init__(self, log: Interactions) -> None:
        self.n_items = log.n_items
        self.offsets, profile = log.by_user
        user = row_groups(self.offsets)
        # The k-th item missing from a profile is k plus the number of profile items with item - j <= k, j the index.
        self.keys = user * (self.n_items + 1) + profile - (np.arange(profile.size) - self.offsets[user])

    def draw(self, users: Int32, rng: np.random.Generator) -> Int64:
        """Return one random item per user that the user never had.

        For a user who had all items, the result is the number of items, which is not an item code.

        >>> import polars as pl
        >>> from recassay.rng import derive
        >>> log = Interactions.from_frame(pl.DataFrame({"user_id": [1, 1, 2, 2, 2], "item_id": [0, 2, 0, 1, 2]}))
        >>> NegativeSampler(log).draw(np.array([0, 1]), derive(1, "example")).tolist()
        [1, 3]
        """
        lacking = self.n_items - np.diff(self.offsets)[users]
        k = (rng.random(users.size) * lacking).astype(np.int64)
        place = np.searchsorted(self.keys, users.astype(np.int64) * (self.n_items + 1) + k, side="right")
        return np.asarray(k + place - self.offsets[users])


class CandidateSampler:
    """Random draws of ``size`` items, which all sequences of a step share.

    With ``uniform`` every item has the same chance. Else half of the draws are spread evenly over all items and half in
    proportion to their events, so that any item can be drawn. The draws are stratified: one from each of ``size``
    equal shares of the distribution. That keeps the expected number of draws of an item, and lowers the variance.

    The weight of an item is how often it was drawn; unless ``uniform``, divided by how often that is expected.
    """

    def __init__(self, log: Interactions, size: int, *, uniform: bool) -> None:
        self.n_items, self.size, self.uniform = log.n_items, size, uniform
        chances = np.full(log.n_items, 1 / log.n_items)
        if not uniform:
            chances = (chances + np.bincount(log.items, minlength=log.n_items) / len(log)) / 2
        self.upto, self.expected = np.cumsum(chances), size * chances

    def draw(self, rng: np.random.Generator) -> tuple[Int64, NDArray[Any]]:
        """Return distinct items, ascending, and their weights; from at most ``size`` items each of them, with weight 1.

        >>> import polars as pl
        >>> from recassay.rng import derive
        >>> log = Interactions.from_frame(pl.DataFrame({"user_id": [1, 1, 2, 2], "item_id": [0, 2, 0, 1]}))
        >>> items, weights = CandidateSampler(log, 2, uniform=False).draw(derive(1, "example"))
        >>> items.tolist(), weights.round(2).tolist()
        ([1, 2], [1.71, 1.71])
        >>> CandidateSampler(log, 3, uniform=False).draw(derive(1, "example"))[0].tolist()
        [0, 1, 2]
        """
        if self.size >= self.n_items:
            return np.arange(self.n_items), np.ones(self.n_items, np.int64)
        points = (np.arange(self.size) + rng.random(self.size)) * (self.upto[-1] / self.size)
        items = np.minimum(np.searchsorted(self.upto, points, side="right"), self.n_items - 1)
        found, drawn = np.unique(items, return_counts=True)
        return found, drawn if self.uniform else drawn / self.expected[found]
