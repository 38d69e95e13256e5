"""Work that is no table: a task for each thing, done again elsewhere where a worker dies, and counted as it is done."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

from recassay.engine.spark.progress import Report, telling
from recassay.engine.spark.session import carried, told
from recassay.errors import RecassayError, UsageError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Thing = TypeVar("Thing")
Result = TypeVar("Result")

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
        with told(), telling(report, stage, lambda: (done.value, sum(sizes))):
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
