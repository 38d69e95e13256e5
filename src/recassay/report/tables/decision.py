"""Results of ``recassay compare`` for a terminal, for papers, and as a folder of files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl
from rich.console import Group, RenderableType
from rich.text import Text

from recassay.data.io import write_json, write_text
from recassay.data.io.manifest import recording
from recassay.engine.decisions.decide import Decision
from recassay.errors import printable
from recassay.report.content.csv_text import csv_text
from recassay.report.content.exhibits import write_exhibits
from recassay.report.content.places import place_names
from recassay.report.content.verdict import verdict_document
from recassay.report.tables import formats as tables
from recassay.report.tables.compared import (
    across_summary,
    across_tables,
    comparison_note,
    consistency_summary,
    consistency_tables,
    pairs_table,
    power_table,
)
from recassay.report.tables.leads import leads_note, leads_table, n_left_out
from recassay.report.tables.markdown import escape
from recassay.report.tables.sudden_death import duels_frame, shares_frame, sudden_death_table, sudden_death_text
from recassay.report.tables.verdict import findings_block, verdict_block
from recassay.results.finding import Finding
from recassay.results.score_set import ScoreSet

MAX_PAIRS = 12  # rows of pairs that fit a screen, with everything else
MAX_PLACES = 2  # whose power is printed
ON_EVENTS = (
    "Events of one user are not independent, so users are compared, each weighted by its number of events. "
    "The page of recassay report compares systems over time (McNemar test, alarms); see also ra.compare_over_time."
)


def decision_text(
    scores: ScoreSet,
    decision: Decision,
    findings: Iterable[Mapping[str, Any]] = (),
    *,
    folder: Path | None = None,
    details: bool = False,
) -> RenderableType:
    """Return a comparison as one screen: verdict, best systems by metric, ranks over data sets, and findings.

    Users needed and Sudden Death follow if they were computed. ``findings`` are those of the ``folder`` that holds the
    scores. ``details`` adds every pair, ranking and order.
    """
    verdict, names = decision.verdict, place_names(decision.compared.comparisons)
    n_pairs = sum(len(comparison.rows) for comparison in decision.compared.comparisons.values())
    parts: list[RenderableType] = [verdict_block(verdict)]
    if details or n_pairs <= MAX_PAIRS:
        parts += _pairs(decision)
    else:
        parts += [leads_table(verdict), *_left_out(n_left_out(verdict), "leads"), Text()]
        parts += [leads_note(verdict), Text()]
    if any(place.on_events for place in decision.compared.comparisons):
        parts += [Text(ON_EVENTS, style="dim"), Text()]
    if decision.across is not None:
        parts.append(across_tables(decision.across) if details else across_summary(decision.across, verdict.metric))
    if decision.consistency is not None and decision.consistency.rows:
        parts.append((consistency_tables if details else consistency_summary)(decision.consistency))
    for place in list(decision.power)[: None if details else MAX_PLACES]:
        parts.append(power_table(decision.power[place], names[place]))
    parts += [sudden_death_text(contest, name) for name, contest in decision.sudden_deaths.items()]
    first = next(iter(scores.sheets.values()))
    every: list[Finding | Mapping[str, Any]] = [*findings, *first.with_findings(*decision.findings).findings]
    hint = [] if details else [Text("\nEvery pair, ranking and order: --details; as files: -o FOLDER", style="dim")]
    return Group(*parts, findings_block(every, verdict, folder=folder), *hint)


def _pairs(decision: Decision) -> Iterator[RenderableType]:
    comparisons = decision.compared.comparisons
    names = place_names(comparisons)
    for place, comparison in comparisons.items():
        yield pairs_table(comparison, names[place])
    yield comparison_note(next(iter(comparisons.values())))
    yield Text()


def _left_out(count: int, what: str) -> Iterator[Text]:
    if count:
        yield Text(f"{count:,} more {what}: select with -m, --dataset, --split, --design; -o writes all", style="dim")


def decision_document(decision: Decision) -> dict[str, Any]:
    """Return all results of a comparison as plain values for JSON, with the sentences of the verdict."""
    return {**decision.to_dict(), "verdict": verdict_document(decision.verdict)}


def decision_table(scores: ScoreSet, decision: Decision, form: str) -> str:
    """Return every pair as CSV, or a table of means per data set, split and so on; then Sudden Death.

    ``form`` is csv, markdown or latex. Letters mark significant wins. An empty line separates two tables.
    """
    contests = sudden_death_table(decision.sudden_deaths, form) if decision.sudden_deaths else ""
    if form == "csv":
        return "\n".join(filter(None, [csv_text(decision.compared.frame()), contests]))
    write = tables.to_markdown if form == "markdown" else tables.to_latex
    parts = []
    for place, name in place_names(decision.compared.comparisons).items():
        head = f"## {escape(name)}\n\n" if form == "markdown" else f"% {printable(name)}\n"
        parts.append((head if name else "") + write(scores.sheets[place], decision.compared.comparisons[place]))
    return "\n".join([*parts, *([contests] if contests else [])])


def write_decision(decision: Decision, folder: str | Path) -> Path:
    """Write ``comparison.json``, a CSV per table, and the exhibits for ``recassay report``; return the folder.

    Raise U111 if the folder has files of somebody else.
    """
    frames = {"comparisons": decision.compared.frame()}
    if decision.across is not None:
        frames |= {"ranks": decision.across.ranks(), "ranked-pairs": decision.across.frame()}
    if decision.consistency is not None:
        frames |= {"agreement": decision.consistency.frame(), "swaps": decision.consistency.swapped()}
    if decision.power:
        frames["power"] = pl.concat([place.stamped(power.frame()) for place, power in decision.power.items()])
    if decision.sudden_deaths:
        frames["sudden-death"] = shares_frame(decision.sudden_deaths)
        frames["duels"] = duels_frame(decision.sudden_deaths)
    target = Path(folder)
    with recording(target) as manifest:
        write_json(decision_document(decision), target / "comparison.json")
        for name, frame in frames.items():
            write_text(csv_text(frame), target / f"{name}.csv")
        write_exhibits(decision.exhibits, target)
        manifest.write()
    return target
