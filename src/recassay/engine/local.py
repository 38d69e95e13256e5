"""Judging runs on this machine: every run meets the truth once, blocks of users go over threads, metrics fill columns.

Equivalent to, and held by the tests to, this loop:

    for run in runs:
        meeting = meet(run, truth)
        for metric in metrics:
            values = [metric.checked(meeting.block(q, q + 1)) for q in range(len(truth.queries))]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from recassay.data.finding import Finding
from recassay.data.interactions import Interactions
from recassay.data.run import Run
from recassay.data.scores import PLACES, Summary, Values
from recassay.data.truth import Truth
from recassay.data.truth_facts import TruthFacts
from recassay.diagnose import Facts, TieRange, diagnose
from recassay.diagnose.base import counts_of
from recassay.diagnose.counts import Sight
from recassay.engine.parts import Column, Columns, Order, Part, Tally
from recassay.engine.worth import Worth, WorthOfColumns
from recassay.metrics.align import WHOLE_LIST, Conventions, Meeting, meet
from recassay.metrics.base import CatalogueMetric, Metric, UnitMetric
from recassay.metrics.catalogue.exposure import exposure
from recassay.metrics.context import Context, bind
from recassay.metrics.refusals import Acquaintance
from recassay.metrics.ties import ARBITRARY
from recassay.profiles.base import Exclusion
from recassay.spec import parse
from recassay.threads import Progress, each_block

USERS_PER_BLOCK = 32_768

Judged = dict[str, Values]  # by heading
Report = Callable[[str, int, int], None]  # stage, done, of


@dataclass(frozen=True, eq=False)
class Judgement:
    """What one run was worth; the run itself is no longer needed."""

    values: Judged
    weights: Judged
    rows: tuple[Summary, ...]
    findings: tuple[Finding, ...] = field(default=())


@dataclass(frozen=True, eq=False)
class Job:
    """One truth, one list of metrics, one set of conventions: judges any number of runs."""

    truth: Truth
    metrics: Mapping[str, Metric]  # by heading
    conventions: Conventions
    context: Context
    excludes: tuple[Exclusion, ...] = ()  # what the profile in force does not reproduce
    threads: int | None = None
    progress: Report | None = None

    @property
    def unit_metrics(self) -> dict[str, UnitMetric]:
        """Metrics that have a value for every unit."""
        return {heading: metric for heading, metric in self.metrics.items() if isinstance(metric, UnitMetric)}

    @property
    def deepest(self) -> int | None:
        """The largest cut-off asked for."""
        return max((metric.k for metric in self.metrics.values() if metric.k is not None), default=None)

    def settled(self, facts: TruthFacts) -> Job:
        """The same once its metrics have looked at what is known of the whole truth, and not refused it."""
        metrics = {heading: metric.resolve(facts) for heading, metric in self.metrics.items()}
        for metric in metrics.values():
            metric.prepare(facts, self.context)
        return replace(self, metrics=metrics)

    def beside(self, train: Interactions) -> Job:
        """The same with another training log, or with the rows of some users of it."""
        return replace(self, context=replace(self.context, train=train))

    def judge(self, run: Run) -> Judgement:
        """Meet the truth, fill the columns, sum up, and look for what is wrong."""
        whole = self.part(run, self.truth, whole=True)
        return self.together(run.name, whole.columns, whole.tally)

    def part(self, run: Run, truth: Truth, *, whole: bool = False) -> Part:
        """What the users of a truth are worth; unless they are the ``whole``, who has all parts sums up and refuses."""
        meeting = meet(run, truth, self.conventions, whole=whole)
        bind(self.metrics.values(), meeting, self.context)
        values, weights = self._columns(meeting, self.unit_metrics)
        columns: dict[Column, Values] = {("value", heading): column for heading, column in values.items()}
        columns |= {("weight", heading): column for heading, column in weights.items()}
        return Part(truth.queries, columns | self._orders_of_ties(run, truth, meeting), self._tally(meeting, values))

    def together(self, name: str, columns: Columns, tally: Tally) -> Judgement:
        """The judgement of a run from the columns of all units and what its parts add up to."""
        rows, findings = self.verdict(name, WorthOfColumns(self.unit_metrics, columns), tally)
        values: Judged = {heading: column for (kind, heading), column in columns.items() if kind == "value"}
        weights: Judged = {heading: column for (kind, heading), column in columns.items() if kind == "weight"}
        return Judgement(values, weights, rows, findings)

    def verdict(self, name: str, worth: Worth, tally: Tally) -> tuple[tuple[Summary, ...], tuple[Finding, ...]]:
        """Means with their counts, and what was found, from sums over all units."""
        tally.refuse(self.conventions)
        rows = tuple(self._summary(name, heading, metric, tally, worth) for heading, metric in self.metrics.items())
        facts = Facts(
            name,
            tally.met,
            self.conventions,
            rows,
            self.deepest,
            tally.counted,
            self.context.train,
            {heading: _tie_range(worth, heading) for heading in worth.reordered},
            self._exclusions(tally),
        )
        return rows, diagnose(facts)

    def values(self, run: Run) -> Judged:
        """Values of every unit under every metric that has some, and nothing else."""
        meeting = meet(run, self.truth, self.conventions)
        bind(self.metrics.values(), meeting, self.context)
        return self._columns(meeting, self.unit_metrics)[0]

    def _tally(self, meeting: Meeting, values: Judged) -> Tally:
        lengths, scores = meeting.judged_lengths, meeting.run.score_column
        cutoffs = {heading: metric.k for heading, metric in self.metrics.items()}
        return Tally(
            meeting.met,
            Acquaintance.of(meeting),
            meeting.strangers,
            {heading: 0 if k is None else int((lengths < k).sum()) for heading, k in cutoffs.items()},
            {heading: metric.pieces(meeting) for heading, metric in self.metrics.items()},
            {
                heading: exposure(meeting, self.context, metric.catalogue, metric.k)
                for heading, metric in self.metrics.items()
                if isinstance(metric, CatalogueMetric)
            },
            counts_of(Sight(meeting, self.deepest, self.context.train)),
            bool(self.excludes) and any((column == 0).any() for column in values.values()),
            bool(self.excludes) and scores is not None and bool((scores <= 0).any()),
            int(lengths.max(initial=0)),
        )

    def _exclusions(self, tally: Tally) -> tuple[str, ...]:
        """What the profile in force does not reproduce on this input, in words."""
        circumstances = {
            "tied scores": tally.met.tied_rows,
            "repeated items": tally.met.duplicate_rows,
            "users without truth": tally.met.extra_queries,
            "users without a hit": tally.some_zero,
            "scores of 0 or less": tally.low_scores,
        }
        asked = {parse(heading).name for heading in self.metrics}
        return tuple(str(one) for one in self.excludes if circumstances.get(one.when) and one.concerns(asked))

    def _columns(self, meeting: Meeting, metrics: Mapping[str, UnitMetric]) -> tuple[Judged, Judged]:
        """Values, and weights where a metric has them, of all units: filled block by block."""
        n = meeting.match.size
        values = {heading: np.empty(n) for heading in metrics}
        weights: Judged = {}
        cutoffs = [metric.k for metric in metrics.values()]
        depth = WHOLE_LIST if None in cutoffs or not cutoffs else max(k for k in cutoffs if k is not None)

        def fill(begin: int, end: int) -> dict[str, Values | None]:
            lists = meeting.block(begin, end, depth)
            for heading, metric in metrics.items():
                values[heading][begin:end] = metric.checked(lists)
            return {heading: metric.weights(lists) for heading, metric in metrics.items()}

        progress = adding(self.progress, f"judging {meeting.run.name}", n)
        parts = each_block(fill, n, size=USERS_PER_BLOCK, threads=self.threads, progress=progress)
        for heading in values if parts else ():
            blocks = [block for part in parts if (block := part[heading]) is not None]
            if blocks:
                weights[heading] = np.concatenate(blocks)
        return values, weights

    def _summary(self, name: str, heading: str, metric: Metric, tally: Tally, worth: Worth) -> Summary:
        """The mean of one metric with its counts; bounds come later, from all systems together."""
        met = tally.met
        row = Summary(
            system=name,
            metric=heading,
            mean=float("nan"),
            n=met.lists,
            missing=met.missing,
            short=tally.short[heading],
            duplicate=met.duplicate_rows,
            undefined=0,
            higher_is_better=metric.higher_is_better,
            parameters=metric.parameters | ({PLACES: tally.longest} if metric.is_uncut else {}),
            accompanying=metric.accompanying(tally.pieces[heading], self.context),
        )
        if isinstance(metric, CatalogueMetric):
            return replace(row, mean=metric.measure(tally.exposures[heading].counts))
        n, undefined = worth.counts(heading)
        skipped = met.missing if getattr(metric, "missing", "zero") == "skip" else 0
        return replace(row, mean=worth.mean(heading), n=n, undefined=undefined - skipped)

    def _orders_of_ties(self, run: Run, truth: Truth, meeting: Meeting) -> dict[Column, Values]:
        """Values in the worst and the best order of tied rows, if rows tie and an order was picked for them."""
        if not meeting.met.tied_rows or self.conventions.ties not in ARBITRARY:
            return {}
        ranked = {heading: metric for heading, metric in self.unit_metrics.items() if metric.family == "ranking"}
        found: dict[Column, Values] = {}
        orders: tuple[Order, ...] = ("pessimistic", "optimistic")
        for order in orders:
            other = meet(run, truth, replace(self.conventions, ties=order), whole=meeting.whole)
            bind(ranked.values(), other, self.context)
            found |= {(order, heading): column for heading, column in self._columns(other, ranked)[0].items()}
        return found


def adding(report: Report | None, stage: str, of: int) -> Progress | None:
    """Reports how much of a stage is done where only what comes in addition is told."""
    done = 0
    if report is None:
        return None

    def told(more: int) -> None:
        nonlocal done
        done += more
        report(stage, done, of)

    return told


def _tie_range(worth: Worth, heading: str) -> TieRange:
    """Means in the worst and the best order of ties."""
    pair = worth.mean(heading, "pessimistic"), worth.mean(heading, "optimistic")
    return TieRange(min(pair), max(pair), 2 * worth.error(heading))
