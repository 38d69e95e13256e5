"""Display of values: as some lines of text, as HTML in notebooks, and as pictures."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from recassay.comparison.compare import Comparison, compare
from recassay.data.io import write_text
from recassay.errors import UsageError, printable
from recassay.naming.grammar import suggest
from recassay.report.content.grids import LISTS, grids_of
from recassay.report.figures import panels
from recassay.report.figures.export import png_writer, standalone
from recassay.report.listing import Explanation, explanation_text
from recassay.report.nouns import tables_of
from recassay.report.page.figures import means
from recassay.report.tables.formats import html_text, to_html
from recassay.report.tables.terminal import Terminal, printed
from recassay.results.exhibit import Exhibit
from recassay.results.scores import Scores
from recassay.shown import Picture

__all__ = ["html", "plot", "report", "save", "text"]  # what ``recassay.shown`` asks a renderer for
MAX_LINES = 24


def text(value: Any) -> str:
    """Return a value as text: for each of its tables a title, and a limited number of lines."""
    if isinstance(value, Explanation):
        return printed(explanation_text(value), width=100)
    source = next((f".{name}()" for name in ("summary", "frame") if hasattr(value, name)), "its table has them all")
    lines: list[str] = []
    for table in tables_of(value):
        rows = [row for row in table.rows if row]
        shown = replace(table, rows=tuple(rows[:MAX_LINES]), title="", notes=())
        more = [f"... {len(rows) - MAX_LINES:,} more rows: {source}"] if len(rows) > MAX_LINES else []
        lines += printable(table.title, keep="\n").split("\n")
        lines += [f"  {line}" for line in [*printed(Terminal(shown, rule=False)).splitlines(), *more]]
    return "\n".join(lines)


def html(value: Any) -> str:
    """Return a value as HTML: its tables and findings, the figures of an exhibit, or the page of an explanation."""
    if isinstance(value, Explanation):
        return f"<pre>{html_text(text(value))}</pre>"
    if isinstance(value, Exhibit):
        figures = "".join(f"<p>{html_text(panel.heading)}</p>{standalone(panel.svg)}" for panel in panels(value))
        title, caption = html_text(value.title), html_text(value.caption)
        return f"<figure><strong>{title}</strong>{figures}<figcaption>{caption}</figcaption></figure>"
    findings = getattr(value, "findings", None) or getattr(getattr(value, "scores", None), "findings", None)
    return "".join(map(to_html, [*tables_of(value), *(tables_of(findings) if findings else [])]))


def plot(scores: Scores, *, metric: str | None = None) -> Picture:
    """Return a figure of the means of all systems under a metric (None: the first), best first, with intervals.

    Raise U101 if the metric was not scored, and U113 if it is undefined for every system.
    """
    known = scores.metrics
    if metric is not None and metric not in known:
        raise UsageError("U101", f"'{metric}' was not scored", hint=suggest(metric, known))
    chosen = metric or known[0]
    grid = next(grid for results in grids_of(scores, None) for grid in results.grids if grid.metric == chosen)
    means_of = means(grid, LISTS)
    figures = panels(replace(means_of, table=means_of.table.rename({"mean": chosen}), x=chosen))
    if not figures:
        raise UsageError("U113", f"{chosen} is undefined for every system", hint="plot another metric")
    return Picture(standalone(figures[0].svg))


def report(scores: Scores, comparison: Comparison | None, *, path: Path) -> Path:
    """Write the report page of scores to ``path`` and return ``path``.

    Without a comparison, all pairs of systems are tested first, if there are several systems with values per unit.
    """
    from recassay.report.folder.write import write_results

    if comparison is None and len(scores.systems) > 1 and scores.unit_metrics:
        comparison = compare(scores)
    with tempfile.TemporaryDirectory(prefix="recassay-") as folder:
        page = (write_results(scores, comparison, folder) / "report.html").read_text(encoding="utf-8")
    write_text(page, path)
    return path


def save(picture: Picture, *, path: Path) -> Path:
    """Write a figure as PNG if the name ends with ``.png``, else as SVG; return the path."""
    if path.suffix == ".png":
        png_writer()(picture.svg, path)
    else:
        write_text(picture.svg, path)
    return path
