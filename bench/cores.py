"""Rows of inputs.py on 1, 2, 4, ... processors: seconds beside Polars by hand, and the same bits on all of them.

    python bench/cores.py [--cores 1 2 4] [--share 0.1] [--repeats 3] [ROW ...]

recassay and the other way have a process for each number of processors; it may use that many. Processes take turns.
A row fails if any bit of recassay's values per user, means, intervals, counts or findings depends on the number.
Numbers above the machine's processors are left out. Writes the section of RESULTS.md for the largest number, but not
of a ``--share``.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import statistics
import subprocess
import sys
import time

import inputs
import recassay as ra
from recassay.threads import available
from tools import machine, write_section

ROWS = (
    "Parquet shuffled", "frame shuffled, text ids", "Parquet shuffled, text ids", "Parquet shuffled, UUIDs",
    "wide: 1,000 items a list, shuffled", "short: 10 items a list, shuffled", "CSV shuffled",
    "short: 10 items a list, by user and rank",
)  # fmt: skip


def serve(way: str, row: inputs.Row) -> None:
    """Score whenever a line comes; answer with seconds, and with a digest of all that was computed."""
    run, truth = inputs.held(row)
    for _ in sys.stdin:
        begin = time.perf_counter()
        if way == "recassay":
            found = ra.score({"run": run}, truth, inputs.METRICS, interval=row.interval)
        else:
            inputs.WAYS[way](run, truth)
        seconds = time.perf_counter() - begin
        print(json.dumps([seconds, digest(found) if way == "recassay" else ""]), flush=True)


def digest(scores: ra.Scores) -> str:
    """Return a digest of every bit of scores: values per user, means, intervals, counts and findings."""
    found = hashlib.sha256(repr((scores.rows, scores.findings)).encode())
    for key in sorted(scores.per_unit):
        found.update(scores.per_unit[key].tobytes())
    return found.hexdigest()


def measured(row: inputs.Row, counts: list[int], repeats: int) -> str:
    """Return the line of a row, with the median seconds of each number of processors, without the first round."""
    inputs.prepare(row)
    ways = [(way, count) for count in counts for way in ("recassay", row.others[0])]
    servers = {f"{way} {count}": started(way, row, count) for way, count in ways}
    answers = inputs.in_turn(servers, repeats + 1)
    digests = {found for name, own in answers.items() if name.startswith("recassay") for _, found in own}
    if len(digests) != 1:
        raise SystemExit(f"{row.name}: bits depend on the number of processors")
    seconds = {name: statistics.median(took for took, _ in own[1:]) for name, own in answers.items()}
    cells = [
        f"{seconds[f'recassay {count}']:.2f}, {seconds[f'recassay {count}'] / seconds[f'{row.others[0]} {count}']:.2f}"
        for count in counts
    ]
    return f"| {row.name} | {row.users:,} x {row.length:,} | {row.others[0]} | {' | '.join(cells)} |"


def started(way: str, row: inputs.Row, count: int) -> subprocess.Popen[str]:
    """Start a process that has so many processors and scores a row in one way whenever a line comes."""
    some = ",".join(map(str, sorted(os.sched_getaffinity(0))[:count]))
    command = ["taskset", "-c", some, sys.executable, __file__, "--serve", way, json.dumps(row.__dict__)]
    environment = os.environ | {"POLARS_MAX_THREADS": str(count)}
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", help="words that the names of the rows hold")
    parser.add_argument("--cores", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--share", type=float, default=1.0, help="share of the users of each row")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--serve", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve[0], inputs.Row(**json.loads(options.serve[1])))
        return
    counts = [count for count in options.cores if count <= available()]
    heads = " | ".join(f"{count} {'core' if count == 1 else 'cores'}: s, ratio" for count in counts)
    lines = [
        f"`python bench/cores.py`: seconds of recassay with intervals, medians of {options.repeats} rounds after one "
        "that is not counted,\nand their ratio to those of the other way on as many cores. All bits of values per "
        f"user, means, intervals, counts and\nfindings are the same. {machine()}.",
        "",
        f"| input | users x items | beside | {heads} |",
        f"| --- | --- | --- |{' --- |' * len(counts)}",
    ]  # fmt: skip
    print(*lines, sep="\n", flush=True)
    for row in inputs.chosen(options.rows, options.share):
        if row.name in ROWS:
            lines.append(measured(row, counts, options.repeats))
            print(lines[-1], flush=True)
    if options.share == 1 and not options.rows:
        title = f"Inputs on up to {max(counts)} cores"
        write_section(title, f"## {title}\n\n" + "\n".join(lines))


if __name__ == "__main__":
    main()
