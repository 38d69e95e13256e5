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
from recassay.results.finding import Finding

STYLES = {"error": "red", "warning": "yellow", "info": "dim"}


def verdict_block(verdict: Verdict, groups: Sequence[ResultGrids] = ()) -> RenderableType:
    """Return the headline of the verdict in bold, a line per family of metrics, the details, and what contradicts it.

    ``groups`` are the results, from which the lines on other families than that of the verdict are made.
    """
    text = verdict_text(verdict)
    against = [Text(f"But {line[:1].lower()}{line[1:]}") for line in map(printable, text.against)]
    details = [Text(printable(line)) for line in (*family_sentences(verdict, groups), *text.details)]
    return Group(Text(printable(text.headline), style="bold"), *details, *against, Text())


def findings_block(
    findings: Iterable[Finding | Mapping[str, Any]], verdict: Verdict | None = None, *, folder: object = None
) -> RenderableType:
    """Return the findings by code: with their text if they could change the verdict, else a line each.

    ``folder`` is that of the results, for a hint at the command that prints all findings.
    """
    groups = finding_groups(findings, verdict)
    if not groups:
        return Text("No findings.", style="green")
    parts: list[RenderableType] = []
    for group in groups:
        parts.append(_head(group))
        if group.weight == 2:
            parts.append(Text(f"  {printable(group.detail)}"))
    if sentence := verdict_without(groups, verdict or Verdict(())):
        parts.append(Text(sentence))
    if folder is not None and any(group.weight < 2 or len(group.rows) > 1 for group in groups):
        parts.append(Text(f"All findings in full: recassay check {folder}", style="dim"))
    return Group(*parts)


def _head(group: FindingGroup) -> Text:
    places = [", ".join(map(printable, where_of(row))) for row in group.rows]
    where = f" ({places[0]})" if places[0] and len(places) == 1 else ""
    cases = f" ({group.count} cases, the first: {places[0]})" if group.count > 1 and places[0] else where
    return Text.assemble(
        (f"{group.code} {group.severity}", STYLES[group.severity]), f": {printable(group.title)}{cases}"
    )
