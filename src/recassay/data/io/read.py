"""Reading of any source as a Polars frame with canonical column names; errors say what to do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import polars as pl

from recassay.columnar.columns import HashedTexts, LazyColumns
from recassay.columnar.times import is_position_column
from recassay.columnar.vocabulary import as_unsigned
from recassay.data.io.clean import WIDE, are_complete_categories, as_ids, clean, require_rows
from recassay.data.io.columns import ITEM, TIMESTAMP, USER, Role, parse_columns, resolve, role_named, unit_of
from recassay.data.io.edge import check_file, reading, refuse_too_many_values
from recassay.data.io.formats import open_path, parquet_parts
from recassay.data.io.head import read_head
from recassay.data.io.lake import address_table, is_address
from recassay.data.io.objects import object_table
from recassay.data.io.parquet import DAMAGE, PARQUET_SUFFIXES, scan_parquet
from recassay.data.io.sources import table_files
from recassay.data.io.table import Table, unnested
from recassay.data.io.unread import (
    Remarks,
    check_default_value,
    grouping_columns,
    numeric_columns,
    remark_on_mixed_tables,
    remarks_on_unread,
    time_columns,
)
from recassay.errors import InputError, UsageError

SMALL = 1_000_000  # up to this many rows all columns are read together, which is faster


def read_table(
    source: object, role: str, *, columns: str | Mapping[str, str] | None = None, format: str | None = None
) -> pl.DataFrame:
    """Return the table of a role (``run``, ``truth``, ``log``, ...) from a file, a folder of part files or an object.

    ========  ===================  ==========================================
    role      columns              columns where the source has them
    ========  ===================  ==========================================
    run       user_id, item_id     rank, score
    truth     user_id, item_id     gain
    log       user_id, item_id     timestamp, rating
    items     item_id              every other column, unchanged
    users     user_id              every other column, unchanged
    ranks     user_id, rank        pool
    scores    user_id              system, and every other column, unchanged
    ========  ===================  ==========================================

    The column names of common libraries are known; ``columns="user=uid,item=iid"`` overrides them. Without a header
    columns are taken by position: user, item, then score, gain, or rating and timestamp. ``format`` is one of
    ``FORMATS``; by default it is recognised. Rows keep their order. Ids are integers or strings and never missing
    (I304); values may be null.

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
) -> LazyColumns:
    """Return what :func:`read_table` reads, with each column loaded on access if the format allows.

    ``ordered`` states that the rows of a run without ranks and scores are in best-first order.
    """
    options, about = _ReadOptions(role_named(role), parse_columns(columns), format, ordered), type(source).__name__
    where = str(source) if isinstance(source, str | Path) else f"the {role} ({about})"
    with reading(where):
        if is_address(source):
            found = _read(address_table(str(source)), options)
        elif isinstance(source, str | Path):
            found = _read_files(table_files(source), options)
        else:
            found = _read(object_table(source, options.role, columns=columns), options)
        if not found.rows:
            raise InputError("I102", f"the {role} has no rows", where=where, hint="check the program that wrote it")
    return found


@dataclass(frozen=True)
class RowRange:
    """A file with ``rows`` rows that can be read from any row on.

    ``read(names, begin, count)`` returns ``count`` rows from row ``begin`` on, with the columns of these canonical
    names. ``remarks`` maps the code of a finding (a problem that results report) to a text about the file. ``unit`` is
    the word for what the ids of users stand for: user, query or session.
    """

    where: str
    rows: int
    columns: tuple[str, ...]
    read: Callable[[Sequence[str], int, int], pl.DataFrame]
    remarks: Remarks = field(default_factory=dict)
    unit: str = "user"


def open_row_ranges(
    source: str | Path,
    role: str,
    folder: Path,
    *,
    columns: str | Mapping[str, str] | None = None,
    format: str | None = None,
    ordered: bool = False,
) -> list[RowRange]:
    """Return the files of a table without loading them; text is first converted to Parquet in ``folder``.

    Raise U223 for a file that is neither Parquet nor text.
    """
    if is_address(source):
        raise UsageError("U223", "a table at an address cannot be read in chunks", hint="copy it to a Parquet file")
    options = _ReadOptions(role_named(role), parse_columns(columns), format, ordered)
    full = [path for path in table_files(source) if path.stat().st_size]
    found = [_row_range(path, options, folder / f"{number}.parquet") for number, path in enumerate(full)]
    ranges = [part for part in found if part.rows]
    if not ranges:
        raise InputError("I102", f"the {role} has no rows", where=str(source), hint="check the program that wrote it")
    first = [part.read(part.columns, 0, 1) for part in ranges]
    _require_equal_columns([(Path(part.where), frame) for part, frame in zip(ranges, first, strict=True)])
    unsigned = _ids_without_sign(first)
    return [replace(part, read=partial(_read_unsigned, part.read, unsigned)) for part in ranges] if unsigned else ranges


@dataclass(frozen=True)
class _ReadOptions:
    """Options for reading the files of one table.

    ``chosen`` are the user's names of columns by canonical name, ``format`` is the file format (None: recognise it),
    and ``ordered`` says that the rows of a run are best first.
    """

    role: Role
    chosen: Mapping[str, str]
    format: str | None
    ordered: bool


def _row_range(path: Path, options: _ReadOptions, packed: Path) -> RowRange:
    role = options.role
    with reading(str(path)):
        table = unnested(open_path(read_head(path), role, options.format), role, options.chosen, in_parts=True)
        found, remarks = _columns_and_remarks(table, options)
        scan = table.scan
        if table.pack is not None:
            table.pack(found, packed)
            scan = scan_parquet(packed)
        if scan is None:
            raise UsageError(
                "U223",
                f"{path.name} cannot be read in chunks: it is neither Parquet nor text in columns",
                where=str(path),
                hint="write it as Parquet",
            )
        rows = int(scan.select(pl.len()).collect().item())
        types = {meaning: _id_type(scan.select(found[meaning])) for meaning in (USER, ITEM) if meaning in found}
        for name in grouping_columns(table.names, found, role):
            remarks |= remark_on_mixed_tables(scan, found[USER], name, role)

    @reading(table.where)
    def read(columns: Sequence[str], begin: int, rows: int) -> pl.DataFrame:
        frame = scan.slice(begin, rows).select(pl.col(found[meaning]).alias(meaning) for meaning in columns).collect()
        frame = clean(frame, columns=tuple(columns), where=table.where, whole_ranks=role.whole_ranks)
        return frame.cast({meaning: dtype for meaning, dtype in types.items() if dtype and meaning in columns})

    return RowRange(table.where, rows, tuple(found), read, remarks, unit_of(found.get(USER, "")))


def _id_type(column: pl.LazyFrame) -> type[pl.DataType] | None:
    """Return the type that ids stored in more than 64 bits get in all chunks; None for a column of other ids."""
    dtype = column.collect_schema().dtypes()[0]
    if not (dtype.is_decimal() or str(dtype) in WIDE):
        return None
    low, high = column.select(pl.all().min().alias("low"), pl.all().max().alias("high")).collect().row(0)
    if low is None or (low >= -(2**63) and high < 2**63):
        return pl.Int64
    return pl.UInt64 if low >= 0 and high < 2**64 else pl.String


def _read_files(paths: list[Path], options: _ReadOptions) -> LazyColumns:
    if len(paths) > 1:  # Spark writes a part file without rows, or without bytes, for every empty partition
        paths = [path for path in paths if path.stat().st_size]
        if (alike := _read_alike(paths, options)) is not None:
            return alike
    tables = []
    for path in paths:
        with reading(str(path)):
            check_file(path)
            tables.append((path, _read(open_path(read_head(path), options.role, options.format), options)))
    if len(tables) == 1:
        return tables[0][1]
    remarks = {code: text for _, table in reversed(tables) for code, text in table.remarks.items()}
    parts = [(path, table.frame()) for path, table in tables if table.rows]
    if not parts:
        return LazyColumns.of(pl.DataFrame(schema=[options.role.required[0]]))
    _require_equal_columns(parts)
    frames = [frame for _, frame in parts]
    unsigned = _ids_without_sign(frames)
    frames = [frame.with_columns(as_unsigned(frame[name]) for name in unsigned) for frame in frames]
    positions = any(table.positions for _, table in tables)
    whole, unit = pl.concat(frames, how="vertical_relaxed"), tables[0][1].unit
    return LazyColumns.of(whole, remarks, positions=positions, unit=unit)


def _read_unsigned(
    read: Callable[[Sequence[str], int, int], pl.DataFrame],
    unsigned: Sequence[str],
    columns: Sequence[str],
    begin: int,
    rows: int,
) -> pl.DataFrame:
    """Return what ``read`` reads, with the ids in the columns ``unsigned`` as 64-bit integers without a sign."""
    frame = read(columns, begin, rows)
    return frame.with_columns(as_unsigned(frame[name]) for name in unsigned if name in columns)


def _read_alike(paths: list[Path], options: _ReadOptions) -> LazyColumns | None:
    """Return Parquet files as one table; None if their columns differ, or if a file causes an error or a remark.

    Scanning a thousand files at once takes a fraction of the time of a thousand scans. An error or a remark must name
    its file, so the files are then read one by one.
    """
    table = parquet_parts(paths) if options.format in (None, "parquet") else None
    if table is None or options.role.others:
        return None
    with suppress(InputError, *DAMAGE):
        if set(_columns_and_remarks(table, options)[0].values()) == set(table.names):
            found = _read(replace(table, stored=False), options)
            return None if found.remarks else LazyColumns.of(found.frame(), positions=found.positions, unit=found.unit)
    return None


def _require_equal_columns(parts: Sequence[tuple[Path, pl.DataFrame]]) -> None:
    """Raise I202 if the part files of a table differ in the names or types of their columns.

    The width of numbers does not count. Types count only if the file states them. In text they are guesses: ids that
    are all digits in one part and have letters in another are text in both.
    """
    kinds: dict[str, Path] = {}
    for path, frame in parts:
        stated = path.suffix in PARQUET_SUFFIXES
        names = {
            name: ("integers" if dtype.is_integer() else dtype)
            if stated
            else ("times" if dtype.is_temporal() else "text or numbers")
            for name, dtype in frame.schema.items()
        }
        kinds[", ".join(f"{name} ({kind})" for name, kind in names.items())] = path
    if len(kinds) > 1:
        (first, first_file), (second, second_file), *_ = kinds.items()
        raise InputError(
            "I202",
            f"the parts of the table differ: {first} and {second}",
            where=f"{first_file} and {second_file}",
            hint="write all parts with the same columns and types",
        )


def _ids_without_sign(frames: list[pl.DataFrame]) -> list[str]:
    """Return the id columns that hold unsigned 64-bit integers in some tables and other integers in others."""
    dtypes = {name: {frame.schema[name] for frame in frames} for name in (USER, ITEM) if name in frames[0].columns}
    return [
        name
        for name, found in dtypes.items()
        if pl.UInt64 in found and len(found) > 1 and all(dtype.is_integer() for dtype in found)
    ]


def _columns_and_remarks(table: Table, options: _ReadOptions) -> tuple[dict[str, str], Remarks]:
    """Return ({canonical name: column to read}, {finding code: remark on columns that are not read}).

    Raise I201 or I204 if the columns do not suffice.
    """
    sample, role = table.sample, options.role
    found = resolve(
        table.names,
        role,
        options.chosen,
        where=table.where,
        by_position=table.by_position,
        numeric_columns=lambda names: numeric_columns(sample(names)),
        time_columns=lambda names: time_columns(sample(names)),
    )
    if table.by_position and role.value not in options.chosen:
        check_default_value(table, found, role)
    unread = remarks_on_unread(table, found, role, ordered=options.ordered)
    return found, {**table.remarks, **unread}


def _read(table: Table, options: _ReadOptions) -> LazyColumns:
    role = options.role
    table = unnested(table, role, options.chosen)
    found, remarks = _columns_and_remarks(table, options)
    others = [name for name in table.names if name not in found.values() and name not in found] if role.others else []
    wanted, where, frame, scan = found | {name: name for name in others}, table.where, None, table.scan
    rows = 0 if scan is None else int(scan.select(pl.len()).collect().item())  # before they are read
    groups = grouping_columns(table.names, found, role)
    refuse_too_many_values(rows, len(wanted), where)
    if scan is None or rows <= SMALL:
        frame = table.read(wanted | {name: name for name in groups})
        if scan is not None:
            require_rows(frame.to_series(), rows, next(iter(wanted.values())), where)
        rows, scan = frame.height, frame.lazy()
    for name in groups:
        remarks |= remark_on_mixed_tables(scan, found[USER], name, role)

    @reading(where)
    def narrow(meaning: str) -> pl.Series | HashedTexts | None:
        if frame is not None:
            return frame[wanted[meaning]] if are_complete_categories(frame[wanted[meaning]]) else None
        column = _narrow(scan.select(wanted[meaning]), stored=table.stored)
        if column is None:
            return None
        values = column if isinstance(column, pl.Series) else column.texts
        require_rows(values, rows, wanted[meaning], where)
        return column if column is not values or are_complete_categories(values) else as_ids(values, where)

    @reading(where)
    def only(meaning: str) -> pl.Series:
        name, columns = wanted[meaning], (meaning,) if meaning in found else ()
        column = scan.select(name).collect() if frame is None else frame.select(name)
        renamed = column.rename({name: meaning})
        values = clean(renamed, columns=columns, where=where, whole_ranks=role.whole_ranks).to_series()
        require_rows(values, rows, name, where)
        return values

    positions = table.positions or (TIMESTAMP in found and is_position_column(found[TIMESTAMP]))
    fetch = {meaning: partial(only, meaning) for meaning in wanted}
    return LazyColumns(fetch, rows, narrow, remarks, positions=positions, unit=unit_of(found.get(USER, "")))


def _narrow(column: pl.LazyFrame, *, stored: bool) -> pl.Series | HashedTexts | None:
    """Return a column of ids in a form that is encoded faster: categories, 32-bit integers or texts with hashes.

    The last two are for columns ``stored`` in files. Return None if the column has no such form, or holds something
    that is not an id.
    """
    (kind,) = column.collect_schema().dtypes()
    if isinstance(kind, pl.Categorical | pl.Enum):
        return column.collect().to_series()
    if stored and kind == pl.String:
        return HashedTexts.read(column)
    if stored and kind in (pl.Int64, pl.UInt64, pl.UInt32):
        with suppress(pl.exceptions.InvalidOperationError):  # an id does not fit 32 bits
            return column.cast(pl.Int32).collect().to_series()
    return None
