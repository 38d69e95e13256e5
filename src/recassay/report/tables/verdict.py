"""The verdict and the findings for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from recassay.comparison.verdict import Verdict
from recassay.errors import printable
from recassay.report.content.families import family_sentences
from recassay.report.content.findings import FindingGroup, finding_groups, verdict_without, where_of
from recassay.report.content.grids import ResultGrids
from recassay.report.content.verdict import verdict_text
from recassay.report.tables.model import SYSTEM_WIDTH, Cell, Column, ResultTable
from recassay.report.tables.terminal import Terminal, words
from recassay.results.finding import SEVERITIES, Finding
from recassay.results.scores import Scores

STYLES = {"error": "red", "warning": "yellow", "info": "dim"}
NO_FINDINGS = Text("No findings.", style="green")


def verdict_block(verdict: Verdict, groups: Sequence[ResultGrids] = ()) -> RenderableType:
    """Return the headline of the verdict in bold, a line per family of metrics, the details, and what contradicts it.

    ``groups`` are the results, from which the lines on other families than that of the verdict are made.
    """
    text = verdict_text(verdict)
    against = [words(f"But {line[:1].lower()}{line[1:]}") for line in text.against]
    details = map(words, (*family_sentences(verdict, groups), *text.details))
    return Group(words(text.headline, "bold"), *details, *against, Text())


def findings_table(scores: Scores, verdict: Verdict | None = None) -> RenderableType:
    """Return a table of the findings, errors first; without findings, a line that says so.

    With the ``verdict`` on these scores, a sentence follows on whether a finding could change it.
    """
    if not scores.findings:
        return NO_FINDINGS
    sentence = "" if verdict is None else verdict_without(finding_groups(scores.findings, verdict), verdict)
    table = Terminal(findings_in_full(scores.findings, scores.systems))
    return Group(table, Text(f"\n{sentence}")) if sentence else table


def findings_in_full(findings: Iterable[Finding], systems: Sequence[str] = ()) -> ResultTable:
    """Return a row per finding, errors first; one about all of several ``systems`` says so."""
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
    """Return the findings by code: with their text if they could change the verdict, else a line each.

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
