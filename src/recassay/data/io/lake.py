"""Tables at an address: a query of DuckDB, tables of Delta and Iceberg, and Parquet files in an object store."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote

import polars as pl

from recassay.data.io.objects import ArrowStream
from recassay.data.io.table import Table, table_of_scan
from recassay.errors import InputError, RecassayError, UsageError, masked
from recassay.optional import need

STORES = ("s3", "gs", "gcs", "az", "abfs", "abfss")
ADDRESS = re.compile(rf"(duckdb|delta|iceberg|{'|'.join(STORES)})://(.+)", re.DOTALL)
QUERY = "?query="


def is_address(source: object) -> bool:
    """Return whether a source is the address of a table rather than a path.

    >>> is_address("s3://shop/run.parquet"), is_address("runs/s3.parquet")
    (True, False)
    """
    return isinstance(source, str) and ADDRESS.match(source) is not None


def beside(folder: Path, place: str) -> Path | str:
    """Return the path of a table that a file in ``folder`` names, or its address, in which a path is of that folder.

    >>> beside(Path("study"), "log.csv").as_posix(), beside(Path("study"), "duckdb://shop.db?query=from log")
    ('study/log.csv', 'duckdb://study/shop.db?query=from log')
    """
    if not is_address(place):
        return folder / place
    kind, _, rest = place.partition("://")
    is_relative = kind not in STORES and not re.match("/|[a-z0-9]+://", rest)
    return f"{kind}://{folder}/{rest}" if is_relative else place


def address_name(address: str) -> str:
    """Return the name of a table at an address: its last part without a suffix.

    >>> address_name("duckdb:///data/shop.db?query=from lists"), address_name("s3://shop/runs/als.parquet")
    ('shop', 'als')
    """
    return Path(address.partition("?")[0].rstrip("/")).name.partition(".")[0]


def address_table(address: str) -> Table:
    """Return the table at an address.

    Raise U102 for a database without a query, U112 without the library that reads it, and I110 if it cannot be opened.
    """
    kind, place = ADDRESS.match(address).groups()  # type: ignore[union-attr]  # is_address has looked
    try:
        scan = _scan(kind, place, address)
        return table_of_scan(scan, scan.collect_schema().names(), masked(address))
    except RecassayError:
        raise
    except Exception as error:  # each library has errors of its own
        why = masked((str(error).strip() or type(error).__name__).splitlines()[0])
        hint = "check the address and the credentials; s3:// and others take those of the environment"
        raise InputError("I110", f"the table cannot be opened: {why}", where=masked(address), hint=hint) from None


def _scan(kind: str, place: str, address: str) -> pl.LazyFrame:
    if kind == "duckdb":
        path, _, query = place.partition(QUERY)
        if not query:
            hint = f"write it behind the file: duckdb://{path}{QUERY}select user_id, item_id from lists"
            raise UsageError("U102", "the database is named without a query", where=masked(address), hint=hint)
        with need("duckdb", "duckdb://").connect(path, read_only=True) as database:
            return pl.DataFrame(ArrowStream(database.sql(unquote(query)))).lazy()
    if kind == "delta":
        need("deltalake", "delta://")
        return pl.scan_delta(place)
    if kind == "iceberg":
        need("pyiceberg", "iceberg://")
        return pl.scan_iceberg(place)
    return pl.scan_parquet(address)  # noqa: TID251  it is no path
