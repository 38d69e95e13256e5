"""Tables as Markdown, LaTeX and HTML; LaTeX needs the package booktabs and LaTeX from 2020 or later."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence
from itertools import repeat

from recassay.errors import printable
from recassay.report.tables.model import Cell, ResultTable

MARKDOWN_SPECIAL = re.compile(r"([\\`*_\[\]<>|~&$])")
LATEX_SPECIAL = {
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
MAX_ROWS = 60  # of a table in a notebook
SMALL = ' style="opacity: .7; font-size: .85em"'


def escape_markdown(text: str) -> str:
    """Return text with the special characters of Markdown escaped.

    >>> print(escape_markdown("a|b*c_[d]"))
    a\\|b\\*c\\_\\[d\\]
    """
    return MARKDOWN_SPECIAL.sub(r"\\\1", printable(text))


def escape_latex(text: str) -> str:
    r"""Return text with the special characters of LaTeX escaped.

    >>> print(escape_latex("50% of a_b & {c}"))
    50\% of a\_b \& \{c\}
    """
    escaped = "".join(LATEX_SPECIAL.get(letter, letter) for letter in printable(text))
    return re.sub("-(?=-)", "-{}", escaped)  # LaTeX would join two hyphens to a dash


def markdown(table: ResultTable) -> str:
    """Return a table as Markdown: title, aligned columns, and the notes as a paragraph."""
    number = [column.kind == "number" for column in table.columns]
    lines = [[escape_markdown(column.heading) for column in table.columns]]
    lines += [list(map(_markdown_cell, row, number)) for row in table.rows]
    widths = [max(3, *map(len, column)) for column in zip(*lines, strict=True)]
    padded = [
        [
            text.rjust(wide) if right else text.ljust(wide)
            for text, wide, right in zip(line, widths, number, strict=True)
        ]
        for line in lines
    ]
    rule = ["-" * (wide - right) + ":" * right for wide, right in zip(widths, number, strict=True)]
    text = "\n".join(f"| {' | '.join(line)} |" for line in (padded[0], rule, *padded[1:]))
    return "\n\n".join(filter(None, [table.title, text, " ".join(table.notes)])) + "\n"


def _markdown_cell(cell: Cell, number: bool) -> str:
    if not number:
        return f"{cell.marks}: {escape_markdown(cell.text)}" if cell.marks else escape_markdown(cell.text)
    text = f"**{cell.text}**" if cell.style == "best" else cell.text
    return text + (f"<sup>{cell.marks}</sup>" if cell.marks else "") + (f" ({cell.interval})" if cell.interval else "")


def latex(table: ResultTable) -> str:
    """Return a table as LaTeX: intervals have a row of their own, below the numbers; the notes are the caption."""
    styles = {cell.style for row in table.rows for cell in row}
    bold = ", the best in bold" if "best" in styles else ""
    underlined = ", the second best underlined" if "second" in styles else ""
    caption = " ".join(filter(None, [f"Means{bold}{underlined}.", *table.notes, table.title]))
    heading, *metrics = (escape_latex(column.heading) for column in table.columns)
    lines = [
        r"\begin{table}",
        r"  \centering",
        rf"  \caption{{{escape_latex(caption)}}}",
        rf"  \begin{{tabular}}{{l{'r' * len(metrics)}}}",
        r"    \toprule",
        rf"    {' & '.join([heading.capitalize(), *metrics])} \\",
        r"    \midrule",
    ]
    for name, *numbers in table.rows:
        label = rf"{name.marks}\enspace " if name.marks else ""
        lines.append(rf"    {' & '.join([label + escape_latex(name.text), *map(_latex_number, numbers)])} \\")
        if any(cell.interval for cell in numbers):
            spans = [rf"{{\scriptsize {escape_latex(cell.interval)}}}" if cell.interval else "" for cell in numbers]
            lines.append(rf"    {' & '.join(['', *spans])} \\")
    return "\n".join([*lines, r"    \bottomrule", r"  \end{tabular}", r"\end{table}"]) + "\n"


def _latex_number(cell: Cell) -> str:
    text = escape_latex(cell.text)
    shown = {"best": rf"\textbf{{{text}}}", "second": rf"\underline{{{text}}}"}.get(cell.style, text)
    return shown + (rf"\textsuperscript{{{cell.marks}}}" if cell.marks else "")


def to_html(table: ResultTable) -> str:
    """Return a table as HTML for a notebook; rows beyond a maximum are only counted."""
    sides = ["right" if column.kind == "number" else "left" for column in table.columns]
    headings = [html_text(column.heading) for column in table.columns]
    head = f"<thead><tr>{''.join(map(_html_cell, repeat('th'), sides, headings))}</tr></thead>" if any(headings) else ""
    rows = [row for row in table.rows if row]
    body = "".join(
        f"<tr>{''.join(map(_html_cell, repeat('td'), sides, map(_html, row)))}</tr>" for row in rows[:MAX_ROWS]
    )
    more = [f"{len(rows) - MAX_ROWS:,} more rows"] if len(rows) > MAX_ROWS else []
    title = "".join(f"<p><strong>{html_text(line)}</strong></p>" for line in table.title.split("\n") if line)
    notes = "".join(f"<p{SMALL}>{html_text(note)}</p>" for note in [*more, *table.notes])
    return f"{title}<table>{head}<tbody>{body}</tbody></table>{notes}" if rows else title + notes


def html_text(text: str) -> str:
    """Return text with control characters and the special characters of HTML escaped."""
    return html.escape(printable(text))


def _html_cell(tag: str, side: str, content: str) -> str:
    return f'<{tag} style="text-align: {side}">{content}</{tag}>'


def _html(cell: Cell) -> str:
    head = f"<strong>{html_text(cell.head)}</strong>" if cell.head else ""
    return f"<strong>{html_text(cell.text)}</strong>" if cell.style in ("best", "bold") else head + html_text(cell.text)


PAPER = {"markdown": (markdown, "## {}\n\n", escape_markdown), "latex": (latex, "% {}\n", printable)}


def paper(form: str, tables: Iterable[tuple[str, Sequence[ResultTable]]]) -> str:
    """Return tables as Markdown or LaTeX, below their headings; ``tables`` are pairs of a heading and its tables.

    A heading may be empty. LaTeX has only the first table of each heading, without the counts that follow.
    """
    write, heading, escape = PAPER[form]
    return "\n".join(
        (heading.format(escape(name)) if name else "")
        + "\n".join(map(write, several if form == "markdown" else several[:1]))
        for name, several in tables
    )
