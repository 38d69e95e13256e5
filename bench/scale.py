"""Judging as users grow: recassay on one machine and on Spark, beside what other libraries do on Spark.

    python bench/scale.py [--quick] [--large] [--keep]

Five metrics with values per user, means and intervals (the others: means), of generated files (``bench/data/scale``):
ten items and two relevant ones a user. Every measurement is a process of its own with a limit of time; what fails is a
row that says how. All must find the same means. ``--quick`` takes 100,000 users and leaves RESULTS.md as it is;
``--large`` goes to 100 million users, which takes 20 GB of disk and an hour. Files are removed, unless
``--keep``, with which a run that was stopped goes on where it was.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

import data
from recassay.threads import available
from score import HERE, Peer
from tools import help_if_asked, write_section
from watched import Watched, watched

FILES = HERE / "data" / "scale"
MEASURED = FILES / "measured.jsonl"
METRICS = "ndcg@10 recall@10 precision@10 hit@10 mrr@10"
LENGTH, RELEVANT = 10, 2
MILLION = 1_000_000
SIZES, LARGE, QUICK = (MILLION // 10, MILLION, 10 * MILLION), (30 * MILLION, 100 * MILLION), (MILLION // 10,)
LIMIT = 1_500  # seconds a measurement may take
OFTEN, LONG = 3, 60  # a measurement is taken so often, unless it takes longer than that many seconds
TOLERANCE = 1e-9  # in means: libraries sum in other orders
HEAP = {MILLION // 10: "2g", MILLION: "2g", 10 * MILLION: "4g", 30 * MILLION: "4g", 100 * MILLION: "6g"}
BUDGET = {MILLION // 10: "1GB", MILLION: "1GB", 10 * MILLION: "2GB", 30 * MILLION: "5GB", 100 * MILLION: "14GB"}
TITLE, COST = "Scale", "Cost on Spark"
SAID = f"""\
`python bench/scale.py`: {METRICS}, lists of {LENGTH},
{RELEVANT} relevant items a user, in part files. Spark runs four tasks at a time (`local[4]`) on {available()} cores of
one machine; load before the first row: {os.getloadavg()[0]:.1f}. Seconds are from files to means (recassay: and
intervals), medians of {OFTEN} where one takes less than a minute; Spark and the libraries are started before. Processor
seconds and memory are those of all processes, start included. Spark compresses with lz4, its default, but for 100
million users with zstd.

All means of a size differ by less than {TOLERANCE}. The definitions are the same on these files, where everybody has a
list and relevant items, and no scores tie. Where somebody has no list, recassay and RePlay count 0 and Microsoft
recommenders leave the user out; of tied scores RePlay takes the larger item first, recassay the smaller, Microsoft
recommenders what comes.

RePlay is not asked for more than a million users: ten million would take it about a quarter of an hour on two cores, in
proportion; that was not measured."""
SAID_OF_COST = """\
`python bench/scale.py`: recassay on Spark, as above. Shuffled bytes are those written, compressed, of the rows of
all runs and of the truth. Processor seconds count the start of Spark and of Python too."""


@dataclass(frozen=True)
class Way:
    """A way to judge. ``largest``: more users are not tried."""

    name: str
    script: str
    environment: str | None = None
    spark: bool = True
    budget: bool = False
    mixed: bool = False
    largest: int = 100 * MILLION


OURS = Way("recassay, Spark", "scale_recassay.py")
WAYS = (
    Way("recassay, one machine", "scale_recassay.py", spark=False, largest=10 * MILLION),
    Way("recassay, one machine, budget", "scale_recassay.py", spark=False, budget=True),
    Way(
        "recassay, one machine, budget, rows in any order",
        "scale_recassay.py",
        spark=False,
        budget=True,
        mixed=True,
        largest=10 * MILLION,
    ),
    OURS,
    Way("RePlay, Spark", "scale_replay.py", "spark", largest=MILLION),
    Way("Microsoft recommenders, Spark (3 metrics)", "scale_microsoft.py", "spark", largest=10 * MILLION),
)


@dataclass(frozen=True)
class Shape:
    """What is judged."""

    users: int
    length: int = LENGTH
    metrics: str = METRICS
    systems: int = 1

    @property
    def rows(self) -> int:
        """Of the run."""
        return self.users * self.length

    @property
    def partitions(self) -> int:
        """Of a shuffle: about two million rows each."""
        return max(16, self.rows * self.systems // (2 * MILLION))


def measure(way: Way, shape: Shape) -> Watched:
    """One measurement in a process of its own."""
    run, truth = data.make_parts(FILES, shape.users, shape.length, relevant=RELEVANT)
    asked: dict[str, Any] = {"run": str(_mixed(run) if way.mixed else run), "truth": str(truth)}
    asked |= {"metrics": shape.metrics, "systems": shape.systems}
    python = Peer(way.name, way.script, way.environment).python()
    with tempfile.TemporaryDirectory(dir=FILES, ignore_cleanup_errors=True) as scratch:
        if way.spark:
            asked |= {"heap": HEAP[shape.users], "scratch": scratch, "partitions": shape.partitions}
            asked["codec"] = "zstd" if shape.users == LARGE[-1] else "lz4"
        else:
            asked["memory"] = BUDGET[shape.users] if way.budget else None
        return watched([python, str(HERE / "peers" / way.script), json.dumps(asked)], LIMIT, {"TMPDIR": scratch})


def median(way: Way, shape: Shape) -> Watched:
    """The measurement of median time among a few, or the only one if it takes long."""
    taken = _measured(way, shape)
    while not taken or (not taken[0].failed and taken[0].answer["seconds"] < LONG and len(taken) < OFTEN):
        taken.append(measure(way, shape))
        with MEASURED.open("a") as file:
            file.write(json.dumps([way.name, asdict(shape), asdict(taken[-1])]) + "\n")
    done = [one for one in taken if not one.failed]
    if not done:
        return taken[0]
    middle = statistics.median_low(one.answer["seconds"] for one in done)
    found = next(one for one in done if one.answer["seconds"] == middle)
    return replace(found, peak=max(one.peak for one in done))


def _measured(way: Way, shape: Shape) -> list[Watched]:
    """What an earlier run with ``--keep`` measured."""
    lines = MEASURED.read_text().splitlines() if MEASURED.exists() else []
    found = [json.loads(line) for line in lines]
    return [Watched(**taken) for name, what, taken in found if (name, what) == (way.name, asdict(shape))]


def _mixed(run: Path) -> Path:
    """The same rows in any order: those of each part file, and the part files, are shuffled among each other."""
    folder = run.with_name(f"mixed-{run.name}")
    if not folder.exists():
        with data.whole(folder) as unfinished:
            files = sorted(run.iterdir())
            for number in range(len(files)):
                some = pl.concat([pl.read_parquet(file).gather_every(len(files), number) for file in files])
                shuffled = some.sample(fraction=1.0, shuffle=True, seed=number)
                shuffled.write_parquet(unfinished / f"part-{number:05}.parquet")
    return folder


def growth(sizes: tuple[int, ...], ways: tuple[Way, ...]) -> Iterator[str]:
    """A row for each size and way; means that differ stop everything."""
    yield (
        "| users | rows | way | seconds | rows a second | processor seconds "
        "| times recassay on Spark: seconds, processors | peak memory |"
    )
    yield "|---:|---:|---|---:|---:|---:|---:|---:|"
    for users in sizes:
        shape = Shape(users)
        known = [way for way in ways if users <= way.largest]
        found = {way: median(way, shape) for way in known}
        check({way.name: one for way, one in found.items()})
        ours = found.get(OURS)
        for way, one in found.items():
            yield _row(way, shape, one, ours)
        _clear(users)


def _row(way: Way, shape: Shape, one: Watched, ours: Watched | None) -> str:
    name = f"{way.name} of {BUDGET[shape.users]}" if way.budget else way.name
    name = name.replace("budget, rows in any order of", "rows in any order, budget of")
    begin, spent = f"| {shape.users:,} | {shape.rows:,} | {name} ", sum(one.processor.values())
    if one.failed:
        return f"{begin}| {one.failed} | | {spent:,.0f} | | {one.peak >> 20:,} MB |"
    seconds, ratio = one.answer["seconds"], ""
    if ours is not None and not ours.failed:
        ratio = f"{seconds / ours.answer['seconds']:.2f}, {spent / sum(ours.processor.values()):.2f}"
    return f"{begin}| {seconds:,.1f} | {shape.rows / seconds:,.0f} | {spent:,.0f} | {ratio} | {one.peak >> 20:,} MB |"


def check(found: Mapping[str, Watched]) -> None:
    """All that came to an end found the same means."""
    done = {name: one.answer["means"] for name, one in found.items() if not one.failed}
    for name, means in done.items():
        for metric, mean in means.items():
            others = {other: all_[metric] for other, all_ in done.items() if metric in all_}
            far = {other: value for other, value in others.items() if abs(value - mean) > TOLERANCE}
            if far:
                raise AssertionError(f"{metric}: {name} has {mean}, but {far}")


def _clear(users: int) -> None:
    """The files of a size are needed no more, unless they are to be kept."""
    if "--keep" not in sys.argv:
        for folder in FILES.glob(f"*-{users}x*"):
            shutil.rmtree(folder)


BASE = Shape(MILLION)
COSTS = {
    "base": BASE,
    "twice the users": replace(BASE, users=2 * MILLION),
    "ten times the users": replace(BASE, users=10 * MILLION),
    "lists of 20": replace(BASE, length=20),
    "lists of 50": replace(BASE, length=50),
    "1 metric": replace(BASE, metrics="ndcg@10"),
    "10 metrics": replace(BASE, metrics=f"{METRICS} map@10 rbp(p=0.9) ndcg@5 recall@5 mrr@5"),
    "3 systems": replace(BASE, systems=3),
}
HEAP |= {2 * MILLION: "2g"}


def costs(shapes: Mapping[str, Shape]) -> Iterator[str]:
    """What Spark took of processors, disks and memory, and what that makes for a million users."""
    yield (
        "| what | users | items | metrics | systems | seconds | processor seconds (JVM + Python) | a million users "
        "| shuffled | shuffled a row | spilled | peak memory |"
    )
    yield "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|"
    for name, shape in shapes.items():
        one = median(OURS, shape)
        begin = f"| {name} | {shape.users:,} | {shape.length} | {len(shape.metrics.split())} | {shape.systems} "
        if one.failed:
            yield f"{begin}| {one.failed} | | | | | | {one.peak >> 20:,} MB |"
        else:
            yield begin + _cost(shape, one)
        _clear(shape.users)


def _cost(shape: Shape, one: Watched) -> str:
    machine, python = (one.processor.get(program, 0.0) for program in ("java", "python"))
    rows = shape.users * (shape.length * shape.systems + RELEVANT)
    shuffled = one.answer["shuffled"]
    return (
        f"| {one.answer['seconds']:,.1f} | {machine:,.0f} + {python:,.0f} "
        f"| {(machine + python) / shape.users * MILLION:,.1f} | {shuffled / 1e6:,.0f} MB | {shuffled / rows:.1f} B "
        f"| {one.answer['spilled'] / 1e6:,.0f} MB | {one.peak >> 20:,} MB |"
    )


def main(arguments: list[str]) -> None:
    sizes = QUICK if "--quick" in arguments else SIZES + (LARGE if "--large" in arguments else ())
    ways = tuple(way for way in WAYS if way.environment is None) if "--quick" in arguments else WAYS
    try:
        grown = _said(growth(sizes, ways))
        cost = [] if "--quick" in arguments else _said(costs(COSTS))
    finally:
        if "--keep" not in arguments:
            shutil.rmtree(FILES, ignore_errors=True)
    if "--quick" not in arguments:
        write_section(TITLE, "\n".join([f"## {TITLE}", "", SAID, "", *grown, ""]))
        write_section(COST, "\n".join([f"## {COST}", "", SAID_OF_COST, "", *cost, ""]))


def _said(lines: Iterator[str]) -> list[str]:
    said = []
    for line in lines:
        print(line, flush=True)
        said.append(line)
    return said


if __name__ == "__main__":
    help_if_asked(__doc__)
    main(sys.argv[1:])
