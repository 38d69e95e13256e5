"""Pages of rows alone: with the verdict that follows from the rows and from the comparisons of all pairs."""

from __future__ import annotations

import math
from pathlib import Path

from recassay.comparison.pairs import judges
from recassay.comparison.verdict import Lead, verdict_of
from recassay.report.content.grids import real, result_grids
from recassay.report.folder import page as html


def verdict_from_rows(groups, level=0.95):
    """Return the verdict on results; a lead counts as tested if all pairs of systems were compared."""
    grids = [(group, grid) for group in groups for grid in group.grids]
    judging = [(group, grid) for group, grid in grids if grid.higher_is_better is not None and judges(grid.metric)]
    leads = [_lead(group, grid, design) for group, grid in judging for design in grid.designs if grid.ranked(design)]
    return verdict_of(leads, level=level)


def _lead(group, grid, design):
    ranked = grid.ranked(design)
    first, second = ranked[0], ranked[1] if len(ranked) > 1 else None
    place = group.place._replace(design=design)
    mean, low, high = (grid.value(first, design, name) for name in ("mean", "low", "high"))
    about = (place, grid.metric, tuple(grid.systems), first, mean, low, high, second)
    pairs = [pair for pair in grid.pairs if pair[0] == design]
    row = grid.versus(design, first, second) if second else None
    if row is None or len(pairs) != len(ranked) * (len(ranked) - 1) // 2:
        ahead = mean - grid.value(second, design) if second else math.nan
        return Lead(*about, ahead, higher_is_better=grid.higher_is_better)
    return Lead(
        *about, real(row["difference"]), difference_low=real(row["low"]), difference_high=real(row["high"]),
        p=real(row["p_adjusted"]), pairs=len(pairs), n=int(row.get("n") or 0), test=row["test"],
        correction=row["correction"], significant=grid.beats(design, first, second),
        higher_is_better=grid.higher_is_better,
        beaten=tuple(other for other in ranked[1:] if grid.beats(design, first, other)),
    )  # fmt: skip


def page(title, about, rows, *, distributions=None, verdict=None, lock=None, **more):
    """Return the page of rows, with the verdict that follows from them if none is given."""
    rows = tuple(rows)
    lock = {**(lock or {}), "study": title, "about": about} if lock or about else {}
    parts = {name: tuple(part) if isinstance(part, list) else part for name, part in more.items()}
    verdict = verdict or verdict_from_rows(result_grids(rows, parts.get("comparisons", ())))
    return html.page(html.ResultFolder(Path(), rows, lock=lock, verdict=verdict, **parts), distributions)
