"""A file format: two columns, "item <- user", a line each."""

from __future__ import annotations

import polars as pl

from recassay.data.io.columns import Role
from recassay.data.io.formats import Format
from recassay.data.io.head import Head
from recassay.data.io.table import Table, table_of_frame

ARROW = " <- "


def _is_arrows(head: Head) -> bool:
    return ".arrows" in head.suffixes and all(ARROW in line for line in head.lines(20))


def _open(head: Head, role: Role) -> Table:  # noqa: ARG001 - every format is told what the table is for
    """Return the table of a file; the columns have the names that recassay knows."""
    lines = head.path.read_text(encoding="utf-8").splitlines()
    rows = [line.split(ARROW) for line in lines if line.strip()]
    frame = pl.DataFrame({"user_id": [row[1] for row in rows], "item_id": [row[0] for row in rows]})
    return table_of_frame(frame, str(head.path), ordered=True)


ARROWS = Format("arrows", "item <- user, a line each", _is_arrows, _open, suffixes=(".arrows",))
