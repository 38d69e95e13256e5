"""Everything that stands behind a decision between systems, in one value: what ``recassay compare`` prints."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from recassay._version import __version__
from recassay.comparison.across import ROPE, Across, across
from recassay.comparison.bayes import check_rope
from recassay.comparison.compare import HowTested
from recassay.comparison.consistency import Consistency, consistency
from recassay.comparison.power import Power, users_needed
from recassay.comparison.resampling import Progress
from recassay.comparison.sudden_death import SuddenDeath
from recassay.data.exhibit import Exhibit
from recassay.data.finding import Finding
from recassay.data.score_set import AXES, Place, ScoreSet
from recassay.engine.comparing import Compared, compare_places, contests
from recassay.engine.local import Report
from recassay.errors import UsageError

DATASET = "dataset"


@dataclass(frozen=True, eq=False)
class Decision:
    """Comparisons place by place, ranks over data sets, how far orders agree, users needed, and contests."""

    compared: Compared
    across: Across | None = None
    consistency: Consistency | None = None
    power: Mapping[Place, Power] = field(default_factory=dict)
    contests: Mapping[str, SuddenDeath] = field(default_factory=dict)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What to know before any of it is believed."""
        return self.compared.findings

    @property
    def exhibits(self) -> tuple[Exhibit, ...]:
        """Pictures for a report."""
        return () if self.across is None else (self.across.exhibit(),)

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON: an undefined or infinite number is None."""
        needs = [{**place._asdict(), **row} for place, one in self.power.items() for row in one.to_dicts()]
        contests = [
            {"contest": name, **row} for name, contest in self.contests.items() for row in contest.summary().to_dicts()
        ]
        document = {
            "recassay": __version__,
            "comparisons": self.compared.to_dicts(),
            "across": None if self.across is None else self.across.to_dict(),
            "consistency": None if self.consistency is None else self.consistency.to_dict(),
            "power": needs,
            "sudden_death": contests,
            "findings": [finding.to_dict() for finding in self.findings],
        }
        plain: dict[str, Any] = _plain(document)
        return plain


def decide(
    scores: ScoreSet,
    *,
    baseline: str | None = None,
    test: str = "permutation",
    correction: str = "holm",
    effect: str = "d_z",
    level: float = 0.95,
    resamples: int | str = "auto",
    seed: int = 0,
    by: str | None = None,
    rope: float = ROPE,
    power: bool = False,
    wanted: float | None = None,
    sudden_death: tuple[int, ...] = (),
    threads: int | None = None,
    progress: Report | None = None,
) -> Decision:
    """Compare systems in every place, and ask whether the verdict is the same in all of them.

    Systems are ranked over data sets where there are several, or over ``by``; orders are compared along every
    coordinate that takes two values, or along ``by`` alone.
    """
    check_rope(rope)
    testing = HowTested(test, correction, effect, level, seed, resamples)
    compared = compare_places(
        scores, testing, baseline=baseline, threads=threads, progress=_stage(progress, "comparing")
    )
    ranked = agreed = None
    over = by or DATASET
    try:
        if by is not None or len(scores.along(DATASET)) > 1:
            ranked = across(scores, over=over, level=level, rope=rope, seed=seed)
    except UsageError as error:  # data sets of a study may be played under other protocols, and then nobody is ranked
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
    fights = contests(scores, sudden_death, threads=threads) if sudden_death else {}
    return Decision(compared, ranked, agreed, needs, fights)


def _stage(report: Report | None, name: str) -> Progress | None:
    return None if report is None else lambda done, of: report(name, done, of)


def _plain(value: Any) -> Any:
    """The same with None for numbers that JSON does not have."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value
