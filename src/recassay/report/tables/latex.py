"""Results as a LaTeX table for papers. It needs the package booktabs and LaTeX from 2020 or later."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from recassay.errors import printable
from recassay.report.content import wording
from recassay.report.content.results_table import ResultTable
from recassay.results.scores import Scores

if TYPE_CHECKING:
    from recassay.comparison.compare import Comparison

SPECIAL = {
    "∞": r"$\infty$",
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\symbol{34}",
    "`": r"\textasciigrave{}",
    "'": r"\textquotesingle{}",
    "[": "{[}",  # at the start of a row, LaTeX reads a bracket or a star as an option of the row before
    "*": "{*}",
    "–": r"\textendash{}",
    "≤": r"$\leq$",
}


def to_latex(scores: Scores, comparison: Comparison | None = None, *, digits: int = 4) -> str:
    """Return a LaTeX table with a row of means and a row of intervals per system.

    The best mean of each metric is bold, the second best of three or more is underlined. Superscript letters mark the
    systems that a system is significantly better than. The caption names the methods. ``digits`` is the number of
    decimals.
    """
    table = ResultTable(scores, comparison)
    lines = [
        r"\begin{table}",
        r"  \centering",
        rf"  \caption{{{_caption(table)}}}",
        rf"  \begin{{tabular}}{{l{'r' * len(scores.metrics)}}}",
        r"    \toprule",
        rf"    {' & '.join(['System', *map(escape, scores.metrics)])} \\",
        r"    \midrule",
    ]
    for system in scores.systems:
        lines += [rf"    {row} \\" for row in _rows(table, system, digits)]
    lines += [r"    \bottomrule", r"  \end{tabular}", r"\end{table}"]
    return "\n".join(lines) + "\n"


def escape(text: str) -> str:
    r"""Return text with the special characters of LaTeX escaped.

    >>> print(escape("50% of a_b & {c}"))
    50\% of a\_b \& \{c\}
    """
    escaped = "".join(SPECIAL.get(letter, letter) for letter in printable(text))
    return re.sub("-(?=-)", "-{}", escaped)  # LaTeX would join two hyphens to a dash


def _rows(table: ResultTable, system: str, digits: int) -> list[str]:
    """Return the LaTeX rows of a system: its means and, if there are any, its intervals."""
    means, intervals = [_named(table, system)], [""]
    for metric in table.scores.metrics:
        row = table.row(system, metric)
        mean = escape(wording.number(row.mean, digits))
        beaten = wording.joined(table.beaten(system, metric))
        if system in table.best(metric):
            mean = rf"\textbf{{{mean}}}"
        elif system in table.second(metric):
            mean = rf"\underline{{{mean}}}"
        means.append(mean + (rf"\textsuperscript{{{beaten}}}" if beaten else ""))
        between = "" if math.isnan(row.low) else escape(wording.interval(row.low, row.high, digits))
        intervals.append(rf"{{\scriptsize {between}}}" if between else "")
    return [" & ".join(cells) for cells in (means, intervals) if any(cells)]


def _named(table: ResultTable, system: str) -> str:
    return rf"{table.letters[system]}\enspace {escape(system)}" if table.comparison else escape(system)


def _caption(table: ResultTable) -> str:
    bold = ", the best in bold" if any(map(table.best, table.scores.metrics)) else ""
    underlined = ", the second best underlined" if any(map(table.second, table.scores.metrics)) else ""
    parts = [f"Means{bold}{underlined}."]
    parts.append(wording.method(table.scores, table.comparison))
    parts.append(table.superscripts("Superscript letters"))
    parts += [wording.notes(table.scores), wording.conventions(table.scores)]
    return escape(" ".join(part for part in parts if part))
