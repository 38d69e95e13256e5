"""How far Spark is: tasks done of those that its running stages have, told while the driver waits."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Report = Callable[[str, int, int], None]  # stage, done, of
EVERY = 0.5  # seconds


@contextlib.contextmanager
def watched(spark: SparkSession, report: Report | None, stage: str) -> Iterator[None]:
    """Tells how many tasks of a job are done, for as long as it runs; nobody listens: nothing is asked."""
    if report is None:
        yield
        return
    over = threading.Event()
    watch = threading.Thread(target=_watch, args=(spark.sparkContext.statusTracker(), report, stage, over), daemon=True)
    watch.start()
    try:
        yield
    finally:
        over.set()
        watch.join()
        report(stage, 1, 1)


def _watch(tracker: Any, report: Report, stage: str, over: threading.Event) -> None:
    counts: dict[int, tuple[int, int]] = {}
    while not over.wait(EVERY):
        for number in tracker.getActiveStageIds():
            info = tracker.getStageInfo(number)
            if info is not None:
                counts[number] = (info.numCompletedTasks, info.numTasks)
        done, of = (sum(column) for column in zip(*counts.values(), strict=True)) if counts else (0, 0)
        if of:
            report(stage, done, of + 1)  # what stages may come is not known: it is never all
