"""Numbered checks: functions that look for one problem of an evaluation and describe it in words.

Each kind of input of checks is a class here, whose name ends in "Facts". :func:`diagnose` runs all checks that look at
the class it is given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from recassay.checks.counts import CheckCounts, CheckInput
from recassay.errors import RecassayError
from recassay.metrics.registry import parse_metric
from recassay.naming.registry import Registry
from recassay.results.finding import Finding, Severity
from recassay.results.scores import PLACES, Summary

if TYPE_CHECKING:
    from recassay.data.fold import Fold
    from recassay.data.interactions import Interactions
    from recassay.data.sequences import SequenceFold
    from recassay.data.standings import Standings
    from recassay.drift import Alarm, Detector
    from recassay.metrics.align import Alignment, AlignmentCounts, Conventions
    from recassay.results.design_scores import DesignScores
    from recassay.results.outcomes import Outcomes, Played

TARGET_SET_COLUMN = "rho"  # a column that only summary rows of target sets have: the share of relevant items in them


class TieRange(NamedTuple):
    """The mean of a metric in the worst and in the best order of tied rows; ``reach`` is half its interval's width."""

    worst: float
    best: float
    reach: float


@dataclass(frozen=True, eq=False)
class Facts:
    """What checks examine about one scored run.

    ``met`` are the counts from its alignment with the truth (users without a list, repeated items, ...), ``counted``
    what the checks counted in lists and truth, by check code, and ``deepest`` the largest cut-off, None without one.
    """

    system: str
    met: AlignmentCounts
    conventions: Conventions
    rows: tuple[Summary, ...]
    deepest: int | None
    counted: CheckCounts
    train: Interactions | None = None
    tie_ranges: Mapping[str, TieRange] = field(default_factory=dict)  # by metric
    exclusions: tuple[str, ...] = ()  # what the profile does not reproduce on this input, as sentences
    fold: Fold | None = None  # where the truth and the training log come from, if that is known

    @classmethod
    def of(cls, alignment: Alignment, deepest: int | None, checks: Iterable[Check] | None = None) -> Facts:
        """Return the facts about lists that are aligned with the truth but not scored.

        ``deepest`` is the largest cut-off, None without one. Only what ``checks`` need is counted; by default all.
        """
        counted = count_all(CheckInput(alignment, deepest), checks)
        return cls(alignment.run.name, alignment.counts, alignment.conventions, (), deepest, counted)


@dataclass(frozen=True, eq=False)
class DesignFacts:
    """What checks examine about systems under target-set designs: the scores, and the standings of each system.

    A design says which candidates a relevant item is ranked against. Standings count the candidates that a system ranks
    above each relevant item.
    """

    assay: DesignScores
    standings: Mapping[str, Standings]  # by system


@dataclass(frozen=True, eq=False)
class SampledFacts:
    """What checks examine about corrected metrics of sampled ranks, by system and metric.

    ``sampled`` holds means of the sampled metric. ``corrected`` holds estimates by ``estimator`` of the mean under full
    ranking, and ``resampled`` these estimates in resamples of the ``users``, with the same resamples for all systems.
    """

    systems: tuple[str, ...]
    metrics: tuple[str, ...]
    estimator: str
    users: int
    sampled: Mapping[tuple[str, str], float]
    corrected: Mapping[tuple[str, str], float]
    resampled: Mapping[tuple[str, str], NDArray[np.float64]]


@dataclass(frozen=True, eq=False)
class ApproximationFacts:
    """What checks examine about sampling curves: ``schemes`` are the ways to draw candidates with an approximate curve.

    Their values are the reasons. A curve shows metrics under sampled candidates by sample size.
    """

    schemes: tuple[str, ...]
    why: str


@dataclass(frozen=True, eq=False)
class HomeMetricFacts:
    """Ranks of systems (1 is best) by metric and system, and which metrics systems were trained to optimise.

    ``home`` has, by metric, the systems that were trained to optimise nearly this metric.
    """

    systems: tuple[str, ...]
    ranks: Mapping[str, Mapping[str, float]]
    home: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, eq=False)
class DriftFacts:
    """Alarms of drift detectors on a system's losses on a stream.

    ``scored`` is the number of scored events.
    """

    system: str
    metric: str
    scored: int
    alarms: tuple[Alarm, ...]

    @classmethod
    def of(cls, outcomes: Outcomes | Played, metric: str, detectors: Detector | Iterable[Detector]) -> DriftFacts:
        """Return the alarms that detectors raise over the losses of a system, by a metric, on a stream."""
        from recassay.drift import alarms  # late: only streams have detectors, and these have kernels of their own
        from recassay.results.outcomes import outcomes_of

        found = outcomes_of(outcomes)
        return cls(found.system, metric, len(found), alarms(found, metric, detectors))


@dataclass(frozen=True, eq=False)
class StreamFacts:
    """Numbers of events of a stream that were scored for a system, and of those that were not, by reason."""

    system: str
    counts: Mapping[str, int]

    @classmethod
    def of(cls, outcomes: Outcomes | Played) -> StreamFacts:
        """Return the numbers of events that were scored and not scored for the system of some outcomes."""
        from recassay.results.outcomes import outcomes_of

        found = outcomes_of(outcomes)
        return cls(found.system, found.counts)


@dataclass(frozen=True, eq=False)
class RemovedRowsFacts:
    """Rows that filters and a split remove: by step, the number of rows before it and of removed rows by reason."""

    by: Mapping[str, tuple[int, Mapping[str, int]]]


@dataclass(frozen=True, eq=False)
class ReplacedRunFacts:
    """Run files of a system, in the folder of a study, that were not written by recassay."""

    system: str
    files: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class RerankFacts:
    """Numbers of ``rows`` of a re-ranked run, and of ``bare`` ones, whose items have no features or no users."""

    rows: int
    bare: int


@dataclass(frozen=True, eq=False)
class AbsentMetricsFacts:
    """Metrics of a study that a data set cannot have, because it has no features of items."""

    metrics: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class CutoffFacts:
    """The list lengths that metrics without a cut-off were computed on, by metric and system.

    None stands for all candidates.
    """

    places: Mapping[str, Mapping[str, tuple[int | None, ...]]]

    @classmethod
    def of(cls, rows: Iterable[Mapping[str, Any]]) -> CutoffFacts:
        """Return the list lengths in the summary rows of one data set, split and seed; only ranking metrics count."""
        found: dict[str, dict[str, list[int | None]]] = {}
        for row in rows:
            if _is_uncut_ranking(str(row["metric"])):
                places = (row.get("parameters") or {}).get(PLACES)
                if places is not None or TARGET_SET_COLUMN in row:
                    found.setdefault(row["metric"], {}).setdefault(row["system"], []).append(places)
        return cls({metric: {name: tuple(of) for name, of in systems.items()} for metric, systems in found.items()})


def _is_uncut_ranking(heading: str) -> bool:
    try:
        metric = parse_metric(heading)
    except RecassayError:
        return False
    return metric.is_uncut and metric.family == "ranking"


class BeatenSystem(NamedTuple):
    """A system that is significantly worse than a system that is not personalised (``easy``).

    ``difference`` is that of their means by ``metric``, and ``where`` the data set, split and so on in words.
    """

    system: str
    easy: str
    metric: str
    where: str
    difference: float


@dataclass(frozen=True, eq=False)
class ComparisonFacts:
    """What checks examine about a comparison of systems.

    ``tests`` counts p-values, ``claims`` those at or below ``alpha`` before correction, ``lost`` the claims that are
    not significant after Holm's correction. ``seeds`` holds the number of seeds of every system that depends on a seed.
    ``beaten`` are systems that are worse than one that is not personalised, ``fewest`` the fewest users of a ``test``.
    """

    correction: str
    alpha: float
    tests: int
    claims: int
    lost: int
    seeds: Mapping[str, int] = field(default_factory=dict)
    baseline: str | None = None
    beaten: tuple[BeatenSystem, ...] = ()
    test: str = ""
    fewest: int = 0


@dataclass(frozen=True, eq=False)
class FolderFacts:
    """What checks examine about a folder of results: summary rows, and pairs of systems with exactly the same values.

    An element of ``same`` is the data set, split and so on in words, or "", and the names of the two systems.
    """

    rows: tuple[Mapping[str, Any], ...]
    same: tuple[tuple[str, str, str], ...] = ()


@dataclass(frozen=True, eq=False)
class LiveFacts:
    """What checks examine about the events of a live evaluation.

    ``bins`` counts events by what became of them (judged, late, ...). ``counts`` counts problems of exposures (shown
    lists) whose feedback window has ended. ``reasons`` has the number and the first example of events that were refused
    or late. ``mismatch`` is the p-value of the stated shares of arms, ``assigned`` the number of units by arm.
    ``inverse_propensity`` has by arm the mean of 1 / propensity per exposure of any arm, and its standard error.
    ``silent`` has the seconds since the last exposure of each arm, and ``lag`` is how many seconds the results lie
    behind. ``alarms`` are rows of time, arm, metric, beginning, and the losses before and after. ``unstored`` is how
    many interactions models would learn again after a restart, and why; ``undecidable`` why nothing decides a rule.
    """

    bins: Mapping[str, int]
    counts: Mapping[str, int]
    reasons: Mapping[str, tuple[int, str]] = field(default_factory=dict)
    assigned: Mapping[str, int] = field(default_factory=dict)
    mismatch: float = 1.0
    inverse_propensity: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    silent: Mapping[str, float] = field(default_factory=dict)
    lag: float | None = None
    alarms: tuple[tuple[int, str, str, int, float, float], ...] = ()
    unstored: tuple[int, str] = (0, "")
    undecidable: Mapping[str, str] = field(default_factory=dict)


if TYPE_CHECKING:
    from recassay.checks.repeated_draws import RepeatedDrawFacts
    from recassay.data.generated import Generated
    from recassay.metrics.sequence.similarity import GivenPairs

    AnyFacts: TypeAlias = (
        FolderFacts | LiveFacts | Facts | DesignFacts | SampledFacts | ApproximationFacts | SequenceFold | GivenPairs
        | DriftFacts | StreamFacts | RemovedRowsFacts | ReplacedRunFacts | RerankFacts | CutoffFacts | ComparisonFacts
        | HomeMetricFacts | AbsentMetricsFacts | Generated | RepeatedDrawFacts
    )  # fmt: skip
Answer = str | tuple[Severity, str] | None


@dataclass(frozen=True)
class Check:
    """A numbered check: ``ask`` looks for the problem in the facts of an evaluation.

    It returns a text, or (severity, text), if there is the problem, else None ("Report if ..." in its docstring). The
    check does not apply where a field in ``needs`` is None. ``about`` is the class of facts that it looks at. A check
    of the rows of lists or truth has a ``count`` function: its counts add up over partitions of the users, and the
    check finds the sum in ``facts.counted``.
    """

    code: str
    title: str
    severity: Severity
    needs: frozenset[str]
    ask: Callable[[Any], Answer]
    about: type = Facts
    count: Callable[[CheckInput], Any] | None = None

    def __call__(self, facts: AnyFacts) -> Finding | None:
        """Return the finding if the facts have the problem; None if they do not, or if the check does not apply."""
        if any(getattr(facts, need) is None for need in self.needs):
            return None
        answer = self.ask(facts)
        if answer is None:
            return None
        severity, detail = (self.severity, answer) if isinstance(answer, str) else answer
        system = facts.system if isinstance(facts, Facts | DriftFacts | StreamFacts | ReplacedRunFacts) else ""
        return Finding(self.code, severity, self.title, detail, system)


CHECKS: Registry[Check] = Registry("check", "recassay.checks", Check, group="recassay.checks", values=True, key="code")


def check(
    code: str,
    title: str,
    severity: Severity,
    *,
    needs: tuple[str, ...] = (),
    about: type = Facts,
    count: Callable[[CheckInput], Any] | None = None,
) -> Callable[[Callable[[Any], Answer]], Check]:
    """Return a decorator that registers a function, which looks for a problem in facts of class ``about``, as a check.

    The function returns a text, or (severity, text), if there is the problem, else None. The check does not apply where
    a field in ``needs`` is None. ``count`` counts in lists or truth what is then in ``facts.counted``.
    """

    def register(ask: Callable[[Any], Answer]) -> Check:
        made = Check(code, title, severity, frozenset(needs), ask, about, count)
        return CHECKS.add(made, module=ask.__module__)

    return register


def load() -> Mapping[str, Check]:
    """Return all checks by code."""
    return CHECKS.kinds


def count_all(given: CheckInput, checks: Iterable[Check] | None = None) -> CheckCounts:
    """Return what each of ``checks`` that applies counts in lists and truth, by check code; by default all checks."""
    counting = (check for check in (load().values() if checks is None else checks) if check.count is not None)
    able = (check for check in counting if all(getattr(given, need, None) is not None for need in check.needs))
    return {check.code: check.count(given) for check in able if check.count is not None}


def diagnose(facts: AnyFacts) -> tuple[Finding, ...]:
    """Return the findings of all checks that look at this class of facts, in the order of their codes."""
    applicable = (check for check in load().values() if check.about is type(facts))
    return tuple(finding for check in applicable if (finding := check(facts)) is not None)


def format_share(part: int, whole: int) -> str:
    """Return a part, the whole and the percentage as text.

    >>> format_share(37, 6040)
    '37 of 6,040 (0.6 %)'
    """
    percent = 100 * part / max(whole, 1)
    return f"{part:,} of {whole:,} ({percent:.{0 if percent >= 10 or percent == 0 else 1 if percent >= 0.1 else 2}f} %)"


def format_count(count: int, noun: str) -> str:
    """Return a count with its noun in the singular or plural.

    >>> format_count(1, "list"), format_count(1200, "list")
    ('1 list', '1,200 lists')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def format_id(values: object) -> str:
    """Return a user or item id as text for a sentence: strings in quotes."""
    return repr(values.item() if isinstance(values, np.generic) else values)
