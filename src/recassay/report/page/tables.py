"""The content of the page's tables: every number as text, before it becomes HTML."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from recassay.report.content import wording
from recassay.report.content.grids import Grid, ResultGrids, Row, design_of, notes, real
from recassay.report.content.verdict import MAX_NAMED, listed
from recassay.report.tables.groups import groups_counts, groups_method, groups_title
from recassay.results.group_scores import GroupRow, GroupScores

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
        "pairs": results.comparisons[:MAX_PAIRS],
        "tests": "; ".join(dict.fromkeys(map(_test, results.comparisons[:MAX_PAIRS]))),
        "n_pairs": len(results.comparisons),
        "several_designs": len({row.get("design") for row in results.comparisons}) > 1,
        "folds": results.folds,
    }


def _test(row: Row) -> str:
    """Return the name of the test and of the correction of a comparison."""
    return ", ".join([wording.TESTS.get(row["test"], str(row["test"])), wording.CORRECTIONS.get(row["correction"], "")])


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
    return wording.difference(difference), repr(difference)


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
        "mean": wording.number(mean),
        "exact": "" if math.isnan(mean) else repr(mean),
        "interval": "" if math.isnan(low) or math.isnan(high) else wording.interval(low, high),
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
    """Return the full table of a metric as values for the template: its rows, and the columns with information."""
    rows = [
        grid.rows[system, design] for design in grid.designs for system in grid.systems if (system, design) in grid.rows
    ]
    return {
        "columns": [column for column in COLUMNS if any(_is_informative(row, column[0]) for row in rows)],
        "rows": rows,
    }


def _is_informative(row: Row, name: str) -> bool:
    value = row.get(name)
    return value is not None and (name in ALWAYS or value != 0)


def _count(value: Any) -> str:
    return wording.NOTHING if value is None else f"{int(value):,}"


FILTERS = {  # of the template
    "number": lambda value, digits=4: wording.number(real(value), digits),
    "difference": lambda value: wording.difference(real(value)),
    "interval": lambda low, high: wording.interval(real(low), real(high)),
    "p": lambda value: wording.p_value(real(value)),
    "count": _count,
    "design": design_of,
}


def groups_content(found: Sequence[tuple[str, GroupScores]]) -> list[dict[str, Any]]:
    """Return means by group as values for the page's template.

    Each comes with its data set, split and so on as text, which is shown if there are several.
    """
    several = len({where for where, _ in found}) > 1
    return [
        {
            "id": f"groups-{number}",
            "title": groups_title(groups),
            "where": where if several else "",
            "counts": groups_counts(groups),
            "method": groups_method(groups),
            "level": wording.percent(groups.level),
            "groups": groups,
            "metrics": [(metric, _group_lines(groups, metric)) for metric in groups.metrics],
        }
        for number, (where, groups) in enumerate(found, start=1)
    ]


def _group_lines(groups: GroupScores, metric: str) -> list[tuple[str, int, list[dict[str, Any]]]]:
    """Return, for each group with a mean by a metric, its name, size, and the mean of each system."""
    lines = []
    for group in groups.groups:
        rows = [groups.row(system, metric, group) for system in groups.systems]
        if known := [row.n for row in rows if row is not None]:
            lines.append((group, max(known), [{} if row is None else _group_cell(groups, row) for row in rows]))
    return lines


def _group_cell(groups: GroupScores, row: GroupRow) -> dict[str, Any]:
    gap = groups.gap(row.system, row.metric)
    extremes = {gap.worst: "worst", gap.best: "best"} if gap is not None and gap.significant else {}
    bounds = wording.interval(row.low, row.high)
    interval = "" if bounds == wording.NOTHING else bounds
    return {"mean": row.mean, "interval": interval, "noise": not row.significant, "badge": extremes.get(row.group, "")}


def design_sentences(grid: Grid) -> list[str]:
    """Return sentences on whether leader and order are the same under all designs; none for a single design.

    A design says which items are ranked as candidates.
    """
    if len(grid.designs) < 2 or grid.higher_is_better is None or len(grid.ranked(grid.designs[0])) < 2:
        return []
    return _designs(grid)


def _designs(grid: Grid) -> list[str]:
    first, total = grid.designs[0], len(grid.designs)
    other_leaders = {
        design: grid.best(design)
        for design in grid.designs
        if grid.best(design) and not set(grid.best(first)) & set(grid.best(design))
    }
    moved = [design for design in grid.designs if not grid.same_order(design)]
    if not moved:
        return [
            f"All {total} designs rank the systems in the same order."
            if total > 2
            else "Both designs rank the systems in the same order."
        ]
    sentences = []
    if other_leaders:
        named = list(other_leaders.items())[:MAX_NAMED]
        leaders = "; ".join(_other_leader(grid, design, best) for design, best in named)
        more = len(other_leaders) - len(named)
        rest = f"; {more} more {'design has' if more == 1 else 'designs have'} another leader" if more > 0 else ""
        sentences.append(f"The leader depends on the design: {leaders}{rest}.")
    else:
        scope = f"all {total} designs" if total > 2 else "both designs"
        sentences.append(f"The leader is the same under {scope}.")
    taus = {design: grid.agreement(design) for design in moved if not math.isnan(grid.agreement(design))}
    least = min(taus, key=taus.__getitem__, default=None)
    change = ""
    if least is not None:
        change = f"; the largest change is under {least} (Kendall's tau {wording.number(taus[least], 2)})"
    sentences.append(f"{_how_many(len(moved), total - 1)} the systems differently than {first}{change}.")
    return sentences


def _other_leader(grid: Grid, design: str, best: Sequence[str]) -> str:
    """Return a phrase that names the leaders (``best``) under a design other than the first.

    It adds whether the lead of the first of them over the leader under the first design is significant, if that was
    tested.
    """
    leads = f"under {design} {listed(best)} {'leads' if len(best) == 1 else 'lead'}"
    pair = grid.versus(design, best[0], grid.best(grid.designs[0])[0])
    if pair is None:
        return leads
    return f"{leads} ({'significant' if pair['significant'] else 'not significant'})"


def _how_many(moved: int, others: int) -> str:
    if others == 1:
        return "The other design ranks"
    if moved == others:
        return f"All {others} other designs rank"
    return f"{moved} of the {others} other designs {'ranks' if moved == 1 else 'rank'}"
