"""Results as Markdown: systems by metrics, and the counts behind them."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from recassay.data.scores import Scores
from recassay.report import wording
from recassay.report.board import COUNTS, Board

if TYPE_CHECKING:
    from recassay.comparison.compare import Comparison

SPECIAL = re.compile(r"([\\`*_\[\]<>|~&$])")


def to_markdown(scores: Scores, comparison: Comparison | None = None, *, digits: int = 4) -> str:
    """A table of means with intervals, the best in bold, and a table of counts.

    Raised letters name the systems that a system is significantly better than.
    """
    board = Board(scores, comparison)
    rows = [
        [_named(board, system), *(_cell(board, system, metric, digits) for metric in scores.metrics)]
        for system in scores.systems
    ]
    parts = [wording.conventions(scores)]
    parts.append(_table(["system", *map(escape, scores.metrics)], rows))
    parts.append(" ".join(filter(None, [wording.method(scores, comparison), _legend(board), wording.uncut(scores)])))
    parts.append(_counts(board))
    return "\n\n".join(part for part in parts if part) + "\n"


def escape(name: str) -> str:
    """A name that Markdown shows as it is.

    >>> print(escape("a|b*c_[d]"))
    a\\|b\\*c\\_\\[d\\]
    """
    return SPECIAL.sub(r"\\\1", wording.printable(name))


def _named(board: Board, system: str) -> str:
    return f"{board.letter[system]}: {escape(system)}" if board.comparison else escape(system)


def _cell(board: Board, system: str, metric: str, digits: int) -> str:
    row = board.row(system, metric)
    mean = wording.number(row.mean, digits)
    mean = f"**{mean}**" if system in board.best(metric) else mean
    beaten = wording.joined(board.beaten(system, metric))
    raised = f"<sup>{beaten}</sup>" if beaten else ""
    between = "" if math.isnan(row.low) else f" ({wording.interval(row.low, row.high, digits)})"
    return mean + raised + between


def _legend(board: Board) -> str:
    if not board.comparison:
        return ""
    level = f"{1 - board.comparison.level:.4g}"
    return f"Raised letters: significantly better than the system of that letter (adjusted p ≤ {level})."


def _counts(board: Board) -> str:
    rows = []
    for tally in board.tallies():
        whole = len(tally.metrics) == len(board.scores.metrics)
        metrics = "all" if whole else ", ".join(map(escape, tally.metrics))
        rows.append([escape(tally.system), metrics, *(f"{count:,}" for count in tally.counts)])
    return _table(["system", "metrics", "n", *COUNTS], rows, text=2)


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]], text: int = 1) -> str:
    """A table with its columns lined up; the first ``text`` columns to the left, the others to the right."""
    widths = [max(3, *(len(row[i]) for row in (headings, *rows))) for i in range(len(headings))]
    rule = ["-" * width if i < text else "-" * (width - 1) + ":" for i, width in enumerate(widths)]
    lined = [
        [
            cell.ljust(width) if i < text else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        for row in (headings, *rows)
    ]
    return "\n".join(f"| {' | '.join(row)} |" for row in (lined[0], rule, *lined[1:]))
