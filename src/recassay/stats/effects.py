"""Effect sizes of a paired difference: how large the difference is, which a p-value does not say.

Every function takes two aligned columns a and b. 0 means no effect and positive means a is larger (a12: 0.5 and
above 0.5). An undefined effect is NaN. A constant difference other than zero has an infinite d. With infinite values,
effects of means are undefined; effects of order alone (cliff, a12, rank_biserial) are defined.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from recassay.errors import UsageError
from recassay.naming.grammar import suggest
from recassay.stats.differences import ROUNDING, largest_magnitude, standard_deviation
from recassay.stats.ranks import signed_ranks
from recassay.stats.resampling import Floats


def effect_size(name: str) -> Callable[[Floats, Floats], float]:
    """Return the effect-size function of that name, or raise U107.

    >>> effect_size("relative")(np.array([6.0]), np.array([5.0]))
    0.2
    """
    if name not in EFFECTS:
        raise UsageError("U107", f"there is no effect size '{name}'", hint=suggest(name, EFFECTS))
    return EFFECTS[name]


def d_z(a: Floats, b: Floats) -> float:
    """Return the mean of a - b divided by its standard deviation (n - 1).

    >>> d_z(np.array([1.0, 2.0, 6.0]), np.array([0.0, 0.0, 3.0]))
    2.0
    """
    if a.size < 2 or not _finite(a, b):
        return np.nan
    d, scale = a - b, largest_magnitude(a, b)
    return _ratio(_without_rounding(float(d.mean()), scale), standard_deviation(d, scale))


def hedges(a: Floats, b: Floats) -> float:
    """Return d_z times 1 - 3 / (4 (n - 1) - 1), which removes its bias in small samples (Hedges 1981).

    >>> round(hedges(np.array([1.0, 2.0, 6.0]), np.array([0.0, 0.0, 3.0])), 6)
    1.142857
    """
    return d_z(a, b) * (1 - 3 / (4 * (a.size - 1) - 1)) if a.size > 1 else np.nan


def d_av(a: Floats, b: Floats) -> float:
    """Return the mean of a - b divided by the square root of the mean of the two variances.

    >>> d_av(np.array([1.0, 3.0]), np.array([0.0, 2.0])) == 1 / 2**0.5
    True
    """
    if a.size < 2 or not _finite(a, b):
        return np.nan
    scale = largest_magnitude(a, b)
    pooled = float(np.sqrt((standard_deviation(a, scale) ** 2 + standard_deviation(b, scale) ** 2) / 2))
    return _ratio(_without_rounding(float((a - b).mean()), scale), pooled)


def cliff(a: Floats, b: Floats) -> float:
    """Return Cliff's delta in O(n log n): the share of pairs (a_i, b_j) with a_i > b_j minus that with a_i < b_j.

    Reference: Cliff (1993).

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
    """Return the probability that a unit of a is above a unit of b, ties counting half: (cliff + 1) / 2.

    Reference: Vargha and Delaney (2000).

    >>> a12(np.array([1.0, 2.0]), np.array([1.0, 0.0]))
    0.875
    """
    return (cliff(a, b) + 1) / 2


def rank_biserial(a: Floats, b: Floats) -> float:
    """Return the matched rank-biserial correlation (W+ - W-) / (W+ + W-), without zero differences (Kerby 2014).

    >>> rank_biserial(np.array([1.0, 2.0]), np.array([0.0, 4.0]))
    -0.333...
    """
    with np.errstate(invalid="ignore"):  # infinity minus infinity is undefined
        d = a - b
    if np.isnan(d).any():
        return np.nan
    ranks = signed_ranks(d, scale=largest_magnitude(a, b))
    return _ratio(float(ranks.sum()), float(np.abs(ranks).sum())) if ranks.any() else np.nan


def relative(a: Floats, b: Floats) -> float:
    """Return the difference of the means divided by the mean of b.

    >>> relative(np.array([3.0]), np.array([2.0]))
    0.5
    """
    return _ratio(float((a - b).mean()), float(b.mean())) if a.size and _finite(a, b) else np.nan


def _finite(a: Floats, b: Floats) -> bool:
    return bool(np.isfinite(a).all() and np.isfinite(b).all())


def _without_rounding(mean: float, scale: float) -> float:
    """Return the mean difference, or 0 if it is no larger than a rounding error.

    ``scale`` is the largest of the values that the difference was computed from.
    """
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
