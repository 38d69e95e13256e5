"""Mid-ranks and signed ranks, the currency of the rank tests."""

from __future__ import annotations

import numpy as np

from recassay.comparison.resampling import Floats

# Differences are rounded to this many decimals of the largest value they were made of before they are ranked:
# 0.50 - 0.45 must tie with 0.40 - 0.35, and 5e8 - 4e8 with 4e8 - 3e8.
DIGITS = 10


def mid_ranks(x: Floats) -> Floats:
    """Ranks from 1, equal values sharing the mean of their ranks.

    >>> mid_ranks(np.array([3.0, 1.0, 3.0])).tolist()
    [2.5, 1.0, 2.5]
    """
    _, inverse, counts = np.unique(x, return_inverse=True, return_counts=True)
    ranks: Floats = (np.cumsum(counts) - (counts - 1) / 2)[inverse]
    return ranks


def signed_ranks(d: Floats, *, scale: float = 1.0, rank_zeros: bool = False) -> Floats:
    """Sign of each difference times the mid-rank of its size; zeros are dropped, before or (Pratt 1959) after ranking.

    ``scale`` is the largest value that differences were made of; an infinite difference is larger than all others.

    >>> signed_ranks(np.array([0.2, 0.0, -0.1])).tolist()
    [2.0, -1.0]
    >>> signed_ranks(np.array([0.2, 0.0, -0.1]), rank_zeros=True).tolist()
    [3.0, -2.0]
    """
    d = np.round(d / scale, DIGITS) if scale > 0 else d
    if not rank_zeros:
        d = d[d != 0]
    ranks: Floats = (np.sign(d) * mid_ranks(np.abs(d)))[d != 0]
    return ranks
