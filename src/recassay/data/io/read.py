"""Any source becomes a Polars frame with canonical column names, or an error that says what to do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import polars as pl

from recassay.data.io.clean import as_ids, clean
from recassay.data.io.columns import parse_columns, resolve
from recassay.data.io.formats import FORMATS, open_path
from recassay.data.io.head import read_head
from recassay.data.io.objects import object_table
from recassay.data.io.roles import TIMESTAMP, USER, Role, role_named
from recassay.data.io.sources import PARQUET_SUFFIXES, parts_of
from recassay.data.io.table import Columns, Table
from recassay.data.io.unread import GROUP, Remarks, groups_in, numbers, remarks_on, several_tables
from recassay.data.time_kind import holds_positions
from recassay.errors import InputError, UsageError

PIECE = 1_000_000  # rows read at a time where a table is not read whole
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
    source: object,
    role: str,
    *,
    columns: str | Mapping[str, str] | None = None,
    format: str | None = None,
    ordered: bool = False,
) -> Columns:
    """As :func:`read_table`, with each column read when it is asked for where the format allows.

    ``ordered`` says that a run without ranks and scores has its rows best first.
    """
    wanted = role_named(role)
    chosen = parse_columns(columns)
    if not isinstance(source, str | Path):
        found = _read(object_table(source, wanted, columns=columns), wanted, chosen, ordered)
        where = f"the {role} ({type(source).__name__})"
    else:
        found = _read_parts(parts_of(source), wanted, chosen, format, ordered)
        where = str(source)
    if not found.rows:
        raise InputError("I103", f"the {role} has no rows", where=where, hint="check what wrote it")
    return found


@dataclass(frozen=True)
class Stretch:
    """A file of rows that can be read from any row on: ``read(columns, begin, rows)`` under their canonical names."""

    where: str
    rows: int
    columns: tuple[str, ...]
    read: Callable[[Sequence[str], int, int], pl.DataFrame]
    remarks: Remarks = field(default_factory=dict)


def open_stretches(
    source: str | Path,
    role: str,
    folder: Path,
    *,
    columns: str | Mapping[str, str] | None = None,
    format: str | None = None,
    ordered: bool = False,
) -> list[Stretch]:
    """The files of a table, none of it in memory; text is written to ``folder`` as Parquet first.

    What is neither Parquet nor text cannot be had like this: U223.
    """
    wanted, chosen = role_named(role), parse_columns(columns)
    full = [path for path in parts_of(source) if path.stat().st_size]
    how = _How(wanted, chosen, format, ordered)
    found = [_stretch(path, how, folder / f"{number}.parquet") for number, path in enumerate(full)]
    stretches = [one for one in found if one.rows]
    if not stretches:
        raise InputError("I103", f"the {role} has no rows", where=str(source), hint="check what wrote it")
    kinds = {
        _kinds(one.read(one.columns, 0, 1), stated=Path(one.where).suffix in PARQUET_SUFFIXES): one.where
        for one in stretches
    }
    if len(kinds) > 1:
        raise _parts_differ(kinds)
    return stretches


@dataclass(frozen=True)
class _How:
    """How files of one table are read."""

    role: Role
    chosen: Mapping[str, str]
    format: str | None
    ordered: bool


def _stretch(path: Path, how: _How, packed: Path) -> Stretch:
    head, role = read_head(path), how.role
    table = open_path(head, role, how.format)
    found, remarks = _resolved(table, role, how.chosen, how.ordered)
    if table.pack is not None:
        table.pack(found, packed)
        table = replace(FORMATS["parquet"].table(read_head(packed), role), where=table.where)
    if table.rows is None or table.rows_from is None:
        raise UsageError(
            "U223",
            f"{path.name} cannot be read piece by piece: it is neither Parquet nor text in columns",
            where=str(path),
            hint="write it as Parquet",
        )
    rows_from = table.rows_from

    def read(columns: Sequence[str], begin: int, rows: int) -> pl.DataFrame:
        frame = rows_from({meaning: found[meaning] for meaning in columns}, begin, rows)
        frame = frame.select(pl.col(found[meaning]).alias(meaning) for meaning in columns)
        return clean(frame, columns=tuple(columns), where=table.where, whole_ranks=role.whole_ranks)

    rows = table.rows()
    return Stretch(table.where, rows, tuple(found), read, remarks | _groups(table, found, role, rows))


def _read_parts(paths: list[Path], role: Role, chosen: Mapping[str, str], format: str | None, ordered: bool) -> Columns:
    if len(paths) == 1:
        return _read(open_path(read_head(paths[0]), role, format), role, chosen, ordered)
    # Spark writes a part without rows, or without bytes, for every empty partition.
    full = [path for path in paths if path.stat().st_size]
    tables = [(path, _read(open_path(read_head(path), role, format), role, chosen, ordered)) for path in full]
    remarks = {code: text for _, table in reversed(tables) for code, text in table.remarks.items()}
    positions = any(table.positions for _, table in tables)
    parts = [(path, table.frame()) for path, table in tables if table.rows]
    if not parts:
        return Columns.of(pl.DataFrame(schema=[role.required[0]]))
    kinds = {_kinds(frame, stated=path.suffix in PARQUET_SUFFIXES): path for path, frame in parts}
    if len(kinds) > 1:
        raise _parts_differ(kinds)
    return Columns.of(pl.concat((frame for _, frame in parts), how="vertical_relaxed"), remarks, positions=positions)


def _parts_differ(kinds: Mapping[str, str | Path]) -> InputError:
    (first, one), (second, other), *_ = kinds.items()
    return InputError(
        "I202",
        f"the parts of the table differ: {first} and {second}",
        where=f"{one} and {other}",
        hint="write all parts with the same columns and types",
    )


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


def _resolved(table: Table, role: Role, chosen: Mapping[str, str], ordered: bool) -> tuple[dict[str, str], Remarks]:
    """The columns that are read, and what is to be said of those that are not; I201 or I204 if none will do."""

    def sample(names: Sequence[str]) -> pl.DataFrame:
        return table.sample(names) if table.sample and names else pl.DataFrame()

    found = resolve(
        table.names,
        role,
        chosen,
        where=table.where,
        by_position=table.by_position,
        numbers=lambda names: numbers(sample(names)),
    )
    return found, remarks_on(table, sample, found, role, ordered=ordered)


def _groups(table: Table, found: Mapping[str, str], role: Role, rows: int) -> Remarks:
    """R003 of a table that is read piece by piece."""
    remarks: Remarks = {}
    for name in groups_in(table.names, found, role):
        pieces = [
            table.rows_from({USER: found[USER], GROUP: name}, begin, PIECE).select(found[USER], name).unique()
            for begin in range(0, rows, PIECE)
            if table.rows_from is not None
        ]
        remarks |= several_tables(pl.concat(pieces, how="vertical_relaxed"), found[USER], name, role)
    return remarks


def _read(table: Table, role: Role, chosen: Mapping[str, str], ordered: bool = False) -> Columns:
    found, remarks = _resolved(table, role, chosen, ordered)
    wanted = dict(found)
    groups = groups_in(table.names, found, role)
    if role.others:
        wanted |= {name: name for name in table.names if name not in found.values() and name not in found}

    def read(wanted: Mapping[str, str]) -> pl.DataFrame:
        frame = table.read(wanted).select(pl.col(name).alias(meaning) for meaning, name in wanted.items())
        return clean(frame, columns=tuple(found), where=table.where, whole_ranks=role.whole_ranks)

    positions = table.positions or (TIMESTAMP in found and holds_positions(found[TIMESTAMP]))
    rows = table.rows() if table.rows else 0
    if rows <= SMALL:
        frame = read(wanted | {GROUP + name: name for name in groups})
        for name in groups:
            remarks |= several_tables(frame, USER, GROUP + name, role)
        return Columns.of(frame.select(list(wanted)), remarks, positions=positions)
    for name in groups:
        remarks |= several_tables(read({USER: found[USER], GROUP + name: name}), USER, GROUP + name, role)

    def narrow(meaning: str) -> pl.Series | None:
        column = table.narrow(wanted[meaning]) if table.narrow else None
        return None if column is None else as_ids(column, table.where)

    fetch = {meaning: partial(_only, read, meaning, name) for meaning, name in wanted.items()}
    return Columns(fetch, rows, narrow, remarks, positions=positions)


def _only(read: Callable[[Mapping[str, str]], pl.DataFrame], meaning: str, name: str) -> pl.Series:
    return read({meaning: name}).to_series()
