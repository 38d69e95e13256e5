"""Spark as every library of ``bench/scale.py`` gets it, and what Spark says that a library took of it."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

from pyspark.sql import DataFrame, SparkSession

Judge = Callable[[DataFrame, DataFrame], dict[str, float]]  # of a run and a truth


def main(judge: Judge) -> None:
    """Judge the run and the truth that the command names, and print seconds, means and what was shuffled."""
    asked = json.loads(sys.argv[1])
    spark = session(asked)
    spark.range(1_000).selectExpr("sum(id)").collect()  # the first job of a session sets it up
    begin = time.perf_counter()
    means = judge(spark.read.parquet(asked["run"]), spark.read.parquet(asked["truth"]))
    seconds = time.perf_counter() - begin
    print(json.dumps({"seconds": seconds, "means": means, **taken(spark)}), flush=True)
    spark.stop()


def session(asked: dict[str, Any]) -> SparkSession:
    """A session on four cores of this machine."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[4]").appName("scale")
    settings = {
        "spark.driver.memory": asked["heap"],
        "spark.local.dir": asked["scratch"],
        "spark.sql.shuffle.partitions": asked["partitions"],
        "spark.io.compression.codec": asked.get("codec", "lz4"),
        "spark.sql.execution.arrow.maxRecordsPerBatch": 65536,
        "spark.sql.execution.arrow.maxBytesPerBatch": 2**31 - 1,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def taken(spark: SparkSession) -> dict[str, float]:
    """Bytes shuffled and spilled by all stages, tasks, and seconds of collecting garbage."""
    context, machine = spark.sparkContext._jsc.sc(), spark.sparkContext._jvm
    context.listenerBus().waitUntilEmpty()
    executor = context.statusStore().executorList(True).apply(0)
    nothing, anything = spark.sparkContext._gateway.new_array(machine.double, 0), machine.java.util.ArrayList()
    stages = context.statusStore().stageList(anything, False, False, nothing, anything)
    spilled = sum(stages.apply(place).diskBytesSpilled() for place in range(stages.size()))
    return {
        "shuffled": executor.totalShuffleWrite(),
        "spilled": spilled,
        "tasks": executor.totalTasks(),
        "collecting": executor.totalGCTime() / 1000,
    }
