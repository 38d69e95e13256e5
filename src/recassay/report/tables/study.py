"""Studies for a terminal: means of systems under designs, with rho and a mark where their order changes; and times.

In a narrow terminal, systems are below each other, with their intervals.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from statistics import fmean
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from recassay.errors import UsageError
from recassay.naming.grammar import suggest
from recassay.report.content import wording
from recassay.report.content.grids import Grid, notes, result_grids
from recassay.report.tables.model import SYSTEM_WIDTH, Cell, Column, ResultTable, groups
from recassay.report.tables.terminal import Terminal
from recassay.results.design_scores import DesignScores
from recassay.results.scores import restored

DESIGN_WIDTH = 36
STUDY = ("dataset", "split", "seed")
STAGES = {"fit": "fit", "recommend": "answer"}  # always shown, by heading
OF_SEQUENCES = {"judge": "judge", "judge with diversity": "judge with diversity"}  # shown where they were timed
JUDGE = "judge"
STATISTICS = ("mean", "median", "p95", "p99")


def designs_table(scores: DesignScores, metric: str | None = None) -> RenderableType:
    """Return a table per metric, or of one metric: the mean of every system under every design, the best in bold.

    A design says which items are ranked; ``rho`` is the share of relevant items among them. ``order`` compares the
    order of systems with the order under the first design: the same, or different with Kendall's tau of the two.

    >>> from types import SimpleNamespace
    >>> from recassay.report.tables.terminal import printed
    >>> def row(design, system, mean):
    ...     content = {"design": design, "system": system, "metric": "ndcg@10", "mean": mean, "rho": 0.05}
    ...     return SimpleNamespace(metric="ndcg@10", to_dict=lambda: content)
    >>> means = {"TI-AR-AN": (0.1370, 0.0720), "TI-1R-NN(20)": (0.0753, 0.0760)}
    >>> rows = tuple(row(d, s, m) for d, line in means.items() for s, m in zip(("pop", "random"), line))
    >>> scores = DesignScores(("pop", "random"), tuple(means), ("ndcg@10",), rows, {})
    >>> print(printed(designs_table(scores), width=100))
    ndcg@10
    design           pop  random     rho  order
    ───────────────────────────────────────────────
    TI-AR-AN      0.1370  0.0720  0.0500  first
    TI-1R-NN(20)  0.0753  0.0760  0.0500  ≠ τ -1.00
    ≠: different order from TI-AR-AN; τ: Kendall's tau
    """
    if metric is not None and metric not in scores.metrics:
        raise UsageError("U101", f"'{metric}' was not scored", hint=suggest(metric, scores.metrics))
    rows = [row.to_dict() for row in scores.rows if metric in (None, row.metric)]
    tables = [_matrix(grid) for results in result_grids(rows, []) for grid in results.grids]
    return Group(*(part for number, table in enumerate(tables) for part in [Text()] * bool(number) + [Terminal(table)]))


def _matrix(grid: Grid) -> ResultTable:
    """Return designs by systems; in a narrow terminal, the systems are below each other."""
    rows = tuple(
        (Cell(design), *(_mean(grid, system, design) for system in grid.systems), *_rho_and_order(grid, design))
        for design in grid.designs
    )
    columns = (
        Column("design", "system", DESIGN_WIDTH), *_systems(grid.systems), Column("rho"), Column("order", "name"),
    )  # fmt: skip
    return ResultTable(columns, rows, grid.metric, _notes(grid), narrow=(_listed(grid),))


def _notes(grid: Grid) -> tuple[str, ...]:
    moved = any(_order(grid, design).startswith("≠") for design in grid.designs)
    about = [f"≠: different order from {grid.designs[0]}; τ: Kendall's tau" if moved else "", notes(grid)]
    return tuple(filter(None, about))


def _rho_and_order(grid: Grid, design: str) -> tuple[Cell, Cell]:
    return Cell(wording.number(grid.value(grid.systems[0], design, "rho"))), Cell(_order(grid, design))


def _systems(systems: Iterable[str]) -> list[Column]:
    return [Column(wording.shorten(system, SYSTEM_WIDTH)) for system in systems]


def _listed(grid: Grid, title: str = "") -> ResultTable:
    """Return a row per design and system, with the interval of the mean."""
    rows = [
        (
            Cell(design), Cell(system), _mean(grid, system, design),
            Cell(wording.interval(grid.value(system, design, "low"), grid.value(system, design, "high"))),
            *((Cell(), Cell()) if number else _rho_and_order(grid, design)),
        )
        for design in grid.designs
        for number, system in enumerate(grid.systems)
    ]  # fmt: skip
    names = (Column("design", "system", DESIGN_WIDTH), Column("system", "system", DESIGN_WIDTH))
    columns = (*names, Column("mean"), Column("interval"), Column("rho"), Column("order", "name"))
    return ResultTable(columns, tuple(groups(rows, apart=False)), title, _notes(grid) if title else ())


def _mean(grid: Grid, system: str, design: str, undefined: str = wording.UNDEFINED) -> Cell:
    """Return the mean of a system under a design; ``undefined`` for one that is, and a dash if there is no row."""
    mean = grid.rows.get((system, design), {"mean": wording.NOTHING}).get("mean")
    text = mean if isinstance(mean, str) else undefined if mean is None else wording.number(mean)
    return Cell(text, "best" if system in grid.best(design) else "")


def _order(grid: Grid, design: str) -> str:
    """Return how the order of systems under a design compares with that under the first: ``same``, or Kendall's tau."""
    if design == grid.designs[0]:
        return "first"
    if grid.higher_is_better is None or len(grid.systems) < 2:
        return wording.NOTHING
    tau = grid.agreement(design)
    if grid.same_order(design):
        return wording.NOTHING if math.isnan(tau) else "same"
    return f"≠ τ {wording.number(tau, 2)}"


def study_table(rows: Iterable[Mapping[str, Any]]) -> RenderableType:
    """Return a table of means over all folds per data set, split and seed, with a column per system.

    The best mean of a row is bold. ``rows`` are those of ``summary.json``.
    """
    groups_of: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for row in rows:
        if row["fold"] == "all":
            groups_of.setdefault(tuple(row[key] for key in STUDY), []).append(restored(row))
    parts: list[RenderableType] = []
    for (dataset, split, seed), group in groups_of.items():
        title = f"{dataset}, {split}" + (f", seed {seed}" if len({key[2] for key in groups_of}) > 1 else "")
        parts += [Terminal(_study(group, title)), Text()]
    return Group(*parts)


def _study(rows: list[Mapping[str, Any]], title: str) -> ResultTable:
    """Return a row per design and metric, with the name of each design once."""
    grids = [grid for results in result_grids(rows, []) for grid in results.grids]
    systems = list(dict.fromkeys(row["system"] for row in rows))
    lines = [
        (Cell(design), Cell(grid.metric), *(_mean(grid, system, design, wording.NOTHING) for system in systems))
        for design in dict.fromkeys(design for grid in grids for design in grid.designs)
        for grid in grids
        if design in grid.designs
    ]
    columns = (Column("design", "name"), Column("metric", "name"), *_systems(systems))
    return ResultTable(
        columns,
        tuple(groups(lines, apart=False)),
        title,
        narrow=tuple(_listed(grid, grid.metric) for grid in grids),
        gap=3,
    )


def times_table(times: Iterable[Mapping[str, Any]]) -> RenderableType:
    """Return the mean seconds over folds and seeds to fit and to recommend; a table per data set and split.

    All systems are evaluated together, so the evaluation has a single time, below the table. Generated sequences are
    judged system by system; for them there are two more columns, the time of all metrics but diversity and the time of
    all metrics. ``times`` are rows as in ``times.json``.

    >>> from recassay.report.tables.terminal import printed
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
        timed = {stage for system, stage in place if system is not None}
        stages = STAGES | {heading: stage for heading, stage in OF_SEQUENCES.items() if stage in timed}
        rows = tuple(
            (Cell(system), *(Cell(_seconds(place.get((system, stage)))) for stage in stages.values()))
            for system in dict.fromkeys(system for system, _ in place if system is not None)
        )
        table = ResultTable((Column("seconds", "name"), *map(Column, stages)), rows, title, gap=3)
        parts += [Terminal(table), Text(f"evaluation of all systems: {_seconds(place.get((None, JUDGE)))}"), Text()]
    return Group(*parts)


def calls_table(calls: Iterable[Mapping[str, Any]]) -> RenderableType:
    """Return the microseconds per query and per update on streams; a table per data set and seed.

    ``calls`` are rows as in ``times.json``.

    >>> from recassay.report.tables.terminal import printed
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
