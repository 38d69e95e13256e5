"""The runner of studies of generated sequences."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from recassay.data.generated import Generated
from recassay.data.interactions import Interactions
from recassay.data.io import read_table
from recassay.data.sequences import SequenceFold
from recassay.engine.sequences.exhibits import (
    by_position,
    item_counts,
    item_frequency,
    parallel_view,
    sequence_sizes,
)
from recassay.engine.sequences.generate import generate
from recassay.engine.sequences.given import GivenData
from recassay.engine.sequences.score import DIVERSITY, not_timed, scored
from recassay.errors import RecassayError
from recassay.metrics.sequence.base import PlaceSum, WholeSequenceMetric
from recassay.models.base.training import Listener, Training
from recassay.models.sequence.base import fitted_on_sequences
from recassay.protocols.sequence import Sequence
from recassay.results.exhibit import Exhibit
from recassay.results.finding import Finding
from recassay.split.sequences import SequenceSplit
from recassay.stats.intervals import Uncertainty
from recassay.study.config.sources import file_beside, load_items
from recassay.study.plan.plan import SEQUENCES, SequencePlan
from recassay.study.plan.systems import System
from recassay.study.run.dry_run import Rehearsal
from recassay.study.run.judging import compare_systems
from recassay.study.run.runner import Runner
from recassay.study.run.study_scores import StudyScores
from recassay.study.store.folder import StudyCell, digest_of
from recassay.study.store.generated import generated_frame, generated_from
from recassay.study.store.times import JUDGE, WITH_DIVERSITY

FIRST_SEQUENCE = "first"  # in ``how`` of a fold: the number of its first test sequence, counted over all folds
DATA = "data"  # in ``how`` of a fold: the name of its data set
DRY_RUN_SEQUENCES = 100  # sequences, of training and of test

Runs = tuple[Generated, ...]  # of one system, with each seed of the protocol


@dataclass
class SequenceRunner(Runner[SequenceFold, Runs]):
    """One run of a study of generated sequences."""

    plan: SequencePlan
    cell: StudyCell | None = None  # the one that is judged

    @functools.cached_property
    def given(self) -> Callable[[str], GivenData]:
        """Return a function from the name of a data set to the item features and other data that metrics read.

        The data of each data set are read once.
        """
        return functools.cache(self._given)

    def _given(self, name: str) -> GivenData:
        data, folder = self.plan.data[name], self.plan.folder
        try:
            similarities = data.similarities and file_beside(data.similarities, data, folder, self.data)
            primitive = self.plan.primitives.get(name)
            if data.primitive and primitive is None:
                path = file_beside(data.primitive, data, folder, self.data)
                primitive = read_table(path, "items")["item_id"]
            return GivenData(load_items(data, folder, self.data), similarities, primitive)
        except RecassayError as error:
            raise self.plan.locate_data(name, error) from error

    def folds(self, name: str, log: Interactions, split: SequenceSplit) -> list[SequenceFold]:
        """Return the folds that a split makes of the sequences of a log; events in no sequence count as removed."""
        try:
            sequences = self.plan.sequencers[name](log)
        except RecassayError as error:
            raise self.plan.locate_data(name, error) from error
        found, first = [], 0
        for fold in split(sequences):
            how, removed = {**fold.how, FIRST_SEQUENCE: first, DATA: name}, {**sequences.removed, **fold.removed}
            found.append(dataclasses.replace(fold, how=how, removed=removed))
            first += len(fold.test)
        return found

    def rehearse(self, cell: StudyCell, split: SequenceSplit, fold: SequenceFold) -> Rehearsal[Runs]:
        """Return functions, not yet called, that try systems on the first 100 training and test sequences of a fold."""
        few = np.arange(DRY_RUN_SEQUENCES)
        train, test = fold.train.take(few[: len(fold.train)]), fold.test.take(few[: len(fold.test)])
        part = dataclasses.replace(fold, train=train, test=test)

        def answer(system: System) -> Runs:
            fitted = fitted_on_sequences(system.model, train, training=Training(max_epochs=1))
            return generate(fitted, part, self._protocol(0), name=system.name, threads=self.threads)

        def judge(answers: dict[str, Runs]) -> None:
            judged, _ = self.judge(split, part, answers, dry_run=True)
            for each in judged.values():
                compare_systems(self.plan, each.scores, threads=self.threads)

        return Rehearsal(f"{len(train):,} sequences", answer, judge)

    def fit(self, model: Any, fold: SequenceFold, checkpoint: Path, listener: Listener) -> Any:
        """Return the model fitted on sequences, or on a log in which every sequence is a user."""
        return fitted_on_sequences(model, fold.train, training=Training(checkpoint=checkpoint, listener=listener))

    def protocol_text(self, fold: SequenceFold, seed: int) -> str:
        """Return the protocol for a seed as text; different seeds have different random draws."""
        return str(self._protocol(seed))

    def answer(
        self, fitted: Any, fold: SequenceFold, name: str, seed: int, checkpoint: Path, listener: Listener
    ) -> Runs:
        """Return the sequences that a fitted system generates, a result for each seed of the protocol."""
        return generate(fitted, fold, self._protocol(seed), name=name, threads=self.threads)

    def _protocol(self, seed: int) -> Sequence:
        """Return the protocol for one seed of the study; different seeds have different random draws."""
        protocol = self.plan.protocol
        return dataclasses.replace(protocol, seed=protocol.seed + seed * protocol.seeds)

    def store_answer(self, cell: StudyCell, name: str, made: Runs, fold: SequenceFold, key: str) -> None:
        """Write the sequences that a system generated for a cell (fold and seed) as a table, together with ``key``.

        The key is a digest of all that the sequences depend on.
        """
        frame = generated_frame(made, fold.test.item_vocabulary, int(fold.how[FIRST_SEQUENCE]))
        self.store.store_table(cell, name, frame, key)

    def load_answer(self, cell: StudyCell, name: str, fold: SequenceFold, key: str) -> Runs | None:
        """Return the sequences of a system that are stored for a cell (fold and seed) with this ``key``, else None.

        The key is a digest of all that they depend on.
        """
        frame = self.store.table(cell, name, key)
        return None if frame is None else generated_from(frame, name, fold.test.item_vocabulary)

    def _judged(
        self, cell: StudyCell, split: SequenceSplit, fold: SequenceFold, answers: dict[str, Runs]
    ) -> tuple[dict[str, StudyScores], tuple[Finding, ...]]:
        """Return the scores by design, and the findings; also record how long it took to score each system.

        Two times are recorded: without the metrics of diversity, and with them.
        """
        self.cell = cell
        found = super()._judged(cell, split, fold, answers)
        for name in answers:
            spent = {what: self.clock.times(self._time_key(name, what)) for what in (JUDGE, DIVERSITY)}
            self.record.note_time(cell, name, JUDGE, spent[JUDGE])
            if spent[DIVERSITY]:
                seconds = spent[DIVERSITY]["seconds"] + spent[JUDGE].get("seconds", 0.0)
                self.record.note_time(cell, name, WITH_DIVERSITY, {**spent[DIVERSITY], "seconds": seconds})
        return found

    def _timed(self, system: str, what: str) -> AbstractContextManager[object]:
        """Return a context manager that stores how long its block took.

        ``what`` names the step of scoring ``system``.
        """
        return self.clock.timed(self._time_key(system, what))

    def _time_key(self, system: str, what: str) -> str:
        return digest_of(what, str(self.cell), system)

    def judge(
        self, split: SequenceSplit, fold: SequenceFold, answers: dict[str, Runs], *, dry_run: bool = False
    ) -> tuple[dict[str, StudyScores], tuple[Finding, ...]]:
        """Return the scores of generated sequences against the true continuations, per test sequence; no findings.

        ``answers`` are the sequences by system. The only key of the scores is ``SEQUENCES``. A dry run computes no
        intervals.
        """
        how, given = self.plan.study.judge, self.given(fold.how[DATA])
        uncertainty = Uncertainty(None if dry_run else how.method, how.level, how.resamples, how.seed)
        timed = not_timed if dry_run else self._timed
        scores = scored(fold, answers, list(self.plan.metrics), given, uncertainty, self.threads, timed)
        users = fold.test.user_vocabulary.decode(fold.test.users)
        numbered = dataclasses.replace(scores, units=scores.units + int(fold.how[FIRST_SEQUENCE]))
        return {SEQUENCES: StudyScores(numbered, users=users)}, ()

    def make_exhibits(
        self, cell: StudyCell, split: SequenceSplit, fold: SequenceFold, answers: dict[str, Runs]
    ) -> None:
        """Write charts of item frequencies, of all metrics side by side, and of scores by position in a sequence."""
        self.report(f"{cell.dataset}, {cell.split}: exhibits", 0, 1)
        for exhibit in self._exhibits(split, fold, answers):
            self.record.write_exhibit(cell, exhibit)
        self.report(f"{cell.dataset}, {cell.split}: exhibits", 1, 1)

    def _exhibits(self, split: SequenceSplit, fold: SequenceFold, answers: dict[str, Runs]) -> Iterator[Exhibit]:
        how, metrics = self.plan.study.judge, self.plan.metrics
        yield sequence_sizes(fold)
        yield item_frequency(fold, answers)
        yield item_counts(fold, answers)
        judged, _ = self.judge(split, fold, answers, dry_run=True)
        yield _finite(parallel_view(judged[SEQUENCES].scores))
        by_place = {
            heading: metric for heading, metric in metrics.items() if isinstance(metric, WholeSequenceMetric | PlaceSum)
        }
        if by_place:
            yield by_position(
                fold,
                answers,
                list(by_place),
                interval=how.method,
                level=how.level,
                resamples=how.resamples,
                seed=how.seed,
                threads=self.threads,
                given=self.given(fold.how[DATA]).used_by(by_place),
            )


def _finite(exhibit: Exhibit) -> Exhibit:
    """Return the exhibit (a table to draw) with nulls instead of infinite numbers, which JSON does not have."""
    table = exhibit.table.with_columns(pl.col(pl.Float64).replace(math.inf, None))
    return dataclasses.replace(exhibit, table=table)
