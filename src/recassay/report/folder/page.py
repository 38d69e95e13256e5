"""The report page of a folder of results: a single HTML file without external resources.

Text, tables and SVG figures are all visible without JavaScript. The results of a large page are in ``noscript``
elements: a browser without scripts shows them, and one with scripts reads them as text until they are selected, so that
the page opens at once. A small script adds controls to select data, metric,
cut-off and design, and buttons to save tables and figures (CSV, SVG, PNG).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from recassay.comparison.verdict import Verdict
from recassay.data.io import write_text
from recassay.data.io.manifest import recording
from recassay.errors import printable
from recassay.report.content import wording
from recassay.report.content.distribution import UnitValues
from recassay.report.content.findings import finding_groups, verdict_without
from recassay.report.content.grids import Grid, result_grids
from recassay.report.folder.results import PAGE, ResultFolder
from recassay.report.page.content import FILTERS, FUNCTIONS, card, controls, verdict_content
from recassay.report.page.figures import SizeBudget, figure, means, ranks, systems
from recassay.results.exhibit import Exhibit
from recassay.results.score_set import GIVEN, Place
from recassay.results.scores import worded
from recassay.threads import StageProgress

if TYPE_CHECKING:
    from jinja2 import Environment

MAX_VIEWS = 60  # tables of a page that are laid out when it opens; a larger page unpacks those that are selected
MAX_PAIRS = 2000  # rows of a table of comparisons
Distributions = Mapping[tuple[Place, str], Sequence[Exhibit]]  # by place with design, and metric


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
    text = page(replace(folder, exhibits=(*folder.exhibits, *more)), distributions_of(folder, progress))
    with recording(folder.path) if to is None else nullcontext():
        write_text(text, target)
    return target


def page(folder: ResultFolder, distributions: Distributions | None = None) -> str:
    """Return a study as one HTML file: verdict, findings, summary card, results, figures, failures and settings.

    ``distributions`` are charts of the distribution behind each mean. Equal input gives equal bytes. Rows of single
    folds follow those over all folds; undefined numbers say "undefined".

    >>> row = {"system": "Popular", "design": "lists", "metric": "ndcg@10", "mean": 0.25, "n": 40}
    >>> "0.2500" in page(ResultFolder(Path(), (row,)))
    True
    """
    lock, verdict, charts = folder.lock, folder.verdict or Verdict(()), distributions or {}
    grids, budget = result_grids(folder.rows, folder.comparisons), SizeBudget()
    made_by = lock or folder.settings
    alphas = {row["alpha"] for row in folder.comparisons if row.get("alpha")}
    picture, by_code = systems(verdict, grids), finding_groups(folder.findings, verdict)

    def view_figures(place: Place, grid: Grid, design: str, name: str) -> list[dict[str, Any]]:
        """Return the figures of the means of systems under a design (which items are ranked), by one metric."""
        distribution = charts.get((place._replace(design=design), grid.metric), ())
        return budget.figures([means(grid, design), *distribution], name)

    def rank_figures(grid: Grid, name: str) -> list[dict[str, Any]]:
        """Return the figure of ranks under all designs (items ranked), if there are several designs and ranks."""
        ordered = grid.higher_is_better is not None and len(grid.systems) > 1 and len(grid.designs) > 1
        return budget.figures([ranks(grid)] if ordered else [], name)

    return _environment().get_template("page.html.jinja").render(
        title=title_of(folder),
        about=str(lock.get("about") or ""),
        study=bool(lock),
        groups=grids,
        controls=controls(grids),
        view_figures=view_figures,
        rank_figures=rank_figures,
        budget=budget,
        max_pairs=MAX_PAIRS,
        packed=sum(len(grid.designs) for group in grids for grid in group.grids) > MAX_VIEWS,
        level=wording.percent(folder.level),
        alpha=f"{alphas.pop() if len(alphas) == 1 else 1 - folder.level:.4g}",
        verdict=verdict_content(verdict, grids, folder.unit),
        unit=folder.unit,
        picture=None if picture is None else figure(picture, "systems"),
        facts=card(grids, lock, folder.settings),
        by_groups=folder.groups,
        command=folder.command,
        findings=[group for group in by_code if group.weight == 2],
        other_findings=[group for group in by_code if group.weight < 2],
        verdict_without=verdict_without(by_code, verdict),
        unknown=any(group.open for group in by_code),
        exhibits=[figure(exhibit, f"exhibit-{number}") for number, exhibit in enumerate(folder.exhibits, start=1)],
        failures=folder.failures,
        lock=yaml.safe_dump(dict(made_by), sort_keys=False, allow_unicode=True, width=100) if made_by else "",
    )  # fmt: skip


@cache
def _environment() -> Environment:
    import jinja2
    from markupsafe import Markup

    home = files("recassay.report")

    def text(value: Any) -> Any:
        """Return text with control characters escaped in each line; markup and other values are returned unchanged."""
        if isinstance(value, str) and not isinstance(value, Markup) and not value.isprintable():
            return "\n".join(printable(line) for line in value.split("\n"))
        return value

    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(lambda name: (home / "page" / name).read_text(encoding="utf-8")),
        autoescape=True,
        finalize=text,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.globals |= {"source": lambda name: Markup((home / name).read_text(encoding="utf-8")), **FUNCTIONS}
    environment.filters |= {**FILTERS, "drawn": Markup}  # figures escape their text when they are drawn
    return environment


def figures_of(folder: ResultFolder, progress: StageProgress | None = None) -> list[Exhibit]:
    """Return all figures of the report page, also those that the page leaves out for its size."""
    distributions, several = distributions_of(folder, progress), len({row.get("dataset") for row in folder.rows}) > 1
    exhibits: list[Exhibit] = []
    for results in result_grids(folder.rows, ()):
        for grid in results.grids:
            figures = [ranks(grid)] if len(grid.designs) > 1 and grid.higher_is_better is not None else []
            for design in grid.designs:
                place = results.place._replace(design=design)
                figures += [means(grid, design), *distributions.get((place, grid.metric), ())]
            suffix = f"-{results.place.dataset}" if several else ""
            exhibits += [replace(figure, name=f"{figure.name}{suffix}") for figure in figures]
    return [*exhibits, *folder.exhibits]


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

    They are keyed by (place, metric); a place is a data set, split, protocol, seed and design.
    """
    values = UnitValues.of(folder.scores)
    if values is None:
        return {}
    better = {grid.metric: grid.higher_is_better for results in result_grids(folder.rows, ()) for grid in results.grids}
    report = None if progress is None else lambda done, total: progress("reading scores", done, total)
    return values.exhibits(better, units=worded("users", folder.unit), progress=report)
