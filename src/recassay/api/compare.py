"""``compare``: tests every pair of systems, or says what a table of finished means allows."""

from __future__ import annotations

from pathlib import Path
from typing import Any, overload

from recassay.comparison.compare import Comparison, SignificanceOptions
from recassay.comparison.compare import compare as compare_systems
from recassay.comparison.pairs import ComparableScores
from recassay.comparison.tables import FinishedScores
from recassay.data.nouns import kind_of, wrong_noun
from recassay.engine.finished.conclude import RESAMPLES, FinishedConclusions, conclude
from recassay.engine.finished.read import is_finished, read_finished
from recassay.errors import UsageError
from recassay.naming import choices
from recassay.naming.arguments import checks_types
from recassay.stats.resampling import Progress


@overload
def compare(
    scores: ComparableScores,
    *,
    baseline: str | None = None,
    test: choices.TestName = "permutation",
    correction: choices.Correction = "holm",
    family: choices.Family = "metric",
    effect: choices.Effect = "d_z",
    level: float = 0.95,
    seed: int = 0,
    resamples: int | str = "auto",
    threads: int | None = None,
    progress: Progress | None = None,
) -> Comparison: ...


@overload
def compare(
    scores: FinishedScores | Path | str, *, level: float = 0.95, seed: int = 0, resamples: int | str = "auto"
) -> FinishedConclusions: ...


@checks_types
def compare(
    scores: Any,
    *,
    baseline: str | None = None,
    test: choices.TestName = "permutation",
    correction: choices.Correction = "holm",
    family: choices.Family = "metric",
    effect: choices.Effect = "d_z",
    level: float = 0.95,
    seed: int = 0,
    resamples: int | str = "auto",
    threads: int | None = None,
    progress: Progress | None = None,
) -> Comparison | FinishedConclusions:
    """Test the difference between every pair of systems, or between every system and the baseline, by every metric.

    The difference of unit (user) i is d_i = a_i - b_i; for a weighted metric w_i a_i / mean(w) - w_i b_i / mean(w),
    whose mean is the difference of the two weighted means. A unit that is undefined for either system is dropped from
    the pair and counted. p-values are corrected over all pairs of one metric (``family="metric"``) or of all metrics
    (``"all"``). The interval is the paired bootstrap of the difference. ``test``, ``correction`` and ``effect`` name
    the test, the correction of p-values and the effect size. ``significant`` says p_adjusted <= 1 - level. The same
    units in the same order give the same bits, whatever the threads and the other systems. ``progress`` is called with
    (blocks done, blocks in total) in each round of resampling.

    A table of finished scores (a path, a frame, or what :func:`~recassay.overall.read_finished` returns: a mean per
    system and data set) has no values of users, so no pair can be tested within a data set. The result is then that of
    :func:`~recassay.overall.conclude`: what the means allow, and what cannot be said; only ``level``, ``seed`` and
    ``resamples`` apply, and another option is an error (U105).

    >>> import numpy as np
    >>> from types import SimpleNamespace
    >>> hits = {"als": np.array([1.0, 1, 1, 0, 1, 1]), "pop": np.array([0.0, 1, 0, 0, 0, 0])}
    >>> scores = SimpleNamespace(
    ...     systems=("als", "pop"),
    ...     unit_metrics=("hit@10",),
    ...     values=lambda system, metric: hits[system],
    ...     weights=lambda system, metric: None,
    ... )
    >>> row = compare(scores, baseline="pop").rows[0]
    >>> row.difference, row.p, row.resamples, row.note
    (0.666..., 0.125, 64, 'only 6 units: the interval deserves little trust')
    """
    if is_finished(scores):
        given: dict[str, tuple[object, object]] = {
            "baseline": (baseline, None),
            "test": (test, "permutation"),
            "correction": (correction, "holm"),
            "family": (family, "metric"),
            "effect": (effect, "d_z"),
        }
        for name in (name for name, (value, default) in given.items() if value != default):
            what = f"{name} needs values per user, and a table of finished scores has one mean per system"
            raise UsageError("U105", what, where="compare", hint="score the runs: ra.score(runs, truth, 'ndcg@10')")
        return conclude(
            read_finished(scores),
            level=level,
            seed=seed,
            resamples=RESAMPLES if resamples == "auto" else int(resamples),
        )
    if kind_of(scores) not in ("", "scores") or not hasattr(scores, "systems"):
        raise wrong_noun(scores, "scores")
    testing = SignificanceOptions(test, correction, effect, level, seed, resamples)
    return compare_systems(scores, testing, baseline=baseline, family=family, threads=threads, progress=progress)
