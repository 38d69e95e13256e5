"""Bayesian tests: the probability that a system is better than another, worse, or practically equivalent.

Reference: Benavoli, Corani, Demšar and Zaffalon, Time for a change: a tutorial for comparing multiple classifiers
through Bayesian analysis, Journal of Machine Learning Research 18 (2017).
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from recassay.errors import UsageError
from recassay.portable.distributions import t_cdf
from recassay.portable.draws import dirichlets
from recassay.rng import derive
from recassay.stats.differences import largest_magnitude, standard_deviation
from recassay.stats.resampling import Floats

SAMPLES = 50_000
STRENGTH = 0.5  # weight of the prior observation, a difference of 0; each data set has weight 1
BLOCK = 5_000  # samples drawn at a time


class Chances(NamedTuple):
    """The probabilities that system a is worse than b, practically equivalent, or better; they sum to 1."""

    worse: float
    equivalent: float
    better: float


def signed_rank(differences: Floats, *, rope: float, seed: int = 0, samples: int = SAMPLES) -> Chances:
    """Return the Bayesian signed-rank test: probabilities that a is worse than b, equivalent, or better.

    ``differences`` are mean(a) - mean(b) on several data sets; those within ``rope`` of 0 count as equivalent. The
    prior is one more difference, 0, of weight 0.5. Random shares w (Dirichlet) are drawn for the differences. Each draw
    gives the probability that the mean of two differences, drawn with these shares, is below -rope, within, or above:
    sum w_i w_j [d_i + d_j > 2 rope] and so on. The result is how often each of the three is the largest; ties count in
    equal shares. The same seed and number of data sets give the same w, so all pairs of systems use the same draws.

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
    above, below = (sums > 2 * rope).sum(axis=1), (sums < -2 * rope).sum(axis=1)  # per difference, at either end
    wins = np.zeros(3)
    for block in _random_shares(d.size - 1, seed, samples):
        shares = block[:, order]
        cumulated = np.cumsum(np.column_stack([np.zeros(len(shares)), shares]), axis=1)
        better = (shares * (cumulated[:, -1:] - cumulated[:, d.size - above])).sum(axis=1)
        worse = (shares * cumulated[:, below]).sum(axis=1)
        regions = np.column_stack([worse, 1 - better - worse, better])
        largest = regions >= regions.max(axis=1, keepdims=True) - 1e-12
        wins += (largest / largest.sum(axis=1, keepdims=True)).sum(axis=0)
    return Chances(*(wins / samples).tolist())


@functools.lru_cache(maxsize=2)  # all pairs of systems use the same draws, and the draws are most of the work
def _random_shares(count: int, seed: int, samples: int) -> tuple[Floats, ...]:
    """Return Dirichlet distributed shares (samples, 1 + count), in blocks of rows.

    The first column is for the prior's difference of 0, the others for ``count`` data sets.
    """
    rng = derive(seed, "Bayesian signed rank", count)
    strengths = np.append(STRENGTH, np.ones(count))
    return tuple(dirichlets(rng, strengths, min(BLOCK, samples - begin)) for begin in range(0, samples, BLOCK))


def correlated_t(differences: Floats, *, rho: float, rope: float) -> Chances:
    """Return the Bayesian correlated t-test for folds of one data set, which share most of their training rows.

    Let m and s^2 be the mean and variance of the n differences, one per fold. The posterior of the difference is m plus
    Student's t with n - 1 degrees of freedom times sqrt((1 / n + rho / (1 - rho)) s^2). ``rho`` is the share of rows
    tested on: 1 / k for k folds (Nadeau and Bengio 2003).

    >>> [round(chance, 4) for chance in correlated_t(np.array([0.02, 0.03, 0.01, 0.04, 0.02]), rho=0.2, rope=0.01)]
    [0.0056, 0.0649, 0.9294]
    """
    d = np.asarray(differences, np.float64)
    check_rope(rope)
    if d.size < 2 or not 0 <= rho < 1:
        what = f"the correlated t-test needs at least 2 folds and 0 <= rho < 1, got {d.size} folds and rho={rho:g}"
        raise UsageError("U102", what, hint="rho=1/k for k folds")
    mean = float(d.mean())
    spread = float(np.sqrt(1 / d.size + rho / (1 - rho))) * standard_deviation(d, largest_magnitude(d))
    if spread == 0:
        return Chances(float(mean < -rope), float(abs(mean) <= rope), float(mean > rope))
    worse = float(t_cdf((-rope - mean) / spread, d.size - 1))
    better = float(t_cdf((mean - rope) / spread, d.size - 1))
    return Chances(worse, 1 - worse - better, better)


def check_rope(rope: float) -> None:
    """Raise U216 unless ``rope``, half the width of the region of practical equivalence, is finite and at least 0."""
    if not (np.isfinite(rope) and rope >= 0):
        what = f"rope must be a finite number of at least 0, got {rope:g}"
        raise UsageError("U216", what, where=f"rope={rope:g}", hint="the largest difference that does not matter: 0.01")
