"""Generated run and truth files for the benchmarks: long-tailed items, some hits, the same bytes for the same seed."""

from __future__ import annotations

import contextlib
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl

ITEMS = 50_000
TRUTH_SIZE = 10  # mean number of relevant items of a user
CHUNK = 200_000  # users generated at a time
MILLION = 1_000_000  # different users of a table in part files
PART = 250_000  # users of a part file


def make(
    folder: Path, users: int, length: int, *, strings: bool = False, shuffled: bool = False, seed: int = 7
) -> tuple[Path, Path]:
    """Paths of a run (user_id, item_id, rank, score) and a truth (user_id, item_id), made if they are not there.

    With ``shuffled`` the rows of both are in any order.
    """
    folder.mkdir(parents=True, exist_ok=True)
    kind = ("strings" if strings else "integers") + ("-shuffled" if shuffled else "")
    run, truth = folder / f"run-{users}x{length}-{kind}.parquet", folder / f"truth-{users}x{length}-{kind}.parquet"
    if not (run.exists() and truth.exists()):
        parts = [_chunk(begin, min(begin + CHUNK, users), length, seed) for begin in range(0, users, CHUNK)]
        for path, frames in ((run, [part[0] for part in parts]), (truth, [part[1] for part in parts])):
            frame = pl.concat(frames)
            frame = frame.sample(fraction=1.0, shuffle=True, seed=seed) if shuffled else frame
            query = frame.lazy()
            if strings:
                query = query.with_columns(text_ids("user_id"), text_ids("item_id"))
            query.sink_parquet(path)  # texts of a hundred million rows do not fit into memory
    return run, truth


def make_parts(
    folder: Path, users: int, length: int, *, relevant: int = TRUTH_SIZE, seed: int = 7
) -> tuple[Path, Path]:
    """Folders of part files for as many users as the disk holds: the first million, again and again under other ids."""
    names = [f"{kind}-{users}x{length}-{relevant}" for kind in ("run", "truth")]
    run, truth = (folder / name for name in names)
    folder.mkdir(parents=True, exist_ok=True)
    if not (run.exists() and truth.exists()):
        chunks = [
            _chunk(begin, min(begin + CHUNK, users), length, seed, relevant)
            for begin in range(0, min(users, MILLION), CHUNK)
        ]
        for place, path in enumerate((run, truth)):
            some = pl.concat([chunk[place] for chunk in chunks])
            with whole(path) as unfinished:
                for begin in range(0, users, PART):
                    first = begin % MILLION
                    part = some.filter(
                        pl.col("user_id").is_between(first, first + min(PART, users - begin), closed="left")
                    )
                    part = part.with_columns(pl.col("user_id") + (begin - first))
                    part.write_parquet(unfinished / f"part-{begin // PART:05}.parquet")
    return run, truth


@contextlib.contextmanager
def whole(folder: Path) -> Iterator[Path]:
    """A folder to write to, which gets its name when all is written: what was stopped is made again."""
    with tempfile.TemporaryDirectory(prefix="unfinished-", dir=folder.parent, ignore_cleanup_errors=True) as parent:
        unfinished = Path(parent) / folder.name
        unfinished.mkdir()
        yield unfinished
        shutil.rmtree(folder, ignore_errors=True)
        unfinished.rename(folder)


def _chunk(
    begin: int, end: int, length: int, seed: int, relevant: int = TRUTH_SIZE
) -> tuple[pl.DataFrame, pl.DataFrame]:
    rng = np.random.default_rng([seed, begin])
    n = end - begin
    sizes = 1 + rng.poisson(relevant - 1, n)
    users = np.repeat(np.arange(begin, end), sizes)
    truth = _distinct(users, _items(rng, users.size))
    # A list mixes what is popular with what is right, so that about one place in eight is a hit.
    users = np.repeat(np.arange(begin, end), 2 * length)
    right = np.repeat(truth["item_id"].to_numpy(), 1)
    starts = np.searchsorted(truth["user_id"].to_numpy(), np.arange(begin, end))
    counts = np.diff(np.append(starts, truth.height))
    picks = starts[users - begin] + rng.integers(0, counts[users - begin])
    items = np.where(rng.random(users.size) < 1 / 8, right[picks], _items(rng, users.size))
    run = _distinct(users, items).group_by("user_id", maintain_order=True).head(length)
    rank = pl.int_range(1, pl.len() + 1, dtype=pl.Int32).over("user_id").alias("rank")
    return run.with_columns(rank).with_columns((1.0 / pl.col("rank")).alias("score")), truth


def _items(rng: np.random.Generator, n: int) -> np.ndarray:
    return (ITEMS * rng.random(n) ** 3).astype(np.int64)


def _distinct(users: np.ndarray, items: np.ndarray) -> pl.DataFrame:
    return pl.DataFrame({"user_id": users, "item_id": items}).unique(maintain_order=True)


def text_ids(column: str) -> pl.Expr:
    """A column of whole numbers as ids such as ``user-00000017``."""
    return (pl.lit(f"{column[:4]}-") + pl.col(column).cast(pl.String).str.zfill(8)).alias(column)


def uuids(ids: pl.Series) -> pl.Series:
    """Return ids as 36 characters made of two hashes."""
    distinct = ids.unique()
    halves = zip(distinct.hash(1).to_list(), distinct.hash(2).to_list(), strict=True)
    digits = (f"{one:016x}{two:016x}" for one, two in halves)
    text = pl.Series(distinct.name, [f"{d[:8]}-{d[8:12]}-{d[12:16]}-{d[16:20]}-{d[20:]}" for d in digits])
    return ids.replace_strict(distinct, text)


if __name__ == "__main__":
    print(*make(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))
