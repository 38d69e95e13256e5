"""Part files of one table: they must have the same columns, and get the same type of ids."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from recassay.columnar.vocabulary import as_unsigned
from recassay.data.io.columns import ITEM, USER
from recassay.data.io.sources import PARQUET_SUFFIXES
from recassay.errors import InputError


def require_equal_columns(parts: Sequence[tuple[Path, pl.DataFrame]]) -> None:
    """Raise I202 if the part files of a table differ in the names or types of their columns."""
    kinds = {_schema_text(frame, stated=path.suffix in PARQUET_SUFFIXES): path for path, frame in parts}
    if len(kinds) > 1:
        (first, first_file), (second, second_file), *_ = kinds.items()
        raise InputError(
            "I202",
            f"the parts of the table differ: {first} and {second}",
            where=f"{first_file} and {second_file}",
            hint="write all parts with the same columns and types",
        )


def _schema_text(frame: pl.DataFrame, *, stated: bool) -> str:
    """Return the column names and types of a frame as text; all parts of one table must have equal texts.

    The width of numbers does not count. Types count only if the file states them (``stated``). In text they are
    guesses: ids that are all digits in one part and have letters in another are text in both.
    """

    def kind(dtype: pl.DataType) -> str:
        if not stated:
            return "times" if dtype.is_temporal() else "text or numbers"
        return "integers" if dtype.is_integer() else str(dtype)

    return ", ".join(f"{name} ({kind(dtype)})" for name, dtype in frame.schema.items())


def with_equal_ids(frames: list[pl.DataFrame]) -> list[pl.DataFrame]:
    """Return the tables with integer ids of one type in all of them."""
    unsigned = ids_without_sign(frames)
    return [frame.with_columns(as_unsigned(frame[name]) for name in unsigned) for frame in frames]


def ids_without_sign(frames: list[pl.DataFrame]) -> list[str]:
    """Return the id columns that hold unsigned 64-bit integers in some tables and other integers in others."""
    dtypes = {name: {frame.schema[name] for frame in frames} for name in (USER, ITEM) if name in frames[0].columns}
    return [
        name
        for name, found in dtypes.items()
        if pl.UInt64 in found and len(found) > 1 and all(dtype.is_integer() for dtype in found)
    ]
