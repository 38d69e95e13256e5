"""Mean and variance of metrics that count pairs of items: AUC under every design, bpref and infAP among all candidates.

The formulas come from the metrics (:class:`~recassay.metrics.credit.PairFormula` and
:class:`~recassay.metrics.credit.JudgedFormula`); this module takes their expectations over draws and orders of ties.
"""

from __future__ import annotations

import numpy as np
import scipy

from recassay.arrays import Float
from recassay.columnar.layout import row_groups
from recassay.data.standings import RATED, Standings
from recassay.designs.grammar import Design
from recassay.designs.moments import CreditMoments
from recassay.designs.sets import TargetSets, begins_level
from recassay.errors import UsageError
from recassay.metrics.base import Metric
from recassay.metrics.credit import Credit, JudgedCounts, JudgedFormula, PairFormula, formula_of


def count_moments(standings: Standings, design: Design, groups: TargetSets, metric: Metric) -> CreditMoments:
    """Return the mean and variance, per group of target sets, of a metric computed from counts: AUC, bpref or infAP.

    A target set holds the candidates that relevant items are ranked among. bpref and infAP compare judged items, so
    they need all candidates: a design that samples candidates raises U110.
    """
    formula = formula_of(metric)
    assert not isinstance(formula, Credit), "moments_of handles credits"
    if isinstance(formula, PairFormula):
        return pair_moments(formula, design, groups)
    if design.n is not None or design.bins is not None or design.relevant != "AR" or design.base == RATED:
        raise UsageError(
            "U110",
            f"{metric} counts items judged not relevant wherever they are ranked, not the items of a target set",
            where=str(design),
            hint="judge it under AI-AR-AN or TI-AR-AN",
        )
    if not formula.by_judged_alone and (groups.tied.any() or standings.tied[RATED].any()):
        raise UsageError(
            "U110",
            f"{metric.name} has no closed form for its expected value over tied items, and {standings.name} has ties",
            where=str(design),
            hint=f"break ties in the scores, or leave {metric.name} out",
        )
    return _judged_moments(formula, standings, groups)


def pair_moments(formula: PairFormula, design: Design, groups: TargetSets) -> CreditMoments:
    """Return the mean and variance of a metric that is a share of pairs (relevant, non-relevant item), such as AUC.

    They are taken over the draw of the candidates that ``design`` describes, and over random orders of tied items.
    ``formula`` gives the share from the number of pairs in the wrong order. The result has an entry per group.

    A group has R relevant items. Of its N candidates, b_i are above the i-th relevant item (random if items tie), and q
    are drawn; X_i is the number of drawn candidates above that item. The mean, share(sum E[b_i], R N), does not depend
    on q. The variance is Var(sum X_i) / (q R)^2, with Var(sum X_i) = K (N sum_ij E[min(b_i, b_j)] - E[(sum b_i)^2]) +
    (q / N)^2 Var(sum b_i), where K = q / N^2 with replacement and q (N - q) / ((N - 1) N^2) without.
    """
    group = row_groups(groups.offsets)
    n = groups.owner.size
    n_tied = groups.ties + 1.0  # relevant items with the same score, the item included
    place = np.arange(group.size) - groups.offsets[group]
    expected = groups.above + groups.tied * _numbers_within_ties(groups) / (n_tied + 1)
    total = np.bincount(group, weights=expected, minlength=n)
    relevant, pool, drawn = groups.relevant.astype(float), groups.pool, groups.drawn.astype(float)
    smaller = np.bincount(group, weights=(2 * (relevant[group] - place - 1) + 1) * expected, minlength=n)
    # The sum of the masses above m relevant items, tied with masses v, has m times this variance: a rank-sum test
    squares = groups.tied if groups.level is None else groups.level.squares
    of_ties = np.bincount(group, weights=(squares * (n_tied + 1) + groups.tied**2) / 12, minlength=n)
    with np.errstate(invalid="ignore", divide="ignore"):
        finite = np.ones(n) if design.with_replacement else np.where(pool > 1, (pool - drawn) / (pool - 1), 0.0)
        within = finite * drawn / pool**2 * (pool * smaller - total**2 - of_ties)
        variance = (within + (drawn / pool) ** 2 * of_ties) / (drawn * relevant) ** 2
        mean = np.where(drawn > 0, formula.share(np.asarray(total, np.float64), relevant * pool), np.nan)
    return CreditMoments(mean, np.maximum(variance, 0.0), np.full(n, 0.5), np.ones(n))


def _numbers_within_ties(groups: TargetSets) -> Float:
    """Return, for each relevant item, its number 1, 2, ... among the group's relevant items with the same score."""
    begins = begins_level(groups.ties, groups.offsets)
    place = np.arange(begins.size)
    return (place - np.maximum.accumulate(np.where(begins, place, 0)) + 1).astype(np.float64)


def _judged_moments(formula: JudgedFormula, standings: Standings, groups: TargetSets) -> CreditMoments:
    """Return the mean and variance of bpref or infAP over random orders of tied items, with an entry per group.

    A group has the relevant items of one query, which are ranked among the same candidates. The variance is 0, or NaN
    (no closed form) if judged items tie.
    """
    group = row_groups(groups.offsets)
    before = np.arange(group.size) - groups.offsets[group]
    judged, tied = standings.above[RATED].astype(np.int64), standings.tied[RATED]
    low, relevant = standings.pool[RATED][groups.owner].astype(np.int64), groups.relevant.astype(np.int64)
    above, none = before + groups.above.astype(np.int64), np.zeros_like(before)
    counts = JudgedCounts(above, before, judged, relevant[group], low[group], none)
    value, number = formula.value(counts), _numbers_within_ties(groups)
    for pair in np.flatnonzero(tied):
        n_tied, i, size = int(groups.ties[pair]) + 1, int(number[pair]), int(tied[pair])
        above = np.arange(size + 1)  # of the tied judged items, above the i-th of the tied relevant ones
        chance = scipy.special.comb(above + i - 1, i - 1) * scipy.special.comb(size - above + n_tied - i, n_tied - i)
        chance = chance / scipy.special.comb(size + n_tied, n_tied)
        cases = JudgedCounts(*(np.full(size + 1, column[pair]) for column in counts))
        value[pair] = float((chance * formula.value(cases._replace(judged_above=judged[pair] + above))).sum())
    mean = np.bincount(group, weights=value, minlength=groups.owner.size) / groups.relevant
    unknown = np.full(groups.owner.size, np.nan)
    return CreditMoments(mean, unknown if tied.any() else np.zeros_like(mean), unknown, np.ones_like(mean))
