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
from recassay.engine.decisions.contest import SuddenDeath
from recassay.engine.decisions.decide import Decision
from recassay.report.content.csv_text import csv_text, write_exhibits
from recassay.report.content.verdict import verdict_document
from recassay.report.content.wording import place_names
from recassay.report.tables.compared import (
    MAX_ROWS,
    across_summary,
    across_tables,
    comparison_note,
    consistency_summary,
    consistency_tables,
    leads_note,
    leads_table,
    pairs_text,
    power_table,
    sudden_death_text,
)
from recassay.report.tables.formats import paper
from recassay.report.tables.model import ResultTable
from recassay.report.tables.scores import paper_tables
from recassay.report.tables.terminal import Terminal, words
from recassay.report.tables.verdict import findings_block, verdict_block
from recassay.results.finding import Finding
from recassay.results.score_set import ScoreSet

MAX_PLACES = 2  # whose power is printed
ON_EVENTS = (
    "Events of one user are not independent, so users are compared, each weighted by its number of events. "
    "The page of recassay report compares systems over time (McNemar test, alarms); see also ra.compare_over_time."
)
LEFT_OUT = "more leads: select with -m, --dataset, --split, --design; -o writes all"
DETAILS = "\nEvery pair, ranking and order: --details; as files: -o FOLDER"


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
    verdict, comparisons = decision.verdict, decision.compared.comparisons
    names = place_names(comparisons)
    parts: list[RenderableType] = [verdict_block(verdict)]
    if details or sum(len(comparison.rows) for comparison in comparisons.values()) <= MAX_ROWS:
        parts += [pairs_text(comparison, names[place]) for place, comparison in comparisons.items()]
        note = comparison_note(next(iter(comparisons.values())))
    else:
        left_out, note = len(verdict.leads) + len(verdict.others) - MAX_ROWS, leads_note(verdict)
        parts.append(Terminal(leads_table(verdict)))
        parts += [words(f"{left_out:,} {LEFT_OUT}", "dim")] if left_out > 0 else []
        parts.append(Text())
    parts += [words(note, "dim"), Text()]
    if any(place.on_events for place in comparisons):
        parts += [words(ON_EVENTS, "dim"), Text()]
    if decision.across is not None:
        parts.append(across_tables(decision.across) if details else across_summary(decision.across, verdict.metric))
    if decision.consistency is not None and decision.consistency.rows:
        parts.append((consistency_tables if details else consistency_summary)(decision.consistency))
    for place in list(decision.power)[: None if details else MAX_PLACES]:
        parts.append(power_table(decision.power[place], names[place]))
    parts += [sudden_death_text(contest, name) for name, contest in decision.sudden_deaths.items()]
    first = next(iter(scores.sheets.values()))
    every: list[Finding | Mapping[str, Any]] = [*findings, *first.with_findings(*decision.findings).findings]
    hint = [] if details else [Text(DETAILS, style="dim")]
    return Group(*parts, findings_block(every, verdict, folder=folder), *hint)


def decision_document(decision: Decision) -> dict[str, Any]:
    """Return all results of a comparison as plain values for JSON, with the sentences of the verdict."""
    return {**decision.to_dict(), "verdict": verdict_document(decision.verdict)}


def decision_table(scores: ScoreSet, decision: Decision, form: str) -> str:
    """Return every pair as CSV, or a table of means per data set, split and so on; then Sudden Death.

    ``form`` is csv, markdown or latex. Letters mark significant wins. An empty line separates two tables.
    """
    if form == "csv":
        frames = [
            decision.compared.frame(),
            *([shares_frame(decision.sudden_deaths)] if decision.sudden_deaths else []),
        ]
        return "\n".join(map(csv_text, frames))
    comparisons = decision.compared.comparisons
    means = [(name, paper_tables(scores.sheets[at], comparisons[at])) for at, name in place_names(comparisons).items()]
    return paper(form, [*means, *_contests(decision.sudden_deaths)])


def _contests(contests: Mapping[str, SuddenDeath]) -> Iterator[tuple[str, tuple[ResultTable, ...]]]:
    """Yield the name of each Sudden Death and the shares of users that each system wins, with letters."""
    for name, contest in contests.items():
        comparison = contest.compare(contest.at) if len(contest.competitors) > 1 else None
        yield f"Sudden Death over {contest.over()}: {name}", paper_tables(contest.scores(), comparison)


def shares_frame(contests: Mapping[str, SuddenDeath]) -> pl.DataFrame:
    """Return a row per contest, system and cut-off: the share of users won, and its interval."""
    named = [contest.summary().with_columns(contest=pl.lit(name)) for name, contest in contests.items()]
    return pl.concat(named, how="diagonal_relaxed")


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
        duels = [
            contest.duels().with_columns(at=pl.lit(contest.deepest), contest=pl.lit(name))
            for name, contest in decision.sudden_deaths.items()
        ]
        frames["sudden-death"] = shares_frame(decision.sudden_deaths)
        frames["duels"] = pl.concat(duels, how="diagonal_relaxed")
    target = Path(folder)
    with recording(target) as manifest:
        write_json(decision_document(decision), target / "comparison.json")
        for name, frame in frames.items():
            write_text(csv_text(frame), target / f"{name}.csv")
        write_exhibits(decision.exhibits, target)
        manifest.write()
    return target
