"""Inequality of counts: the Gini coefficient, entropy, and the share of the sum that the largest counts hold."""

from __future__ import annotations

import numpy as np

from recassay.arrays import Float, Int64

NATS = 0.6931471805599453  # in a bit: ln 2
TINY = 1e-9  # rounding may leave a product such as 0.1 * 30 slightly above the whole number


def gini(counts: Int64) -> float:
    """Return the Gini coefficient of counts: 0 if all are equal; NaN if their sum is 0.

    Formula: ``sum_{j=1..n} (2j - n - 1) x_(j) / (n S)``, x ascending, S their sum.

    >>> gini(np.array([4, 3, 2, 1, 0])), gini(np.array([2, 2]))
    (0.4, 0.0)
    """
    n, total = counts.size, int(counts.sum())
    if total == 0:
        return float("nan")
    return float((np.arange(1 - n, n, 2) * np.sort(counts).astype(np.float64)).sum() / (n * total))


def shares(counts: Int64) -> Float:
    """Return the share of the sum that each count above 0 has, ascending.

    Sums over sorted shares do not depend on the order of the counts.
    """
    known = np.sort(counts[counts > 0])
    return known / max(int(known.sum()), 1)


def entropy(counts: Int64) -> float:
    """Return the Shannon entropy of counts in bits: log2 of their number if all are equal; NaN if their sum is 0.

    Formula: ``-sum (x_i/S) log2 (x_i/S)``, S the sum of the counts x_i. Times ln 2 it is in nats.

    >>> entropy(np.array([2, 2, 2, 2, 0])), round(entropy(np.array([4, 3, 2, 1])), 6)
    (2.0, 1.846439)
    """
    share = shares(counts)
    return float(np.abs((share * np.log2(share)).sum())) if share.size else float("nan")


def top_share(counts: Int64, share: float) -> float:
    """Return the share of the sum held by the largest ``share`` of the counts; NaN if the sum is 0.

    The number of the largest counts is ``share`` times that of all counts, rounded up.

    >>> top_share(np.array([6, 1, 1, 1, 1]), 0.2)
    0.6
    """
    total = int(counts.sum())
    largest = np.sort(counts)[::-1][: int(np.ceil(share * counts.size - TINY))]
    return float(largest.sum() / total) if total else float("nan")
