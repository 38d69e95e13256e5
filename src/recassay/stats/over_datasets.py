"""Comparison of systems over several data sets: Friedman's and Nemenyi's tests on ranks, and Bayesian tests of pairs.

The blocks should be data sets, not users: over thousands of users any difference is significant.
References: Friedman (1937); Iman and Davenport (1980); Nemenyi (1963); Demšar (2006); Benavoli, Corani, Demšar and
Zaffalon, Time for a change: a tutorial for comparing multiple classifiers through Bayesian analysis, JMLR 18 (2017).
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from itertools import permutations
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import chdtrc, fdtrc, ndtr, stdtr

from recassay.arrays import Float, Int64
from recassay.draws import gammas
from recassay.errors import UsageError
from recassay.naming.arguments import checks_types
from recassay.rng import derive
from recassay.stats.differences import largest_magnitude, standard_deviation
from recassay.stats.ranks import mid_ranks

MOST_ORDERS = 50_000  # orders of the systems in one block that the exact test enumerates
MOST_SUMS = 2_000_000  # rank sums times orders that it holds at once


@dataclass(frozen=True)
class Friedman:
    """Result of Friedman's test: mean ranks (1 = best), tie-corrected chi-square, Iman-Davenport F, Nemenyi's CD.

    ``p`` (of chi-square) and ``p_f`` (of F) are the usual approximations, which need many blocks, such as data sets.
    ``p_exact`` is the exact p-value, NaN where there are too many blocks and systems to enumerate their orders.
    """

    mean_ranks: tuple[float, ...]
    chi_square: float
    p: float
    f: float
    p_f: float
    critical_difference: float
    p_exact: float


def friedman(table: Float, *, alpha: float = 0.05, higher_is_better: bool = True) -> Friedman:
    """Return Friedman's test that the mean ranks of systems differ, from a table (blocks, systems) of at least 2 by 3.

    R_j is the sum of the ranks of system j, of k, over N blocks, such as data sets. chi-square = (k - 1) sum_j (R_j - N
    (k + 1) / 2)^2 / (sum of squared ranks - N k (k + 1)^2 / 4), F = (N - 1) chi2 / (N (k - 1) - chi2), critical
    difference = q_alpha sqrt(k (k + 1) / (6 N)). If all systems tie in every block, p = 1.

    >>> friedman(np.array([[0.50, 0.45, 0.40], [0.62, 0.60, 0.61], [0.30, 0.35, 0.25]])).mean_ranks
    (1.333..., 2.0, 2.666...)
    """
    blocks, systems = table.shape
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
        p=float(chdtrc(degrees, chi_square)),
        f=f,
        p_f=float(fdtrc(degrees, degrees * (blocks - 1), f)),
        critical_difference=nemenyi_q(systems, alpha) * float(np.sqrt(systems * (systems + 1) / (6 * blocks))),
        p_exact=exact_p(ranks),
    )


def exact_p(ranks: Float) -> float:
    """Return the exact p-value of Friedman's test, from ranks (blocks, systems); NaN if that is too much work.

    Under the null every order of the systems is equally likely in every block. The distribution of the rank sums is
    built block by block. Rank sums that are equal up to the order of the systems are counted together.

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
        sums, chance = _sums_after_block(sums, chance, orders, repeats / repeats.sum(), powers)
    spread, observed = (sums**2).sum(axis=1), int((doubled.sum(axis=0) ** 2).sum())
    return min(1.0, float(chance[spread >= observed].sum()))


def _sums_after_block(sums: Int64, chance: Float, orders: Int64, shares: Float, powers: Int64) -> tuple[Int64, Float]:
    """Return (sums, chances): the possible sorted rank sums after one more block, and their probabilities.

    ``sums`` (n, systems) and ``chance`` (n) are the possible rank sums before it and their probabilities. ``orders``
    are the ranks that a block can give, ``shares`` their probabilities, and ``powers`` encode a row of rank sums as one
    integer.
    """
    sorted_sums = np.sort((sums[:, None, :] + orders).reshape(-1, sums.shape[1]), axis=1)
    _, first, state = np.unique(sorted_sums @ powers, return_index=True, return_inverse=True)
    merged = np.bincount(state.ravel(), weights=np.outer(chance, shares).ravel()).astype(np.float64)
    distinct: Int64 = sorted_sums[first]
    return distinct, merged


@functools.cache  # a root is searched
def nemenyi_q(systems: int, alpha: float = 0.05) -> float:
    """Return the upper alpha quantile of the range of k independent standard normals, divided by sqrt(2).

    >>> round(nemenyi_q(2), 6), round(nemenyi_q(3), 6)
    (1.959964, 2.343701)
    """
    return float(brentq(lambda q: range_tail(q, systems) - alpha, 1e-9, 60.0, xtol=1e-12)) / float(np.sqrt(2))


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
    density, below = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi) * step, ndtr(z)
    beyond = systems * np.sum(density * (below ** (systems - 1) - (below - ndtr(z - q)) ** (systems - 1)))
    return min(1.0, round(float(beyond), 15))


SAMPLES = 50_000
STRENGTH = 0.5  # weight of the prior observation, a difference of 0; each data set has weight 1
BLOCK = 5_000  # samples drawn at a time


class Chances(NamedTuple):
    """The probabilities that system a is worse than b, practically equivalent, or better; they sum to 1."""

    worse: float
    equivalent: float
    better: float


@checks_types
def signed_rank(differences: Float, *, rope: float, seed: int = 0, samples: int = SAMPLES) -> Chances:
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
def _random_shares(count: int, seed: int, samples: int) -> tuple[Float, ...]:
    """Return Dirichlet distributed shares (samples, 1 + count), in blocks of rows.

    The first column is for the prior's difference of 0, the others for ``count`` data sets.
    """
    rng = derive(seed, "Bayesian signed rank", count)
    strengths = np.append(STRENGTH, np.ones(count))
    return tuple(dirichlets(rng, strengths, min(BLOCK, samples - begin)) for begin in range(0, samples, BLOCK))


def dirichlets(rng: np.random.Generator, alphas: Float, rows: int) -> Float:
    """Return (rows, len(alphas)) shares; each row sums to 1 and is Dirichlet distributed with parameters ``alphas``.

    >>> dirichlets(derive(1, "example"), np.ones(3), 2).sum(axis=1).round(12).tolist()
    [1.0, 1.0]
    """
    drawn = np.empty((rows, alphas.size))
    for alpha in np.unique(alphas):
        columns = np.flatnonzero(alphas == alpha)
        drawn[:, columns] = gammas(rng, float(alpha), (rows, columns.size))
    return np.asarray(drawn / drawn.sum(axis=1, keepdims=True))


@checks_types
def correlated_t(differences: Float, *, rho: float, rope: float) -> Chances:
    """Return the Bayesian correlated t-test for several folds of one data set.

    Folds share most of their training rows, so their differences are correlated. Let m and s^2 be the mean and variance
    of the n differences, one per fold. The posterior of the difference is m plus Student's t with n - 1 degrees of
    freedom times sqrt((1 / n + rho / (1 - rho)) s^2). ``rho`` is the share of rows tested on: 1 / k for k folds (Nadeau
    and Bengio 2003). Differences within ``rope`` of 0 count as equivalent.

    >>> [round(chance, 4) for chance in correlated_t(np.array([0.02, 0.03, 0.01, 0.04, 0.02]), rho=0.2, rope=0.01)]
    [0.0056, 0.0649, 0.9294]
    """
    d = np.asarray(differences, np.float64)
    if d.size < 2 or not 0 <= rho < 1:
        what = f"the correlated t-test needs at least 2 folds and 0 <= rho < 1, got {d.size} folds and rho={rho:g}"
        raise UsageError("U102", what, hint="rho=1/k for k folds")
    mean = float(d.mean())
    spread = float(np.sqrt(1 / d.size + rho / (1 - rho))) * standard_deviation(d, largest_magnitude(d))
    if spread == 0:
        return Chances(float(mean < -rope), float(abs(mean) <= rope), float(mean > rope))
    worse = float(stdtr(d.size - 1, (-rope - mean) / spread))
    better = float(stdtr(d.size - 1, (mean - rope) / spread))
    return Chances(worse, 1 - worse - better, better)
