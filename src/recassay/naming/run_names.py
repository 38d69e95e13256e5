"""Names of run files: a system has the name of its file, without the suffixes of tables."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

TABLE_SUFFIXES = frozenset(
    f".{name}"
    for name in (
        *("parquet", "pq", "csv", "tsv", "txt", "json", "jsonl", "ndjson"),
        *("run", "trec", "res", "qrels", "inter", "item", "dat", "data", "uirt"),
    )
)


def run_name(path: Path, suffixes: Collection[str] = TABLE_SUFFIXES) -> str:
    """Return the name of the run in a file, or in a folder of ``part-*`` files.

    >>> run_name(Path("runs/als.v2.csv.gz")), run_name(Path("ALS(factors=6.5).parquet"))
    ('als.v2', 'ALS(factors=6.5)')
    """
    bare = without_gz(path)
    while bare.suffix.lower() in suffixes:
        bare = bare.with_suffix("")
    return os.fsencode(bare.name).decode("utf-8", "backslashreplace")  # a name may have bytes that are not UTF-8


def without_gz(path: Path) -> Path:
    """Return a path without the suffix .gz."""
    return path.with_suffix("") if path.suffix.lower() == ".gz" else path
