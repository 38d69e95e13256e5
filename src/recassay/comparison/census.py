"""Bounds for a mean over all users from users drawn without replacement, valid however often one looks.

Let X_1, X_2, ... in [0, 1] be the values of users drawn one after another from the N_h of a stratum, S the sum of
those drawn before. Given them the next one has the mean (N_h mu_h - S) / (N_h - i + 1). With weights l_i that are known
before the draw, and any guess g_i that is too,

    exp(sum l_i (X_i - E_i) - sum (-log(1 - l_i) - l_i) (X_i - g_i)^2)

is a supermartingale (Fan, Grama and Liu 2015; Waudby-Smith and Ramdas 2020, theorem 3). It ever reaches 2 / alpha with
a chance of at most alpha / 2 (Ville). With l_i = L (N_h - i + 1) / N_h a draw brings L X_i (N_h - i + 1) / N_h +
L S / N_h beside L mu_h, so that draws in proportion to the strata bound the mean of all: the guesses are those of the
stratum, and only what differs within strata makes the bounds wide. L is tuned for the width that is wanted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from recassay.portable.elementary import log, log1p

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

BOLDEST = 0.5  # the largest L: beyond it the penalty of a draw grows faster than its weight


def shares(sizes: Counts, total: int) -> Counts:
    """How many to draw from each stratum so that ``total`` are in proportion: the largest remainders get one more.

    >>> shares(np.array([50, 30, 20]), 6).tolist(), shares(np.array([50, 30, 20]), 100).tolist()
    ([3, 2, 1], [50, 30, 20])
    """
    exact = sizes * total / sizes.sum()
    found: Counts = np.floor(exact).astype(np.int64)
    order = np.argsort(found - exact, kind="stable")
    found[order[: total - int(found.sum())]] += 1
    return found


@dataclass(eq=False)
class Census:
    """One column of values between 0 and 1 while it is drawn: feed it blocks, and ask it for bounds in between.

    ``width`` is the half-width that bounds should reach, ``sizes`` has the users of each stratum.

    >>> census = Census(np.array([4]), width=0.1, alpha=0.05)
    >>> census.draw([np.array([1.0, 0.0])])
    >>> census.low, census.high
    (0.0, 1.0)
    >>> census.draw([np.array([1.0, 1.0])])
    >>> census.low, census.high
    (0.75, 0.75)
    """

    sizes: Counts
    width: float
    alpha: float
    low: float = 0.0
    high: float = 1.0
    drawn: Counts = field(init=False)
    sums: Floats = field(init=False)
    squares: Floats = field(init=False)
    weight: Floats = field(init=False)  # of the draws of each stratum, the sum of L
    told: float = 0.0
    penalty: float = 0.0

    def __post_init__(self) -> None:
        strata = self.sizes.size
        self.drawn = np.zeros(strata, np.int64)
        self.sums, self.squares, self.weight = np.zeros(strata), np.zeros(strata), np.zeros(strata)

    @property
    def spread(self) -> float:
        """The variance within strata, as far as it is known; a quarter, the largest there is, to begin with."""
        seen = np.maximum(self.drawn, 1)
        within = self.squares - self.sums**2 / seen
        return (0.25 + float(np.maximum(within, 0).sum())) / (1 + int(self.drawn.sum()))

    @property
    def needed(self) -> float:
        """About how many draws in all will do: where the bounds that are tightest there are as wide as they should be.

        After a share q of all users the weights squared have added up to q (1 - q + q^2 / 3) of them, so that with
        a = 2 log(2 / alpha) spread / (width^2 users) it is q = a (1 - q + q^2 / 3).
        """
        users = int(self.sizes.sum())
        a = 2 * log(2 / self.alpha) * self.spread / (self.width**2 * users)
        share = 1.0 if a >= 3 else 2 * a / (1 + a + math.sqrt((1 + a) * (1 + a) - 4 * a * a / 3))
        return users * share

    def draw(self, values: Sequence[Floats]) -> None:
        """The next values of each stratum, in the order in which they were drawn."""
        boldness = min(2 * log(2 / self.alpha) / (self.width * self.needed), BOLDEST)
        for stratum, x in enumerate(values):
            self._add(stratum, x, boldness)
        self._bound()

    def _add(self, stratum: int, x: Floats, boldness: float) -> None:
        size, drawn = int(self.sizes[stratum]), int(self.drawn[stratum])
        before = self.sums[stratum] + np.append(0.0, np.cumsum(x))[: x.size]
        places = drawn + np.arange(x.size)  # how many were drawn before each
        left = (size - places) / size
        weights = boldness * left
        guesses = (0.5 + before) / (1 + places)
        self.told += boldness * float(np.sum(left * x + before / size))
        self.penalty += float(np.sum((-log1p(-weights) - weights) * (x - guesses) ** 2))
        self.weight[stratum] += boldness * x.size
        self.drawn[stratum] += x.size
        self.sums[stratum] += x.sum()
        self.squares[stratum] += float(np.sum(x**2))

    def _bound(self) -> None:
        """Bounds at this moment, and with those before; exact once everyone was drawn."""
        if (self.drawn == self.sizes).all():
            self.low = self.high = float(self.sums.sum() / self.sizes.sum())
            return
        whole = float(self.weight.sum())
        if not whole:
            return
        uneven = float(np.maximum(self.weight / whole - self.sizes / self.sizes.sum(), 0).sum())
        radius = (log(2 / self.alpha) + self.penalty) / whole + uneven
        middle = self.told / whole
        self.low, self.high = max(self.low, middle - radius), min(self.high, middle + radius)
