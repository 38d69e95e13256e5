"""The tables of a page: every number as text, before any markup."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from recassay.report import wording
from recassay.report.page.board import Board, Grid, Row, design_of, real, uncut
from recassay.report.page.verdict import verdict

DIGITS = 4
MOST_PAIRS = 2000  # rows of a table of comparisons

# what stands beside every mean: field, heading, whether it is a count, and what it is
BESIDE = (
    ("n", "n", True, "users averaged"),
    ("random", "chance", False, "the exact mean of a random order"),
    ("best", "most", False, "the largest mean there can be"),
    ("corrected", "corrected", False, "(mean − chance) / (most − chance): 0 is chance, 1 perfection"),
    ("rho", "rho", False, "share of relevant items in a target set"),
    ("t", "t", False, "harmonic mean of the sizes of target sets"),
    ("sd_draws", "sd over draws", False, "standard deviation of the mean over the draw of candidates"),
    ("sets", "sets", True, "target sets"),
    ("missing", "missing", True, "users without a list"),
    ("short", "short", True, "lists or target sets that are too short"),
    ("duplicate", "duplicate", True, "items listed twice"),
    ("undefined", "undefined", True, "users for whom the metric is undefined"),
    ("unlisted", "unlisted", True, "relevant items whose place is not known"),
)
ALWAYS = ("n", "random", "corrected", "rho")  # shown also where they are 0


def written(board: Board, at: int, *, level: float, several: bool) -> dict[str, Any]:
    """A board as the template writes it, the ``at``-th of the page; it has a heading if there are several."""
    dataset, split, protocol, seed = (None if part == "given" else part for part in board.place)
    named = [str(part) for part in (dataset, split, protocol) if part]
    heading = " · ".join([*named, *([f"seed {seed}"] if seed is not None else [])])
    return {
        "heading": heading if several else "",
        "about": heading,
        "place": {"data": str(dataset), "split": str(split), "protocol": str(protocol), "seed": str(seed)},
        "grids": [_grid(grid, level, f"{at}-{number}") for number, grid in enumerate(board.grids, start=1)],
        "pairs": [_pair(row) for row in board.comparisons[:MOST_PAIRS]],
        "compared": len(board.comparisons),
        "several_designs": len({row.get("design") for row in board.comparisons}) > 1,
        "folds": [_fold(row) for row in board.folds],
    }


def _grid(grid: Grid, level: float, name: str) -> dict[str, Any]:
    """A grid ready to be written: a ranked table per design, and all designs, the longer side down the page."""
    cells = {
        (system, design): _cell(grid, system, design, _reach(grid, design))
        for system in grid.systems
        for design in grid.designs
    }
    down = len(grid.designs) > len(grid.systems)
    outer, inner = (grid.designs, grid.systems) if down else (grid.systems, grid.designs)
    lines = [
        {"name": one, "cells": [cells[(other, one) if down else (one, other)] for other in inner]} for one in outer
    ]
    base, _, cut = grid.metric.rpartition("@")
    cut = cut if base and cut.isdigit() else ""
    return {
        "id": f"grid-{name}",
        "metric": grid.metric,
        "base": base if cut else grid.metric,
        "cut": cut or "none",
        "title": grid.title,
        "direction": {True: "higher is better", False: "lower is better", None: "no better end"}[grid.higher_is_better],
        "sentences": verdict(grid, level=level, digits=DIGITS),
        "views": [_view(grid, design, cells) for design in grid.designs],
        "designs_down": down,
        "columns": inner,
        "lines": lines,
        "otherwise": {design: _tau(grid, design) for design in grid.designs if _moved(grid, design)},
        "some_level": any(cell["level"] for cell in cells.values()),
        "beside": _beside(grid),
        "uncut": uncut(grid),
    }


def _view(grid: Grid, design: str, cells: Mapping[tuple[str, str], dict[str, Any]]) -> dict[str, Any]:
    """The systems under one design, best first; those without a value last."""
    ranked = grid.ranked(design)
    order = [*ranked, *(system for system in grid.systems if system not in ranked and (system, design) in grid.rows)]
    letters = dict(zip(grid.systems, wording.letters(len(grid.systems)), strict=True))
    compared = any((one[0] == design) for one in grid.pairs)
    counts = [column for column in BESIDE if column[2] and _says_any(grid, design, order, column[0])]
    lines: list[dict[str, Any]] = []
    for place, system in enumerate(order, start=1):
        row = grid.rows[system, design]
        beaten = [letters[other] for other in grid.systems if grid.beats(design, system, other)]
        lines.append(
            {
                "place": place if system in ranked else wording.NOTHING,
                "letter": letters[system] if compared else "",
                "system": system,
                "cell": cells[system, design],
                "beaten": wording.joined(beaten),
                "behind": _behind(grid, design, system),
                "counts": [_count(row.get(name)) for name, *_ in counts],
            }
        )
    return {
        "design": design,
        "lines": lines,
        "compared": compared,
        "marked": any(line["beaten"] for line in lines),
        "some_level": any(line["cell"]["level"] for line in lines),
        "counts": [(heading, meaning) for _, heading, _, meaning in counts],
    }


def _says_any(grid: Grid, design: str, systems: list[str], name: str) -> bool:
    return any(_says(grid.rows[system, design], name) for system in systems)


def _behind(grid: Grid, design: str, system: str) -> tuple[str, str]:
    """The distance to the best mean, shown and whole."""
    best = grid.best(design)
    if not best or system in best or math.isnan(grid.value(system, design)):
        return wording.NOTHING, ""
    apart = grid.value(system, design) - grid.value(best[0], design)
    return wording.difference(apart, DIGITS), repr(apart)


def _moved(grid: Grid, design: str) -> bool:
    return grid.higher_is_better is not None and not grid.same_order(design)


def _tau(grid: Grid, design: str) -> str:
    return wording.number(grid.agreement(design), 2)


def _reach(grid: Grid, design: str) -> tuple[float, float]:
    """The ends of the strips under one design: from 0 to the largest bound."""
    values = [grid.value(system, design, name) for system in grid.systems for name in ("mean", "low", "high")]
    defined = [value for value in values if math.isfinite(value)]
    return min([0.0, *defined]), max([0.0, *defined])


def _cell(grid: Grid, system: str, design: str, reach: tuple[float, float]) -> dict[str, Any]:
    mean, low, high = (grid.value(system, design, name) for name in ("mean", "low", "high"))
    if (system, design) not in grid.rows:
        return {"mean": wording.NOTHING, "whole": "", "interval": "", "best": False, "level": False, "strip": None}
    return {
        "mean": wording.number(mean, DIGITS),
        "whole": "" if math.isnan(mean) else repr(mean),
        "interval": "" if math.isnan(low) or math.isnan(high) else wording.interval(low, high, DIGITS),
        "best": system in grid.best(design),
        "level": grid.level_with_best(system, design),
        "strip": _strip(mean, low, high, reach),
    }


def _strip(mean: float, low: float, high: float, reach: tuple[float, float]) -> dict[str, str] | None:
    """Where mean and interval lie, in percent of the strip."""
    start, width = reach[0], reach[1] - reach[0]
    if not math.isfinite(mean) or not width:
        return None
    low, high = (mean, mean) if math.isnan(low) or math.isnan(high) else (low, high)
    at, left, right = (100 * (value - start) / width for value in (mean, low, high))
    return {"at": f"{min(at, 99):.2f}", "left": f"{left:.2f}", "wide": f"{right - left:.2f}"}


def _beside(grid: Grid) -> dict[str, Any]:
    """Every number of every row; a column is left out where it says nothing anywhere."""
    rows = [grid.rows[one, design] for design in grid.designs for one in grid.systems if (one, design) in grid.rows]
    columns = [column for column in BESIDE if any(_says(row, column[0]) for row in rows)]
    lines = [
        {
            "system": row["system"],
            "design": design_of(row),
            "mean": wording.number(real(row.get("mean")), DIGITS),
            "interval": wording.interval(real(row.get("low")), real(row.get("high")), DIGITS),
            "values": [_count(row.get(name)) if count else _number(row.get(name)) for name, _, count, _ in columns],
        }
        for row in rows
    ]
    return {"columns": [(heading, meaning) for _, heading, _, meaning in columns], "lines": lines}


def _says(row: Row, name: str) -> bool:
    value = row.get(name)
    return value is not None and (name in ALWAYS or value != 0)


def _pair(row: Row) -> dict[str, Any]:
    return {
        "metric": row["metric"],
        "design": design_of(row),
        "a": row["a"],
        "b": row["b"],
        "difference": wording.difference(real(row["difference"]), DIGITS),
        "interval": wording.interval(real(row["low"]), real(row["high"]), DIGITS),
        "p": wording.p_value(real(row["p_adjusted"])),
        "effect": _number(row.get("effect"), 2),
        "n": _count(row.get("n")),
        "significant": bool(row["significant"]),
        "test": ", ".join(
            [wording.TESTS.get(row["test"], str(row["test"])), wording.CORRECTIONS.get(row["correction"], "")]
        ),
    }


def _fold(row: Row) -> dict[str, Any]:
    bounds = wording.interval(real(row.get("low")), real(row.get("high")), DIGITS)
    shown = {"mean": wording.number(real(row.get("mean")), DIGITS), "interval": bounds, "n": _count(row.get("n"))}
    return {**{name: row.get(name) for name in ("fold", "design", "system", "metric")}, **shown}


def _number(value: Any, digits: int = DIGITS) -> str:
    return wording.NOTHING if value is None else wording.number(float(value), digits)


def _count(value: Any) -> str:
    return wording.NOTHING if value is None else f"{int(value):,}"
