"""Logs with one row per list: a list column in a table, or one line of text per user or sequence."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import polars as pl

from recassay.data.io.clean import infer_type
from recassay.data.io.head import Head
from recassay.data.io.lines import BLANKS, Layout, check_encoding, walk
from recassay.data.io.roles import ITEM, TIMESTAMP, USER, Role
from recassay.data.io.table import Table, Wanted, table_of_frame
from recassay.errors import InputError

SEPARATORS = ("\t", ",", ";")  # the first one that most lines contain; blanks if none does
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


def table_of_lists(frame: pl.DataFrame, where: str, role: Role) -> Table:
    """Return a table for a frame; if a log has list columns, each entry becomes a row.

    Lists in the same row are taken apart together: their first entries make one row, and so on.
    """
    if role.name != "log" or not any(_is_list(dtype) for dtype in frame.dtypes):
        return table_of_frame(frame, where)

    def read(wanted: Wanted) -> pl.DataFrame:
        return explode_lists(frame.select(wanted.values()), wanted, where)

    return Table(frame.columns, read, where)


def explode_lists(frame: pl.DataFrame, wanted: Wanted, where: str) -> pl.DataFrame:
    """Return the wanted columns with one row per list entry; raise I108 if lists of one row differ in length.

    >>> frame = pl.DataFrame({"u": [1, 2], "i": [["a", "b"], []], "t": [[5, 6], []]})
    >>> explode_lists(frame, {"user_id": "u", "item_id": "i", "timestamp": "t"}, "").rows()
    [(1, 'a', 5), (1, 'b', 6)]
    """
    item = wanted.get(ITEM)
    if item is None or not _is_list(frame.schema[item]):
        return frame
    others = [name for name, dtype in frame.schema.items() if _is_list(dtype) and name not in (item, wanted.get(USER))]
    lengths = frame.select(pl.col(item, *others).list.len())
    for name in others:
        wrong = (lengths[name] != lengths[item]).fill_null(True)
        if wrong.any():
            row = int(wrong.arg_true()[0])
            raise InputError(
                "I108",
                f"{int(wrong.sum()):,} of {frame.height:,} rows have lists of different lengths, the first is row "
                f"{row + 1:,}: {lengths[item][row]} in '{item}' and {lengths[name][row]} in '{name}'",
                where=where,
                hint="give each item its own value, or leave that column out",
            )
    return frame.filter(pl.col(item).list.len() > 0).explode(item, *others)


def _is_list(dtype: pl.DataType) -> bool:
    return isinstance(dtype, pl.List)


def _layout(head: Head) -> Layout:
    """Return the layout of the file: no header, and the separator that most lines contain."""
    check_encoding(head)
    sample = head.lines(SAMPLE)
    counts = Counter(separator for line in sample for separator in SEPARATORS if separator in line)
    return Layout([], next((separator for separator in SEPARATORS if 2 * counts[separator] > len(sample)), BLANKS))


def _exploded(users: list[int] | list[str], items: list[list[str]]) -> pl.DataFrame:
    """Return a table with a row per item of a list; ids that are whole numbers are integers."""
    lists = pl.Series(ITEM, items, dtype=pl.List(pl.String))
    frame = pl.DataFrame({USER: users, ITEM: lists}).filter(pl.col(ITEM).list.len() > 0).explode(ITEM)
    frame = frame.with_columns(pl.col(ITEM).str.strip_chars())
    return frame.with_columns([infer_type(column) for column in frame if column.dtype == pl.String])
