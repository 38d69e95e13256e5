"""Scores as tables: of one call for a terminal and for papers, with counts; and of a study, with times."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.text import Text

from recassay.report.content import wording
from recassay.report.content.csv_text import csv_of_rows
from recassay.report.content.grids import LISTS, Grid, grids_of, notes, real, result_grids
from recassay.report.tables.formats import paper
from recassay.report.tables.model import SYSTEM_WIDTH, Cell, Column, ResultTable, Terminal, groups, words
from recassay.results.scores import Scores, Summary, restored, worded

if TYPE_CHECKING:
    from recassay.comparison.compare import Comparison

COUNTS = ("missing", "short", "undefined", "duplicate")
SYSTEM = Column("system", "system", 40)
CSV_HEADINGS = ("system", "metric", "mean", "low", "high", *Summary.COUNTS)
DESIGN_WIDTH = 36
STAGES = {"fit": "fit", "recommend": "answer"}  # always shown, by heading
JUDGE = "judge"
STATISTICS = ("mean", "median", "p95", "p99")


@dataclass(frozen=True, eq=False)
class ScoreTables:
    """Scores and their comparison, if there is one, as tables."""

    scores: Scores
    comparison: Comparison | None = None

    @functools.cached_property
    def grids(self) -> tuple[Grid, ...]:
        """Return a grid of systems for each metric."""
        return tuple(grid for results in grids_of(self.scores, self.comparison) for grid in results.grids)

    def means(self, *, counts: bool = False, grouped: bool = True) -> ResultTable:
        """Return a row per metric and system: mean, interval, n, difference to the reference, and p.

        The reference is the baseline of the comparison, else the best system. With ``counts``, columns of counts follow
        (missing lists and so on), unless all are 0; a narrow terminal shows them in a second table. With ``grouped``,
        only the first row of each metric names it.
        """
        counted = [name for name in COUNTS if counts and any(getattr(row, name) for row in self.scores.rows)]
        columns = ["mean", f"{wording.level(self.scores)} interval", "n"]
        if self.comparison is not None:
            columns += ["vs best" if self.comparison.baseline is None else "vs base", "p"]
        rows = [row for grid in self.grids for row in self._rows(grid, counted)]
        headings = (Column("metric", "name"), SYSTEM, *map(Column, (*columns, *counted)))
        table = ResultTable(headings, tuple(groups(rows) if grouped else rows))
        return replace(table, narrow=lambda: (self.means(), self.counts(*counted, zeros=False))) if counted else table

    def _rows(self, grid: Grid, counted: Sequence[str]) -> Iterator[tuple[Cell, ...]]:
        best = grid.best(LISTS)
        reference = (self.comparison and self.comparison.baseline) or next(iter(best), None)
        for system in grid.systems:
            row = grid.rows[system, LISTS]
            yield (
                Cell(grid.metric), Cell(system),
                Cell(wording.number(real(row["mean"])), "best" if system in best else ""),
                Cell(wording.interval(real(row["low"]), real(row["high"]))), Cell(f"{row['n']:,}"),
                *(self._versus(grid, system, reference) if self.comparison is not None else ()),
                *(Cell(f"{row[name]:,}") for name in counted),
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
                *(_mean(grid, system) for grid in self.grids),
            )
            for system in self.scores.systems
        )  # fmt: skip
        about = [
            wording.method(self.scores, self.comparison), self._superscripts(letters),
            wording.notes(map(vars, self.scores.rows)),
        ]  # fmt: skip
        columns = (SYSTEM, *(Column(grid.metric) for grid in self.grids))
        return ResultTable(columns, rows, wording.conventions(self.scores), tuple(filter(None, about)))

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
        sentences = [wording.method(self.scores, self.comparison)]
        if self.comparison is not None and self.comparison.rows:
            baseline = self.comparison.baseline
            reference = "the best system of each metric" if baseline is None else f"the baseline, {baseline}"
            others = any(
                pair["n"] < max(grid.rows[system, LISTS]["n"] for system in (pair["a"], pair["b"]))
                for grid in self.grids
                for pair in grid.pairs.values()
            )
            over = worded(", over the users that both systems have", self.scores.unit) if others else ""
            sentences.append(f"Differences are relative to {reference}{over}.")
        return " ".join(filter(None, [*sentences, wording.notes(map(vars, self.scores.rows))]))


def _mean(grid: Grid, system: str) -> Cell:
    low, high = (grid.value(system, LISTS, name) for name in ("low", "high"))
    style = "best" if system in grid.best(LISTS) else "second" if system in grid.second(LISTS) else ""
    between = "" if math.isnan(low) else wording.interval(low, high)
    return Cell(wording.number(grid.value(system, LISTS)), style, marks=grid.marks(LISTS, system), interval=between)


def text_table(scores: Scores, comparison: Comparison | None = None) -> RenderableType:
    """Return scores for a terminal: conventions, the table with a row per metric and system, and notes."""
    tables, conventions = ScoreTables(scores, comparison), wording.conventions(scores)
    about = tables.notes()
    head = [words(conventions), Text()] if conventions else []
    return Group(*head, Terminal(tables.means(counts=True)), Text(), *([words(about, "dim"), Text()] if about else []))


def paper_tables(scores: Scores, comparison: Comparison | None) -> tuple[ResultTable, ResultTable]:
    """Return the table of means for a paper, and that of counts."""
    tables = ScoreTables(scores, comparison)
    return tables.by_metric(), tables.counts("n", *COUNTS)


def score_table(scores: Scores, comparison: Comparison | None, form: str) -> str:
    """Return scores as Markdown or LaTeX (means with intervals, then counts of users), or as CSV with all numbers.

    The best mean of each metric is bold; in LaTeX the second best of three or more is underlined. Superscript letters
    mark the systems that a system is significantly better than. CSV has a row per system and metric.
    """
    if form == "csv":
        return csv_of_rows(map(vars, scores.rows), CSV_HEADINGS)
    return paper(form, [("", paper_tables(scores, comparison))])


# --- studies ---


def study_table(rows: Iterable[Mapping[str, Any]]) -> RenderableType:
    """Return a table of means over all folds per data set, split and seed, with a column per system.

    The best mean of a row is bold. In a narrow terminal, systems are below each other, with their intervals, and a mark
    says where designs change their order. ``rows`` are those of ``summary.json``.
    """
    every = result_grids((restored(row) for row in rows if row["fold"] == "all"), ())
    hidden = ["protocol"] if len({results.place.seed for results in every}) > 1 else ["protocol", "seed"]
    parts: list[RenderableType] = []
    for results in every:
        parts += [Terminal(design_table(results.grids, results.place.text(hidden=hidden))), Text()]
    return Group(*parts)


def design_table(grids: Sequence[Grid], title: str) -> ResultTable:
    """Return a row per design (which items are ranked as candidates) and metric, with the name of each design once."""
    systems = list(dict.fromkeys(system for grid in grids for system in grid.systems))
    lines = [
        (Cell(design), Cell(grid.metric), *(_study_mean(grid, system, design, wording.NOTHING) for system in systems))
        for design in dict.fromkeys(design for grid in grids for design in grid.designs)
        for grid in grids
        if design in grid.designs
    ]
    names = (Column(wording.shorten(system, SYSTEM_WIDTH)) for system in systems)
    columns = (Column("design", "name"), Column("metric", "name"), *names)
    return ResultTable(
        columns, tuple(groups(lines, apart=False)), title, narrow=lambda: map(_narrow_design_table, grids), gap=3
    )


def _narrow_design_table(grid: Grid) -> ResultTable:
    """Return a row per design and system: the mean of a metric with its interval, rho, and the order of systems.

    A design says which items are ranked as candidates, and rho is the share of relevant items among all items ranked.
    The order of systems is compared with that under the first design: the same, or different with Kendall's tau.
    """
    rows = [
        (
            Cell(design), Cell(system), _study_mean(grid, system, design),
            Cell(wording.interval(grid.value(system, design, "low"), grid.value(system, design, "high"))),
            *((Cell(), Cell()) if number else
              (Cell(wording.number(grid.value(system, design, "rho"))), Cell(_order(grid, design)))),
        )
        for design in grid.designs
        for number, system in enumerate(grid.systems)
    ]  # fmt: skip
    names = (Column(name, "system", DESIGN_WIDTH) for name in ("design", "system"))
    columns = (*names, Column("mean"), Column("interval"), Column("rho"), Column("order", "name"))
    moved = any(_order(grid, design).startswith("≠") for design in grid.designs)
    about = [f"≠: different order from {grid.designs[0]}; τ: Kendall's tau" if moved else "", notes(grid)]
    return ResultTable(columns, tuple(groups(rows, apart=False)), grid.metric, tuple(filter(None, about)))


def _study_mean(grid: Grid, system: str, design: str, undefined: str = wording.UNDEFINED) -> Cell:
    """Return the mean of a system under a design as a table cell: ``undefined`` for NaN, a dash without a row.

    A design says which items are ranked as candidates.
    """
    mean = grid.rows.get((system, design), {"mean": wording.NOTHING}).get("mean")
    text = mean if isinstance(mean, str) else undefined if mean is None else wording.number(mean)
    return Cell(text, "best" if system in grid.best(design) else "")


def _order(grid: Grid, design: str) -> str:
    """Return how the order of systems under a design compares with that under the first: ``same``, or Kendall's tau.

    A design says which items are ranked as candidates.
    """
    if design == grid.designs[0]:
        return "first"
    if grid.higher_is_better is None or len(grid.systems) < 2:
        return wording.NOTHING
    tau = grid.agreement(design)
    if grid.same_order(design):
        return wording.NOTHING if math.isnan(tau) else "same"
    return f"≠ τ {wording.number(tau, 2)}"


def times_table(times: Iterable[Mapping[str, Any]]) -> RenderableType:
    """Return the mean seconds over folds and seeds to fit and to recommend; a table per data set and split.

    All systems are evaluated together, so the evaluation has a single time, below the table. Generated sequences are
    judged system by system; for them there are two more columns, the time of all metrics but diversity and the time of
    all metrics. ``times`` are rows as in ``times.json``.

    >>> from recassay.report.tables.model import printed
    >>> place = {"dataset": "tiny", "split": "random(test=0.2)"}
    >>> rows = [("A", "fit", 2), ("A", "answer", 0.25), ("A", "answer", 0.75), ("B", "answer", 90), (None, "judge", 1)]
    >>> times = [{**place, "system": system, "what": what, "seconds": seconds} for system, what, seconds in rows]
    >>> print(printed(times_table(times)))
    tiny, random(test=0.2)
    seconds    fit   recommend
    ──────────────────────────
    A         2.00        0.50
    B            –       90.00
    evaluation of all systems: 1.00
    <BLANKLINE>
    """
    places: dict[str, dict[tuple[str | None, str], list[float]]] = {}
    for row in times:
        place = places.setdefault(f"{row['dataset']}, {row['split']}", {})
        place.setdefault((row["system"], row["what"]), []).append(row["seconds"])
    parts: list[RenderableType] = []
    for title, place in places.items():
        rows = tuple(
            (Cell(system), *(Cell(_seconds(place.get((system, stage)))) for stage in STAGES.values()))
            for system in dict.fromkeys(system for system, _ in place if system is not None)
        )
        table = ResultTable((Column("seconds", "name"), *map(Column, STAGES)), rows, title, gap=3)
        parts += [Terminal(table), Text(f"evaluation of all systems: {_seconds(place.get((None, JUDGE)))}"), Text()]
    return Group(*parts)


def calls_table(calls: Iterable[Mapping[str, Any]]) -> RenderableType:
    """Return the microseconds per query and per update on streams; a table per data set and seed.

    ``calls`` are rows as in ``times.json``.

    >>> from recassay.report.tables.model import printed
    >>> spent = {"calls": 4, "total": 2e-5, "mean": 5e-6, "median": 4e-6, "p95": 8e-6, "p99": 8e-6, "first": 8e-6}
    >>> row = {"dataset": "tiny", "split": "whole", "seed": 0, "system": "A", "recommend": spent, "update": spent}
    >>> print(printed(calls_table([row])))
    tiny, seed 0
    microseconds            mean   median   p95   p99   per second
    ──────────────────────────────────────────────────────────────
    A              query     5.0      4.0   8.0   8.0      200,000
                   update    5.0      4.0   8.0   8.0      200,000
    <BLANKLINE>
    """
    places: dict[str, list[tuple[Cell, ...]]] = {}
    for row in calls:
        rows = places.setdefault(f"{row['dataset']}, seed {row['seed']}", [])
        for name, call, spent in ((row["system"], "query", row["recommend"]), ("", "update", row["update"])):
            rate = f"{spent['calls'] / spent['total']:,.0f}" if spent["total"] else wording.NOTHING
            micros = (f"{1e6 * spent[statistic]:,.1f}" for statistic in STATISTICS)
            rows.append(tuple(map(Cell, (name, call, *micros, rate))))
    columns = (Column("microseconds", "name"), Column("", "name"), *map(Column, (*STATISTICS, "per second")))
    tables = (ResultTable(columns, tuple(rows), title, gap=3) for title, rows in places.items())
    return Group(*(part for table in tables for part in (Terminal(table), Text())))


def _seconds(seconds: list[float] | None) -> str:
    return f"{fmean(seconds):,.2f}" if seconds else wording.NOTHING
