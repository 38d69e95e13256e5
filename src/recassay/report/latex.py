"""Results as a LaTeX table for a paper; needs the package booktabs and LaTeX of 2020 or later."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from recassay.data.scores import Scores
from recassay.report import wording
from recassay.report.board import Board

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
    "[": "{[}",  # a row that begins with a bracket or a star would be read as an option of the row before
    "*": "{*}",
    "–": r"\textendash{}",
    "≤": r"$\leq$",
}


def to_latex(scores: Scores, comparison: Comparison | None = None, *, digits: int = 4) -> str:
    """A row of means and a row of intervals per system, the best in bold; the caption says how they were made.

    Superscripts name the systems that a system is significantly better than.
    """
    board = Board(scores, comparison)
    lines = [
        r"\begin{table}",
        r"  \centering",
        rf"  \caption{{{_caption(board)}}}",
        rf"  \begin{{tabular}}{{l{'r' * len(scores.metrics)}}}",
        r"    \toprule",
        rf"    {' & '.join(['System', *map(escape, scores.metrics)])} \\",
        r"    \midrule",
    ]
    for system in scores.systems:
        lines += [rf"    {row} \\" for row in _rows(board, system, digits)]
    lines += [r"    \bottomrule", r"  \end{tabular}", r"\end{table}"]
    return "\n".join(lines) + "\n"


def escape(text: str) -> str:
    r"""Text that LaTeX sets as it is.

    >>> print(escape("50% of a_b & {c}"))
    50\% of a\_b \& \{c\}
    """
    spelt = "".join(SPECIAL.get(letter, letter) for letter in wording.printable(text))
    return re.sub("-(?=-)", "-{}", spelt)  # no ligatures


def _rows(board: Board, system: str, digits: int) -> list[str]:
    """The line of means and, if there are any, the line of intervals."""
    means, intervals = [_named(board, system)], [""]
    for metric in board.scores.metrics:
        row = board.row(system, metric)
        mean = escape(wording.number(row.mean, digits))
        beaten = wording.joined(board.beaten(system, metric))
        mean = rf"\textbf{{{mean}}}" if system in board.best(metric) else mean
        means.append(mean + (rf"\textsuperscript{{{beaten}}}" if beaten else ""))
        between = "" if math.isnan(row.low) else escape(wording.interval(row.low, row.high, digits))
        intervals.append(rf"{{\scriptsize {between}}}" if between else "")
    return [" & ".join(cells) for cells in (means, intervals) if any(cells)]


def _named(board: Board, system: str) -> str:
    return rf"{board.letter[system]}\enspace {escape(system)}" if board.comparison else escape(system)


def _caption(board: Board) -> str:
    parts = ["Means" + (", the best in bold." if any(map(board.best, board.scores.metrics)) else ".")]
    parts.append(wording.method(board.scores, board.comparison))
    if board.comparison:
        level = f"{1 - board.comparison.level:.4g}"
        parts.append(f"Superscripts: significantly better than the system of that letter (adjusted p ≤ {level}).")
    parts += [wording.uncut(board.scores), wording.conventions(board.scores)]
    return escape(" ".join(part for part in parts if part))
