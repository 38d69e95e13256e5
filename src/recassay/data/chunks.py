"""Tables larger than memory, in chunks of whole users; users ascend from chunk to chunk.

If the users ascend in the files already, chunks are read from the files and nothing is written. Otherwise the rows are
sorted once, a million at a time, into temporary files, and each chunk is merged from all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from recassay.columnar.vocabulary import Vocabulary, concat_ids
from recassay.data.io.read import RowRange
from recassay.errors import InputError
from recassay.threads import Progress

MAX_ROWS = 1 << 20  # scanned or sorted at a time
MIN_ROWS = 1 << 16  # lower bound, since every read has a fixed cost
SAMPLE = 100_000  # users per table from which the chunk boundaries are estimated

USER = "user_id"

StartProgress = Callable[[str], Progress | None]  # name of a stage -> function that receives the rows done


@dataclass(frozen=True)
class TableChunks:
    """A table whose rows are yielded in chunks, each with all rows of some users.

    ``sample`` has the users of regularly spaced rows, ascending. ``sorted_files`` hold the rows, each file with
    ascending users; it is None if the table's own files are in that order.
    """

    ranges: Sequence[RowRange]
    rows_per_read: int
    sample: pl.Series
    sorted_files: Sequence[Path] | None
    row_size: float

    @classmethod
    def of(
        cls, ranges: Sequence[RowRange], folder: Path, size: float, start_progress: StartProgress = lambda _: None
    ) -> TableChunks:
        """Return the chunks of a table, after a scan of its users; rows are sorted by user where they are not already.

        ``size`` is the number of bytes of memory to use, about. Sorted files are written to ``folder``.
        ``start_progress`` takes the name of a step and returns a function that is called with numbers of rows done.
        """
        first = ranges[0].read(ranges[0].columns, 0, MIN_ROWS)
        row_size = first.estimated_size() / first.height
        rows_per_read = min(MAX_ROWS, max(MIN_ROWS, int(size / row_size)))
        rows = sum(part.rows for part in ranges)
        progress = start_progress("reading")
        ascending, latest, sample = True, None, []
        for frame in _frames(ranges, [USER], rows_per_read):
            users = frame[USER]
            sample.append(users.gather_every(max(1, rows // SAMPLE)))
            ascending = ascending and (latest is None or users[0] >= latest) and users.is_sorted()
            latest = users[-1]
            if progress is not None:
                progress(frame.height)
        files = None if ascending else _sorted_files(ranges, folder, rows_per_read, start_progress("sorting"))
        return cls(ranges, rows_per_read, concat_ids(sample).sort(), files, row_size)

    @property
    def rows(self) -> int:
        """Return the number of rows of all files."""
        return sum(part.rows for part in self.ranges)

    @property
    def empty(self) -> pl.DataFrame:
        """Return a table with the columns of this table and no rows."""
        return self.ranges[0].read(self.ranges[0].columns, 0, 1).clear()

    def cut(self, ends: Sequence[Any]) -> Iterator[pl.DataFrame]:
        """Yield the rows in chunks; ``ends`` are the last users of all chunks but the final one, ascending."""
        return self._read(ends) if self.sorted_files is None else self._merged(self.sorted_files, ends)

    def _read(self, ends: Sequence[Any]) -> Iterator[pl.DataFrame]:
        frames, held = _frames(self.ranges, self.ranges[0].columns, self.rows_per_read), self.empty
        for end in ends:
            chunk = []
            # The rows of the last user may continue in the next frame.
            while (rows := count_up_to(held[USER], end)) == held.height and (
                following := next(frames, None)
            ) is not None:
                chunk.append(held)
                held = following
            yield _concat([self.empty, *chunk, held[:rows]])
            held = held[rows:]
        yield _concat([held, *frames])

    def _merged(self, files: Sequence[Path], ends: Sequence[Any]) -> Iterator[pl.DataFrame]:
        users = (pl.scan_ipc(file).select(USER).collect()[USER] for file in files)
        bounds = [[0, *(count_up_to(column, end) for end in ends), column.len()] for column in users]
        for chunk in range(len(ends) + 1):
            slices = [
                pl.scan_ipc(file).slice(rows[chunk], rows[chunk + 1] - rows[chunk]).collect()
                for file, rows in zip(files, bounds, strict=True)
                if rows[chunk] < rows[chunk + 1]
            ]
            yield _concat([self.empty, *slices])


def chunk_boundaries(tables: Sequence[TableChunks], size: float) -> list[Any]:
    """Return the user ids at which all tables are split, so that a chunk takes about ``size`` bytes over all tables.

    They are the last users of all chunks but the final one. Raise I403 if one table has integer user ids and another
    strings.
    """
    require_one_type(*(table.sample for table in tables))
    weights = [np.full(table.sample.len(), table.rows * table.row_size / table.sample.len()) for table in tables]
    samples = concat_ids([table.sample for table in tables])
    users = pl.DataFrame({USER: samples, "size": np.concatenate(weights)}).sort(USER)
    chunk = (users["size"].cum_sum() / size).floor()
    full = (chunk != chunk.shift(1, fill_value=0)).arg_true()
    ends: list[Any] = users[USER].gather(full).unique().sort().to_list()
    return ends[:-1] if ends and ends[-1] == users[USER][-1] else ends


def require_one_type(*users: pl.Series) -> None:
    """Raise I403 if users are integers in one table and strings in another: they do not ascend in one order then."""
    if len({Vocabulary(ids).kind for ids in users}) > 1:
        raise InputError(
            "I403",
            "user ids are integers in one table and strings in the other, and chunks of users need one type",
            hint="write both files with the same type of id, or score without --memory",
        )


def count_up_to(users: pl.Series, last: Any) -> int:
    """Return how many of ``users``, which ascend, are at most ``last``.

    >>> count_up_to(pl.Series([2, 2, 7]), 2), count_up_to(pl.Series([2, 2, 7]), 1), count_up_to(pl.Series([2]), 9)
    (2, 0, 1)
    """
    if not users.len() or last >= users[-1]:
        return users.len()
    return 0 if last < users[0] else int(users.search_sorted(last, side="right"))


def _frames(ranges: Sequence[RowRange], columns: Sequence[str], rows_per_read: int) -> Iterator[pl.DataFrame]:
    for part in ranges:
        for begin in range(0, part.rows, rows_per_read):
            yield part.read(columns, begin, rows_per_read)


def _sorted_files(
    ranges: Sequence[RowRange], folder: Path, rows_per_read: int, progress: Progress | None
) -> list[Path]:
    files = []
    for number, frame in enumerate(_frames(ranges, ranges[0].columns, rows_per_read)):
        files.append(folder / f"sorted-{number}.arrow")
        frame.sort(USER, maintain_order=True).write_ipc(files[-1], compression="uncompressed")
        if progress is not None:
            progress(frame.height)
    return files


def _concat(frames: Iterable[pl.DataFrame]) -> pl.DataFrame:
    return pl.concat(frames, how="vertical_relaxed", rechunk=True)
