"""Pairwise comparison of systems, or of each with a baseline: difference, interval, p-value and effect size per metric.

Both systems of a pair are compared on the units where both are defined; the units dropped are counted.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from recassay.arrays import Float
from recassay.comparison.pairs import (
    ComparableScores,
    FirstTwo,
    PairedUnits,
    PairMetric,
    Recheck,
    common_units,
    leaders,
    pair_up,
    shared_weights,
    without_findings,
)
from recassay.comparison.tables import frame_of
from recassay.data.io.write import finite
from recassay.errors import UsageError
from recassay.naming import choices
from recassay.naming.arguments import CheckedOptions
from recassay.naming.grammar import require_known, suggest
from recassay.results.scores import Scores
from recassay.shown import Displayable
from recassay.stats.differences import EFFECTS, Differences, largest_magnitude
from recassay.stats.intervals import intervals, means
from recassay.stats.resampling import Progress, ResamplingOptions
from recassay.stats.significance import adjust, run_test

FEW_UNITS = 10  # below this an interval deserves little trust
BATCH = 64  # pairs resampled together, and the values they may hold: bounds the memory, changes no bit
BATCH_VALUES = 16_000_000
FAMILIES = ("metric", "all")
MOST_IN_PAIRS = 50  # systems that are compared in all pairs


@dataclass(frozen=True)
class Row:
    """The comparison of systems ``a`` and ``b`` by one metric: the difference a - b, from ``low`` to ``high``.

    ``p_adjusted`` is ``p`` corrected for all comparisons of its family (those of the metric, or of all metrics).
    ``infinite`` counts units (usually users) with an infinite value. If there is one, the difference is infinite, or
    undefined if both means are infinite; there is then no interval, no test of means and no effect size based on means.
    """

    metric: str
    a: str
    b: str
    difference: float
    low: float
    high: float
    p: float
    p_adjusted: float
    effect: float
    n: int
    dropped: int
    test: str
    correction: str
    resamples: int
    significant: bool
    note: str = ""
    infinite: int = 0

    def swapped(self) -> Row:
        """Return the comparison of the second system with the first."""
        return dataclasses.replace(
            self, a=self.b, b=self.a, difference=-self.difference, low=-self.high, high=-self.low, effect=-self.effect
        )


@dataclass(frozen=True)
class LeadTest:
    """The test of the best system by a metric (``a``) against the second best, p adjusted over all ``pairs``.

    ``beaten`` names the systems that the best one is significantly better than.
    """

    row: Row
    pairs: int
    beaten: tuple[str, ...]


@dataclass(frozen=True, repr=False)
class Comparison(Displayable):
    """The rows of a comparison, and the options they were computed with.

    ``leads`` holds the test of the two best systems by each metric that says how good a system is. Its p-value is
    adjusted over all pairs of systems even if there is a baseline, because the data chose the two. ``rechecks`` are
    this test under the first of these metrics, computed again without the users, or ties, that each finding on the
    scores names. ``untested`` counts the pairs that were not tested, because there are many systems; p-values are
    corrected for them too.
    """

    rows: tuple[Row, ...]
    baseline: str | None
    family: str
    effect: str
    level: float
    seed: int
    leads: tuple[LeadTest, ...] = ()
    rechecks: tuple[Recheck, ...] = ()
    untested: int = 0

    def frame(self) -> pl.DataFrame:
        """Return a row per pair and metric, with columns such as a, b, difference (a - b), low, high and p."""
        return frame_of(self.rows, Row)

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return the rows of :meth:`frame` as dictionaries for JSON; undefined and infinite numbers are None."""
        return list(finite([dataclasses.asdict(row) for row in self.rows]))


@dataclass(frozen=True)
class SignificanceOptions(CheckedOptions):
    """Options of the tests of differences.

    ``test`` and ``effect`` name the test and the effect size, and ``correction`` how p-values are corrected. A
    difference is significant if its corrected p is at most 1 - ``level``. Resampling tests draw ``resamples`` with
    ``seed``.
    """

    test: choices.TestName = "permutation"
    correction: choices.Correction = "holm"
    effect: choices.Effect = "d_z"
    level: float = 0.95
    seed: int = 0
    resamples: int | str = "auto"

    @property
    def alpha(self) -> float:
        """Return the largest p-value that counts as significant."""
        return round(1 - self.level, 12)


PERMUTATION = SignificanceOptions()


def compare(
    scores: ComparableScores,
    testing: SignificanceOptions = PERMUTATION,
    *,
    baseline: str | None = None,
    family: str = "metric",
    threads: int | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Test the difference between every pair of systems, or between each system and the baseline, on every metric.

    The difference of unit i (a user), with the values a_i and b_i of the two systems, is d_i = a_i - b_i; for a metric
    with weights w_i it is w_i a_i / mean(w) - w_i b_i / mean(w), whose mean is the difference of the weighted means. A
    unit that is undefined for either system is dropped from the pair and counted. p-values are corrected over all pairs
    of one metric (``family="metric"``) or of all metrics (``"all"``). The interval is the paired bootstrap of the
    difference. ``significant`` says p_adjusted <= 1 - level. By every metric the best system is tested against the
    second best (``leads``), also if there is a baseline. The same units in the same order give the same bits, whatever
    the threads and the other systems. ``progress`` is called with (blocks done, blocks in total) in each round of
    resampling.

    More than 50 systems are not tested in all pairs, whose number grows with the square: each is compared with the
    baseline, or else with the best by the first metric, which a warning says. A pair that is not tested counts as
    p = 1 in the correction.

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
    require_known(family, FAMILIES, "U107", f"there is no family '{family}'")
    if not scores.unit_metrics:
        raise UsageError("U113", "no metric has a value per unit", hint="add one that does, such as ndcg@10")
    first_two, every = leaders(scores), math.comb(len(scores.systems), 2)
    chosen = baseline is None and len(scores.systems) > MOST_IN_PAIRS
    if chosen:
        baseline = next((two.first for two in first_two.values()), scores.systems[0])
        warnings.warn(
            f"{len(scores.systems):,} systems have {every:,} pairs, so each is compared with {baseline!r} alone, the "
            "best by the first metric. Name another as the baseline",
            stacklevel=2,
        )
    pairs = pairs_of(scores.systems, baseline)
    pair_metrics = [PairMetric(metric, a, b) for metric in scores.unit_metrics for a, b in pairs]
    others = [] if baseline is None else _other_pairs(pair_metrics, first_two, scores.systems)
    shown = {*pair_metrics, *(one for one in others if {one.a, one.b} == set(first_two[one.metric][:2]))}
    how = ResamplingOptions(testing.seed, testing.resamples, threads, progress)
    alone = len(pairs) == 1
    row_of: dict[PairMetric, Row] = {}
    for batch in _batches(scores, [*pair_metrics, *others]):
        paired = [pair_up(scores, pair_metric) for pair_metric in batch]
        row_of.update(zip(batch, _compare_batch(paired, testing, how, shown, alone=alone), strict=True))
    rows = [row_of[pair_metric] for pair_metric in pair_metrics]
    size = len(pairs) if family == "metric" else len(pair_metrics)
    families = [rows[start : start + size] for start in range(0, len(rows), size)]
    untested = (every - len(pairs)) * (size // len(pairs)) if chosen else 0
    corrected = tuple(row for family_rows in families for row in adjusted(family_rows, testing, untested))
    leads = leads_of(first_two, row_of.values(), testing, every)
    rechecks = tuple(_rechecks(scores, leads[0], testing, threads)) if leads and isinstance(scores, Scores) else ()
    return Comparison(
        corrected, baseline, family, testing.effect, testing.level, testing.seed, leads, rechecks, untested
    )


def _rechecks(scores: Scores, lead: LeadTest, testing: SignificanceOptions, threads: int | None) -> Iterator[Recheck]:
    """Yield, for each finding (warning) on the scores, the best system and its test without the users it names.

    ``lead`` is the test with all users.
    """
    for code, other in without_findings(scores, lead.row.metric, lead.row.a):
        leads = compare(other, testing, baseline=lead.row.a, threads=threads).leads
        if leads:
            row, beaten = leads[0].row, leads[0].beaten
            mean = other.row(row.a, row.metric).mean
            yield Recheck(code, row.metric, row.n, row.a, row.b, mean, row.difference, row.p_adjusted, row.b in beaten)


def _other_pairs(
    pair_metrics: Iterable[PairMetric], first_two: Mapping[str, FirstTwo], systems: Sequence[str]
) -> list[PairMetric]:
    """Return, for each metric of ``first_two``, the pairs of systems that are not in ``pair_metrics``.

    They are tested too: the p-value of best against second best is adjusted over all pairs of systems. Of many systems
    only the pairs of the best are tested.
    """
    chosen = {(metric, frozenset((a, b))) for metric, a, b in pair_metrics}
    every = (
        PairMetric(metric, a, b)
        for metric, two in first_two.items()
        for a, b in pairs_of(systems, two.first if len(systems) > MOST_IN_PAIRS else None)
    )
    return [one for one in every if (one.metric, frozenset((one.a, one.b))) not in chosen]


def leads_of(
    first_two: Mapping[str, FirstTwo], rows: Iterable[Row], testing: SignificanceOptions, every: int
) -> tuple[LeadTest, ...]:
    """Return the test of the two best systems of each metric, given the rows of the pairs that were tested.

    ``first_two`` maps a metric to these systems, and ``every`` is the number of all pairs.
    """
    found, rows = [], list(rows)
    for metric, (first, second, higher) in first_two.items():
        tested = [row for row in rows if row.metric == metric]
        corrected = adjusted(tested, testing, every - len(tested))
        rows_of_first = [row if row.a == first else row.swapped() for row in corrected]
        against = {row.b: row for row in rows_of_first if row.a == first}
        beaten = tuple(b for b, row in against.items() if row.significant and (row.difference > 0) == higher)
        found.append(LeadTest(against[second], every, beaten))
    return tuple(found)


def _batches(scores: ComparableScores, pair_metrics: list[PairMetric]) -> Iterable[list[PairMetric]]:
    """Yield batches of pairs that are compared on the same units, each of at most BATCH_VALUES values.

    Pairs whose two systems have equal weights of units are in other batches than pairs whose systems do not.
    """
    groups: dict[tuple[bytes, int, bool], list[PairMetric]] = {}
    for pair_metric in pair_metrics:
        keep = common_units(scores, pair_metric)
        ratio = shared_weights(scores, pair_metric, keep) is not None
        groups.setdefault((np.packbits(keep).tobytes(), int(keep.sum()), ratio), []).append(pair_metric)
    for (_, n, _), group in groups.items():
        size = min(BATCH, max(1, BATCH_VALUES // max(1, n)))
        for start in range(0, len(group), size):
            yield group[start : start + size]


def _compare_batch(
    batch: list[PairedUnits],
    testing: SignificanceOptions,
    how: ResamplingOptions,
    shown: Set[PairMetric],
    *,
    alone: bool,
) -> list[Row]:
    """Return a row per pair of a batch; ``p_adjusted`` and ``significant`` are set later.

    They need all rows of a family, the pairs whose p-values are corrected together. Intervals are computed for the
    pairs in ``shown``; of the others only p is used. ``alone`` says that the whole comparison has a single pair of
    systems.
    """
    differences = _stack(batch, alone=alone)
    tested = run_test(testing.test, differences, how)
    values, weights = differences.matrix, None
    ratios = [paired.ratio for paired in batch if paired.ratio is not None]
    if ratios:  # with shared weights the difference is one ratio, whose interval redraws sum(w) as well
        values, weights = (np.column_stack(part) for part in zip(*ratios, strict=True))
    difference, (low, high) = means(values, weights), np.full((2, len(batch)), np.nan)
    which = np.array([paired.pair_metric in shown for paired in batch])
    if which.any():
        column_weights = None if weights is None else weights[:, which]
        low[which], high[which] = intervals(
            values[:, which],
            column_weights,
            level=testing.level,
            seed=how.seed,
            threads=how.threads,
            progress=how.progress,
        )
    return [
        Row(
            *paired.pair_metric,
            difference=float(difference[j]),
            low=float(low[j]),
            high=float(high[j]),
            p=float(tested.p[j]),
            p_adjusted=np.nan,
            effect=EFFECTS[testing.effect](paired.shares_a, paired.shares_b),
            n=differences.n,
            dropped=paired.dropped,
            test=testing.test,
            correction=testing.correction,
            resamples=tested.resamples,
            significant=False,
            note=_note(differences.matrix[:, j], bool(differences.constant[j]), paired.infinite),
            infinite=paired.infinite,
        )
        for j, paired in enumerate(batch)
    ]


def _stack(batch: list[PairedUnits], *, alone: bool) -> Differences:
    """Return the differences of all pairs of a batch; a system's values are one column, which its pairs share.

    If the whole comparison has a single pair, the only column is its difference.
    """
    if alone:
        largest = np.array([largest_magnitude(paired.shares_a, paired.shares_b) for paired in batch])
        return Differences(np.column_stack([paired.differences for paired in batch]), largest=largest)
    columns: dict[tuple[str, str], Float] = {}
    for paired in batch:
        metric, a, b = paired.pair_metric
        columns.update({(metric, a): paired.shares_a, (metric, b): paired.shares_b})
    place = {key: i for i, key in enumerate(columns)}
    pairs = [[place[metric, a], place[metric, b]] for metric, a, b in (paired.pair_metric for paired in batch)]
    return Differences(np.column_stack(list(columns.values())), np.array(pairs))


def adjusted(rows: Sequence[Row], testing: SignificanceOptions, untested: int = 0) -> Iterable[Row]:
    """Yield the rows of one family with ``p_adjusted`` and ``significant`` set.

    p is corrected over all rows, and over the number of ``untested`` pairs, as if their p were 1.
    """
    p_adjusted = adjust(np.array([*(row.p for row in rows), *[1.0] * untested]), testing.correction)[: len(rows)]
    for row, p in zip(rows, p_adjusted.tolist(), strict=True):
        yield dataclasses.replace(row, p_adjusted=p, significant=p <= testing.alpha)


def pairs_of(systems: Sequence[str], baseline: str | None) -> list[tuple[str, str]]:
    """Return every pair of systems, or each system paired with the baseline."""
    if len(systems) < 2:
        raise UsageError("U113", f"a comparison needs two systems, not {len(systems)}", hint="give another run")
    if baseline is None:
        return list(itertools.combinations(systems, 2))
    if baseline not in systems:
        hint = suggest(baseline, systems)
        raise UsageError("U108", f"there is no system '{baseline}'", where=f"baseline {baseline!r}", hint=hint)
    return [(system, baseline) for system in systems if system != baseline]


def _note(differences: Float, constant: bool, infinite: int) -> str:
    if not differences.size:
        return "no unit has a value for both systems"
    few = f"only {differences.size} units: the interval deserves little trust"
    notes = [few] if differences.size < FEW_UNITS else []
    if infinite:
        units = "1 unit has" if infinite == 1 else f"{infinite:,} units have"
        notes.append(
            f"{units} an infinite value: the difference of the means has no interval, and no test of means a p-value"
        )
    elif constant and differences.any():
        notes.append("every unit differs by the same amount: there is no variance to test against")
    return "; ".join(notes)
