"""Sequences that a system generated to continue each test sequence's first item, with their probabilities."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.data.sequences import Sequences
from recassay.data.times import TimeValues
from recassay.errors import UsageError
from recassay.shown import Displayable

NOTHING = -1  # marks an unused place in a list that ended early


@dataclass(frozen=True, eq=False, repr=False)
class Generated(Displayable):
    """One generated sequence of up to k items for each of n test sequences, without the first item, which systems get.

    ``items`` (n, k) are item codes, -1 after the end of a sequence that ended early. ``chances`` (n, k) is the
    probability of each item given the items before it, NaN if the system gives none. ``surprise`` (n) is the sum of
    -log2 P over the transitions of the whole test sequence: infinite if the system gave one of them probability 0, NaN
    without probabilities. ``seed`` is the seed of the random numbers. ``times`` (n, k) are the times of the items,
    ``begun`` the sequences that were continued, and ``seeds`` a row for each of them if seeds were given;
    :func:`generate` sets them.

    >>> made = Generated("mine", np.array([[3, -1]], np.int32), np.array([[0.5, np.nan]]), np.array([2.0]), seed=7)
    >>> len(made), made.k, made.lengths.tolist()
    (1, 2, [1])
    """

    name: str
    items: NDArray[np.int32]
    chances: NDArray[np.float64]
    surprise: NDArray[np.float64]
    seed: int
    times: TimeValues | None = None
    begun: Sequences | None = field(default=None, repr=False)
    seeds: pl.DataFrame | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return int(self.items.shape[0])

    @property
    def k(self) -> int:
        """Return the number of items that were requested for each sequence."""
        return int(self.items.shape[1])

    def frame(self) -> pl.DataFrame:
        """Return a row per generated item: sequence, user, given first item, position, item, probability and time.

        Sequences are numbered from 0 in the order of the test sequences, or have the sequence_id of the given seeds;
        features of seeds are columns, too. The timestamp is in the unit of the log, and the surprise is the same in all
        rows of a sequence. Raise U173 if it is not known which sequences were continued.
        """
        if self.begun is None:
            raise UsageError(
                "U173",
                f"{self.name} was not made by ra.sequences.generate, so the ids of its items are unknown",
                hint="ra.sequences.generate(model, fold), or give Generated(..., begun=fold.test)",
            )
        row, place = np.nonzero(self.items != NOTHING)
        seeds = self.seeds
        if seeds is None:
            seeds = pl.DataFrame({"seed_item_id": self.begun.item_vocabulary.decode(self.begun.seeds)})
        columns = {
            "sequence_id": row,
            "user_id": self.begun.user_vocabulary.decode(self.begun.users[row]),
            **seeds[row].to_dict(),
            "position": place + 1,
            "item_id": self.begun.item_vocabulary.decode(self.items[row, place]),
            "probability": pl.Series(self.chances[row, place]).fill_nan(None),
        }
        if self.times is not None:
            columns["timestamp"] = self.times[row, place]
        if not np.isnan(self.surprise).all():
            columns["surprise"] = pl.Series(self.surprise[row]).fill_nan(None)
        return pl.DataFrame(columns)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Return the number of items in each generated sequence."""
        return np.asarray(np.count_nonzero(self.items != NOTHING, axis=1))


def why_no_items(items: NDArray[Any], shape: tuple[int, ...], n_items: int) -> str:
    """Return why an array is no valid table (of this shape) of generated item codes; "" if it is valid."""
    if items.shape != shape or items.dtype.kind not in "iu":
        return f"its items have the shape {items.shape} and type {items.dtype}, not whole numbers of shape {shape}"
    if items.min() < NOTHING or items.max() >= n_items:
        return f"its item codes from {items.min()} to {items.max()} are not among the {n_items:,} of the fold"
    if ((items[:, :-1] == NOTHING) & (items[:, 1:] != NOTHING)).any():
        return "an item follows the end of a list"
    return ""
