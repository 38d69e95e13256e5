"""Reading of tables from any source (``read``), and writing of files that are complete or absent."""

from __future__ import annotations

from recassay.data.io.formats import FORMATS, Format, formats
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
    "atomic",
    "formats",
    "make_folder",
    "require_possible_folder",
    "run_sources",
    "write_bytes",
    "write_json",
    "write_parquet",
    "write_text",
]
