"""Independent work on Spark: a task for each thing, which is retried where a worker dies."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

from recassay.backends.spark.progress import Report, reporting
from recassay.backends.spark.session import carry_errors, translate_errors
from recassay.errors import RecassayError, UsageError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Thing = TypeVar("Thing")
Result = TypeVar("Result")

DIED = re.compile(r"Task (\d+) in stage \S+ failed (\d+) times")


def map_in_tasks(
    spark: SparkSession,
    work: Callable[[Thing], Result],
    things: Sequence[Thing],
    *,
    named: Callable[[Thing], str],
    size: Callable[[Thing], int],
    report: Report,
    stage: str,
) -> list[Result]:
    """Return ``work(thing)`` for every thing, in the order of ``things``; each is done in a task of its own.

    ``report`` is called with ``stage`` (a name), the total ``size`` of the things that are done, and that of all
    things. A task whose worker dies is retried as often as Spark is configured to; if it dies every time, raise U226
    with the thing's name (``named``).
    """
    context = spark.sparkContext
    sizes = [size(thing) for thing in things]
    done = context.accumulator(0)  # a task that is retried counts once

    def task(part: Iterator[tuple[int, Thing]]) -> Iterator[Result]:
        for amount, thing in part:
            result = work(thing)
            done.add(amount)
            yield result

    tasks = context.parallelize(list(zip(sizes, things, strict=True)), max(len(things), 1)).mapPartitions(
        carry_errors(task)
    )
    try:
        with translate_errors(), reporting(report, stage, lambda: (done.value, sum(sizes))):
            found: list[Result] = tasks.collect()
    except RecassayError:
        raise
    except Exception as error:
        died = DIED.search(str(error))
        if died is None:
            raise
        raise UsageError(
            "U226",
            f"a worker died in the task of {named(things[int(died[1])])}, in all {died[2]} attempts",
            where=f"master {context.master}",
            hint="give workers more memory (spark.executor.memoryOverhead) and start again: finished work is kept",
        ) from error
    return found
