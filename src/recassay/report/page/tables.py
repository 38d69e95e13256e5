"""The content of the page's tables: every number as text, before it becomes HTML."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from recassay.report.content import wording
from recassay.report.content.grids import Grid, ResultGrids, Row, design_of, notes, real
from recassay.report.page.designs import design_sentences

DIGITS = 4
MAX_PAIRS = 2000  # rows of a table of comparisons

# columns next to every mean: field, heading, whether it is a count, and its meaning
COLUMNS = (
    ("n", "n", True, "users averaged"),
    ("random", "chance", False, "exact mean of a random ranking"),
    ("best", "maximum", False, "largest possible mean"),
    ("corrected", "corrected", False, "(mean − chance) / (maximum − chance): 0 is chance level, 1 is perfect"),
    ("rho", "rho", False, "share of relevant items in a target set"),
    ("t", "t", False, "harmonic mean of the sizes of target sets"),
    ("sd_draws", "sd over draws", False, "standard deviation of the mean over draws of candidates"),
    ("sets", "sets", True, "target sets"),
    ("missing", "missing", True, "users without a list"),
    ("short", "short", True, "lists or target sets shorter than the cut-off"),
    ("duplicate", "duplicate", True, "items listed twice"),
    ("undefined", "undefined", True, "users for whom the metric is undefined"),
    ("unlisted", "unlisted", True, "relevant items whose rank is unknown"),
)
DIRECTIONS = {True: "higher is better", False: "lower is better", None: "neither direction is better"}
ALWAYS = ("n", "random", "corrected", "rho")  # shown even if they are 0


def results_content(results: ResultGrids, at: int, *, several: bool) -> dict[str, Any]:
    """Return the results on one data set, split, protocol and seed as values for the page's template.

    ``at`` is the number of these results on the page, from which ids are made. The results have a heading if the page
    has ``several`` data sets, splits, protocols or seeds.
    """
    dataset, split, protocol, seed = (None if part == "given" else part for part in results.place)
    named = [str(part) for part in (dataset, split, protocol) if part]
    heading = " · ".join([*named, *([f"seed {seed}"] if seed is not None else [])])
    return {
        "heading": heading if several else "",
        "about": heading,
        "place": {"data": str(dataset), "split": str(split), "protocol": str(protocol), "seed": str(seed)},
        "grids": [_grid_content(grid, f"{at}-{number}") for number, grid in enumerate(results.grids, start=1)],
        "pairs": [_pair(row) for row in results.comparisons[:MAX_PAIRS]],
        "n_pairs": len(results.comparisons),
        "several_designs": len({row.get("design") for row in results.comparisons}) > 1,
        "folds": [_fold(row) for row in results.folds],
    }


def _grid_content(grid: Grid, grid_id: str) -> dict[str, Any]:
    """Return the results by one metric as values for the page's template.

    They are a ranked table per design, and a matrix of systems and designs, whose longer axis is vertical. ``grid_id``
    is the id on the page.
    """
    cells = {
        (system, design): _cell(grid, system, design, _value_range(grid, design))
        for system in grid.systems
        for design in grid.designs
    }
    down = len(grid.designs) > len(grid.systems)
    outer, inner = (grid.designs, grid.systems) if down else (grid.systems, grid.designs)
    lines = [
        {"name": name, "cells": [cells[(other, name) if down else (name, other)] for other in inner]} for name in outer
    ]
    base, _, cut = grid.metric.rpartition("@")
    cut = cut if base and cut.isdigit() else ""
    return {
        "id": f"grid-{grid_id}",
        "metric": grid.metric,
        "base": base if cut else grid.metric,
        "cut": cut or "none",
        "title": grid.title,
        "direction": DIRECTIONS[grid.higher_is_better],
        "agreement": design_sentences(grid),
        "views": [_view(grid, design, cells) for design in grid.designs],
        "designs_down": down,
        "columns": inner,
        "lines": lines,
        "reordered": {design: _tau(grid, design) for design in grid.designs if _is_reordered(grid, design)},
        "any_close": any(cell["close"] for cell in cells.values()),
        "all_numbers": _all_numbers(grid),
        "notes": notes(grid),
    }


def _view(grid: Grid, design: str, cells: Mapping[tuple[str, str], dict[str, Any]]) -> dict[str, Any]:
    """Return the table of systems under one design, best first, as values for the template.

    Systems without a mean come last. ``cells`` are the template's values of each mean, by (system, design).
    """
    ranked = grid.ranked(design)
    systems = [*ranked, *(system for system in grid.systems if system not in ranked and (system, design) in grid.rows)]
    letters = dict(zip(grid.systems, wording.system_letters(len(grid.systems)), strict=True))
    compared, baseline = any(pair[0] == design for pair in grid.pairs), grid.baseline(design)
    counts = [column for column in COLUMNS if column[2] and _is_informative_for_any(grid, design, systems, column[0])]
    lines: list[dict[str, Any]] = []
    for rank, system in enumerate(systems, start=1):
        row = grid.rows[system, design]
        beaten = [letters[other] for other in grid.beaten(design, system)]
        lines.append(
            {
                "rank": rank if system in ranked else wording.NOTHING,
                "letter": letters[system] if compared else "",
                "system": system,
                "cell": cells[system, design],
                "beaten": wording.joined(beaten),
                "to_best": _difference_to_best(grid, design, system),
                "counts": [_count(row.get(name)) for name, *_ in counts],
            }
        )
    return {
        "design": design,
        "lines": lines,
        "compared": compared,
        "baseline": baseline and f"{letters[baseline]}, {baseline}",
        "any_close": any(line["cell"]["close"] for line in lines),
        "counts": [(heading, meaning) for _, heading, _, meaning in counts],
    }


def _is_informative_for_any(grid: Grid, design: str, systems: list[str], name: str) -> bool:
    return any(_is_informative(grid.rows[system, design], name) for system in systems)


def _difference_to_best(grid: Grid, design: str, system: str) -> tuple[str, str]:
    """Return the difference to the best mean as text with four decimals, and at full precision ("" without one)."""
    best = grid.best(design)
    if not best or system in best or math.isnan(grid.value(system, design)):
        return wording.NOTHING, ""
    difference = grid.value(system, design) - grid.value(best[0], design)
    return wording.difference(difference, DIGITS), repr(difference)


def _is_reordered(grid: Grid, design: str) -> bool:
    return grid.higher_is_better is not None and not grid.same_order(design)


def _tau(grid: Grid, design: str) -> str:
    return wording.number(grid.agreement(design), 2)


def _value_range(grid: Grid, design: str) -> tuple[float, float]:
    """Return the range of the bars of means under one design: from 0 to the largest mean or bound."""
    values = [grid.value(system, design, name) for system in grid.systems for name in ("mean", "low", "high")]
    defined = [value for value in values if math.isfinite(value)]
    return min([0.0, *defined]), max([0.0, *defined])


def _cell(grid: Grid, system: str, design: str, limits: tuple[float, float]) -> dict[str, Any]:
    mean, low, high = (grid.value(system, design, name) for name in ("mean", "low", "high"))
    if (system, design) not in grid.rows:
        return {"mean": wording.NOTHING, "exact": "", "interval": "", "best": False, "close": False, "strip": None}
    return {
        "mean": wording.number(mean, DIGITS),
        "exact": "" if math.isnan(mean) else repr(mean),
        "interval": "" if math.isnan(low) or math.isnan(high) else wording.interval(low, high, DIGITS),
        "best": system in grid.best(design),
        "close": grid.close_to_best(system, design),
        "strip": _strip(mean, low, high, limits),
    }


def _strip(mean: float, low: float, high: float, limits: tuple[float, float]) -> dict[str, str] | None:
    """Return where mean and interval are on a bar, in percent of its width; None if the mean is not finite.

    ``limits`` are the values at the two ends of the bar.
    """
    start, width = limits[0], limits[1] - limits[0]
    if not math.isfinite(mean) or not width:
        return None
    low, high = (mean, mean) if math.isnan(low) or math.isnan(high) else (low, high)
    at, left, right = (100 * (value - start) / width for value in (mean, low, high))
    return {"at": f"{min(at, 99):.2f}", "left": f"{left:.2f}", "wide": f"{right - left:.2f}"}


def _all_numbers(grid: Grid) -> dict[str, Any]:
    """Return the full table of a metric as values for the template: each system and design with all its numbers.

    Columns without information in any row are left out.
    """
    rows = [
        grid.rows[system, design] for design in grid.designs for system in grid.systems if (system, design) in grid.rows
    ]
    columns = [column for column in COLUMNS if any(_is_informative(row, column[0]) for row in rows)]
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


def _is_informative(row: Row, name: str) -> bool:
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
