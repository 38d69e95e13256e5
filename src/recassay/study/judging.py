"""How a study judges the runs of one fold: under every design, and one system against another."""

from __future__ import annotations

from collections.abc import Mapping

from recassay.comparison.compare import Comparison, compare
from recassay.data.fold import Fold
from recassay.data.run import Run
from recassay.data.scores import Scores
from recassay.engine.score import score
from recassay.study.plan import Plan


def judge_fold(
    plan: Plan, fold: Fold, runs: Mapping[str, Run], *, trial: bool = False, threads: int | None = None
) -> dict[str, Scores]:
    """Scores by design; a trial leaves the intervals out."""
    how = plan.study.judge
    return {
        design: score(
            dict(runs),
            plan.protocol.truth(fold),
            list(plan.metrics),
            train=fold.train,
            interval=None if trial or how.interval == "none" else how.interval,
            level=how.level,
            resamples=how.resamples,
            seed=how.seed,
            threads=threads,
        )
        for design in plan.designs
    }


def compared(plan: Plan, scores: Scores, *, threads: int | None = None) -> Comparison | None:
    """The comparison a study asks for; None where there is nothing to compare, or no baseline to compare with."""
    how, judge = plan.study.compare, plan.study.judge
    lost = how.baseline is not None and how.baseline not in scores.systems
    if len(scores.systems) < 2 or not scores.unit_metrics or lost:
        return None
    return compare(
        scores, baseline=how.baseline, test=how.test, correction=how.correction, level=judge.level, seed=judge.seed,
        threads=threads,
    )  # fmt: skip
