"""Results as Markdown: a table of systems by metrics, and a table of counts."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from recassay.errors import printable
from recassay.report.content import wording
from recassay.report.content.results_table import COUNTS, ResultTable
from recassay.results.scores import Scores

if TYPE_CHECKING:
    from recassay.comparison.compare import Comparison

SPECIAL = re.compile(r"([\\`*_\[\]<>|~&$])")


def to_markdown(scores: Scores, comparison: Comparison | None = None, *, digits: int = 4) -> str:
    """Return a Markdown table of means with intervals, the best in bold, and a table of numbers of users.

    The second table says how many users have a value, no list, a short list, and so on. Superscript letters mark the
    systems that a system is significantly better than. ``digits`` is the number of decimals.
    """
    table = ResultTable(scores, comparison)
    rows = [
        [_named(table, system), *(_cell(table, system, metric, digits) for metric in scores.metrics)]
        for system in scores.systems
    ]
    parts = [wording.conventions(scores)]
    parts.append(_table(["system", *map(escape, scores.metrics)], rows))
    notes = [wording.method(scores, comparison), table.superscripts("Superscripts"), wording.notes(scores)]
    parts.append(" ".join(filter(None, notes)))
    parts.append(_counts(table))
    return "\n\n".join(part for part in parts if part) + "\n"


def escape(name: str) -> str:
    """Return a name with the special characters of Markdown escaped.

    >>> print(escape("a|b*c_[d]"))
    a\\|b\\*c\\_\\[d\\]
    """
    return SPECIAL.sub(r"\\\1", printable(name))


def _named(table: ResultTable, system: str) -> str:
    return f"{table.letters[system]}: {escape(system)}" if table.comparison else escape(system)


def _cell(table: ResultTable, system: str, metric: str, digits: int) -> str:
    row = table.row(system, metric)
    mean = wording.number(row.mean, digits)
    mean = f"**{mean}**" if system in table.best(metric) else mean
    beaten = wording.joined(table.beaten(system, metric))
    raised = f"<sup>{beaten}</sup>" if beaten else ""
    between = "" if math.isnan(row.low) else f" ({wording.interval(row.low, row.high, digits)})"
    return mean + raised + between


def _counts(table: ResultTable) -> str:
    rows = []
    for note in table.count_notes():
        applies_to_all = len(note.metrics) == len(table.scores.metrics)
        metrics = "all" if applies_to_all else ", ".join(map(escape, note.metrics))
        rows.append([escape(note.system), metrics, *(f"{count:,}" for count in note.counts)])
    return _table(["system", "metrics", "n", *COUNTS], rows, text=2)


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]], text: int = 1) -> str:
    """Return an aligned Markdown table: the first ``text`` columns to the left, the others to the right."""
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
