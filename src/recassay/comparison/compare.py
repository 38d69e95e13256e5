"""Head to head: every pair of systems (or each against a baseline) on every metric, with interval, p-value and effect.

Both systems of a pair are compared on the units where both are defined; the units dropped are counted.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
import polars as pl

from recassay.comparison.adjust import CORRECTIONS, adjust
from recassay.comparison.differences import Differences, scale_of
from recassay.comparison.effect import EFFECTS
from recassay.comparison.intervals import Flags, intervals, means
from recassay.comparison.moments import with_weight
from recassay.comparison.resampling import Floats, How, Progress
from recassay.comparison.significance import TESTS, run_test
from recassay.data.shown import Shown
from recassay.errors import UsageError
from recassay.spec import check_word, suggest

FEW_UNITS = 10  # below this an interval deserves little trust
BATCH = 64  # questions resampled together, and the values they may hold: bounds the memory, changes no bit
BATCH_VALUES = 16_000_000
FAMILIES = ("metric", "all")


class ComparableScores(Protocol):
    """What a comparison needs to know: a value per system, metric and unit, the same units for all systems."""

    @property
    def systems(self) -> tuple[str, ...]:
        """Names, in the order of the report."""

    @property
    def unit_metrics(self) -> tuple[str, ...]:
        """The metrics that have a value per unit."""

    def values(self, system: str, metric: str) -> Floats:
        """One value per unit, NaN where undefined."""

    def weights(self, system: str, metric: str) -> Floats | None:
        """One weight per unit, or None when all units count the same."""


@runtime_checkable
class ComparedElsewhere(Protocol):
    """Scores whose values are not here, and need not come here to be compared."""

    def compared(self, testing: HowTested, baseline: str | None, family: str) -> Comparison:
        """What :func:`compare` would find."""


@dataclass(frozen=True)
class Row:
    """One pair on one metric; the difference is a - b, and p_adjusted is p corrected for the family it belongs to.

    ``infinite`` counts units with an infinite value. With one the difference is infinite, or undefined where both means
    are, and there is no interval, no test of means and no effect that is made of means.
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


@dataclass(frozen=True)
class Comparison(Shown):
    """The rows of a comparison and how they were made."""

    rows: tuple[Row, ...]
    baseline: str | None
    family: str
    effect: str
    level: float
    seed: int

    def frame(self) -> pl.DataFrame:
        """One line per pair and metric."""
        return pl.DataFrame([dataclasses.asdict(row) for row in self.rows], schema=_SCHEMA)

    def to_dicts(self) -> list[dict[str, Any]]:
        """One dictionary per pair and metric, ready for JSON: a number that is undefined or infinite is None."""
        return [{key: _json_number(value) for key, value in dataclasses.asdict(row).items()} for row in self.rows]


@dataclass(frozen=True)
class HowTested:
    """How differences are tested, in the words of :func:`compare`."""

    test: str = "permutation"
    correction: str = "holm"
    effect: str = "d_z"
    level: float = 0.95
    seed: int = 0
    resamples: int | str = "auto"

    def __post_init__(self) -> None:
        for name, asked, known in (
            ("test", self.test, TESTS),
            ("correction", self.correction, CORRECTIONS),
            ("effect size", self.effect, EFFECTS),
        ):
            check_word(name, asked, known)

    @property
    def alpha(self) -> float:
        """The p-value up to which a difference is significant."""
        return round(1 - self.level, 12)


PERMUTATION = HowTested()


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
) -> Comparison:
    """Test the difference of every pair of systems, or of every system and the baseline, on every per-unit metric.

    A unit counts d_i = a_i - b_i; for a weighted metric w_i a_i / mean(w) - w_i b_i / mean(w), whose mean is the
    difference of the two weighted means. A unit that is undefined for either system is dropped from the pair and
    counted. p-values are corrected over all pairs of one metric (``family="metric"``) or of all metrics (``"all"``).
    The interval is the paired bootstrap of the difference. ``significant`` says p_adjusted <= 1 - level.
    Equal bits need equal units in an equal order; neither the threads nor the other systems matter. ``progress`` is
    called with (blocks done, blocks in all) of each round of resampling.

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
    testing = HowTested(test, correction, effect, level, seed, resamples)
    check_word("family", family, FAMILIES)
    if isinstance(scores, ComparedElsewhere):
        return scores.compared(testing, baseline, family)
    pairs = pairs_of(scores.systems, baseline)
    if not scores.unit_metrics:
        raise UsageError("U113", "no metric has a value per unit", hint="add one that does, such as ndcg@10")
    questions = [Question(metric, a, b) for metric in scores.unit_metrics for a, b in pairs]
    plan = _Plan(len(pairs), testing, How(seed, resamples, threads, progress))
    answers: dict[Question, Row] = {}
    for batch in _batches(scores, questions):
        answers.update(zip(batch, _answer([pair_up(scores, question) for question in batch], plan), strict=True))
    rows = [answers[question] for question in questions]
    size = len(pairs) if family == "metric" else len(questions)
    families = [rows[start : start + size] for start in range(0, len(rows), size)]
    corrected = tuple(row for family_rows in families for row in adjusted(family_rows, testing))
    return Comparison(corrected, baseline, family, effect, level, seed)


class Question(NamedTuple):
    """One pair on one metric."""

    metric: str
    a: str
    b: str


class _Plan(NamedTuple):
    pairs: int
    testing: HowTested
    how: How


@dataclass(frozen=True)
class _Paired:
    """The units both systems have, and what each unit adds to either mean."""

    question: Question
    dropped: int
    shares_a: Floats  # the plain means of these are the two (weighted) means
    shares_b: Floats
    ratio: tuple[Floats, Floats] | None  # differences and weights, when both systems share their weights

    @property
    def infinite(self) -> int:
        """Units with an infinite value."""
        return int(np.count_nonzero(np.isinf(self.shares_a) | np.isinf(self.shares_b)))

    @property
    def differences(self) -> Floats:
        """What each unit adds to the difference of the means."""
        return _less(self.shares_a, self.shares_b)


def pair_up(scores: ComparableScores, question: Question) -> _Paired:
    """The units that both systems of a question have."""
    metric, a, b = question
    keep = _common_units(scores, question)
    values_a, values_b = scores.values(a, metric)[keep], scores.values(b, metric)[keep]
    weights = _shared_weights(scores, question, keep)
    return _Paired(
        question=question,
        dropped=int(keep.size - np.count_nonzero(keep)),
        shares_a=_shares(values_a, _kept(scores.weights(a, metric), keep)),
        shares_b=_shares(values_b, _kept(scores.weights(b, metric), keep)),
        ratio=None if weights is None else (with_weight(_less(values_a, values_b), weights), weights),
    )


def _less(a: Floats, b: Floats) -> Floats:
    """a - b; NaN where both are infinite."""
    with np.errstate(invalid="ignore"):
        return a - b


def _common_units(scores: ComparableScores, question: Question) -> Flags:
    metric, a, b = question
    return ~(np.isnan(scores.values(a, metric)) | np.isnan(scores.values(b, metric)))


def _shared_weights(scores: ComparableScores, question: Question, keep: Flags) -> Floats | None:
    metric, a, b = question
    weights_a, weights_b = _kept(scores.weights(a, metric), keep), _kept(scores.weights(b, metric), keep)
    if weights_a is None or weights_b is None or not np.array_equal(weights_a, weights_b):
        return None
    return weights_a


def _kept(weights: Floats | None, keep: Flags) -> Floats | None:
    return None if weights is None else weights[keep]


def _shares(values: Floats, weights: Floats | None) -> Floats:
    """What each unit adds to n times the mean: v, or with weights w v / mean(w)."""
    if weights is None:
        return values
    mean = weights.mean() if weights.size else np.nan
    shares: Floats = weights * with_weight(values, weights) / mean if mean != 0 else np.full_like(values, np.nan)
    return shares


def _batches(scores: ComparableScores, questions: list[Question]) -> Iterable[list[Question]]:
    """Questions about the same units, ratios apart, as many at a time as BATCH_VALUES allows."""
    groups: dict[tuple[bytes, int, bool], list[Question]] = {}
    for question in questions:
        keep = _common_units(scores, question)
        ratio = _shared_weights(scores, question, keep) is not None
        groups.setdefault((np.packbits(keep).tobytes(), int(keep.sum()), ratio), []).append(question)
    for (_, n, _), group in groups.items():
        size = min(BATCH, max(1, BATCH_VALUES // max(1, n)))
        for start in range(0, len(group), size):
            yield group[start : start + size]


def _answer(batch: list[_Paired], plan: _Plan) -> list[Row]:
    """One row per question about the same units, with p_adjusted and significance still to be settled."""
    how, testing = plan.how, plan.testing
    differences = _stack(batch, plan)
    tested = run_test(testing.test, differences, how)
    values, weights = differences.matrix, None
    ratios = [paired.ratio for paired in batch if paired.ratio is not None]
    if ratios:  # with shared weights the difference is one ratio, whose interval redraws sum(w) as well
        values, weights = (np.column_stack(part) for part in zip(*ratios, strict=True))
    difference = means(values, weights)
    low, high = intervals(
        values, weights, level=testing.level, seed=how.seed, threads=how.threads, progress=how.progress
    )
    return [
        Row(
            *paired.question,
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


def _stack(batch: list[_Paired], plan: _Plan) -> Differences:
    """Each system's column once, however many pairs it is in; a lone pair as one column of differences."""
    if plan.pairs == 1:
        largest = np.array([scale_of(paired.shares_a, paired.shares_b) for paired in batch])
        return Differences(np.column_stack([paired.differences for paired in batch]), largest=largest)
    columns: dict[tuple[str, str], Floats] = {}
    for paired in batch:
        metric, a, b = paired.question
        columns.update({(metric, a): paired.shares_a, (metric, b): paired.shares_b})
    place = {key: i for i, key in enumerate(columns)}
    pairs = [[place[metric, a], place[metric, b]] for metric, a, b in (paired.question for paired in batch)]
    return Differences(np.column_stack(list(columns.values())), np.array(pairs))


def adjusted(rows: Sequence[Row], testing: HowTested) -> Iterable[Row]:
    """The rows of one family with p-values corrected over all of them."""
    p_adjusted = adjust(np.array([row.p for row in rows]), testing.correction)
    for row, p in zip(rows, p_adjusted.tolist(), strict=True):
        yield dataclasses.replace(row, p_adjusted=p, significant=p <= testing.alpha)


def pairs_of(systems: Sequence[str], baseline: str | None) -> list[tuple[str, str]]:
    """Every pair of systems, or every system and the baseline."""
    if len(systems) < 2:
        raise UsageError("U113", f"a comparison needs two systems, not {len(systems)}", hint="give another run")
    if baseline is None:
        return list(itertools.combinations(systems, 2))
    if baseline not in systems:
        hint = suggest(baseline, systems)
        raise UsageError("U108", f"there is no system '{baseline}'", where=f"baseline {baseline!r}", hint=hint)
    return [(system, baseline) for system in systems if system != baseline]


def _note(differences: Floats, constant: bool, infinite: int) -> str:
    if not differences.size:
        return "no unit has a value for both systems"
    notes = []
    if differences.size < FEW_UNITS:
        notes.append(f"only {differences.size} units: the interval deserves little trust")
    if infinite:
        units = "1 unit has" if infinite == 1 else f"{infinite:,} units have"
        notes.append(
            f"{units} an infinite value: the difference of the means has no interval, and no test of means a p-value"
        )
    elif constant and differences.any():
        notes.append("every unit differs by the same amount: there is no variance to test against")
    return "; ".join(notes)


def _json_number(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


_TYPES = {"str": pl.String, "float": pl.Float64, "int": pl.Int64, "bool": pl.Boolean}
_SCHEMA = {field.name: _TYPES[str(field.type)] for field in dataclasses.fields(Row)}
