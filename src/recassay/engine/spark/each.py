"""Work that is no table: a task for each thing, done again elsewhere where a worker dies, and counted as it is done."""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

from recassay.engine.spark.session import carried, told
from recassay.errors import RecassayError, UsageError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Report = Callable[[str, int, int], None]  # stage, done, of
Thing = TypeVar("Thing")
Result = TypeVar("Result")

EVERY = 0.5  # seconds
DIED = re.compile(r"Task (\d+) in stage \S+ failed (\d+) times")


def each(
    spark: SparkSession,
    work: Callable[[Thing], Result],
    things: Sequence[Thing],
    *,
    named: Callable[[Thing], str],
    size: Callable[[Thing], int],
    report: Report,
    stage: str,
) -> list[Result]:
    """``work(thing)`` for every thing, each in a task of its own; the results, in order of the things.

    ``report`` hears how much is done, by the ``size`` of things. A task whose worker dies is done again, as often as
    Spark is set to; U226 with the name of the thing where it dies each time.
    """
    context = spark.sparkContext
    sizes = [size(thing) for thing in things]
    done = context.accumulator(0)  # a task that is done twice is added once

    def task(part: Iterator[tuple[int, Thing]]) -> Iterator[Result]:
        for amount, thing in part:
            result = work(thing)
            done.add(amount)
            yield result

    tasks = context.parallelize(list(zip(sizes, things, strict=True)), max(len(things), 1)).mapPartitions(carried(task))
    try:
        with told(), _watched(lambda: done.value, sum(sizes), report, stage):
            found: list[Result] = tasks.collect()
    except RecassayError:
        raise
    except Exception as error:
        died = DIED.search(str(error))
        if died is None:
            raise
        raise UsageError(
            "U226",
            f"a worker died in the task of {named(things[int(died[1])])}, at each of {died[2]} tries",
            where=f"master {context.master}",
            hint="give workers more memory (spark.executor.memoryOverhead) and start it again: what is done stays done",
        ) from error
    return found


@contextlib.contextmanager
def _watched(done: Callable[[], int], of: int, report: Report, stage: str) -> Iterator[None]:
    """Tells how much is done for as long as the driver waits."""
    over = threading.Event()

    def watch() -> None:
        report(stage, 0, of)
        while not over.wait(EVERY):
            report(stage, done(), of)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()
        report(stage, done(), of)
