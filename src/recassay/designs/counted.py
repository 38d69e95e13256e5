"""Metrics that come from the counts themselves: AUC under any design; bpref and infAP among all candidates."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recassay.data.layout import stretch_of
from recassay.data.standings import RATED, Standings
from recassay.designs.grammar import Design
from recassay.designs.moments import Moments
from recassay.designs.sets import Sets, begins_level
from recassay.errors import UsageError
from recassay.metrics.base import Metric
from recassay.metrics.ranking.auc import AUC
from recassay.metrics.ranking.incomplete import Bpref

Float = NDArray[np.float64]

EPSILON = 1e-5  # of infAP, as trec_eval has it


def counted(standings: Standings, design: Design, groups: Sets, metric: Metric) -> Moments:
    """The moments of a metric that is no sum of credits by rank."""
    if isinstance(metric, AUC):
        return _auc(design, groups)
    if design.n is not None or design.bins is not None or design.relevant != "AR" or design.base == RATED:
        raise UsageError(
            "U121",
            f"{metric} looks at what users rated low, wherever it stands, and not at target sets",
            where=str(design),
            hint="judge it under AI-AR-AN or TI-AR-AN",
        )
    return _bpref(standings, groups, metric) if isinstance(metric, Bpref) else _infap(standings, design, groups)


def _auc(design: Design, groups: Sets) -> Moments:
    """With b_i of N candidates above the i-th relevant item: mean 1 - sum E[b_i] / (R N), whatever is drawn.

    Var(sum X_i) = K (N sum_ij E[min(b_i, b_j)] - E[(sum b_i)^2]) + (q / N)^2 Var(sum b_i), with K = q / N^2 with
    replacement and q (N - q) / ((N - 1) N^2) without.
    """
    of = stretch_of(groups.offsets)
    many = groups.ties + 1.0
    start = np.arange(of.size) - groups.offsets[of]  # place in the group
    number = _number_in_tie(groups)  # 1, 2, ... among those that tie
    expected = groups.above + groups.tied * number / (many + 1)
    group = groups.owner.size
    total = np.bincount(of, weights=expected, minlength=group)
    relevant, pool, drawn = groups.relevant.astype(float), groups.pool, groups.drawn.astype(float)
    smaller = np.bincount(of, weights=(2 * (relevant[of] - start - 1) + 1) * expected, minlength=group)
    # Of m relevant items among tied masses v the sum of the masses above them varies by m times this: a rank-sum test
    squares = groups.tied if groups.level is None else groups.level.squares
    one = (squares * (many + 1) + groups.tied**2) / 12
    order = np.bincount(of, weights=one, minlength=group)
    with np.errstate(invalid="ignore", divide="ignore"):
        law = np.ones(group) if design.with_replacement else np.where(pool > 1, (pool - drawn) / (pool - 1), 0.0)
        within = law * drawn / pool**2 * (pool * smaller - total**2 - order)
        variance = (within + (drawn / pool) ** 2 * order) / (drawn * relevant) ** 2
        mean = np.where(drawn > 0, 1 - total / (relevant * pool), np.nan)
    return Moments(mean, np.maximum(variance, 0.0), np.full(group, 0.5), np.ones(group))


def _number_in_tie(groups: Sets) -> Float:
    """1, 2, ... for the relevant items of a group that have the same score."""
    begins = begins_level(groups.ties, groups.offsets)
    place = np.arange(begins.size)
    return (place - np.maximum.accumulate(np.where(begins, place, 0)) + 1).astype(np.float64)


def _bpref(standings: Standings, groups: Sets, metric: Bpref) -> Moments:
    """The mean over random orders of ties, relevant item by relevant item."""
    of = stretch_of(groups.offsets)
    relevant = groups.relevant
    low = standings.pool[RATED][groups.owner]
    most = relevant if metric.form == "original" else np.minimum(low, relevant)
    above, tied = standings.above[RATED], standings.tied[RATED]
    value = _preference(above, relevant[of], most[of])
    number = _number_in_tie(groups)
    for pair in np.flatnonzero(tied):
        many, i, size = int(groups.ties[pair]) + 1, int(number[pair]), int(tied[pair])
        w = np.arange(size + 1)
        chance = _ways(w + i - 1, i - 1) * _ways(size - w + many - i, many - i) / _ways(size + many, many)
        value[pair] = float((chance * _preference(above[pair] + w, relevant[of[pair]], most[of[pair]])).sum())
    mean = np.bincount(of, weights=value, minlength=groups.owner.size) / relevant
    nothing = np.full(groups.owner.size, np.nan)
    return Moments(mean, nothing if tied.any() else np.zeros_like(mean), nothing, np.ones_like(mean))


def _preference(above: NDArray[np.int64], relevant: NDArray[np.int64], most: NDArray[np.int64]) -> Float:
    return np.where(above > 0, 1 - np.minimum(above, relevant) / np.maximum(most, 1), 1.0)


def _ways(n: NDArray[np.int64] | int, k: int) -> Float:
    """Binomial coefficients, k small."""
    ways = np.ones(np.shape(n))
    for step in range(k):
        ways = ways * (np.asarray(n) - step) / (step + 1)
    return ways


def _infap(standings: Standings, design: Design, groups: Sets) -> Moments:
    if groups.tied.any() or standings.tied[RATED].any():
        raise UsageError(
            "U110",
            f"infap has no closed form for its expected value over tied items, and {standings.name} has ties",
            where=str(design),
            hint="break ties in the scores, or leave infap out",
        )
    of = stretch_of(groups.offsets)
    before = np.arange(of.size) - groups.offsets[of]
    place = before + groups.above
    low = standings.above[RATED]
    judged = (before + low) / np.maximum(place, 1)
    right = (before + EPSILON) / (before + low + 2 * EPSILON)
    value = np.where(place > 0, 1 / (place + 1) + place / (place + 1) * judged * right, 1.0)
    mean = np.bincount(of, weights=value, minlength=groups.owner.size) / groups.relevant
    nothing = np.full(groups.owner.size, np.nan)
    return Moments(mean, np.zeros_like(mean), nothing, np.ones_like(mean))
