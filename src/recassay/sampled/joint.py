"""The joint distribution of the full rank and the sampled rank of an item, as canonical pairs of functions.

The item has rank r = 1..N+1 among all N candidates, with probabilities p(r), and rank q = 1..m+1 among m sampled ones.
Like any two random variables they have canonical pairs: functions psi_k(r) and phi_k(q), each of mean square 1 and
uncorrelated with the others of their kind, with

    E[phi_k(q) | r] = rho_k psi_k(r),    E[psi_k(r) | q] = rho_k phi_k(q),    1 = rho_0 >= rho_1 >= ...

rho_k is the correlation: how much of psi_k a sample keeps. Estimators of a metric of the full rank from the sampled
rank are sums over these pairs, in which the division by small rho is explicit.

If every full rank is equally likely, the functions are discrete Chebyshev polynomials.

On the points 0..N there is one of every degree k up to N, with mean square 1 over the points and positive at 0. They
are computed from their value at an edge (point 0 or N), and from each point to the next:

    y(0)^2 = (2k + 1) N (N-1) .. (N-k+1) / ((N+2) (N+3) .. (N+k+1))
    (x+1) (N-x) (y(x+1) - y(x)) = x (N+1-x) (y(x) - y(x-1)) - k (k+1) y(x)

From an edge inwards this recurrence is stable for every degree; the usual recurrence from one degree to the next is
not. The right half mirrors the left: y(N-x) = (-1)^k y(x).

Reference: Nikiforov, Suslov and Uvarov, Classical orthogonal polynomials of a discrete variable, 1991.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh_tridiagonal, svd
from scipy.special import gammaln

from recassay._kernel_cache import njit
from recassay.arrays import Float
from recassay.columnar.layout import readonly
from recassay.designs._single import hit_probabilities

LOST = 1e-15  # a correlation below this is lost in rounding
SMALLEST_EDGE = 1e-140  # polynomials with a smaller value at the edge do not depend on the best ranks


@dataclass(frozen=True, eq=False)
class Joint:
    """Canonical pairs (psi_k, phi_k) of functions of the full rank and of the sampled rank, with correlations rho_k.

    ``pool`` is the number N of candidates and ``sample`` the number m of draws. Pairs of nearly zero correlation are
    left out; ``pairs`` is the number of pairs including these. ``chances`` are the probabilities of the sampled ranks
    1..m+1, ``kept`` the correlations rho_k. ``seen[q-1, k]`` is phi_k(q), NaN for a rank that cannot occur.
    ``coefficients`` maps the values of a metric at ranks 1, 2, ... (0 beyond) to its mean products with psi_k.
    """

    pool: int
    sample: int
    chances: Float
    kept: Float
    seen: Float
    pairs: int
    coefficients: Callable[[Float], Float]


def joint_ranks(pool: int, sample: int, *, replace: bool, prior: Float | None = None) -> Joint:
    """Return the joint distribution of an item's full rank and its rank among ``sample`` of ``pool`` candidates.

    The candidates are drawn uniformly. The distribution is given as canonical pairs: functions of the full rank, each
    with a function of the sampled rank that it correlates with. ``kept`` are the correlations of the pairs.
    ``prior[r-1]`` is the probability of full rank r, for all pool + 1 ranks; by default all are equally likely.

    >>> joint_ranks(5, 3, replace=False).kept.round(6).tolist()
    [1.0, 0.916515, 0.748331, 0.489898]
    """
    if prior is not None:
        return _with_prior(prior, pool, sample, replace)
    degrees = _degrees_kept(pool, sample, replace)
    if not replace:
        return _without_replacement(pool, sample, degrees)
    nodes = (degrees + sample) // 2 + 1
    if nodes > pool:
        return _with_prior(np.full(pool + 1, 1 / (pool + 1)), pool, sample, replace)
    return _with_replacement(pool, sample, degrees, nodes)


def _degrees_kept(pool: int, sample: int, replace: bool) -> int:
    """Return the number of polynomial degrees to use, at least 1.

    A degree is used if its correlation rho_k of full and sampled rank is at least ``LOST`` and its polynomial is not
    too small at the best rank (``SMALLEST_EDGE``).
    """
    most = min(pool, sample) + 1
    full = log_edge_values(pool, most)
    kept = log_edge_values(sample, most) - full
    if replace:
        kept += np.append(0.0, np.cumsum(np.log1p(-np.arange(most - 1) / pool)))
    return max(1, int(((kept >= math.log(LOST)) & (full >= math.log(SMALLEST_EDGE))).sum()))


def _without_replacement(pool: int, sample: int, degrees: int) -> Joint:
    """Return the joint distribution of full rank r and sampled rank q for draws without replacement.

    It is given as canonical pairs (see the module): psi_k(r) and phi_k(q) are discrete Chebyshev polynomials of degree
    k, below ``degrees``. The polynomial Q_k, scaled to 1 at the best rank, has E[Q_k(q) | r] = Q_k(r). So the
    correlation rho_k of the pair is phi_k(1) / psi_k(1), the quotient of their values at the best rank.
    """
    return Joint(
        pool=pool,
        sample=sample,
        chances=np.full(sample + 1, 1 / (sample + 1)),
        kept=np.exp(log_edge_values(sample, degrees) - log_edge_values(pool, degrees)),
        seen=polynomial_values(sample, degrees),
        pairs=min(pool, sample) + 1,
        coefficients=lambda credit: coefficients(pool, degrees, credit),
    )


def _with_replacement(pool: int, sample: int, degrees: int, nodes: int) -> Joint:
    """Return the joint distribution of full and sampled rank for draws with replacement, as canonical pairs.

    Computed from ``degrees`` polynomials and ``nodes`` points of Gauss' rule for sums. The probability of a sampled
    rank is a polynomial of degree m in the full rank. Its products with polynomials are summed exactly over all full
    ranks by Gauss' rule on a few nodes (Golub and Welsch 1969), so the cost does not grow with the pool.
    """
    points, weighted = _gauss_nodes(pool, nodes)
    products = weighted[:degrees] @ _count_distributions(points, pool, sample, replace=True)
    chances = products[0]
    rotation, kept, seen = svd(products / np.sqrt(chances), full_matrices=False)
    n = _n_kept(kept)
    return Joint(
        pool=pool,
        sample=sample,
        chances=chances,
        kept=kept[:n],
        seen=(seen[:n] / np.sqrt(chances)).T,
        pairs=min(pool, sample) + 1,
        coefficients=lambda credit: rotation[:, :n].T @ coefficients(pool, degrees, credit),
    )


def _gauss_nodes(pool: int, n: int) -> tuple[Float, Float]:
    """Return (nodes, table) of Gauss' rule, with which a mean over the points 0..``pool`` is a sum over ``n`` nodes.

    Row k, column i of the table is the value of the discrete Chebyshev polynomial of degree k at node i, multiplied by
    the weight of the node.
    """
    size, k = pool + 1, np.arange(1.0, n)
    off_diagonal = k / 2 * np.sqrt((size**2 - k**2) / (4 * k**2 - 1))
    points, vectors = eigh_tridiagonal(np.full(n, pool / 2), off_diagonal)
    signs = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)[:, None]
    return points, vectors * vectors[0] * signs  # an eigenvector has the polynomials times the root of the weight


def _n_kept(kept: Float) -> int:
    """Return how many of the correlations ``kept`` are at least ``LOST``; the first, of a constant, always counts."""
    return max(1, int((kept >= LOST).sum()))


def _with_prior(prior: Float, pool: int, sample: int, replace: bool) -> Joint:
    """Return the joint distribution for any probabilities ``prior`` of the full ranks 1..``pool`` + 1.

    Its canonical pairs (see the module) are singular vectors of a matrix with a row per full rank of positive
    probability.
    """
    ranks = np.flatnonzero(prior)
    roots = np.sqrt(prior[ranks])
    distributions = _count_distributions(ranks.astype(np.float64), pool, sample, replace=replace)
    chances = prior[ranks] @ distributions
    possible = chances > 0
    scale = np.sqrt(chances[possible])
    full, kept, seen = svd(roots[:, None] * distributions[:, possible] / scale, full_matrices=False)
    n = _n_kept(kept)
    of_all = np.full((sample + 1, n), np.nan)
    of_all[possible] = (seen[:n] / scale).T

    def project(credit: Float) -> Float:
        of_rank = np.zeros(pool + 1)
        of_rank[: credit.size] = credit
        return np.asarray(full[:, :n].T @ (roots * of_rank[ranks]))

    return Joint(pool, sample, chances, kept[:n], of_all, kept.size, project)


def _count_distributions(above: Float, pool: int, sample: int, *, replace: bool) -> Float:
    """Return P(x sampled candidates are above item i) in row i, column x = 0..``sample``.

    ``above[i]`` of the ``pool`` candidates are above item i. The distribution is binomial with ``replace``, where
    ``above[i]`` need not be whole, and hypergeometric without.
    """
    logs = readonly(gammaln(np.arange(max(pool, sample) + 2) + 1.0))
    found: Float = _fill_distributions(readonly(np.clip(above, 0.0, pool)), pool, sample, replace, logs)
    found /= found.sum(axis=1, keepdims=True)  # cancels the rounding of logarithms of large factorials
    return found


@njit(nogil=True, cache=True)
def _fill_distributions(above: Float, pool: int, sample: int, replace: bool, logs: Float) -> Float:
    found, probs = np.zeros((above.size, sample + 1)), np.zeros(sample + 2)
    for row in range(above.size):
        first, last = hit_probabilities(above[row], float(pool), sample, replace, sample, logs, probs)
        for x in range(first, last + 1):
            found[row, x] = probs[x - first]
    return found


def log_edge_values(last: int, degrees: int) -> Float:
    """Return the logs of the values at point 0 of the polynomials of degrees 0..degrees-1 on the points 0..last.

    The values themselves may be too small for a float.

    >>> np.exp(log_edge_values(1, 2)).round(12).tolist()
    [1.0, 1.0]
    """
    k = np.arange(1.0, degrees)
    steps = np.append(0.0, np.cumsum(np.log((last - k + 1) / (last + 1 + k))))
    found: Float = (steps + np.log(2 * np.arange(degrees) + 1)) / 2
    return found


def polynomial_values(last: int, degrees: int) -> Float:
    """Return the values of the polynomials of degrees 0..degrees-1: a row per point 0..last, a column per degree.

    >>> polynomial_values(2, 3).round(6).tolist()
    [[1.0, 1.224745, 0.707107], [1.0, 0.0, -1.414214], [1.0, -1.224745, 0.707107]]
    """
    half = last // 2 + 1
    left = _polynomials_from_edge(last, readonly(np.exp(log_edge_values(last, degrees))), half).T
    right: Float = (left[: last + 1 - half] * _signs(degrees))[::-1]
    return np.concatenate([left, right])


def coefficients(last: int, degrees: int, credit: Float) -> Float:
    """Return the mean of credit(x) * polynomial(x) over the points x = 0..last, for each degree below ``degrees``.

    credit(x) is ``credit[x]``, and 0 at the points beyond the end of that array.

    >>> coefficients(2, 3, np.array([1.0])).round(6).tolist()
    [0.333333, 0.408248, 0.235702]
    """
    half = last // 2 + 1
    left = _polynomials_from_edge(last, readonly(np.exp(log_edge_values(last, degrees))), min(credit.size, half))
    found: Float = left @ credit[: left.shape[1]]
    if credit.size > half:
        mirrored = left[:, last + 1 - credit.size : last + 1 - half]
        found += _signs(degrees) * (mirrored[:, ::-1] @ credit[half:])
    return found / (last + 1)


def _signs(degrees: int) -> Float:
    return np.where(np.arange(degrees) % 2 == 0, 1.0, -1.0)


@njit(nogil=True, cache=True)
def _polynomials_from_edge(last: int, edges: Float, places: int) -> Float:
    """Return the values of polynomials on the points 0..last: a row per polynomial, a column per point.

    Only the first ``places`` points, at most up to the middle, are computed. ``edges[k]`` is the value of polynomial k
    at point 0.
    """
    found = np.empty((edges.size, places))
    for k in range(edges.size):
        now, step = edges[k], 0.0
        for x in range(places):
            found[k, x] = now
            step = (x * (last + 1.0 - x) * step - k * (k + 1.0) * now) / ((x + 1.0) * max(last - x, 1))
            now += step
    return found
