"""How the full rank of an item and its sampled rank go together, in pairs of functions.

Let the item have rank r = 1..N+1 among all N candidates, with chances p(r), and rank q = 1..m+1 among m sampled ones.
Like every two quantities they have canonical pairs: functions psi_k(r) and phi_k(q), each of mean square 1 and
uncorrelated with the others of their kind, with

    E[phi_k(q) | r] = rho_k psi_k(r),    E[psi_k(r) | q] = rho_k phi_k(q),    1 = rho_0 >= rho_1 >= ...

rho_k is how much of psi_k a sample keeps. Estimators of a metric of the full rank from the sampled rank are sums over
these pairs; what is hard about them, dividing by small rho, is in plain sight.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.linalg import eigh_tridiagonal, svd

from recassay.data.layout import readonly
from recassay.designs._laws import numbers
from recassay.portable.elementary import exp, log, log1p, log_gamma
from recassay.sampled.polynomials import coefficients, log_edges, values

Float = NDArray[np.float64]

LOST = 1e-15  # a sample that keeps less of a function than this keeps nothing that can be computed with
SMALLEST_EDGE = 1e-140  # degrees whose value at an edge is smaller see nothing of the best ranks


@dataclass(frozen=True, eq=False)
class Joint:
    """The canonical pairs of full and sampled rank, as far as a sample keeps anything of them.

    ``chances`` are those of the sampled ranks 1..m+1, ``kept`` the correlations rho_k, ``seen[q-1, k]`` is phi_k(q),
    NaN for a rank that cannot occur. ``pairs`` is how many there are, lost ones among them. ``coefficients`` takes what
    a metric is worth at the ranks 1, 2, ..., as far as it is worth anything, to its mean products with psi_k.
    """

    pool: int
    sample: int
    chances: Float
    kept: Float
    seen: Float
    pairs: int
    coefficients: Callable[[Float], Float]


def joint_of(pool: int, sample: int, *, replace: bool, prior: Float | None = None) -> Joint:
    """The pairs for ``sample`` uniform draws from ``pool`` candidates.

    ``prior[r-1]`` is the chance of full rank r, for all pool + 1 of them; left out, every rank is equally likely.

    >>> joint_of(5, 3, replace=False).kept.round(6).tolist()
    [1.0, 0.916515, 0.748331, 0.489898]
    """
    if prior is not None:
        return _under(prior, pool, sample, replace)
    degrees = _degrees_kept(pool, sample, replace)
    if not replace:
        return _plain(pool, sample, degrees)
    nodes = (degrees + sample) // 2 + 1
    if nodes > pool:
        return _under(np.full(pool + 1, 1 / (pool + 1)), pool, sample, replace)
    return _replaced(pool, sample, degrees, nodes)


def _degrees_kept(pool: int, sample: int, replace: bool) -> int:
    """How many degrees a sample keeps more than a trace of."""
    most = min(pool, sample) + 1
    full = log_edges(pool, most)
    kept = log_edges(sample, most) - full
    if replace:
        kept += np.append(0.0, np.cumsum(log1p(-np.arange(most - 1) / pool)))
    return max(1, int(((kept >= log(LOST)) & (full >= log(SMALLEST_EDGE))).sum()))


def _plain(pool: int, sample: int, degrees: int) -> Joint:
    """Draws without replacement keep degrees: the pairs are polynomials on the full and on the sampled ranks.

    For every polynomial Q_k of the family that is 1 at the best rank, E[Q_k(q) | r] = Q_k(r), so that rho_k is the
    quotient of the values that psi_k and phi_k have there.
    """
    return Joint(
        pool=pool,
        sample=sample,
        chances=np.full(sample + 1, 1 / (sample + 1)),
        kept=exp(log_edges(sample, degrees) - log_edges(pool, degrees)),
        seen=values(sample, degrees),
        pairs=min(pool, sample) + 1,
        coefficients=lambda worth: coefficients(pool, degrees, worth),
    )


def _replaced(pool: int, sample: int, degrees: int, nodes: int) -> Joint:
    """Draws with replacement: the chance of a sampled rank is a polynomial of degree m in the full rank.

    Its products with polynomials are summed over all full ranks, exactly, by Gauss' rule on a few nodes among them
    (Golub and Welsch 1969), so the cost does not grow with the pool.
    """
    places, weighted = _nodes(pool, nodes)
    products = weighted[:degrees] @ _laws(places, pool, sample, replace=True)
    chances = products[0]
    turn, kept, seen = svd(products / np.sqrt(chances), full_matrices=False)
    many = _some(kept)
    return Joint(
        pool=pool,
        sample=sample,
        chances=chances,
        kept=kept[:many],
        seen=(seen[:many] / np.sqrt(chances)).T,
        pairs=min(pool, sample) + 1,
        coefficients=lambda worth: turn[:, :many].T @ coefficients(pool, degrees, worth),
    )


def _nodes(pool: int, many: int) -> tuple[Float, Float]:
    """Nodes of Gauss' rule for the mean over 0..pool, and every polynomial (rows) at them times their weights."""
    size, k = pool + 1, np.arange(1.0, many)
    beside = k / 2 * np.sqrt((size**2 - k**2) / (4 * k**2 - 1))
    places, vectors = eigh_tridiagonal(np.full(many, pool / 2), beside)
    signs = np.where(np.arange(many) % 2 == 0, 1.0, -1.0)[:, None]
    return places, vectors * vectors[0] * signs  # a vector holds the polynomials times the root of the weight


def _some(kept: Float) -> int:
    """How many pairs a sample keeps more than a trace of; the first, a constant, is always kept."""
    return max(1, int((kept >= LOST).sum()))


def _under(prior: Float, pool: int, sample: int, replace: bool) -> Joint:
    """Any other chances of the full ranks: the pairs are singular vectors, and every rank is a row."""
    ranks = np.flatnonzero(prior)
    roots = np.sqrt(prior[ranks])
    law = _laws(ranks.astype(np.float64), pool, sample, replace=replace)
    chances = prior[ranks] @ law
    can_be = chances > 0
    scale = np.sqrt(chances[can_be])
    full, kept, seen = svd(roots[:, None] * law[:, can_be] / scale, full_matrices=False)
    many = _some(kept)
    of_all = np.full((sample + 1, many), np.nan)
    of_all[can_be] = (seen[:many] / scale).T

    def project(worth: Float) -> Float:
        earned = np.zeros(pool + 1)
        earned[: worth.size] = worth
        return np.asarray(full[:, :many].T @ (roots * earned[ranks]))

    return Joint(pool, sample, chances, kept[:many], of_all, kept.size, project)


def _laws(above: Float, pool: int, sample: int, *, replace: bool) -> Float:
    """For numbers of candidates above an item (rows), the chances of each number of sampled ones above it."""
    logs = readonly(log_gamma(np.arange(max(pool, sample) + 2) + 1.0))
    found: Float = _fill(readonly(np.clip(above, 0.0, pool)), pool, sample, replace, logs)
    found /= found.sum(axis=1, keepdims=True)  # what logarithms of large factorials lack in digits cancels
    return found


@njit(nogil=True, cache=True)
def _fill(above: Float, pool: int, sample: int, replace: bool, logs: Float) -> Float:
    found, law = np.zeros((above.size, sample + 1)), np.zeros(sample + 2)
    for row in range(above.size):
        first, last = numbers(above[row], float(pool), sample, replace, sample, logs, law)
        for x in range(first, last + 1):
            found[row, x] = law[x - first]
    return found
