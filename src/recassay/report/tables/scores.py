"""Scores of one call as tables: a row per metric and system for a terminal, systems by metrics for papers, counts."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from recassay.report.content import wording
from recassay.report.content.grids import LISTS, Grid, grids_of, real
from recassay.report.tables.formats import csv_rows, paper
from recassay.report.tables.model import Cell, Column, ResultTable, groups
from recassay.report.tables.terminal import Terminal, words
from recassay.results.scores import Scores, Summary

if TYPE_CHECKING:
    from recassay.comparison.compare import Comparison

COUNTS = ("missing", "short", "undefined", "duplicate")
SYSTEM = Column("system", "system", 40)
CSV_HEADINGS = ("system", "metric", "mean", "low", "high", *Summary.COUNTS)


@dataclass(frozen=True, eq=False)
class ScoreTables:
    """Scores and their comparison, if there is one, as tables."""

    scores: Scores
    comparison: Comparison | None = None

    @functools.cached_property
    def grids(self) -> tuple[Grid, ...]:
        """Return a grid of systems for each metric."""
        return tuple(grid for results in grids_of(self.scores, self.comparison) for grid in results.grids)

    def means(self, *, grouped: bool = True) -> ResultTable:
        """Return a row per metric and system: mean, interval, n, difference to the reference, and p.

        The reference is the baseline of the comparison, else the best system. With ``grouped``, a metric is named once.
        """
        columns = [Column("mean"), Column(f"{wording.level(self.scores)} interval"), Column("n")]
        if self.comparison is not None:
            columns += [Column("vs best" if self.comparison.baseline is None else "vs base"), Column("p")]
        rows = [row for grid in self.grids for row in self._rows(grid)]
        return ResultTable((Column("metric", "name"), SYSTEM, *columns), tuple(groups(rows) if grouped else rows))

    def by_row(self) -> ResultTable:
        """Return the means with counts, which have a table of their own in a narrow terminal.

        A count that is 0 in every row is left out.
        """
        counted = [name for name in COUNTS if any(getattr(row, name) for row in self.scores.rows)]
        means = self.means()
        if not counted:
            return means
        extended = [
            (*row, *(Cell(f"{grid.rows[system, LISTS][name]:,}") for name in counted))
            for grid in self.grids
            for row, system in zip(self._rows(grid), grid.systems, strict=True)
        ]
        wide = (*means.columns, *map(Column, counted))
        return ResultTable(wide, tuple(groups(extended)), narrow=(means, self.counts(*counted, zeros=False)))

    def _rows(self, grid: Grid) -> Iterator[tuple[Cell, ...]]:
        baseline = self.comparison.baseline if self.comparison else None
        reference = baseline or next(iter(grid.best(LISTS)), None)
        for system in grid.systems:
            row = grid.rows[system, LISTS]
            yield (
                Cell(grid.metric), Cell(system),
                Cell(wording.number(grid.value(system, LISTS)), "best" if system in grid.best(LISTS) else ""),
                Cell(wording.interval(real(row["low"]), real(row["high"]))), Cell(f"{row['n']:,}"),
                *(self._versus(grid, system, reference) if self.comparison is not None else ()),
            )  # fmt: skip

    def _versus(self, grid: Grid, system: str, reference: str | None) -> tuple[Cell, Cell]:
        """Return the difference of a system to the reference and its p; what is not significant is dim."""
        pair = grid.versus(LISTS, system, reference) if reference is not None else None
        if pair is None:
            named = system == reference and grid.metric in self.scores.unit_metrics
            name = "baseline" if self.comparison and self.comparison.baseline else "best"
            return Cell(name if named else wording.NOTHING), Cell(wording.NOTHING)
        style = "" if pair["significant"] else "dim"
        return Cell(wording.difference(pair["difference"]), style), Cell(wording.p_value(pair["p_adjusted"]), style)

    def counts(self, *names: str, zeros: bool = True) -> ResultTable:
        """Return how many users have a value, no list, a short list and so on; metrics with equal counts share a row.

        ``names`` are the counts; without ``zeros``, rows in which all are 0 are left out.
        """
        shared: dict[tuple[str, tuple[int, ...]], list[str]] = {}
        for system in self.scores.systems:
            for grid in self.grids:
                key = (system, tuple(int(grid.rows[system, LISTS][name]) for name in names))
                shared.setdefault(key, []).append(grid.metric)
        rows = tuple(
            (
                Cell(system), Cell("all" if len(metrics) == len(self.grids) else ", ".join(metrics)),
                *(Cell(f"{count:,}") for count in counts),
            )
            for (system, counts), metrics in shared.items()
            if zeros or any(counts)
        )  # fmt: skip
        return ResultTable((SYSTEM, Column("metrics", "name"), *map(Column, names)), rows)

    def by_metric(self) -> ResultTable:
        """Return systems by metrics: means with intervals, best and second best, and letters for significant wins."""
        letters = dict(zip(self.scores.systems, wording.system_letters(len(self.scores.systems)), strict=True))
        rows = tuple(
            (
                Cell(system, marks=letters[system] if self.comparison else ""),
                *(_mean(grid, system, wording.joined(letters[other] for other in grid.beaten(LISTS, system)))
                  for grid in self.grids),
            )
            for system in self.scores.systems
        )  # fmt: skip
        notes = [wording.method(self.scores, self.comparison), self._superscripts(letters), wording.notes(self.scores)]
        columns = (SYSTEM, *(Column(grid.metric) for grid in self.grids))
        return ResultTable(columns, rows, wording.conventions(self.scores), tuple(filter(None, notes)))

    def _superscripts(self, letters: dict[str, str]) -> str:
        """Return a sentence on what superscripts in the table mean; "" without a comparison."""
        if self.comparison is None:
            return ""
        than, baseline = "the system with that letter", self.comparison.baseline
        if baseline is not None:
            than = f"the baseline, {letters[baseline]} (other pairs were not compared)"
        return f"Superscripts: significantly better than {than} (adjusted p ≤ {1 - self.comparison.level:.4g})."

    def notes(self) -> str:
        """Return sentences on intervals and tests, on the reference, and on what metrics were computed over."""
        notes = [wording.method(self.scores, self.comparison)]
        if self.comparison is not None and self.comparison.rows:
            baseline = self.comparison.baseline
            reference = "the best system of each metric" if baseline is None else f"the baseline, {baseline}"
            others = any(
                pair["n"] < max(grid.rows[system, LISTS]["n"] for system in (pair["a"], pair["b"]))
                for grid in self.grids
                for pair in grid.pairs.values()
            )
            over = ", over the users that both systems have" if others else ""
            notes.append(f"Differences are relative to {reference}{over}.")
        return " ".join(filter(None, [*notes, wording.notes(self.scores)]))


def _mean(grid: Grid, system: str, marks: str) -> Cell:
    low, high = (grid.value(system, LISTS, name) for name in ("low", "high"))
    style = "best" if system in grid.best(LISTS) else "second" if system in grid.second(LISTS) else ""
    between = "" if math.isnan(low) else wording.interval(low, high)
    return Cell(wording.number(grid.value(system, LISTS)), style, marks=marks, interval=between)


def text_table(scores: Scores, comparison: Comparison | None = None) -> RenderableType:
    """Return scores for a terminal: conventions, the table with a row per metric and system, and notes."""
    tables, conventions = ScoreTables(scores, comparison), wording.conventions(scores)
    notes = tables.notes()
    head = [words(conventions), Text()] if conventions else []
    return Group(*head, Terminal(tables.by_row()), Text(), *([words(notes, "dim"), Text()] if notes else []))


def paper_tables(scores: Scores, comparison: Comparison | None) -> tuple[ResultTable, ResultTable]:
    """Return the table of means for a paper, and that of counts."""
    tables = ScoreTables(scores, comparison)
    return tables.by_metric(), tables.counts("n", *COUNTS)


def to_markdown(scores: Scores, comparison: Comparison | None = None) -> str:
    """Return scores as Markdown: a table of means with intervals, the best in bold, and a table of numbers of users.

    Superscript letters mark the systems that a system is significantly better than.
    """
    return paper("markdown", [("", paper_tables(scores, comparison))])


def to_latex(scores: Scores, comparison: Comparison | None = None) -> str:
    """Return scores as a LaTeX table with a row of means and a row of intervals per system.

    The best mean of each metric is bold, the second best of three or more is underlined.
    """
    return paper("latex", [("", paper_tables(scores, comparison))])


def to_csv(scores: Scores) -> str:
    """Return scores as CSV: a row per system and metric with all counts; an undefined number is an empty field."""
    return csv_rows(({name: getattr(row, name) for name in CSV_HEADINGS} for row in scores.rows), CSV_HEADINGS)
