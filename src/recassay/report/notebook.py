"""How results look in a notebook: small tables as HTML, and pictures as SVG."""

from __future__ import annotations

import html as escaping
import math
from collections.abc import Iterable, Sequence
from functools import singledispatch
from pathlib import Path
from typing import Any

import polars as pl

from recassay.comparison.compare import Comparison
from recassay.data.exhibit import Exhibit
from recassay.data.finding import Finding, Findings
from recassay.data.io import write_text
from recassay.data.scores import Scores
from recassay.data.shown import Picture
from recassay.errors import UsageError
from recassay.report import wording
from recassay.report.board import Board
from recassay.report.figures import panels
from recassay.report.figures.export import png_writer, standalone
from recassay.spec import suggest

DIGITS = 4
MOST = 60  # rows of a table; a notebook is no place for more
NUMBER = ' style="text-align: right"'
SMALL = ' style="opacity: .7; font-size: .85em; white-space: nowrap"'


@singledispatch
def html(value: Any) -> str:
    """A value as HTML."""
    raise TypeError(f"nothing is known of how {type(value).__name__} looks")


@html.register
def _scores(scores: Scores) -> str:
    """Means with intervals, the best in bold, and below them what was found."""
    board = Board(scores)
    rows = [[_text(system), *(_mean(board, system, metric) for metric in scores.metrics)] for system in scores.systems]
    note = " ".join(filter(None, [wording.method(scores, None), wording.uncut(scores)]))
    parts = [_table(["system", *scores.metrics], rows), f"<p{SMALL}>{_text(note)}</p>" if note else ""]
    return "".join([*parts, html(Findings(scores.findings)) if scores.findings else ""])


def _mean(board: Board, system: str, metric: str) -> str:
    row = board.row(system, metric)
    mean = wording.number(row.mean, DIGITS)
    mean = f"<strong>{mean}</strong>" if system in board.best(metric) else mean
    between = "" if math.isnan(row.low) else f"<br><span{SMALL}>{wording.interval(row.low, row.high, DIGITS)}</span>"
    return mean + between


@html.register
def _comparison(comparison: Comparison) -> str:
    """A row per metric and pair; what is significant in bold."""
    rows = []
    for row in comparison.rows:
        apart = wording.difference(row.difference, DIGITS)
        rows.append(
            [
                _text(row.metric), _text(row.a), _text(row.b),
                f"<strong>{apart}</strong>" if row.significant else apart,
                wording.interval(row.low, row.high, DIGITS), _text(wording.p_value(row.p_adjusted)), f"{row.n:,}",
            ]
        )  # fmt: skip
    headings = ["metric", "first", "second", "difference", "interval", "adjusted p", "n"]
    kinds = dict.fromkeys(
        f"{wording.TESTS.get(row.test, row.test)}, {wording.CORRECTIONS.get(row.correction, row.correction)}"
        for row in comparison.rows
    )
    tests = "; ".join(kinds)
    note = f"First less second; bold: adjusted p ≤ {1 - comparison.level:.4g}. {tests[:1].upper()}{tests[1:]}."
    return _table(headings, rows, words=3) + f"<p{SMALL}>{_text(note)}</p>"


@html.register
def _findings(findings: Findings) -> str:
    """A line per finding."""
    if not findings:
        return "<p>No findings.</p>"
    return f"<ul>{''.join(map(_line, findings))}</ul>"


@html.register
def _finding(finding: Finding) -> str:
    return f"<ul>{_line(finding)}</ul>"


@html.register
def _exhibit(exhibit: Exhibit) -> str:
    """Its pictures, and what to see in them."""
    drawn = "".join(f"<p>{_text(one.heading)}</p>{standalone(one.svg)}" for one in panels(exhibit))
    title, caption = _text(exhibit.title), _text(exhibit.caption)
    return f"<figure><strong>{title}</strong>{drawn}<figcaption>{caption}</figcaption></figure>"


def plot(scores: Scores, *, metric: str | None = None) -> Picture:
    """The means of all systems under a metric, best first, with their intervals."""
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
    title = f"{chosen} of every system"
    drawn = panels(Exhibit("means", title, "", table, chosen, "system", low="low", high="high", kind="dot"))
    if not drawn:
        raise UsageError("U113", f"{chosen} is undefined for every system", hint="plot another metric")
    return Picture(standalone(drawn[0].svg))


def save(picture: Picture, *, path: Path) -> Path:
    """Write a picture in the format its name ends with."""
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
    """A table whose cells are HTML already; the first columns are words."""
    head = "".join(f"<th{'' if at < words else NUMBER}>{_text(name)}</th>" for at, name in enumerate(headings))
    body = "".join(f"<tr>{_cells(row, words)}</tr>" for row in rows[:MOST])
    more = f"<p{SMALL}>{len(rows) - MOST:,} more rows</p>" if len(rows) > MOST else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def _cells(row: Iterable[str], words: int) -> str:
    return "".join(f"<td{'' if at < words else NUMBER}>{cell}</td>" for at, cell in enumerate(row))


def _text(words: object) -> str:
    return escaping.escape(wording.printable(str(words)))
