"""Measure the live judge: exposures a second with join, duplicates, state on disk and six metrics.

    python bench/live.py [EXPOSURES]

Parquet parts are replayed; beside it a join of the same events with dicts in plain Python, without state and metrics.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

from recassay.live.loop import Loop
from recassay.live.settings import WatchSettings
from recassay.live.sources.opening import open_sources
from recassay.live.watcher import Watcher

PER_SECOND, PART, ITEMS, USERS = 115.0, 500_000, 20_000, 200_000  # 10 million exposures a day of event time


def part(number: int) -> pl.DataFrame:
    rng = np.random.default_rng(number)
    times = 1.7e9 + (number * PART + np.arange(PART)) / PER_SECOND
    users = rng.integers(0, USERS, PART)
    items = rng.integers(0, ITEMS, (PART, 10))
    request = pl.Series(np.arange(number * PART, (number + 1) * PART)).cast(pl.String)
    names = pl.Series(np.arange(ITEMS)).cast(pl.String)
    shown = pl.DataFrame(
        {"request_id": request, "user_id": pl.Series(users).cast(pl.String), "time": times}
    ).with_columns(
        items=names.gather(items.ravel()).reshape((PART, 10)).arr.to_list(),
        arm=pl.Series(np.where(users % 2 == 0, "old", "new")),
    )
    clicked = np.flatnonzero(rng.random(PART) < 0.1)
    clicks = pl.DataFrame(
        {"request_id": request.gather(clicked), "time": times[clicked] + 60, "item_id": names.gather(items[clicked, 2])}
    )
    return pl.concat([shown, clicks], how="diagonal").sort("time")


def plain(paths: list[Path]) -> float:
    """Seconds of a join with dicts, one event after another."""
    begin = time.perf_counter()
    shown: dict[str, list[str]] = {}
    hits = 0
    for path in paths:
        for row in pl.read_parquet(path).iter_rows(named=True):
            if row["items"] is not None:
                shown[row["request_id"]] = row["items"]
            else:
                hits += row["item_id"] in shown.get(row["request_id"], ())
    return time.perf_counter() - begin


def main(exposures: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        parts = home / "parts"
        parts.mkdir()
        for number in range(max(1, exposures // PART)):
            part(number).write_parquet(parts / f"{number:05d}.parquet")
        count = max(1, exposures // PART) * PART
        for metrics in (("hit@10",), WatchSettings().metrics):
            watcher = Watcher(WatchSettings(metrics=metrics), home / f"state {len(metrics)}")
            begin, used = time.perf_counter(), time.process_time()
            Loop(watcher, open_sources(str(parts), follow=False)).run()
            took, used = time.perf_counter() - begin, time.process_time() - used
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            print(
                f"{len(metrics)} metrics: {count:,} exposures, {count / took:,.0f} a second "
                f"({used / count * 1e6:.1f} processor microseconds each); "
                f"state {watcher.state.bytes / 1e6:,.0f} MB; memory at most {memory:,.0f} MB"
            )
            watcher.close()
        took = plain(sorted(parts.iterdir()))
        print(f"dicts in plain Python, join alone: {count / took:,.0f} a second")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2_000_000)
