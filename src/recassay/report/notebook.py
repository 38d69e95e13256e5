"""What is shown of a value, in Python and in notebooks: tables as text and as HTML, the same for both, and pictures.

>>> from recassay.data.read import read_interactions
>>> read_interactions([("ann", "x"), ("ann", "y"), ("bob", "y")])
log of 3 events
  users  2
  items  2
  times  none
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.checks.base import format_count
from recassay.columnar.times import KINDS
from recassay.comparison.compare import Comparison, compare
from recassay.data.io import write_text
from recassay.data.stats import time_span
from recassay.errors import UsageError, printable
from recassay.naming.grammar import suggest
from recassay.report.content import wording
from recassay.report.content.findings import finding_groups, verdict_without
from recassay.report.content.grids import LISTS, grids_of, result_grids
from recassay.report.content.verdict import verdict_text
from recassay.report.figures import panels
from recassay.report.figures.export import png_writer, standalone
from recassay.report.folder.results import verdict_of_scores, write_results
from recassay.report.listing import Explanation, explanation_text
from recassay.report.page.figures import means
from recassay.report.tables.formats import html_text, to_html
from recassay.report.tables.gate import gate_table
from recassay.report.tables.model import (
    DIFFERENCE,
    Cell,
    Column,
    Field,
    P,
    ResultTable,
    Terminal,
    frame_table,
    lines_table,
    name,
    printed,
    table,
)
from recassay.report.tables.scores import ScoreTables
from recassay.report.tables.verdict import findings_in_full, groups_counts, groups_title
from recassay.results.exhibit import Exhibit
from recassay.results.scores import Scores, plural, population, worded
from recassay.shown import Picture

MAX_LINES = 24
NAMES = 5  # of systems, metrics or features, before "and n more"
LEAKAGE = {
    "none": "all training events are earlier than all test events",
    "per user": "training events of others may be later than a user's test events",
    "global": "the split ignored time",
}


def text(value: Any) -> str:
    """Return a value as text: for each of its tables a title, and a limited number of lines."""
    if isinstance(value, Explanation):
        return printed(explanation_text(value), width=100)
    source = next((f".{name}()" for name in ("summary", "frame") if hasattr(value, name)), "its table has them all")
    lines: list[str] = []
    for part in tables_of(value):
        rows = [row for row in part.rows if row]
        shown = replace(part, rows=tuple(rows[:MAX_LINES]), title="", notes=())
        more = [f"... {len(rows) - MAX_LINES:,} more rows: {source}"] if len(rows) > MAX_LINES else []
        lines += printable(part.title, keep="\n").split("\n")
        lines += [f"  {line}" for line in [*printed(Terminal(shown, rule=False)).splitlines(), *more]]
    return "\n".join(lines)


def html(value: Any) -> str:
    """Return a value as HTML: its tables and findings, the figures of an exhibit, or the page of an explanation."""
    if isinstance(value, Explanation):
        return f"<pre>{html_text(text(value))}</pre>"
    if isinstance(value, Exhibit):
        figures = "".join(f"<p>{html_text(panel.heading)}</p>{standalone(panel.svg)}" for panel in panels(value))
        title, caption = html_text(value.title), html_text(value.caption)
        return f"<figure><strong>{title}</strong>{figures}<figcaption>{caption}</figcaption></figure>"
    findings = getattr(value, "findings", None) or getattr(getattr(value, "scores", None), "findings", ())
    return "".join(map(to_html, [*tables_of(value), *(tables_of(findings) if findings else [])]))


def plot(scores: Scores, *, metric: str | None = None) -> Picture:
    """Return a figure of the means of all systems under a metric (None: the first), best first, with intervals.

    Raise U101 if the metric was not scored, and U113 if it is undefined for every system.
    """
    chosen = scores.metrics[0] if metric is None else metric
    if chosen not in scores.metrics:
        raise UsageError("U101", f"'{chosen}' was not scored", hint=suggest(chosen, scores.metrics))
    grid = next(grid for results in grids_of(scores, None) for grid in results.grids if grid.metric == chosen)
    means_of = means(grid, LISTS)
    figures = panels(replace(means_of, table=means_of.table.rename({"mean": chosen}), x=chosen))
    if not figures:
        raise UsageError("U113", f"{chosen} is undefined for every system", hint="plot another metric")
    return Picture(standalone(figures[0].svg))


def report(scores: Scores, comparison: Comparison | None, *, path: Path) -> Path:
    """Write the report page of scores to ``path`` and return ``path``.

    Without a comparison, all pairs of systems are tested first, if there are several systems with values per unit.
    """
    if comparison is None and len(scores.systems) > 1 and scores.unit_metrics:
        comparison = compare(scores)
    with tempfile.TemporaryDirectory(prefix="recassay-") as folder:
        page = (write_results(scores, comparison, folder) / "report.html").read_text(encoding="utf-8")
    write_text(page, path)
    return path


def save(picture: Picture, *, path: Path) -> Path:
    """Write a figure as PNG if the name ends with ``.png``, else as SVG; return the path."""
    (png_writer() if path.suffix == ".png" else write_text)(picture.svg, path)
    return path


# --- the tables of a value ---


def tables_of(value: Any) -> list[ResultTable]:
    """Return what is shown of a log, run, truth, result or other value as tables."""
    kinds = [kind.__name__ for kind in type(value).__mro__]
    shown = next(kind for kind in kinds if kind in TABLES or kind in FACTS or kind in FRAMES)
    if shown in TABLES:
        return TABLES[shown](value)
    if shown in FRAMES:
        title, frame = FRAMES[shown]
        return [frame_table(frame(value), title(value))]
    title, facts = FACTS[shown]
    return [_lines(title(value), {heading: fact(value) for heading, fact in facts.items()})]


def _lines(title: str, facts: Mapping[str, str]) -> ResultTable:
    """Return a table with a line for each fact that is known."""
    return lines_table([(heading, fact) for heading, fact in facts.items() if fact], title, gap=2)


def _scores(scores: Any) -> list[ResultTable]:
    sizes = format_count(len(scores.systems), "system"), format_count(len(scores.metrics), "metric")
    n = scores.units.len() or max((row.n + row.undefined for row in scores.rows), default=0)  # units stay on a cluster
    over = worded(population(scores.settings), scores.unit) or f"{n:,} {plural(scores.unit)}"
    title = f"scores of {' under '.join(sizes)}, for {over}; {format_count(len(scores.findings), 'finding')}"
    note = " ".join(filter(None, [wording.method(scores, None), wording.notes(scores)]))
    return [replace(ScoreTables(scores).means(grouped=False), title=title, notes=(note,) if note else ())]


def _comparison(comparison: Any) -> list[ResultTable]:
    rows = [{**asdict(row), "systems": f"{row.a} - {row.b}"} for row in comparison.rows]
    fields = (
        name("metric"), name("systems"), DIFFERENCE, Field("low high", "interval", wording.interval),
        replace(P, heading="adjusted p"),
    )  # fmt: skip
    tests = dict.fromkeys(wording.test_name(row.test, row.correction) for row in comparison.rows)
    note = f"First minus second; bold: adjusted p ≤ {1 - comparison.level:.4g}."
    title = f"comparison of {format_count(len(rows), 'pair')} of a metric; {'; '.join(tests)}"
    return [table(rows, fields, lambda row: "best" if row["significant"] else "", title=title, notes=(note,))]


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
    sizes = format_count(len(scores.systems), "system"), format_count(len(scores.designs), "design")
    columns = (Column("metric", "name"), Column("design", "name"), *map(Column, scores.systems))
    note = "Expected means over all draws of candidates; bold: the best of a row."
    return [ResultTable(columns, rows, f"scores of {' under '.join(sizes)}", (note,))]


def _evaluation(evaluation: Any) -> list[ResultTable]:
    """Return the verdict of an evaluation, how it was made, then its scores and tests."""
    compared = evaluation.comparison if evaluation.comparison.rows else None
    verdict = verdict_of_scores(evaluation.scores, compared)
    of_findings = verdict_without(finding_groups(evaluation.scores.findings, verdict), verdict)
    return [
        ResultTable(title="\n".join(filter(None, [verdict_text(verdict).headline, of_findings]))),
        _lines(f"evaluation of {format_count(len(evaluation.runs), 'system')}", evaluation.stated),
        *_scores(evaluation.scores),
        *(_comparison(compared) if compared else []),
    ]


def _stream(stream: Any) -> list[ResultTable]:
    if len(stream.copies) > 1:
        rows = stream.summary().iter_rows(named=True)
        lines = {row["metric"]: f"mean {row['mean']:.4f}, copies {row['low']:.4f} to {row['high']:.4f}" for row in rows}
        return [_lines(f"{stream.name} on a stream, {len(stream.copies)} copies", lines)]
    [shown] = tables_of(stream.outcomes)
    alarms = (Cell("alarms", "bold"), Cell(f"{len(stream.alarms):,}"))
    return [replace(shown, rows=(*shown.rows, alarms))] if stream.alarms_by_copy else [shown]


def _outcomes(outcomes: Any) -> list[ResultTable]:
    means = {metric: f"mean {wording.number(outcomes.mean(metric))}" for metric in outcomes.metrics}
    scored = {"scored": f"{len(outcomes):,} of {outcomes.events:,} events"}
    return [_lines(f"{outcomes.system} on a stream", scored | means)]


def _score_set(scores: Any) -> list[ResultTable]:
    lines = {"systems": _some(scores.systems), "metrics": _some(scores.metrics)}
    axes = {axis: scores.along(axis) for axis in ("dataset", "split", "protocol", "design", "seed")}
    lines |= {axis: _some(map(str, values)) for axis, values in axes.items() if len(values) > 1}
    where = f" in {scores.folder}" if scores.folder else ""
    return [_lines(f"scores in {format_count(len(scores), 'setting')}{where}", lines)]


def _reranked(reranked: Any) -> list[ResultTable]:
    counts = {name: f"{count:,}" for name, count in reranked.counts.items() if count}
    return [_lines(f"run {reranked.run.name}, reordered by {reranked.method}", counts)]


TABLES: dict[str, Callable[[Any], list[ResultTable]]] = {  # by name of a class, which showing need not import
    "Scores": _scores, "Comparison": _comparison, "DesignScores": _design_scores, "Evaluation": _evaluation,
    "ScoreSet": _score_set, "Outcomes": _outcomes, "Stream": _stream, "Reranked": _reranked,
    "tuple": lambda several: [findings_in_full(several) if several else ResultTable(title="No findings.")],
    "Finding": lambda finding: [findings_in_full([finding])], "Gate": lambda gate: [gate_table(gate)],

}  # fmt: skip
FRAMES: dict[str, tuple[Callable[[Any], str], Callable[[Any], pl.DataFrame]]] = {  # title, and the frame that is shown
    "SuddenDeath": (lambda _: "Sudden Death", lambda contest: contest.summary()),
    "HomeAndAway": (lambda _: "ranks at home and away", lambda ranks: ranks.summary()),
    "Across": (lambda _: "comparison in several settings", lambda across: across.frame()),
    "Consistency": (lambda _: "agreement of orders", lambda consistency: consistency.frame()),
    "Power": (lambda _: "users needed", lambda power: power.frame()),
    "Weights": (lambda weights: f"{weights.method} has the best {weights.criterion}", lambda weights: weights.table),
    "TradeOff": (
        lambda trade: f"{trade.accuracy} against {_some(trade.diversity)}, relative to {trade.baseline}",
        lambda trade: trade.table,
    ),
    "GroupScores": (
        lambda groups: f"{groups_title(groups)}: {groups_counts(groups)}",
        lambda groups: groups.gaps_frame().select("metric", "system", "gap", "low", "high", "p", "worst", "best"),
    ),
}


# --- the facts about data ---


def _distinct(codes: NDArray[np.int32]) -> str:
    return f"{int(np.count_nonzero(np.bincount(codes))) if codes.size else 0:,}"


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


def _unless_none(value: Any, fact: Callable[[Any], str]) -> str:
    return "" if value is None else fact(value)


def _part(part: Any) -> str:
    when = f", {span}" if (span := time_span(part)) else ""
    return f"{len(part):,} events of {_distinct(part.users)} users on {_distinct(part.items)} items{when}"


def _sequences_of(part: Any) -> str:
    return f"{len(part):,} sequences of {part.items.size:,} events, {_distinct(part.items)} items"


def _leakage(fold: Any) -> str:
    timed = fold.train.timestamps is not None
    return f"{fold.leakage}: {LEAKAGE[fold.leakage]}" if timed else "unknown: the log has no times"


def _removed(fold: Any) -> str:
    return ", ".join(f"{count:,} {reason}" for reason, count in fold.removed.items() if count)


def _order(run: Any) -> str:
    order = "as the rows are" if run.order == "row" else f"by {run.order}"
    tied = "" if run.tied is None else f", {int(run.tied.sum()):,} of {run.items.size:,} rows tied with the one before"
    return order + tied


USERS_AND_ITEMS = {"users": lambda data: _distinct(data.users), "items": lambda data: _distinct(data.items)}
FROM = {"from": lambda data: data.origin}
FACTS: dict[str, tuple[Callable[[Any], str], dict[str, Callable[[Any], str]]]] = {  # title, and lines unless empty
    "Interactions": (lambda log: f"log of {format_count(len(log), 'event')}", {
        **USERS_AND_ITEMS,
        "times": lambda log: "none" if log.timestamps is None else f"{time_span(log)} ({KINDS[log.times]})",
        "ratings": lambda log: _unless_none(log.ratings, _range),
        **FROM,
    }),
    "Fold": (lambda fold: f"fold {fold.number} of {fold.how.get('split', 'a log')}", {
        "train": lambda fold: _part(fold.train),
        "validation": lambda fold: _unless_none(fold.validation, _part),
        "test": lambda fold: _part(fold.test),
        "profiles": lambda fold: _unless_none(
            fold.profile, lambda mask: f"{int(mask.sum()):,} events of train, of users that are queried"
        ),
        "leakage": _leakage,
        "removed": _removed,
        "test users": lambda fold: population(fold.how),
        "items": lambda fold: _unless_none(
            fold.items, lambda items: f"{items.n_items:,} with {items.names.len():,} features"
        ),
    }),
    "Truth": (lambda truth: f"truth of {truth.items.size:,} judged items", {
        "users": lambda truth: f"{truth.queries.len():,}",
        "items": lambda truth: _distinct(truth.items),
        "gains": lambda truth: _range(truth.gains),
        "merged": lambda truth: f"{truth.merged:,} rows that repeat a user and item" if truth.merged else "",
        **FROM,
    }),
    "Run": (lambda run: f"run {run.name}", {
        "users": lambda run: f"{run.queries.len():,}",
        "items": lambda run: _distinct(run.items),
        "lists": lambda run: _sizes(run.offsets),
        "order": _order,
        "standings": lambda run: _unless_none(run.standings, "{0.pairs:,} relevant items, for ra.judge".format),
        "from": lambda run: "" if run.origin == run.name else run.origin,
    }),
    "Standings": (lambda one: f"standings of {one.pairs:,} relevant items for {one.name}", {
        "users": lambda one: f"{one.queries.len():,}",
        "base sets": lambda one: _some(one.above),
    }),
    "Features": (lambda items: f"features of {items.n_items:,} items", {
        "columns": lambda items: items.sources,
        "features": lambda items: f"{items.names.len():,}: {_some(items.names.to_list())}",
        **FROM,
    }),
    "Queries": (lambda queries: f"queries for {len(queries):,} users", {
        "users": lambda queries: _some(map(str, queries.ids.head(NAMES + 1))),
    }),
    "Sequences": (lambda data: f"{len(data):,} sequences of {data.items.size:,} events", {
        **USERS_AND_ITEMS,
        "lengths": lambda data: _sizes(data.offsets),
        "times": lambda data: KINDS[data.kind],
        **FROM,
    }),
    "SequenceFold": (lambda fold: f"fold {fold.number} of {fold.how.get('split', 'sequences')}", {
        "train": lambda fold: _sequences_of(fold.train),
        "test": lambda fold: _sequences_of(fold.test),
        "removed": _removed,
    }),
    "Generated": (lambda made: f"{len(made):,} sequences generated by {made.name}", {
        "lengths": lambda made: _sizes(np.cumsum([0, *made.lengths])),
        "probabilities": lambda made: "none" if np.isnan(made.chances).all() else "for every item",
        "seed": lambda made: str(made.seed),
    }),
    "Exhibit": (lambda exhibit: exhibit.title, {
        "picture": lambda exhibit: f"{exhibit.y} over {exhibit.x}",
        "table": lambda exhibit: f"{exhibit.table.height:,} rows of {_some(exhibit.table.columns)}",
        "says": lambda exhibit: exhibit.caption,
    }),
}  # fmt: skip
