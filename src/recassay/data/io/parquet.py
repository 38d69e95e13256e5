"""Parquet files by their exact path: Polars would take ``[`` and ``*`` for patterns, and ``~`` for the home folder."""

from __future__ import annotations

import os
from pathlib import Path

import polars as pl


def exact(path: str | Path) -> str:
    """Return a path as text that Polars does not expand.

    >>> exact("~/runs.parquet"), exact("runs.parquet")
    ('./~/runs.parquet', 'runs.parquet')
    """
    text = os.fspath(path)
    return f"./{text}" if text.startswith("~") else text


def read_parquet(path: str | Path, columns: list[str] | None = None) -> pl.DataFrame:
    """Return the table in a file, or some of its columns."""
    return pl.read_parquet(exact(path), columns=columns, glob=False, hive_partitioning=False)


def scan_parquet(*paths: str | Path) -> pl.LazyFrame:
    """Return the rows of files, one after another, as a frame that is read when it is needed."""
    return pl.scan_parquet([exact(path) for path in paths], glob=False, hive_partitioning=False)


def parquet_schema(path: str | Path) -> pl.Schema:
    """Return the columns of a file and their types."""
    return scan_parquet(path).collect_schema()


def parquet_metadata(path: str | Path) -> dict[str, str]:
    """Return the texts that were stored beside the table in a file."""
    return pl.read_parquet_metadata(exact(path))
