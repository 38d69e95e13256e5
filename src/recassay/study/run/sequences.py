"""A run of a study of generated sequences."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Iterator
from collections.abc import Sequence as Several
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from recassay.data.generated import Generated
from recassay.data.interactions import Interactions
from recassay.data.io import write_parquet
from recassay.data.io.parquet import read_parquet
from recassay.data.io.read import read_table
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
from recassay.engine.sequences.score import DIVERSITY, Timed, not_timed, scored
from recassay.metrics.sequence.base import PlaceSum, WholeSequenceMetric
from recassay.models.base.capabilities import Listener, Training
from recassay.models.sequence.base import fitted_on_sequences
from recassay.protocols.sequence import Sequence
from recassay.results.exhibit import Exhibit
from recassay.split.sequences import SequenceSplit
from recassay.stats.intervals import Uncertainty
from recassay.study.config.sources import file_beside, load_items
from recassay.study.plan.plan import SEQUENCES, SequencePlan
from recassay.study.plan.systems import System
from recassay.study.run.judging import NO_INTERVALS, compare_systems
from recassay.study.run.loop import Judged, StudyRun
from recassay.study.run.study_scores import StudyScores
from recassay.study.store.answers import generated_frame, generated_of
from recassay.study.store.folder import JUDGE, MADE_FROM, StudyCell, digest_of
from recassay.study.store.results import WITH_DIVERSITY

FIRST_SEQUENCE = "first"  # in ``how`` of a fold: the number of its first test sequence, counted over all folds
DATA = "data"  # in ``how`` of a fold: the name of its data set
DRY_RUN_SEQUENCES = 100  # sequences, of training and of test

Runs = tuple[Generated, ...]  # of one system, with each seed of the protocol


@dataclass
class SequenceRun(StudyRun[SequenceFold, Runs]):
    """One run of a study of generated sequences."""

    plan: SequencePlan

    @functools.cached_property
    def given(self) -> Callable[[str], GivenData]:
        """Return a function from the name of a data set to the item features and other data that metrics read.

        The data of each data set are read once.
        """

        def load(name: str) -> GivenData:
            data, folder, primitive = self.plan.data[name], self.plan.folder, self.plan.primitives.get(name)
            with self.plan.locating_data(name):
                similarities = data.similarities and file_beside(data.similarities, data, folder, self.data)
                if data.primitive and primitive is None:
                    path = file_beside(data.primitive, data, folder, self.data)
                    primitive = read_table(path, "items")["item_id"]
                return GivenData(load_items(data, folder, self.data), similarities, primitive)

        return functools.cache(load)

    def folds(self, name: str, log: Interactions, split: SequenceSplit) -> list[SequenceFold]:
        """Return the folds that a split makes of the sequences of a log; events in no sequence count as removed."""
        with self.plan.locating_data(name):
            sequences = self.plan.sequencers[name](log)
        found, first = [], 0
        for fold in split(sequences):
            how, removed = {**fold.how, FIRST_SEQUENCE: first, DATA: name}, {**sequences.removed, **fold.removed}
            found.append(dataclasses.replace(fold, how=how, removed=removed))
            first += len(fold.test)
        return found

    def small(self, cell: StudyCell, fold: SequenceFold) -> SequenceFold:
        """Return the first 100 training and test sequences of a fold."""
        few = np.arange(DRY_RUN_SEQUENCES)
        train, test = (part.take(few[: len(part)]) for part in (fold.train, fold.test))
        return dataclasses.replace(fold, train=train, test=test)

    def fit(self, model: Any, fold: SequenceFold, **training: Any) -> Any:
        """Return the model fitted on sequences, or on a log in which every sequence is a user."""
        return fitted_on_sequences(model, fold.train, training=Training(**training))

    def protocol_text(self, fold: SequenceFold, seed: int) -> str:
        """Return the protocol for a seed as text; different seeds have different random draws."""
        return str(self._protocol(seed))

    def _protocol(self, seed: int) -> Sequence:
        protocol = self.plan.protocol
        return dataclasses.replace(protocol, seed=protocol.seed + seed * protocol.seeds)

    def answer(
        self, fitted: Any, fold: SequenceFold, name: str, seed: int, checkpoint: Path | None, listener: Listener
    ) -> Runs:
        """Return the sequences that a fitted system generates, a result for each seed of the protocol."""
        return generate(fitted, fold, self._protocol(seed), name=name, threads=self.threads)

    def store_answer(self, cell: StudyCell, name: str, answer: Runs, fold: SequenceFold, key: str) -> None:
        """Write the sequences that a system generated for a cell as a table, together with ``key``."""
        frame = generated_frame(answer, fold.test.item_vocabulary, int(fold.how[FIRST_SEQUENCE]))
        write_parquet(frame, self.store.run_place(cell, name), {MADE_FROM: key})

    def load_answer(self, cell: StudyCell, name: str, fold: SequenceFold, key: str) -> Runs | None:
        """Return the sequences of a system that are stored for a cell with this ``key``, else None."""
        path = self.store.stored_table(cell, name, key)
        return None if path is None else generated_of(name, read_parquet(path), fold.test.item_vocabulary)

    def judge(
        self,
        cell: StudyCell,
        split: SequenceSplit,
        fold: SequenceFold,
        answers: dict[str, Runs],
        *,
        dry_run: bool = False,
    ) -> Judged:
        """Return the scores of generated sequences against the true continuations, per test sequence; no findings.

        The only key of the scores is ``SEQUENCES``. Unless it is a dry run, also record how long it took to score each
        system: without the metrics of diversity, and with them.
        """

        def key(system: str, what: str) -> str:
            return digest_of(what, str(cell), system)

        def timed(system: str, what: str) -> AbstractContextManager[object]:
            return self.clock.timed(key(system, what))

        if dry_run:
            scores = self._scores(fold, answers, NO_INTERVALS, not_timed)
            compare_systems(self.plan, scores.scores, threads=self.threads)
            return {SEQUENCES: scores}, ()
        scores = self._scores(fold, answers, self.plan.study.judge.uncertainty, timed)
        for name in answers:
            without, diversity = (self.clock.times(key(name, what)) for what in (JUDGE, DIVERSITY))
            self.record.note_time(cell, name, JUDGE, without)
            if diversity:
                seconds = diversity["seconds"] + without.get("seconds", 0.0)
                self.record.note_time(cell, name, WITH_DIVERSITY, {**diversity, "seconds": seconds})
        return {SEQUENCES: scores}, ()

    def _scores(
        self,
        fold: SequenceFold,
        answers: dict[str, Runs],
        uncertainty: Uncertainty,
        timed: Timed,
    ) -> StudyScores:
        given = self.given(fold.how[DATA])
        scores = scored(fold, answers, list(self.plan.metrics), given, uncertainty, self.threads, timed)
        numbered = dataclasses.replace(scores, units=scores.units + int(fold.how[FIRST_SEQUENCE]))
        return StudyScores(numbered, users=fold.test.user_vocabulary.decode(fold.test.users))

    def make_exhibits(
        self,
        cell: StudyCell,
        split: SequenceSplit,
        fold: SequenceFold,
        systems: Several[System],
        answers: dict[str, Runs],
    ) -> None:
        """Write charts of item frequencies, of all metrics side by side, and of scores by position in a sequence."""
        self.report(f"{cell.dataset}, {cell.split}: exhibits", 0, 1)
        for exhibit in self._exhibits(fold, answers):
            self.record.write_exhibit(cell, exhibit)
        self.report(f"{cell.dataset}, {cell.split}: exhibits", 1, 1)

    def _exhibits(self, fold: SequenceFold, answers: dict[str, Runs]) -> Iterator[Exhibit]:
        how, metrics = self.plan.study.judge.uncertainty, self.plan.metrics
        yield sequence_sizes(fold)
        yield item_frequency(fold, answers)
        yield item_counts(fold, answers)
        view = parallel_view(self._scores(fold, answers, NO_INTERVALS, not_timed).scores)
        finite = view.table.with_columns(pl.col(pl.Float64).replace(math.inf, None))  # JSON has no infinite numbers
        yield dataclasses.replace(view, table=finite)
        by_place = {heading: one for heading, one in metrics.items() if isinstance(one, WholeSequenceMetric | PlaceSum)}
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
