"""The order of systems by their means at one sample size, compared with their order in the full ranking."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recassay.sampled.measure import MeasuredSystem
from recassay.sampled.resamples import Resamples
from recassay.stats.ranks import kendall_taus, pair_signs

Float = NDArray[np.float64]

EXACT = 12  # decimals of a mean; with more, rounding errors would put a hit rate above 1


@dataclass(frozen=True, eq=False)
class SystemOrder:
    """The means of all systems by one metric at one sample size, from which their order follows.

    ``mean`` and ``deviation`` (over draws) have an entry per system; ``resampled`` has a row per resample of users and
    a column per system.
    """

    systems: tuple[str, ...]
    mean: Float
    deviation: Float
    resampled: Float

    @classmethod
    def each(cls, found: Mapping[str, MeasuredSystem], column: int, samples: Resamples) -> list[SystemOrder]:
        """Return the order of systems at each sample size, for one metric.

        ``found`` has the measured values of each system by name, and ``column`` is the position of the metric in them.
        ``samples`` are resamples of users, which all systems share.
        """
        each = found.values()
        mean = np.round([one.mean[:, column] for one in each], EXACT)
        deviation = np.array([one.deviation[:, column] for one in each])
        resampled = np.array([samples.means(one.sums[:, :, column], one.counts) for one in each])
        return [
            cls(tuple(found), mean[:, place], deviation[:, place], resampled[:, :, place].T)
            for place in range(mean.shape[1])
        ]

    def rows(self, level: float) -> list[dict[str, Any]]:
        """Return a row per system: mean, standard deviation over draws, and an interval over users.

        ``level`` is the confidence of the interval.
        """
        low, high = _bounds(self.resampled, level)
        columns = zip(self.systems, self.mean, self.deviation, low, high, strict=True)
        names = ("system", "mean", "sd_draws", "low", "high")
        return [dict(zip(names, (row[0], *map(float, row[1:])), strict=True)) for row in columns]

    def same(self, means: ArrayLike) -> bool:
        """Return whether every pair of systems has the same order here and in ``means``, other means of the systems.

        A tie is an order too: a pair tied in one of them must be tied in the other.
        """
        return bool((pair_signs(self.mean) == pair_signs(means)).all())

    def agreement(self, full: SystemOrder, level: float) -> dict[str, Any]:
        """Return how well this order of systems agrees with the order ``full``.

        ``tau_a`` and ``tau_b`` are Kendall's tau, with an interval of ``tau_a`` over users from ``low`` to ``high``.
        ``agree`` is the share of resamples of users in which both orders are equal, ``same`` is whether they are equal,
        and ``swaps`` are the pairs that differ.
        """
        tau_a, tau_b = kendall_taus(self.mean, full.mean)
        resampled, _ = kendall_taus(self.resampled, full.resampled)
        low, high = _bounds(resampled[:, None], level)
        agree = (pair_signs(self.resampled) == pair_signs(full.resampled)).all(axis=1)
        return {
            "tau_a": float(tau_a), "tau_b": float(tau_b), "low": float(low[0]), "high": float(high[0]),
            "agree": float(agree.mean()), "same": self.same(full.mean), "swaps": self.swaps(full),
        }  # fmt: skip

    def swaps(self, full: SystemOrder) -> list[str]:
        """Return the pairs of systems whose order differs from that in ``full``, as texts such as "a > b".

        A text says how this order ranks the pair.

        >>> def at(*mean):
        ...     return SystemOrder(("a", "b"), np.array(mean), np.zeros(2), np.zeros((1, 2)))
        >>> at(0.3, 0.2).swaps(at(0.1, 0.2)), at(0.3, 0.2).swaps(at(0.2, 0.1)), at(0.2, 0.2).swaps(at(0.2, 0.1))
        (['a > b'], [], ['a = b'])
        """
        pairs = itertools.combinations(self.systems, 2)
        own_signs, full_signs = pair_signs(self.mean), pair_signs(full.mean)
        text = {-1: "{0} > {1}", 0: "{0} = {1}", 1: "{1} > {0}"}
        return [
            text[int(own)].format(*pair)
            for pair, own, of_full in zip(pairs, own_signs, full_signs, strict=True)
            if own != of_full
        ]


def stable_from(sizes: Sequence[int], same: Sequence[bool], is_same: Callable[[int], bool]) -> int | None:
    """Return the smallest sample size from which on the order of systems equals that of the full ranking.

    ``same`` says for each of ``sizes`` whether the orders are equal. Between the last size at which they differ and the
    next one, the change is found by bisection with ``is_same``. Return None if they differ at the largest size.

    >>> stable_from([1, 10, 100], [True, False, True], lambda size: size >= 37)
    37
    """
    different = [place for place, equal in enumerate(same) if not equal]
    if not different:
        return sizes[0]
    if different[-1] + 1 == len(sizes):
        return None
    low, high = sizes[different[-1]], sizes[different[-1] + 1]
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_same(middle) else (middle, high)
    return high


def _bounds(values: Float, level: float) -> Float:
    """Return two rows: the percentiles of each column that enclose its middle ``level`` (0.95: 2.5 % and 97.5 %).

    Rows of ``values`` are resamples.
    """
    found: Float = np.quantile(values, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return found
