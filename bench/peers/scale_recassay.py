"""recassay: means and intervals of run files, by Spark or, without a heap for it, by the local engine."""

from __future__ import annotations

import json
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import recassay as ra


def locally(asked: dict[str, Any]) -> None:
    begin = time.perf_counter()
    scores = ra.score(
        _systems(asked, asked["run"]),
        asked["truth"],
        asked["metrics"],
        execution=ra.options.Execution(memory=asked["memory"]),
    )
    seconds = time.perf_counter() - begin
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    peak = int(status["VmHWM"].split()[0]) << 10  # rusage would know the parent's peak
    print(json.dumps({"seconds": seconds, "means": _means(scores), "peak": peak}))


def on_spark(asked: dict[str, Any], run: Any, truth: Any) -> dict[str, float]:
    return _means(
        ra.score(_systems(asked, run), truth, asked["metrics"], execution=ra.options.Execution(engine="spark"))
    )


def _systems(asked: dict[str, Any], run: Any) -> dict[str, Any]:
    """The run, as often as there are to be systems."""
    return {f"run {number}": Path(run) if isinstance(run, str) else run for number in range(asked.get("systems", 1))}


def _means(scores: Any) -> dict[str, float]:
    return {row.metric: row.mean for row in scores.rows if row.system == "run 0"}


if __name__ == "__main__":
    given = json.loads(sys.argv[1])
    if "heap" in given:
        import on_spark as spark

        spark.main(partial(on_spark, given))
    else:
        locally(given)
