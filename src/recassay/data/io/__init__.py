"""Reading of tables from any source, and writing of files that are complete or absent."""

from __future__ import annotations

from recassay.data.io.formats import FORMATS, Format, formats
from recassay.data.io.read import RowRange, open_row_ranges, open_table, read_header, read_table
from recassay.data.io.sources import run_sources
from recassay.data.io.write import (
    atomic,
    make_folder,
    require_possible_folder,
    write_bytes,
    write_json,
    write_parquet,
    write_text,
)

__all__ = [
    "FORMATS",
    "Format",
    "RowRange",
    "atomic",
    "formats",
    "make_folder",
    "open_row_ranges",
    "open_table",
    "read_header",
    "read_table",
    "require_possible_folder",
    "run_sources",
    "write_bytes",
    "write_json",
    "write_parquet",
    "write_text",
]
