"""How likely one system is better than another, worse, or as good for all practical purposes.

Reference: Benavoli, Corani, Demšar and Zaffalon, Time for a change: a tutorial for comparing multiple classifiers
through Bayesian analysis, Journal of Machine Learning Research 18 (2017).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from recassay.comparison.differences import scale_of, spread_of
from recassay.comparison.resampling import Floats
from recassay.errors import UsageError
from recassay.portable.distributions import t_cdf
from recassay.portable.draws import dirichlets
from recassay.rng import derive

SAMPLES = 50_000
STRENGTH = 0.5  # weight of the prior observation, a difference of 0, where a data set has the weight 1
BLOCK = 5_000  # samples at a time


class Chances(NamedTuple):
    """Of a against b, which add up to 1."""

    worse: float
    equivalent: float
    better: float


def signed_rank(differences: Floats, *, rope: float, seed: int = 0, samples: int = SAMPLES) -> Chances:
    """The Bayesian signed-rank test: chances that a is worse than b, equivalent within ``rope``, or better.

    ``differences`` are means of a less those of b on several data sets. The data sets, and a difference of 0 with the
    weight 0.5 as the prior, have random shares w (Dirichlet); each draw of shares gives the chances that the mean of
    two differences, drawn with these shares, is below -rope, within it, or above: sum w_i w_j [d_i + d_j > 2 rope] and
    so on. What is told is how often each of the three is the largest; equal ones share. The same seed and number of
    data sets give the same shares, so pairs of systems are judged alike.

    >>> signed_rank(np.array([0.03, 0.05, 0.04, 0.06, 0.02]), rope=0.01).better > 0.95
    True
    >>> signed_rank(np.zeros(3), rope=0.01)
    Chances(worse=0.0, equivalent=1.0, better=0.0)
    """
    d = np.append(0.0, np.asarray(differences, np.float64))
    check_rope(rope)
    order = np.argsort(d, kind="stable")
    ascending = d[order]
    sums = ascending[:, None] + ascending
    above, below = (sums > 2 * rope).sum(axis=1), (sums < -2 * rope).sum(axis=1)  # partners of each, at either end
    rng = derive(seed, "Bayesian signed rank", d.size - 1)
    strengths = np.append(STRENGTH, np.ones(d.size - 1))
    wins = np.zeros(3)
    for begin in range(0, samples, BLOCK):
        shares = dirichlets(rng, strengths, min(BLOCK, samples - begin))
        shares = shares[:, order]
        up_to = np.cumsum(np.column_stack([np.zeros(len(shares)), shares]), axis=1)
        better = (shares * (up_to[:, -1:] - up_to[:, d.size - above])).sum(axis=1)
        worse = (shares * up_to[:, below]).sum(axis=1)
        regions = np.column_stack([worse, 1 - better - worse, better])
        largest = regions >= regions.max(axis=1, keepdims=True) - 1e-12
        wins += (largest / largest.sum(axis=1, keepdims=True)).sum(axis=0)
    return Chances(*(wins / samples).tolist())


def correlated_t(differences: Floats, *, rho: float, rope: float) -> Chances:
    """The Bayesian correlated t-test for folds of one data set, which share most of their training rows.

    With n differences, one per fold, mean m and variance s^2, the difference is distributed as m plus Student's t with
    n - 1 degrees of freedom times sqrt((1 / n + rho / (1 - rho)) s^2). ``rho`` is the share of rows tested on: 1 / k
    for k folds (Nadeau and Bengio 2003).

    >>> [round(chance, 4) for chance in correlated_t(np.array([0.02, 0.03, 0.01, 0.04, 0.02]), rho=0.2, rope=0.01)]
    [0.0056, 0.0649, 0.9294]
    """
    d = np.asarray(differences, np.float64)
    check_rope(rope)
    if d.size < 2 or not 0 <= rho < 1:
        what = f"the correlated t-test was given {d.size} folds and a correlation of {rho:g}"
        raise UsageError("U102", what, hint="two folds or more, and rho=1/k for k folds")
    mean = float(d.mean())
    spread = float(np.sqrt(1 / d.size + rho / (1 - rho))) * spread_of(d, scale_of(d))
    if spread == 0:
        return Chances(float(mean < -rope), float(abs(mean) <= rope), float(mean > rope))
    worse = float(t_cdf((-rope - mean) / spread, d.size - 1))
    better = float(t_cdf((mean - rope) / spread, d.size - 1))
    return Chances(worse, 1 - worse - better, better)


def check_rope(rope: float) -> None:
    """A region of practical equivalence is half a width around 0."""
    if not (np.isfinite(rope) and rope >= 0):
        what = f"differences up to {rope:g} cannot be practically equivalent"
        raise UsageError("U216", what, where=f"rope={rope:g}", hint="the largest difference that does not matter: 0.01")
