"""How every library is timed: in a process of its own, after a warm-up on a small slice of the same files.

    python bench/peers/LIBRARY.py RUN TRUTH REPEATS

prints one JSON line: seconds to load and convert, seconds to compute, peak memory, and the means it found.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq

WARM_USERS = 1_000

Load = Callable[[str, str], Any]
Compute = Callable[[Any], dict[str, float]]


def main(library: str, version: str, load: Load, compute: Compute) -> None:
    run, truth, repeats = sys.argv[1], sys.argv[2], int(sys.argv[3])
    with tempfile.TemporaryDirectory() as folder:
        small = [_slice(path, Path(folder)) for path in (run, truth)]
        compute(load(*small))
    loads, computes, means = [], [], {}
    for _ in range(repeats):
        start = time.perf_counter()
        ready = load(run, truth)
        loaded = time.perf_counter()
        means = compute(ready)
        loads.append(loaded - start)
        computes.append(time.perf_counter() - loaded)
        del ready
    peak = _peak()
    answer = {"library": library, "version": version, "load": loads, "compute": computes, "peak": peak, "means": means}
    print(json.dumps(answer))


def _peak() -> int:
    """Highest resident memory of this process alone (ru_maxrss would begin at that of the process that started it)."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024


def _slice(path: str, folder: Path) -> str:
    """The rows of the first users, as a file of its own."""
    table = pq.ParquetFile(path).read_row_group(0)
    users = table["user_id"].unique()[:WARM_USERS]
    out = folder / Path(path).name
    pq.write_table(table.filter(pc.is_in(table["user_id"], users)), out)
    return str(out)
