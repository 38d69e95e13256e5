"""Writing of the report page of a folder of results, from the files of the folder alone."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

from recassay.data.io import write_text
from recassay.data.io.manifest import recording
from recassay.report.content.distribution import UnitValues
from recassay.report.content.grids import result_grids
from recassay.report.folder.read import PAGE, ResultFolder
from recassay.report.page.figures import means, ranks
from recassay.report.page.html import NO_VERDICT, Distributions, Provenance, page
from recassay.results.exhibit import Exhibit
from recassay.results.score_set import GIVEN
from recassay.threads import StageProgress


def write_page(
    folder: ResultFolder,
    to: str | Path | None = None,
    *,
    more: Iterable[Exhibit] = (),
    progress: StageProgress | None = None,
) -> Path:
    """Write the report page to ``to``, by default ``report.html`` in the folder, and return its path.

    ``more`` are exhibits (tables to draw) that come after those of the folder. ``progress`` is called with (stage,
    done, total).
    """
    target = folder.path / PAGE if to is None else Path(to)
    text = page(
        title_of(folder),
        str(folder.lock.get("about") or ""),
        folder.rows,
        comparisons=folder.comparisons,
        findings=folder.findings,
        exhibits=[*folder.exhibits, *more],
        provenance=Provenance(folder.lock, folder.settings, folder.command, folder.failures),
        distributions=distributions_of(folder, progress),
        verdict=folder.verdict or NO_VERDICT,
        groups=folder.groups,
    )
    with recording(folder.path) if to is None else nullcontext():
        write_text(text, target)
    return target


def figures_of(folder: ResultFolder, progress: StageProgress | None = None) -> list[Exhibit]:
    """Return all figures of the report page, also those that the page leaves out for its size."""
    distributions, several = distributions_of(folder, progress), len({row.get("dataset") for row in folder.rows}) > 1
    exhibits = []
    for results in result_grids(folder.rows, ()):
        for grid in results.grids:
            figures = [ranks(grid)] if len(grid.designs) > 1 and grid.higher_is_better is not None else []
            for design in grid.designs:
                figures += [means(grid, design), *distributions.get(((*results.place, design), grid.metric), ())]
            exhibits += [_placed(figure, results.place) for figure in figures] if several else figures
    return [*exhibits, *folder.exhibits]


def _placed(exhibit: Exhibit, place: tuple[object, ...]) -> Exhibit:
    return replace(exhibit, name=f"{exhibit.name}-{place[0]}")


def title_of(folder: ResultFolder) -> str:
    """Return the title of the page: the name of the study, or else of the data sets and of the only split."""
    if folder.lock.get("study"):
        return str(folder.lock["study"])
    data, splits = (
        list(dict.fromkeys(str(row.get(axis)) for row in folder.rows if row.get(axis) not in (None, GIVEN)))
        for axis in ("dataset", "split")
    )
    split = f", split by {splits[0]}" if len(splits) == 1 else ""
    return f"Scores on {', '.join(data)}{split}" if data else "Scores"


def distributions_of(folder: ResultFolder, progress: StageProgress | None = None) -> Distributions:
    """Return charts of the distribution behind every mean; none if the folder has no values per user or event.

    They are by (data set, split, protocol, seed, design) and metric.
    """
    values = UnitValues.of(folder.scores)
    if values is None:
        return {}
    better = {grid.metric: grid.higher_is_better for results in result_grids(folder.rows, ()) for grid in results.grids}
    report = None if progress is None else lambda done, total: progress("reading scores", done, total)
    return values.exhibits(better, progress=report)
