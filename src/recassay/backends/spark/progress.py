"""Progress of Spark jobs, reported while the driver waits: finished tasks of all tasks."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Report = Callable[[str, int, int], None]  # stage, done, of
EVERY = 0.5  # seconds


@contextlib.contextmanager
def report_stages(spark: SparkSession, report: Report | None, stage: str) -> Iterator[None]:
    """Report every half second within this context how many Spark tasks are done, under the name ``stage``.

    If ``report`` is None, nothing is reported and Spark is not queried. Nothing is reported while no task has begun.
    """
    if report is None:
        yield
        return
    tracker, over = spark.sparkContext.statusTracker(), threading.Event()
    counts: dict[int, tuple[int, int]] = {}

    def send() -> None:
        for number in tracker.getActiveStageIds():
            info = tracker.getStageInfo(number)
            if info is not None:
                counts[number] = (info.numCompletedTasks, info.numTasks)
        done, of = (sum(one[side] for one in counts.values()) for side in (0, 1))
        if of:
            report(stage, done, of + 1)  # later stages are not known yet, so the total stays one ahead

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
    report(stage, 1, 1)
