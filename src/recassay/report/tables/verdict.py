"""What stands around the means in a terminal: the verdict, the findings, and means by group."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from recassay.checks.base import format_count
from recassay.comparison.verdict import Verdict
from recassay.errors import printable
from recassay.report.content import wording
from recassay.report.content.findings import FindingGroup, family_sentences, finding_groups, verdict_without, where_of
from recassay.report.content.grids import ResultGrids
from recassay.report.content.verdict import verdict_text
from recassay.report.tables.model import (
    SYSTEM_WIDTH,
    Cell,
    Column,
    Field,
    ResultTable,
    Terminal,
    dim_unless_significant,
    interval,
    name,
    system,
    table,
    words,
)
from recassay.results.finding import SEVERITIES, Finding
from recassay.results.group_scores import GroupRow, GroupScores
from recassay.results.scores import Scores, worded

STYLES = {"error": "red", "warning": "yellow", "info": "dim"}
NO_FINDINGS = Text("No findings.", style="green")


def verdict_block(verdict: Verdict, groups: Sequence[ResultGrids] = (), unit: str = "user") -> RenderableType:
    """Return the headline of the verdict in bold, a line per family of metrics, the details, and what contradicts it.

    ``groups`` are the results, from which the lines on other families than that of the verdict are made.
    """
    text = verdict_text(verdict, unit)
    against = [words(f"But {line[:1].lower()}{line[1:]}") for line in text.against]
    details = map(words, (*family_sentences(verdict, groups), *text.details))
    return Group(words(text.headline, "bold"), *details, *against, Text())


def findings_table(scores: Scores, verdict: Verdict | None = None) -> RenderableType:
    """Return a table of the findings (warnings) on scores, errors first; without any, a line that says so.

    With the ``verdict`` on these scores, a sentence follows on whether a finding could change it.
    """
    if not scores.findings:
        return NO_FINDINGS
    sentence = "" if verdict is None else verdict_without(finding_groups(scores.findings, verdict), verdict)
    table = Terminal(findings_in_full(scores.findings, scores.systems))
    return Group(table, Text(f"\n{sentence}")) if sentence else table


def findings_in_full(findings: Iterable[Finding], systems: Sequence[str] = ()) -> ResultTable:
    """Return a row per finding (warning about results), errors first; one about all of ``systems`` says so."""
    rows = tuple(
        (
            Cell(finding.severity, finding.severity),
            Cell(finding.code),
            Cell(finding.detail, head=f"{finding.title}. "),
            Cell("all systems" if len(systems) > 1 and finding.system == ", ".join(systems) else finding.system),
        )
        for finding in sorted(findings, key=lambda finding: (-SEVERITIES.index(finding.severity), finding.code))
    )  # fmt: skip
    columns = (Column("severity", "name"), Column("code", "name"), Column("finding", "name"))
    return ResultTable((*columns, Column("system", "system", SYSTEM_WIDTH)), rows)


def findings_block(
    findings: Iterable[Finding | Mapping[str, Any]], verdict: Verdict | None = None, *, folder: object = None
) -> RenderableType:
    """Return the findings (warnings) by code: with their text if they could change the verdict, else in one line.

    ``folder`` is that of the results, for a hint at the command that prints all findings.
    """
    groups = finding_groups(findings, verdict)
    if not groups:
        return NO_FINDINGS
    parts: list[RenderableType] = []
    for group in groups:
        parts += [_head(group), *([words(f"  {group.detail}")] if group.weight == 2 else [])]
    if sentence := verdict_without(groups, verdict or Verdict(())):
        parts.append(Text(sentence))
    if folder is not None and any(group.weight < 2 or len(group.rows) > 1 for group in groups):
        parts.append(Text(f"All findings in full: recassay check {folder}", style="dim"))
    return Group(*parts)


def _head(group: FindingGroup) -> Text:
    places = [", ".join(where_of(row)) for row in group.rows]
    where = f" ({places[0]})" if places[0] and len(places) == 1 else ""
    cases = f" ({group.count} cases, the first: {places[0]})" if group.count > 1 and places[0] else where
    head = (f"{group.code} {group.severity}", STYLES[group.severity])
    return Text.assemble(head, printable(f": {group.title}{cases}"))


NARROW = 3  # systems whose intervals fit beside their means
MAX_GROUPS = 20  # lines of one metric
FEW_FOR_WELCH = 100  # users of a group; with more, skewed values hardly matter (docs/explanation/uncertainty.md)


def groups_text(groups: GroupScores, unit: str = "user") -> RenderableType:
    """Return the gap between groups of each system by each metric, then the means by group of the first metric."""
    parts: list[RenderableType] = [
        words(groups_title(groups, unit), "bold"), words(groups_counts(groups, unit)), Text()
    ]  # fmt: skip
    if groups.gaps:
        parts += [Terminal(gaps_table(groups)), Text()]
    parts.append(Terminal(_groups_table(groups, groups.metrics[0])))
    if (more := len(groups.groups) - MAX_GROUPS) > 0:
        parts.append(words(f"{format_count(more, 'more group')}: -o FOLDER or --json", "dim"))
    parts.append(Text())
    if left := len(groups.metrics) - 1:
        parts.append(words(f"{left} more {'metric' if left == 1 else 'metrics'} by group: -o FOLDER or --json", "dim"))
    dim = "Dim groups do not differ significantly from the mean over all users."
    return Group(*parts, words(f"{groups_method(groups, unit)} {worded(dim, unit)}", "dim"), Text())


def gaps_table(groups: GroupScores) -> ResultTable:
    """Return a row per metric and system: gap between best and worst group, its interval and p, and the two groups."""
    rows = [
        {**vars(gap), **{end: _end(groups, vars(gap), end) for end in ("worst", "best")}}
        for metric in groups.metrics
        for gap in groups.gaps
        if gap.metric == metric
    ]
    fields = (
        name("metric"), system(), Field("gap", "gap", wording.difference), interval(groups.level),
        Field("p", "p", wording.p_value), name("worst"), name("best"),
    )  # fmt: skip
    made = table(rows, fields, dim_unless_significant, grouped=True)
    return ResultTable(made.columns, tuple(row for row in made.rows if row))


def _end(groups: GroupScores, gap: dict[str, str], end: str) -> str:
    row = groups.row(gap["system"], gap["metric"], gap[end])
    mean = "" if row is None else f" {wording.number(row.mean)}"
    return f"{wording.shorten(gap[end], SYSTEM_WIDTH)}{mean}"


def _groups_table(groups: GroupScores, metric: str) -> ResultTable:
    rows = []
    for group in groups.groups[:MAX_GROUPS]:
        cells = groups.cells(metric, group)
        if known := [row.n for row in cells if row is not None]:
            means = (_mean(row, narrow=len(cells) <= NARROW) for row in cells)
            rows.append((Cell(group), Cell(f"{max(known):,}"), *means))
    systems = (Column(wording.shorten(system, SYSTEM_WIDTH)) for system in groups.systems)
    return ResultTable((Column(metric, "system", max(len(metric), SYSTEM_WIDTH)), Column("n"), *systems), tuple(rows))


def _mean(row: GroupRow | None, *, narrow: bool) -> Cell:
    if row is None:
        return Cell(wording.NOTHING, "dim")
    bounds = wording.interval(row.low, row.high)
    between = f" ({bounds})" if narrow and bounds != wording.NOTHING else ""
    return Cell(f"{wording.number(row.mean)}{between}", "" if row.significant else "dim")


def groups_title(groups: GroupScores, unit: str = "user") -> str:
    """Return the heading of a table of means by group: the column that makes the groups.

    >>> groups_title(GroupScores("country", "users", (), (), 10))
    'By country (users)'
    """
    return f"By {printable(groups.by)} ({worded('users', unit) if groups.kind == 'users' else 'relevant items'})"


def groups_counts(groups: GroupScores, unit: str = "user") -> str:
    """Return sentences on the number of groups, those that are hidden, and users or items without a group.

    >>> groups_counts(GroupScores("country", "users", (), (), 10, hidden=2, hidden_users=7, without=1))
    '0 groups. 2 groups of fewer than 10 users are not shown (7 users in all). 1 user has no group.'
    """
    parts = [f"{format_count(len(groups.groups), 'group')}."]
    if groups.hidden:
        are = "is" if groups.hidden == 1 else "are"
        parts.append(
            f"{format_count(groups.hidden, 'group')} of fewer than {groups.smallest:,} users {are} not shown "
            f"({format_count(groups.hidden_users, 'user')} in all)."
        )
    if groups.without:
        what = "user" if groups.kind == "users" else "relevant item"
        parts.append(f"{format_count(groups.without, what)} {'has' if groups.without == 1 else 'have'} no group.")
    if groups.note:
        parts.append(f"{printable(groups.note)}.")
    for metric, why in groups.left_out.items():
        parts.append(f"{printable(metric)} is left out: it {why}.")
    return worded(" ".join(parts), unit)


def groups_method(groups: GroupScores, unit: str = "user") -> str:
    """Return sentences on how the gaps between groups were tested."""
    corrected = wording.CORRECTIONS.get(groups.correction, groups.correction)
    over = "p uncorrected" if groups.correction == "none" else f"{corrected} over all pairs of groups"
    shared = "" if groups.kind == "users" else ", which counts users of both groups once"
    fewest = min((row.n for row in groups.rows), default=FEW_FOR_WELCH)
    few = ""
    if fewest < FEW_FOR_WELCH:
        few = (
            f" The smallest group has {format_count(fewest, 'user')}: with fewer than {FEW_FOR_WELCH} and skewed "
            "values the test finds a difference that is not there in more than 5 % of studies "
            "(at 20 users in 8 to 23 %)."
        )
    return worded(
        f"Gap: best group minus worst group, tested by Welch's t test{shared} ({over}). The best and the worst of "
        f"several groups differ even by chance: read a gap with its p.{few}",
        unit,
    )
