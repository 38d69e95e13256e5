"""A run of a study of ranked lists."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from recassay.data.fold import Fold
from recassay.data.interactions import Interactions
from recassay.data.io import write_parquet
from recassay.data.io.archive import save_archive
from recassay.data.io.write import file_name
from recassay.data.memberships import Memberships
from recassay.data.read import read_run
from recassay.data.run import Run
from recassay.engine.lists.groups import user_groups
from recassay.engine.options import GroupOptions
from recassay.engine.ranks.play import play_fitted, ranking_task
from recassay.engine.ranks.standings import standings_of_lists
from recassay.engine.ranks.task import RankingTask
from recassay.errors import UsageError
from recassay.metrics.base import UnitMetric
from recassay.models.base.capabilities import Listener
from recassay.protocols.base import UserProtocol
from recassay.results.exhibit import Exhibit
from recassay.split.base import Split
from recassay.study.config.sources import load_item_groups, load_user_groups
from recassay.study.plan.parsing import require_run_files
from recassay.study.plan.plan import LISTS, Plan
from recassay.study.plan.run_files import RunFile
from recassay.study.plan.systems import System
from recassay.study.run.dry_run import small_fold
from recassay.study.run.loop import Judged, StudyRun, sizes_of
from recassay.study.run.study_scores import Parts, StudyScores, compare_systems, judge_fold, judge_item_groups
from recassay.study.store.folder import FIT, MADE_FROM, SCORED, STANDINGS, StudyCell, refuse_replaced

JUDGED, FEW_JUDGED = 50, 20  # users who get lists in the dry run: on the first data and split of a study, and on others


@dataclass
class ListRun(StudyRun[Fold, Run]):
    """One run of a study of ranked lists.

    ``task`` returns the ranking task of a fold (users, candidates and relevant items) and caches the last one.
    """

    plan: Plan
    task: Callable[[Fold, UserProtocol], RankingTask] = field(
        default_factory=lambda: functools.lru_cache(maxsize=1)(ranking_task)
    )

    @functools.cached_property
    def groups(self) -> Callable[[str, str, str], Memberships]:
        """Return a function ``load(dataset, kind, column)`` that reads the groups which a column makes.

        ``kind`` is ``users`` or ``items``. Each column is read once.
        """

        def load(name: str, what: str, by: str) -> Memberships:
            read = load_user_groups if what == "users" else load_item_groups
            with self.plan.locating_data(name):
                return read(self.plan.data[name], by, self.plan.folder, self.data)

        return functools.cache(load)

    def folds(self, name: str, log: Interactions, split: Split) -> tuple[Fold, ...]:
        """Return the folds of a split with the item features of the data set; raise an error if a run file is missing.

        Groups that the study asks for are read first, so that a mistake in them is found before models are fitted.
        """
        study = self.plan.study
        for what, columns in (("users", study.by), ("items", study.by_item)):
            for by in columns:
                self.groups(name, what, by)
        items, folds = self.items(name), split(log)
        require_run_files(self.plan, name, str(split), [fold.number for fold in folds])
        if study.users == "known":
            folds = tuple(fold.of_known_users() for fold in folds)
        return folds if items is None else tuple(replace(fold, items=items) for fold in folds)

    def about(self, fold: Fold) -> dict[str, Any]:
        """Return the sizes of the parts of a fold, its leakage (training after test events), and the kind of times."""
        parts = {"train": fold.train, "validation": fold.validation, "test": fold.test}
        sizes = {name: None if part is None else sizes_of(part) for name, part in parts.items()}
        return {"leakage": fold.leakage, "times": fold.train.times, **sizes}

    def small(self, cell: StudyCell, fold: Fold) -> Fold:
        """Return a small part of a fold with the test events of its first users.

        All test events are kept if nothing is relevant to these users. Raise U135 if nothing is relevant to any user.
        """
        first = next(iter(self.plan.data))
        is_first = (cell.dataset, cell.split) == (first, str(self.plan.splits_of(first)[0]))
        part = small_fold(fold)
        last = np.unique(part.test.users)[: JUDGED if is_first else FEW_JUDGED].max(initial=0)
        for few in (replace(part, test=part.test.take(part.test.users <= last)), part):
            task = self.task(few, self.plan.protocol)
            if task.relevant.places.size:
                return few
        raise UsageError(
            "U135",
            f"no test rating of the {task.users.size:,} users of the dry run is relevant",
            where=f"{self.plan.protocol}, {part.how.get('split')}",
            hint="lower relevant_from, or look at the ratings: recassay stats LOG",
        )

    def protocol_text(self, fold: Fold, seed: int) -> str:
        """Return the protocol as text, the same for every seed."""
        return str(self.plan.protocol)

    def prepare(self, fold: Fold) -> None:
        """Make the ranking task of the fold (users, candidates and relevant items), which all systems share."""
        self.task(fold, self.plan.protocol)

    def answer(self, fitted: Any, fold: Fold, name: str, seed: int, checkpoint: Path | None, listener: Listener) -> Run:
        """Return the ranked lists of a fitted system with standings (counts of candidates above each relevant item).

        ``name`` is that of the system; other kinds of studies need the further arguments.
        """
        return play_fitted(
            fitted, self.task(fold, self.plan.protocol), name, k=self.plan.protocol.k, threads=self.threads
        )

    def answer_files(self, cell: StudyCell, system: str) -> tuple[Path, Path]:
        """Return the paths of a system's ranked lists and of its standings on a cell (data set, split, fold, seed)."""
        home = self.store.place(STANDINGS, self.store.of_cell(cell), f"{file_name(system)}.npz")
        return self.store.run_place(cell, system), home

    def store_answer(self, cell: StudyCell, name: str, answer: Run, fold: Fold, key: str) -> None:
        """Write the ranked lists and standings of a system on a cell (data set, split, fold, seed).

        ``key``, a digest of all that they depend on, is stored in both files. The lists are written last, because
        standings (counts of candidates above each relevant item) are only used if the lists are there.
        """
        lists, standings = self.answer_files(cell, name)
        save_archive(standings, (key, answer.standings), compressed=True)
        write_parquet(answer.frame(), lists, {MADE_FROM: key})

    def load_answer(self, cell: StudyCell, name: str, fold: Fold, key: str) -> Run | None:
        """Return the ranked lists of a system that are stored under ``key`` for a cell, with standings, else None.

        Standings are counts of candidates above each relevant item; if another program wrote the lists, they are
        computed from these. Raise U111 if another program's lists have replaced lists that must be computed.
        """
        lists, place = self.answer_files(cell, name)
        made_from, standings = self.store.archived(place) or ("", None)
        is_replaced = self.store.is_replaced(lists, functools.partial(read_run, name=name))
        if is_replaced and made_from != key:
            refuse_replaced(lists)
        if made_from != key or not (is_replaced or self.store.is_made_from(key, lists)):
            return None
        run = read_run(lists, name)
        if is_replaced:
            standings = standings_of_lists(self.task(fold, self.plan.protocol), run, threads=self.threads)
        return replace(run, standings=standings)

    def judge(self, cell: StudyCell, fold: Fold, answers: dict[str, Run], *, dry_run: bool = False) -> Judged:
        """Score the ranked lists of all systems on a fold; return ({design: scores}, findings).

        A design says which items are ranked as candidates; findings are warnings about results, here about those of
        all designs. ``answers`` maps each system to its ranked lists. A dry run computes no intervals, and also
        compares the systems, so that a comparison that fails shows early.
        """

        def remember(system: str, parts: Parts, compute: Callable[[], Any]) -> Any:
            if dry_run or parts is None:
                return compute()
            files = self.answer_files(cell, system)
            if files[0] in self.store.replaced:
                return compute()
            return self.store.remember(SCORED, (system, self.store.checksums(*files), *parts), compute)

        split = next(one for one in self.plan.splits_of(cell.dataset) if str(one) == cell.split)
        plan = self.plan.for_data(cell.dataset)
        by_design, findings = judge_fold(
            plan, split, fold, answers, dry_run=dry_run, threads=self.threads, remember=remember
        )
        if dry_run:
            for scored in by_design.values():
                compare_systems(self.plan, scored.scores, threads=self.threads)
        elif self.plan.study.by_item and LISTS in by_design:
            memberships = [self.groups(cell.dataset, "items", by) for by in self.plan.study.by_item]
            by_design[LISTS] = replace(
                by_design[LISTS], item_groups=judge_item_groups(plan, fold, answers, memberships, self.threads)
            )
        return by_design, findings

    def compare(self, cell: StudyCell, design: str, scored: StudyScores) -> None:
        """Compare the systems over all folds, and record their means by group if the study asks for groups.

        ``scored`` are the scores over all folds under ``design``, which says which items are ranked as candidates.
        """
        super().compare(cell, design, scored)
        study, scores = self.plan.study, scored.scores
        how, known = study.judge.uncertainty, self.plan.metrics
        metrics = {name: one for name in scores.metrics if isinstance(one := known.get(name), UnitMetric)}
        rules = GroupOptions(study.smallest_group, study.compare.correction)
        for by in study.by:
            self.record.note_groups(
                cell,
                design,
                user_groups(scores, self.groups(cell.dataset, "users", by), metrics, how, rules, self.threads),
            )
        for groups_of_items in scored.item_groups:
            self.record.note_groups(cell, design, groups_of_items.scores(scores, how, rules))

    def exhibits(
        self, cell: StudyCell, fold: Fold, systems: Sequence[System], answers: dict[str, Run]
    ) -> Iterator[Exhibit]:
        """Yield the exhibits of every experiment of the study on the systems of a fold.

        A failure is recorded like that of a system.
        """
        if not self.plan.experiments:
            return
        models = {system.name: system.at(cell).model for system in systems if system.name in answers}
        keys = {system.name: self.keys(cell, system, fold)[FIT] for system in systems if system.name in answers}

        from recassay.experiments.base import Trial  # few studies have experiments

        @functools.cache
        def trial() -> Trial:
            described = {
                name: model.read(name) if isinstance(model, RunFile) else model for name, model in models.items()
            }

            def fit() -> dict[str, Any]:
                return {name: self.fitted(name, model, fold, keys[name]) for name, model in models.items()}

            return Trial(fold, self.plan.protocol, described, fit, answers, self.threads)

        for done, experiment in enumerate(self.plan.experiments):
            self.report(f"{cell.dataset}, {cell.split}: experiments", done, len(self.plan.experiments))
            parts = keys, str(self.plan.protocol), str(experiment)
            try:
                found = self.store.remember("exhibits", parts, functools.partial(_run_experiment, experiment, trial))
            except Exception as error:
                self.fail(cell, str(experiment), error)
            else:
                yield from found


def _run_experiment(experiment: Any, trial: Callable[[], Any]) -> tuple[Exhibit, ...]:
    """Return the exhibits of an experiment, with nulls in place of undefined numbers, as they are written."""
    return tuple(replace(one, table=one.table.fill_nan(None)) for one in experiment(trial()))
