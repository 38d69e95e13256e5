"""Effect sizes of a paired difference: how large it is, which no p-value says.

Every function takes the two aligned columns a and b; 0 means no effect and positive means a is larger (a12: 0.5 and
above 0.5). Undefined is NaN; a constant difference that is not zero has an infinite d. Where a value is infinite, no
mean and no standard deviation says how large an effect is; what looks at the order alone (cliff, a12, rank_biserial)
does.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from recassay.comparison.differences import ROUNDING, scale_of, spread_of
from recassay.comparison.ranks import signed_ranks
from recassay.comparison.resampling import Floats
from recassay.errors import UsageError
from recassay.spec import suggest


def effect_size(name: str) -> Callable[[Floats, Floats], float]:
    """The effect size of that name.

    >>> effect_size("relative")(np.array([6.0]), np.array([5.0]))
    0.2
    """
    if name not in EFFECTS:
        raise UsageError("U107", f"there is no effect size '{name}'", hint=suggest(name, EFFECTS))
    return EFFECTS[name]


def d_z(a: Floats, b: Floats) -> float:
    """Mean of a - b over its standard deviation (n - 1).

    >>> d_z(np.array([1.0, 2.0, 6.0]), np.array([0.0, 0.0, 3.0]))
    2.0
    """
    if a.size < 2 or not _finite(a, b):
        return np.nan
    d, scale = a - b, scale_of(a, b)
    return _ratio(_settled(float(d.mean()), scale), spread_of(d, scale))


def hedges(a: Floats, b: Floats) -> float:
    """d_z times 1 - 3 / (4 (n - 1) - 1), which removes its bias in small samples (Hedges 1981).

    >>> round(hedges(np.array([1.0, 2.0, 6.0]), np.array([0.0, 0.0, 3.0])), 6)
    1.142857
    """
    return d_z(a, b) * (1 - 3 / (4 * (a.size - 1) - 1)) if a.size > 1 else np.nan


def d_av(a: Floats, b: Floats) -> float:
    """Mean of a - b over the square root of the mean of the two variances.

    >>> d_av(np.array([1.0, 3.0]), np.array([0.0, 2.0])) == 1 / 2**0.5
    True
    """
    if a.size < 2 or not _finite(a, b):
        return np.nan
    scale = scale_of(a, b)
    spreads = spread_of(a, scale), spread_of(b, scale)
    return _ratio(_settled(float((a - b).mean()), scale), float(np.sqrt((spreads[0] ** 2 + spreads[1] ** 2) / 2)))


def cliff(a: Floats, b: Floats) -> float:
    """Share of all pairs (a_i, b_j) with a_i > b_j less the share with a_i < b_j (Cliff 1993), in O(n log n).

    >>> cliff(np.array([1.0, 2.0]), np.array([1.0, 0.0]))
    0.75
    """
    if not a.size:
        return np.nan
    ordered = np.sort(b)
    below = int(np.searchsorted(ordered, a, side="left").sum())
    above = a.size * b.size - int(np.searchsorted(ordered, a, side="right").sum())
    return (below - above) / (a.size * b.size)


def a12(a: Floats, b: Floats) -> float:
    """Chance that a unit of a is above a unit of b, ties counting half (Vargha and Delaney 2000): (cliff + 1) / 2.

    >>> a12(np.array([1.0, 2.0]), np.array([1.0, 0.0]))
    0.875
    """
    return (cliff(a, b) + 1) / 2


def rank_biserial(a: Floats, b: Floats) -> float:
    """Matched rank-biserial correlation (W+ - W-) / (W+ + W-), zero differences dropped (Kerby 2014).

    >>> rank_biserial(np.array([1.0, 2.0]), np.array([0.0, 4.0]))
    -0.333...
    """
    with np.errstate(invalid="ignore"):  # what is infinite twice has no difference
        d = a - b
    if np.isnan(d).any():
        return np.nan
    ranks = signed_ranks(d, scale=scale_of(a, b))
    return _ratio(float(ranks.sum()), float(np.abs(ranks).sum())) if ranks.any() else np.nan


def relative(a: Floats, b: Floats) -> float:
    """Difference of the means as a share of the mean of b.

    >>> relative(np.array([3.0]), np.array([2.0]))
    0.5
    """
    return _ratio(float((a - b).mean()), float(b.mean())) if a.size and _finite(a, b) else np.nan


def _finite(a: Floats, b: Floats) -> bool:
    return bool(np.isfinite(a).all() and np.isfinite(b).all())


def _settled(mean: float, scale: float) -> float:
    """0 for a mean difference that is nothing but rounding."""
    return 0.0 if abs(mean) <= ROUNDING * scale else mean


def _ratio(top: float, bottom: float) -> float:
    if bottom == 0:
        return float(np.copysign(np.inf, top)) if top else np.nan
    return top / bottom


EFFECTS: dict[str, Callable[[Floats, Floats], float]] = {
    "d_z": d_z,
    "hedges": hedges,
    "d_av": d_av,
    "cliff": cliff,
    "a12": a12,
    "rank_biserial": rank_biserial,
    "relative": relative,
}
