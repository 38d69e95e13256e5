"""Mid-ranks and signed ranks, the currency of the rank tests."""

from __future__ import annotations

import numpy as np

from recassay.comparison.resampling import Floats

DIGITS = 10  # differences are rounded to this many decimals before ranking: 0.50 - 0.45 must tie with 0.40 - 0.35


def mid_ranks(x: Floats) -> Floats:
    """Ranks from 1, equal values sharing the mean of their ranks.

    >>> mid_ranks(np.array([3.0, 1.0, 3.0])).tolist()
    [2.5, 1.0, 2.5]
    """
    _, inverse, counts = np.unique(x, return_inverse=True, return_counts=True)
    ranks: Floats = (np.cumsum(counts) - (counts - 1) / 2)[inverse]
    return ranks


def signed_ranks(d: Floats, *, rank_zeros: bool = False) -> Floats:
    """Sign of each difference times the mid-rank of its size; zeros are dropped, before or (Pratt 1959) after ranking.

    >>> signed_ranks(np.array([0.2, 0.0, -0.1])).tolist()
    [2.0, -1.0]
    >>> signed_ranks(np.array([0.2, 0.0, -0.1]), rank_zeros=True).tolist()
    [3.0, -2.0]
    """
    d = np.round(d, DIGITS)
    if not rank_zeros:
        d = d[d != 0]
    ranks: Floats = (np.sign(d) * mid_ranks(np.abs(d)))[d != 0]
    return ranks
