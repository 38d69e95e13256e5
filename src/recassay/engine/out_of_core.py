"""Judging files that are larger than memory, piece by piece, within a stated budget.

In memory are the item features, what must be known of every item and every user's id, and, in its turn, one column of
values of all users. Lists, truth and training log are never all there: the rows of some users are read, judged as a
part, and let go; values go to disk.
"""

from __future__ import annotations

import mmap
import re
import tempfile
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any, get_args

import polars as pl

from recassay.comparison.intervals import Uncertainty
from recassay.data.distances import given_distances
from recassay.data.interactions import Interactions
from recassay.data.io import Stretch, open_stretches, run_sources
from recassay.data.pieces import Pieces, borders
from recassay.data.read import Columns, beside, read_training, read_truth
from recassay.data.run import Nan, Run
from recassay.data.scores import Scores
from recassay.data.truth import Negative, Truth
from recassay.engine.local import Job, Judgement, adding
from recassay.engine.parts import Tally
from recassay.engine.shelf import Shelf
from recassay.engine.sources import Answers, Origin, Past
from recassay.engine.summary import assemble
from recassay.errors import UsageError
from recassay.metrics.refusals import refuse_other_kind
from recassay.spec import check_word
from recassay.threads import Progress

SIZE = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([KMGT]?)i?B?\s*", re.IGNORECASE)
UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}

AT_ONCE = 16  # what a row takes while it is read, sorted and judged, in sizes of the row
PER_VALUE = 80  # bytes that the value of a user takes while mean and interval of a column are made
LEAST = 64 << 20  # less than this is no budget for reading
LOADED = 64 << 20  # what the program itself grows by once it judges


@dataclass(frozen=True)
class Files:
    """What is judged: ``runs`` are paths; the others are too, or are in memory."""

    runs: Any
    truth: Any
    train: Any = None
    distances: Any = None


@dataclass(frozen=True)
class Reading:
    """How files are read, and in how much memory."""

    memory: int
    columns: Columns = None
    truth_columns: Columns = None
    format: str | None = None
    nan: str = "error"
    negative: str = "error"
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


def score_files(job: Job, files: Files, how: Reading, uncertainty: Uncertainty, profile: str | None) -> Scores:
    """Each run judged in pieces: the same bits as if everything were in memory.

    ``job`` has metrics and conventions, and no truth yet.
    """
    check_word("nan", how.nan, get_args(Nan))
    check_word("negative", how.negative, get_args(Negative))
    runs = _paths(files.runs)
    with tempfile.TemporaryDirectory(prefix="recassay-") as folder:
        desk = _Desk(job, how, Path(folder))
        truth, log = desk.truth(files.truth), desk.log(files.train)
        held = resident() + LOADED
        answers, past = desk.answers(truth, held), desk.past(log, held)
        left = _left(how.memory, held + answers.size + past.size, answers.users.len())
        known = replace(job.context, train=past.whole, judged_items=answers.items)
        if files.distances is not None and past.whole is not None:
            known = replace(known, distances=given_distances(files.distances, past.whole.n_items))
        desk = replace(desk, job=replace(job, context=known).settled(answers.facts))
        judged = {name: desk.judge(name, path, answers, past, left) for name, path in runs}
        return assemble(desk.job, judged, uncertainty, profile, left // PER_VALUE, answers.users)


def _paths(runs: Any) -> list[tuple[str, str | Path]]:
    if isinstance(runs, dict) and runs and all(isinstance(path, str | Path) for path in runs.values()):
        return [(str(name), path) for name, path in runs.items()]
    listed = isinstance(runs, list | tuple) and runs and all(isinstance(path, str | Path) for path in runs)
    if listed or isinstance(runs, str | Path):
        return list(run_sources(runs))
    raise UsageError("U223", "a budget of memory is for run files, and these are in memory", hint="give their paths")


@dataclass(frozen=True)
class _Desk:
    """Where files are opened, cut and judged; ``folder`` is for what must be written."""

    job: Job
    how: Reading
    folder: Path

    def truth(self, source: Any) -> Truth | _Opened:
        """The truth, if it is in memory or can only be read whole; else its files."""
        names = self.how.columns, self.how.truth_columns
        opened = self._opened(source, "truth", *names)
        if opened is not None:
            return opened
        return beside(lambda columns: read_truth(source, columns=columns, negative=self.how.negative), *names)

    def log(self, source: Any) -> Interactions | _Opened | None:
        """The training log, likewise; also where a metric needs it whole."""
        if source is None:
            return None
        whole = any(metric.needs_whole_log for metric in self.job.metrics.values())
        opened = None if whole else self._opened(source, "log", self.how.columns)
        if opened is not None:
            return opened
        return beside(lambda names: read_training(source, columns=names), self.how.columns)

    def answers(self, truth: Truth | _Opened, held: int) -> Answers:
        """What is known of the truth, after one look at all of it."""
        metrics = tuple(self.job.metrics.values())
        if isinstance(truth, Truth):
            return Answers.in_memory(truth, metrics)
        left = _left(self.how.memory, held)
        pieces = self._pieces(truth, left)
        told = self._told("looking at the truth", pieces.rows)
        origin = Origin.of(truth.where, truth.stretches)
        return Answers.in_files(pieces, metrics, left / AT_ONCE, self.how.negative, origin, told)  # type: ignore[arg-type]

    def past(self, log: Interactions | _Opened | None, held: int) -> Past:
        """What is known of the log, likewise."""
        if not isinstance(log, _Opened):
            return Past.in_memory(log)
        left = _left(self.how.memory, held)
        pieces = self._pieces(log, left)
        return Past.in_files(pieces, left / AT_ONCE, log.where, self._told("counting the log", pieces.rows))

    def judge(self, name: str, path: str | Path, answers: Answers, past: Past, left: int) -> Judgement:
        """A run, piece by piece."""
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            stretches = open_stretches(
                path,
                "run",
                Path(folder),
                columns=self.how.columns,
                format=self.how.format,
                ordered=self.job.conventions.order == "row",
            )
            origin = Origin.of(str(path), stretches)
            lists = self._pieces(_Opened(name, str(path), stretches, Path(folder)), left)
            refuse_other_kind(lists.sample, answers.users, (str(path), answers.facts.origin))
            tables = [lists, *(one for one in (answers.pieces, past.pieces) if one is not None)]
            ends = borders(tables, left / AT_ONCE)
            frames, truths, logs = lists.cut(ends), answers.cut(ends), past.cut(ends)
            told = self._told(f"judging {name}", lists.rows)
            shelf, tallies = Shelf(), list[Tally]()
            for _ in range(len(ends) + 1):
                run, rows = self._run(next(frames), name, origin)
                part = self._beside(next(logs)).part(run, next(truths))
                shelf.add(part)
                tallies = [reduce(add, [*tallies, part.tally])]
                if told is not None:
                    told(rows)
            return self.job.together(name, shelf.columns(), tallies[0])

    def _run(self, frame: pl.DataFrame, name: str, origin: Origin) -> tuple[Run, int]:
        """The lists of a frame, which is no longer needed then, and how many rows it had."""
        run = Run.from_frame(
            frame,
            name,
            order="row" if self.job.conventions.order == "row" else None,
            nan=self.how.nan,  # type: ignore[arg-type]
            keep_scores=self.how.keep_scores,
            keep_rows=self.job.conventions.reads_rows,
            origin=origin.where,
            remarks=origin.remarks,
        )
        return run, frame.height

    def _beside(self, log: Interactions | None) -> Job:
        quiet = replace(self.job, progress=None)  # of a run is told by rows, not by the users of a piece
        return quiet if log is None else quiet.beside(log)

    def _opened(self, source: Any, role: str, columns: Columns, own: Columns = None) -> _Opened | None:
        """The files of a table; None if it is in memory, or can only be read whole."""
        if not isinstance(source, str | Path):
            return None
        folder = self.folder / role
        folder.mkdir()
        try:
            stretches = beside(lambda names: open_stretches(source, role, folder, columns=names), columns, own)
        except UsageError as error:
            if error.code != "U223":
                raise
            return None
        return _Opened(role, str(source), stretches, folder)

    def _pieces(self, opened: _Opened, left: int) -> Pieces:
        rows = sum(one.rows for one in opened.stretches)

        def told(doing: str) -> Progress | None:
            return self._told(f"{doing} {opened.name}", rows)

        return Pieces.of(opened.stretches, opened.folder, left / AT_ONCE, told)

    def _told(self, stage: str, of: int) -> Progress | None:
        return adding(self.job.progress, stage, of)


@dataclass(frozen=True)
class _Opened:
    """Files of a table that were opened and not read; ``folder`` is for what must be written of them."""

    name: str
    where: str
    stretches: list[Stretch]
    folder: Path


def _left(memory: int, held: int, users: int = 0) -> int:
    """What is left of the budget for lists and values; U222 if that is next to nothing."""
    values = max(LEAST, PER_VALUE * users)
    if memory < held + values:
        what = f"judging {users:,} users" if users else "reading"
        raise UsageError(
            "U222",
            f"{memory >> 20:,} MB are too little: the program and what must be in memory take {held >> 20:,} MB, and "
            f"{what} {values >> 20:,} MB",
            where="memory",
            hint=f"give {-(-(held + values) // 2**20)}MB or more, or judge some of the users with until",
        )
    return memory - held
