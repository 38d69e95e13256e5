"""The metrics of one system for samples of every size, summed over groups of users."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from recassay.columnar.identity import id_keys
from recassay.columnar.layout import groups_per_block, readonly, row_groups
from recassay.data.standings import Standings
from recassay.designs._places import FEW
from recassay.designs.classes import Classes
from recassay.errors import UsageError
from recassay.metrics.base import Metric
from recassay.metrics.credit import counts_pairs, credit_of
from recassay.sampled import _kernels
from recassay.sampled.scheme import SamplingScheme
from recassay.threads import each_block

Float = NDArray[np.float64]
Int64 = NDArray[np.int64]
Counts = Mapping[str, Int64]
Candidates = tuple[Float, Float, Float]

GROUPS = 1024  # more users than this are put into this many groups of equal size
CASES_PER_BLOCK = 4096


@dataclass(frozen=True, eq=False)
class MeasuredSystem:
    """Metric values of one system: ``sums[group, size, metric]`` over the relevant items of a group of users.

    ``counts`` are the numbers of relevant items of the groups. ``spread[size, metric]`` is the sum, over all relevant
    items, of the variance of their value over random draws.
    """

    sums: Float
    counts: Int64
    spread: Float

    @property
    def mean(self) -> Float:
        """Return the mean over relevant items for each sample size (rows) and metric (columns)."""
        mean: Float = self.sums.sum(axis=0) / self.counts.sum()
        return mean

    @property
    def deviation(self) -> Float:
        """Return the standard deviation of the mean over random draws, for each sample size and metric."""
        deviation: Float = np.sqrt(self.spread) / self.counts.sum()
        return deviation


def user_groups(standings: Standings) -> Int64:
    """Return the number of the group of users that each query (user) in ``standings`` belongs to.

    With at most GROUPS queries, each one is a group of its own. Otherwise there are GROUPS groups of about equal size,
    and the id of a query determines its group.
    """
    queries = standings.queries.len()
    if queries <= GROUPS:
        return np.arange(queries)
    group = np.empty(queries, np.int64)
    group[np.argsort(id_keys(standings.queries), kind="stable")] = np.arange(queries) * GROUPS // queries
    return group


@dataclass(frozen=True, eq=False)
class Cases:
    """The relevant items of a system (the cases), sorted by group of users; group g is ``bounds[g]:bounds[g + 1]``.

    ``group`` is the group of each case. ``counts`` are the numbers of candidates above each item, tied with it, and in
    all. ``weights`` are their weights in draws by popularity. ``masses`` has a row per item with the weights of its
    tied candidates (``Standings.tied_masses``). ``weights`` and ``masses`` are None if the standings (counts of
    candidates above each item) do not have them.
    """

    group: Int64
    bounds: Int64
    counts: Candidates
    weights: Candidates | None
    masses: Float | None

    @classmethod
    def of(cls, standings: Standings, groups: Int64, base: str) -> Cases:
        """Return the relevant items of a system, with the candidates of set ``base`` above and tied with each.

        ``standings`` holds these counts. ``base`` is a name such as ``AI`` (all items), and ``groups`` is the group of
        users that each query belongs to. Raise U102 if the standings have no counts for ``base``.
        """
        if base not in standings.above:
            hint = f"one of {', '.join(standings.above)}"
            raise UsageError("U102", f"there are no standings among '{base}'", where=standings.name, hint=hint)
        query = row_groups(standings.offsets)
        group = groups[query]
        order = np.argsort(group, kind="stable")
        bounds = np.searchsorted(group[order], np.arange(int(groups.max(initial=-1)) + 2))

        def each(above: Counts, tied: Counts, pool: Counts) -> Candidates:
            first, second, third = (
                column[order].astype(np.float64) for column in (above[base], tied[base], pool[base][query])
            )
            return first, second, third

        counts = each(standings.above, standings.tied, standings.pool)
        has_weights = base in standings.mass
        weights = each(standings.mass_above, standings.mass_tied, standings.mass) if has_weights else None
        masses = standings.tied_masses[base][order] if base in standings.tied_masses else None
        return cls(group[order], bounds, counts, weights, masses)

    def classes(self, scheme: SamplingScheme) -> Classes:
        """Return the candidates tied with each item in classes of equal weight, for draws with replacement.

        Without the weights of single candidates (``masses``), tied candidates are assumed to have equal weight.
        """
        tied = self.counts[1]
        if not scheme.replace or scheme.by == "uniform":
            return Classes.equal(tied if scheme.replace else tied * 0, tied)
        assert self.weights is not None
        return Classes.equal(tied, self.weights[1]) if self.masses is None else self._classes_of_masses

    @functools.cached_property
    def _classes_of_masses(self) -> Classes:
        """Return the tied candidates in classes of equal weight; a search for a sample size asks for them each time."""
        assert self.masses is not None
        return Classes.of(self.masses)


def measure_system(
    cases: Cases,
    scheme: SamplingScheme,
    sizes: Sequence[int],
    metrics: Mapping[str, Metric],
    *,
    threads: int | None = None,
) -> MeasuredSystem:
    """Return the expectation of a system's metrics over samples of each of ``sizes`` (ascending).

    ``scheme`` says how candidates are drawn, and ``cases`` are the system's relevant items. Without replacement, a
    sample larger than the pool has all candidates. Raise U122 for draws by popularity if the standings have no weights.

    >>> import recassay as ra
    >>> from recassay.data.synthetic import log
    >>> from recassay.metrics.registry import parse_metrics
    >>> fold = ra.split.last(n=1)(log(users=300, items=120, events=6_000, seed=1))[0]
    >>> standings = ra.play(ra.models.Popular(), fold, ra.protocols.next_item()).standings
    >>> scheme, cases = SamplingScheme("uniform", replace=False), Cases.of(standings, user_groups(standings), "AI")
    >>> measure_system(cases, scheme, [5, 20], parse_metrics("hit@5")).mean.round(3).tolist()
    [[0.874], [0.395]]
    """
    counts = cases.counts
    weights = counts if scheme.by == "uniform" else cases.weights
    if weights is None:
        raise UsageError("U122", "the standings hold no popularity mass", hint="play the systems again")
    code = _kernels.AGAIN if scheme.replace else _kernels.TWO if scheme.approximate else _kernels.PLAIN
    sample_sizes = np.array(sizes, np.int64)
    pool = int(counts[2].max(initial=0))
    largest = int(sample_sizes.max()) if scheme.replace else min(int(sample_sizes.max()), pool)
    credit = credit_table(metrics, largest + 1)
    classes = cases.classes(scheme)
    numbers = np.arange(max(largest, pool, FEW * int(classes.number.max(initial=0))) + 4.0)
    log_factorials, reciprocals = readonly(scipy.special.gammaln(numbers + 1)), readonly(1 / np.maximum(numbers, 1))
    auc = any(counts_pairs(metric) for metric in metrics.values())
    groups = cases.bounds.size - 1
    sums = np.zeros((groups, sample_sizes.size, credit.shape[0] + 1))
    arrays = (*weights, *counts) if scheme.replace else (*counts, *weights)
    columns_of_cases = (cases.group, *arrays, classes.offsets, classes.number, classes.mass, sample_sizes)
    arguments = tuple(readonly(array) for array in columns_of_cases)
    kernels: Any = _kernels  # numba functions are untyped

    def work(begin: int, end: int) -> Float:
        first, last = int(cases.bounds[begin]), int(cases.bounds[end])
        spread = np.zeros((sample_sizes.size, credit.shape[0] + 1))
        kernels.add_expected_credit(
            first, last, *arguments, code, readonly(credit), log_factorials, reciprocals, auc, sums, spread
        )
        return spread

    size = groups_per_block(groups, cases.group.size, most=groups, most_rows=CASES_PER_BLOCK)
    spread = np.sum(each_block(work, groups, size=size, threads=threads), axis=0)
    rows = iter(range(credit.shape[0]))
    columns = [-1 if counts_pairs(metric) else next(rows) for metric in metrics.values()]
    return MeasuredSystem(sums[:, :, columns], np.diff(cases.bounds), spread[:, columns])


def credit_table(metrics: Mapping[str, Metric], ranks: int) -> Float:
    """Return the value of each metric (rows) for a single relevant item at ranks 1, 2, ... (columns); AUC has no row.

    The table ends at the last rank at which some metric is not 0, or at rank ``ranks``.
    """
    credits = [credit_of(metric) for metric in metrics.values() if not counts_pairs(metric)]
    cuts = [min(credit.cut_of_one or ranks, ranks) for credit in credits]
    table = np.zeros((len(credits), max(cuts, default=1)))
    for row, (credit, cut) in enumerate(zip(credits, cuts, strict=True)):
        table[row, :cut] = credit.of_one(np.arange(1.0, cut + 1))
    return table
