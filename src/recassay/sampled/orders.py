"""Systems in the order of their means: at one sample size, and against the order of the full ranking."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recassay.data.agreement import signs, taus
from recassay.sampled.measure import Measured
from recassay.sampled.resamples import Resamples

Float = NDArray[np.float64]

EXACT = 12  # decimals of a mean: beyond them systems that are equal would differ by rounding


@dataclass(frozen=True, eq=False)
class Standing:
    """All systems by one metric at one size: means, their deviation over draws, and means in resamples of users."""

    systems: tuple[str, ...]
    mean: Float
    deviation: Float
    resampled: Float

    @classmethod
    def each(cls, found: Mapping[str, Measured], column: int, samples: Resamples) -> list[Standing]:
        """One metric of what was measured, at every size."""
        each = found.values()
        mean = np.round([one.mean[:, column] for one in each], EXACT)
        deviation = np.array([one.deviation[:, column] for one in each])
        resampled = np.round([samples.means(one.sums[:, :, column], one.counts) for one in each], EXACT)
        return [
            cls(tuple(found), mean[:, place], deviation[:, place], resampled[:, :, place].T)
            for place in range(mean.shape[1])
        ]

    def rows(self, level: float) -> list[dict[str, Any]]:
        """A row per system, with its interval over users."""
        low, high = _bounds(self.resampled, level)
        columns = zip(self.systems, self.mean, self.deviation, low, high, strict=True)
        names = ("system", "mean", "sd_draws", "low", "high")
        return [dict(zip(names, (row[0], *map(float, row[1:])), strict=True)) for row in columns]

    def same(self, means: ArrayLike) -> bool:
        """Whether all pairs of systems stand in the same order as by these means."""
        return bool((signs(self.mean) == signs(np.round(np.asarray(means), EXACT))).all())

    def against(self, full: Standing, level: float) -> dict[str, Any]:
        """How this order agrees with that of the full ranking, and in how many resamples they are one."""
        (tau_a, tau_b), (resampled, _) = taus(self.mean, full.mean), taus(self.resampled, full.resampled)
        low, high = _bounds(resampled[:, None], level)
        agree = (signs(self.resampled) == signs(full.resampled)).all(axis=1)
        return {
            "tau_a": float(tau_a), "tau_b": float(tau_b), "low": float(low[0]), "high": float(high[0]),
            "agree": float(agree.mean()), "same": self.same(full.mean), "swaps": self.swaps(full),
        }  # fmt: skip

    def swaps(self, full: Standing) -> list[str]:
        """Pairs of which the full ranking says otherwise: who leads here, and whom.

        >>> def at(*mean):
        ...     return Standing(("a", "b"), np.array(mean), np.zeros(2), np.zeros((1, 2)))
        >>> at(0.3, 0.2).swaps(at(0.1, 0.2)), at(0.3, 0.2).swaps(at(0.2, 0.1)), at(0.2, 0.2).swaps(at(0.2, 0.1))
        (['a > b'], [], ['a = b'])
        """
        pairs = itertools.combinations(self.systems, 2)
        here, there = signs(self.mean), signs(full.mean)
        say = {-1: "{0} > {1}", 0: "{0} = {1}", 1: "{1} > {0}"}
        return [
            say[int(one)].format(*pair) for pair, one, other in zip(pairs, here, there, strict=True) if one != other
        ]


def stable_from(sizes: Sequence[int], same: Sequence[bool], ask: Callable[[int], bool]) -> int | None:
    """The smallest size from which on the order is that of the full ranking; None if at none of the sizes.

    Between the last of the sizes at which it is another and the next one the change is sought by halves.

    >>> stable_from([1, 10, 100], [True, False, True], lambda size: size >= 37)
    37
    """
    wrong = [place for place, one in enumerate(same) if not one]
    if not wrong:
        return sizes[0]
    if wrong[-1] + 1 == len(sizes):
        return None
    low, high = sizes[wrong[-1]], sizes[wrong[-1] + 1]
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if ask(middle) else (middle, high)
    return high


def _bounds(values: Float, level: float) -> Float:
    """Percentiles of every column."""
    found: Float = np.quantile(values, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return found
