"""The table of the values of all users under all designs, built on disk because it may be larger than memory."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from recassay.data.io import atomic
from recassay.data.io.manifest import manifest_of
from recassay.data.io.parquet import exact, scan_parquet
from recassay.data.io.write import writing

ROWS_PER_GROUP = 1 << 18  # fixed, so that the bytes do not depend on the number of threads


@dataclass
class Values:
    """The table of the metric values of all users, to which tables are appended on disk and which becomes one file.

    ``folder`` holds the appended ``parts`` until the file is written, and ``kinds`` are the types seen of users and
    times.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     values = Values(Path(folder) / "parts")
    ...     values.add(pl.DataFrame({"user": [1], "unit": [1], "mrr": [0.5]}))
    ...     values.add(pl.DataFrame({"user": ["ann"], "unit": ["ann"], "mrr": [1.0]}))
    ...     values.write(Path(folder) / "scores.parquet")
    ...     pl.read_parquet(Path(folder) / "scores.parquet").rows()
    [('1', '1', 0.5), ('ann', 'ann', 1.0)]
    """

    folder: Path
    parts: list[Path] = field(default_factory=list)
    kinds: dict[str, set[pl.DataType]] = field(default_factory=lambda: {"user": set(), "time": set()})

    def add(self, table: pl.DataFrame) -> None:
        """Append a table with the metric values of some users or other units."""
        if not self.parts:
            shutil.rmtree(self.folder, ignore_errors=True)  # files of a killed run
            self.folder.mkdir(parents=True)
        self.parts.append(self.folder / f"{len(self.parts)}.parquet")
        for column, kinds in self.kinds.items():
            if column in table.columns:
                kinds.add(table[column].dtype)
        with writing(self.parts[-1]):
            table.write_parquet(exact(self.parts[-1]))

    def write(self, path: Path) -> None:
        """Write all appended tables as one Parquet file, or remove the file if there are none.

        User ids and times become text if the tables have different types of them.
        """
        if not self.parts:
            manifest_of(path.parent).remove(path)
            return
        tables = [scan_parquet(part) for part in self.parts]
        if len(self.kinds["user"]) > 1:
            tables = [table.with_columns(pl.col("unit", "user").cast(pl.String)) for table in tables]
        if len(self.kinds["time"]) > 1:
            tables = [table.with_columns(pl.col("time").cast(pl.String)) for table in tables]
        with atomic(path) as temporary:
            pl.concat(tables, how="diagonal").sink_parquet(
                exact(temporary), row_group_size=ROWS_PER_GROUP, maintain_order=True
            )
        shutil.rmtree(self.folder)
