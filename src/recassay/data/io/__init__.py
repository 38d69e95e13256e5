"""Reads tables from anywhere, and writes files whole or not at all."""

from __future__ import annotations

from recassay.data.io.formats import FORMATS, Format
from recassay.data.io.read import Stretch, open_stretches, open_table, read_table
from recassay.data.io.sources import run_sources
from recassay.data.io.table import Columns
from recassay.data.io.write import atomic, make_folder, write_bytes, write_json, write_parquet, write_text

__all__ = [
    "FORMATS",
    "Columns",
    "Format",
    "Stretch",
    "atomic",
    "make_folder",
    "open_stretches",
    "open_table",
    "read_table",
    "run_sources",
    "write_bytes",
    "write_json",
    "write_parquet",
    "write_text",
]
