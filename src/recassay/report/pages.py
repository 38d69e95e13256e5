"""Writes the page of a folder of results, from the files of the folder alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from recassay.data.exhibit import Exhibit
from recassay.data.io import write_text
from recassay.report.html import Spread, page
from recassay.report.page.board import boards
from recassay.report.page.figures import means, ranks
from recassay.report.reading import Found
from recassay.report.spread import Spreads

NAME = "report.html"
Report = Callable[[str, int, int], None]  # stage, done, of


def write_page(
    found: Found, to: str | Path | None = None, *, more: Iterable[Exhibit] = (), progress: Report | None = None
) -> Path:
    """Write ``report.html`` into the folder that was read, or another file; ``more`` exhibits come after its own."""
    target = found.folder / NAME if to is None else Path(to)
    text = page(
        title_of(found),
        str(found.lock.get("about") or ""),
        found.rows,
        comparisons=found.comparisons,
        findings=found.findings,
        exhibits=[*found.exhibits, *more],
        lock=found.lock,
        failures=found.failures,
        settings=found.settings,
        command=found.command,
        spread=spread_of(found, progress),
    )
    write_text(text, target)
    return target


def figures_of(found: Found, progress: Report | None = None) -> list[Exhibit]:
    """Every figure that a page of the folder would hold, however many there are."""
    spread, several = spread_of(found, progress), len({row.get("dataset") for row in found.rows}) > 1
    made = []
    for board in boards(found.rows, ()):
        for grid in board.grids:
            own = [ranks(grid)] if len(grid.designs) > 1 and grid.higher_is_better is not None else []
            for design in grid.designs:
                own += [means(grid, design), *spread.get(((*board.place, design), grid.metric), ())]
            made += [_placed(one, board.place) for one in own] if several else own
    return [*made, *found.exhibits]


def _placed(exhibit: Exhibit, place: tuple[object, ...]) -> Exhibit:
    return replace(exhibit, name=f"{exhibit.name}-{place[0]}")


def title_of(found: Found) -> str:
    """What a page is called: its study, else its data."""
    if found.lock.get("study"):
        return str(found.lock["study"])
    data = list(
        dict.fromkeys(str(row.get("dataset")) for row in found.rows if row.get("dataset") not in (None, "given"))
    )
    return f"Scores on {', '.join(data)}" if data else "Scores"


def spread_of(found: Found, progress: Report | None = None) -> Spread:
    """What stands behind every mean; nothing where there are no values per unit."""
    values = Spreads.of(found.scores)
    if values is None:
        return {}
    better = {grid.metric: grid.higher_is_better for board in boards(found.rows, ()) for grid in board.grids}
    told = None if progress is None else lambda done, of: progress("reading scores", done, of)
    return values.exhibits(better, told=told)
