"""Judging run files that are larger than memory, piece by piece, within a stated budget.

The truth, the training log and the item features are in memory, and so is, in its turn, one column of values of all
users. Lists are never all there: a piece is read, judged as a part, and let go; values go to disk.
"""

from __future__ import annotations

import mmap
import re
import tempfile
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any

import numpy as np

from recassay.data.io import Stretch, open_stretches, run_sources
from recassay.data.pieces import Pieces
from recassay.data.read import Columns
from recassay.data.run import Run
from recassay.data.truth import Truth
from recassay.engine.local import Job, Judgement
from recassay.engine.parts import Tally
from recassay.engine.shelf import Shelf
from recassay.errors import UsageError
from recassay.metrics.refusals import places_of

SIZE = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([KMGT]?)i?B?\s*", re.IGNORECASE)
UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}

AT_ONCE = 12  # what a row takes while it is read, sorted and judged, in sizes of the row
PER_VALUE = 80  # bytes that the value of a user takes while mean and interval of a column are made
LEAST = 64 << 20  # less than this is no budget for reading
LOOK = 10_000  # rows that tell how large a row is


@dataclass(frozen=True)
class Reading:
    """How run files are read, and in how much memory."""

    memory: int
    columns: Columns = None
    format: str | None = None
    nan: str = "error"
    keep_scores: bool = True


def bytes_of(size: str | int) -> int:
    """A size in bytes from words.

    >>> bytes_of("2GB"), bytes_of("1.5 MiB"), bytes_of(4096)
    (2147483648, 1572864, 4096)
    """
    found = SIZE.fullmatch(str(size))
    if found is None or not float(found[1]):
        raise UsageError("U102", f"memory={size!r} is no size", hint="2GB or 512MB, say")
    return int(float(found[1]) * UNITS[found[2].upper()])


def resident() -> int:
    """Bytes of memory that this process holds now; 0 where the system does not say."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE
    except OSError:
        return 0


def judge_files(job: Job, runs: Any, how: Reading) -> tuple[dict[str, Judgement], int]:
    """Each run, which is a path, judged in pieces: the same bits as if it were all there.

    Beside the judgements: how many values may be in memory together while intervals are made of them.
    """
    left = _left(job, how.memory)
    ids = job.truth.vocabulary.decode(np.unique(job.truth.items))
    job = replace(job, context=replace(job.context, judged_items=ids))
    return {name: _judge(job, name, path, how, left) for name, path in _paths(runs)}, left // PER_VALUE


def _paths(runs: Any) -> list[tuple[str, str | Path]]:
    if isinstance(runs, dict) and runs and all(isinstance(path, str | Path) for path in runs.values()):
        return [(str(name), path) for name, path in runs.items()]
    listed = isinstance(runs, list | tuple) and runs and all(isinstance(path, str | Path) for path in runs)
    if listed or isinstance(runs, str | Path):
        return list(run_sources(runs))
    raise UsageError("U223", "a budget of memory is for run files, and these are in memory", hint="give their paths")


def _judge(job: Job, name: str, path: str | Path, how: Reading, left: int) -> Judgement:
    with tempfile.TemporaryDirectory(prefix="recassay-") as folder:
        stretches = open_stretches(path, "run", Path(folder), columns=how.columns, format=how.format)
        pieces = Pieces(stretches, Path(folder), _rows_at_once(stretches[0], left))
        shelf, tallies = Shelf(), list[Tally]()
        begin = done = 0
        for frame, last in pieces:
            run = Run.from_frame(frame, name, nan=how.nan, keep_scores=how.keep_scores, origin=str(path))  # type: ignore[arg-type]
            done += frame.height
            del frame  # the run has what it needs of it
            end = job.truth.queries.len() if last is None else _behind(run, job.truth, last)
            part = job.part(run, _between(job.truth, begin, end, first=not tallies))
            shelf.add(part)
            tallies = [reduce(add, [*tallies, part.tally])]
            begin = end
            if job.progress is not None:
                job.progress(f"judging {name}", done, pieces.rows)
        return job.together(name, shelf.columns(), tallies[0])


def _behind(run: Run, truth: Truth, last: Any) -> int:
    """The place behind the last user of a piece."""
    places_of(run, truth)
    queries = truth.queries
    return queries.len() if last > queries[-1] else int(queries.search_sorted(last, side="right"))


def _between(truth: Truth, begin: int, end: int, *, first: bool) -> Truth:
    """Some users of the truth; what was merged in it is counted with the first of them."""
    part = truth.take(np.arange(begin, end))
    return part if first else replace(part, merged=0, conflicting=0)


def _left(job: Job, memory: int) -> int:
    """What is left of the budget for lists and values; U222 if that is next to nothing."""
    held, users = resident(), job.truth.queries.len()
    values = max(LEAST, PER_VALUE * users)
    if memory < held + values:
        raise UsageError(
            "U222",
            f"{memory >> 20:,} MB are too little: program, truth and log take {held >> 20:,} MB, and judging "
            f"{users:,} users {values >> 20:,} MB",
            where="memory",
            hint=f"give {-(-(held + values) // 2**20)}MB or more, or judge some of the users with until",
        )
    return memory - held


def _rows_at_once(stretch: Stretch, left: int) -> int:
    """Rows that can be read, laid out and judged in so much memory."""
    some = stretch.read(stretch.columns, 0, LOOK)
    return max(1, int(left / (AT_ONCE * some.estimated_size() / some.height)))
