"""What is shown of a value, in Python and in notebooks: tables, the same for both.

>>> from recassay.data.read import read_interactions
>>> read_interactions([("ann", "x"), ("ann", "y"), ("bob", "y")])
log of 3 events
  users  2
  items  2
  times  none
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.checks.base import format_count
from recassay.columnar.time_kind import KINDS
from recassay.data.stats import time_span
from recassay.report.content import wording
from recassay.report.content.findings import finding_groups, verdict_without
from recassay.report.content.grids import result_grids
from recassay.report.content.groups import groups_counts, groups_title
from recassay.report.content.verdict import verdict_text
from recassay.report.folder.write import verdict_of_scores
from recassay.report.tables.model import DIFFERENCE, Cell, Column, Field, P, ResultTable, name, table
from recassay.report.tables.scores import ScoreTables
from recassay.report.tables.terminal import lines_table
from recassay.report.tables.verdict import findings_in_full
from recassay.results.scores import population

NAMES = 5  # of systems, metrics or features, before "and n more"
LEAKAGE = {
    "none": "all training events are earlier than all test events",
    "per user": "training events of others may be later than a user's test events",
    "global": "the split ignored time",
}
Display = Callable[[Any], list[ResultTable]]
DISPLAYS: dict[str, Display] = {}  # by name of a class, so that showing one value does not import all of them


def tables_of(value: Any) -> list[ResultTable]:
    """Return what is shown of a log, run, truth, result or other value as tables."""
    return next(DISPLAYS[kind.__name__] for kind in type(value).__mro__ if kind.__name__ in DISPLAYS)(value)


def shows(*names: str) -> Callable[[Display], Display]:
    """Return a decorator of the function that returns the tables for values of the classes with these names."""

    def register(display: Display) -> Display:
        DISPLAYS.update(dict.fromkeys(names, display))
        return display

    return register


def _lines(title: str, lines: Mapping[str, str], origin: str = "") -> list[ResultTable]:
    return [lines_table([*lines.items(), *([("from", origin)] if origin else [])], title, gap=2)]


@shows("Interactions")
def _log(log: Any) -> list[ResultTable]:
    times = f"{time_span(log)} ({KINDS[log.times]})" if log.timestamps is not None else "none"
    lines = {"users": f"{_distinct(log.users):,}", "items": f"{_distinct(log.items):,}", "times": times}
    if log.ratings is not None:
        lines["ratings"] = _range(log.ratings)
    return _lines(f"log of {format_count(len(log), 'event')}", lines, log.origin)


@shows("Fold")
def _fold(fold: Any) -> list[ResultTable]:
    parts = {"train": fold.train, "validation": fold.validation, "test": fold.test}
    lines = {name: _part(part) for name, part in parts.items() if part is not None}
    if fold.profile is not None:
        lines["profiles"] = f"{int(fold.profile.sum()):,} events of train, of users that are queried"
    timed = fold.train.timestamps is not None
    lines["leakage"] = f"{fold.leakage}: {LEAKAGE[fold.leakage]}" if timed else "unknown: the log has no times"
    lines |= _removed(fold)
    if over := population(fold.how):
        lines["test users"] = over
    if fold.items is not None:
        lines["items"] = f"{fold.items.n_items:,} with {fold.items.names.len():,} features"
    return _lines(f"fold {fold.number} of {fold.how.get('split', 'a log')}", lines)


def _part(part: Any) -> str:
    when = f", {span}" if (span := time_span(part)) else ""
    return f"{len(part):,} events of {_distinct(part.users):,} users on {_distinct(part.items):,} items{when}"


def _removed(fold: Any) -> dict[str, str]:
    removed = ", ".join(f"{count:,} {reason}" for reason, count in fold.removed.items() if count)
    return {"removed": removed} if removed else {}


@shows("Truth")
def _truth(truth: Any) -> list[ResultTable]:
    lines = {"users": f"{truth.queries.len():,}", "items": f"{_distinct(truth.items):,}", "gains": _range(truth.gains)}
    if truth.merged:
        lines["merged"] = f"{truth.merged:,} rows that repeat a user and item"
    return _lines(f"truth of {truth.items.size:,} judged items", lines, truth.origin)


@shows("Run")
def _run(run: Any) -> list[ResultTable]:
    lines = {"users": f"{run.queries.len():,}", "items": f"{_distinct(run.items):,}", "lists": _sizes(run.offsets)}
    lines["order"] = f"by {run.order}" if run.order != "row" else "as the rows are"
    if run.tied is not None:
        lines["order"] += f", {int(run.tied.sum()):,} of {run.items.size:,} rows tied with the one before"
    if run.standings is not None:
        lines["standings"] = f"{run.standings.pairs:,} relevant items, for ra.judge"
    return _lines(f"run {run.name}", lines, "" if run.origin == run.name else run.origin)


@shows("Standings")
def _standings(standings: Any) -> list[ResultTable]:
    lines = {"users": f"{standings.queries.len():,}", "base sets": _some(standings.above)}
    return _lines(f"standings of {standings.pairs:,} relevant items for {standings.name}", lines)


@shows("Features")
def _features(items: Any) -> list[ResultTable]:
    lines = {"columns": items.sources, "features": f"{items.names.len():,}: {_some(items.names.to_list())}"}
    return _lines(f"features of {items.n_items:,} items", lines, items.origin)


@shows("Queries")
def _queries(queries: Any) -> list[ResultTable]:
    return _lines(f"queries for {len(queries):,} users", {"users": _some(map(str, queries.ids.head(NAMES + 1)))})


@shows("Sequences")
def _sequences(sequences: Any) -> list[ResultTable]:
    lines = {"users": f"{_distinct(sequences.users):,}", "items": f"{_distinct(sequences.items):,}"}
    lines |= {"lengths": _sizes(sequences.offsets), "times": KINDS[sequences.kind]}
    return _lines(f"{len(sequences):,} sequences of {sequences.items.size:,} events", lines, sequences.origin)


@shows("SequenceFold")
def _sequence_fold(fold: Any) -> list[ResultTable]:
    lines = {
        name: f"{len(part):,} sequences of {part.items.size:,} events, {_distinct(part.items):,} items"
        for name, part in (("train", fold.train), ("test", fold.test))
    }
    return _lines(f"fold {fold.number} of {fold.how.get('split', 'sequences')}", lines | _removed(fold))


@shows("Generated")
def _generated(generated: Any) -> list[ResultTable]:
    chances = "none" if np.isnan(generated.chances).all() else "for every item"
    lengths = np.cumsum([0, *generated.lengths])
    lines = {"lengths": _sizes(lengths), "probabilities": chances, "seed": str(generated.seed)}
    return _lines(f"{len(generated):,} sequences generated by {generated.name}", lines)


@shows("Outcomes")
def _outcomes(outcomes: Any) -> list[ResultTable]:
    lines = {"scored": f"{len(outcomes):,} of {outcomes.events:,} events"}
    means = {metric: f"mean {wording.number(outcomes.mean(metric))}" for metric in outcomes.metrics}
    return _lines(f"{outcomes.system} on a stream", lines | means)


@shows("Stream")
def _stream(stream: Any) -> list[ResultTable]:
    if len(stream.copies) > 1:
        rows = stream.summary().iter_rows(named=True)
        lines = {row["metric"]: f"mean {row['mean']:.4f}, copies {row['low']:.4f} to {row['high']:.4f}" for row in rows}
        return _lines(f"{stream.name} on a stream, {len(stream.copies)} copies", lines)
    [shown] = _outcomes(stream.outcomes)
    alarms = (Cell("alarms", "bold"), Cell(f"{len(stream.alarms):,}"))
    return [replace(shown, rows=(*shown.rows, alarms))] if stream.alarms_by_copy else [shown]


@shows("ScoreSet")
def _score_set(scores: Any) -> list[ResultTable]:
    lines = {"systems": _some(scores.systems), "metrics": _some(scores.metrics)}
    axes = {axis: scores.along(axis) for axis in ("dataset", "split", "protocol", "design", "seed")}
    lines |= {axis: _some(map(str, values)) for axis, values in axes.items() if len(values) > 1}
    where = f" in {scores.folder}" if scores.folder else ""
    return _lines(f"scores in {format_count(len(scores), 'setting')}{where}", lines)


@shows("Exhibit")
def _exhibit(exhibit: Any) -> list[ResultTable]:
    columns = f"{exhibit.table.height:,} rows of {_some(exhibit.table.columns)}"
    return _lines(
        exhibit.title, {"picture": f"{exhibit.y} over {exhibit.x}", "table": columns, "says": exhibit.caption}
    )


@shows("Reranked")
def _reranked(reranked: Any) -> list[ResultTable]:
    counts = {name: f"{count:,}" for name, count in reranked.counts.items() if count}
    return _lines(f"run {reranked.run.name}, reordered by {reranked.method}", counts)


FRAMES = {  # title, and the method that returns the frame which is shown
    "SuddenDeath": ("Sudden Death", "summary"),
    "HomeAndAway": ("ranks at home and away", "summary"),
    "Across": ("comparison in several settings", "frame"),
    "Consistency": ("agreement of orders", "frame"),
    "Power": ("users needed", "frame"),
}


@shows(*FRAMES)
def _result(value: Any) -> list[ResultTable]:
    title, method = FRAMES[type(value).__name__]
    return _framed(title, getattr(value, method)())


@shows("Weights")
def _weights(weights: Any) -> list[ResultTable]:
    return _framed(f"{weights.method} has the best {weights.criterion}", weights.table)


@shows("TradeOff")
def _trade_off(trade_off: Any) -> list[ResultTable]:
    against = f"{trade_off.accuracy} against {_some(trade_off.diversity)}"
    return _framed(f"{against}, relative to {trade_off.baseline}", trade_off.table)


@shows("GroupScores")
def _group_scores(groups: Any) -> list[ResultTable]:
    columns = ("metric", "system", "gap", "low", "high", "p", "worst", "best")
    return _framed(f"{groups_title(groups)}: {groups_counts(groups)}", groups.gaps_frame().select(columns))


def _framed(title: str, frame: pl.DataFrame) -> list[ResultTable]:
    columns = (Column(name, "number" if kind.is_numeric() else "name") for name, kind in frame.schema.items())
    rows = (tuple(Cell(cell(value)) for value in row) for row in frame.rows())
    return [ResultTable(tuple(columns), tuple(rows), title)]


@shows("Scores")
def _scores(scores: Any) -> list[ResultTable]:
    title = (
        f"scores of {format_count(len(scores.systems), 'system')} under {format_count(len(scores.metrics), 'metric')}"
    )
    sizes = format_count(len(scores.systems), "system"), format_count(len(scores.metrics), "metric")
    n = scores.units.len() or max((row.n + row.undefined for row in scores.rows), default=0)  # units stay on a cluster
    over = population(scores.settings) or f"{n:,} users or sequences"
    title = f"scores of {' under '.join(sizes)}, for {over}; {format_count(len(scores.findings), 'finding')}"
    note = " ".join(filter(None, [wording.method(scores, None), wording.notes(scores)]))
    return [replace(ScoreTables(scores).means(grouped=False), title=title, notes=(note,) if note else ())]


@shows("Comparison")
def _comparison(comparison: Any) -> list[ResultTable]:
    rows = [{**asdict(row), "systems": f"{row.a} - {row.b}"} for row in comparison.rows]
    fields = (
        name("metric"), name("systems"), DIFFERENCE, Field("low high", "interval", wording.interval),
        replace(P, heading="adjusted p"),
    )  # fmt: skip
    tests = "; ".join(
        dict.fromkeys(
            f"{wording.TESTS.get(row.test, row.test)}, {wording.CORRECTIONS.get(row.correction, row.correction)}"
            for row in comparison.rows
        )
    )
    count = f"{len(rows):,} {'pair' if len(rows) == 1 else 'pairs'} of a metric"
    note = f"First minus second; bold: adjusted p ≤ {1 - comparison.level:.4g}."
    title = f"comparison of {count}; {tests}"
    return [table(rows, fields, lambda row: "best" if row["significant"] else "", title=title, notes=(note,))]


@shows("DesignScores")
def _design_scores(scores: Any) -> list[ResultTable]:
    [results] = result_grids([row.to_dict() for row in scores.rows], ())
    rows = tuple(
        (
            Cell(grid.metric), Cell(design),
            *(Cell(wording.number(grid.value(system, design)), "best" if system in grid.best(design) else "")
              for system in grid.systems),
        )
        for grid in results.grids
        for design in grid.designs
    )  # fmt: skip
    title = (
        f"scores of {format_count(len(scores.systems), 'system')} under {format_count(len(scores.designs), 'design')}"
    )
    note = "Expected means over all draws of candidates; bold: the best of a row."
    return [
        ResultTable(
            (Column("metric", "name"), Column("design", "name"), *map(Column, scores.systems)), rows, title, (note,)
        )
    ]


@shows("Evaluation")
def _evaluation(evaluation: Any) -> list[ResultTable]:
    """Return the verdict of an evaluation, how it was made, then its scores and tests."""
    compared = evaluation.comparison if evaluation.comparison.rows else None
    verdict = verdict_of_scores(evaluation.scores, compared)
    of_findings = verdict_without(finding_groups(evaluation.scores.findings, verdict), verdict)
    sentences = filter(None, [verdict_text(verdict).headline, of_findings])
    stated = {name: text for name, text in evaluation.stated.items() if text}
    made = _lines(f"evaluation of {format_count(len(evaluation.runs), 'system')}", stated)
    return [
        ResultTable(title="\n".join(sentences)),
        *made,
        *_scores(evaluation.scores),
        *(_comparison(compared) if compared else []),
    ]


@shows("tuple", "Finding")  # a tuple of findings
def _findings(findings: Any) -> list[ResultTable]:
    several = findings if isinstance(findings, tuple) else (findings,)
    return [findings_in_full(several) if several else ResultTable(title="No findings.")]


def cell(value: object) -> str:
    """Return a value as the text of a table cell.

    >>> cell(0.25), cell(12_345), cell(None)
    ('0.2500', '12,345', '–')
    """
    if value is None:
        return wording.NOTHING
    if isinstance(value, float):
        return wording.number(value)
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def _distinct(codes: NDArray[np.int32]) -> int:
    return int(np.count_nonzero(np.bincount(codes))) if codes.size else 0


def _sizes(offsets: NDArray[np.int64]) -> str:
    sizes = np.diff(offsets)
    if not sizes.size:
        return "none"
    least, most = int(sizes.min()), int(sizes.max())
    if least == most:
        return f"{format_count(least, 'item')} each"
    return f"{least:,} to {most:,} items, median {np.median(sizes):,.0f}"


def _range(values: NDArray[np.float64]) -> str:
    known = values[~np.isnan(values)]
    if not known.size:
        return "all missing"
    least, most = float(known.min()), float(known.max())
    missing = f", {values.size - known.size:,} missing" if known.size < values.size else ""
    return (f"all {least:g}" if least == most else f"{least:g} to {most:g}, mean {known.mean():.3g}") + missing


def _some(names: Iterable[str]) -> str:
    """Return the first five names joined as text, and the number of the others.

    >>> _some("abcdefg")
    'a, b, c, d, e and 2 more'
    """
    known = list(names)
    more = f" and {len(known) - NAMES:,} more" if len(known) > NAMES else ""
    return ", ".join(known[:NAMES]) + more
