"""Conclusions from a table of finished scores (a mean per system and data set), for a terminal and as files."""

from __future__ import annotations

from pathlib import Path

from rich.console import Group, RenderableType
from rich.text import Text

from recassay.data.io import write_json, write_text
from recassay.data.io.manifest import recording
from recassay.engine.finished.conclude import FinishedConclusions, FinishedRanking
from recassay.errors import printable
from recassay.report.content.csv_text import csv_text
from recassay.report.content.exhibits import write_exhibits
from recassay.report.tables.text import bare_table

MAX_RANKINGS = 6  # whose tables are printed


def conclusions_text(conclusions: FinishedConclusions) -> RenderableType:
    """Return the conclusions as text: verdicts, what cannot be concluded, and the rank of each system under each rule.

    A rule, such as the mean rank, combines the scores on several data sets. There is a verdict per metric and setting;
    only the first ones are shown.
    """
    parts: list[RenderableType] = []
    for one in conclusions.rankings[:MAX_RANKINGS]:
        parts += [Text(printable(one.sentence()), style="bold"), Text()]
    more = len(conclusions.rankings) - MAX_RANKINGS
    if more > 0:
        parts += [Text(f"{more:,} more metrics or settings: name one with -m; -o writes all", style="dim"), Text()]
    parts.append(Text("What this table cannot say"))
    parts += [Text(f"- {printable(line)}") for line in conclusions.cannot]
    if conclusions.described:
        names = ", ".join(conclusions.described[:8]) + (", ..." if len(conclusions.described) > 8 else "")
        parts.append(
            Text(
                f"- Not ranked, because more is not simply better: {printable(names)}. Name one with -m to rank by it."
            )
        )
    for one in conclusions.rankings[:MAX_RANKINGS]:
        parts += [Text(), places_table(one)]
    return Group(*parts)


def places_table(ranking: FinishedRanking) -> RenderableType:
    """Return a row per system with its rank under each rule that combines data sets.

    A last row has the share of resamples in which the winner is first.
    """
    table = bare_table()
    table.add_column("system", no_wrap=True)
    for rule in ranking.winners:
        table.add_column(rule.rule, justify="right")
    places = [rule.places() for rule in ranking.winners]
    systems = ranking.ranking.systems if ranking.ranking is not None else ranking.table.systems
    for system in systems:
        table.add_row(printable(system), *(str(place[system]) for place in places))
    if len(ranking.table.datasets) > 1:
        table.add_row()
        table.add_row("winner first in", *(f"{rule.share:.0%}" for rule in ranking.winners))
    return Group(Text(f"{printable(ranking.name)}: rank under each rule", style="bold"), table)


def write_conclusions(conclusions: FinishedConclusions, folder: str | Path) -> Path:
    """Write ``conclusions.json``, ``places.csv`` (ranks of systems) and the data of the chart; return the folder."""
    target = Path(folder)
    with recording(target) as manifest:
        write_json(conclusions.to_dict(), target / "conclusions.json")
        write_text(csv_text(conclusions.frame()), target / "places.csv")
        write_exhibits([conclusions.exhibit()], target)
        manifest.write()
    return target
