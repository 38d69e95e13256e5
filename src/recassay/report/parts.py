"""The tables of a folder of results: scores and comparisons as they were, from its rows, as every format has them."""

from __future__ import annotations

import csv
import dataclasses
import io
from collections.abc import Iterator
from typing import Any

import polars as pl

from recassay.comparison.compare import Comparison
from recassay.comparison.compare import Row as Pair
from recassay.data.scores import Scores, Summary
from recassay.report import wording
from recassay.report.csv import HEADINGS
from recassay.report.latex import to_latex
from recassay.report.markdown import to_markdown
from recassay.report.page.board import PLACE, Board, Row, boards, design_of, real
from recassay.report.reading import Found

TABLES = ("markdown", "latex", "csv")


def tables(found: Found, form: str) -> str:
    """Every part of a folder as Markdown or LaTeX, under a heading or a comment; as CSV, all rows in one table."""
    if form == "csv":
        return _csv(found)
    write, heading = (to_latex, "% {}\n") if form == "latex" else (to_markdown, "## {}\n\n")
    shown = list(parts(found))
    texts = [
        (heading.format(wording.printable(one.heading)) if len(shown) > 1 and one.heading else "")
        + write(one.scores, one.comparison)
        for one in shown
        if one.scores.rows
    ]
    return "\n".join(texts)


def _csv(found: Found) -> str:
    names = [*PLACE, "design", "fold", *HEADINGS]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    for row in found.rows:
        writer.writerow("" if row.get(name) is None else row[name] for name in names)
    return text.getvalue()


@dataclasses.dataclass(frozen=True, eq=False)
class Part:
    """The systems of one data set, split and seed under one design, without the values of units."""

    place: tuple[Any, ...]  # dataset, split, protocol, seed, design
    scores: Scores
    comparison: Comparison | None

    @property
    def heading(self) -> str:
        """Where it is from, in words; nothing if that was not said."""
        *named, seed, design = self.place
        parts = [str(one) for one in (*named, design) if one not in (None, "given", "lists")]
        return ", ".join([*parts, *([f"seed {seed}"] if seed is not None else [])])


def parts(found: Found) -> Iterator[Part]:
    """The parts of a folder in the order of its rows."""
    for board in boards(found.rows, found.comparisons):
        for design in dict.fromkeys(design for grid in board.grids for design in grid.designs):
            scores = _scores(board, design, found)
            yield Part((*board.place, design), scores, _comparison(board, design, found))


def _scores(board: Board, design: str, found: Found) -> Scores:
    rows = [
        _summary(grid.rows[system, design], grid.higher_is_better)
        for grid in board.grids
        for system in grid.systems
        if (system, design) in grid.rows
    ]
    systems, metrics = (tuple(dict.fromkeys(getattr(row, name) for row in rows)) for name in ("system", "metric"))
    held = {(row.system, row.metric) for row in rows}
    whole = tuple(metric for metric in metrics if all((system, metric) in held for system in systems))
    rows = [row for row in rows if row.metric in whole]
    settings = {**found.settings, "interval": {"level": found.level, **(found.settings.get("interval") or {})}}
    return Scores(pl.Series("unit", []), systems, whole, {}, rows=tuple(rows), settings=settings)


def _summary(row: Row, higher_is_better: bool | None) -> Summary:
    mean, low, high = (real(row.get(name)) for name in ("mean", "low", "high"))
    n, missing, short, duplicate, undefined = (int(row.get(name) or 0) for name in Summary.COUNTS)
    return Summary(
        row["system"], row["metric"], mean, n, missing, short, duplicate, undefined,
        low=low, high=high, higher_is_better=higher_is_better,
    )  # fmt: skip


def _comparison(board: Board, design: str, found: Found) -> Comparison | None:
    names = [one.name for one in dataclasses.fields(Pair)]
    asked = [row for row in board.comparisons if design_of(row) == design]
    if not asked:
        return None
    pairs = tuple(_pair({name: row.get(name) for name in names}) for row in asked)
    baseline = (found.lock.get("compare") or {}).get("baseline")
    second = {pair.b for pair in pairs}
    if baseline is None and len(second) == 1 and len(pairs) > 1:
        baseline = second.pop()
    return Comparison(rows=pairs, baseline=baseline, family="metric", effect="d_z", level=found.level, seed=0)


def _pair(row: dict[str, Any]) -> Pair:
    floats = ("difference", "low", "high", "p", "p_adjusted", "effect")
    return Pair(**{**row, **{name: real(row[name]) for name in floats}, "note": row["note"] or ""})
