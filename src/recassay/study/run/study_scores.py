"""Scores of the systems of a study: on one fold under every design, over all folds, and compared with each other.

Over folds, every pair of user and fold has the weight that it has in its fold. A user's value is the weighted mean of
the user's values, and the weight is the sum of their weights. So the mean over users is the mean over all pairs. The
interval resamples users with all their folds, because values of one user in different folds are not independent.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.checks.base import CHECKS
from recassay.comparison.compare import Comparison, SignificanceOptions, compare
from recassay.data.fold import Fold
from recassay.data.memberships import Memberships
from recassay.data.read import read_training
from recassay.data.run import Run
from recassay.data.truth import Truth
from recassay.designs import Design
from recassay.engine.finish import assemble, finish
from recassay.engine.lists.groups import ItemGroups
from recassay.engine.lists.job import Job
from recassay.engine.lists.score import ScoreInputs, score_job
from recassay.engine.lists.score_joins import TRUTH
from recassay.engine.options import ConventionOptions, DesignOptions, Execution
from recassay.engine.ranks.judge import JudgeRequest, judge_in_memory
from recassay.metrics.base import Metric, truth_statistics_for
from recassay.metrics.credit import NoFormula
from recassay.results.design_scores import DesignScore
from recassay.results.finding import Finding
from recassay.results.scores import CATALOGUE_ITEMS, PLACES, POPULATION, Marks, Scores, Summary, Values
from recassay.split.base import Split
from recassay.stats.group_means import defined_weights, pooled_values
from recassay.stats.intervals import Uncertainty, mean_of
from recassay.study.plan.plan import LISTS, AnyPlan, Plan

Key = tuple[str, str]  # system, metric
COUNTS = ("missing", "short", "duplicate", "undefined")
DESIGN_COLUMNS = ("rho", "t", "random", "best", "corrected", "sd_draws", "sets", "unlisted")
UNIFORM = "uniform_items"
Parts = tuple[object, ...] | None  # what the result of a system depends on; None: it is not stored
Remember = Callable[[str, Parts, Callable[[], Any]], Any]  # of a system, with its parts and computation
NO_INTERVALS = Uncertainty(None)


@dataclass(frozen=True, eq=False)
class StudyScores:
    """The scores of all systems under one design (which items are ranked), on one fold or over all folds.

    ``design_rows`` have the numbers that only designs have, by (system, metric); they are empty for ranked lists. If
    units are not users, ``users`` holds the user of every unit. ``times`` are the times of units that have one.
    """

    scores: Scores
    design_rows: Mapping[Key, DesignScore] = field(default_factory=dict)
    users: pl.Series | None = None
    times: pl.Series | None = None
    item_groups: tuple[ItemGroups, ...] = ()  # of ranked lists, if the study asks for groups of items

    def frame(self, **identity: str | int | None) -> pl.DataFrame:
        """Return a table with a row per system and user (or other unit) and a column per metric.

        ``identity`` gives further columns, such as the data set.
        """
        table, systems = self.scores.frame(**identity), len(self.scores.systems)
        if self.users is not None:
            table = table.with_columns(user=pl.concat([self.users] * systems))
        if self.times is not None:
            times = pl.concat([self.times] * systems).alias("time")
            table.insert_column(table.columns.index("user") + 1, times)
        return table

    def of(self, systems: Sequence[str], metrics: Sequence[str]) -> StudyScores:
        """Return the scores of these systems by these metrics only."""
        scores = self.scores
        keys = set(itertools.product(systems, metrics))
        return dataclasses.replace(
            self,
            scores=dataclasses.replace(
                scores,
                systems=tuple(systems),
                metrics=tuple(metrics),
                per_unit={key: column for key, column in scores.per_unit.items() if key in keys},
                per_unit_weights={key: column for key, column in scores.per_unit_weights.items() if key in keys},
                rows=tuple(row for row in scores.rows if (row.system, row.metric) in keys),
                named=scores.named and {system: scores.named[system] for system in systems},
                tie_orders={key: orders for key, orders in scores.tie_orders.items() if key in keys},
            ),
            design_rows={key: row for key, row in self.design_rows.items() if key in keys},
        )

    def rows(self) -> list[dict[str, Any]]:
        """Return a row per system and metric, ready for JSON."""
        of_design = {
            key: {name: numbers[name] for name in DESIGN_COLUMNS}
            for key, row in self.design_rows.items()
            for numbers in [row.to_dict()]
        }
        return [
            {"system": row.system, "metric": row.metric, **row.to_dict(), **of_design.get((row.system, row.metric), {})}
            for row in self.scores.rows
        ]


def pool_folds(
    folds: Sequence[StudyScores], how: Uncertainty, *, metrics: Mapping[str, Metric], threads: int | None = None
) -> StudyScores:
    """Return the scores of the same systems over several folds, under one design (which items are ranked).

    The value of a user who is tested in several folds is the mean over these folds, weighted by the user's weight in
    each of them (1 unless the metric has weights). The mean is then over all users. A metric without values per user
    gets the mean of the folds' means. ``n`` counts users; ``missing`` and similar counts are sums over folds. ``how``
    has the settings of intervals.
    """
    if len(folds) == 1:
        return folds[0]
    scores = [fold.scores for fold in folds]
    units = pl.concat([fold.units for fold in scores]).unique().sort()
    places = [units.search_sorted(fold.units).to_numpy() for fold in scores]
    values, weights, rows = {}, {}, []
    for one in scores[0].rows:
        key, power = (one.system, one.metric), float(getattr(metrics[one.metric], "power", 1))
        row = _summary_over_folds([fold.row(*key) for fold in scores])
        if one.metric in scores[0].unit_metrics:
            parts = ((at, fold.values(*key), _weights(fold, key)) for fold, at in zip(scores, places, strict=True))
            values[key], weights[key] = pooled_values(parts, units.len(), power)
            mean = mean_of(values[key], weights[key], power)
            row = dataclasses.replace(row, mean=mean, n=int((weights[key] > 0).sum()))
        rows.append(row)
    whole = finish(
        units,
        {heading: metrics[heading] for heading in scores[0].metrics},
        rows,
        values,
        weights,
        how,
        threads=threads,
        settings=scores[0].settings,
        named=_pooled_marks(scores, places, units.len()),
    )
    design_rows = {}
    for row in whole.rows:
        key = row.system, row.metric
        if key in folds[0].design_rows:
            shares = [float(_weights(fold, key).sum()) for fold in scores]
            design_rows[key] = _pooled_row(row, [fold.design_rows[key] for fold in folds], shares)
    item_groups = [
        ItemGroups.pooled(parts, [fold.units for fold in scores], units)
        for parts in zip(*(fold.item_groups for fold in folds), strict=True)
    ]
    return StudyScores(whole, design_rows, item_groups=tuple(item_groups))


def _pooled_marks(folds: Sequence[Scores], places: Sequence[NDArray[np.int64]], size: int) -> dict[str, Marks] | None:
    """Return ``{system: marks}``: a bit mask per user of the findings (warnings) that name the user in any fold.

    ``places`` has, for each fold, the indices of its users among all ``size`` users. None if a fold has no marks.
    """
    marks = {system: np.zeros(size, np.uint8) for system in folds[0].systems}
    for fold, at in zip(folds, places, strict=True):
        if fold.named is None:
            return None
        for system, of_fold in fold.named.items():
            marks[system][at] |= of_fold
    return marks


def _weights(scores: Scores, key: Key) -> Values:
    """Return the weight of every user (or other unit) for a system and metric, 0 if its value is undefined."""
    return defined_weights(scores.values(*key), scores.weights(*key))


def _summary_over_folds(rows: Sequence[Summary]) -> Summary:
    """Return the summary over folds of one metric: sums of the counts, and the unweighted mean of the means."""
    counts = {name: sum(getattr(row, name) for row in rows) for name in ("n", *COUNTS)}
    accompanying = {
        name: float(np.mean([row.accompanying.get(name, math.nan) for row in rows])) for name in rows[0].accompanying
    }
    mean = float(np.mean([row.mean for row in rows]))
    parameters = dict(rows[0].parameters)
    if PLACES in parameters:
        parameters[PLACES] = max(int(row.parameters.get(PLACES, 0)) for row in rows)  # type: ignore[arg-type]
    if len({row.parameters.get(CATALOGUE_ITEMS) for row in rows}) > 1:  # every fold has a catalogue of its own
        del parameters[CATALOGUE_ITEMS]
    return dataclasses.replace(
        rows[0], mean=mean, low=math.nan, high=math.nan, parameters=parameters, accompanying=accompanying, **counts
    )


def _pooled_row(row: Summary, folds: Sequence[DesignScore], weights: Sequence[float]) -> DesignScore:
    """Return the numbers of one system and metric under a design over all folds: weighted means, and sums of counts.

    A design says which items are ranked as candidates. ``row`` has the mean over folds with its interval, and
    ``weights[i]`` is the weight of ``folds[i]``.
    """
    share = np.array(weights) / sum(weights) if sum(weights) else np.full(len(weights), np.nan)

    def mean(name: str) -> float:
        return float(np.sum(share * np.array([getattr(fold, name) for fold in folds])))

    random, best = mean("random"), mean("best")
    room = best - random
    inverse = float(np.sum(share * np.array([1 / fold.t for fold in folds])))
    return dataclasses.replace(
        folds[0],
        mean=row.mean,
        low=row.low,
        high=row.high,
        n=row.n,
        sd_draws=math.sqrt(float(np.sum((share * np.array([fold.sd_draws for fold in folds])) ** 2))),
        random=random,
        best=best,
        corrected=(row.mean - random) / room if room else float("nan"),
        rho=mean("rho"),
        t=1 / inverse if inverse else float("nan"),
        **{name: sum(getattr(fold, name) for fold in folds) for name in ("sets", "short", "unlisted", "undefined")},
    )


# --- one fold, and comparisons --------------------------------------------------------------------------------------


def judge_fold(
    plan: Plan,
    split: Split,
    fold: Fold,
    runs: Mapping[str, Run],
    *,
    dry_run: bool = False,
    threads: int | None = None,
    remember: Remember,
) -> tuple[dict[str, StudyScores], tuple[Finding, ...]]:
    """Return ({design: scores of all systems on one fold}, findings about all designs together).

    A design says which items are ranked as candidates, and findings are warnings about results.
    ``runs`` maps each system to its ranked lists. A dry run computes no intervals and variances.
    ``remember(system, parts, compute)`` returns the result of one system: a stored one that depends on the same
    ``parts``, or ``compute()``. The parts of a result that cannot be stored are None.
    """
    findings, how = tuple[Finding, ...](), plan.study.judge
    uncertainty = NO_INTERVALS if dry_run else how.uncertainty
    designs = designs_for(plan, split)
    closed = tuple(design for design in designs if isinstance(design, Design))
    found: dict[str, StudyScores] = {}
    if LISTS in designs:
        found[LISTS] = StudyScores(_score_lists(plan, fold, runs, uncertainty, threads, remember))
    if closed:
        metrics = metrics_by_design(plan)
        options = DesignOptions(how.users, how.short, variance=not dry_run)
        texts = _metric_texts(metrics)
        parts = None if texts is None else ("design", texts, dataclasses.astuple(options))
        request = JudgeRequest(
            closed,
            metrics,
            options,
            uncertainty,
            Execution(threads=threads),
            lambda name, design, compute: remember(name, parts and (*parts, str(design)), compute),
        )
        scores = judge_in_memory(runs, request)
        findings = scores.findings
        for design in map(str, closed):
            rows = {(row.system, row.metric): row for row in scores.rows if row.design == design}
            found[design] = StudyScores(scores.scores(design), rows)
    return {str(design): found[str(design)] for design in designs if str(design) in found}, findings


def _score_lists(
    plan: Plan, fold: Fold, runs: Mapping[str, Run], uncertainty: Uncertainty, threads: int | None, remember: Remember
) -> Scores:
    job, truth = _scoring_job(plan, fold, threads)
    texts, features = _metric_texts(job.metrics), None if fold.items is None else fold.items.fingerprint
    parts = None if texts is None else ("lists", texts, fold.fingerprint, str(plan.protocol), features)
    judged = {name: remember(name, parts, functools.partial(job.judge, run, truth)) for name, run in runs.items()}
    scores = assemble(job, judged, truth.queries, uncertainty, None)
    return dataclasses.replace(
        scores,
        settings={
            **scores.settings,
            **({POPULATION: fold.how[POPULATION]} if POPULATION in fold.how else {}),
            TRUTH: truth.about,
        },
    )


def judge_item_groups(
    plan: Plan, fold: Fold, runs: Mapping[str, Run], memberships: Iterable[Memberships], threads: int | None
) -> tuple[ItemGroups, ...]:
    """Return the values of all systems on one fold by group of relevant items.

    Each of ``memberships`` says which items are in which group, by one column of the table of items; there is a result
    for each.
    """
    job, truth = _scoring_job(plan, fold, threads)
    found = [ItemGroups.of(job, truth, one) for one in memberships]
    for groups in found:
        for name, run in runs.items():
            groups.judge(name, run)
    return tuple(found)


def _scoring_job(plan: Plan, fold: Fold, threads: int | None) -> tuple[Job, Truth]:
    """Return the job that scores ranked lists on a fold as ``ra.score`` does, and the truth of the fold."""
    truth = plan.protocol.truth(fold)
    job = score_job(
        ScoreInputs(None, truth, fold.train, fold.items),
        list(plan.metrics),
        conventions=ConventionOptions(),
        execution=Execution(threads=threads),
        users=plan.study.users,
    ).with_train(read_training(fold.train))
    return job.resolved(truth_statistics_for(job.metrics.values(), truth)), truth


def _metric_texts(metrics: Mapping[str, Metric]) -> dict[str, str] | None:
    """Return ``{heading: metric as text}``, which is part of what a stored result depends on.

    Return None if a metric or a check is from outside recassay: its code may change, so its results are not stored.
    """
    modules = [type(metric).__module__ for metric in metrics.values()]
    modules += [check.ask.__module__ for check in CHECKS.kinds.values()]
    if any(not module.startswith("recassay.") for module in modules):
        return None
    return {heading: str(metric) for heading, metric in metrics.items()}


def metrics_by_design(plan: Plan) -> dict[str, Metric]:
    """Return ``{heading: metric}`` of the metrics that can be computed from ranks among chosen candidates (a design).

    If there is no such metric, or the study has no ranked lists, all are returned, so that a metric that cannot be
    computed raises an error.
    """
    by_ranks = {name: one for name, one in plan.metrics.items() if not isinstance(one.rank_formula(), NoFormula)}
    return by_ranks if by_ranks and LISTS in plan.designs else dict(plan.metrics)


def designs_for(plan: Plan, split: Split) -> tuple[str | Design, ...]:
    """Return the designs (which items are ranked) that fit a split; one that fits no split stays, for its error.

    With a split that draws as many test ratings of each candidate item, other items are certain misses, so designs that
    rank all items (AI) do not fit. Designs such as U1R and UAR, which assume uniform test items, fit only this split.
    """
    return tuple(
        design
        for design in plan.designs
        if _fits(design, split) or not any(_fits(design, other) for name in plan.data for other in plan.splits_of(name))
    )


def _fits(design: str | Design, split: Split) -> bool:
    if isinstance(design, str):
        return True
    return design.base != "AI" if split.name == UNIFORM else not design.uniform_items


def compare_systems(plan: AnyPlan, scores: Scores, *, threads: int | None = None) -> Comparison | None:
    """Return the comparison that the study asks for; None for fewer than two systems.

    All pairs are compared if the baseline failed and so has no scores.
    """
    how, judge = plan.study.compare, plan.study.judge
    if len(scores.systems) < 2 or not scores.unit_metrics:
        return None
    return compare(
        scores,
        SignificanceOptions(how.test, how.correction, level=judge.level, seed=judge.seed),
        baseline=how.baseline if how.baseline in scores.systems else None,
        threads=threads,
    )
