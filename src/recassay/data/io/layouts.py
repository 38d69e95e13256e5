"""The layout of text: its separator and header line; and logs with one row, or one line, per list."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import polars as pl

from recassay.data.io.clean import infer_type
from recassay.data.io.columns import ITEM, TIMESTAMP, USER, Role, is_column_name
from recassay.data.io.lines import BLANKS, Head, Layout, check_encoding, check_lines, walk
from recassay.data.io.table import Table, column_names, table_of_frame
from recassay.data.io.text import is_number, sample_rows
from recassay.errors import InputError

# Earlier separators win a draw: a time of day contains colons, a title contains blanks.
SEPARATORS = (",", "\t", ";", "|", "::", "\x01", "^", "~", ":", " ")
SAMPLE_LINES = 200


def sniff(head: Head, *, separator: str | None = None, header: bool | None = None) -> Layout:
    r"""Return the layout of delimited text; ``separator`` and ``header`` are detected unless they are given.

    The separator is the one that splits most of the first lines into the same number (two or more) of fields. The first
    line is a header if it names a known column, or if none of its fields is a number. Raise I102 if all lines are
    blank.

    >>> from pathlib import Path
    >>> sniff(Head(Path("x.txt"), b"u1;i1;0.5\nu1;i2;0.4\n", True))
    Layout(names=['column_1', 'column_2', 'column_3'], separator=';', header_lines=0, quotes=True, by_position=True)
    """
    check_lines(head)
    lines = head.lines(SAMPLE_LINES)
    if not lines:
        raise InputError("I102", f"{head.path.name} has only blank lines", where=str(head.path))
    cut = _cut(lines, separator) if separator else _best_cut(lines, tabs_first=".tsv" in head.suffixes)
    rows = sample_rows(lines, cut)
    if header is None:
        header = _is_header(rows[0])
    width = Counter(map(len, rows)).most_common(1)[0][0]
    names = _distinct([name.strip() for name in rows[0]]) if header else column_names(width)
    return Layout(names, cut.separator, int(header), cut.quotes, by_position=not header)


def _best_cut(lines: list[str], *, tabs_first: bool) -> Layout:
    candidates = [_cut(lines, separator) for separator in (("\t", *SEPARATORS) if tabs_first else SEPARATORS)]

    def agreement(cut: Layout) -> int:
        width, count = Counter(map(len, sample_rows(lines, cut))).most_common(1)[0]
        return count if width > 1 else 0

    return max(candidates, key=agreement)


def _cut(lines: list[str], separator: str) -> Layout:
    """Return the layout of ``lines`` whose fields are separated by ``separator``, without the names of columns.

    Quotation marks enclose fields if a field begins with one, or if the separator is a comma or a semicolon.
    """
    if separator in (" ", "::"):
        return Layout([], separator)
    begins = any(line.startswith('"') or f'{separator}"' in line for line in lines)
    return Layout([], separator, quotes=begins or separator in ",;")


def _is_header(row: list[str]) -> bool:
    if any(is_column_name(field) for field in row):
        return True
    return not any(is_number(field) for field in row)


def _distinct(names: list[str]) -> list[str]:
    """Return the column names, with the position appended to each that is empty or repeated."""
    seen = Counter(names)
    return [
        name if name and seen[name] == 1 else f"{name or 'column'}_{position}"
        for position, name in enumerate(names, start=1)
    ]


LIST_SEPARATORS = ("\t", ",", ";")  # the first one that most lines contain; blanks if none does
SAMPLE = 100  # lines


def lines(head: Head, _role: Role) -> Table:
    """Return the table in a text file whose lines each hold the items of one sequence; the user is the line number."""
    found = [(line.number, line.fields) for line in walk(head, _layout(head)) if line.fields]
    frame = _exploded([number for number, _ in found], [fields for _, fields in found])
    return table_of_frame(frame, str(head.path), ordered=True)


def user_lines(head: Head, role: Role) -> Table:
    """Return a table from lines that each hold a user, then the user's items in order.

    The position in a user's history becomes the timestamp of a log.
    """
    found = [line.fields for line in walk(head, _layout(head)) if line.fields]
    frame = _exploded([fields[0] for fields in found], [fields[1:] for fields in found])
    if role.name == "log":
        frame = frame.with_columns(pl.int_range(pl.len(), dtype=pl.Int64).over(USER).alias(TIMESTAMP))
    return replace(table_of_frame(frame, str(head.path), ordered=True), positions=role.name == "log")


def _layout(head: Head) -> Layout:
    """Return the layout of the file: no header, and the separator that most lines contain."""
    check_encoding(head)
    sample = head.lines(SAMPLE)
    counts = Counter(separator for line in sample for separator in LIST_SEPARATORS if separator in line)
    return Layout([], next((separator for separator in LIST_SEPARATORS if 2 * counts[separator] > len(sample)), BLANKS))


def _exploded(users: list[int] | list[str], items: list[list[str]]) -> pl.DataFrame:
    """Return a table with a row per item of a list; ids that are whole numbers are integers."""
    lists = pl.Series(ITEM, items, dtype=pl.List(pl.String))
    frame = pl.DataFrame({USER: users, ITEM: lists}).filter(pl.col(ITEM).list.len() > 0).explode(ITEM)
    frame = frame.with_columns(pl.col(ITEM).str.strip_chars())
    return frame.with_columns([infer_type(column) for column in frame if column.dtype == pl.String])
