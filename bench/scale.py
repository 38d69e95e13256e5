"""Runs larger than memory: time and peak memory of judging in pieces, as users grow. Writes a section of RESULTS.md.

    python bench/scale.py [--quick] [--large]

Each judging is a process of its own on generated files (``bench/data``), ten items a user, with and without a budget;
its peak is what the system says it held at most. That all have the same means is checked. ``--large`` takes ten million
users too, and minutes.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import data
from standings import write_section

FILES = Path(__file__).resolve().parent / "data"
METRICS = "ndcg@10 recall@10 mrr hit@10"
LENGTH = 10
TITLE = "Runs larger than memory"
BUDGETS = (None, "1GB")

JUDGE = """
import json, sys, time
import recassay as ra
run, truth, metrics, memory = sys.argv[1:]
begin = time.perf_counter()
scores = ra.score({"run": run}, truth, metrics, **({"memory": memory} if memory else {}))
rows = [(row.metric, row.mean, row.low, row.high) for row in scores.rows]
status = dict(line.split(":", 1) for line in open("/proc/self/status"))  # rusage would know the parent's peak
peak = int(status["VmHWM"].split()[0]) >> 10
print(json.dumps([time.perf_counter() - begin, peak, rows]))
"""


@dataclass(frozen=True)
class Judged:
    """One judging: seconds, peak memory in MB, and what came out."""

    seconds: float
    peak: int
    rows: list[list[object]]


def judge(run: Path, truth: Path, memory: str | None) -> Judged:
    words = [sys.executable, "-c", JUDGE, str(run), str(truth), METRICS, memory or ""]
    return Judged(*json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout))


def mixed(run: Path) -> Path:
    """The same rows in any order."""
    import polars as pl

    path = run.with_name(f"mixed-{run.name}")
    if not path.exists():
        pl.read_parquet(run).sample(fraction=1.0, shuffle=True, seed=1).write_parquet(path)
    return path


def main(arguments: list[str]) -> None:
    sizes = [100_000] if "--quick" in arguments else [100_000, 300_000, 1_000_000]
    sizes += [10_000_000] if "--large" in arguments else []
    lines = [
        "| users | rows | order | budget | seconds | peak memory | rows a second |",
        "|---:|---:|---|---|---:|---:|---:|",
    ]
    for users in sizes:
        run, truth = data.make(FILES, users, LENGTH)
        rows = users * LENGTH
        means = None
        for order, path in (("ascending", run), ("any", mixed(run))):
            for budget in BUDGETS:
                one = judge(path, truth, budget)
                if means not in (None, one.rows):
                    raise AssertionError(f"other numbers under {budget}, {order}: {one.rows} and {means}")
                means = one.rows
                lines.append(
                    f"| {users:,} | {rows:,} | {order} | {budget or 'none'} | {one.seconds:.1f} | {one.peak:,} MB "
                    f"| {rows / one.seconds:,.0f} |"
                )
                print(lines[-1], flush=True)
    write_section(TITLE, "\n".join([f"## {TITLE}", "", f"`python bench/scale.py`: {METRICS}.", "", *lines, ""]))


if __name__ == "__main__":
    main(sys.argv[1:])
