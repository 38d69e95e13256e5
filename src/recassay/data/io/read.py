"""Any source becomes a Polars frame with canonical column names, or an error that says what to do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import polars as pl

from recassay.data.io.clean import as_ids, clean
from recassay.data.io.columns import parse_columns, resolve
from recassay.data.io.formats import open_path
from recassay.data.io.head import read_head
from recassay.data.io.objects import object_table
from recassay.data.io.roles import Role, role_named
from recassay.data.io.sources import PARQUET_SUFFIXES, parts_of
from recassay.data.io.table import Columns, Table
from recassay.errors import InputError

SMALL = 1_000_000  # rows up to which all columns are read at once: quicker, and memory does not matter yet


def read_table(
    source: object, role: str, *, columns: str | Mapping[str, str] | None = None, format: str | None = None
) -> pl.DataFrame:
    """The table of a role (``run``, ``truth``, ``log``, ...) in a file, a folder of parts or an object.

    ========  ===================  ==========================================
    role      columns              columns where the source has them
    ========  ===================  ==========================================
    run       user_id, item_id     rank, score
    truth     user_id, item_id     gain
    log       user_id, item_id     timestamp, rating
    items     item_id              every other column, untouched
    ranks     user_id, rank        pool
    scores    user_id              system, and every other column, untouched
    ========  ===================  ==========================================

    The names of common libraries are known; ``columns="user=uid,item=iid"`` overrides. Without a header the columns go
    by position: user, item, then score, gain, or rating and timestamp. The format is recognised, or one of
    ``FORMATS``. Rows keep their order. Ids are integers or strings and never missing (I304); values may be null.

    >>> read_table({"ann": {"x": 0.9, "y": 0.4}}, "run").rows()
    [('ann', 'x', 0.9), ('ann', 'y', 0.4)]
    """
    return open_table(source, role, columns=columns, format=format).frame()


def open_table(
    source: object, role: str, *, columns: str | Mapping[str, str] | None = None, format: str | None = None
) -> Columns:
    """As :func:`read_table`, with each column read when it is asked for where the format allows."""
    wanted = role_named(role)
    chosen = parse_columns(columns)
    if not isinstance(source, str | Path):
        found = _read(object_table(source, wanted, columns=columns), wanted, chosen)
        where = f"the {role} ({type(source).__name__})"
    else:
        found = _read_parts(parts_of(source), wanted, chosen, format)
        where = str(source)
    if not found.rows:
        raise InputError("I103", f"the {role} has no rows", where=where, hint="check what wrote it")
    return found


def _read_parts(paths: list[Path], role: Role, chosen: Mapping[str, str], format: str | None) -> Columns:
    if len(paths) == 1:
        return _read(open_path(read_head(paths[0]), role, format), role, chosen)
    # Spark writes a part without rows, or without bytes, for every empty partition.
    full = [path for path in paths if path.stat().st_size]
    parts = [(path, _read(open_path(read_head(path), role, format), role, chosen).frame()) for path in full]
    parts = [(path, frame) for path, frame in parts if frame.height]
    if not parts:
        return Columns.of(pl.DataFrame(schema=[role.required[0]]))
    kinds = {_kinds(frame, stated=path.suffix in PARQUET_SUFFIXES): path for path, frame in parts}
    if len(kinds) > 1:
        (first, one), (second, other), *_ = kinds.items()
        raise InputError(
            "I202",
            f"the parts of the table differ: {first} and {second}",
            where=f"{one} and {other}",
            hint="write all parts with the same columns and types",
        )
    return Columns.of(pl.concat((frame for _, frame in parts), how="vertical_relaxed"))


def _kinds(frame: pl.DataFrame, *, stated: bool) -> str:
    """The columns and what they hold, whatever the width of the numbers.

    Where a file states its types they must agree. In text they are guessed, and ids that are all digits in one part
    and have letters in another are text in both.
    """

    def kind(dtype: pl.DataType) -> str:
        if not stated:
            return "times" if dtype.is_temporal() else "text or numbers"
        return "integers" if dtype.is_integer() else str(dtype)

    return ", ".join(f"{name} ({kind(dtype)})" for name, dtype in frame.schema.items())


def _read(table: Table, role: Role, chosen: Mapping[str, str]) -> Columns:
    found = resolve(table.names, role, chosen, where=table.where, by_position=table.by_position)
    wanted = dict(found)
    if role.others:
        wanted |= {name: name for name in table.names if name not in found.values() and name not in found}

    def read(wanted: Mapping[str, str]) -> pl.DataFrame:
        frame = table.read(wanted).select(pl.col(name).alias(meaning) for meaning, name in wanted.items())
        return clean(frame, columns=tuple(found), where=table.where, whole_ranks=role.whole_ranks)

    rows = table.rows() if table.rows else 0
    if rows <= SMALL:
        return Columns.of(read(wanted))

    def narrow(meaning: str) -> pl.Series | None:
        column = table.narrow(wanted[meaning]) if table.narrow else None
        return None if column is None else as_ids(column, table.where)

    fetch = {meaning: partial(_only, read, meaning, name) for meaning, name in wanted.items()}
    return Columns(fetch, rows, narrow)


def _only(read: Callable[[Mapping[str, str]], pl.DataFrame], meaning: str, name: str) -> pl.Series:
    return read({meaning: name}).to_series()
