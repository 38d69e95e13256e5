"""What benchmarks share: their options, times of several functions in turn, and the sections of RESULTS.md."""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

RESULTS = Path(__file__).resolve().parent / "RESULTS.md"


def is_quick(about: str | None) -> bool:
    """Return whether the command line asks for a short trial; ``--help`` prints ``about``."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a short trial that writes no section")
    return bool(parser.parse_args().quick)


def help_if_asked(about: str | None) -> None:
    """Print ``about`` and end if the command line has ``--help``: for scripts that read their own few words."""
    if {"-h", "--help"} & set(sys.argv[1:]):
        print((about or "").strip())
        sys.exit()


def medians(runs: dict[str, Callable[[], object]], times: int = 5) -> dict[str, float]:
    """Return the median seconds of processor time of each function; the functions run in turn."""
    for run in runs.values():
        run()
    found: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(times):
        for name, run in runs.items():
            begin = time.process_time()
            run()
            found[name].append(time.process_time() - begin)
    return {name: statistics.median(seconds) for name, seconds in found.items()}


def machine() -> str:
    """Return the name of the processor, the number of cores, the memory, and the version of Python."""
    cpu = next(
        (line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line),
        "",
    )
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{cpu}, {os.cpu_count()} cores, {memory:.0f} GB, Python {platform.python_version()}"


def write_section(title: str, text: str) -> None:
    """Put a section into RESULTS.md in the place of its last version, or at the end."""
    parts = RESULTS.read_text().split("\n## ")
    titles = [part.partition("\n")[0] for part in parts]
    place = titles.index(title) if title in titles else len(parts)
    parts[place : place + 1] = [text.removeprefix("## ")]
    RESULTS.write_text("\n## ".join(part.rstrip() + "\n" for part in parts))
