"""Propensities: how likely a preference was to be observed. Popular items are over-represented in the truth."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import scipy
from numpy.typing import NDArray

from recassay.metrics.base import Addend, Values, range_sums
from recassay.stats.exact_sums import ExactSum

if TYPE_CHECKING:
    from recassay.metrics.align import AlignedBlock
    from recassay.metrics.context import ContextLookup

STEEPEST = 20.0
STEP = 1e-5  # of a difference quotient, as a share of the exponent above 1


def power_law_exponent(counts: NDArray[np.int64]) -> float:
    """Return the exponent of the power law of item counts: its maximum-likelihood estimate (zeta distribution).

    Formula: the gamma in (1, 20] that maximises ``-gamma mean(ln n) - ln zeta(gamma)`` over the items with n >= 1, as
    if P(n) were n^-gamma / zeta(gamma). Edges: no item with an event: NaN; no item with more than one: 20.

    Reference: Clauset, Shalizi and Newman, Power-law distributions in empirical data, SIAM Review 2009, with the power
    law starting at 1.

    >>> round(power_law_exponent(np.array([1, 1, 1, 1, 2, 2, 3, 5, 0])), 3)
    2.071
    """
    seen = counts[counts > 0]
    if seen.size == 0:
        return float("nan")
    return _most_likely_exponent(float(np.log(np.sort(seen)).mean()))


@lru_cache(maxsize=64)  # each part of the users asks for that of the same log, and every metric does
def _most_likely_exponent(mean_log: float) -> float:
    """Return the exponent that makes items with this mean logarithm of their counts most likely."""

    def cost(gamma: float) -> float:  # convex in gamma
        return gamma * mean_log + math.log(scipy.special.zeta(gamma))

    low, high = 1.0, STEEPEST
    while high - low > 1e-12:  # where the slope is 0: the least cost itself is flat, and known to 8 digits only
        middle = (low + high) / 2
        step = STEP * (middle - 1)
        low, high = (low, middle) if cost(middle + step) > cost(middle - step) else (middle, high)
    return high


def propensities(counts: NDArray[np.int64], users: int, gamma: float, p_min: float = 0.0) -> Values:
    """Return the probability ``max((n_i / users)^((gamma + 1) / 2), p_min)`` to observe an item; NaN for n_i = 0.

    >>> propensities(np.array([8, 4, 0]), 10, gamma=1.0).tolist()
    [0.8, 0.4, nan]
    """
    known = np.where(counts > 0, counts, np.nan)
    return np.asarray(np.maximum((known / max(users, 1)) ** ((gamma + 1) / 2), p_min))


@dataclass(frozen=True, eq=False)
class ObservedWeights:
    """The weight of every row of the truth: 0 where the item is not relevant, or has no training user.

    ``unseen`` is the number of relevant items without a training user.
    """

    weight: Values
    unseen: int

    @classmethod
    def of(cls, lookup: ContextLookup, by_item: Values, relevant_from: float) -> ObservedWeights:
        """Return the weight of each row of the truth, from the weights of training items (``by_item``).

        The weight is 0 for a row that is not relevant, and for an item that has no weight (NaN) or no training event.
        """
        weight = np.append(by_item, np.nan)[lookup.truth_train_items]
        relevant = lookup.alignment.truth.gains >= relevant_from
        unseen = int((relevant & np.isnan(weight)).sum())
        return cls(np.where(relevant & ~np.isnan(weight), weight, 0.0), unseen)

    @property
    def addends(self) -> dict[str, Addend]:
        """Return the sums from which :func:`effective_size` is computed, which add up over users.

        The keys are ``unseen`` (pairs without a training user of the item), ``sum`` of the weights, and ``squares``,
        the sum of their squares.
        """
        return {"unseen": self.unseen, "sum": ExactSum.of(self.weight), "squares": ExactSum.of(np.square(self.weight))}

    def total(self, lists: AlignedBlock) -> Values:
        """Return the sum of the weights of each query of a block."""
        return range_sums(lists.truth_offsets, self.weight[lists.truth_rows])


def effective_size(addends: Mapping[str, Addend]) -> dict[str, float]:
    """Return the number of pairs left out (``unseen``), and the ``effective_size`` of the others.

    ``addends`` has ``unseen``, the ``sum`` of the weights w and the sum of their ``squares``. The effective size is
    ``(sum w)^2 / sum w^2``: the number of equally weighted pairs whose mean has the same variance.

    >>> effective_size({"unseen": 1, "sum": ExactSum.of([1.0, 3.0]), "squares": ExactSum.of([1.0, 9.0])})
    {'unseen': 1, 'effective_size': 1.6}
    """
    unseen, weight, squares = (float(addends[name]) for name in ("unseen", "sum", "squares"))
    return {"unseen": int(unseen), "effective_size": weight * weight / squares if squares > 0 else float("nan")}
