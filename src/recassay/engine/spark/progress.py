"""How far Spark is, told while the driver waits: tasks done of those that are known of, or what work says of itself."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Report = Callable[[str, int, int], None]  # stage, done, of
Count = Callable[[], tuple[int, int]]  # done, of
EVERY = 0.5  # seconds


@contextlib.contextmanager
def telling(report: Report, stage: str, count: Count) -> Iterator[None]:
    """Tells the count from time to time, and once at the end; nothing is told as long as there is nothing to do."""
    over = threading.Event()

    def tell() -> None:
        done, of = count()
        if of:
            report(stage, done, of)

    def watch() -> None:
        tell()
        while not over.wait(EVERY):
            tell()

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()
        tell()


@contextlib.contextmanager
def watched(spark: SparkSession, report: Report | None, stage: str) -> Iterator[None]:
    """Tells how many tasks of a job are done, for as long as it runs; if nobody listens nothing is asked."""
    if report is None:
        yield
        return
    tracker = spark.sparkContext.statusTracker()
    counts: dict[int, tuple[int, int]] = {}

    def count() -> tuple[int, int]:
        for number in tracker.getActiveStageIds():
            info = tracker.getStageInfo(number)
            if info is not None:
                counts[number] = (info.numCompletedTasks, info.numTasks)
        done, of = (sum(one[side] for one in counts.values()) for side in (0, 1))
        return done, of + 1 if of else 0  # what stages may come is not known: it is never all

    with telling(report, stage, count):
        yield
    report(stage, 1, 1)
