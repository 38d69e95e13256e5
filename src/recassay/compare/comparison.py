"""Head to head: every pair of systems (or each against a baseline) on every metric, with interval, p-value and effect.

Both systems of a pair are compared on the units where both are defined; the units dropped are counted.
"""

from __future__ import annotations

import dataclasses
import difflib
import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import polars as pl

from recassay.compare.adjust import CORRECTIONS, adjust
from recassay.compare.effect import EFFECTS, effect_size
from recassay.compare.intervals import intervals, means
from recassay.compare.resampling import Floats, How, Progress
from recassay.compare.significance import TESTS, run_test
from recassay.errors import UsageError

FEW_UNITS = 10  # below this an interval deserves little trust
BATCH = 64  # questions resampled together: bounds the memory
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


@dataclass(frozen=True)
class Row:
    """One pair on one metric; the difference is a - b, and p_adjusted is p corrected for the family it belongs to."""

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


@dataclass(frozen=True)
class Comparison:
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
    """
    for name, asked, known in (
        ("test", test, TESTS),
        ("correction", correction, CORRECTIONS),
        ("family", family, FAMILIES),
        ("effect size", effect, EFFECTS),
    ):
        _check_known(name, asked, known)
    pairs = _pairs(scores.systems, baseline)
    if not scores.unit_metrics:
        raise UsageError("U113", "no metric has a value per unit", hint="add one that does, such as ndcg@10")
    how = How(seed, resamples, threads, progress)
    questions = [_ask(scores, metric, a, b, effect) for metric in scores.unit_metrics for a, b in pairs]
    answers: dict[int, _Answer] = {}
    for batch in _batches(questions):
        answers.update(_answer([questions[i] for i in batch], batch, test, level, how))
    p = np.array([answers[i].p for i in range(len(questions))])
    size = len(pairs) if family == "metric" else len(questions)
    adjusted = np.concatenate([adjust(p[i : i + size], correction) for i in range(0, p.size, size)])
    claim = _Claim(test, correction, threshold=round(1 - level, 12))
    rows = tuple(_row(question, answers[i], float(adjusted[i]), claim) for i, question in enumerate(questions))
    return Comparison(rows, baseline, family, effect, level, seed)


@dataclass(frozen=True)
class _Question:
    """One pair on one metric: the units kept, what each adds to the difference, and the column of its interval."""

    metric: str
    a: str
    b: str
    units: bytes  # which units were kept: questions about the same units share their resamples
    dropped: int
    differences: Floats
    values: Floats
    weights: Floats | None
    effect: float


@dataclass(frozen=True)
class _Answer:
    difference: float
    low: float
    high: float
    p: float
    resamples: int


@dataclass(frozen=True)
class _Claim:
    test: str
    correction: str
    threshold: float


def _ask(scores: ComparableScores, metric: str, a: str, b: str, effect: str) -> _Question:
    left, right = scores.values(a, metric), scores.values(b, metric)
    keep = ~(np.isnan(left) | np.isnan(right))
    left, right = left[keep], right[keep]
    w_left, w_right = (None if w is None else w[keep] for w in (scores.weights(a, metric), scores.weights(b, metric)))
    share_left, share_right = _share_of_mean(left, w_left), _share_of_mean(right, w_right)
    differences = share_left - share_right
    values, weights = differences, None
    if w_left is not None and w_right is not None and np.array_equal(w_left, w_right):
        values, weights = left - right, w_left  # a true ratio: the bootstrap then also redraws sum(w)
    return _Question(
        metric=metric,
        a=a,
        b=b,
        units=np.packbits(keep).tobytes(),
        dropped=int(keep.size - np.count_nonzero(keep)),
        differences=differences,
        values=values,
        weights=weights,
        effect=effect_size(effect)(share_left, share_right),
    )


def _share_of_mean(values: Floats, weights: Floats | None) -> Floats:
    """What each unit adds to n times the mean: w v / mean(w), so that the plain mean of the shares is the mean."""
    if weights is None:
        return values
    mean = weights.mean() if weights.size else np.nan
    shares: Floats = weights * values / mean if mean != 0 else np.full_like(values, np.nan)
    return shares


def _batches(questions: list[_Question]) -> Iterable[list[int]]:
    """Questions about the same units, weighted ones apart, at most BATCH at a time."""
    groups: dict[tuple[bytes, bool], list[int]] = {}
    for i, question in enumerate(questions):
        groups.setdefault((question.units, question.weights is None), []).append(i)
    for group in groups.values():
        for start in range(0, len(group), BATCH):
            yield group[start : start + BATCH]


def _answer(questions: list[_Question], indices: list[int], test: str, level: float, how: How) -> dict[int, _Answer]:
    values = np.column_stack([question.values for question in questions])
    given = [question.weights for question in questions if question.weights is not None]
    weights = np.column_stack(given) if given else None
    low, high = intervals(values, weights, level=level, seed=how.seed, threads=how.threads, progress=how.progress)
    difference = means(values, weights)
    tested = run_test(test, np.column_stack([question.differences for question in questions]), how)
    return {
        index: _Answer(float(difference[j]), float(low[j]), float(high[j]), float(tested.p[j]), tested.resamples)
        for j, index in enumerate(indices)
    }


def _pairs(systems: tuple[str, ...], baseline: str | None) -> list[tuple[str, str]]:
    if len(systems) < 2:
        raise UsageError("U113", f"a comparison needs two systems, not {len(systems)}", hint="give another run")
    if baseline is None:
        return list(itertools.combinations(systems, 2))
    if baseline not in systems:
        near = difflib.get_close_matches(baseline, systems, n=1)
        hint = f"did you mean '{near[0]}'?" if near else f"one of {', '.join(systems)}"
        raise UsageError("U108", f"there is no system '{baseline}'", where=f"baseline {baseline!r}", hint=hint)
    return [(system, baseline) for system in systems if system != baseline]


def _check_known(what: str, asked: str, known: Iterable[str]) -> None:
    known = list(known)
    if asked in known:
        return
    near = difflib.get_close_matches(asked, known, n=1)
    hint = f"did you mean '{near[0]}'?" if near else f"one of {', '.join(known)}"
    raise UsageError("U107", f"there is no {what} '{asked}'", hint=hint)


def _row(question: _Question, answer: _Answer, adjusted: float, claim: _Claim) -> Row:
    return Row(
        metric=question.metric,
        a=question.a,
        b=question.b,
        difference=answer.difference,
        low=answer.low,
        high=answer.high,
        p=answer.p,
        p_adjusted=adjusted,
        effect=question.effect,
        n=question.values.size,
        dropped=question.dropped,
        test=claim.test,
        correction=claim.correction,
        resamples=answer.resamples,
        significant=adjusted <= claim.threshold,
        note=_note(question.differences),
    )


def _note(differences: Floats) -> str:
    if not differences.size:
        return "no unit has a value for both systems"
    notes = []
    if differences.size < FEW_UNITS:
        notes.append(f"only {differences.size} units: the interval deserves little trust")
    if differences.min() == differences.max() != 0:
        notes.append("every unit differs by the same amount: there is no variance to test against")
    return "; ".join(notes)


def _json_number(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


_TYPES = {"str": pl.String, "float": pl.Float64, "int": pl.Int64, "bool": pl.Boolean}
_SCHEMA = {field.name: _TYPES[str(field.type)] for field in dataclasses.fields(Row)}
