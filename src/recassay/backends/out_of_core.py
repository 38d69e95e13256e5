"""The back end for run files larger than memory: they are scored in chunks, within a stated budget.

In memory are the item features, the statistics of every item, the ids of all users, and, one at a time, a column of
values of all users. Lists, truth and training log are never in memory whole: the rows of a chunk of users are read,
scored, and released; values go to temporary files.
"""

from __future__ import annotations

import mmap
import re
import tempfile
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from recassay.data.chunks import TableChunks, chunk_boundaries, require_one_type
from recassay.data.features import validated_distances
from recassay.data.fold import of_known_users
from recassay.data.interactions import Interactions
from recassay.data.io import run_sources
from recassay.data.io.read import RowRange, open_row_ranges
from recassay.data.read import Columns, read_training, read_truth, read_with_shared_names
from recassay.data.run import Run
from recassay.data.truth import Truth
from recassay.engine.finish import assemble
from recassay.engine.lists.job import Job, Judgement, cumulative_progress
from recassay.engine.lists.score import ScoreRequest
from recassay.engine.lists.score_joins import TRUTH
from recassay.engine.lists.sources import TableOrigin, TrainingParts, TruthParts
from recassay.engine.tally import TallyFiles
from recassay.errors import UsageError
from recassay.results.scores import POPULATION, UNIT, Scores
from recassay.threads import Progress

SIZE = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([KMGT]?)i?B?\s*", re.IGNORECASE)
UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}

ROW_COPIES = 16  # memory that a row takes while it is read, sorted and scored, in multiples of its size
BYTES_PER_VALUE = 80  # memory that the value of a user takes while mean and interval of a column are computed
MINIMUM = 64 << 20  # a smaller budget is no budget for reading
PROGRAM_GROWTH = 64 << 20  # what the program itself grows by once it scores: compiled code, buffers


def bytes_of_size(size: str | int) -> int:
    """Return the number of bytes of a size such as ``2GB``.

    >>> bytes_of_size("2GB"), bytes_of_size("1.5 MiB"), bytes_of_size(4096)
    (2147483648, 1572864, 4096)
    """
    found = SIZE.fullmatch(str(size))
    if found is None or not float(found[1]):
        raise UsageError("U102", f"memory={size!r} is not an amount of memory", hint="such as 2GB or 512MB")
    return int(float(found[1]) * UNITS[found[2].upper()])


def resident() -> int:
    """Return the bytes of memory that this process uses now; 0 where the operating system does not say."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE
    except OSError:
        return 0


def most_resident() -> int:
    """Return the most bytes of memory that this process has used so far; 0 where the operating system does not say."""
    try:
        return int(re.findall(r"VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text())[0]) << 10
    except (OSError, IndexError):
        return 0


def score_files(request: ScoreRequest) -> Scores:
    """Return the scores of run files, which are read and scored in chunks of users.

    They are equal to the last bit to those of scoring in memory. Warn if the process used more than its budget.
    """
    if request.until is not None:
        raise UsageError(
            "U107", "a memory budget cannot be combined with a sample of users", hint="leave out within, or memory"
        )
    memory, before = bytes_of_size(request.execution.memory or 0), most_resident()
    scores = _score_in_chunks(request, memory)
    most = most_resident()
    if most > max(before, memory):
        over = f"the process used {most >> 20:,} MB, {(most - memory) >> 20:,} MB more than memory={memory >> 20:,} MB"
        warnings.warn(over, stacklevel=2)
    return scores


def _score_in_chunks(request: ScoreRequest, memory: int) -> Scores:
    inputs, job = request.inputs, request.job
    runs = _paths(inputs.runs)
    with tempfile.TemporaryDirectory(prefix="recassay-") as folder:
        chunked = _ChunkedScoring(request, job, memory, Path(folder))
        opened_truth, opened_log = chunked.open_truth(), chunked.open_log()
        population: dict[str, Any] = {}
        if isinstance(opened_truth, Truth) and isinstance(opened_log, Interactions) and chunked.only_known:
            opened_truth, population[POPULATION] = of_known_users(opened_truth, opened_log)
        if opened_truth.unit != "user":
            population[UNIT] = opened_truth.unit
        held = resident() + PROGRAM_GROWTH
        truth, log = chunked.truth_parts(opened_truth, held), chunked.training_parts(opened_log, held)
        available = _available(memory, held + truth.size + log.size, truth.users.len())
        context = replace(job.context, train=log.whole, judged_items=truth.items)
        if inputs.distances is not None and log.whole is not None:
            context = replace(context, distances=validated_distances(inputs.distances, log.whole.n_items))
        job = replace(job, context=context, first_hits_from=request.first_hits_from).resolved(truth.statistics)
        chunked = replace(chunked, job=job)
        judged = {name: chunked.judge(name, path, truth, log, available) for name, path in runs}
        cells = available // BYTES_PER_VALUE
        scores = assemble(chunked.job, judged, truth.users, request.uncertainty, request.profile, cells)
        return replace(scores, settings={**scores.settings, **population, TRUTH: truth.about})


def _paths(runs: Any) -> list[tuple[str, str | Path]]:
    """Return run files by name; raise U223 for runs that are in memory."""
    if isinstance(runs, dict) and runs and all(isinstance(path, str | Path) for path in runs.values()):
        return [(str(name), path) for name, path in runs.items()]
    listed = isinstance(runs, list | tuple) and runs and all(isinstance(path, str | Path) for path in runs)
    if listed or isinstance(runs, str | Path):
        return list(run_sources(runs))
    raise UsageError(
        "U223", "a memory budget applies to run files, and these runs are in memory already", hint="give their paths"
    )


@dataclass(frozen=True)
class _ChunkedScoring:
    """One call of :func:`score_files`: it opens tables, divides them into chunks of whole users, and scores the chunks.

    ``memory`` is the budget in bytes, and ``folder`` takes temporary files.
    """

    request: ScoreRequest
    job: Job
    memory: int
    folder: Path

    @property
    def only_known(self) -> bool:
        """Return whether only users with training events are scored: truth and log are then read whole, runs are not.

        The users must be known before statistics of the truth are counted.
        """
        return self.job.conventions.users == "known"

    def open_truth(self) -> Truth | _OpenedTable:
        """Return the opened files of the truth, or the truth itself if it is in memory or must be read whole."""
        source, reading = self.request.inputs.truth, self.request.reading
        if not self.only_known and (opened := self._open(source, "truth", reading.columns, reading.truth_columns)):
            return opened
        return reading.read("truth", read_truth, source, negative=reading.negative)

    def open_log(self) -> Interactions | _OpenedTable | None:
        """Return the opened files of the training log, the log itself if it must be in memory, or None without a log.

        It must be in memory if a metric needs all of it, or if it cannot be read in parts.
        """
        source, reading = self.request.inputs.train, self.request.reading
        if source is None:
            return None
        whole = self.only_known or any(metric.needs_whole_log for metric in self.job.metrics.values())
        if not whole and (opened := self._open(source, "log", reading.columns, reading.train_columns)):
            return opened
        return reading.read("train", read_training, source)

    def truth_parts(self, truth: Truth | _OpenedTable, held: int) -> TruthParts:
        """Return the truth in parts, one per chunk of users, and its statistics.

        The statistics take one pass over the files. ``held`` is how many bytes of memory are in use.
        """
        metrics, negative = tuple(self.job.metrics.values()), self.request.reading.negative
        if isinstance(truth, Truth):
            return TruthParts.in_memory(truth, metrics)
        chunks, size, origin, progress = self._chunks_to_count(truth, held, "reading the truth")
        return TruthParts.in_files(chunks, metrics, size, negative, origin, progress)

    def training_parts(self, log: Interactions | _OpenedTable | None, held: int) -> TrainingParts:
        """Return the training log in parts, one per chunk of users, and its statistics.

        The statistics take one pass over the files. ``held`` is the number of bytes of memory that are in use.
        """
        if not isinstance(log, _OpenedTable):
            return TrainingParts.in_memory(log)
        return TrainingParts.in_files(*self._chunks_to_count(log, held, "counting the log"))

    def _chunks_to_count(
        self, opened: _OpenedTable, held: int, stage: str
    ) -> tuple[TableChunks, float, TableOrigin, Progress | None]:
        """Return the chunks of a table for a pass over it: with the size in bytes, the origin and progress of the pass.

        ``held`` is how many bytes of memory are in use, and ``stage`` the name of the pass for progress.
        """
        size = _available(self.memory, held) / ROW_COPIES
        chunks = self._chunks(opened, size)
        return chunks, size, TableOrigin.of(opened.where, opened.ranges), self._progress(stage, chunks.rows)

    def judge(self, name: str, path: str | Path, truth: TruthParts, log: TrainingParts, available: int) -> Judgement:
        """Return the scores of the run file at ``path`` (values per user, means and counts); it is read in chunks.

        ``name`` is that of the run. ``truth`` and ``log`` are cut at the same users as the run. ``available`` is the
        number of bytes of memory for a chunk.
        """
        reading, size = self.request.reading, available / ROW_COPIES
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            ranges = open_row_ranges(
                path,
                "run",
                Path(folder),
                columns=reading.columns_of(name),
                format=reading.format,
                ordered=self.job.conventions.order == "row",
            )
            origin = TableOrigin.of(str(path), ranges)
            lists = self._chunks(_OpenedTable(name, str(path), ranges, Path(folder)), size)
            require_one_type(lists.sample, truth.users)
            tables = [lists, *(one for one in (truth.chunks, log.chunks) if one is not None)]
            ends = chunk_boundaries(tables, size)
            frames, truths, logs = lists.cut(ends), truth.cut(ends), log.cut(ends)
            progress = self._progress(f"judging {name}", lists.rows)
            files = TallyFiles()
            for _ in range(len(ends) + 1):
                run, rows = self._run(next(frames), name, origin)
                files.add(self._with_log(next(logs)).judge_part(run, next(truths)))
                if progress is not None:
                    progress(rows)
            return self.job.combine(name, files.whole(truth.users))

    def _run(self, frame: pl.DataFrame, name: str, origin: TableOrigin) -> tuple[Run, int]:
        """Return the lists in a frame as a run called ``name``, and the number of rows of the frame.

        ``origin`` says which file the rows come from. A function of its own, so that the frame is freed when it
        returns.
        """
        run = Run.from_frame(
            frame,
            name,
            order="row" if self.job.conventions.order == "row" else None,
            nan=self.request.reading.nan,
            keep_scores=self.request.keeps_scores,
            keep_rows=self.job.conventions.reads_rows,
            origin=origin.where,
            remarks=origin.remarks,
        )
        return run, frame.height

    def _with_log(self, log: Interactions | None) -> Job:
        """Return the scoring job for a chunk, with the training rows of its users.

        It reports no progress of its own, because rows are counted here.
        """
        quiet = replace(self.job, progress=None)
        return quiet if log is None else quiet.with_train(log)

    def _open(self, source: Any, role: str, columns: Columns, own: Columns = None) -> _OpenedTable | None:
        """Return the opened files of a table; None if it is in memory, or can only be read whole.

        ``role`` says what the table is: truth or log. ``columns`` are the column names given for the runs, and ``own``
        those for this table.
        """
        if not isinstance(source, str | Path):
            return None
        folder = self.folder / role
        folder.mkdir()
        try:
            ranges = read_with_shared_names(
                lambda names: open_row_ranges(source, role, folder, columns=names),
                columns,
                own,
                option="--train-columns" if role == "log" else "--columns",
            )
        except UsageError as error:
            if error.code != "U223":
                raise
            return None
        return _OpenedTable(role, str(source), ranges, folder)

    def _chunks(self, opened: _OpenedTable, size: float) -> TableChunks:
        rows = sum(one.rows for one in opened.ranges)

        def progress(doing: str) -> Progress | None:
            return self._progress(f"{doing} {opened.name}", rows)

        return TableChunks.of(opened.ranges, opened.folder, size, progress)

    def _progress(self, stage: str, of: int) -> Progress | None:
        return None if self.job.progress is None else cumulative_progress(self.job.progress, stage, of)


@dataclass(frozen=True)
class _OpenedTable:
    """The files of a table, opened but not read yet; temporary files are written to ``folder``."""

    name: str
    where: str
    ranges: list[RowRange]
    folder: Path

    @property
    def unit(self) -> str:
        """Return what the ids of users in the table stand for, as a word: user, query or session."""
        return self.ranges[0].unit


def _available(memory: int, held: int, users: int = 0) -> int:
    """Return how many bytes of the budget ``memory`` remain for lists and values; raise U143 if they are too few.

    ``held`` is the number of bytes in use, and ``users`` the number of users whose values must be kept.
    """
    values = max(MINIMUM, BYTES_PER_VALUE * users)
    if memory < held + values:
        what = f"scoring {users:,} users" if users else "reading"
        raise UsageError(
            "U143",
            f"{memory >> 20:,} MB are too little: the program and the data it must hold take {held >> 20:,} MB, and "
            f"{what} takes {values >> 20:,} MB",
            where="memory",
            hint=f"give {-(-(held + values) // 2**20)}MB or more, or score a sample of the users with within",
        )
    return memory - held
