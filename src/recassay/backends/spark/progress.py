"""Progress of Spark jobs, reported while the driver waits: finished tasks of all tasks, or a count that the work
keeps.
"""

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
def reporting(report: Report, stage: str, count: Count) -> Iterator[None]:
    """Report progress every half second within this context, and once at the end.

    ``report`` is called with ``stage`` and the two numbers that ``count`` returns, done and total. Nothing is reported
    while the total is 0.
    """
    over = threading.Event()

    def send() -> None:
        done, of = count()
        if of:
            report(stage, done, of)

    def watch() -> None:
        send()
        while not over.wait(EVERY):
            send()

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()
        send()


@contextlib.contextmanager
def report_stages(spark: SparkSession, report: Report | None, stage: str) -> Iterator[None]:
    """Report within this context how many Spark tasks are done, under the name ``stage``.

    If ``report`` is None, nothing is reported and Spark is not queried.
    """
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
        return done, of + 1 if of else 0  # later stages are not known yet, so the total stays one ahead

    with reporting(report, stage, count):
        yield
    report(stage, 1, 1)
