"""``compare``: tests every pair of systems, on the back end that holds the values of users."""

from __future__ import annotations

from recassay.api.choice import choose
from recassay.comparison.compare import FAMILIES, Comparison, SignificanceOptions
from recassay.comparison.pairs import ComparableScores
from recassay.data.nouns import kind_of, wrong_noun
from recassay.errors.arguments import checks_types
from recassay.evaluate.options import Execution, one_of
from recassay.naming.grammar import check_word
from recassay.stats.resampling import Progress


@checks_types
def compare(
    scores: ComparableScores,
    *,
    baseline: str | None = None,
    test: str = "permutation",
    correction: str = "holm",
    family: str = "metric",
    effect: str = "d_z",
    level: float = 0.95,
    seed: int = 0,
    resamples: int | str = "auto",
    threads: int | None = None,
    progress: Progress | None = None,
    testing: SignificanceOptions | None = None,
    execution: Execution | None = None,
) -> Comparison:
    """Test the difference between every pair of systems, or between every system and the baseline, by every metric.

    The difference of unit (user) i is d_i = a_i - b_i; for a weighted metric w_i a_i / mean(w) - w_i b_i / mean(w),
    whose mean is the difference of the two weighted means. A unit that is undefined for either system is dropped from
    the pair and counted. p-values are corrected over all pairs of one metric (``family="metric"``) or of all metrics
    (``"all"``). The interval is the paired bootstrap of the difference. ``test``, ``correction`` and ``effect`` name
    the test, the correction of p-values and the effect size. ``significant`` says p_adjusted <= 1 - level. The same
    units in the same order give the same bits, whatever the threads and the other systems. ``progress`` is called with
    (blocks done, blocks in total) in each round of resampling.

    ``testing`` and ``execution`` hold these keywords in groups, for callers that pass them on.

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
    if kind_of(scores) not in ("", "scores") or not hasattr(scores, "systems"):
        raise wrong_noun(scores, "scores")
    testing = one_of("testing", testing, SignificanceOptions(test, correction, effect, level, seed, resamples))
    check_word("family", family, FAMILIES)
    execution = one_of("execution", execution, Execution(threads=threads, progress=progress))
    return choose(scores, execution=execution).compare(
        scores, testing, baseline=baseline, family=family, execution=execution
    )
