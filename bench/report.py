"""The page of a large scoring: how long it takes to write, and how large it is.

    python bench/report.py [--quick]

Ten systems, 20 metrics, up to a million users, every pair compared. Values of users are made, not measured: hits, gains
and reciprocal ranks, some undefined. Writes its section of bench/RESULTS.md.
"""

from __future__ import annotations

import itertools
import resource
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

from recassay.data.io import write_json
from recassay.data.io.manifest import recording
from recassay.report.folder.page import write_page
from recassay.report.folder.results import read_results
from recassay.study.run.record import Values
from recassay.threads import available
from tools import is_quick, write_section

SYSTEMS, USERS, QUICK = 10, (10_000, 100_000, 1_000_000), (10_000,)
METRICS = [f"{name}@{k}" for k in (5, 10, 20, 50) for name in ("ndcg", "recall", "precision", "hit", "mrr")]
TITLE = "The page of a large scoring"
PLACE = {"dataset": "made", "split": "given", "protocol": "given", "seed": 0, "design": "lists"}


def values(users: int, system: int) -> pl.DataFrame:
    """What users get from a system: the better, the higher its number."""
    rng = np.random.default_rng(system)
    rank = rng.geometric(0.01 + 0.002 * system, users)
    undefined = rng.random(users) < 0.02
    columns = {}
    for metric in METRICS:
        name, _, k = metric.partition("@")
        hit = rank <= int(k)
        worth = {"ndcg": 1 / np.log2(1 + rank), "mrr": 1 / rank, "precision": 1 / int(k)}.get(name, 1.0)
        columns[metric] = np.where(undefined, np.nan, hit * worth)
    table = pl.DataFrame(columns).fill_nan(None)
    return table.select(
        pl.lit(f"system {system}").alias("system"),
        *(pl.lit(value).alias(name) for name, value in PLACE.items()),
        pl.int_range(users).alias("unit"),
        pl.int_range(users).alias("user"),
        *METRICS,
    )


def folder(home: Path, users: int) -> None:
    """A folder of results as a study writes it."""
    parts, rows, names = Values(home / "parts"), [], [f"system {system}" for system in range(SYSTEMS)]
    for system, name in enumerate(names):
        table = values(users, system)
        parts.add(table)
        for metric in METRICS:
            mean, error = table[metric].mean(), 1.96 * table[metric].std() / users**0.5
            bounds = {"mean": mean, "low": mean - error, "high": mean + error}
            rows.append({"system": name, **PLACE, "metric": metric, **bounds, "n": users - table[metric].null_count()})
    parts.write(home / "scores.parquet")
    means = {(row["system"], row["metric"]): row["mean"] for row in rows}
    pairs = [
        {
            **PLACE, "metric": metric, "a": a, "b": b, "difference": means[a, metric] - means[b, metric],
            "low": 0.0, "high": 0.0, "p": 0.001, "p_adjusted": 0.01, "effect": 0.1, "n": users, "dropped": 0,
            "test": "permutation", "correction": "holm", "resamples": 0, "significant": True, "note": "",
        }
        for metric in METRICS
        for a, b in itertools.combinations(names, 2)
    ]  # fmt: skip
    write_json({"recassay": "bench", "rows": rows, "comparisons": pairs, "findings": []}, home / "summary.json")


def measured(users: int) -> str:
    """A row of the table."""
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        with recording(home):
            folder(home, users)
        begin = time.perf_counter()
        page = write_page(read_results(home))
        seconds = time.perf_counter() - begin
        sizes = [(home / "scores.parquet").stat().st_size / 2**20, page.stat().st_size / 2**20]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return f"| {users:,} | {sizes[0]:,.1f} | {seconds:.2f} | {sizes[1]:.2f} | {peak:,} |"


def main() -> None:
    quick = is_quick(__doc__)
    lines = [
        f"## {TITLE}\n\nThe page of {SYSTEMS} systems and {len(METRICS)} metrics, all 45 pairs compared: read from "
        f"its folder, aggregated, drawn and written, on {available()} threads. `python bench/report.py`.\n",
        "| users | scores.parquet MB | write the page s | page MB | peak MB, making the data included |",
        "| ---: | ---: | ---: | ---: | ---: |",
    ]
    for users in QUICK if quick else USERS:
        lines.append(measured(users))
        print(lines[-1], flush=True)
    if not quick:
        write_section(TITLE, "\n".join(lines))


if __name__ == "__main__":
    main()
