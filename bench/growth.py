"""Seconds and memory of recassay as users grow, on Parquet with shuffled rows and text ids, lists of ten.

    python bench/growth.py [--users 100000 1000000 10000000] [--repeats 1]

Writes its section of RESULTS.md, but not of other numbers of users.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
from pathlib import Path

import polars as pl

import data
import inputs
from tools import machine, write_section

USERS = (100_000, 1_000_000, 10_000_000)
TITLE = "Growth with text ids"
HEAD = (
    "| users x 10 | recassay: s (processor s), peak | s a million users | processor s a million users, without the "
    "kernel's | columns in memory, MB | peak / columns |",
    "| ---: | ---: | ---: | ---: | ---: | ---: |",
)


def measured(users: int, repeats: int) -> str:
    """Return the line of the table for so many users, from ``repeats`` rounds after one that is not counted."""
    paths = data.make(inputs.FILES, users, 10, strings=True, shuffled=True)
    command = [sys.executable, __file__, "--serve", *map(str, paths)]
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    (answers,) = inputs.in_turn({"recassay": server}, repeats + 1).values()
    wall, peak = (statistics.median(answer[place] for answer in answers[1:]) for place in (0, 2))
    own = statistics.median(answer[1] - answer[4] for answer in answers[1:])
    columns = sum(bytes_of_texts(path) for path in paths)
    a_million = (f"{seconds / users * 1e6:.2f}" for seconds in (wall, own))
    cells = [f"{users:,}", inputs.cell(answers), *a_million, f"{columns / 1e6:,.0f}"]
    return f"| {' | '.join(cells)} | {peak / columns:.1f} |"


def bytes_of_texts(path: Path) -> int:
    """Return what the columns of a file take in memory: 8 bytes for a score, 16 and the characters for a text."""
    rows = pl.scan_parquet(path).select(pl.len()).collect().item()
    texts = pl.read_parquet(path, columns=["user_id", "item_id"], n_rows=1).row(0)
    return int(rows * (sum(16 + len(text) for text in texts) + (8 if path.name.startswith("run") else 0)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--users", type=int, nargs="+", default=USERS)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--serve", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        run, truth = map(Path, options.serve)
        inputs.serve(lambda: inputs.with_recassay(run, truth, "abc"))
        return
    said = (
        "`python bench/growth.py`: recassay alone, six metrics with intervals, Parquet with shuffled rows and text "
        f"ids,\nlists of ten. Rounds counted: {options.repeats}, after one that is not. {machine()}."
    )
    lines = [said, "", *HEAD]
    print(*lines, sep="\n", flush=True)
    for users in options.users:
        lines.append(measured(users, options.repeats))
        print(lines[-1], flush=True)
    if tuple(options.users) == USERS:
        write_section(TITLE, f"## {TITLE}\n\n" + "\n".join(lines))


if __name__ == "__main__":
    main()
