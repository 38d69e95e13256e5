"""The answers of a study, made by tasks of Spark before the driver asks for them: each once, and put on the shelf.

A task is given pieces that are made from one fitted model, so that no two tasks fit the same. It reads the data,
splits it, fits, answers, and writes files that have names of their own: done twice, it has written the same. What the
driver then finds on the shelf is what it would have made itself; what failed in a task it is told.
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
from typing import TYPE_CHECKING, Any

from recassay.engine.spark.each import each
from recassay.errors import RecassayError, UsageError
from recassay.study import lock as locks
from recassay.study.plan import plan_of
from recassay.study.reading import Document
from recassay.study.results import Row
from recassay.study.runner import Failures, Logs, Runner
from recassay.study.schema import Study
from recassay.study.shelf import Cell
from recassay.study.sources import VARIABLE
from recassay.study.streams import StreamRunner
from recassay.study.times import ANSWER, FIT

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ANSWERS, SETTINGS = "answers", "settings"


@dataclass(frozen=True)
class Piece:
    """What is to be made: the answer of a system that has this key; or what a setting of it comes to, by its number."""

    cell: Cell
    system: str
    key: str = ""
    setting: int | None = None

    def __str__(self) -> str:
        return f"{self.system} on {self.cell.dataset}, {self.cell.split}, fold {self.cell.fold}, seed {self.cell.seed}"


Errand = tuple[Piece, ...]  # of one task


@dataclass(frozen=True)
class Order:
    """All that a task must know of a study to run pieces of it; ``number`` tells one run from another."""

    number: str
    kind: type[Runner[Any, Any]] = field(compare=False)
    document: Document = field(compare=False)
    study: Study = field(compare=False)
    quick: bool = field(compare=False)
    out: Path = field(compare=False)
    data: Path | None = field(compare=False)
    threads: int = field(compare=False)
    lock: str = field(compare=False)

    @classmethod
    def of(cls, runner: Runner[Any, Any], logs: Logs) -> Order:
        """What is under way, with paths that hold wherever a task runs, and one thread for a task."""
        plan = runner.plan
        data = runner.data or os.environ.get(VARIABLE)
        return cls(
            uuid.uuid4().hex,
            type(runner),
            dataclasses.replace(plan.document, path=plan.document.path.absolute()),
            plan.study,
            plan.quick,
            runner.out.absolute(),
            Path(data).absolute() if data else None,
            runner.threads or 1,
            locks.to_yaml(locks.lock_of(plan, logs)),
        )

    def runner(self) -> Runner[Any, Any]:
        """The same study where a task runs."""
        plan = plan_of(self.document, self.study, quick=self.quick)
        return self.kind(plan, self.out, self.data, self.threads, _silent)

    def refuse_elsewhere(self) -> None:
        """Raise U229 where the folder of the study is not that of the driver."""
        lock = self.out / locks.NAME
        if not (lock.is_file() and lock.read_text(encoding="utf-8") == self.lock):
            what = f"a worker on {socket.gethostname()} does not see the folder of the study as the driver does"
            raise UsageError("U229", what, where=str(self.out), hint="-o a folder that all nodes mount at this path")


def made_ahead(spark: SparkSession, runner: Runner[Any, Any], logs: Logs) -> Failures:
    """Have every answer made that the shelf does not have; what failed, by where, and which system."""
    order, failures = Order.of(runner, logs), list[Row]()
    for stage, find in ((SETTINGS, _untried), (ANSWERS, _unanswered)):
        if errands := find(runner, logs):
            work = functools.partial(_done, order)
            for found in each(spark, work, errands, named=_named, size=len, report=runner.told, stage=stage):
                failures += found
    return {(Cell(one["dataset"], one["split"], one["fold"], one["seed"]), one["system"]): one for one in failures}


def _folds(runner: Runner[Any, Any], logs: Logs) -> Iterator[tuple[Cell, Any]]:
    """All folds of a study, and where they stand."""
    for name, log in logs.items():
        for split in runner.plan.splits:
            for fold in runner.folds(name, log, split):
                yield Cell(name, str(split), fold.number, 0), fold


def _untried(runner: Runner[Any, Any], logs: Logs) -> list[Errand]:
    """A task for every setting that has not been tried; streams alone have settings to choose among."""
    if not isinstance(runner, StreamRunner):
        return []
    return [
        (Piece(cell, system, setting=number),)
        for cell, fold in _folds(runner, logs)
        for system, number in runner.untried(fold)
    ]


def _unanswered(runner: Runner[Any, Any], logs: Logs) -> list[Errand]:
    """A task for every fitted model of which answers are lacking."""
    found = defaultdict[str, list[Piece]](list)
    for cell, fold in _folds(runner, logs):
        systems = runner.systems(fold)
        for seed in runner.plan.study.seeds:
            for system in systems:
                here = dataclasses.replace(cell, seed=seed)
                keys = runner.keys(here, system, fold)
                if not runner.is_kept(here, system.name, keys[ANSWER]):
                    found[keys[FIT]].append(Piece(here, system.name, keys[ANSWER]))
    return [tuple(pieces) for pieces in found.values()]


def _named(errand: Errand) -> str:
    return str(errand[0])


# --- in the tasks -----------------------------------------------------------------------------------------------


def _done(order: Order, errand: Errand) -> list[Row]:
    """Make pieces and put them on the shelf; what failed."""
    failures: list[Row] = []
    for piece in errand:
        runner, folds = _read(order, piece.cell.dataset, piece.cell.split)
        fold = next(one for one in folds if one.number == piece.cell.fold)
        runner.record.failures.clear()
        if piece.setting is None:
            _answer(runner, fold, piece)
        else:
            assert isinstance(runner, StreamRunner), "others have no settings"
            runner.attempt(fold, piece.system, piece.setting)
        failures += runner.record.failures
    return failures


@functools.lru_cache(maxsize=1)
def _read(order: Order, dataset: str, split: str) -> tuple[Runner[Any, Any], Several[Any]]:
    """A runner, and the folds of one split: a worker that has several tasks of it reads and splits once."""
    order.refuse_elsewhere()
    try:
        runner = order.runner()
        cut = next(one for one in runner.plan.splits if str(one) == split)
        return runner, runner.folds(dataset, runner.log(dataset), cut)
    except RecassayError as error:  # of what the driver has read
        what = f"a worker on {socket.gethostname()} cannot read {dataset} as the driver does: {error.what}"
        hint = "put data and files of models where all nodes see them, at the same path"
        raise UsageError("U229", what, where=error.where, hint=hint) from None


def _answer(runner: Runner[Any, Any], fold: Any, piece: Piece) -> None:
    system = next(one for one in runner.systems(fold) if one.name == piece.system)
    if runner.keys(piece.cell, system, fold)[ANSWER] != piece.key:
        raise UsageError(
            "U226",
            f"a worker on {socket.gethostname()} would make another answer of {piece}: "
            "its data, its file of the model, its recassay or its NumPy is not that of the driver",
            where=str(runner.plan.document.path),
            hint="install the same on all nodes, and let them read the same files",
        )
    if not runner.is_kept(piece.cell, system.name, piece.key):  # by a task that died before it could say so
        runner.make(piece.cell, system, fold)


def _silent(_stage: str, _done: int, _of: int) -> None:
    """Nobody listens."""
