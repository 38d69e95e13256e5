"""Sampled items of losses that do not score the whole catalogue. All sequences of a step share them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from recassay.data.interactions import Interactions
from recassay.models.neural.batches import Codes

Proposal = Literal["popularity", "uniform"]


@dataclass(frozen=True, eq=False)
class SampledItems:
    """Distinct items (c,) in ascending order, and how many times each was drawn.

    ``expected`` is how many times each would be drawn on average.
    """

    items: Codes
    drawn: Codes
    expected: NDArray[np.float64]


class CandidateSampler:
    """Random draws of ``size`` items, by a proposal distribution over all items.

    "uniform" gives every item the same chance. "popularity" spreads half of the draws evenly over all items and half in
    proportion to their events, so that any item can be drawn. The draws are stratified: one from each of ``size``
    equal shares of the distribution. That keeps the expected number of draws of an item, and lowers the variance.
    """

    def __init__(self, log: Interactions, size: int, proposal: Proposal) -> None:
        self.n_items, self.size = log.n_items, size
        chances = np.full(log.n_items, 1 / log.n_items)
        if proposal == "popularity":
            chances = (chances + np.bincount(log.items, minlength=log.n_items) / len(log)) / 2
        self.upto, self.expected = np.cumsum(chances), size * chances

    def draw(self, rng: np.random.Generator) -> SampledItems:
        """Return candidates; from a catalogue of at most ``size`` items every item once.

        >>> import polars as pl
        >>> from recassay.rng import derive
        >>> log = Interactions.from_frame(pl.DataFrame({"user_id": [1, 1, 2, 2], "item_id": [0, 2, 0, 1]}))
        >>> drawn = CandidateSampler(log, 2, "popularity").draw(derive(1, "example"))
        >>> drawn.items.tolist(), drawn.drawn.tolist(), drawn.expected.round(2).tolist()
        ([1, 2], [1, 1], [0.58, 0.58])
        >>> CandidateSampler(log, 3, "popularity").draw(derive(1, "example")).items.tolist()
        [0, 1, 2]
        """
        if self.size >= self.n_items:
            every = np.ones(self.n_items, np.int64)
            return SampledItems(np.arange(self.n_items), every, every.astype(np.float64))
        points = (np.arange(self.size) + rng.random(self.size)) * (self.upto[-1] / self.size)
        items = np.minimum(np.searchsorted(self.upto, points, side="right"), self.n_items - 1)
        found, drawn = np.unique(items, return_counts=True)
        return SampledItems(found, drawn, self.expected[found])
