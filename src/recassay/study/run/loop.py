"""The order of work in a run of a study of any kind; every result is written as soon as it is computed."""

from __future__ import annotations

import functools
import itertools
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Generic, Self, TypeVar

import polars as pl

from recassay.checks import diagnose
from recassay.checks.studies import fold_findings
from recassay.columnar.times import require_times
from recassay.data.features import Features
from recassay.data.fold import Fold
from recassay.data.interactions import Interactions, no_ratings_to_compare
from recassay.data.sequences import SequenceFold, Sequences
from recassay.models.base.capabilities import CanFit, Listener, Training, fitted_on_fold
from recassay.models.base.model import BuiltIn, no_ratings_to_learn
from recassay.models.sequence.base import fitted_on_sequences
from recassay.results.exhibit import Exhibit
from recassay.results.finding import Finding
from recassay.study.config.sources import filter_log, load_items, load_log
from recassay.study.plan.plan import AnyPlan, Plan, StreamFold
from recassay.study.plan.run_files import RunFile, RunFiles
from recassay.study.plan.systems import System
from recassay.study.run.dry_run import leave_out
from recassay.study.run.record import Record
from recassay.study.run.study_scores import StudyScores, compare_systems
from recassay.study.store.folder import (
    ANSWER,
    FIT,
    JUDGE,
    StudyCell,
    StudyFolder,
    digest_of,
    model_key,
)  # fmt: skip
from recassay.study.store.results import Row

ReportProgress = Callable[[str, int, int], None]  # stage, done, of
UNTRUSTED = "U236"  # a pickle of another process: only the user can decide, and nothing is wrong with the model
AFold = TypeVar("AFold", bound=Fold | SequenceFold | StreamFold)
Answer = TypeVar("Answer")
Judged = tuple[dict[str, StudyScores], tuple[Finding, ...]]  # scores by design; findings about all designs together


@dataclass
class StudyRun(ABC, Generic[AFold, Answer]):
    """One run of a study: the loop over data, splits, folds, seeds and systems.

    An answer is what a fitted system gives on a fold. Subclasses say what differs between ranked lists, generated
    sequences and outcomes of streams: how a fold is made, a system fitted and asked, and its answer stored and scored.
    ``data`` is the folder of data sets, and ``report`` is called with the progress.
    """

    plan: AnyPlan
    record: Record
    data: Path | None
    threads: int | None
    report: ReportProgress
    filtered: dict[str, tuple[int, Mapping[str, int]]] = field(default_factory=dict)  # rows before, and removed, by log
    left_out: list[tuple[StudyCell, str, Exception]] = field(default_factory=list)  # in the dry run: what, and why
    tried: list[Row] = field(default_factory=list)  # settings of systems, in the tuning of a split

    @property
    def store(self) -> StudyFolder:
        """Return the folder of stored results of the study."""
        return self.record.store

    @functools.cached_property
    def items(self) -> Callable[[str], Features | None]:
        """Return a function from the name of a data set to its item features, which are read once."""

        def load(name: str) -> Features | None:
            with self.plan.locating_data(name, "items"):
                return load_items(self.plan.data[name], self.plan.folder, self.data)

        return functools.cache(load)

    # --- what differs between kinds of studies ------------------------------------------------------------------------

    @abstractmethod
    def folds(self, name: str, log: Interactions, split: Any) -> Sequence[AFold]:
        """Return the folds that a split makes of the log of data set ``name``."""

    @abstractmethod
    def about(self, fold: AFold) -> Row:
        """Return the sizes of a fold and facts about its times, for the JSON file that describes the fold."""

    @abstractmethod
    def small(self, cell: StudyCell, fold: AFold) -> AFold:
        """Return a small part of a fold, on which the study is tried first."""

    @abstractmethod
    def protocol_text(self, fold: AFold, seed: int) -> str:
        """Return the protocol for a seed as text, which is part of the key under which an answer is stored."""

    @abstractmethod
    def answer(
        self, fitted: Any, fold: AFold, name: str, seed: int, checkpoint: Path | None, listener: Listener
    ) -> Answer:
        """Return what the fitted system ``name`` answers on a fold: lists, sequences or outcomes of a stream.

        A slow one may write a ``checkpoint``, from which an interrupted run resumes, and tell ``listener`` its
        progress.
        """

    @abstractmethod
    def store_answer(self, cell: StudyCell, name: str, answer: Answer, fold: AFold, key: str) -> None:
        """Write what a system answered on a cell (data set, split, fold, seed).

        ``key``, a digest of all that the answer depends on, is stored with it.
        """

    @abstractmethod
    def load_answer(self, cell: StudyCell, name: str, fold: AFold, key: str) -> Answer | None:
        """Return what a system answered on a cell (data set, split, fold, seed); None if not stored under ``key``."""

    @abstractmethod
    def judge(self, cell: StudyCell, fold: AFold, answers: dict[str, Answer], *, dry_run: bool = False) -> Judged:
        """Score the answers of all systems on a fold; return ({design: scores}, findings).

        A design says which items are ranked as candidates; findings are warnings about the results of all designs.
        ``answers`` maps each system to its answer. A dry run computes no intervals, and also compares the systems, so
        that a comparison that fails shows early.
        """

    @abstractmethod
    def exhibits(
        self, cell: StudyCell, fold: AFold, systems: Sequence[System], answers: dict[str, Answer]
    ) -> Iterator[Exhibit]:
        """Yield the exhibits (tables to draw) of a split, from its first fold and seed."""

    def tuned(self, system: System, fold: AFold) -> System:
        """Return a system with the best of its settings for a fold; by default as it is."""
        return system

    def prepare(self, fold: AFold) -> None:
        """Compute what all systems of a fold share, so that the time of the first system does not include it."""

    def compare(self, cell: StudyCell, design: str, scored: StudyScores) -> None:
        """Compare the systems by their results over all folds, and record the comparison and the best systems.

        ``scored`` are these results under ``design``, which says which items are ranked as candidates.
        """
        comparison = compare_systems(self.plan, scored.scores, threads=self.threads)
        self.record.note_leads(cell, design, scored.scores, comparison)
        if comparison is not None and comparison.baseline == self.plan.study.compare.baseline:
            self.record.note_comparisons(cell, design, comparison.to_dicts())

    def conclude(self) -> None:
        """Record results that need all folds, such as corrections of p-values over all streams; by default nothing."""

    # --- the loop -----------------------------------------------------------------------------------------------------

    def log(self, name: str) -> Interactions:
        """Return the log of data set ``name`` after all filters; an error names its line in the study file."""
        data, folder = self.plan.data[name], self.plan.folder
        self.report(f"reading {name}", 0, 1)
        with self.plan.locating_data(name):
            log = load_log(data, folder, self.data)
            steps = (*self.plan.own_filters[name], *self.plan.filters)
            if filtered := filter_log(log, steps, data, folder, self.data):
                self.filtered[name] = (len(log), filtered.removed)
                log = filtered.log
        check_log(self.plan, name, log)  # a filter may count events as ratings
        self.report(f"reading {name}", 1, 1)
        return log

    def run_split(self, name: str, log: Interactions, split: Any) -> None:
        """Run and score all folds of one split of the log of data set ``name``, and combine the results over folds."""
        folds, seeds = self.folds(name, log, split), self.plan.study.seeds
        by_design: dict[tuple[int, str], list[StudyScores]] = defaultdict(list)
        first: tuple[Any, ...] | None = None  # the first cell with answers, for exhibits
        steps, of = itertools.count(1), len(folds) * len(seeds) * len(self.plan.systems)
        self.tried = []
        for number, fold in enumerate(folds):
            place = StudyCell(name, str(split), fold.number, 0)
            self.record.note_fold(place, fold, self.about(fold))
            self.record.note_findings(self._findings(name, fold), place)
            systems = self._systems(replace(place, seed=seeds[0]), fold)
            for seed in seeds:
                cell = replace(place, seed=seed)
                answers: dict[str, Answer] = {}
                for system in systems:
                    self._add_answer(answers, cell, system, fold)
                    if not number and [*answers] == [system.name] and self.record.computed[system.name]:
                        leave_out(self, cell, fold, answers, one_of=len(systems))  # before others take hours
                    self.report(f"{name}, {split}", next(steps), of)
                if answers:
                    first = first or (cell, fold, systems, answers)
                    for design, scored in self._judged(cell, fold, answers).items():
                        by_design[seed, design].append(scored)
                        self.record.note_scores(cell, design, scored)
        if first is not None:
            self.report(f"{name}, {split}: exhibits", 0, 1)
            for exhibit in self.exhibits(*first):
                self.record.write_exhibit(first[0], exhibit)
            self.report(f"{name}, {split}: exhibits", 1, 1)
        for (seed, design), parts in by_design.items():
            cell = StudyCell(name, str(split), 0, seed)
            pooled = self.record.pool_folds(cell, design, parts, self.threads) if len(parts) == len(folds) else None
            if pooled is not None:
                self.compare(cell, design, pooled)

    def _findings(self, name: str, fold: AFold) -> tuple[Finding, ...]:
        """Return warnings (findings) on a fold of data set ``name``: training after test events, absent metrics.

        Another one says if filters or the split removed many rows; sequences of one event are not counted.
        """
        scored, found = self.plan.for_data(name).metrics, fold_findings(fold) if isinstance(fold, Fold) else ()
        absent = diagnose("absent metrics", metrics=[heading for heading in self.plan.metrics if heading not in scored])
        by_step = {"filters": self.filtered[name]} if name in self.filtered else {}
        if isinstance(fold, Fold):
            kept = sum(len(part) for part in (fold.train, fold.test, fold.validation) if part is not None)
            by_step["the split"] = kept + sum(fold.removed.values()), fold.removed
        return *found, *absent, *diagnose("removed rows", steps=by_step)

    def _systems(self, cell: StudyCell, fold: AFold) -> tuple[System, ...]:
        """Return the systems for a fold, tuned, without those that failed in the dry run."""
        left_out = {name for one, name, _ in self.left_out if (one.dataset, one.split) == (cell.dataset, cell.split)}
        return tuple(self.tuned(system, fold) for system in self.plan.systems if system.name not in left_out)

    def _judged(self, cell: StudyCell, fold: AFold, answers: dict[str, Answer]) -> dict[str, StudyScores]:
        """Return ``{design: scores of all systems on a fold}``; record findings, and how long scoring took.

        A design says which items are ranked as candidates, and findings are warnings about results.

        Metrics and systems that cannot be scored are recorded as failed and left out.
        """
        key, judged = digest_of(JUDGE, str(cell)), None
        with self.store.timed(key, self.threads):
            while answers and judged is None:
                try:
                    judged = self.judge(cell, fold, answers)
                except Exception:
                    if not leave_out(self, cell, fold, answers):
                        raise
        self.record.note_time(cell, None, JUDGE, self.store.times(key))
        scores, findings = judged or ({}, ())
        self.record.note_findings(findings, cell)
        return scores

    def keys(self, cell: StudyCell, system: System, fold: AFold) -> dict[str, str]:
        """Return ``{step: key}`` of a system, such as ``fit``: digests of all that a result depends on."""
        placed = system.at(cell)
        fitted = model_key(placed.text, placed.source, placed.model, fold.fingerprint)
        return {FIT: fitted, ANSWER: digest_of(fitted, self.protocol_text(fold, cell.seed))}

    def _add_answer(self, answers: dict[str, Answer], cell: StudyCell, system: System, fold: AFold) -> None:
        """Add a system's lists, sequences or outcomes on a cell (fold and seed), stored or new; record a failure."""
        keys, name = self.keys(cell, system, fold), system.name
        answer = self.load_answer(cell, name, fold, keys[ANSWER])
        (self.record.computed if answer is None else self.record.taken)[name] += 1
        if answer is None:
            try:
                fitted = self.fitted(name, system.at(cell).model, fold, keys[FIT])
                self.prepare(fold)
                checkpoint = self.store.checkpoint(keys[ANSWER])
                with self.store.timed(keys[ANSWER], self.threads, resumed=checkpoint.is_file()) as note:
                    made = self.answer(fitted, fold, name, cell.seed, checkpoint, self._listener(name, note))
            except Exception as error:
                self.fail(cell, name, error)
                return
            self.store_answer(cell, name, made, fold, keys[ANSWER])
            answer = self.load_answer(cell, name, fold, keys[ANSWER])  # so that a resumed run gets the same
        if not isinstance(system.model, RunFiles):  # nobody knows how long the other program took
            self.note_times(cell, name, keys)
        if answer is not None:
            answers[name] = answer
        self.record.note_findings(diagnose("replaced runs", system=name, files=self.store.newly_replaced()), cell)

    def fail(self, cell: StudyCell, name: str, error: Exception) -> None:
        """Record that a system or experiment failed; raise the error if only the user can decide what to do."""
        if getattr(error, "code", None) == UNTRUSTED:
            raise error
        self.record.note_failure(cell, name, error)

    def note_times(self, cell: StudyCell, system: str, keys: Mapping[str, str]) -> None:
        """Record how long each step of a system took; ``keys`` are the keys of its results by step, such as ``fit``."""
        for what, key in keys.items():
            self.record.note_time(cell, system, what, self.store.times(key))

    def _listener(self, name: str, note: Callable[[], None]) -> Listener:
        """Return a function that reports the progress of system ``name`` and calls ``note``, which stores its time."""

        def listener(text: str, done: int, of: int) -> None:
            note()
            self.report(f"{name}: {text}", done, of)

        return listener

    def fitted(self, name: str, model: Any, fold: AFold, key: str) -> Any:
        """Return the fitted model stored under ``key``, or a new one.

        A model without a fit is returned unchanged, and in place of a run file the lists in it.
        """
        if isinstance(model, RunFile):
            return model.read(name)
        if not isinstance(model, CanFit) or isinstance(fold, StreamFold):
            return model
        fitted = self.store.fitted(key, fold.train)
        if fitted is None:
            checkpoint = self.store.checkpoint(key)
            with self.store.timed(key, self.threads, resumed=checkpoint.is_file()) as note:
                fitted = self.fit(model, fold, checkpoint=checkpoint, listener=self._listener(name, note))
            self.store.store_fitted(key, fitted, fold.train)
        return fitted

    def fit(self, model: Any, fold: AFold, **training: Any) -> Any:
        """Return the model fitted on the training part of a fold; ``training`` are fields of :class:`Training`.

        On sequences a model of lists is fitted on a log in which every sequence is a user. A model of streams is
        returned unchanged, because it learns during the stream.
        """
        if isinstance(fold, SequenceFold):
            return fitted_on_sequences(model, fold.train, training=Training(**training))
        return fitted_on_fold(model, fold, **training) if isinstance(fold, Fold) else model

    def try_answer(self, cell: StudyCell, system: System, part: AFold) -> Answer:
        """Return what a system answers on a small part of a fold, after one epoch of training; nothing is stored."""
        model = system.at(cell).model
        model = model.read(system.name) if isinstance(model, RunFile) else model
        return self.answer(
            self.fit(model, part, max_epochs=1), part, system.name, cell.seed, None, lambda _text, _done, _of: None
        )

    def with_metrics(self, headings: Sequence[str]) -> Self:
        """Return a run of the same study with these metrics only."""
        return replace(self, plan=self.plan.with_metrics(headings))

    def drop_metrics(self, headings: Collection[str]) -> None:
        """Remove metrics from the rest of the run."""
        if headings:
            self.plan = self.plan.with_metrics([one for one in self.plan.metrics if one not in headings])


def check_log(plan: AnyPlan, name: str, log: Interactions) -> None:
    """Raise an error, with its line, if the log of data set ``name`` lacks times or ratings that the study needs."""
    for number, each in enumerate(plan.splits_of(name)):
        with plan.locating_split(name, number):
            require_times(log, each.needs, each)
    if log.ratings is not None:
        return
    if isinstance(plan, Plan) and plan.protocol.relevant_from is not None:
        raise plan.document.locate(("protocol",), no_ratings_to_compare(plan.protocol.relevant_from, log.origin))
    for system in plan.systems:
        if isinstance(system.model, BuiltIn) and system.model.reads_ratings:
            raise plan.document.locate(system.key, no_ratings_to_learn(system.model.name, log.origin))


def sizes_of(part: Any) -> dict[str, int]:
    """Return the numbers of users, items and events of a log or of sequences, for the description of a fold."""
    users, items = (pl.Series(codes).n_unique() for codes in (part.users, part.items))
    sequences = {"sequences": len(part)} if isinstance(part, Sequences) else {}
    return {**sequences, "users": users, "items": items, "events": part.items.size}
