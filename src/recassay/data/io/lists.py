"""Logs with a row per list: a column of lists in a table, or a line of text per user or sequence."""

from __future__ import annotations

from collections import Counter

import polars as pl

from recassay.data.io.clean import typed
from recassay.data.io.head import Head
from recassay.data.io.lines import BLANKS, Layout, check_encoding, walk
from recassay.data.io.roles import ITEM, USER, Role
from recassay.data.io.table import Table, Wanted, of_frame
from recassay.errors import InputError

SEPARATORS = ("\t", ",", ";")  # the first of them that the lines have; blanks if they have none
SAMPLE = 100  # lines


def lines(head: Head, _role: Role) -> Table:
    """The items of one sequence per line, in order; its user is the number of the line."""
    found = [(line.number, line.fields) for line in walk(head, _layout(head)) if line.fields]
    return _table(head, [number for number, _ in found], [fields for _, fields in found])


def user_lines(head: Head, _role: Role) -> Table:
    """A user and then the items, in order, per line."""
    found = [line.fields for line in walk(head, _layout(head)) if line.fields]
    return _table(head, [fields[0] for fields in found], [fields[1:] for fields in found])


def of_lists(frame: pl.DataFrame, where: str, role: Role) -> Table:
    """A table whose items may be lists: then, in a log, a row for each of them; other lists beside them go along."""
    if role.name != "log" or not any(_is_list(dtype) for dtype in frame.dtypes):
        return of_frame(frame, where)

    def read(wanted: Wanted) -> pl.DataFrame:
        return one_row_each(frame.select(wanted.values()), wanted, where)

    return Table(frame.columns, read, where)


def one_row_each(frame: pl.DataFrame, wanted: Wanted, where: str) -> pl.DataFrame:
    """A row for each item of a list; lists of other lengths beside it are I356.

    >>> frame = pl.DataFrame({"u": [1, 2], "i": [["a", "b"], []], "t": [[5, 6], []]})
    >>> one_row_each(frame, {"user_id": "u", "item_id": "i", "timestamp": "t"}, "").rows()
    [(1, 'a', 5), (1, 'b', 6)]
    """
    item = wanted.get(ITEM)
    if item is None or not _is_list(frame.schema[item]):
        return frame
    beside = [name for name, dtype in frame.schema.items() if _is_list(dtype) and name not in (item, wanted.get(USER))]
    lengths = frame.select(pl.col(item, *beside).list.len())
    for name in beside:
        wrong = (lengths[name] != lengths[item]).fill_null(True)
        if wrong.any():
            row = int(wrong.arg_true()[0])
            raise InputError(
                "I356",
                f"{int(wrong.sum()):,} of {frame.height:,} rows have lists of different lengths, the first is row "
                f"{row + 1:,}: {lengths[item][row]} in '{item}' and {lengths[name][row]} in '{name}'",
                where=where,
                hint="give each item its own, or leave that column out",
            )
    return frame.filter(pl.col(item).list.len() > 0).explode(item, *beside)


def _is_list(dtype: pl.DataType) -> bool:
    return isinstance(dtype, pl.List)


def _layout(head: Head) -> Layout:
    """What separates the items: what most lines have."""
    check_encoding(head)
    sample = head.lines(SAMPLE)
    counts = Counter(separator for line in sample for separator in SEPARATORS if separator in line)
    return Layout([], next((one for one in SEPARATORS if 2 * counts[one] > len(sample)), BLANKS))


def _table(head: Head, users: list[int] | list[str], items: list[list[str]]) -> Table:
    lists = pl.Series(ITEM, items, dtype=pl.List(pl.String))
    frame = pl.DataFrame({USER: users, ITEM: lists}).filter(pl.col(ITEM).list.len() > 0).explode(ITEM)
    frame = frame.with_columns(pl.col(ITEM).str.strip_chars())
    frame = frame.with_columns([typed(one) for one in frame if one.dtype == pl.String])
    return of_frame(frame, str(head.path), ordered=True)
