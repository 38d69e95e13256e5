"""Sentences beside the verdict: findings by code, and the highest and lowest systems by other families of metrics.

The verdict says which system is best. Where the users or ties that a finding names are known, the verdict is computed
again without them, and the finding changes the verdict if the new one is another. Other warnings could change it if
they are about all systems, the leader or the runner-up.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from recassay.comparison.pairs import TIES
from recassay.comparison.verdict import Verdict
from recassay.metrics.registry import known_metric
from recassay.report.content import wording
from recassay.report.content.grids import Grid, ResultGrids, real
from recassay.report.content.verdict import listed
from recassay.results.finding import SEVERITIES, Finding
from recassay.results.score_set import GIVEN
from recassay.results.scores import CODES

Row = Mapping[str, Any]
WHERE = ("system", "dataset", "split", "design")
# findings that can change values, as information too
TOUCHING = (*CODES, TIES, "C019", "L002", "L004", "L005", "R001", "R004", "R005", "S006")
OF_ANY_SYSTEM = ("R004", "R005")  # a reversed system may be the best one
SAME_USERS = {"C019": "C002"}  # a finding on the users of another one


@dataclass(frozen=True)
class FindingGroup:
    """All findings (warnings about results) with one code, the most important first.

    ``weight`` is 2 if one of the findings could change the verdict (which system is best), 1 for other warnings and
    errors, and 0 for information. The flags are about the verdict computed again without the users or ties that the
    findings name: it is the ``same``, it is another (``turned``), or it was not computed although it could be another
    (``open``).
    """

    code: str
    severity: str
    title: str
    rows: tuple[Row, ...]
    weight: int
    same: bool = False
    turned: bool = False
    open: bool = False

    @property
    def detail(self) -> str:
        """Return the text of the most important finding (warning about results) of the group."""
        return str(self.rows[0]["detail"])

    @property
    def count(self) -> int:
        """Return the number of cases of all findings (warnings) in the group, also of other folds and seeds."""
        return sum(int(row.get("cases", 1)) for row in self.rows)


def finding_groups(findings: Iterable[Finding | Row], verdict: Verdict | None = None) -> list[FindingGroup]:
    """Return findings grouped by code: first those that could change the verdict (who is best), then warnings.

    Information is last. A finding changes the verdict if the verdict is another without the users or ties that the
    finding names. If that was not computed, a warning could change it if it is about all systems, or about a leader or
    runner-up of the verdict. Without a verdict, only warnings about all systems could.

    >>> rows = [Finding("C002", "info", "Short lists", "...", "a"), Finding("T001", "warning", "Ties", "...", "a")]
    >>> [(group.code, group.weight) for group in finding_groups(rows)]
    [('T001', 1), ('C002', 0)]
    """
    verdict = verdict or Verdict(())
    by_code: dict[str, list[Row]] = {}
    for finding in findings:
        row: Row = finding.to_dict() if isinstance(finding, Finding) else finding
        by_code.setdefault(str(row["code"]), []).append(row)
    groups = []
    for code, rows in by_code.items():
        judged = [_verdict_fields(row, verdict) for row in rows]
        order = sorted(range(len(rows)), key=lambda at: (-judged[at][0], -SEVERITIES.index(rows[at]["severity"])))
        first, severity = rows[order[0]], max((str(row["severity"]) for row in rows), key=SEVERITIES.index)
        same, turned = all(same for _, same, _ in judged), any(turned for *_, turned in judged)
        unknown = not same and not turned and (severity != "info" or code in TOUCHING)
        in_order, weight = tuple(rows[at] for at in order), judged[order[0]][0]
        groups.append(FindingGroup(code, severity, str(first["title"]), in_order, weight, same, turned, unknown))
    return sorted(groups, key=lambda group: (-group.weight, -SEVERITIES.index(group.severity), group.code))


def verdict_without(groups: Iterable[FindingGroup], verdict: Verdict) -> str:
    """Return sentences on whether findings (warnings) could change a verdict; "" without findings or two systems.

    >>> from recassay.comparison.verdict import Lead
    >>> from recassay.results.score_set import Place
    >>> lead = Lead(Place(), "mrr", ("als", "pop"), "als", 0.5, 0.4, 0.6, "pop", 0.1)
    >>> verdict_without(finding_groups([Finding("B004", "info", "Few items", "...")]), Verdict((lead,)))
    'No finding could change the verdict.'
    >>> verdict_without(finding_groups([Finding("C010", "info", "Cold users", "...")]), Verdict((lead,)))
    'The verdict was not computed without what C010 names.'
    """
    groups = list(groups)
    if not groups or not any(lead.runner_up for lead in verdict.leads):
        return ""
    turned = [group.code for group in groups if group.turned]
    could = [group.code for group in groups if group.weight == 2 and not group.turned]
    unknown = [group.code for group in groups if group.open and group.weight < 2]
    same = [group.code for group in groups if group.same]
    parts = [f"Without what {_names(turned)} the verdict is another."] if turned else []
    parts += [f"{wording.series(sorted(could))} could change the verdict."] if could else []
    parts += [f"The verdict was not computed without what {_names(unknown)}."] if unknown else []
    if not parts:
        return f"No finding could change the verdict{f': without what {_names(same)} it is the same' if same else ''}."
    return " ".join(parts)


def _names(codes: list[str]) -> str:
    return f"{wording.series(sorted(codes))} {'name' if len(codes) > 1 else 'names'}"


def _verdict_fields(row: Row, verdict: Verdict) -> tuple[int, bool, bool]:
    """Return (weight, same, turned) of a finding (warning): how important it is, and whether the verdict depends on it.

    They are fields of :class:`FindingGroup`; ``row`` is the finding.
    """
    code = SAME_USERS.get(str(row["code"]), str(row["code"]))
    stated = {axis: row[axis] for axis in ("dataset", "split") if row.get(axis) not in (None, "", GIVEN)}
    leads = [one for one in verdict.leads if all(getattr(one.place, axis) == name for axis, name in stated.items())]
    again = [(lead, next((one for one in lead.rechecks if one.code == code), None)) for lead in leads]
    turned = any(one in lead.turned for lead, one in again)
    same = bool(again) and all(one is not None and one not in lead.turned for lead, one in again)
    systems = str(row.get("system") or "").split(", ")
    near = systems == [""] or row["code"] in OF_ANY_SYSTEM or bool(verdict.systems.intersection(systems))
    weight = 2 if turned else 0 if row["severity"] == "info" else 1 if same or not near else 2
    return weight, same, turned


def where_of(row: Row) -> list[str]:
    """Return the system, data set, split and design that a finding (warning) is about, each as text, if stated."""
    return [str(row[key]) for key in WHERE if row.get(key) and row[key] != "given"]


FAMILIES = {"ranking": "accuracy", "debiased": "accuracy without popularity bias", "rating": "rating error"}
SUBJECTS = {
    "accuracy": "seq_mrr seq_ndcg seq_precision seq_recall",
    "calibration": "calibration",
    "certainty": "seq_confidence seq_perplexity seq_surprise",
    "diversity": "eild epd ild seq_diversity",
    "diversity of topics": "alpha_ndcg err_ia precision_ia subtopic_recall",
    "exposure": "entropy gini gini_simpson",
    "novelty": "efd epc seq_novelty seq_serendipity",
    "order": "seq_kendall seq_lcs seq_ndpm",
    "popularity": "aclt aplt arp",
    "surprise": "serendipity unexpectedness",
}  # and the metrics that measure them
SUBJECT_OF = {name: subject for subject, names in SUBJECTS.items() for name in names.split()}


def family_of(metric: str) -> str:
    """Return what a metric measures, such as accuracy, diversity or coverage; empty for an unknown metric.

    >>> [family_of(metric) for metric in ("ndcg@10", "ild@10", "coverage@10", "gini@10", "my own number")]
    ['accuracy', 'diversity', 'coverage', 'exposure', '']
    """
    known = known_metric(metric)
    if known is None:
        return ""
    module = type(known).__module__.rsplit(".", 1)[-1]
    subject = FAMILIES.get(known.family) or SUBJECT_OF.get(known.name, module)
    return "coverage" if "coverage" in known.name else subject


class Ends(NamedTuple):
    """The systems with the highest and the lowest mean of a metric on one data set, split and seed, and these means."""

    grid: Grid
    highest: tuple[str, ...]
    lowest: tuple[str, ...]
    high: float
    low: float


def _extreme_systems(grid: Grid) -> list[Ends]:
    """Return, as a list of one, the systems with the highest and the lowest mean under the first design.

    A design says which items are ranked as candidates. The list is empty with fewer than two defined means.
    """
    means = {system: mean for system in grid.systems if not math.isnan(mean := grid.value(system, grid.designs[0]))}
    if len(means) < 2:
        return []
    high, low = max(means.values()), min(means.values())
    highest, lowest = (tuple(system for system, mean in means.items() if mean == end) for end in (high, low))
    return [Ends(grid, highest, lowest, high, low)]


def family_sentences(verdict: Verdict, groups: Sequence[ResultGrids]) -> tuple[str, ...]:
    """Return a sentence for each family of metrics except the verdict's: which systems have the extreme means.

    A family, such as diversity, is represented by its first metric; see :func:`family_of`. Families with fewer than two
    systems have no sentence.
    """
    grids = [grid for group in groups for grid in group.grids]
    first: dict[str, str] = {}
    for grid in grids:
        first.setdefault(family_of(grid.metric), grid.metric)
    ends = {
        (family, metric): [ends for grid in grids if grid.metric == metric for ends in _extreme_systems(grid)]
        for family, metric in first.items()
        if family not in ("", family_of(verdict.metric))
    }
    return tuple(
        f"{family.capitalize()} ({metric}): {_single(several[0], verdict) if len(several) == 1 else _several(several)}."
        for (family, metric), several in ends.items()
        if several
    )


def _single(ends: Ends, verdict: Verdict) -> str:
    highest, lowest = ends.highest, ends.lowest
    high, low, apart = (wording.number(value) for value in (ends.high, ends.low, ends.high - ends.low))
    if ends.high == ends.low:
        return f"all {len(highest)} systems have {high}"
    leaders, grid = {lead.leader for lead in verdict.leads}, ends.grid
    between = [
        f"{leader}, which leads by {verdict.metric}, has {wording.number(grid.value(leader, grid.designs[0]))}"
        for leader in leaders
        if len(leaders) == 1 and leader in grid.systems and leader not in (*highest, *lowest)
    ]
    tested = _test_text(ends, verdict.level)
    return "; ".join(
        [f"highest {listed(highest)} with {high}, lowest {listed(lowest)} with {low}, {apart} apart{tested}", *between]
    )


def _test_text(ends: Ends, level: float) -> str:
    """Return the interval and the p-value of the difference between highest and lowest system, as text in brackets.

    The text is ``(not tested)`` if the two systems were not compared.
    """
    row = ends.grid.versus(ends.grid.designs[0], ends.highest[0], ends.lowest[0]) or {}
    low, high, p = (real(row.get(name)) for name in ("low", "high", "p_adjusted"))
    interval = "" if math.isnan(low) else f"{wording.percent(level)} interval {wording.interval(low, high)}; "
    return " (not tested)" if math.isnan(p) else f" ({interval}{wording.p_phrase(p)})"


def _several(several: Sequence[Ends]) -> str:
    differences = sorted(ends.high - ends.low for ends in several)
    smallest, largest = (wording.number(differences[at]) for at in (0, -1))
    apart = smallest if smallest == largest else f"{smallest} to {largest}"
    highest, lowest = (
        listed(list(counted(system for systems in kind for system in systems)))
        for kind in ([ends.highest for ends in several], [ends.lowest for ends in several])
    )
    return f"highest {highest}, lowest {lowest}, of {len(several)} settings; {apart} apart"


def counted(systems: Iterable[str]) -> Iterator[str]:
    """Yield each system with the number of times it is named, the most often named first.

    >>> list(counted("abb"))
    ['b on 2', 'a on 1']
    """
    yield from (f"{system} on {count}" for system, count in Counter(systems).most_common())
