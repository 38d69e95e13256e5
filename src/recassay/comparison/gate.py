"""The gate: may a candidate replace the baseline? Tests of non-inferiority, limits, and what makes numbers suspicious.

Each user has a headroom: what the candidate may lose plus what it gains, h_u = c_u - (1 - m) b_u for a margin of a
share m of the baseline's mean, h_u = c_u - b_u + m for an absolute margin m, and h_u = c_u - limit for a limit. Where
smaller values are better, all signs turn. A criterion passes if the lower bound of mean(h) is at least 0, and fails if
its upper bound is below 0. A margin that is a share of an estimated mean is thus tested with the uncertainty of that
mean. Each bound is that of Student's t and holds with the confidence ``level``, one-sided. Where few users lose much, t
alone would pass too often, so a bound against the baseline counts one more user, who loses (or gains) the largest value
that anybody has. ``bench/gate.py`` measures how often a candidate that loses the margin passes.

Reference: Piaggio et al., Reporting of noninferiority and equivalence randomized trials, JAMA 2012.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl

from recassay.comparison.pairs import PairMetric, pair_up
from recassay.comparison.power import users_for
from recassay.data.io.write import finite
from recassay.errors import UsageError
from recassay.results.finding import Finding
from recassay.results.scores import Scores, Values, worded
from recassay.shown import Displayable
from recassay.stats.differences import largest_magnitude, standard_deviation
from recassay.stats.intervals import intervals, means

Word = Literal["pass", "fail", "undecided", "suspicious"]

CANDIDATE, BASELINE = "candidate", "baseline"  # names of the two systems
CHANCE = 0.8  # the power with which the users needed would decide
NUMBER = r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
MARGIN = re.compile(rf"\s*{NUMBER}\s*(%?)\s*")
LIMIT = re.compile(rf"\s*(\S.*?)\s*(>=|<=)\s*{NUMBER}\s*")
# Findings that say that the candidate's numbers may not be what they seem, unless the baseline has them too.
SUSPECT = frozenset({"C003", "C008", "C013", "C019", "L001", "R004", "R006", "R007", "R008", "R012", "T001"})
LEAKS = frozenset({"L002", "L003"})  # on the split or the truth: they favour who has seen the answers
MISSING = 0.01  # share of users without a list, beyond those of the baseline, that makes a candidate suspicious


class Margin(NamedTuple):
    """The largest loss that a candidate may have: a share of the baseline's mean, or an absolute difference."""

    share: float
    absolute: float

    @classmethod
    def of(cls, text: str | float) -> Margin:
        """Return the margin of a text such as ``0.5%``, or of a number, which is absolute.

        >>> Margin.of("0.5%"), Margin.of(0.002)
        (Margin(share=0.005, absolute=0.0), Margin(share=0.0, absolute=0.002))
        """
        match = MARGIN.fullmatch(str(text))
        amount = float(match[1]) if match else math.nan
        if not (0 <= amount < math.inf):
            hint = "a share such as 0.5%, or a difference such as 0.002"
            raise UsageError("U102", f"the margin {str(text)!r} is not an amount of at least 0", hint=hint)
        return cls(amount / 100, 0.0) if match and match[2] else cls(0.0, amount)

    def __str__(self) -> str:
        return f"{100 * self.share:.6g} %" if self.share else f"{self.absolute:.6g}"


class Limit(NamedTuple):
    """A limit that the candidate alone must keep: a metric, its direction and the limit."""

    metric: str
    sign: int
    value: float

    @classmethod
    def of(cls, text: str) -> Limit:
        """Return the limit of a text.

        >>> Limit.of("coverage@10 >= 0.3")
        Limit(metric='coverage@10', sign=1, value=0.3)
        """
        match = LIMIT.fullmatch(text)
        if match is None or math.isinf(value := float(match[3])):
            hint = "write a metric, >= or <=, and a number: coverage@10 >= 0.3"
            raise UsageError("U102", f"{text!r} is not a limit", hint=hint)
        return cls(match[1], 1 if match[2] == ">=" else -1, value)


@dataclass(frozen=True)
class Criterion:
    """One criterion of a gate and how it came out.

    ``against`` is the mean of the baseline, or the limit. The difference from it is between ``low`` and ``high``, each
    a one-sided bound. The candidate passes if ``low`` is at least ``allowed``, or, if ``at_least`` is false, if
    ``high`` is at most ``allowed``. ``users`` counts the users of the test, and ``needed`` those that would decide if
    differences stay as they are (None: unknown).
    """

    metric: str
    group: str
    rule: str
    candidate: float
    against: float
    at_least: bool
    verdict: Word = "undecided"
    low: float = math.nan
    high: float = math.nan
    allowed: float = 0.0
    users: int = 0
    needed: int | None = None
    why: str = ""

    @property
    def difference(self) -> float:
        """Return the difference of the candidate from the baseline or the limit."""
        return self.candidate - self.against

    @property
    def name(self) -> str:
        """Return the metric, with the group of users if the criterion is about one."""
        return f"{self.metric} of {self.group}" if self.group else self.metric


@dataclass(frozen=True, repr=False)
class Gate(Displayable):
    """The verdict of a gate with its criteria, and what makes it suspicious.

    ``level`` is the one-sided confidence of every bound, and ``scores`` are those of candidate and baseline.
    """

    criteria: tuple[Criterion, ...]
    suspicions: tuple[str, ...]
    level: float
    scores: Scores

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Return the findings (warnings about results) on candidate and baseline."""
        return self.scores.findings

    @property
    def verdict(self) -> Word:
        """Return the verdict of all criteria.

        It is suspicious if there is a suspicion; else fail if a criterion fails; else undecided if one is undecided;
        else pass.
        """
        words = {one.verdict for one in self.criteria}
        if self.suspicions:
            return "suspicious"
        return "fail" if "fail" in words else "undecided" if "undecided" in words else "pass"

    def frame(self) -> pl.DataFrame:
        """Return a row per criterion."""
        return pl.DataFrame(self._rows(), infer_schema_length=None)

    def _rows(self) -> list[dict[str, Any]]:
        return [{**asdict(one), "difference": one.difference} for one in self.criteria]

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict, criteria, suspicions and findings (warnings) as plain values for JSON."""
        return {
            "verdict": self.verdict,
            "level": self.level,
            "criteria": list(finite(self._rows())),
            "suspicions": list(self.suspicions),
            "findings": [finding.to_dict() for finding in self.findings],
            "settings": dict(self.scores.settings),
        }


def against_baseline(scores: Scores, metric: str, margin: Margin, level: float, group: str = "") -> Criterion:
    """Return the criterion that the candidate loses at most the ``margin`` under a metric, with its verdict.

    ``scores`` are those of candidate and baseline, for the users of the ``group`` if it is named. ``level`` is the
    one-sided confidence of the bounds.
    """
    paired = pair_up(scores, PairMetric(metric, CANDIDATE, BASELINE))
    candidate, baseline = paired.shares_a, paired.shares_b
    sign = 1 if scores.row(CANDIDATE, metric).higher_is_better else -1
    allowance = margin.share * np.abs(baseline) + margin.absolute
    means_of = _mean(candidate), _mean(baseline)
    rule, users = f"loses at most {margin}", baseline.size
    criterion = Criterion(metric, group, rule, *means_of, sign > 0, allowed=-sign * _mean(allowance), users=users)
    with np.errstate(invalid="ignore"):  # infinity minus infinity
        headroom = sign * (candidate - baseline) + allowance
    if users > 1 and np.array_equal(candidate, baseline) and np.isfinite(candidate).all():
        return replace(criterion, verdict="pass", low=0.0, high=0.0, why="the same value for every user")
    scale = largest_magnitude(candidate, baseline)
    more = _mean(allowance) - scale, _mean(allowance) + scale
    return _with_verdict(criterion, headroom, None, level, scale, more)


def within_limit(scores: Scores, limit: Limit, level: float) -> Criterion:
    """Return the criterion that the candidate's mean keeps a limit, such as ``coverage@10 >= 0.3``, with its verdict.

    ``level`` is the one-sided confidence of the bounds. A metric that has no value per user has no bounds either: its
    value is compared with the limit.
    """
    metric, row = limit.metric, scores.row(CANDIDATE, limit.metric)
    rule = f"{'at least' if limit.sign > 0 else 'at most'} {limit.value:.6g}"
    criterion = Criterion(metric, "", rule, row.mean, limit.value, limit.sign > 0, users=row.n)
    if metric not in scores.unit_metrics:
        kept = limit.sign * (row.mean - limit.value) >= 0
        return replace(criterion, verdict="pass" if kept else "fail", why="one number, which has no interval")
    values, weights = scores.values(CANDIDATE, metric), scores.weights(CANDIDATE, metric)
    defined = ~np.isnan(values)
    headroom = limit.sign * (values[defined] - limit.value)
    weights = None if weights is None else weights[defined]
    return _with_verdict(criterion, headroom, weights, level, largest_magnitude(values))


def _mean(values: Values, weights: Values | None = None) -> float:
    return float(means(values[:, None], None if weights is None else weights[:, None])[0])


def _with_verdict(
    criterion: Criterion,
    headroom: Values,
    weights: Values | None,
    level: float,
    scale: float,
    more: tuple[float, float] | None = None,
) -> Criterion:
    """Return the criterion with its verdict and bounds, and if it is undecided the number of users that would decide.

    ``headroom`` has a number per user: by how much the candidate stays above what is required. ``scale`` is the largest
    number that the headroom was computed from. ``more`` is the headroom of one more user, for the lower and for the
    upper bound.
    """
    infinite = int(np.count_nonzero(~np.isfinite(headroom)))
    if headroom.size < 2 or infinite:
        why = f"{infinite:,} users have an infinite value" if infinite else "fewer than two users have a value"
        return replace(criterion, why=why)
    below, above = headroom_bounds(headroom, weights, level, more)
    sign = 1 if criterion.at_least else -1
    allowance = _mean(headroom, weights) - sign * criterion.difference
    low, high = sorted((sign * (below - allowance), sign * (above - allowance)))
    verdict: Word = "pass" if below >= 0 else "fail" if above < 0 else "undecided"
    needed = _users_needed(headroom, scale, 1 - level) if verdict == "undecided" else None
    return replace(criterion, verdict=verdict, low=low, high=high, needed=needed)


def headroom_bounds(
    headroom: Values, weights: Values | None, level: float, more: tuple[float, float] | None = None
) -> tuple[float, float]:
    """Return the lower and the upper one-sided confidence bound of the mean headroom.

    ``headroom`` has a number per user: by how much the candidate stays above what is required. ``more`` is the headroom
    of one more user, for the lower and for the upper bound.

    >>> [round(bound, 4) for bound in headroom_bounds(np.array([0.0, 0.5, 1.0, 0.5]), None, 0.95)]
    [0.0196, 0.9804]
    """
    columns = [headroom] * 2 if more is None else [np.append(headroom, one) for one in more]
    w = None if weights is None else np.column_stack([weights] * 2)
    low, high = intervals(np.column_stack(columns), w, method="normal", level=2 * level - 1)
    return float(low[0]), float(high[1])


def _users_needed(headroom: Values, scale: float, alpha: float) -> int | None:
    """Return the number of users with which a one-sided test would find the observed mean headroom above 0.

    ``alpha`` is the level of the test, and its power 80 %. ``headroom`` has a number per user: by how much the
    candidate stays above what is required. ``scale`` is the largest number that it was computed from. Return None if
    unknown.
    """
    sd, mean = standard_deviation(headroom, scale), abs(float(headroom.mean()))
    return users_for(mean / sd, 2 * alpha, CHANCE) if sd and mean else None


def suspicions_of(
    scores: Scores, criteria: Iterable[Criterion], findings: Sequence[Finding], believable: float
) -> tuple[str, ...]:
    """Return sentences on what makes the numbers of a candidate suspicious.

    ``criteria`` are those against the baseline, and ``findings`` warnings about results. An improvement is not believed
    if its lower bound is above the share ``believable`` of the baseline's mean. A finding counts if the baseline does
    not have it too.
    """
    said = []
    for one in criteria:
        gain = one.low if one.at_least else -one.high
        if one.against and gain > believable * abs(one.against):
            more = f"{100 * gain / abs(one.against):.3g} %"
            said.append(f"{one.metric} is better by at least {more}; more than {100 * believable:g} % is not believed")
    missing = [scores.row(system, scores.metrics[0]).missing for system in (CANDIDATE, BASELINE)]
    if missing[0] - missing[1] > MISSING * scores.units.len():
        users = scores.units.len()
        text = (
            f"{missing[0]:,} of {users:,} users have no list of the candidate, and {missing[1]:,} none of the baseline"
        )
        said.append(worded(text, scores.unit))
    systems = [(finding, finding.system.split(", ")) for finding in findings]
    of_baseline = {finding.code for finding, names in systems if BASELINE in names}
    for finding, names in systems:
        of_candidate = CANDIDATE in names and finding.code in SUSPECT - of_baseline
        if of_candidate or finding.code in LEAKS:
            said.append(f"{finding.title}. {finding.detail} ({finding.code})")
    return tuple(said)
