"""How a study judges the runs of one fold: under every design, and one system against another."""

from __future__ import annotations

from collections.abc import Mapping

from recassay.comparison.compare import Comparison, compare
from recassay.data.assay import Worth
from recassay.data.finding import Finding
from recassay.data.fold import Fold
from recassay.data.run import Run
from recassay.data.scores import Scores
from recassay.designs import Design
from recassay.designs.sets import Short
from recassay.engine.judge import judge
from recassay.engine.score import score
from recassay.split.base import Split
from recassay.study.plan import LISTS, AnyPlan, Plan
from recassay.study.verdict import Verdict

UNIFORM = "uniform_items"


def judge_fold(
    plan: Plan,
    split: Split,
    fold: Fold,
    runs: Mapping[str, Run],
    *,
    trial: bool = False,
    short: Short | None = None,
    threads: int | None = None,
) -> tuple[dict[str, Verdict], tuple[Finding, ...]]:
    """What runs are worth, by design, and what was found by looking at all designs together.

    A trial leaves out all that is uncertain. ``short`` stands in for what the study says of too few candidates.
    """
    findings: tuple[Finding, ...] = ()
    designs = designs_for(plan, split)
    found = {LISTS: Verdict(_score_lists(plan, fold, runs, trial, threads))} if LISTS in designs else {}
    closed = [design for design in designs if isinstance(design, Design)]
    if closed:
        how = plan.study.judge
        assay = judge(
            runs,
            closed,
            list(plan.metrics),
            users=how.users,
            short=short or how.short,
            variance=not trial,
            interval=None if trial else how.method,
            level=how.level,
            resamples=how.resamples,
            seed=how.seed,
            threads=threads,
        )
        findings = assay.findings
        worth: dict[str, dict[tuple[str, str], Worth]] = {str(design): {} for design in closed}
        for row in assay.rows:
            worth[row.design][row.system, row.metric] = row
        found |= {design: Verdict(assay.scores(design), worth[design]) for design in worth}
    return {str(design): found[str(design)] for design in designs}, findings


def designs_for(plan: Plan, split: Split) -> tuple[str | Design, ...]:
    """The designs of a study that make sense on a split; one that makes sense on none of its splits stays, to be told.

    U1R and UAR need uniform test items; and there, items that are no candidates are sure misses, which rules out AI.
    """
    return tuple(
        design
        for design in plan.designs
        if _fits(design, split) or not any(_fits(design, other) for other in plan.splits)
    )


def _fits(design: str | Design, split: Split) -> bool:
    if isinstance(design, str):
        return True
    return design.base != "AI" if split.name == UNIFORM else not design.uniform_items


def _score_lists(plan: Plan, fold: Fold, runs: Mapping[str, Run], trial: bool, threads: int | None) -> Scores:
    how = plan.study.judge
    return score(
        dict(runs),
        plan.protocol.truth(fold),
        list(plan.metrics),
        train=fold.train,
        items=fold.items,
        interval=None if trial else how.method,
        level=how.level,
        resamples=how.resamples,
        seed=how.seed,
        threads=threads,
    )


def compared(plan: AnyPlan, scores: Scores, *, threads: int | None = None) -> Comparison | None:
    """The comparison a study asks for; None where there is nothing to compare, or no baseline to compare with."""
    how, level, seed = plan.study.compare, plan.study.judge.level, plan.study.judge.seed
    lost = how.baseline is not None and how.baseline not in scores.systems
    if len(scores.systems) < 2 or not scores.unit_metrics or lost:
        return None
    return compare(
        scores,
        baseline=how.baseline,
        test=how.test,
        correction=how.correction,
        level=level,
        seed=seed,
        threads=threads,
    )
