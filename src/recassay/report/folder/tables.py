"""The tables of a folder of results in every format: scores and comparisons restored from its rows."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import polars as pl

from recassay.comparison.compare import Comparison
from recassay.comparison.compare import Row as Pair
from recassay.report.content.grids import ResultGrids, Row, design_of, heading, real, result_grids
from recassay.report.folder.read import ResultFolder
from recassay.report.tables.formats import csv_rows, paper
from recassay.report.tables.scores import CSV_HEADINGS, paper_tables
from recassay.results.score_set import Place
from recassay.results.scores import Scores, Summary


def tables(folder: ResultFolder, form: str) -> str:
    """Return tables of the results as text; ``form`` is markdown, latex or csv.

    Markdown and LaTeX have a heading and a table per data set, split, design and seed; CSV has all rows in one table.
    """
    if form == "csv":
        return csv_rows(folder.rows, ["dataset", "split", "protocol", "seed", "design", "fold", *CSV_HEADINGS])
    every = list(parts(folder))
    settings, several = [part for part in every if part.scores.rows], len(every) > 1
    return paper(
        form, [(part.heading if several else "", paper_tables(part.scores, part.comparison)) for part in settings]
    )


@dataclasses.dataclass(frozen=True, eq=False)
class SettingResults:
    """Scores and comparison on one data set, split and seed under one design, without values per user."""

    place: Place
    scores: Scores
    comparison: Comparison | None

    @property
    def heading(self) -> str:
        """Return the data set, split, design and seed as a heading; empty if none of them is known."""
        return heading(self.place)


def parts(folder: ResultFolder) -> Iterator[SettingResults]:
    """Yield the results for each data set, split, seed and design of a folder, in the order of its rows."""
    for results in result_grids(folder.rows, folder.comparisons):
        for design in dict.fromkeys(design for grid in results.grids for design in grid.designs):
            scores = _scores(results, design, folder)
            yield SettingResults(results.place._replace(design=design), scores, _comparison(results, design, folder))


def _scores(results: ResultGrids, design: str, folder: ResultFolder) -> Scores:
    rows = [
        _summary(grid.rows[system, design], grid.higher_is_better)
        for grid in results.grids
        for system in grid.systems
        if (system, design) in grid.rows
    ]
    systems, metrics = (tuple(dict.fromkeys(getattr(row, name) for row in rows)) for name in ("system", "metric"))
    known = {(row.system, row.metric) for row in rows}
    complete = tuple(metric for metric in metrics if all((system, metric) in known for system in systems))
    rows = [row for row in rows if row.metric in complete]
    settings = {**folder.settings, "interval": {"level": folder.level, **(folder.settings.get("interval") or {})}}
    return Scores(pl.Series("unit", []), systems, complete, {}, rows=tuple(rows), settings=settings)


def _summary(row: Row, higher_is_better: bool | None) -> Summary:
    return Summary.of(row["system"], row["metric"], real(row.get("mean")), row, higher_is_better=higher_is_better)


def _comparison(results: ResultGrids, design: str, folder: ResultFolder) -> Comparison | None:
    names = [field.name for field in dataclasses.fields(Pair)]
    compared_rows = [row for row in results.comparisons if design_of(row) == design]
    if not compared_rows:
        return None
    pairs = tuple(_pair({name: row.get(name) for name in names}) for row in compared_rows)
    baseline = (folder.lock.get("compare") or {}).get("baseline")
    second = {pair.b for pair in pairs}
    if baseline is None and len(second) == 1 and len(pairs) > 1:
        baseline = second.pop()
    return Comparison(rows=pairs, baseline=baseline, family="metric", effect="d_z", level=folder.level, seed=0)


def _pair(row: dict[str, Any]) -> Pair:
    floats = ("difference", "low", "high", "p", "p_adjusted", "effect")
    return Pair(**{**row, **{name: real(row[name]) for name in floats}, "note": row["note"] or ""})
