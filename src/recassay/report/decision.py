"""All that a comparison found, for a terminal, for a paper, and as a folder of files."""

from __future__ import annotations

from pathlib import Path

import polars as pl
from rich.console import Group, RenderableType
from rich.text import Text

from recassay.data.file_names import file_name
from recassay.data.io import make_folder, write_json, write_text
from recassay.data.score_set import ScoreSet
from recassay.engine.decide import Decision
from recassay.report import table as tables
from recassay.report.compared import (
    across_tables,
    consistency_tables,
    contest_table,
    how_compared,
    pairs_table,
    place_names,
    power_table,
)
from recassay.report.markdown import escape

PLACES = 6  # whose pairs a terminal is given
ON_EVENTS = (
    "Events of one user are not independent: users are compared, each with the weight of its events. Systems over "
    "time, by McNemar and with their alarms, are in the page of recassay report; ra.compare_over_time asks more."
)


def decision_text(scores: ScoreSet, found: Decision) -> RenderableType:
    """Pairs in every place, then what is asked of all places, then the findings."""
    parts: list[RenderableType] = []
    comparisons = found.compared.comparisons
    names = place_names(comparisons)
    for place in list(comparisons)[:PLACES]:
        parts.append(pairs_table(comparisons[place], names[place]))
    if len(comparisons) > PLACES:
        more = f"and {len(comparisons) - PLACES:,} more places: --dataset, --split and --design choose, -o writes all"
        parts += [Text(more, style="dim"), Text()]
    parts.append(how_compared(next(iter(comparisons.values()))))
    if any(place.on_events for place in comparisons):
        parts.append(Text(ON_EVENTS, style="dim"))
    parts.append(Text())
    if found.across is not None:
        parts.append(across_tables(found.across))
    if found.consistency is not None and found.consistency.rows:
        parts.append(consistency_tables(found.consistency))
    for place in list(found.power)[:PLACES]:
        parts.append(power_table(found.power[place], names[place]))
    parts += [contest_table(contest, name) for name, contest in found.contests.items()]
    first = next(iter(scores.sheets.values()))
    return Group(*parts, tables.findings_table(first.with_findings(*found.findings)))


def decision_table(scores: ScoreSet, found: Decision, form: str) -> str:
    """Every pair as CSV; or a table of means for every place, with letters for the systems that each one beats."""
    if form == "csv":
        return found.compared.frame().write_csv()
    write = tables.to_markdown if form == "markdown" else tables.to_latex
    parts = []
    for place, name in place_names(found.compared.comparisons).items():
        head = f"## {escape(name)}\n\n" if form == "markdown" else f"% {name}\n"
        parts.append((head if name else "") + write(scores.sheets[place], found.compared.comparisons[place]))
    return "\n".join(parts)


def write_decision(found: Decision, folder: str | Path) -> Path:
    """``comparison.json`` with everything, a CSV for every table, and exhibits that ``recassay report`` shows."""
    target = make_folder(folder)
    write_json(found.to_dict(), target / "comparison.json")
    frames = {"comparisons": found.compared.frame()}
    if found.across is not None:
        frames |= {"ranks": found.across.ranks(), "ranked-pairs": found.across.frame()}
    if found.consistency is not None:
        frames |= {"agreement": found.consistency.frame(), "swaps": found.consistency.swapped()}
    if found.power:
        frames["power"] = pl.concat([place.stamped(one.frame()) for place, one in found.power.items()])
    if found.contests:
        named = [one.summary().with_columns(contest=pl.lit(name)) for name, one in found.contests.items()]
        frames["sudden-death"] = pl.concat(named, how="diagonal_relaxed")
    for name, frame in frames.items():
        write_text(frame.write_csv(), target / f"{name}.csv")
    for exhibit in found.exhibits:
        home = target / "exhibits"
        home.mkdir(exist_ok=True)
        name = file_name(exhibit.name, (one.name for one in found.exhibits))
        write_json(exhibit.to_dict(), home / f"{name}.json")
        write_text(exhibit.table.write_csv(), home / f"{name}.csv")
    return target
