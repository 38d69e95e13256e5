"""What a system recommended to follow each test sequence's first item: a sequence, and how sure it was of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

NOTHING = -1  # the place of a list that ended early


@dataclass(frozen=True, eq=False)
class Generated:
    """One generated sequence for each of n test sequences, k items long, the first item (the seed) not among them.

    ``items`` (n, k) ends in -1 where a list ended early. ``chances`` (n, k) are P(x_j | seed, x_1 .. x_{j-1}), NaN
    where the system gives no probabilities. ``surprise`` (n) is the sum of -log2 P over the transitions of the whole
    test sequence, infinite where one of them was held to be impossible, NaN without probabilities. ``seed`` is that of
    the random numbers.

    >>> made = Generated("mine", np.array([[3, -1]], np.int32), np.array([[0.5, np.nan]]), np.array([2.0]), seed=7)
    >>> len(made), made.k, made.lengths.tolist()
    (1, 2, [1])
    """

    name: str
    items: NDArray[np.int32]
    chances: NDArray[np.float64]
    surprise: NDArray[np.float64]
    seed: int

    def __len__(self) -> int:
        return int(self.items.shape[0])

    @property
    def k(self) -> int:
        """Items asked for."""
        return int(self.items.shape[1])

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Items that each list has."""
        return np.asarray(np.count_nonzero(self.items != NOTHING, axis=1))
