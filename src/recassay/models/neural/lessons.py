"""What a network learns from: histories cut into windows, windows dealt into batches, and items a user never had."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recassay.data.histories import Histories
from recassay.data.interactions import Interactions
from recassay.data.layout import stretch_of

POOL = 16  # batches that are dealt together, so that windows of like length meet in a batch and little is padding

Codes = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Excerpts:
    """Windows laid out (n, t), items from the left and then ``pad``; whose they are, and how often they were read."""

    tokens: Codes
    lengths: Codes
    users: Codes
    reading: Codes


@dataclass(frozen=True, eq=False)
class Lesson:
    """What a network is asked: sequences, the places it is asked about, the answers, and perhaps wrong answers.

    Places are of the table of tokens laid out flat: row times width plus column.
    """

    tokens: Codes  # (n, t)
    lengths: Codes  # (n,)
    places: Codes  # (p,)
    targets: Codes  # (p,)
    others: Codes  # (p,), or empty

    @property
    def arrays(self) -> tuple[Codes, ...]:
        """All of it, in the order above."""
        return self.tokens, self.lengths, self.places, self.targets, self.others


NONE = np.empty(0, np.int64)


@dataclass(frozen=True, eq=False)
class Windows:
    """Stretches ``begin`` to ``end`` of the items of histories, and whose they are."""

    histories: Histories
    users: Codes
    begin: Codes
    end: Codes

    @classmethod
    def cut(cls, histories: Histories, size: int, step: int | None) -> Windows:
        """The last ``size`` items of each history, and as much again every ``step`` items further back, to its begin.

        A history of one item teaches nothing of what comes after what, and gives no window. No step: the last only.

        >>> windows = Windows.cut(Histories(np.array([0, 1, 6]), np.arange(6, dtype=np.int32)), 3, 2)
        >>> windows.users.tolist(), windows.begin.tolist(), windows.end.tolist()
        ([1, 1], [3, 1], [6, 4])
        """
        lengths = np.where(histories.lengths > 1, histories.lengths, 0)
        more = np.zeros_like(lengths) if step is None else -(-np.maximum(lengths - size, 0) // step)
        counts = np.where(lengths > 0, 1 + more, 0)
        offsets = np.append(0, np.cumsum(counts))
        users = stretch_of(offsets)
        back = (np.arange(users.size) - offsets[users]) * (step or 0)
        end = histories.offsets[1:][users] - back
        return cls(histories, users, np.maximum(histories.offsets[users], end - size), end)

    def __len__(self) -> int:
        return int(self.users.size)

    @property
    def lengths(self) -> Codes:
        """Items of each window."""
        return self.end - self.begin

    def excerpts(self, which: Codes, pad: int) -> Excerpts:
        """Some windows, laid out; numbers beyond the last window are further readings of the same ones."""
        reading, window = np.divmod(which, len(self))
        lengths = self.lengths[window]
        places = np.arange(lengths.max())
        inside = places < lengths[:, None]
        tokens = np.full(inside.shape, pad, np.int64)
        tokens[inside] = self.histories.items[(self.begin[window][:, None] + places)[inside]]
        return Excerpts(tokens, lengths, self.users[window], reading)


def deal(lengths: Codes, size: int, rng: np.random.Generator) -> Iterator[Codes]:
    """Numbers of windows in batches, in random order; those of like length meet, and the longest come first.

    >>> from recassay.rng import derive
    >>> [batch.tolist() for batch in deal(np.array([5, 2, 4, 1]), 2, derive(1, "example"))]
    [[0, 2], [1, 3]]
    """
    order = rng.permutation(lengths.size)
    pools = [order[begin : begin + POOL * size] for begin in range(0, order.size, POOL * size)]
    pools = [pool[np.argsort(-lengths[pool], kind="stable")] for pool in pools]
    batches = [pool[begin : begin + size] for pool in pools for begin in range(0, pool.size, size)]
    for number in rng.permutation(len(batches)):
        yield batches[number]


class Strangers:
    """Items that users never had, drawn uniformly."""

    def __init__(self, log: Interactions) -> None:
        self.items = log.n_items
        self.offsets, profile = log.by_user
        user = stretch_of(self.offsets)
        # The k-th item that a user lacks is k plus the number of items j-th in the profile with item - j <= k.
        self.keys = user * (self.items + 1) + profile - (np.arange(profile.size) - self.offsets[user])

    def draw(self, users: Codes, rng: np.random.Generator) -> Codes:
        """One item for each user; the number of items for a user who had them all.

        >>> import polars as pl
        >>> from recassay.rng import derive
        >>> log = Interactions.from_frame(pl.DataFrame({"user_id": [1, 1, 2, 2, 2], "item_id": [0, 2, 0, 1, 2]}))
        >>> Strangers(log).draw(np.array([0, 1]), derive(1, "example")).tolist()
        [1, 3]
        """
        lacking = self.items - np.diff(self.offsets)[users]
        k: Codes = (rng.random(users.size) * lacking).astype(np.int64)
        place: Codes = np.searchsorted(self.keys, users * (self.items + 1) + k, side="right")
        return k + place - self.offsets[users]
