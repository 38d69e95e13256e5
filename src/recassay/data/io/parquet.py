"""Parquet files by their exact path: Polars would take ``[`` and ``*`` for patterns, and ``~`` for the home folder."""

from __future__ import annotations

import os
import re
from pathlib import Path

import polars as pl

# The header of a data page with a negative number of values: Polars asks for memory for 2^61 of them, and the process
# ends. In larger files a damaged byte is hardly ever this one, and a look at all their bytes would take time.
WHOLE, ODD = rb"\x15[\x80-\xff]{0,4}[\x00-\x7f]", re.escape(bytes(range(1, 256, 2)))
NEGATIVE_PAGE = re.compile(rb"\x15[\x00\x06]" + WHOLE + WHOLE + rb"[\x2c\x5c]\x15[" + ODD + rb"]")
LOOKED_AT = 1 << 22  # bytes of a file
PARQUET_SUFFIXES = frozenset({".parquet", ".pq"})
DAMAGE = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)  # what a file that is not sound raises


def exact(path: str | Path) -> str:
    """Return a path as text that Polars does not expand.

    >>> exact("~/runs.parquet"), exact("runs.parquet")
    ('./~/runs.parquet', 'runs.parquet')
    """
    text = os.fspath(path)
    return f"./{text}" if text.startswith("~") else text


def read_parquet(path: str | Path, columns: list[str] | None = None) -> pl.DataFrame:
    """Return the table in a file, or some of its columns."""
    _refuse_negative_pages(path)
    return pl.read_parquet(exact(path), columns=columns, glob=False, hive_partitioning=False)


def scan_parquet(*paths: str | Path) -> pl.LazyFrame:
    """Return the rows of files, one after another, as a frame that is read when it is needed."""
    for path in paths:
        _refuse_negative_pages(path)
    return pl.scan_parquet([exact(path) for path in paths], glob=False, hive_partitioning=False)


def _refuse_negative_pages(path: str | Path) -> None:
    """Raise ComputeError, as Polars does for other damage, for a small file with a page of less than no values."""
    if os.path.getsize(path) <= LOOKED_AT and NEGATIVE_PAGE.search(Path(path).read_bytes()):
        raise pl.exceptions.ComputeError("a page has a negative number of values")


def parquet_schema(path: str | Path) -> pl.Schema:
    """Return the columns of a file and their types."""
    return pl.scan_parquet([exact(path)], glob=False, hive_partitioning=False).collect_schema()


def parquet_metadata(path: str | Path) -> dict[str, str]:
    """Return the texts that were stored beside the table in a file."""
    return pl.read_parquet_metadata(exact(path))
