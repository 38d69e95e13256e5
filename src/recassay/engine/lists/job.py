"""Evaluation of runs on this machine: threads compute the values of blocks of users.

Each run is aligned with the truth once. The result equals that of this loop, with which tests compare it::

    for run in runs:
        alignment = align(run, truth)
        for metric in metrics:
            values = [metric.checked(alignment.block(q, q + 1)) for q in range(len(truth.queries))]
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from recassay.checks import diagnose
from recassay.checks.counts import CheckCounts
from recassay.checks.lists import TieRange, count
from recassay.columnar.layout import groups_per_block
from recassay.data.interactions import Interactions
from recassay.data.run import Run
from recassay.data.truth import Truth, TruthStatistics
from recassay.engine.finish import row_of, standard_error
from recassay.engine.tally import ORDERS, Column, Columns, Counts, UserTally, measure_blocks
from recassay.metrics.align import WHOLE_LIST, Alignment, Conventions, align
from recassay.metrics.base import CatalogueMetric, Metric, UnitMetric
from recassay.metrics.catalogue import Exposure, exposure_of
from recassay.metrics.context import Context, bind
from recassay.metrics.refusals import SharedIds
from recassay.metrics.ties import ARBITRARY, tie_bounds
from recassay.naming.grammar import Value, parse
from recassay.profiles.base import Exclusion
from recassay.results.finding import Finding
from recassay.results.first_hits import SystemHits
from recassay.results.scores import CATALOGUE_ITEMS, FEATURES, PLACES, Marks, Summary, Values
from recassay.stats.intervals import mean_of
from recassay.threads import Progress, StageProgress, each_block

USERS_PER_BLOCK = 32_768
ROWS_PER_BLOCK = 1 << 20
KINDS: tuple[Literal["value"], Literal["weight"]] = ("value", "weight")

ValuesByHeading = dict[str, Values]  # by heading


def users_per_block(alignment: Alignment) -> int:
    """Return how many users are judged together: few enough that long lists are spread over the threads too."""
    users, rows = alignment.match.size, alignment.run.items.size
    return groups_per_block(users, rows, most=USERS_PER_BLOCK, most_rows=ROWS_PER_BLOCK)


@dataclass(frozen=True, eq=False)
class Judgement:
    """The evaluation of one run: values and weights of all users by metric name, summary rows and findings.

    ``first_hits`` has the rank of each user's first relevant item, if the job asks for it. ``named`` says which
    findings name each user, and ``tie_orders`` has the values of the main metric in the worst and the best order of
    tied rows, if some tie. The run is not held and can be released.
    """

    values: ValuesByHeading
    weights: ValuesByHeading
    rows: tuple[Summary, ...]
    findings: tuple[Finding, ...]
    first_hits: SystemHits | None
    named: Marks
    tie_orders: tuple[Values, Values] | None


@dataclass(frozen=True, eq=False)
class Job:
    """Metrics, conventions and side data (such as item features), ready to evaluate runs against any truth.

    If ``first_hits_from`` is given, the rank of the first item with at least this gain is kept for each user.
    """

    metrics: Mapping[str, Metric]  # by heading
    conventions: Conventions
    context: Context
    excludes: tuple[Exclusion, ...] = ()  # what the profile does not reproduce
    threads: int | None = None
    progress: StageProgress | None = None
    first_hits_from: float | None = None

    @property
    def unit_metrics(self) -> dict[str, UnitMetric]:
        """Return the metrics that have a value for every user, by name."""
        return {heading: metric for heading, metric in self.metrics.items() if isinstance(metric, UnitMetric)}

    @property
    def main_metric(self) -> str:
        """Return the first metric that has a value for every user and says how good a system is; "" without one."""
        judging = (h for h, one in self.unit_metrics.items() if one.higher_is_better is not None and not one.describes)
        return next(judging, "")

    @property
    def deepest(self) -> int | None:
        """Return the largest cut-off of the metrics; None if none has one."""
        return max((metric.k for metric in self.metrics.values() if metric.k is not None), default=None)

    def resolved(self, statistics: TruthStatistics) -> Job:
        """Return a copy whose metrics have the parameters that depend on the truth, such as the largest grade.

        Raise an error if a metric cannot be computed on such a truth.
        """
        metrics = {heading: metric.resolve(statistics) for heading, metric in self.metrics.items()}
        for metric in metrics.values():
            metric.prepare(statistics, self.context)
        return replace(self, metrics=metrics)

    def with_train(self, train: Interactions) -> Job:
        """Return a copy with ``train`` as the training log: another one, or the rows of some of its users."""
        return replace(self, context=replace(self.context, train=train))

    def judge(self, run: Run, truth: Truth) -> Judgement:
        """Return the values, means and findings of a run against the truth."""
        return self.combine(run.name, self.judge_part(run, truth, whole=True))

    def judge_part(self, run: Run, truth: Truth, *, whole: bool = False) -> UserTally:
        """Return the values and counts of the users in ``truth``, which may be only some of all users.

        An error for unusable input, such as no shared ids, is raised only if ``truth`` is the ``whole`` truth: a part
        alone cannot show it.
        """
        alignment = align(run, truth, self.conventions, whole=whole)
        bind(self.metrics.values(), alignment, self.context)
        values, weights = self._columns(alignment, self.unit_metrics)
        columns: dict[Column, Values] = {("value", heading): column for heading, column in values.items()}
        columns |= {("weight", heading): column for heading, column in weights.items()}
        columns |= self._orders_of_ties(run, truth, alignment)
        if self.first_hits_from is not None:
            rank, length = first_hits(alignment, self.first_hits_from, threads=self.threads)
            columns |= {("first", "rank"): rank, ("first", "length"): length}
        counted, marks = count(alignment, self.deepest, self.context.train)
        columns["named", "users"] = marks.astype(np.float64)
        return UserTally(truth.queries, columns, self._counts(alignment, values, counted))

    def combine(self, name: str, tally: UserTally) -> Judgement:
        """Return the evaluation of the run ``name`` from the tally of all users; raise for unusable input."""
        counts, columns = tally.counts, tally.columns
        counts.raise_if_unusable(self.conventions)
        rows = tuple(self._summary(name, heading, metric, tally) for heading, metric in self.metrics.items())
        findings = diagnose(
            "lists",
            system=name,
            rows=rows,
            conventions=self.conventions,
            deepest=self.deepest,
            train=self.context.train,
            tie_ranges={heading: self._tie_range(columns, heading) for kind, heading in columns if kind == ORDERS[0]},
            exclusions=self._exclusions(counts),
            **counts.counted.facts(counts.alignment),
        )
        values, weights = ({key[1]: column for key, column in columns.items() if key[0] == kind} for kind in KINDS)
        first = None
        if self.first_hits_from is not None:
            first = SystemHits(columns["first", "rank"], columns["first", "length"], counts.alignment.extra_queries)
        worst, best = (columns.get((order, self.main_metric)) for order in ORDERS)
        return Judgement(
            values, weights, rows, findings, first, columns["named", "users"].astype(np.uint8),
            None if worst is None or best is None else (worst, best),
        )  # fmt: skip

    def _tie_range(self, columns: Columns, heading: str) -> TieRange:
        """Return the means of a metric in the worst and best order of ties, and twice the standard error of the mean.

        Twice the standard error is about half the width of an interval.
        """
        power, weights = self.unit_metrics[heading].power, columns.get(("weight", heading))
        worst, best = sorted(mean_of(columns[order, heading], weights, power) for order in ORDERS)
        return TieRange(worst, best, 2 * standard_error(columns["value", heading]))

    def values(self, run: Run, truth: Truth) -> ValuesByHeading:
        """Return only the values of all users, by metric heading; metrics without a value per user are left out."""
        return self.values_and_exposures(run, truth, whole=True)[0]

    def unit_values(self, run: Run, truth: Truth) -> tuple[ValuesByHeading, ValuesByHeading]:
        """Return (values, weights) by metric, for a truth with only some relevant items, such as those of one genre.

        They are arrays over the users of ``truth``. Weights are there only for metrics that have any.
        """
        alignment = align(run, truth, self.conventions, whole=False)
        bind(self.metrics.values(), alignment, self.context)
        return self._columns(alignment, self.unit_metrics)

    def values_and_exposures(
        self, run: Run, truth: Truth, *, whole: bool = False
    ) -> tuple[ValuesByHeading, dict[str, Exposure]]:
        """Return the values of the users of ``truth``, and how often each item was recommended, both by metric heading.

        The second dict has only metrics of the catalogue, such as coverage. ``whole`` says that ``truth`` has all
        users.
        """
        alignment = align(run, truth, self.conventions, whole=whole)
        bind(self.metrics.values(), alignment, self.context)
        return self._columns(alignment, self.unit_metrics)[0], self._exposures(alignment)

    def _counts(self, alignment: Alignment, values: ValuesByHeading, counted: CheckCounts) -> Counts:
        lengths, scores = alignment.judged_lengths, alignment.run.score_column
        cutoffs = {heading: metric.k for heading, metric in self.metrics.items()}
        return Counts(
            alignment.counts,
            SharedIds.of(alignment),
            alignment.unmatched,
            {heading: 0 if k is None else int(np.count_nonzero(lengths < k)) for heading, k in cutoffs.items()},
            {heading: metric.addends(alignment) for heading, metric in self.metrics.items()},
            self._exposures(alignment),
            counted,
            bool(self.excludes) and any((column == 0).any() for column in values.values()),
            bool(self.excludes) and scores is not None and bool((scores <= 0).any()),
            int(lengths.max(initial=0)),
        )

    def _exposures(self, alignment: Alignment) -> dict[str, Exposure]:
        """Return how often each item was recommended, for each metric of the catalogue, such as coverage."""
        return {
            heading: exposure_of(alignment, self.context, metric.catalogue, metric.k)
            for heading, metric in self.metrics.items()
            if isinstance(metric, CatalogueMetric)
        }

    def _exclusions(self, counts: Counts) -> tuple[str, ...]:
        """Return, as texts, in which points the results differ from those of the library that the profile imitates.

        Only points that these inputs (by their ``counts``) and metrics show are returned, such as tied scores.
        """
        present = {
            "tied scores": counts.alignment.tied_rows,
            "repeated items": counts.alignment.duplicate_rows,
            "users without truth": counts.alignment.extra_queries,
            "users without a hit": counts.some_zero,
            "scores of 0 or less": counts.low_scores,
        }
        names = {parse(heading).name for heading in self.metrics}
        return tuple(str(one) for one in self.excludes if present.get(one.when) and one.concerns(names))

    def _columns(
        self, alignment: Alignment, metrics: Mapping[str, UnitMetric]
    ) -> tuple[ValuesByHeading, ValuesByHeading]:
        """Return (values, weights) of all users, both by metric heading; only weighted metrics have weights.

        Blocks of users run in parallel.
        """
        n, cutoffs = alignment.match.size, [metric.k for metric in metrics.values()]
        depth = WHOLE_LIST if None in cutoffs or not cutoffs else max(k for k in cutoffs if k is not None)
        progress = cumulative_progress(self.progress, f"judging {alignment.run.name}", n)
        return measure_blocks(
            metrics, n, lambda begin, end: alignment.block(begin, end, depth), size=users_per_block(alignment),
            threads=self.threads, progress=progress,
        )  # fmt: skip

    def _summary(self, name: str, heading: str, metric: Metric, tally: UserTally) -> Summary:
        """Return the row of one metric: its mean and its counts. Bounds are added later, for all systems together."""
        counts = tally.counts
        row = row_of(
            (name, heading),
            metric,
            float("nan"),
            counts.alignment.lists,
            missing=counts.alignment.missing,
            short=counts.short[heading],
            duplicate=counts.alignment.duplicate_rows,
            parameters=self._data_parameters(heading, metric, counts),
            accompanying=metric.accompanying(counts.addends[heading], self.context),
        )
        if not isinstance(metric, UnitMetric):
            assert isinstance(metric, CatalogueMetric), "a metric of lists is of users or of the catalogue"
            return replace(row, mean=metric.measure(counts.exposures[heading].counts))
        values, weights = tally.columns["value", heading], tally.columns.get(("weight", heading))
        undefined = int(np.count_nonzero(np.isnan(values)))
        skipped = row.missing if getattr(metric, "missing", "zero") == "skip" else 0
        mean = mean_of(values, weights, metric.power)
        return replace(row, mean=mean, n=values.size - undefined, undefined=undefined - skipped)

    def _data_parameters(self, heading: str, metric: Metric, counts: Counts) -> dict[str, Value]:
        """Return what a metric was computed over: the longest list, the catalogue, the features of items."""
        found: dict[str, Value] = {PLACES: counts.longest} if metric.is_uncut else {}
        if isinstance(metric, CatalogueMetric):
            found[CATALOGUE_ITEMS] = counts.exposures[heading].counts.size
        if "items" in metric.needed and (items := self.context.items) is not None:
            found[FEATURES] = f"{items.names.len():,} in {items.sources}"
        return found

    def _orders_of_ties(self, run: Run, truth: Truth, alignment: Alignment) -> dict[Column, Values]:
        """Return the values of ranking metrics for the worst and for the best order of tied rows.

        The keys are ("pessimistic", heading) and ("optimistic", heading). Return nothing if no rows tie, or if the
        conventions give ties a value of their own, such as the expectation.
        """
        if not alignment.counts.tied_rows or self.conventions.ties not in ARBITRARY:
            return {}
        ranked = {heading: metric for heading, metric in self.unit_metrics.items() if metric.family == "ranking"}
        columns: dict[Column, Values] = {}
        if self.conventions.ties != "id":  # under both orders, tied rows of a run ascend by id
            alignment = align(run, truth, replace(self.conventions, ties=ORDERS[0]), whole=alignment.whole)
        first, last = tie_bounds(alignment.run)
        for order in ORDERS:
            conventions = replace(self.conventions, ties=order)
            other = replace(alignment, conventions=conventions, tie_first=first, tie_last=last, bound={}, unmatched={})
            bind(ranked.values(), other, self.context)
            columns |= {(order, heading): column for heading, column in self._columns(other, ranked)[0].items()}
        return columns


def cumulative_progress(report: StageProgress | None, stage: str, of: int) -> Progress | None:
    """Return a callback that adds up increments and reports how much of a stage is done; None without ``report``.

    ``stage`` names the stage, and ``of`` is the sum of all its increments.
    """
    done = 0
    if report is None:
        return None

    def add(more: int) -> None:
        nonlocal done
        done += more
        report(stage, done, of)

    return add


def first_hits(
    alignment: Alignment, relevant_from: float, depth: int = WHOLE_LIST, *, threads: int | None = None
) -> tuple[Values, Values]:
    """Return, per user, the rank of the first relevant item down to ``depth``, and the length of the list.

    The rank is 0 if the list has no relevant item, and NaN for users without one; the length is NaN for users without a
    list.
    """
    truth, rank, length = alignment.truth, np.empty(alignment.match.size), np.full(alignment.match.size, np.nan)

    def fill(begin: int, end: int) -> None:
        rank[begin:end] = alignment.block(begin, end, depth).first_relevant(depth, relevant_from)

    each_block(fill, rank.size, size=users_per_block(alignment), threads=threads)
    rank[truth.gains[truth.offsets[:-1]] < relevant_from] = np.nan  # the highest gain of a user comes first
    length[alignment.match >= 0] = alignment.judged_lengths
    return rank, length
