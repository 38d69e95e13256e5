"""Corrections of p-values for several comparisons at once.

References: Holm (1979); Benjamini and Hochberg (1995); Benjamini and Yekutieli (2001).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from recassay.errors import UsageError
from recassay.naming.grammar import suggest
from recassay.stats.resampling import Floats


def adjust(p: Floats, method: str = "holm") -> Floats:
    """Return the p-values adjusted for multiple comparisons by ``method`` (a key of ``CORRECTIONS``), in their order.

    A NaN stays NaN and does not count as a comparison.

    >>> adjust(np.array([0.01, 0.04, 0.03, 0.005])).round(6).tolist()
    [0.03, 0.06, 0.06, 0.02]
    """
    if method not in CORRECTIONS:
        raise UsageError("U107", f"there is no correction '{method}'", hint=suggest(method, CORRECTIONS))
    p = np.asarray(p, dtype=np.float64)
    defined = np.flatnonzero(~np.isnan(p))
    order = defined[np.argsort(p[defined], kind="stable")]
    adjusted = p.copy()
    adjusted[order] = np.minimum(1.0, CORRECTIONS[method](p[order]))
    return adjusted


def none(ascending: Floats) -> Floats:
    """Return the ascending p-values as they are: no correction."""
    return ascending


def bonferroni(ascending: Floats) -> Floats:
    """Return m p for each of the m ascending p-values (Bonferroni); results may exceed 1.

    This bounds the probability of any false rejection among m comparisons, whatever their dependence.
    """
    return ascending * ascending.size


def holm(ascending: Floats) -> Floats:
    """Return max over j' <= j of (m - j' + 1) p_(j') for the j-th of m ascending p-values (Holm); it may exceed 1.

    This has the guarantee of Bonferroni with at least its power.
    """
    return np.maximum.accumulate(ascending * np.arange(ascending.size, 0, -1))


def bh(ascending: Floats) -> Floats:
    """Return min over j' >= j of m p_(j') / j' for the j-th of m ascending p-values (Benjamini-Hochberg).

    This bounds the expected share of false rejections among all rejections, for independent comparisons.
    """
    m = ascending.size
    return np.minimum.accumulate((ascending * m / np.arange(1, m + 1))[::-1])[::-1]


def by(ascending: Floats) -> Floats:
    """Return the result of :func:`bh` times sum_{i=1..m} 1/i (Benjamini-Yekutieli), for m ascending p-values.

    It may exceed 1. This bounds the expected share of false rejections among all rejections, for any dependence.
    """
    return bh(ascending) * np.sum(1.0 / np.arange(1, ascending.size + 1))


CORRECTIONS: dict[str, Callable[[Floats], Floats]] = {
    "holm": holm,
    "bonferroni": bonferroni,
    "bh": bh,
    "by": by,
    "none": none,
}
