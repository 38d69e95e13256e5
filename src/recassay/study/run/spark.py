"""Spark tasks that compute the lists, sequences or outcomes of a study's systems before the driver needs them.

A task gets all results that depend on one fitted model, so that no two tasks fit the same model. It reads the data,
splits it, fits, answers, and writes files whose names depend only on their content: a repeated task writes the same
files. The driver then finds these files as if it had written them, and gets a list of failures.
"""

from __future__ import annotations

import dataclasses
import functools
import os
import socket
import uuid
from collections import defaultdict
from collections.abc import Iterator
from collections.abc import Sequence as Several
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from recassay.backends.base import Tasks
from recassay.data.io.manifest import recording
from recassay.errors import RecassayError, UsageError
from recassay.study.config.reading import Document
from recassay.study.config.schema import Study
from recassay.study.config.sources import DATA_VARIABLE
from recassay.study.plan import lock as locks
from recassay.study.plan.plan import make_plan
from recassay.study.run.runner import Failures, Logs, Runner
from recassay.study.run.streams import StreamRunner
from recassay.study.store.folder import StudyCell
from recassay.study.store.results import Row
from recassay.study.store.times import ANSWER, FIT

ANSWERS, SETTINGS = "answers", "settings"


@dataclass(frozen=True)
class AnswerTask:
    """A unit of work for Spark: compute what one system answers on one cell (data set, split, fold and seed).

    It is stored under ``key``. The answer is ranked lists, sequences or outcomes of a stream. If ``setting`` is given,
    the work is instead to run the tuning candidate with this index.
    """

    cell: StudyCell
    system: str
    key: str = ""
    setting: int | None = None

    def __str__(self) -> str:
        return f"{self.system} on {self.cell.dataset}, {self.cell.split}, fold {self.cell.fold}, seed {self.cell.seed}"


TaskGroup = tuple[AnswerTask, ...]  # computed by one task of Spark


@dataclass(frozen=True)
class StudySpec:
    """A running study in a form that can be sent to Spark tasks; ``number`` is a unique name of the run.

    ``kind`` is the class of its runner, and ``lock`` the text of its lock file.
    """

    number: str
    kind: type[Runner[Any, Any]] = field(compare=False)
    document: Document = field(compare=False)
    study: Study = field(compare=False)
    quick: bool = field(compare=False)
    out: Path = field(compare=False)
    data: Path | None = field(compare=False)
    threads: int = field(compare=False)
    trust: bool = field(compare=False)
    lock: str = field(compare=False)
    metrics: tuple[str, ...] = field(compare=False)  # without those that failed in the dry run

    @classmethod
    def of(cls, runner: Runner[Any, Any]) -> StudySpec:
        """Return the specification of a running study, with absolute paths, and one thread by default."""
        plan = runner.plan
        data = runner.data or os.environ.get(DATA_VARIABLE)
        return cls(
            uuid.uuid4().hex,
            type(runner),
            dataclasses.replace(plan.document, path=plan.document.path.absolute()),
            plan.study,
            plan.quick,
            runner.out.absolute(),
            Path(data).absolute() if data else None,
            runner.threads or 1,
            runner.trust,
            (runner.out / locks.NAME).read_text(encoding="utf-8"),
            tuple(plan.metrics),
        )

    def runner(self) -> Runner[Any, Any]:
        """Return a runner of the study for use on a Spark worker; it reports no progress."""
        plan = make_plan(self.document, self.study, quick=self.quick).with_metrics(self.metrics)
        return self.kind(plan, self.out, self.data, self.threads, _silent, self.trust)

    def refuse_elsewhere(self) -> None:
        """Raise U229 if the worker does not see the folder of results that the driver sees."""
        lock = self.out / locks.NAME
        if not (lock.is_file() and lock.read_text(encoding="utf-8") == self.lock):
            what = f"a worker on {socket.gethostname()} does not see the folder of the study as the driver does"
            raise UsageError("U229", what, where=str(self.out), hint="-o a folder that all nodes mount at this path")


def make_answers_ahead(tasks: Tasks, runner: Runner[Any, Any], logs: Logs) -> Failures:
    """Compute on Spark all results of systems (lists, sequences, outcomes) that are not stored; return the failures.

    ``tasks`` runs a function on groups of work. First the settings of tuning are run, because other work depends on
    them. A failure is by its cell (data set, split, fold, seed) and system.
    """
    order, failures = StudySpec.of(runner), list[Row]()
    for stage, find in ((SETTINGS, _setting_tasks), (ANSWERS, _answer_tasks)):
        if group := find(runner, logs):
            work = functools.partial(_run_tasks, order)
            for found in tasks(work, group, named=_named, size=len, report=runner.report, stage=stage):
                failures += found
    return {(StudyCell(one["dataset"], one["split"], one["fold"], one["seed"]), one["system"]): one for one in failures}


def _folds(runner: Runner[Any, Any], logs: Logs) -> Iterator[tuple[StudyCell, Any]]:
    """Yield (cell, fold) for all folds of a study's ``logs``; the cell is data set, split, fold number and seed 0."""
    for name, log in logs.items():
        for split in runner.plan.splits_of(name):
            for fold in runner.folds(name, log, split):
                yield StudyCell(name, str(split), fold.number, 0), fold


def _setting_tasks(runner: Runner[Any, Any], logs: Logs) -> list[TaskGroup]:
    """Return a task for every tuning candidate without a stored result, each in a group of its own.

    Only studies of streams have tuning.
    """
    if not isinstance(runner, StreamRunner):
        return []
    return [
        (AnswerTask(cell, system, setting=number),)
        for cell, fold in _folds(runner, logs)
        for system, number in runner.unplayed_settings(fold)
    ]


def _answer_tasks(runner: Runner[Any, Any], logs: Logs) -> list[TaskGroup]:
    """Return tasks for all lists, sequences or outcomes that are not stored, grouped by the fitted model they need."""
    found = defaultdict[str, list[AnswerTask]](list)
    for cell, fold in _folds(runner, logs):
        systems = runner.working_systems(cell.dataset, cell.split, fold)
        for seed in runner.plan.study.seeds:
            for system in systems:
                here = dataclasses.replace(cell, seed=seed)
                keys = runner.keys(here, system, fold)
                if not runner.has_answer(here, system.name, keys[ANSWER]):
                    found[keys[FIT]].append(AnswerTask(here, system.name, keys[ANSWER]))
    return [tuple(tasks) for tasks in found.values()]


def _named(group: TaskGroup) -> str:
    return str(group[0])


# --- on the workers -----------------------------------------------------------------------------------------------


def _run_tasks(order: StudySpec, group: TaskGroup) -> list[Row]:
    """Run a group of tasks of the study ``order`` on a worker; return descriptions of the failures."""
    failures: list[Row] = []
    with recording(order.out):
        for task in group:
            failures += _run_task(order, task)
    return failures


def _run_task(order: StudySpec, task: AnswerTask) -> list[Row]:
    """Compute and store what one task asks for, of the study ``order``; return descriptions of the failures, if any."""
    runner, folds = _read(order, task.cell.dataset, task.cell.split)
    fold = next(each for each in folds if each.number == task.cell.fold)
    runner.record.failures.clear()
    if task.setting is None:
        _answer(runner, fold, task)
    else:
        assert isinstance(runner, StreamRunner), "others have no settings"
        runner.play_one_setting(fold, task.system, task.setting)
    return list(runner.record.failures)


@functools.lru_cache(maxsize=1)
def _read(order: StudySpec, dataset: str, split: str) -> tuple[Runner[Any, Any], Several[Any]]:
    """Return a runner of the study ``order`` and the folds of one split; cached, so that a worker splits the data once.

    Raise U229 if the worker cannot read the data as the driver does.
    """
    order.refuse_elsewhere()
    try:
        runner = order.runner()
        cut = next(each for each in runner.plan.splits_of(dataset) if str(each) == split)
        return runner, runner.folds(dataset, runner.log(dataset), cut)
    except RecassayError as error:  # the driver could read the same data
        what = f"a worker on {socket.gethostname()} cannot read {dataset} as the driver does: {error.what}"
        hint = "put data and files of models where all nodes see them, at the same path"
        raise UsageError("U229", what, where=error.where, hint=hint) from None


def _answer(runner: Runner[Any, Any], fold: Any, task: AnswerTask) -> None:
    system = next(each for each in runner.systems(fold) if each.name == task.system)
    if runner.keys(task.cell, system, fold)[ANSWER] != task.key:
        raise UsageError(
            "U226",
            f"a worker on {socket.gethostname()} would compute another answer of {task}: "
            "its data, model file, recassay or NumPy differs from the driver's",
            where=str(runner.plan.document.path),
            hint="install the same on all nodes, and let them read the same files",
        )
    if not runner.has_answer(task.cell, system.name, task.key):  # stored by a task that died before it could report
        runner.make_answer(task.cell, system, fold)


def _silent(_stage: str, _done: int, _of: int) -> None:
    """Do nothing: the progress callback on Spark workers."""
