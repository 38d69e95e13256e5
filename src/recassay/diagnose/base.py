"""A check is a numbered question to the facts of a scoring; its answer is a sentence, or None when all is well."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recassay.data.assay import Assay
from recassay.data.finding import Finding, Severity
from recassay.data.fold import Fold
from recassay.data.interactions import Interactions
from recassay.data.outcomes import Outcomes, Played, outcomes_of
from recassay.data.scores import PLACES, Summary
from recassay.data.sequences import SequenceFold
from recassay.data.standings import Standings
from recassay.diagnose.counts import Counted, Sight
from recassay.drift import Alarm, Detector
from recassay.drift import alarms as raised
from recassay.errors import RecassayError
from recassay.metrics.align import Conventions, Meeting, Met
from recassay.metrics.registry import parse_metric

OF_SETS = "rho"  # in the rows of a summary that are of target sets: the share of relevant items in them


class TieRange(NamedTuple):
    """The mean in the worst and the best order of tied rows, and half the width of its interval."""

    worst: float
    best: float
    reach: float


@dataclass(frozen=True, eq=False)
class Facts:
    """All that is known once a run was scored. ``counted`` has, by check, what it counted in lists and truth."""

    system: str
    met: Met
    conventions: Conventions
    rows: tuple[Summary, ...]
    deepest: int | None
    counted: Counted
    train: Interactions | None = None
    tie_ranges: Mapping[str, TieRange] = field(default_factory=dict)  # by metric
    exclusions: tuple[str, ...] = ()  # what the profile does not reproduce on this input, in words
    fold: Fold | None = None  # where the truth and the training log come from, if that is known

    @classmethod
    def of(cls, meeting: Meeting, deepest: int | None) -> Facts:
        """Of lists that were met and not yet judged."""
        counted = counts_of(Sight(meeting, deepest))
        return cls(meeting.run.name, meeting.met, meeting.conventions, (), deepest, counted)


@dataclass(frozen=True, eq=False)
class Judging:
    """All that is known once systems were judged under designs."""

    assay: Assay
    standings: Mapping[str, Standings]  # by system


@dataclass(frozen=True, eq=False)
class Sampling:
    """All that is known once the sampled ranks of several systems were corrected, by system and metric.

    ``sampled`` are means of the sampled metric, ``corrected`` estimates of the mean under full ranking by
    ``estimator``, ``resampled`` those in resamples of the ``users``, the same for all systems.
    """

    systems: tuple[str, ...]
    metrics: tuple[str, ...]
    estimator: str
    users: int
    sampled: Mapping[tuple[str, str], float]
    corrected: Mapping[tuple[str, str], float]
    resampled: Mapping[tuple[str, str], NDArray[np.float64]]


@dataclass(frozen=True, eq=False)
class Approximating:
    """Ways to draw whose law was approximated in a sampling curve, and why it was."""

    laws: tuple[str, ...]
    why: str


@dataclass(frozen=True, eq=False)
class Hosting:
    """All that is known once every system was judged by every metric: ranks (1 is best) by metric and system.

    ``home`` are, by metric, the systems whose objective it is close to.
    """

    systems: tuple[str, ...]
    ranks: Mapping[str, Mapping[str, float]]
    home: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, eq=False)
class Watched:
    """All that is known once drift detectors have watched the scored events of one system on a stream."""

    system: str
    metric: str
    scored: int
    alarms: tuple[Alarm, ...]

    @classmethod
    def of(cls, outcomes: Outcomes | Played, metric: str, detectors: Detector | Iterable[Detector]) -> Watched:
        """The alarms that detectors raise over outcomes."""
        one = outcomes_of(outcomes)
        return cls(one.system, metric, len(one), raised(one, metric, detectors))


@dataclass(frozen=True, eq=False)
class Streamed:
    """All that is known of the events of a stream once a system was played on it: how many were scored, or why not."""

    system: str
    counts: Mapping[str, int]

    @classmethod
    def of(cls, outcomes: Outcomes | Played) -> Streamed:
        """The counts of outcomes."""
        one = outcomes_of(outcomes)
        return cls(one.system, one.counts)


@dataclass(frozen=True, eq=False)
class Removed:
    """Rows that filters and a split leave out of a study: by who does it, of how many rows, and how many by reason."""

    by: Mapping[str, tuple[int, Mapping[str, int]]]


@dataclass(frozen=True, eq=False)
class Uncut:
    """How many places metrics without a cut-off looked at: by metric, then by system; None is the whole target set."""

    places: Mapping[str, Mapping[str, tuple[int | None, ...]]]

    @classmethod
    def of(cls, rows: Iterable[Mapping[str, Any]]) -> Uncut:
        """Rows of a summary of one place, of lists and of target sets; ranking metrics alone count."""
        found: dict[str, dict[str, list[int | None]]] = {}
        for row in rows:
            if _is_uncut_ranking(str(row["metric"])):
                places = (row.get("parameters") or {}).get(PLACES)
                if places is not None or OF_SETS in row:
                    found.setdefault(row["metric"], {}).setdefault(row["system"], []).append(places)
        return cls({metric: {name: tuple(of) for name, of in systems.items()} for metric, systems in found.items()})


def _is_uncut_ranking(heading: str) -> bool:
    try:
        metric = parse_metric(heading)
    except RecassayError:
        return False
    return metric.is_uncut and metric.family == "ranking"


class Beaten(NamedTuple):
    """A system that a system which knows nothing of the user is significantly better than, and by how much."""

    system: str
    easy: str
    metric: str
    where: str
    difference: float


@dataclass(frozen=True, eq=False)
class Comparing:
    """All that is known once systems were compared.

    ``tests`` counts p-values, ``claims`` those at or below ``alpha`` before correction, ``lost`` the claims that Holm's
    correction would take back. ``seeds`` has the number of seeds of every system that depends on them.
    """

    correction: str
    alpha: float
    tests: int
    claims: int
    lost: int
    seeds: Mapping[str, int] = field(default_factory=dict)
    baseline: str | None = None
    beaten: tuple[Beaten, ...] = ()


@dataclass(frozen=True, eq=False)
class Stored:
    """All that is known from the tables of a folder: rows of its summary, and systems whose values are all the same.

    An element of ``same`` says where, or nothing, and names the two systems.
    """

    rows: tuple[Mapping[str, Any], ...]
    same: tuple[tuple[str, str, str], ...] = ()


Known = (
    Stored
    | Facts
    | Judging
    | Sampling
    | Approximating
    | SequenceFold
    | Watched
    | Streamed
    | Removed
    | Uncut
    | Comparing
    | Hosting
)
Answer = str | tuple[Severity, str] | None


@dataclass(frozen=True)
class Check:
    """A numbered check. ``needs`` names facts it cannot do without; where they are absent it does not apply.

    ``about`` is the kind of facts it asks: those of a scoring, of a judging, of sampled ranks, or of sequences.
    ``count`` is for a check that looks at the rows of lists or truth: what it counts, in all users or in some of them,
    adds up, and is asked about in ``facts.counted``.
    """

    code: str
    title: str
    severity: Severity
    needs: frozenset[str]
    ask: Callable[[Any], Answer]
    about: type = Facts
    count: Callable[[Sight], Any] | None = None

    def __call__(self, facts: Known) -> Finding | None:
        """The finding, or None."""
        if any(getattr(facts, need) is None for need in self.needs):
            return None
        answer = self.ask(facts)
        if answer is None:
            return None
        severity, detail = (self.severity, answer) if isinstance(answer, str) else answer
        system = facts.system if isinstance(facts, Facts | Watched | Streamed) else ""
        return Finding(self.code, severity, self.title, detail, system)


CHECKS: dict[str, Check] = {}


def check(
    code: str,
    title: str,
    severity: Severity,
    *,
    needs: tuple[str, ...] = (),
    about: type = Facts,
    count: Callable[[Sight], Any] | None = None,
) -> Callable[[Callable[[Any], Answer]], Check]:
    """Register a function from facts to an answer as a check."""

    def register(ask: Callable[[Any], Answer]) -> Check:
        if code in CHECKS:
            raise ValueError(f"two checks have the code {code}")
        CHECKS[code] = Check(code, title, severity, frozenset(needs), ask, about, count)
        return CHECKS[code]

    return register


def load() -> Mapping[str, Check]:
    """Every check by code."""
    import recassay.diagnose

    for module in pkgutil.iter_modules(recassay.diagnose.__path__, "recassay.diagnose."):
        importlib.import_module(module.name)
    return dict(sorted(CHECKS.items()))


def counts_of(sight: Sight) -> Counted:
    """What every check counts that applies here, by code."""
    asked = (one for one in load().values() if one.count is not None)
    able = (one for one in asked if all(getattr(sight, need, None) is not None for need in one.needs))
    return {one.code: one.count(sight) for one in able if one.count is not None}


def diagnose(facts: Known) -> tuple[Finding, ...]:
    """What every check of such facts finds, in the order of their codes."""
    asked = (one for one in load().values() if one.about is type(facts))
    return tuple(finding for one in asked if (finding := one(facts)) is not None)


def share(part: int, whole: int) -> str:
    """A count with its share.

    >>> share(37, 6040)
    '37 of 6,040 (0.6 %)'
    """
    percent = 100 * part / max(whole, 1)
    return f"{part:,} of {whole:,} ({percent:.{0 if percent >= 10 or percent == 0 else 1 if percent >= 0.1 else 2}f} %)"


def several(count: int, noun: str) -> str:
    """A count with its noun.

    >>> several(1, "list"), several(1200, "list")
    ('1 list', '1,200 lists')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def example(values: object) -> str:
    """How an id is shown in a sentence."""
    return repr(values.item() if isinstance(values, np.generic) else values)
