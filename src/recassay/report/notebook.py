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
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recassay.checks.base import format_count
from recassay.columnar.times import KINDS
from recassay.comparison.compare import Comparison, compare
from recassay.data.io import write_text
from recassay.data.stats import time_span
from recassay.errors import UsageError, printable
from recassay.naming.grammar import require_known
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
from recassay.report.tables.scores import ScoreTables, design_table
from recassay.report.tables.verdict import findings_in_full, groups_counts, groups_title
from recassay.results.exhibit import Exhibit
from recassay.results.score_set import AXES
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
    require_known(chosen, scores.metrics, "U101", f"'{chosen}' was not scored")
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
    return next(SHOWN[kind.__name__] for kind in type(value).__mro__ if kind.__name__ in SHOWN)(value)


def _facts_table(title: str, facts: Mapping[str, str]) -> list[ResultTable]:
    """Return a table with a row for each entry of ``facts`` (heading: text), without the entries of empty text."""
    return [lines_table([(heading, fact) for heading, fact in facts.items() if fact], title, gap=2)]


def _scores(scores: Any) -> list[ResultTable]:
    sizes = format_count(len(scores.systems), "system"), format_count(len(scores.metrics), "metric")
    n = scores.units.len() or max((row.n + row.undefined for row in scores.rows), default=0)  # units stay on a cluster
    over = worded(population(scores.settings), scores.unit) or f"{n:,} {plural(scores.unit)}"
    title = f"scores of {' under '.join(sizes)}, for {over}; {format_count(len(scores.findings), 'finding')}"
    note = ScoreTables(scores).notes()
    return [replace(ScoreTables(scores).means(grouped=False), title=title, notes=(note,) if note else ())]


def _comparison(comparison: Any) -> list[ResultTable]:
    rows = [{**vars(row), "systems": f"{row.a} - {row.b}"} for row in comparison.rows]
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
    sizes = format_count(len(scores.systems), "system"), format_count(len(scores.designs), "design")
    note = "Expected means over all draws of candidates; bold: the best of a row."
    return [replace(design_table(results.grids, f"scores of {' under '.join(sizes)}"), narrow=tuple, notes=(note,))]


def _evaluation(evaluation: Any) -> list[ResultTable]:
    """Return the verdict of an evaluation, how it was made, then its scores and tests."""
    compared = evaluation.comparison if evaluation.comparison.rows else None
    verdict = verdict_of_scores(evaluation.scores, compared)
    of_findings = verdict_without(finding_groups(evaluation.scores.findings, verdict), verdict)
    return [
        ResultTable(title="\n".join(filter(None, [verdict_text(verdict).headline, of_findings]))),
        *_facts_table(f"evaluation of {format_count(len(evaluation.runs), 'system')}", evaluation.stated),
        *_scores(evaluation.scores),
        *(_comparison(compared) if compared else []),
    ]


def _stream(stream: Any) -> list[ResultTable]:
    if len(stream.copies) > 1:
        rows = stream.summary().iter_rows(named=True)
        lines = {row["metric"]: f"mean {row['mean']:.4f}, copies {row['low']:.4f} to {row['high']:.4f}" for row in rows}
        return _facts_table(f"{stream.name} on a stream, {len(stream.copies)} copies", lines)
    [shown] = tables_of(stream.outcomes)
    alarms = (Cell("alarms", "bold"), Cell(f"{len(stream.alarms):,}"))
    return [replace(shown, rows=(*shown.rows, alarms))] if stream.alarms_by_copy else [shown]


def _score_set(scores: Any) -> list[ResultTable]:
    lines = {"systems": _first_five(scores.systems), "metrics": _first_five(scores.metrics)}
    axes = {axis: scores.along(axis) for axis in AXES}
    lines |= {axis: _first_five(map(str, values)) for axis, values in axes.items() if len(values) > 1}
    where = f" in {scores.folder}" if scores.folder else ""
    return _facts_table(f"scores in {format_count(len(scores), 'setting')}{where}", lines)


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


def _first_five(names: Iterable[str]) -> str:
    """Return the first five names joined as text, and the number of the others.

    >>> _first_five("abcdefg")
    'a, b, c, d, e and 2 more'
    """
    known = list(names)
    more = f" and {len(known) - NAMES:,} more" if len(known) > NAMES else ""
    return ", ".join(known[:NAMES]) + more


def _part(part: Any) -> str:
    when = f", {span}" if (span := time_span(part)) else ""
    return f"{len(part):,} events of {_distinct(part.users)} users on {_distinct(part.items)} items{when}"


def _sequences_of(part: Any) -> str:
    return f"{len(part):,} sequences of {part.items.size:,} events, {_distinct(part.items)} items"


def _removed_counts(fold: Any) -> str:
    return ", ".join(f"{count:,} {reason}" for reason, count in fold.removed.items() if count)


def _users_and_items(data: Any) -> dict[str, str]:
    return {"users": _distinct(data.users), "items": _distinct(data.items)}


def _log(log: Any) -> list[ResultTable]:
    times = "none" if log.timestamps is None else f"{time_span(log)} ({KINDS[log.times]})"
    ratings = "" if log.ratings is None else _range(log.ratings)
    facts = {**_users_and_items(log), "times": times, "ratings": ratings, "from": log.origin}
    return _facts_table(f"log of {format_count(len(log), 'event')}", facts)


def _fold(fold: Any) -> list[ResultTable]:
    asked, items = fold.profile, fold.items
    timed = fold.train.timestamps is not None
    return _facts_table(f"fold {fold.number} of {fold.how.get('split', 'a log')}", {
        "train": _part(fold.train),
        "validation": "" if fold.validation is None else _part(fold.validation),
        "test": _part(fold.test),
        "profiles": "" if asked is None else f"{int(asked.sum()):,} events of train, of users that are queried",
        "leakage": f"{fold.leakage}: {LEAKAGE[fold.leakage]}" if timed else "unknown: the log has no times",
        "removed": _removed_counts(fold),
        "test users": population(fold.how),
        "items": "" if items is None else f"{items.n_items:,} with {items.names.len():,} features",
    })  # fmt: skip


def _run(run: Any) -> list[ResultTable]:
    order = "as the rows are" if run.order == "row" else f"by {run.order}"
    tied = "" if run.tied is None else f", {int(run.tied.sum()):,} of {run.items.size:,} rows tied with the one before"
    ranks = "" if run.standings is None else f"{run.standings.pairs:,} relevant items, for ra.judge"
    return _facts_table(f"run {run.name}", {
        "users": f"{run.queries.len():,}",
        "items": _distinct(run.items),
        "lists": _sizes(run.offsets),
        "order": order + tied,
        "standings": ranks,
        "from": "" if run.origin == run.name else run.origin,
    })  # fmt: skip


SHOWN: dict[str, Callable[[Any], list[ResultTable]]] = {  # by name of a class, which showing need not import
    "Scores": _scores, "Comparison": _comparison, "DesignScores": _design_scores, "Evaluation": _evaluation,
    "ScoreSet": _score_set, "Stream": _stream, "Interactions": _log, "Fold": _fold, "Run": _run,
    "tuple": lambda several: [findings_in_full(several) if several else ResultTable(title="No findings.")],
    "Finding": lambda finding: [findings_in_full([finding])],
    "Gate": lambda gate: [gate_table(gate)],
    "SuddenDeath": lambda contest: [frame_table(contest.summary(), "Sudden Death")],
    "HomeAndAway": lambda ranks: [frame_table(ranks.summary(), "ranks at home and away")],
    "Across": lambda across: [frame_table(across.frame(), "comparison in several settings")],
    "Consistency": lambda consistency: [frame_table(consistency.frame(), "agreement of orders")],
    "Power": lambda power: [frame_table(power.frame(), "users needed")],
    "Weights": lambda weights: [frame_table(weights.table, f"{weights.method} has the best {weights.criterion}")],
    "TradeOff": lambda trade: [
        frame_table(
            trade.table,
            f"{trade.accuracy} against {_first_five(trade.diversity)}, relative to {trade.baseline}",
        )
    ],
    "GroupScores": lambda groups: [
        frame_table(
            groups.gaps_frame().select("metric", "system", "gap", "low", "high", "p", "worst", "best"),
            f"{groups_title(groups)}: {groups_counts(groups)}",
        )
    ],
    "Outcomes": lambda outcomes: _facts_table(f"{outcomes.system} on a stream", {
        "scored": f"{len(outcomes):,} of {outcomes.events:,} events",
        **{metric: f"mean {wording.number(outcomes.mean(metric))}" for metric in outcomes.metrics},
    }),
    "Reranked": lambda reranked: _facts_table(
        f"run {reranked.run.name}, reordered by {reranked.method}",
        {name: f"{count:,}" for name, count in reranked.counts.items() if count},
    ),
    "Truth": lambda truth: _facts_table(f"truth of {truth.items.size:,} judged items", {
        "users": f"{truth.queries.len():,}",
        "items": _distinct(truth.items),
        "gains": _range(truth.gains),
        "merged": f"{truth.merged:,} rows that repeat a user and item" if truth.merged else "",
        "from": truth.origin,
    }),
    "Standings": lambda one: _facts_table(
        f"standings of {one.pairs:,} relevant items for {one.name}",
        {"users": f"{one.queries.len():,}", "base sets": _first_five(one.above)},
    ),
    "Features": lambda items: _facts_table(f"features of {items.n_items:,} items", {
        "columns": items.sources,
        "features": f"{items.names.len():,}: {_first_five(items.names.to_list())}",
        "from": items.origin,
    }),
    "Queries": lambda queries: _facts_table(
        f"queries for {len(queries):,} users", {"users": _first_five(map(str, queries.ids.head(NAMES + 1)))}
    ),
    "Sequences": lambda data: _facts_table(f"{len(data):,} sequences of {data.items.size:,} events", {
        **_users_and_items(data),
        "lengths": _sizes(data.offsets),
        "times": KINDS[data.kind],
        "from": data.origin,
    }),
    "SequenceFold": lambda fold: _facts_table(f"fold {fold.number} of {fold.how.get('split', 'sequences')}", {
        "train": _sequences_of(fold.train),
        "test": _sequences_of(fold.test),
        "removed": _removed_counts(fold),
    }),
    "Generated": lambda made: _facts_table(f"{len(made):,} sequences generated by {made.name}", {
        "lengths": _sizes(np.cumsum([0, *made.lengths])),
        "probabilities": "none" if np.isnan(made.chances).all() else "for every item",
        "seed": str(made.seed),
    }),
    "Exhibit": lambda exhibit: _facts_table(exhibit.title, {
        "picture": f"{exhibit.y} over {exhibit.x}",
        "table": f"{exhibit.table.height:,} rows of {_first_five(exhibit.table.columns)}",
        "says": exhibit.caption,
    }),
}  # fmt: skip
