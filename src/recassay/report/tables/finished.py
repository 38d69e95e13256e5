"""Conclusions from a table of finished scores (a mean per system and data set), for a terminal and as files."""

from __future__ import annotations

from pathlib import Path

from rich.console import Group, RenderableType
from rich.text import Text

from recassay.data.io import write_json, write_text
from recassay.data.io.manifest import recording
from recassay.engine.finished.conclude import FinishedConclusions, FinishedRanking
from recassay.report.content.csv_text import csv_text
from recassay.report.content.exhibits import write_exhibits
from recassay.report.tables.model import Cell, Column, ResultTable
from recassay.report.tables.terminal import Terminal, words

MAX_RANKINGS = 6  # whose tables are printed


def conclusions_text(conclusions: FinishedConclusions) -> RenderableType:
    """Return the conclusions as text: verdicts, what cannot be concluded, and the rank of each system under each rule.

    A rule, such as the mean rank, combines the scores on several data sets. There is a verdict per metric and setting;
    only the first ones are shown.
    """
    shown = conclusions.rankings[:MAX_RANKINGS]
    parts: list[RenderableType] = []
    for ranking in shown:
        parts += [words(ranking.sentence(), "bold"), Text()]
    more = len(conclusions.rankings) - MAX_RANKINGS
    if more > 0:
        parts += [words(f"{more:,} more metrics or settings: name one with -m; -o writes all", "dim"), Text()]
    cannot = [f"- {line}" for line in conclusions.cannot]
    if conclusions.described:
        names = ", ".join(conclusions.described[:8]) + (", ..." if len(conclusions.described) > 8 else "")
        cannot.append(f"- Not ranked, because more is not simply better: {names}. Name one with -m to rank by it.")
    parts += [Text("What this table cannot say"), *map(words, cannot)]
    for ranking in shown:
        parts += [Text(), Terminal(_places(ranking))]
    return Group(*parts)


def _places(ranking: FinishedRanking) -> ResultTable:
    """Return a row per system with its rank under each rule that combines data sets.

    A last row has the share of resamples in which the winner is first.
    """
    places = [rule.places() for rule in ranking.winners]
    systems = ranking.ranking.systems if ranking.ranking is not None else ranking.table.systems
    rows = [(Cell(system), *(Cell(str(place[system])) for place in places)) for system in systems]
    if len(ranking.table.datasets) > 1:
        rows += [(), (Cell("winner first in"), *(Cell(f"{rule.share:.0%}") for rule in ranking.winners))]
    columns = (Column("system", "name"), *(Column(rule.rule) for rule in ranking.winners))
    return ResultTable(columns, tuple(rows), f"{ranking.name}: rank under each rule")


def write_conclusions(conclusions: FinishedConclusions, folder: str | Path) -> Path:
    """Write ``conclusions.json``, ``places.csv`` (ranks of systems) and the data of the chart; return the folder."""
    target = Path(folder)
    with recording(target) as manifest:
        write_json(conclusions.to_dict(), target / "conclusions.json")
        write_text(csv_text(conclusions.frame()), target / "places.csv")
        write_exhibits([conclusions.exhibit()], target)
        manifest.write()
    return target
