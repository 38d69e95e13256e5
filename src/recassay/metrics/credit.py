"""Formulas of metrics by rank or by counts: declared once by each metric, read wherever the metric is computed.

Ranked lists, target-set designs, sampling curves and streams compute the same metric from different data. All of them
read :meth:`Metric.rank_formula <recassay.metrics.base.Metric.rank_formula>`, so a formula is written in one file:

- a :class:`Credit` is a sum over relevant items of what their ranks earn (nDCG, recall, reciprocal rank);
- a :class:`PairFormula` is a function of the pairs of a relevant and another item in the wrong order (AUC);
- a :class:`JudgedFormula` is a mean over relevant items of a function of the judged items above (bpref, infAP);
- a :class:`NoFormula` says in one line why the metric can be computed from lists only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from recassay.arrays import Bool, Float, Int64
from recassay.columnar.layout import ranges, row_groups
from recassay.errors import UsageError
from recassay.metrics import _kernels

if TYPE_CHECKING:
    from recassay.metrics.align import AlignedBlock
    from recassay.metrics.base import Metric

Norm = Callable[[Int64], Float]
Part = Literal["each", "first", "place"]

NEEDS_JUDGED = "it needs judged items that are not relevant"


@dataclass(frozen=True)
class Credit:
    """A metric as ``factor * sum over relevant items of part * rank_credit(rank) / norm``.

    ``part``: ``each`` relevant item counts 1, only the ``first`` one counts, or the i-th counts i (its ``place``, with
    ``reciprocal`` credit: precision at its rank). ``rank_credit`` maps ranks, and numbers between them, to credits.
    Ranks beyond ``cut`` earn nothing (None: every rank earns); with ``cut_at_relevant`` nor do ranks beyond the number
    of relevant items. ``norm`` maps numbers of relevant items to the divisor. ``weight`` maps an item's number of
    training users to a weight of its credit; the divisor is then the sum of the weights.
    """

    part: Part
    cut: int | None
    rank_credit: Callable[[Float], Float]
    norm: Norm
    factor: float = 1.0
    cut_at_relevant: bool = False
    weight: Callable[[Int64], Float] | None = None

    @property
    def cut_of_one(self) -> int | None:
        """Return the last rank at which a lone relevant item earns something; None if every rank does."""
        return 1 if self.cut_at_relevant else self.cut

    def of_one(self, rank: Float) -> Float:
        """Return the metric's value for a list with a single relevant item, by the rank of that item.

        >>> Credit("each", 2, reciprocal, number_of_relevant).of_one(np.array([1.0, 1.5, 2.0, 3.0])).round(3).tolist()
        [1.0, 0.667, 0.5, 0.0]
        """
        values = self.factor * self.rank_credit(rank) / self.norm(np.ones(1, np.int64))
        beyond = False if self.cut_of_one is None else rank > self.cut_of_one
        return np.asarray(np.where(beyond, 0.0, values), np.float64)

    def table(self, ranks: int) -> Float:
        """Return the credits of ranks 1..ranks, multiplied by ``factor``; 0 beyond the cut-off."""
        positions = np.arange(1.0, ranks + 1)
        earned = self.factor * self.rank_credit(positions)
        return earned * (positions <= (ranks if self.cut is None else self.cut))

    def weights(self, depth: int) -> Float:
        """Return ``rank_credit`` at ranks 1..depth, not multiplied by ``factor``; the cut-off is ignored."""
        return self.rank_credit(np.arange(1.0, depth + 1))

    def parts(self, offsets: Int64) -> Float:
        """Return the factor of each relevant item: 1 for part ``each``, 1 or 0 for ``first``, i for ``place``.

        The relevant items of set s are ``offsets[s]:offsets[s + 1]``, best rank first.
        """
        return self.parts_at(ranges(0, np.diff(offsets)))

    def parts_at(self, place: Int64) -> Float:
        """Return the factor of each relevant item (see :meth:`parts`) with ``place`` relevant items ranked above it."""
        if self.part == "each":
            return np.ones(place.shape)
        return np.asarray(place == 0 if self.part == "first" else place + 1, np.float64)

    def in_lists(self, lists: AlignedBlock, relevant_from: float) -> Float:
        """Return the metric's value for each list of a block, an expectation if rows tie; 0 without a relevant item."""
        earned, norm = self.sums(lists, relevant_from), self.norm(lists.relevant(relevant_from))
        return (earned if self.factor == 1 else self.factor * earned) / np.where(norm > 0, norm, 1.0)

    def sums(self, lists: AlignedBlock, relevant_from: float) -> Float:
        """Return, for each list of a block, the sum over its relevant items of part * rank_credit(rank).

        It is an expectation if rows tie. It is neither multiplied by ``factor`` nor divided by ``norm``.
        """
        plain = self.rank_credit is every_rank  # counts of hits are shared by the metrics of a block
        if self.part == "each" and not self.cut_at_relevant and plain:
            return lists.hits(self.cut, relevant_from)
        if self.part == "first" and plain and not lists.tied:
            return (lists.hits(self.cut, relevant_from) > 0).astype(np.float64)
        relevant, depth = lists.is_relevant(relevant_from), lists.depth(self.cut)
        cutoffs = lists.cutoffs(self.cut)
        if self.part == "each":
            if self.cut_at_relevant:
                cutoffs = np.minimum(lists.relevant(relevant_from), depth)
            return lists.expected_sum(relevant.astype(np.float64), self.weights(depth), cutoffs)
        out = np.empty(lists.size)
        if self.part == "first":
            _kernels.first_hit(lists.start, lists.first, lists.last, relevant, self.weights(depth), depth, out)
        else:
            assert self.rank_credit is reciprocal, "the kernel sums precision, which is place / rank"
            _kernels.precision_sum(lists.start, lists.first, lists.last, relevant, cutoffs, out)
        return out


@dataclass(frozen=True)
class PairFormula:
    """A metric of the pairs of a relevant and a non-relevant candidate.

    ``share(above, pairs)`` returns the metric's value. ``above`` is the number of pairs in the wrong order (ties count
    one half), and ``pairs`` the number of all pairs. The value is linear in ``above``, so the mean of ``above`` gives
    the mean of the metric.
    """

    share: Callable[[Float, Float | Int64 | float], Float]


class JudgedCounts(NamedTuple):
    """Counts for each relevant item: of items ranked above it, and of its user's judged items.

    ``above`` counts all candidates above it, ``relevant_above`` the relevant ones, ``judged_above`` those that were
    judged not relevant, and ``unjudged_above`` those in the pool of the judges but without a judgement. ``relevant``
    and ``judged`` are the user's numbers of relevant items and of items judged not relevant.
    """

    above: Int64
    relevant_above: Int64
    judged_above: Int64
    relevant: Int64
    judged: Int64
    unjudged_above: Int64


@dataclass(frozen=True)
class JudgedFormula:
    """A metric that is the mean of ``value`` over the user's relevant items.

    ``by_judged_alone``: ``value`` reads ``judged_above``, ``relevant`` and ``judged`` only, so its expectation over
    orders of tied items has a closed form.
    """

    value: Callable[[JudgedCounts], Float]
    by_judged_alone: bool

    def in_lists(self, lists: AlignedBlock, relevant_from: float) -> Float:
        """Return the metric's value for each list of a block without ties; 0 without a relevant item."""
        relevant, query = lists.is_relevant(relevant_from), row_groups(lists.start)

        def above(marked: Bool) -> Int64:
            """Return the number of ``marked`` items above each judged item of a list."""
            before: Int64 = np.cumsum(marked) - marked
            return np.asarray((before - before[lists.start[query]])[relevant])

        owner, total = query[relevant], lists.relevant(relevant_from)
        counts = JudgedCounts(
            lists.rank[relevant].astype(np.int64) - 1, above(relevant), above(~relevant & (lists.grade >= 0)),
            total[owner], lists.nonrelevant(relevant_from)[owner], above(lists.grade < 0),
        )  # fmt: skip
        return np.bincount(owner, self.value(counts), minlength=lists.size) / np.maximum(total, 1)


@dataclass(frozen=True)
class NoFormula:
    """The reason ``why`` a metric can be computed only from ranked lists, as text that follows a colon."""

    why: str


RankFormula = Credit | PairFormula | JudgedFormula | NoFormula


def every_rank(ranks: Float) -> Float:
    """Return 1 for every rank."""
    return np.ones(ranks.size)


def reciprocal(ranks: Float) -> Float:
    """Return 1 / rank."""
    return 1.0 / ranks


def number_of_relevant(relevant: Int64) -> Float:
    """Return the number R of relevant items, the divisor of metrics such as recall."""
    return relevant.astype(np.float64)


def constant(value: float) -> Norm:
    """Return a function that gives the divisor ``value`` for any number of relevant items."""
    return lambda relevant: np.full(relevant.size, float(value))


def reachable(k: int | None) -> Norm:
    """Return a function that gives, for R relevant items, the divisor min(R, k): the most that k places can hold."""
    return lambda relevant: np.minimum(relevant, np.inf if k is None else k).astype(np.float64)


def formula_of(metric: Metric) -> Credit | PairFormula | JudgedFormula:
    """Return the formula of a metric by rank or by counts; raise U110 with the metric's reason if it has none."""
    formula = metric.rank_formula()
    if isinstance(formula, NoFormula):
        raise no_formula(metric, formula.why)
    return formula


def credit_of(metric: Metric) -> Credit:
    """Return what a metric credits by rank; raise U110 if it is not a sum of credits by rank."""
    formula = formula_of(metric)
    if isinstance(formula, JudgedFormula):
        raise no_formula(metric, NEEDS_JUDGED)
    if isinstance(formula, PairFormula):
        raise no_formula(metric, "it is not a sum over relevant items by their ranks")
    return formula


def counts_pairs(metric: Metric) -> bool:
    """Return whether a metric is computed from pairs of a relevant and another candidate, as AUC is."""
    return isinstance(metric.rank_formula(), PairFormula)


def no_formula(metric: Metric, why: str) -> UsageError:
    """Return error U110 for a metric that can be computed only from ranked lists; ``why`` says why."""
    return UsageError(
        "U110",
        f"{metric} cannot be judged by design: {why}",
        where=str(metric),
        hint="metrics of the ranks of relevant items can, such as ndcg@10, recall@10, mrr, map and auc",
    )
