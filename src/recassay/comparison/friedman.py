"""Many systems over several data sets: Friedman's test on ranks, and how far apart mean ranks must be (Nemenyi).

For blocks that are data sets, not users: over thousands of users anything is significant.
References: Friedman (1937); Iman and Davenport (1980); Nemenyi (1963); Demšar (2006).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from recassay.comparison.ranks import mid_ranks
from recassay.comparison.resampling import Floats
from recassay.errors import UsageError
from recassay.portable.distributions import chi2_tail, f_tail, normal_cdf
from recassay.portable.elementary import exp, whole_power


@dataclass(frozen=True)
class Friedman:
    """Mean ranks (1 = best), the tie-corrected chi-square, the Iman-Davenport F, and Nemenyi's critical difference."""

    mean_ranks: tuple[float, ...]
    chi_square: float
    p: float
    f: float
    p_f: float
    critical_difference: float


def friedman(table: Floats, *, alpha: float = 0.05, higher_is_better: bool = True) -> Friedman:
    """Friedman's test of a table (blocks, systems): do the systems' ranks differ more than luck allows?

    chi-square = (k - 1) sum_j (R_j - N (k + 1) / 2)^2 / (sum of squared ranks - N k (k + 1)^2 / 4), F = (N - 1) chi2 /
    (N (k - 1) - chi2), critical difference = q_alpha sqrt(k (k + 1) / (6 N)). All systems tied everywhere: p = 1.

    >>> friedman(np.array([[0.50, 0.45, 0.40], [0.62, 0.60, 0.61], [0.30, 0.35, 0.25]])).mean_ranks
    (1.333..., 2.0, 2.666...)
    """
    blocks, systems = table.shape
    if systems < 3 or blocks < 2:
        what = f"Friedman's test was given {systems} systems on {blocks} blocks"
        raise UsageError("U113", what, hint="at least 3 systems and 2 data sets; for two systems use a paired test")
    ranks = np.array([mid_ranks(-row if higher_is_better else row) for row in table])
    centre = (systems + 1) / 2
    spread = float(np.sum((ranks - centre) ** 2))
    between = float(np.sum((ranks.sum(axis=0) - blocks * centre) ** 2))
    chi_square = (systems - 1) * between / spread if spread else 0.0
    degrees, rest = systems - 1, blocks * (systems - 1) - chi_square
    f = (blocks - 1) * chi_square / rest if rest > 0 else np.inf
    return Friedman(
        mean_ranks=tuple(ranks.mean(axis=0).tolist()),
        chi_square=chi_square,
        p=float(chi2_tail(chi_square, degrees)),
        f=f,
        p_f=float(f_tail(f, degrees, degrees * (blocks - 1))),
        critical_difference=nemenyi_q(systems, alpha) * float(np.sqrt(systems * (systems + 1) / (6 * blocks))),
    )


def nemenyi_q(systems: int, alpha: float = 0.05) -> float:
    """Upper quantile of the range of k independent standard normals, over sqrt 2.

    >>> round(nemenyi_q(2), 6), round(nemenyi_q(3), 6)
    (1.959964, 2.343701)
    """
    q = brentq(lambda q: range_beyond(q, systems) - alpha, 1e-9, 60.0, xtol=1e-12)
    return float(q) / float(np.sqrt(2))


def nemenyi_p(rank_difference: float, systems: int, blocks: int) -> float:
    """Chance of two mean ranks so far apart, or farther, anywhere among systems that are all alike.

    >>> round(nemenyi_p(1.353136, systems=3, blocks=6), 6)
    0.05
    """
    error = np.sqrt(systems * (systems + 1) / (6 * blocks))
    return range_beyond(abs(rank_difference) / error * np.sqrt(2), systems)


def range_beyond(q: float, systems: int) -> float:
    """Chance that k independent standard normals have a range of q or more.

    It is k * integral of phi(z) (Phi(z)^(k - 1) - (Phi(z) - Phi(z - q))^(k - 1)): the largest is z, the others are not
    all within q below it.

    >>> range_beyond(0.0, 3)
    1.0
    """
    z, step = np.linspace(-9.0, 20.0, 4001, retstep=True)  # smooth and flat at both ends: the plain sum is exact
    density = exp(-(z**2) / 2) / np.sqrt(2 * np.pi) * step
    below, others = normal_cdf(z), systems - 1
    inside = whole_power(below - normal_cdf(z - q), others)
    beyond = systems * np.sum(density * (whole_power(below, others) - inside))
    return min(1.0, round(float(beyond), 15))
