"""The order of work in a run of a study of any kind; every result is written as soon as it is computed."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from collections.abc import Sequence as Several
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, Self, TypeVar

from recassay.checks import diagnose
from recassay.data.fold import Fold
from recassay.data.interactions import Interactions
from recassay.data.io import make_folder, require_possible_folder, write_text
from recassay.data.io.folder_lock import locked
from recassay.data.io.manifest import recording
from recassay.data.sequences import SequenceFold
from recassay.errors import RecassayError
from recassay.models.base.capabilities import CanFit
from recassay.models.base.training import Listener
from recassay.results.finding import Finding
from recassay.study.config.sources import filter_log, load_log, source_files
from recassay.study.plan import lock as locks
from recassay.study.plan.plan import AnyPlan
from recassay.study.plan.run_files import RunFiles
from recassay.study.plan.systems import System
from recassay.study.run.dry_run import UNTRUSTED, Rehearsal, dry_run
from recassay.study.run.failing import leave_out
from recassay.study.run.judging import compare_systems
from recassay.study.run.record import Record
from recassay.study.run.study_scores import StudyScores
from recassay.study.run.work import Work
from recassay.study.store import state
from recassay.study.store.folder import StudyCell, StudyFolder, digest_of, failed_in_dry_run, model_key
from recassay.study.store.results import Results
from recassay.study.store.statistics import stored_statistics
from recassay.study.store.stream_fold import StreamFold
from recassay.study.store.times import ANSWER, FIT, JUDGE, TIMES, Stopwatch
from recassay.threads import available

ReportProgress = Callable[[str, int, int], None]  # stage, done, of
Logs = Mapping[str, Interactions]  # by the name of the data
AFold = TypeVar("AFold", Fold, SequenceFold, StreamFold)
Answer = TypeVar("Answer")


@dataclass
class Runner(ABC, Generic[AFold, Answer]):
    """One run of a study; subclasses define folds, fitting, answers and scores for lists, sequences and streams.

    An answer is what a fitted system gives on a fold: ranked lists, generated sequences, or outcomes of a stream.
    ``out`` is the folder of results, ``data`` the folder of data sets, and ``report`` is called with the progress.
    """

    plan: AnyPlan
    out: Path
    data: Path | None
    threads: int | None
    report: ReportProgress
    trust: bool = False  # whether pickles of another process may be read
    wait: bool = False  # for another process that uses the folder
    arguments: Mapping[str, Any] | None = None  # the arguments of the run, to recognise an unchanged study
    read: dict[str, state.Stamp | None] = field(default_factory=dict)  # files, as they were before
    work: Work = field(default_factory=Work)
    filtered: dict[str, tuple[int, Mapping[str, int]]] = field(
        default_factory=dict
    )  # by log: rows before filters, and removed rows by reason
    failed_early: list[tuple[StudyCell, str, Exception]] = field(default_factory=list)  # in the dry run: what, and why

    @cached_property
    def record(self) -> Record:
        """Return the record of the results of this run, which begins empty."""
        return Record(self.plan, self.out, trust=self.trust)

    @property
    def clock(self) -> Stopwatch:
        """Return the store of how long each step (such as fitting a system on a fold) took."""
        return Stopwatch(self.out / TIMES, self.threads or available(), self.store.manifest.is_intact)

    @property
    def store(self) -> StudyFolder:
        """Return the folder of stored results of the study."""
        return self.record.store

    @abstractmethod
    def folds(self, name: str, log: Interactions, split: Any) -> Several[AFold]:
        """Return the folds that a split makes of the log of data set ``name``."""

    @abstractmethod
    def rehearse(self, cell: StudyCell, split: Any, fold: AFold) -> Rehearsal[Answer]:
        """Return the functions, not yet called, that fit and score systems on a small part of a fold."""

    @abstractmethod
    def fit(self, model: Any, fold: AFold, checkpoint: Path, listener: Listener) -> Any:
        """Return the model fitted on a fold; a slow fit may write a ``checkpoint`` and report to ``listener``."""

    @abstractmethod
    def protocol_text(self, fold: AFold, seed: int) -> str:
        """Return the protocol for a seed as text, which is part of the key under which an answer is stored."""

    @abstractmethod
    def answer(self, fitted: Any, fold: AFold, name: str, seed: int, checkpoint: Path, listener: Listener) -> Answer:
        """Return what the fitted system ``name`` answers on a fold: lists, sequences or outcomes of a stream.

        A slow one may write a ``checkpoint``, from which an interrupted run resumes, and tell ``listener`` its
        progress.
        """

    @abstractmethod
    def store_answer(self, cell: StudyCell, name: str, answered: Answer, fold: AFold, key: str) -> None:
        """Write what a system answered on a fold (lists, sequences or outcomes) into the folder, together with ``key``.

        The key is a digest of all that the answer depends on.
        """

    @abstractmethod
    def load_answer(self, cell: StudyCell, name: str, fold: AFold, key: str) -> Answer | None:
        """Return a system's stored lists, sequences or outcomes on a cell, or None if none have this ``key``."""

    @abstractmethod
    def judge(
        self, split: Any, fold: AFold, answers: dict[str, Answer], *, dry_run: bool = False
    ) -> tuple[dict[str, StudyScores], tuple[Finding, ...]]:
        """Return the scores of all systems on a fold by design, and the findings about all designs together.

        ``answers`` are the lists, sequences or outcomes by system. A dry run computes no intervals.
        """

    @abstractmethod
    def make_exhibits(self, cell: StudyCell, split: Any, fold: AFold, answers: dict[str, Answer]) -> None:
        """Write the exhibits (tables to draw) of a fold; called for each split's first fold with the first seed."""

    def findings_of_fold(self, fold: AFold) -> tuple[Finding, ...]:
        """Return findings about a fold itself, such as training events that are later than test events."""
        return ()

    def working_systems(self, name: str, split: str, fold: AFold) -> tuple[System, ...]:
        """Return the systems for a fold of a split of data set ``name``, without those that failed in its dry run."""
        return tuple(system for system in self.systems(fold) if not self.is_left_out(name, split, system.name))

    def systems(self, fold: AFold) -> tuple[System, ...]:
        """Return the systems of the study for a fold, with tuned parameters if there is tuning."""
        return self.plan.systems

    def compare(self, cell: StudyCell, design: str, scored: StudyScores) -> None:
        """Compare the systems by their results over all folds, and record the comparison and the best systems."""
        comparison = compare_systems(self.plan, scored.scores, threads=self.threads)
        self.record.note_leads(cell, design, scored.scores, comparison)
        if comparison is not None and comparison.baseline == self.plan.study.compare.baseline:
            self.record.note_comparisons(cell, design, comparison.to_dicts())

    def conclude(self) -> None:
        """Record results that need all folds, such as corrections of p-values over all streams; by default nothing."""

    def prepare(self, fold: AFold) -> None:
        """Compute what all systems of a fold share, so that the time of the first system does not include it."""

    def run(self) -> Results:
        """Run all stages of the study in order, and return the results; the folder is locked while it is written."""
        require_possible_folder(self.out)
        self.read |= state.stamps(locks.code_files(self.plan))
        logs = {name: self.log(name) for name in self.plan.data}
        lock, before = locks.build_lock(self.plan, logs), locks.stored_lock(self.out)
        self.work.changed = locks.changed_systems(before, lock)
        failed_before = failed_in_dry_run(self.out)
        if not locks.claim_folder(self.out, lock) or failed_before:
            self.failed_early = dry_run(self, logs, failed_before.union(self.work.changed))
        make_folder(self.out)
        with locked(self.out, wait=self.wait, tell=self._tell), recording(self.out):
            state.forget_state(self.out)
            if not locks.claim_folder(self.out, lock):  # again: another process may have begun a study there
                write_text(locks.to_yaml(lock), self.out / locks.NAME)
            results = self._run_all(logs)
            if self.arguments is not None and not results.failures:  # a model that failed is tried again
                state.store_state(self.out, self.arguments, self.read)
            return results

    def _tell(self, text: str) -> None:
        self.report(text, 0, 1)

    def _run_all(self, logs: Logs) -> Results:
        """Run all stages that write files, and return the results."""
        for cell, name, error in self.failed_early:
            self.record.note_failure(cell, name, error, in_dry_run=True)
        with stored_statistics(self.out) as memo:
            for name, log in logs.items():
                for split in self.plan.splits_of(name):
                    self._split(name, log, split)
            self.conclude()
        return replace(self.record.write(), work=self.work.lines(memo, self.record.scored))

    def is_left_out(self, dataset: str, split: str, system: str) -> bool:
        """Return whether a system failed in the dry run of a split of a data set, and so is left out there."""
        place = (dataset, split, system)
        return any((cell.dataset, cell.split, name) == place for cell, name, _ in self.failed_early)

    def with_metrics(self, headings: Several[str]) -> Self:
        """Return a runner of the same study with these metrics only."""
        return replace(self, plan=self.plan.with_metrics(headings))

    def drop_metrics(self, headings: Collection[str]) -> None:
        """Leave out metrics from here on."""
        if not headings:
            return
        self.plan = self.plan.with_metrics([heading for heading in self.plan.metrics if heading not in headings])
        self.record.plan = self.plan

    def log(self, name: str) -> Interactions:
        """Return the log of data set ``name`` after all filters; an error names its line in the study file."""
        data = self.plan.data[name]
        self.report(f"reading {name}", 0, 1)
        try:
            self.read |= state.stamps(source_files(data, self.plan.folder, self.data))
            log = load_log(data, self.plan.folder, self.data)
            self.check_log(name, log)
            if found := filter_log(log, self.plan.filters_of(name), data, self.plan.folder, self.data):
                self.filtered[name] = (len(log), found.removed)
                log = found.log
        except RecassayError as error:
            raise self.plan.locate_data(name, error) from error
        self.report(f"reading {name}", 1, 1)
        return log

    def check_log(self, name: str, log: Interactions) -> None:
        """Raise an error if the log of data set ``name`` lacks what the study needs; by default nothing is needed."""

    def _split(self, name: str, log: Interactions, split: Any) -> None:
        """Run and score all folds of one split of the log of data set ``name``, and combine the results over folds."""
        folds = self.folds(name, log, split)
        by_design: dict[tuple[int, str], list[StudyScores]] = defaultdict(list)
        first: dict[str, Answer] = {}  # of the first fold and seed, for exhibits
        steps = itertools.count(1)
        of = len(folds) * len(self.plan.study.seeds) * len(self.plan.systems)
        for fold in folds:
            self.record.note_fold(name, split, fold, self.findings_of_fold(fold))
            self._note_removed(name, split, fold)
            systems = self.working_systems(name, str(split), fold)
            for seed in self.plan.study.seeds:
                cell = StudyCell(name, str(split), fold.number, seed)
                answers: dict[str, Answer] = {}
                for system in systems:
                    answered = self._answer(cell, system, fold)
                    if answered is not None:
                        answers[system.name] = answered
                        is_new = bool(self.work.computed[system.name])
                        if fold is folds[0] and len(answers) == 1 and is_new:  # an error shows before others take hours
                            leave_out(self, cell, split, fold, answers, one_of=len(systems))
                        self._note_changed(cell, system.name)
                    self.report(f"{name}, {split}", next(steps), of)
                if not answers:
                    continue
                first = first or answers
                key = digest_of(JUDGE, str(cell))
                with self.clock.timed(key):
                    judged, findings = self._judged(cell, split, fold, answers)
                self._note_times(cell, None, {JUDGE: key})
                self.record.note_findings(findings, cell, None)
                for design, scored in judged.items():
                    by_design[seed, design].append(scored)
                    self.record.note(cell, design, scored)
        if first:
            self.make_exhibits(
                StudyCell(name, str(split), folds[0].number, self.plan.study.seeds[0]), split, folds[0], first
            )
        for (seed, design), parts in by_design.items():
            cell = StudyCell(name, str(split), 0, seed)
            pooled = self.record.pool_folds(cell, design, parts, len(folds), self.threads)
            if pooled is not None:
                self.compare(cell, design, pooled)

    def _judged(
        self, cell: StudyCell, split: Any, fold: AFold, answers: dict[str, Answer]
    ) -> tuple[dict[str, StudyScores], tuple[Finding, ...]]:
        """Return the scores by design, and the findings, of what systems answered on a fold.

        Metrics and systems that cannot be scored are recorded as failed and left out.
        """
        while answers:
            try:
                return self.judge(split, fold, answers)
            except Exception:
                if not leave_out(self, cell, split, fold, answers):
                    raise
        return {}, ()

    def _note_removed(self, name: str, split: Any, fold: AFold) -> None:
        """Record a finding if filters or the split removed many rows; sequences of one event are not counted."""
        by_step = {"filters": self.filtered[name]} if name in self.filtered else {}
        if isinstance(fold, Fold):
            parts = (fold.train, fold.test, fold.validation)
            kept = sum(len(part) for part in parts if part is not None)
            by_step["the split"] = kept + sum(fold.removed.values()), fold.removed
        self.record.note_findings(
            diagnose("removed rows", steps=by_step), StudyCell(name, str(split), fold.number, 0), None
        )

    def _note_changed(self, cell: StudyCell, system: str) -> None:
        """Record a finding if somebody replaced the stored lists of a system, which are then scored as they are."""
        replaced = self.store.newly_replaced()
        self.record.note_findings(diagnose("replaced runs", system=system, files=replaced), cell, None)

    def _answer(self, cell: StudyCell, system: System, fold: AFold) -> Answer | None:
        """Return a system's lists, sequences or outcomes on a cell (fold and seed), stored or new; None on failure."""
        keys = self.keys(cell, system, fold)
        answered = self.load_answer(cell, system.name, fold, keys[ANSWER])
        self.work.note(system.name, computed=answered is None)
        if answered is None:
            if not self.make_answer(cell, system, fold):
                return None
            answered = self.load_answer(
                cell, system.name, fold, keys[ANSWER]
            )  # read it back, so that a resumed run gets the same
        if not isinstance(system.model, RunFiles):  # nobody knows how long the other program took
            self._note_times(cell, system.name, keys)
        return answered

    def keys(self, cell: StudyCell, system: System, fold: AFold) -> dict[str, str]:
        """Return the keys of a fitted model and its answers by step: digests of all that these results depend on."""
        placed = system.at(cell)
        fitted = model_key(placed.text, placed.source, placed.model, fold)
        return {FIT: fitted, ANSWER: digest_of(fitted, self.protocol_text(fold, cell.seed))}

    def make_answer(self, cell: StudyCell, system: System, fold: AFold) -> bool:
        """Compute and store a system's lists, sequences or outcomes; record a failure; return whether it succeeded."""
        keys = self.keys(cell, system, fold)
        try:
            fitted = self.fitted(system.name, system.at(cell).model, fold, keys[FIT])
            self.prepare(fold)
            checkpoint = self.store.checkpoint(keys[ANSWER])
            with self.clock.timed(keys[ANSWER], resumed=checkpoint.is_file()) as note:
                listener = self._listener(system.name, note)
                answered = self.answer(fitted, fold, system.name, cell.seed, checkpoint, listener)
        except Exception as error:
            if isinstance(error, RecassayError) and error.code == UNTRUSTED:
                raise  # only the user can decide, and nothing is wrong with the model
            self.record.note_failure(cell, system.name, error)
            return False
        self.store_answer(cell, system.name, answered, fold, keys[ANSWER])
        return True

    def _note_times(self, cell: StudyCell, system: str | None, keys: Mapping[str, str]) -> None:
        """Record how long each step of a system took; ``keys`` are the keys of its results by step, such as ``fit``."""
        for what, key in keys.items():
            self.record.note_time(cell, system, what, self.clock.times(key))

    def _listener(self, name: str, note: Callable[[], None]) -> Listener:
        """Return a function that reports the progress of system ``name`` and calls ``note`` to store its time."""

        def listener(text: str, done: int, of: int) -> None:
            note()
            self.report(f"{name}: {text}", done, of)

        return listener

    def fitted(self, name: str, model: Any, fold: AFold, key: str) -> Any:
        """Return the fitted model stored under ``key``, or a new one; a model without a fit is returned unchanged."""
        if not isinstance(model, CanFit):
            return model
        fitted = self.store.fitted(key, fold.train)
        if fitted is None:
            checkpoint = self.store.checkpoint(key)
            with self.clock.timed(key, resumed=checkpoint.is_file()) as note:
                fitted = self.fit(model, fold, checkpoint, self._listener(name, note))
            self.store.store_fitted(key, fitted, fold.train)
        return fitted
