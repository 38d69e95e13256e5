"""Bounds for the mean over all users from a sample without replacement, valid at every sample size at once.

Let X_1, X_2, ... in [0, 1] be the values of users drawn one after another from the N_h users of a stratum, and S the
sum of those drawn before draw i. Given them, X_i has the mean E_i = (N_h mu_h - S) / (N_h - i + 1). Take any weights
l_i and guesses g_i that are known before the draw. Then

    exp(sum l_i (X_i - E_i) - sum (-log(1 - l_i) - l_i) (X_i - g_i)^2)

is a supermartingale (Fan, Grama and Liu 2015; Waudby-Smith and Ramdas 2020, theorem 3). By Ville's inequality it ever
reaches 2 / alpha with probability at most alpha / 2. With l_i = L (N_h - i + 1) / N_h, a draw contributes
L X_i (N_h - i + 1) / N_h + L S / N_h against L mu_h. So draws in proportion to the strata bound the mean over all
users. The guesses are per stratum, so only the variance within strata widens the bounds. L is tuned for the requested
width.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

BOLDEST = 0.5  # the largest L: beyond it the penalty of a draw grows faster than its weight


def proportional_shares(sizes: Counts, total: int) -> Counts:
    """Return how many of ``total`` draws each stratum gets in proportion to its size (largest remainder method).

    >>> proportional_shares(np.array([50, 30, 20]), 6).tolist()
    [3, 2, 1]
    >>> proportional_shares(np.array([50, 30, 20]), 100).tolist()
    [50, 30, 20]
    """
    exact = sizes * total / sizes.sum()
    found: Counts = np.floor(exact).astype(np.int64)
    order = np.argsort(found - exact, kind="stable")
    found[order[: total - int(found.sum())]] += 1
    return found


class SampleBounds:
    """Running bounds ``low`` and ``high`` for the mean of values in [0, 1], updated as blocks of users are drawn.

    ``width`` is the half-width that the bounds should reach, ``sizes`` the number of users of each stratum, and
    ``alpha`` bounds the probability that the mean is ever outside the bounds.

    >>> bounds = SampleBounds(np.array([4]), width=0.1, alpha=0.05)
    >>> bounds.add([np.array([1.0, 0.0])])
    >>> bounds.low, bounds.high
    (0.0, 1.0)
    >>> bounds.add([np.array([1.0, 1.0])])
    >>> bounds.low, bounds.high
    (0.75, 0.75)
    """

    def __init__(self, sizes: Counts, width: float, alpha: float) -> None:
        self.sizes, self.width, self.alpha = sizes, width, alpha
        self.low, self.high = 0.0, 1.0
        self.drawn = np.zeros(sizes.size, np.int64)
        self.sums, self.squares, self.weight = np.zeros((3, sizes.size))  # weight: the sum of L over the draws
        self.weighted_sum = self.penalty = 0.0

    @property
    def variance(self) -> float:
        """Return the estimated variance within strata; before any draw 1/4, the largest possible."""
        seen = np.maximum(self.drawn, 1)
        within = self.squares - self.sums**2 / seen
        return (0.25 + float(np.maximum(within, 0).sum())) / (1 + int(self.drawn.sum()))

    @property
    def draws_needed(self) -> float:
        """Return the estimated number of draws, in all, after which the bounds are at most 2 x ``width`` apart.

        After a share q of all users, the squared weights sum to q (1 - q + q^2 / 3) times the number of users. With a =
        2 math.log(2 / alpha) variance / (width^2 users), the share solves q = a (1 - q + q^2 / 3).
        """
        users = int(self.sizes.sum())
        scale = self.width**2 * users  # 0 for a width whose square is below the smallest number
        a = 2 * math.log(2 / self.alpha) * self.variance / scale if scale else math.inf
        share = 1.0 if a >= 3 else 2 * a / (1 + a + math.sqrt((1 + a) * (1 + a) - 4 * a * a / 3))
        return users * share

    def add(self, values: Sequence[Floats]) -> None:
        """Add the next drawn values, an array for each stratum in the order of the draws, and update the bounds."""
        boldness = min(2 * math.log(2 / self.alpha) / (self.width * self.draws_needed), BOLDEST)
        for stratum, x in enumerate(values):
            self._add_to_stratum(stratum, x, boldness)
        self._update_bounds()

    def _add_to_stratum(self, stratum: int, x: Floats, boldness: float) -> None:
        """Add the next values ``x`` of one stratum to the running sums.

        ``boldness`` is the weight of a stratum's first draw; later draws weigh less (L at the top of this module).
        """
        size, drawn = int(self.sizes[stratum]), int(self.drawn[stratum])
        before = self.sums[stratum] + np.append(0.0, np.cumsum(x))[: x.size]
        places = drawn + np.arange(x.size)  # number of draws before each value
        left = (size - places) / size
        weights = boldness * left
        guesses = (0.5 + before) / (1 + places)
        self.weighted_sum += boldness * float(np.sum(left * x + before / size))
        self.penalty += float(np.sum((-np.log1p(-weights) - weights) * (x - guesses) ** 2))
        self.weight[stratum] += boldness * x.size
        self.drawn[stratum] += x.size
        self.sums[stratum] += x.sum()
        self.squares[stratum] += float(np.sum(x**2))

    def _update_bounds(self) -> None:
        """Narrow the bounds by those of the current sample; once all users are drawn, set both to the exact mean."""
        if (self.drawn == self.sizes).all():
            self.low = self.high = float(self.sums.sum() / self.sizes.sum())
            return
        whole = float(self.weight.sum())
        if not whole:
            return
        # Shares of the draws may differ from the shares of the strata by rounding: allow for the largest effect of it.
        uneven = float(np.maximum(self.weight / whole - self.sizes / self.sizes.sum(), 0).sum())
        radius = (math.log(2 / self.alpha) + self.penalty) / whole + uneven
        middle = self.weighted_sum / whole
        self.low, self.high = max(self.low, middle - radius), min(self.high, middle + radius)
