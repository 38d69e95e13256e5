"""The order in which a study is run, whatever is asked of systems; each piece is written as soon as it is there."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Mapping
from collections.abc import Sequence as Several
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, TypeVar

from recassay.data.finding import Finding
from recassay.data.fold import Fold
from recassay.data.interactions import Interactions
from recassay.data.io import make_folder, write_text
from recassay.data.sequences import SequenceFold
from recassay.diagnose.base import Removed, diagnose
from recassay.errors import RecassayError
from recassay.models.training import Listener
from recassay.split import filters
from recassay.study import lock as locks
from recassay.study.judging import compared
from recassay.study.plan import AnyPlan
from recassay.study.record import Record
from recassay.study.results import Results, Row
from recassay.study.shelf import Cell, Shelf, digest_of, model_key
from recassay.study.sources import load
from recassay.study.stream_fold import StreamFold
from recassay.study.systems import System
from recassay.study.times import ANSWER, FIT, JUDGE, TIMES, Clock
from recassay.study.verdict import Verdict
from recassay.threads import available

Report = Callable[[str, int, int], None]  # stage, done, of
Logs = Mapping[str, Interactions]  # by the name of the data
Failures = Mapping[tuple[Cell, str], Row]  # by where, and which system
AFold = TypeVar("AFold", Fold, SequenceFold, StreamFold)
Answer = TypeVar("Answer")


@dataclass
class Runner(ABC, Generic[AFold, Answer]):
    """One run of a study; a kind of study says what its folds, trials, answers and verdicts are."""

    plan: AnyPlan
    out: Path
    data: Path | None
    threads: int | None
    told: Report
    ahead: Callable[[Any, Logs], Failures] | None = None  # puts answers on the shelf before the runner asks for them
    failed_ahead: Failures = field(default_factory=dict)  # those it could not have
    filtered: dict[str, tuple[int, Mapping[str, int]]] = field(default_factory=dict)  # rows, and those left out, by log

    @cached_property
    def record(self) -> Record:
        """What is found on the way."""
        return Record(self.plan, self.out)

    @cached_property
    def clock(self) -> Clock:
        """What notes how long pieces took."""
        return Clock(self.out / TIMES, self.threads or available())

    @property
    def shelf(self) -> Shelf:
        """Where every piece lies."""
        return self.record.shelf

    @abstractmethod
    def folds(self, name: str, log: Interactions, split: Any) -> Several[AFold]:
        """The folds of one split of one log."""

    @abstractmethod
    def rehearse(self, split: Any, fold: AFold) -> None:
        """Try everything on a small part of a fold; raises what goes wrong."""

    @abstractmethod
    def fit(self, model: Any, fold: AFold, checkpoint: Path, listener: Listener) -> Any:
        """A model that has learnt from the training part."""

    @abstractmethod
    def asked(self, fold: AFold, seed: int) -> str:
        """What is asked with a seed, in words: an answer to something else is another answer."""

    @abstractmethod
    def answer(self, fitted: Any, fold: AFold, name: str, seed: int, checkpoint: Path, listener: Listener) -> Answer:
        """What a fitted system answers; one that takes long may leave its state and tell how far it is."""

    @abstractmethod
    def keep(self, cell: Cell, name: str, made: Answer, fold: AFold, key: str) -> None:
        """Put an answer on the shelf."""

    @abstractmethod
    def kept(self, cell: Cell, name: str, fold: AFold, key: str) -> Answer | None:
        """The answer on the shelf that has this key."""

    @abstractmethod
    def is_kept(self, cell: Cell, name: str, key: str) -> bool:
        """Whether the shelf has the answer that has this key."""

    @abstractmethod
    def judged(
        self, split: Any, fold: AFold, answers: dict[str, Answer], *, trial: bool = False
    ) -> tuple[dict[str, Verdict], tuple[Finding, ...]]:
        """What answers are worth, by design, and what was found on the way; a trial leaves out what is uncertain."""

    @abstractmethod
    def show(self, cell: Cell, split: Any, fold: AFold, answers: dict[str, Answer]) -> None:
        """Make exhibits, of the first fold with the first seed."""

    def told_of(self, fold: AFold) -> tuple[Finding, ...]:
        """What is found in a fold before it is judged, such as what leaks from the future."""
        return ()

    def systems(self, fold: AFold) -> tuple[System, ...]:
        """Whom to ask: the systems of the study, settled on a fold."""
        return self.plan.systems

    def compare(self, cell: Cell, design: str, verdict: Verdict) -> None:
        """One system against another, over all folds."""
        comparison = compared(self.plan, verdict.scores, threads=self.threads)
        if comparison is not None:
            self.record.note_comparisons(cell, design, comparison.to_dicts())

    def conclude(self) -> None:
        """What can be said when everything has been judged."""

    def prepare(self, fold: AFold) -> None:
        """Make what all systems of a fold share before the first of them is timed."""

    def run(self) -> Results:
        """Everything, in order."""
        logs = {name: self.log(name) for name in self.plan.data}
        lock = locks.lock_of(self.plan, logs)
        if not locks.claim(self.out, lock):
            self._rehearse(logs)
            make_folder(self.out)
            write_text(locks.to_yaml(lock), self.out / locks.NAME)
        if self.ahead is not None:
            self.failed_ahead = self.ahead(self, logs)
        for name, log in logs.items():
            for split in self.plan.splits:
                self._split(name, log, split)
        self.conclude()
        return self.record.written()

    def log(self, name: str) -> Interactions:
        """A log as it is studied: read, and filtered."""
        data = self.plan.data[name]
        self.told(f"reading {name}", 0, 1)
        try:
            log = load(data, self.plan.folder, self.data)
            if left_out := (*self.plan.own_filters[name], *self.plan.filters):
                whole, found = len(log), filters.apply(log, left_out)
                log, self.filtered[name] = found.log, (whole, found.removed)
        except RecassayError as error:
            raise self.plan.at_data(list(self.plan.data).index(name), error) from error
        self.told(f"reading {name}", 1, 1)
        return log

    def _rehearse(self, logs: Mapping[str, Interactions]) -> None:
        of, done = len(logs) * len(self.plan.splits), 0
        for name, log in logs.items():
            for split in self.plan.splits:
                self.told("trying everything on a small part", done, of)
                self.rehearse(split, self.folds(name, log, split)[0])
                done += 1
                self.told("trying everything on a small part", done, of)

    def _split(self, name: str, log: Interactions, split: Any) -> None:
        """All folds of one split of one log, and what they come to together."""
        folds = self.folds(name, log, split)
        worth: dict[tuple[int, str], list[Verdict]] = defaultdict(list)
        first: dict[str, Answer] = {}  # of the first fold and seed: exhibits are made of them
        steps = itertools.count(1)
        of = len(folds) * len(self.plan.study.seeds) * len(self.plan.systems)
        for fold in folds:
            self.record.note_fold(name, split, fold, self.told_of(fold))
            self._note_removed(name, split, fold)
            systems = self.systems(fold)
            for seed in self.plan.study.seeds:
                cell = Cell(name, str(split), fold.number, seed)
                answers: dict[str, Answer] = {}
                for system in systems:
                    made = self._answer(cell, system, fold)
                    if made is not None:
                        answers[system.name] = made
                        if fold is folds[0] and len(answers) == 1:  # what is wrong is told before hours are spent
                            self.judged(split, fold, answers, trial=True)
                    self.told(f"{name}, {split}", next(steps), of)
                if not answers:
                    continue
                first = first or answers
                key = digest_of(JUDGE, str(cell))
                with self.clock.timed(key):
                    judged, findings = self.judged(split, fold, answers)
                self._note_times(cell, None, {JUDGE: key})
                self.record.note_findings(findings, cell, None)
                for design, verdict in judged.items():
                    worth[seed, design].append(verdict)
                    self.record.note(cell, design, verdict)
        if first:
            self.show(Cell(name, str(split), folds[0].number, self.plan.study.seeds[0]), split, folds[0], first)
        for (seed, design), parts in worth.items():
            cell = Cell(name, str(split), 0, seed)
            together = self.record.together(cell, design, parts, len(folds), self.threads)
            if together is not None:
                self.compare(cell, design, together)

    def _note_removed(self, name: str, split: Any, fold: AFold) -> None:
        """Whether many rows of a log are in no part of a fold; a sequence of one event never is, and is not counted."""
        by = {"filters": self.filtered[name]} if name in self.filtered else {}
        if isinstance(fold, Fold):
            parts = (fold.train, fold.test, fold.validation)
            kept = sum(len(part) for part in parts if part is not None)
            by["the split"] = kept + sum(fold.removed.values()), fold.removed
        self.record.note_findings(diagnose(Removed(by)), Cell(name, str(split), fold.number, 0), None)

    def _answer(self, cell: Cell, system: System, fold: AFold) -> Answer | None:
        """What a system answers, from the shelf if it is there; None if it fails, in whatever way."""
        if about := self.failed_ahead.get((cell, system.name)):
            self.record.failed_elsewhere(cell, system.name, about)
            return None
        keys = self.keys(cell, system, fold)
        made = self.kept(cell, system.name, fold, keys[ANSWER])
        if made is None:
            if not self.make(cell, system, fold):
                return None
            made = self.kept(cell, system.name, fold, keys[ANSWER])  # as a run that goes on finds it
        self._note_times(cell, system.name, keys)
        return made

    def keys(self, cell: Cell, system: System, fold: AFold) -> dict[str, str]:
        """What a fitted system and its answer are made from."""
        fitted = model_key(system.text, system.source, system.seeded(cell.seed), fold)
        return {FIT: fitted, ANSWER: digest_of(fitted, self.asked(fold, cell.seed))}

    def make(self, cell: Cell, system: System, fold: AFold) -> bool:
        """Put what a system answers on the shelf; or write down that it failed, in whatever way."""
        keys = self.keys(cell, system, fold)
        try:
            fitted = self.fitted(system.name, system.seeded(cell.seed), fold, keys[FIT])
            self.prepare(fold)
            checkpoint = self.shelf.checkpoint(keys[ANSWER])
            with self.clock.timed(keys[ANSWER], goes_on=checkpoint.is_file()) as note:
                listener = self._listener(system.name, note)
                made = self.answer(fitted, fold, system.name, cell.seed, checkpoint, listener)
        except Exception as error:
            self.record.failed(cell, system.name, error)
            return False
        self.keep(cell, system.name, made, fold, keys[ANSWER])
        return True

    def _note_times(self, cell: Cell, system: str | None, keys: Mapping[str, str]) -> None:
        """What was noted when these pieces were made."""
        for what, key in keys.items():
            self.record.note_time(cell, system, what, self.clock.noted(key))

    def _listener(self, name: str, note: Callable[[], None]) -> Listener:
        """Tells how far a system is, and notes the time it took until then."""

        def listener(text: str, done: int, of: int) -> None:
            note()
            self.told(f"{name}: {text}", done, of)

        return listener

    def fitted(self, name: str, model: Any, fold: AFold, key: str) -> Any:
        """A fitted model, from the shelf if it is there."""
        if not hasattr(model, "fit"):
            return model
        fitted = self.shelf.fitted(key, fold.train)
        if fitted is None:
            checkpoint = self.shelf.checkpoint(key)
            with self.clock.timed(key, goes_on=checkpoint.is_file()) as note:
                fitted = self.fit(model, fold, checkpoint, self._listener(name, note))
            self.shelf.keep_fitted(key, fitted, fold.train)
        return fitted
