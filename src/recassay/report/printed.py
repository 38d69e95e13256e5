"""Results and inputs as printed in Python: a title and a limited number of lines."""

from __future__ import annotations

import io
from collections.abc import Sequence
from functools import singledispatch
from typing import Any

from rich.cells import cell_len, set_cell_size
from rich.console import Console

from recassay.api.evaluate import Evaluation
from recassay.comparison.compare import Comparison
from recassay.errors import printable
from recassay.report.content import wording
from recassay.report.content.findings import finding_groups, verdict_without
from recassay.report.content.verdict import verdict_text
from recassay.report.folder.write import verdict_of_scores
from recassay.report.listing import Explanation, explanation_text
from recassay.report.nouns import counted, facts
from recassay.results.design_scores import DesignScores
from recassay.results.scores import Scores
from recassay.results.settings import population

DIGITS = 4
MAX_LINES = 24
NUMERIC = frozenset("0123456789+-–") | {""}  # what a number begins with


@singledispatch
def text(value: Any) -> str:
    """Return a value as some lines of text; a function for each type of result is registered below."""
    found = facts(value)
    width = max(map(len, found.lines), default=0)
    lines = "\n".join([found.title, *(f"  {name:<{width}}  {words}" for name, words in found.lines.items())])
    if found.rows is None or not found.tabular:
        return lines
    rows = [[cell(value) for value in row] for row in found.rows.rows()]
    return _columns(lines, found.rows.columns, rows, "its table has them all")


@text.register
def _scores_text(scores: Scores) -> str:
    """Return the table of means as text, without notes."""
    title = f"scores of {counted(len(scores.systems), 'system')} under {counted(len(scores.metrics), 'metric')}, "
    n = scores.units.len() or max((row.n + row.undefined for row in scores.rows), default=0)  # units stay on a cluster
    over = population(scores.settings) or f"{n:,} users or sequences"
    title += f"for {over}; {counted(len(scores.findings), 'finding')}"
    rows = [
        [
            row.metric,
            row.system,
            wording.number(row.mean, DIGITS),
            wording.interval(row.low, row.high, DIGITS),
            f"{row.n:,}",
        ]
        for row in sorted(scores.rows, key=lambda row: scores.metrics.index(row.metric))
    ]
    return _columns(title, ["metric", "system", "mean", f"{wording.level(scores)} interval", "n"], rows, ".summary()")


@text.register
def _comparison_text(comparison: Comparison) -> str:
    """Return a comparison as text, with a line per pair and metric."""
    rows = [
        [
            row.metric, f"{row.a} - {row.b}", wording.difference(row.difference, DIGITS),
            wording.interval(row.low, row.high, DIGITS), wording.p_value(row.p_adjusted),
        ]
        for row in comparison.rows
    ]  # fmt: skip
    title = f"comparison of {counted(len(rows), 'pair of a metric', 'pairs of a metric')}; {how_tested(comparison)}"
    return _columns(title, ["metric", "systems", "difference", "interval", "adjusted p"], rows, ".frame()")


@text.register
def _design_scores_text(scores: DesignScores) -> str:
    """Return the means of all systems under each design and metric as text."""
    title = f"scores of {counted(len(scores.systems), 'system')} under {counted(len(scores.designs), 'design')}"
    means = {(row.metric, row.design, row.system): row.mean for row in scores.rows}
    rows = [
        [metric, design, *(wording.number(means[metric, design, system], DIGITS) for system in scores.systems)]
        for metric in scores.metrics
        for design in scores.designs
    ]
    return _columns(title, ["metric", "design", *scores.systems], rows, ".summary()")


@text.register
def _evaluation_text(found: Evaluation) -> str:
    """Return the verdict of an evaluation, how it was made, then its scores and tests, as text."""
    lines = [f"  {name:<10}  {words}" for name, words in found.stated.items() if words]
    title = f"evaluation of {counted(len(found.runs), 'system')}"
    tested = [text(found.comparison)] if found.comparison.rows else []
    return "\n".join([*verdict_lines(found), title, *lines, text(found.scores), *tested])


def verdict_lines(found: Evaluation) -> list[str]:
    """Return the verdict of an evaluation in a sentence, and one on what findings do to it where there are findings."""
    verdict = verdict_of_scores(found.scores, found.comparison if found.comparison.rows else None)
    of_findings = verdict_without(finding_groups(found.scores.findings, verdict), verdict)
    sentences = [verdict_text(verdict).headline, of_findings]
    return [printable(sentence) for sentence in sentences if sentence]


@text.register
def _explanation_text(page: Explanation) -> str:
    """Return the page that ``recassay explain`` prints."""
    printed = io.StringIO()
    Console(file=printed, width=100, color_system=None).print(explanation_text(page))
    return "\n".join(line.rstrip() for line in printed.getvalue().splitlines())


def _columns(title: str, headings: Sequence[str], rows: Sequence[Sequence[str]], everything: str) -> str:
    """Return a title and rows in columns as text, with numbers aligned to the right.

    Rows beyond the first 24 are only counted; ``everything`` says where to find them.
    """
    shown = [[printable(cell) for cell in row] for row in (headings, *rows[:MAX_LINES])]
    columns = [_padded(column) for column in zip(*shown, strict=True)]
    lines = ["  ".join(cells).rstrip() for cells in zip(*columns, strict=True)]
    more = [f"... {len(rows) - MAX_LINES:,} more rows: {everything}"] if len(rows) > MAX_LINES else []
    return "\n".join([title, *(f"  {line}" for line in [*lines, *more])])


def _padded(column: Sequence[str]) -> list[str]:
    """Return the cells of a column, of which the first is a heading, padded to one width.

    Numbers are aligned to the right, text to the left.
    """
    width = max(map(cell_len, column))
    if all(cell[:1] in NUMERIC for cell in column[1:]):
        return [" " * (width - cell_len(cell)) + cell for cell in column]
    return [set_cell_size(cell, width) for cell in column]


def how_tested(comparison: Comparison) -> str:
    """Return the names of the tests and corrections that a comparison used, as text."""
    kinds = dict.fromkeys(
        f"{wording.TESTS.get(row.test, row.test)}, {wording.CORRECTIONS.get(row.correction, row.correction)}"
        for row in comparison.rows
    )
    return "; ".join(kinds)


def cell(value: object) -> str:
    """Return a value as the text of a table cell.

    >>> cell(0.25), cell(12_345), cell(None)
    ('0.2500', '12,345', '–')
    """
    if value is None:
        return wording.NOTHING
    if isinstance(value, float):
        return wording.number(value, DIGITS)
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
