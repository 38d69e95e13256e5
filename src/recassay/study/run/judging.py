"""Scoring of the ranked lists of one fold under every design, and comparison of systems."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from recassay.checks import diagnose
from recassay.checks.base import load as checks
from recassay.comparison.compare import Comparison, SignificanceOptions, compare
from recassay.data.fold import Fold
from recassay.data.memberships import Memberships
from recassay.data.read import read_training
from recassay.data.run import Run
from recassay.data.truth import Truth
from recassay.designs import Design
from recassay.engine.finish import assemble
from recassay.engine.lists.groups import ItemGroups
from recassay.engine.lists.job import Job
from recassay.engine.lists.score import ScoreInputs, score_job
from recassay.engine.lists.score_joins import TRUTH
from recassay.engine.options import ConventionOptions, DesignOptions, Execution
from recassay.engine.ranks.judge import JudgeRequest, judge_in_memory
from recassay.metrics.base import Metric, truth_statistics_for
from recassay.metrics.credit import NoFormula
from recassay.results.finding import Finding
from recassay.results.scores import POPULATION, Scores
from recassay.split.base import Split
from recassay.stats.intervals import Uncertainty
from recassay.study.plan.plan import LISTS, AnyPlan, Plan, StreamFold
from recassay.study.run.study_scores import StudyScores

UNIFORM = "uniform_items"
Remember = Callable[
    [str, tuple[object, ...], Callable[[], Any]], Any
]  # system, what the result depends on, computation
NO_INTERVALS = Uncertainty(None)


def compute_again(_system: str, _parts: tuple[object, ...], compute: Callable[[], Any]) -> Any:
    """Return ``compute()``: a stand-in for a look-up where there are no stored results."""
    return compute()


def judge_fold(
    plan: Plan,
    split: Split,
    fold: Fold,
    runs: Mapping[str, Run],
    *,
    dry_run: bool = False,
    threads: int | None = None,
    remember: Remember = compute_again,
) -> tuple[dict[str, StudyScores], tuple[Finding, ...]]:
    """Return (scores of all systems on one fold by design, findings about all designs together).

    ``runs`` are the ranked lists by system. A dry run computes no intervals and variances. ``remember(system, parts,
    compute)`` returns the result of one system: a stored one that depends on the same ``parts``, or ``compute()``.
    """
    findings, how = tuple[Finding, ...](), plan.study.judge
    uncertainty = NO_INTERVALS if dry_run else how.uncertainty
    designs = designs_for(plan, split)
    closed = tuple(design for design in designs if isinstance(design, Design))
    found: dict[str, StudyScores] = {}
    if LISTS in designs and metrics_of(plan, fold):
        found[LISTS] = StudyScores(_score_lists(plan, fold, runs, uncertainty, threads, remember))
    if closed:
        metrics = metrics_by_design(plan)
        options = DesignOptions(how.users, how.short, variance=not dry_run)
        parts = ("design", _texts(metrics), dataclasses.astuple(options))
        recall = compute_again if parts[1] is None else remember
        request = JudgeRequest(
            closed,
            metrics,
            options,
            uncertainty,
            Execution(threads=threads),
            lambda name, design, compute: recall(name, (*parts, str(design)), compute),
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
    job, truth = _job(plan, fold, threads)
    parts = (
        "lists",
        _texts(job.metrics),
        fold.fingerprint,
        str(plan.protocol),
        None if fold.items is None else fold.items.fingerprint,
    )
    recall = compute_again if parts[1] is None else remember
    judged = {name: recall(name, parts, functools.partial(job.judge, run, truth)) for name, run in runs.items()}
    scores = assemble(job, judged, truth.queries, uncertainty, None)
    counted = {POPULATION: fold.how[POPULATION]} if POPULATION in fold.how else {}
    return dataclasses.replace(scores, settings={**scores.settings, **counted, TRUTH: truth.about})


def judge_item_groups(
    plan: Plan, fold: Fold, runs: Mapping[str, Run], memberships: Iterable[Memberships], threads: int | None
) -> tuple[ItemGroups, ...]:
    """Return the values of all systems on one fold by group of relevant items.

    Each of ``memberships`` says which items are in which group, by one column of the table of items; there is a result
    for each.
    """
    job, truth = _job(plan, fold, threads)
    found = [ItemGroups.of(job, truth, one) for one in memberships]
    for groups in found:
        for name, run in runs.items():
            groups.judge(name, run)
    return tuple(found)


def _job(plan: Plan, fold: Fold, threads: int | None) -> tuple[Job, Truth]:
    """Return the job that scores ranked lists on a fold as ``ra.score`` does, and the truth of the fold."""
    truth = plan.protocol.truth(fold)
    job = score_job(
        ScoreInputs(None, truth, fold.train, fold.items),
        metrics_of(plan, fold),
        conventions=ConventionOptions(),
        execution=Execution(threads=threads),
        users=plan.study.users,
    ).with_train(read_training(fold.train))
    return job.resolved(truth_statistics_for(job.metrics.values(), truth)), truth


def metrics_of(plan: AnyPlan, fold: Fold | StreamFold) -> list[str]:
    """Return the headings of the metrics that can be computed on a fold: without features of items some cannot."""
    return [name for name, metric in plan.metrics.items() if fold.items is not None or "items" not in metric.needed]


def absent_metrics(plan: AnyPlan, fold: Fold | StreamFold) -> tuple[Finding, ...]:
    """Return a finding if some metrics cannot be computed on a fold."""
    scored = metrics_of(plan, fold)
    return diagnose("absent metrics", metrics=[heading for heading in plan.metrics if heading not in scored])


def _texts(metrics: Mapping[str, Metric]) -> dict[str, str] | None:
    """Return the metrics as texts, by heading; they are part of what a stored result depends on.

    Return None if a metric or a check is from outside recassay: its code may change, so its results are not stored.
    """
    modules = [type(metric).__module__ for metric in metrics.values()]
    modules += [check.ask.__module__ for check in checks().values()]
    if any(not module.startswith("recassay.") for module in modules):
        return None
    return {heading: str(metric) for heading, metric in metrics.items()}


def metrics_by_design(plan: Plan) -> dict[str, Metric]:
    """Return the metrics that can be computed from ranks among chosen candidates (a design), by heading.

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
        if _fits(design, split) or not any(_fits(design, other) for other in plan.all_splits)
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
