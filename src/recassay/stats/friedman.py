"""Comparison of many systems over several data sets: Friedman's test on ranks, and Nemenyi's critical difference.

The blocks should be data sets, not users: over thousands of users any difference is significant.
References: Friedman (1937); Iman and Davenport (1980); Nemenyi (1963); Demšar (2006).
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from itertools import permutations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from recassay.errors import UsageError
from recassay.portable.distributions import chi2_tail, f_tail, normal_cdf
from recassay.portable.elementary import exp, whole_power
from recassay.stats.ranks import mid_ranks
from recassay.stats.resampling import Floats

MOST_ORDERS = 50_000  # orders of the systems in one block that the exact test enumerates
MOST_SUMS = 2_000_000  # rank sums times orders that it holds at once


@dataclass(frozen=True)
class Friedman:
    """Result of Friedman's test: mean ranks (1 = best), tie-corrected chi-square, Iman-Davenport F, Nemenyi's CD.

    ``p`` and ``p_f`` are the usual approximations, which need many blocks. ``p_exact`` is the exact p-value, NaN where
    there are too many blocks and systems to enumerate their orders.
    """

    mean_ranks: tuple[float, ...]
    chi_square: float
    p: float
    f: float
    p_f: float
    critical_difference: float
    p_exact: float


def friedman(table: Floats, *, alpha: float = 0.05, higher_is_better: bool = True) -> Friedman:
    """Return Friedman's test of a table (blocks, systems): whether the mean ranks of the systems differ.

    chi-square = (k - 1) sum_j (R_j - N (k + 1) / 2)^2 / (sum of squared ranks - N k (k + 1)^2 / 4), F = (N - 1) chi2 /
    (N (k - 1) - chi2), critical difference = q_alpha sqrt(k (k + 1) / (6 N)). If all systems tie in every block, p = 1.

    >>> friedman(np.array([[0.50, 0.45, 0.40], [0.62, 0.60, 0.61], [0.30, 0.35, 0.25]])).mean_ranks
    (1.333..., 2.0, 2.666...)
    """
    blocks, systems = table.shape
    if systems < 3 or blocks < 2:
        what = f"Friedman's test needs at least 3 systems and 2 data sets, got {systems} systems on {blocks} data sets"
        raise UsageError("U113", what, hint="for two systems use a paired test")
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
        p_exact=exact_p(ranks),
    )


def exact_p(ranks: Floats) -> float:
    """Return the exact p-value of Friedman's test, from ranks (blocks, systems); NaN if that is too much work.

    Under the null every order of the systems is equally likely in every block. The distribution of the rank sums is
    built block by block. Rank sums that are the same up to the order of the systems are one state.

    >>> round(exact_p(np.array([[1.0, 2, 3, 4, 5], [1, 2, 3, 4, 5]])), 4)  # one order in 5! = 120 agrees
    0.0083
    """
    blocks, systems = ranks.shape
    doubled = np.rint(2 * ranks).astype(np.int64)  # whole numbers, with ties too
    base = 2 * systems * blocks + 1
    if math.factorial(systems) > MOST_ORDERS or base**systems >= 2**63:
        return math.nan
    powers = base ** np.arange(systems, dtype=np.int64)
    sums, chance = np.sort(doubled[:1], axis=1), np.ones(1)
    for row in doubled[1:]:
        orders = np.array(list(permutations(row.tolist())), np.int64)
        orders, repeats = np.unique(orders, axis=0, return_counts=True)
        if len(sums) * len(orders) > MOST_SUMS:
            return math.nan
        sums, chance = _added(sums, chance, orders, repeats / repeats.sum(), powers)
    spread, observed = (sums**2).sum(axis=1), int((doubled.sum(axis=0) ** 2).sum())
    return min(1.0, float(chance[spread >= observed].sum()))


def _added(
    sums: NDArray[np.int64], chance: Floats, orders: NDArray[np.int64], shares: Floats, powers: NDArray[np.int64]
) -> tuple[NDArray[np.int64], Floats]:
    """Return the possible sorted rank sums after one more block, and their probabilities.

    ``sums`` (states, systems) and ``chance`` are the rank sums and probabilities before it. ``orders`` are the ranks
    that a block can give, ``shares`` their probabilities, and ``powers`` encode a row of rank sums as one integer.
    """
    found = np.sort((sums[:, None, :] + orders).reshape(-1, sums.shape[1]), axis=1)
    _, first, state = np.unique(found @ powers, return_index=True, return_inverse=True)
    merged = np.bincount(state.ravel(), weights=np.outer(chance, shares).ravel()).astype(np.float64)
    distinct: NDArray[np.int64] = found[first]
    return distinct, merged


@functools.cache  # a root is searched
def nemenyi_q(systems: int, alpha: float = 0.05) -> float:
    """Return the upper alpha quantile of the range of k independent standard normals, divided by sqrt(2).

    >>> round(nemenyi_q(2), 6), round(nemenyi_q(3), 6)
    (1.959964, 2.343701)
    """
    q = brentq(lambda q: range_tail(q, systems) - alpha, 1e-9, 60.0, xtol=1e-12)
    return float(q) / float(np.sqrt(2))


def nemenyi_p(rank_difference: float, systems: int, blocks: int) -> float:
    """Return Nemenyi's p-value: the probability of this or a larger difference of mean ranks if all systems are equal.

    >>> round(nemenyi_p(1.353136, systems=3, blocks=6), 6)
    0.05
    """
    error = np.sqrt(systems * (systems + 1) / (6 * blocks))
    return range_tail(abs(rank_difference) / error * np.sqrt(2), systems)


def range_tail(q: float, systems: int) -> float:
    """Return the probability that k independent standard normals have a range of q or more.

    It is k * integral of phi(z) (Phi(z)^(k - 1) - (Phi(z) - Phi(z - q))^(k - 1)), where z is the largest and the others
    are not all within q below it.

    >>> range_tail(0.0, 3)
    1.0
    """
    # The integrand is smooth and vanishes at both ends, so the plain sum converges to double precision.
    z, step = np.linspace(-9.0, 20.0, 4001, retstep=True)
    density = exp(-(z**2) / 2) / np.sqrt(2 * np.pi) * step
    below, others = normal_cdf(z), systems - 1
    inside = whole_power(below - normal_cdf(z - q), others)
    beyond = systems * np.sum(density * (whole_power(below, others) - inside))
    return min(1.0, round(float(beyond), 15))
