"""Files that tasks wrote, read by this process if it sees them: on one machine this saves a Spark job each time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from recassay.backends.spark.session import is_local
from recassay.data.io.parquet import scan_parquet
from recassay.data.io.roles import USER

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TALLY = "tally"  # the column of totals: null in the rows of users
ROWS = 1 << 18  # of a batch


def own_files(spark: SparkSession, folder: str) -> list[Path] | None:
    """Return the Parquet files that tasks wrote into a folder; None if this process does not see the folder."""
    if not (is_local(spark) and Path(folder).is_dir()):
        return None
    return sorted(Path(folder).glob("part-*.parquet"))


def packed_tallies(files: Sequence[Path]) -> list[bytes]:
    """Return the packed totals in ``files``: one for each task that had users."""
    found: list[bytes] = (
        scan_parquet(*files).filter(pl.col(TALLY).is_not_null()).select(TALLY).collect()[TALLY].to_list()
    )
    return found


def users_of_files(files: Sequence[Path], columns: Sequence[pl.Expr]) -> pl.DataFrame:
    """Return all users in ``files``, ascending, with ``columns`` of their rows."""
    return scan_parquet(*files).filter(pl.col(TALLY).is_null()).select(USER, *columns).sort(USER).collect()


def batches_of_users(file: Path, columns: Sequence[pl.Expr]) -> Iterator[pl.DataFrame]:
    """Yield ``columns`` of the rows of users in a file, which may be larger than memory."""
    import pyarrow.parquet

    reads = dict.fromkeys(name for column in columns for name in column.meta.root_names())
    for batch in pyarrow.parquet.ParquetFile(file).iter_batches(ROWS, columns=[TALLY, *reads]):
        frame = pl.DataFrame(batch).filter(pl.col(TALLY).is_null()).select(columns)
        if frame.height:
            yield frame
