"""All results that a decision between systems needs, in one value: what ``recassay compare`` prints."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from recassay._version import __version__
from recassay.comparison.across import ROPE, Across, across
from recassay.comparison.compare import SignificanceOptions
from recassay.comparison.consistency import Consistency, consistency
from recassay.comparison.power import Power, users_needed
from recassay.comparison.rules import SuddenDeathOptions
from recassay.comparison.sudden_death import SuddenDeath
from recassay.comparison.verdict import Verdict, leads_at, verdict_of
from recassay.engine.decisions.comparing import PlaceComparisons, compare_places
from recassay.engine.decisions.contests import sudden_deaths
from recassay.engine.finish import merge_findings
from recassay.errors import UsageError
from recassay.naming import choices
from recassay.naming.arguments import checks_types
from recassay.results.exhibit import Exhibit
from recassay.results.finding import Finding
from recassay.results.score_set import AXES, Place, ScoreSet
from recassay.stats.over_datasets import check_rope
from recassay.stats.resampling import Progress
from recassay.threads import StageProgress

DATASET = "dataset"


@dataclass(frozen=True, eq=False)
class Decision:
    """The results that a decision between systems needs: comparisons by place (data set, split, ...), and those below.

    ``verdict`` is the answer in short, ``across`` ranks systems over data sets, ``consistency`` compares orders of
    systems between places, ``power`` has the number of users needed in each place, and ``sudden_deaths`` are by name.
    """

    compared: PlaceComparisons
    verdict: Verdict
    across: Across | None = None
    consistency: Consistency | None = None
    power: Mapping[Place, Power] = field(default_factory=dict)
    sudden_deaths: Mapping[str, SuddenDeath] = field(default_factory=dict)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Return the findings on the comparisons and on Sudden Death."""
        of_contests = [finding for contest in self.sudden_deaths.values() for finding in contest.findings]
        return (*self.compared.findings, *merge_findings(of_contests))

    @property
    def exhibits(self) -> tuple[Exhibit, ...]:
        """Return the tables with a figure that a report shows."""
        return () if self.across is None else (self.across.exhibit(),)

    def to_dict(self) -> dict[str, Any]:
        """Return all results, ready for JSON; undefined and infinite numbers are None."""
        needs = [{**place._asdict(), **row} for place, power in self.power.items() for row in power.to_dicts()]
        contests = [
            {"contest": name, **row}
            for name, result in self.sudden_deaths.items()
            for row in result.summary().to_dicts()
        ]
        duels = [
            {"contest": name, "at": result.deepest, **row}
            for name, result in self.sudden_deaths.items()
            for row in result.duels().to_dicts()
        ]
        document = {
            "recassay": __version__,
            "verdict": self.verdict.to_dict(),
            "comparisons": self.compared.to_dicts(),
            "across": None if self.across is None else self.across.to_dict(),
            "consistency": None if self.consistency is None else self.consistency.to_dict(),
            "power": needs,
            "sudden_death": contests,
            "duels": duels,
            "findings": [finding.to_dict() for finding in self.findings],
        }
        finite: dict[str, Any] = _finite(document)
        return finite


@checks_types
def decide(
    scores: ScoreSet,
    *,
    baseline: str | None = None,
    test: choices.TestName = "permutation",
    correction: choices.Correction = "holm",
    effect: choices.Effect = "d_z",
    level: float = 0.95,
    resamples: int | str = "auto",
    seed: int = 0,
    by: str | None = None,
    rope: float = ROPE,
    power: bool = False,
    wanted: float | None = None,
    sudden_death: tuple[int, ...] | SuddenDeathOptions = (),
    threads: int | None = None,
    progress: StageProgress | None = None,
) -> Decision:
    """Compare systems in every place (data set, split, ...), and measure how far the results agree between places.

    Systems are ranked over the values of ``by``, by default over data sets if there are several. Orders of systems are
    compared between the values of ``by``, by default of every coordinate with two or more values. Differences up to
    ``rope`` do not matter. ``test``, ``correction`` and ``effect`` name the test, the correction of p-values and the
    effect size. With ``power`` the users needed to detect ``wanted``, a difference of means, are computed.
    ``sudden_death`` has the cut-offs, or all options, of Sudden Death: for each user, the system that ranks its first
    relevant item highest wins.
    """
    check_rope(rope)
    testing = SignificanceOptions(test, correction, effect, level, seed, resamples)
    compared = compare_places(
        scores, testing, baseline=baseline, threads=threads, progress=_stage(progress, "comparing")
    )
    ranked = agreed = None
    over: Any = by or DATASET  # across refuses other words
    try:
        if by is not None or len(scores.along(DATASET)) > 1:
            ranked = across(scores, over=over, level=level, rope=rope, seed=seed)
    except UsageError as error:  # data sets of a study may differ in protocol; then there is no ranking
        if by is not None or error.code != "U211":
            raise
    if by is not None or len(scores.metrics) > 1 or any(len(scores.along(axis)) > 1 for axis in AXES):
        agreed = consistency(
            scores, along=by, level=level, seed=seed, threads=threads, progress=_stage(progress, "orders")
        )
    needs = {}
    for place in compared.comparisons if power else ():
        own = baseline if baseline in scores.sheets[place].systems else None
        sheet = scores.sheets[place]
        needs[place] = users_needed(sheet, wanted=wanted, baseline=own, level=level, correction=correction)
    options = sudden_death if isinstance(sudden_death, SuddenDeathOptions) else SuddenDeathOptions(sudden_death)
    contests = sudden_deaths(scores, options, level=level, seed=seed, threads=threads) if options.at else {}
    leads = [lead for place, own in scores for lead in leads_at(place, own, compared.comparisons.get(place))]
    return Decision(compared, verdict_of(leads, level=level), ranked, agreed, needs, contests)


def _stage(report: StageProgress | None, name: str) -> Progress | None:
    return None if report is None else lambda done, of: report(name, done, of)


def _finite(value: Any) -> Any:
    """Return a nested value in which infinite and NaN numbers are None, because JSON lacks them."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return value
