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

import numpy as np

from recassay.checks import diagnose
from recassay.checks.counts import CheckCounts
from recassay.checks.lists import TieRange, count
from recassay.columnar.layout import groups_per_block
from recassay.data.interactions import Interactions
from recassay.data.run import Run
from recassay.data.truth import Truth, TruthStatistics
from recassay.engine.finish import row_of
from recassay.engine.tally import ORDERS, Column, Columns, Counts, UserTally, measure_blocks
from recassay.metrics.align import WHOLE_LIST, Alignment, Conventions, align
from recassay.metrics.base import CatalogueMetric, Metric, UnitMetric
from recassay.metrics.catalogue import Exposure, exposure_of
from recassay.metrics.context import Context, bind
from recassay.metrics.refusals import SharedIds, raise_if_unusable
from recassay.metrics.ties import ARBITRARY, tie_bounds
from recassay.naming.grammar import Value, parse
from recassay.profiles.base import Exclusion
from recassay.results.finding import Finding
from recassay.results.scores import CATALOGUE_ITEMS, FEATURES, PLACES, Marks, Summary, Values
from recassay.stats.intervals import mean_of
from recassay.threads import Progress, StageProgress, each_block

USERS_PER_BLOCK = 32_768
ROWS_PER_BLOCK = 1 << 20
COUNTED_AS = {  # the count that shows the circumstance of an exclusion
    "tied scores": "tied_rows",
    "repeated items": "duplicate_rows",
    "users without truth": "extra_queries",
    "users without a hit": "zeros",
    "scores of 0 or less": "low_scores",
}

ValuesByHeading = dict[str, Values]


def users_per_block(alignment: Alignment) -> int:
    """Return the number of users of a block, the unit of work of a thread.

    It is smaller for long lists, so that few users with long lists are spread over all threads too.
    """
    users, rows = alignment.match.size, alignment.run.items.size
    return groups_per_block(users, rows, most=USERS_PER_BLOCK, most_rows=ROWS_PER_BLOCK)


@dataclass(frozen=True, eq=False)
class Judgement:
    """The evaluation of one run: summary rows, findings (problems of the input), and arrays with a value per user.

    ``columns`` has such an array for each (kind, metric heading); values for the worst and the best order of tied rows
    are kept for the main metric only. ``named`` says which findings apply to each user, and ``extra`` counts lists of
    users outside the truth. The run itself is not kept.
    """

    rows: tuple[Summary, ...]
    findings: tuple[Finding, ...]
    columns: Columns
    named: Marks
    extra: int


@dataclass(frozen=True, eq=False)
class Job:
    """Metrics, conventions and side data (such as item features), ready to evaluate runs against any truth.

    If ``first_hits_from`` is given, the rank of the first item with at least this gain is kept for each user.
    ``excludes`` are the differences from another library's numbers that a profile, which imitates it, leaves.
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
        """Return the metrics that have a value for every user, keyed by heading."""
        return {heading: metric for heading, metric in self.metrics.items() if isinstance(metric, UnitMetric)}

    @property
    def main_metric(self) -> str:
        """Return the heading of the first metric with a value per user that measures quality; "" if there is none.

        Metrics that only describe lists, such as diversity, do not count, nor do those where neither more nor less is
        better.
        """
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
        """Return a copy with ``train`` as the training log, for example the rows of only some users."""
        return replace(self, context=replace(self.context, train=train))

    def measure(
        self, run: Run, truth: Truth, *, whole: bool = False
    ) -> tuple[Alignment, ValuesByHeading, ValuesByHeading]:
        """Return (alignment, values, weights): a run aligned with a truth, and two dicts keyed by metric heading.

        They have the values and the weights of users; only weighted metrics have weights. ``truth`` may have only some
        of the users or relevant items, unless it is the ``whole`` truth: then input that cannot be judged is an error,
        which a part alone cannot show.
        """
        alignment = align(run, truth, self.conventions, whole=whole)
        bind(self.metrics.values(), alignment, self.context)
        return alignment, *self._measure(alignment, self.unit_metrics)

    def exposures(self, alignment: Alignment) -> dict[str, Exposure]:
        """Return how often each item of the catalogue was recommended, for each catalogue metric, such as coverage."""
        return {
            heading: exposure_of(alignment, self.context, metric.catalogue, metric.k)
            for heading, metric in self.metrics.items()
            if isinstance(metric, CatalogueMetric)
        }

    def judge(self, run: Run, truth: Truth) -> Judgement:
        """Return the values, means and findings of a run against the truth."""
        return self.combine(run.name, self.judge_part(run, truth, whole=True))

    def judge_part(self, run: Run, truth: Truth, *, whole: bool = False) -> UserTally:
        """Return the values and counts of the users in ``truth``, which may be only some of all users."""
        alignment, values, weights = self.measure(run, truth, whole=whole)
        columns: dict[Column, Values] = {("value", heading): column for heading, column in values.items()}
        columns |= {("weight", heading): column for heading, column in weights.items()}
        if alignment.counts.tied_rows and self.conventions.ties in ARBITRARY:
            columns |= self._orders_of_ties(run, truth, alignment)
        if self.first_hits_from is not None:
            rank, length = first_hits(alignment, self.first_hits_from, threads=self.threads)
            columns |= {("first", "rank"): rank, ("first", "length"): length}
        counted, marks = count(alignment, self.deepest, self.context.train)
        columns["named", "users"] = marks.astype(np.float64)
        if self.excludes:
            scores = alignment.run.score_column
            low = scores is not None and bool((scores <= 0).any())
            counted += CheckCounts({"zeros": any((one == 0).any() for one in values.values()), "low_scores": low})
        cutoffs, lengths = {heading: one.k for heading, one in self.metrics.items()}, alignment.judged_lengths
        counts = Counts(
            alignment.counts,
            SharedIds.of(alignment),
            alignment.unmatched,
            {heading: 0 if k is None else int(np.count_nonzero(lengths < k)) for heading, k in cutoffs.items()},
            {heading: metric.addends(alignment) for heading, metric in self.metrics.items()},
            self.exposures(alignment),
            counted,
        )
        return UserTally(truth.queries, columns, counts)

    def combine(self, name: str, tally: UserTally) -> Judgement:
        """Return the evaluation of the run ``name`` from the values and counts (``tally``) of all its users.

        Raise an error if run and truth do not fit each other.
        """
        counts, columns = tally.counts, tally.columns
        raise_if_unusable(counts.alignment, counts.shared_ids, self.conventions)
        for error in counts.unmatched.values():
            if error is not None:
                raise error
        facts = counts.counted.facts(counts.alignment)
        rows = tuple(self._summary(name, heading, tally) for heading in self.metrics)
        findings = diagnose(
            "lists",
            system=name,
            rows=rows,
            conventions=self.conventions,
            deepest=self.deepest,
            train=self.context.train,
            tie_ranges={heading: self._tie_range(columns, heading) for kind, heading in columns if kind == ORDERS[0]},
            exclusions=tuple(
                str(one)
                for one in self.excludes  # points that these inputs and metrics show
                if COUNTED_AS.get(one.when) in facts and one.concerns({parse(heading).name for heading in self.metrics})
            ),
            **facts,
        )
        kept = {key: column for key, column in columns.items() if key[0] not in ORDERS or key[1] == self.main_metric}
        named = columns["named", "users"].astype(np.uint8)
        return Judgement(rows, findings, kept, named, counts.alignment.extra_queries)

    def _measure(
        self, alignment: Alignment, metrics: Mapping[str, UnitMetric]
    ) -> tuple[ValuesByHeading, ValuesByHeading]:
        """Return (values, weights) of all users by some metrics: two dicts keyed by heading. Blocks run in parallel."""
        n, cutoffs = alignment.match.size, [metric.k for metric in metrics.values()]
        depth = WHOLE_LIST if None in cutoffs or not cutoffs else max(k for k in cutoffs if k is not None)
        doing = f"judging {alignment.run.name}"
        progress = None if self.progress is None else cumulative_progress(self.progress, doing, n)
        return measure_blocks(
            metrics, n, lambda begin, end: alignment.block(begin, end, depth), size=users_per_block(alignment),
            threads=self.threads, progress=progress,
        )  # fmt: skip

    def _orders_of_ties(self, run: Run, truth: Truth, alignment: Alignment) -> dict[Column, Values]:
        """Return the values of ranking metrics for the worst and for the best order of tied rows.

        The keys are ("pessimistic", heading) and ("optimistic", heading).
        """
        ranked = {heading: metric for heading, metric in self.unit_metrics.items() if metric.family == "ranking"}
        columns: dict[Column, Values] = {}
        if self.conventions.ties != "id":  # under both orders, tied rows of a run ascend by id
            alignment = align(run, truth, replace(self.conventions, ties=ORDERS[0]), whole=alignment.whole)
        first, last = tie_bounds(alignment.run)
        for order in ORDERS:
            conventions = replace(self.conventions, ties=order)
            other = replace(alignment, conventions=conventions, tie_first=first, tie_last=last, bound={}, unmatched={})
            bind(ranked.values(), other, self.context)
            columns |= {(order, heading): column for heading, column in self._measure(other, ranked)[0].items()}
        return columns

    def _tie_range(self, columns: Columns, heading: str) -> TieRange:
        """Return the means of a metric in the worst and best order of ties, and twice the standard error of the mean.

        Twice the standard error is about half the width of an interval. It is 0 for a single user, and NaN if a value
        is infinite.
        """
        power, weights = self.unit_metrics[heading].power, columns.get(("weight", heading))
        worst, best = sorted(mean_of(columns[order, heading], weights, power) for order in ORDERS)
        values = columns["value", heading]
        values = values[~np.isnan(values)]
        with np.errstate(invalid="ignore"):  # infinity minus infinity
            return TieRange(worst, best, 2 * values.std(ddof=1) / np.sqrt(values.size) if values.size > 1 else 0.0)

    def _summary(self, name: str, heading: str, tally: UserTally) -> Summary:
        """Return the row of one metric: its mean, its counts, and parameters such as the length of the longest list.

        Bounds are added later, for all systems together.
        """
        metric, counts, features = self.metrics[heading], tally.counts, self.context.items
        longest = counts.counted.ranges.get("lengths", (0, 0))[1]
        over: dict[str, Value] = {PLACES: longest} if metric.is_uncut else {}
        if isinstance(metric, UnitMetric):
            values, weights = tally.columns["value", heading], tally.columns.get(("weight", heading))
            mean, undefined = mean_of(values, weights, metric.power), int(np.count_nonzero(np.isnan(values)))
            n = values.size - undefined
            undefined -= counts.alignment.missing if getattr(metric, "missing", "zero") == "skip" else 0
        else:
            assert isinstance(metric, CatalogueMetric), "a metric of lists is of users or of the catalogue"
            exposure = counts.exposures[heading].counts
            mean, n, undefined = metric.measure(exposure), counts.alignment.lists, 0
            over[CATALOGUE_ITEMS] = exposure.size
        if "items" in metric.needed and features is not None:
            over[FEATURES] = f"{features.names.len():,} in {features.sources}"
        return row_of(
            (name, heading),
            metric,
            mean,
            n,
            missing=counts.alignment.missing,
            short=counts.short[heading],
            duplicate=counts.alignment.duplicate_rows,
            undefined=undefined,
            parameters=over,
            accompanying=metric.accompanying(counts.addends[heading], self.context),
        )


def cumulative_progress(report: StageProgress, stage: str, of: int) -> Progress:
    """Return a callback that adds up increments and reports how much of a stage is done.

    ``stage`` names the stage, and ``of`` is the sum of all its increments.
    """
    done = 0

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
