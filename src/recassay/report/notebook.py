"""Display of values in notebooks: small HTML tables, sparklines and SVG figures."""

from __future__ import annotations

import html as escaping
import itertools
import math
import tempfile
from collections.abc import Callable, Iterable, Sequence
from functools import singledispatch
from pathlib import Path
from typing import Any

import polars as pl

from recassay.api.evaluate import Evaluation
from recassay.comparison.compare import Comparison, compare
from recassay.data.io import write_text
from recassay.errors import UsageError, printable
from recassay.naming.grammar import suggest
from recassay.report.content import wording
from recassay.report.content.results_table import ResultTable
from recassay.report.figures import panels
from recassay.report.figures.export import png_writer, standalone
from recassay.report.figures.spark import sparkline
from recassay.report.listing import Explanation
from recassay.report.nouns import facts
from recassay.report.printed import cell, how_tested, text, verdict_lines
from recassay.results.design_scores import DesignScores
from recassay.results.exhibit import Exhibit
from recassay.results.finding import Finding, Findings
from recassay.results.scores import Scores
from recassay.shown import Picture

__all__ = ["html", "plot", "report", "save", "text"]  # what ``recassay.shown`` asks a renderer for
DIGITS = 4
MAX_ROWS = 60  # of a table, so that a long one does not fill the notebook
WORDS, NUMBER = ' style="text-align: left"', ' style="text-align: right"'
SMALL = ' style="opacity: .7; font-size: .85em; white-space: nowrap"'


@singledispatch
def html(value: Any) -> str:
    """Return a value as HTML: statistics, sparklines and the first rows of an input, or the tables of a result."""
    found = facts(value)
    sparks = {name: sparkline(list(values)) for name, values in found.sparks.items()}
    rows = [[_bold(name), _text(words), sparks.pop(name, "")] for name, words in found.lines.items()]
    rows += [[_bold(name), "", drawn] for name, drawn in sparks.items() if drawn]
    parts = [f"<p>{_bold(found.title)}</p>", _table([], rows, words=3) if rows else ""]
    if found.rows is not None:
        parts.append(_frame_table(found.rows, cell if found.tabular else _raw))
    return "".join(parts)


def _frame_table(frame: pl.DataFrame, shown: Callable[[object], str]) -> str:
    """Return the rows of a data frame as an HTML table; ``shown`` returns a value as text.

    Columns from the first numeric one on are aligned to the right.
    """
    words = next((at for at, kind in enumerate(frame.dtypes) if kind.is_numeric()), len(frame.columns))
    return _table(frame.columns, [[_text(shown(value)) for value in row] for row in frame.rows()], words=words)


def _raw(value: object) -> str:
    """Return an id, a time or a score as text, without rounding to the digits of means."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def _bold(words: str) -> str:
    return f"<strong>{_text(words)}</strong>"


@html.register
def _scores(scores: Scores) -> str:
    """Return scores as an HTML table of means with intervals, the best in bold, and the findings below it."""
    table = ResultTable(scores)
    rows = [[_text(system), *(_mean(table, system, metric) for metric in scores.metrics)] for system in scores.systems]
    note = " ".join(filter(None, [wording.method(scores, None), wording.notes(scores)]))
    parts = [_table(["system", *scores.metrics], rows), f"<p{SMALL}>{_text(note)}</p>" if note else ""]
    return "".join([*parts, html(Findings(scores.findings)) if scores.findings else ""])


def _mean(table: ResultTable, system: str, metric: str) -> str:
    row = table.row(system, metric)
    mean = wording.number(row.mean, DIGITS)
    mean = f"<strong>{mean}</strong>" if system in table.best(metric) else mean
    between = "" if math.isnan(row.low) else f"<br><span{SMALL}>{wording.interval(row.low, row.high, DIGITS)}</span>"
    return mean + between


@html.register
def _comparison(comparison: Comparison) -> str:
    """Return a comparison as an HTML table with a row per metric and pair, significant differences in bold."""
    rows = []
    for row in comparison.rows:
        difference = wording.difference(row.difference, DIGITS)
        rows.append(
            [
                _text(row.metric), _text(row.a), _text(row.b),
                f"<strong>{difference}</strong>" if row.significant else difference,
                wording.interval(row.low, row.high, DIGITS), _text(wording.p_value(row.p_adjusted)), f"{row.n:,}",
            ]
        )  # fmt: skip
    headings = ["metric", "first", "second", "difference", "interval", "adjusted p", "n"]
    tests = how_tested(comparison)
    note = f"First minus second; bold: adjusted p ≤ {1 - comparison.level:.4g}. {tests[:1].upper()}{tests[1:]}."
    return _table(headings, rows, words=3) + f"<p{SMALL}>{_text(note)}</p>"


@html.register
def _design_scores(scores: DesignScores) -> str:
    """Return scores under designs as an HTML table with a row per metric and design, the best of a row in bold."""
    found = {(row.metric, row.design, row.system): row.mean for row in scores.rows}
    rows = []
    for metric, design in itertools.product(scores.metrics, scores.designs):
        means = [found[metric, design, system] for system in scores.systems]
        best = max((mean for mean in means if not math.isnan(mean)), default=math.nan)
        cells = [wording.number(mean, DIGITS) for mean in means]
        bold = [f"<strong>{cell}</strong>" if mean == best else cell for cell, mean in zip(cells, means, strict=True)]
        rows.append([_text(metric), _text(design), *bold])
    note = "Expected means over all draws of candidates; bold: the best of a row."
    return _table(["metric", "design", *scores.systems], rows, words=2) + f"<p{SMALL}>{_text(note)}</p>"


@html.register
def _evaluation(found: Evaluation) -> str:
    """Return the verdict of an evaluation, how it was made, then its scores and tests, as HTML."""
    verdict = "".join(f"<p>{_text(line)}</p>" for line in verdict_lines(found))
    stated = _table([], [[_bold(name), _text(words)] for name, words in found.stated.items() if words], words=2)
    return "".join([verdict, stated, html(found.scores), html(found.comparison) if found.comparison.rows else ""])


@html.register
def _explanation(page: Explanation) -> str:
    return f"<pre>{_text(text(page))}</pre>"


@html.register
def _findings(findings: Findings) -> str:
    """Return findings as an HTML list with an item per finding."""
    if not findings:
        return "<p>No findings.</p>"
    return f"<ul>{''.join(map(_line, findings))}</ul>"


@html.register
def _finding(finding: Finding) -> str:
    return f"<ul>{_line(finding)}</ul>"


@html.register
def _exhibit(exhibit: Exhibit) -> str:
    """Return the figures of an exhibit (a table to draw) as HTML, with its title and caption."""
    figures = "".join(f"<p>{_text(panel.heading)}</p>{standalone(panel.svg)}" for panel in panels(exhibit))
    title, caption = _text(exhibit.title), _text(exhibit.caption)
    return f"<figure><strong>{title}</strong>{figures}<figcaption>{caption}</figcaption></figure>"


def plot(scores: Scores, *, metric: str | None = None) -> Picture:
    """Return a figure of the means of all systems under a metric (None: the first), best first, with intervals.

    Raise U101 if the metric was not scored, and U113 if it is undefined for every system.
    """
    known = scores.metrics
    if metric is not None and metric not in known:
        raise UsageError("U101", f"'{metric}' was not scored", hint=suggest(metric, known))
    chosen = metric or known[0]
    rows = [row for row in scores.rows if row.metric == chosen and not math.isnan(row.mean)]
    best_first = sorted(rows, key=lambda row: row.mean, reverse=bool(rows and rows[0].higher_is_better is not False))
    table = pl.DataFrame(
        [{"system": row.system, chosen: row.mean, "low": row.low, "high": row.high} for row in best_first],
        schema={"system": pl.String, **dict.fromkeys((chosen, "low", "high"), pl.Float64)},
    )
    title = f"{chosen} by system"
    figures = panels(Exhibit("means", title, "", table, chosen, "system", low="low", high="high", kind="dot"))
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


def _line(finding: Finding) -> str:
    where = f" ({_text(finding.system)})" if finding.system else ""
    head = f"<strong>{_text(finding.severity)} {_text(finding.code)}</strong> {_text(finding.title)}{where}"
    return f"<li>{head}<br><span{SMALL.replace('nowrap', 'normal')}>{_text(finding.detail)}</span></li>"


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]], words: int = 1) -> str:
    """Return an HTML table; ``rows`` hold HTML, and the first ``words`` columns are left-aligned.

    Rows beyond a maximum are only counted.
    """
    names = "".join(f"<th{WORDS if at < words else NUMBER}>{_text(name)}</th>" for at, name in enumerate(headings))
    head = f"<thead><tr>{names}</tr></thead>" if headings else ""
    body = "".join(f"<tr>{_cells(row, words)}</tr>" for row in rows[:MAX_ROWS])
    more = f"<p{SMALL}>{len(rows) - MAX_ROWS:,} more rows</p>" if len(rows) > MAX_ROWS else ""
    return f"<table>{head}<tbody>{body}</tbody></table>{more}"


def _cells(row: Iterable[str], words: int) -> str:
    return "".join(f"<td{WORDS if at < words else NUMBER}>{cell}</td>" for at, cell in enumerate(row))


def _text(words: object) -> str:
    return escaping.escape(printable(str(words)))
