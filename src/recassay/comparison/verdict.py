"""The verdict on systems: who is best by the main metric on every data set, split and seed, and the test of every lead.

The page, the terminal and ``recassay compare`` all say what this one value says. A place is a data set, split and seed;
folds are pooled by user before, and places are never pooled.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from recassay.comparison.compare import Comparison
from recassay.comparison.pairs import Recheck, judges, leaders
from recassay.data.io.write import finite
from recassay.results.score_set import AXES, Place
from recassay.results.scores import Scores, Summary

NUMBERS = ("mean", "low", "high", "difference", "difference_low", "difference_high", "p")


@dataclass(frozen=True)
class Lead:
    """The best system by one metric on one data set, split and seed, and the test against the runner-up.

    ``place`` has the data set, split and seed. ``difference`` is leader minus runner-up, over the users for whom both
    are defined, and ``p`` is adjusted over all ``pairs`` of systems, NaN if nothing was tested. ``better``, ``worse``
    and ``unclear`` sort the other systems by their comparison with the ``baseline``, if there is one. ``common`` is the
    number of users with both systems if one of the two means is over more users, else 0. ``rechecks`` are the best
    system and its test without the users, or ties, that each finding (warning) names.
    """

    place: Place
    metric: str
    systems: tuple[str, ...]
    leader: str
    mean: float
    low: float
    high: float
    runner_up: str | None = None
    difference: float = math.nan
    difference_low: float = math.nan
    difference_high: float = math.nan
    p: float = math.nan
    pairs: int = 0
    n: int = 0
    test: str = ""
    correction: str = ""
    significant: bool = False
    higher_is_better: bool = True
    beaten: tuple[str, ...] = ()
    baseline: str | None = None
    better: tuple[str, ...] = ()
    worse: tuple[str, ...] = ()
    unclear: tuple[str, ...] = ()
    common: int = 0
    rechecks: tuple[Recheck, ...] = ()

    @property
    def turned(self) -> tuple[Recheck, ...]:
        """Return the rechecks in which another system leads, or in which the significance of the lead changes.

        A recheck is the lead computed without the users, or ties, that a finding (warning) names.
        """
        verdict = (self.leader, self.significant)
        return tuple(one for one in self.rechecks if (one.leader, one.significant) != verdict)

    @property
    def established(self) -> bool:
        """Return whether the lead of the best system is significant, also without what each finding (warning) names."""
        return self.significant and not self.turned

    @property
    def tested(self) -> bool:
        """Return whether the leader was tested against the runner-up."""
        return not math.isnan(self.p)

    def to_dict(self) -> dict[str, Any]:
        """Return the lead (best system and its test) as one row, ready for JSON; undefined and infinite are None."""
        row = {**self.place._asdict(), **asdict(self), "established": self.established}
        del row["place"]
        return dict(finite(row))

    @classmethod
    def from_dict(cls, row: Mapping[str, Any]) -> Lead:
        """Return the lead (best system and its test) that a row of :meth:`to_dict` describes."""
        given: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in row.items()}
        place = Place(*(given.pop(axis) for axis in AXES))
        numbers = {name: math.nan if given[name] is None else float(given[name]) for name in NUMBERS}
        given.pop("established", None)  # follows from the others
        rechecks = tuple(Recheck.from_dict(one) for one in given.pop("rechecks", ()))
        return cls(place=place, rechecks=rechecks, **(given | numbers))


@dataclass(frozen=True)
class Verdict:
    """The best system on every data set, split and seed, by the main metric under the main design.

    A lead is the best system there, with its test against the second best; ``others`` are the leads by other metrics
    and designs. The main metric is the first one that says how good a system is; the main design of a data set, split
    and seed is its first one. ``level`` is the confidence level of the tests.
    """

    leads: tuple[Lead, ...]
    others: tuple[Lead, ...] = ()
    level: float = 0.95

    @property
    def metric(self) -> str:
        """Return the main metric; an empty string if no metric says how good a system is."""
        return self.leads[0].metric if self.leads else ""

    @property
    def turned(self) -> frozenset[str]:
        """Return the codes of findings (warnings) that change the verdict in some place if their users are left out.

        A place is a data set, split and seed. For findings on ties, the ties are broken otherwise instead.
        """
        return frozenset(one.code for lead in self.leads for one in lead.turned)

    @property
    def systems(self) -> frozenset[str]:
        """Return the systems that the verdict names: the best and the second best of every lead by the main metric."""
        return frozenset(name for lead in self.leads for name in (lead.leader, lead.runner_up) if name)

    def with_rechecks_of(self, other: Verdict) -> Verdict:
        """Return the verdict with the rechecks of another verdict on the same stored results.

        Rechecks are leads computed without the users, or ties, that a finding (warning) names. They are matched by
        metric, and by data set, split and seed.
        """
        rechecks = {(lead.place, lead.metric): lead.rechecks for lead in (*other.leads, *other.others)}
        leads, others = (
            tuple(replace(lead, rechecks=rechecks.get((lead.place, lead.metric), lead.rechecks)) for lead in group)
            for group in (self.leads, self.others)
        )
        return replace(self, leads=leads, others=others)

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict as plain values: the metric, the level, and ``leads``, a row for each best system.

        A row has the best system on a data set, split and seed, with its test against the second best. The rows for the
        main metric come first.
        """
        rows = [lead.to_dict() for lead in (*self.leads, *self.others)]
        return {"metric": self.metric, "level": self.level, "leads": rows}

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Verdict:
        """Return the verdict that a document of :meth:`to_dict` describes."""
        leads = [Lead.from_dict(row) for row in document["leads"]]
        return verdict_of(leads, level=float(document["level"]), metric=document["metric"])


def verdict_of(leads: Iterable[Lead], *, level: float = 0.95, metric: str | None = None) -> Verdict:
    """Return the verdict that follows from leads (best systems), in the order of the study's metrics and designs.

    ``metric`` is the main metric; by default the first one that says how good a system is.
    """
    every = list(leads)
    main = metric or (every[0].metric if every else "")
    chosen: dict[tuple[Any, ...], Lead] = {}
    for lead in every:
        if lead.metric == main:
            chosen.setdefault(lead.place.without("design"), lead)
    first = tuple(chosen.values())
    taken = {id(lead) for lead in first}
    return Verdict(first, tuple(lead for lead in every if id(lead) not in taken), level)


def leads_at(place: Place, scores: Scores, comparison: Comparison | None) -> Iterator[Lead]:
    """Yield the best system by every metric that says how good a system is, with its test against the second best.

    ``scores`` are those of one ``place``: a data set, split and seed. ``comparison`` has the tests of ``scores``, or is
    None if nothing was tested.
    """
    for metric, (first, second, higher) in leaders(scores).items():
        rows = {row.system: row for row in scores.rows if row.metric == metric}
        lead = _untested(place, rows[first], tuple(rows), second, higher=higher)
        lead = replace(lead, difference=rows[first].mean - rows[second].mean)
        if comparison is not None:
            weighted = any((system, metric) in scores.per_unit_weights for system in (first, second))
            lead = _with_test(lead, comparison, 0 if weighted else max(rows[first].n, rows[second].n))
        yield lead
    if len(scores.systems) == 1:
        for row in scores.rows:
            if row.metric in scores.unit_metrics and judges(row.metric) and row.higher_is_better is not None:
                yield _untested(place, row, (row.system,), None, higher=row.higher_is_better)


def _untested(place: Place, row: Summary, systems: Sequence[str], second: str | None, *, higher: bool) -> Lead:
    return Lead(
        place, row.metric, tuple(systems), row.system, row.mean, row.low, row.high, second, n=row.n,
        higher_is_better=higher,
    )  # fmt: skip


def _with_test(lead: Lead, comparison: Comparison, n: int) -> Lead:
    """Return a lead (the best system by a metric) with its test, its rechecks, and the comparisons with the baseline.

    ``n`` is the larger number of users that one of the two means is over; it is 0 if users have weights: such a mean
    counts events, not users.
    """
    kinds: dict[str, list[str]] = {"better": [], "worse": [], "unclear": []}
    for row in comparison.rows if comparison.baseline is not None else ():
        if row.metric == lead.metric:
            better = (row.difference > 0) == lead.higher_is_better
            kinds["unclear" if not row.significant else "better" if better else "worse"].append(row.a)
    lead = replace(
        lead,
        rechecks=tuple(one for one in comparison.rechecks if one.metric == lead.metric),
        baseline=comparison.baseline,
        **{kind: tuple(systems) for kind, systems in kinds.items()},  # type: ignore[arg-type]
    )
    test = next((one for one in comparison.leads if one.row.metric == lead.metric), None)
    if test is None:
        return lead
    row = test.row
    return replace(
        lead,
        difference=row.difference,
        difference_low=row.low,
        difference_high=row.high,
        p=row.p_adjusted,
        pairs=test.pairs,
        n=row.n,
        test=row.test,
        correction=row.correction,
        significant=lead.runner_up in test.beaten,
        beaten=test.beaten,
        common=row.n if row.n < n else 0,
    )
