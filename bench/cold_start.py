"""Ten commands that start at once on a machine that has never compiled a kernel: writes its section of RESULTS.md.

    python bench/cold_start.py [--print]

Each round starts commands together with a cache of compiled kernels that they share, empty at first or full. The
first process compiles a kernel and the others wait for it. Seconds of a processor are those of all processes together;
they tell compilation apart from the wait on a busy machine, whose load is printed. A last process compiles all kernels
alone and says how long each took. ``--print`` leaves RESULTS.md as it is.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import polars as pl

from recassay.data.synthetic import log
from tools import help_if_asked, write_section

AT_ONCE = 10
AIM = 20.0  # seconds to the last result
COMPILED = """
import json, sys, time
from numba.core import event
from recassay.cli import main

class Seconds(event.Listener):
    open, took = [], {}
    def on_start(self, one):
        self.open.append(time.process_time())
    def on_end(self, one):
        about = one.data["dispatcher"].py_func
        name = f"{about.__module__}.{about.__qualname__}"
        self.took[name] = self.took.get(name, 0) + time.process_time() - self.open.pop()

event.register("numba:compile", Seconds())
try:
    main()
except SystemExit:
    pass
print(json.dumps(Seconds.took), file=sys.stderr)
"""


def inputs(folder: Path) -> list[str]:
    """Write a truth and a run of 200 users to CSV, and return the arguments that score them."""
    rows = (
        log(users=200, items=100, events=4_000, seed=1).frame().select("user_id", "item_id").unique(maintain_order=True)
    )
    rows.filter(pl.int_range(pl.len()) % 3 == 0).write_csv(folder / "truth.csv")
    rows.with_columns(score=pl.col("item_id") * -0.5).write_csv(folder / "run.csv")
    return ["score", str(folder / "truth.csv"), str(folder / "run.csv"), "-m", "ndcg@10 recall@10 mrr"]


def started(arguments: list[str], cache: Path, program: list[str]) -> subprocess.Popen[str]:
    """Start a command that keeps compiled kernels in ``cache``."""
    command = [sys.executable, *program, *arguments]
    environment = os.environ | {"NUMBA_CACHE_DIR": str(cache)}
    return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def round_of(processes: int, arguments: list[str], cache: Path) -> tuple[float, float, float]:
    """Return the seconds until the first and the last result, and the seconds of processors."""
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    began, ends = time.time(), []
    running = [started(arguments, cache, ["-m", "recassay"]) for _ in range(processes)]
    while running:
        for one in [one for one in running if one.poll() is not None]:
            ends.append(time.time() - began)
            running.remove(one)
            if one.returncode:
                raise RuntimeError(one.communicate()[1])
        time.sleep(0.01)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return min(ends), max(ends), after.ru_utime + after.ru_stime - spent.ru_utime - spent.ru_stime


def compiled(arguments: list[str], cache: Path) -> dict[str, float]:
    """Return the seconds of a processor that each kernel takes to compile, with the kernels that it calls."""
    process = started(arguments, cache, ["-c", COMPILED])
    return dict(json.loads(process.communicate()[1].strip().splitlines()[-1]))


def main() -> None:
    """Measure, print, and write the section."""
    with tempfile.TemporaryDirectory() as place:
        home = Path(place)
        arguments = inputs(home)
        lines = [
            "## Cold starts",
            "",
            f"`python bench/cold_start.py`: `recassay score` on 200 users from CSV, {AT_ONCE} processes at once, with "
            f"one cache of kernels; the aim is {AIM:.0f} seconds to the last result. Load of the machine "
            f"before: {os.getloadavg()[0]:.1f} on {len(os.sched_getaffinity(0))} processors. On a busy machine look at "
            "processor seconds: without other work, the last result takes at least their sum over the processors.",
            "",
            "| processes | cache | first result s | last result s | processor s |",
            "| ---: | --- | ---: | ---: | ---: |",
        ]
        for processes, kind in ((1, "empty"), (1, "full"), (AT_ONCE, "empty"), (AT_ONCE, "full")):
            found = round_of(processes, arguments, home / f"cache {processes}")
            print(processes, kind, *found, flush=True)
            lines.append(f"| {processes} | {kind} | " + " | ".join(f"{seconds:.1f}" for seconds in found) + " |")
        kernels = sorted(compiled(arguments, home / "alone").items(), key=lambda one: -one[1])
        lines += [
            "",
            f"Kernels that the command compiles: {len(kernels)}, each with those that it calls; "
            f"load at the end: {os.getloadavg()[0]:.1f}.",
            "",
            "| kernel | processor s |",
            "| --- | ---: |",
            *(f"| `{name.removeprefix('recassay.')}` | {seconds:.2f} |" for name, seconds in kernels),
        ]
    text = "\n".join(lines)
    print(text)
    if "--print" not in sys.argv:
        write_section("Cold starts", text)


if __name__ == "__main__":
    help_if_asked(__doc__)
    main()
