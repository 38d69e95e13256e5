"""Training data of networks: windows of histories, shuffled batches of windows, and sampled items."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recassay.columnar.layout import row_groups
from recassay.data.interactions import Interactions
from recassay.data.sequences import Histories

POOL_BATCHES = 16  # batches sorted by length together, so batches have windows of similar length and little padding

Codes = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class PaddedWindows:
    """Windows of histories as a table ``tokens`` (n, t), padded on the right, with the length and user of each.

    ``pass_number`` says in which pass of the epoch each window is read.
    """

    tokens: Codes
    lengths: Codes
    users: Codes
    pass_number: Codes


@dataclass(frozen=True, eq=False)
class TrainingBatch:
    """The input and the targets of a gradient step.

    ``tokens`` (n, t) are sequences of ``lengths`` items. The network predicts ``targets`` (p,) at ``places`` (p,), flat
    indices into the table of tokens: row times width plus column.
    """

    tokens: Codes  # (n, t)
    lengths: Codes  # (n,)
    places: Codes  # (p,)
    targets: Codes  # (p,)


@dataclass(frozen=True, eq=False)
class HistoryWindows:
    """Windows of histories: window i has the items ``begin[i]`` to ``end[i]`` - 1 of ``histories.items``.

    Window i belongs to user ``users[i]``.
    """

    histories: Histories
    users: Codes
    begin: Codes
    end: Codes

    @classmethod
    def cut(cls, histories: Histories, size: int, step: int | None) -> HistoryWindows:
        """Return windows of ``size`` items of each history: one that ends at its last item, and earlier ones.

        An earlier window ends ``step`` items before the next one; the earliest of a history may be shorter. Without a
        ``step`` there is only the last window. A history of one item has no next item and gives no window.

        >>> windows = HistoryWindows.cut(Histories(np.array([0, 1, 6]), np.arange(6, dtype=np.int32)), 3, 2)
        >>> windows.users.tolist(), windows.begin.tolist(), windows.end.tolist()
        ([1, 1], [3, 1], [6, 4])
        """
        lengths = np.where(histories.lengths > 1, histories.lengths, 0)
        more = np.zeros_like(lengths) if step is None else -(-np.maximum(lengths - size, 0) // step)
        counts = np.where(lengths > 0, 1 + more, 0)
        offsets = np.append(0, np.cumsum(counts))
        users = row_groups(offsets)
        back = (np.arange(users.size) - offsets[users]) * (step or 0)
        end = histories.offsets[1:][users] - back
        return cls(histories, users, np.maximum(histories.offsets[users], end - size), end)

    def __len__(self) -> int:
        return int(self.users.size)

    @property
    def lengths(self) -> Codes:
        """Return the number of items of each window."""
        return self.end - self.begin

    def padded(self, which: Codes, pad: int) -> PaddedWindows:
        """Return the windows with the numbers ``which`` as a table, filled up with ``pad``.

        An epoch may read every window in several passes: number n x len(self) + i is window i in pass n.
        """
        pass_number, window = np.divmod(which, len(self))
        lengths = self.lengths[window]
        places = np.arange(lengths.max())
        inside = places < lengths[:, None]
        tokens = np.full(inside.shape, pad, np.int64)
        tokens[inside] = self.histories.items[(self.begin[window][:, None] + places)[inside]]
        return PaddedWindows(tokens, lengths, self.users[window], pass_number)


def shuffled_batches(lengths: Codes, size: int, rng: np.random.Generator) -> Iterator[Codes]:
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

    def draw(self, users: Codes, rng: np.random.Generator) -> Codes:
        """Return one random item per user that the user never had.

        For a user who had all items, the result is the number of items, which is not an item code.

        >>> import polars as pl
        >>> from recassay.rng import derive
        >>> log = Interactions.from_frame(pl.DataFrame({"user_id": [1, 1, 2, 2, 2], "item_id": [0, 2, 0, 1, 2]}))
        >>> NegativeSampler(log).draw(np.array([0, 1]), derive(1, "example")).tolist()
        [1, 3]
        """
        lacking = self.n_items - np.diff(self.offsets)[users]
        k: Codes = (rng.random(users.size) * lacking).astype(np.int64)
        place: Codes = np.searchsorted(self.keys, users * (self.n_items + 1) + k, side="right")
        return k + place - self.offsets[users]


@dataclass(frozen=True, eq=False)
class SampledItems:
    """Distinct items (c,) in ascending order, and how many times each was drawn.

    ``expected`` is how many times each would be drawn on average.
    """

    items: Codes
    drawn: Codes
    expected: NDArray[np.float64]


class CandidateSampler:
    """Random draws of ``size`` items, which all sequences of a step share.

    With ``uniform`` every item has the same chance. Else half of the draws are spread evenly over all items and half in
    proportion to their events, so that any item can be drawn. The draws are stratified: one from each of ``size``
    equal shares of the distribution. That keeps the expected number of draws of an item, and lowers the variance.
    """

    def __init__(self, log: Interactions, size: int, *, uniform: bool) -> None:
        self.n_items, self.size = log.n_items, size
        chances = np.full(log.n_items, 1 / log.n_items)
        if not uniform:
            chances = (chances + np.bincount(log.items, minlength=log.n_items) / len(log)) / 2
        self.upto, self.expected = np.cumsum(chances), size * chances

    def draw(self, rng: np.random.Generator) -> SampledItems:
        """Return candidates; from a catalogue of at most ``size`` items every item once.

        >>> import polars as pl
        >>> from recassay.rng import derive
        >>> log = Interactions.from_frame(pl.DataFrame({"user_id": [1, 1, 2, 2], "item_id": [0, 2, 0, 1]}))
        >>> drawn = CandidateSampler(log, 2, uniform=False).draw(derive(1, "example"))
        >>> drawn.items.tolist(), drawn.drawn.tolist(), drawn.expected.round(2).tolist()
        ([1, 2], [1, 1], [0.58, 0.58])
        >>> CandidateSampler(log, 3, uniform=False).draw(derive(1, "example")).items.tolist()
        [0, 1, 2]
        """
        if self.size >= self.n_items:
            every = np.ones(self.n_items, np.int64)
            return SampledItems(np.arange(self.n_items), every, every.astype(np.float64))
        points = (np.arange(self.size) + rng.random(self.size)) * (self.upto[-1] / self.size)
        items = np.minimum(np.searchsorted(self.upto, points, side="right"), self.n_items - 1)
        found, drawn = np.unique(items, return_counts=True)
        return SampledItems(found, drawn, self.expected[found])
