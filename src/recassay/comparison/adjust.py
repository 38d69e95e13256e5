"""Corrections of p-values for having asked several questions at once.

References: Holm (1979); Benjamini and Hochberg (1995); Benjamini and Yekutieli (2001).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from recassay.comparison.resampling import Floats
from recassay.errors import UsageError
from recassay.spec import suggest


def adjust(p: Floats, method: str = "holm") -> Floats:
    """Adjusted p-values in the order given; an undefined (NaN) p stays so and does not count as a question asked.

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
    """p as it is."""
    return ascending


def bonferroni(ascending: Floats) -> Floats:
    """m p: bounds the chance of any false claim among m, whatever their dependence."""
    return ascending * ascending.size


def holm(ascending: Floats) -> Floats:
    """max over j' <= j of (m - j' + 1) p_(j'): as safe as Bonferroni and never weaker."""
    return np.maximum.accumulate(ascending * np.arange(ascending.size, 0, -1))


def bh(ascending: Floats) -> Floats:
    """min over j' >= j of m p_(j') / j': bounds the expected share of false claims, for independent questions."""
    m = ascending.size
    return np.minimum.accumulate((ascending * m / np.arange(1, m + 1))[::-1])[::-1]


def by(ascending: Floats) -> Floats:
    """BH times sum 1/i: bounds the share of false claims under any dependence."""
    return bh(ascending) * np.sum(1.0 / np.arange(1, ascending.size + 1))


CORRECTIONS: dict[str, Callable[[Floats], Floats]] = {
    "holm": holm,
    "bonferroni": bonferroni,
    "bh": bh,
    "by": by,
    "none": none,
}
