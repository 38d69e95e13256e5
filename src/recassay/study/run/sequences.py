"""A run of a study of generated sequences."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from recassay.columnar.vocabulary import Vocabulary, rows_in_table
from recassay.data.generated import NOTHING, Generated
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
from recassay.engine.sequences.score import scored
from recassay.metrics.sequence.base import PlaceSum, WholeSequenceMetric
from recassay.models.base.capabilities import Listener
from recassay.protocols.ranking import Sequence
from recassay.results.exhibit import Exhibit
from recassay.split.sequences import SequenceSplit
from recassay.stats.intervals import Uncertainty
from recassay.study.config.sources import file_beside, load_items
from recassay.study.plan.plan import SEQUENCES, SequencePlan
from recassay.study.plan.systems import System
from recassay.study.run.loop import Judged, StudyRun, sizes_of
from recassay.study.run.study_scores import NO_INTERVALS, StudyScores, compare_systems
from recassay.study.store.folder import MADE_FROM, StudyCell

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
                    primitive = read_table(file_beside(data.primitive, data, folder, self.data), "items")["item_id"]
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

    def about(self, fold: SequenceFold) -> dict[str, Any]:
        """Return the sizes of training and test, and the leakage (training events later than test events)."""
        return {"leakage": fold.how["leakage"], "train": sizes_of(fold.train), "test": sizes_of(fold.test)}

    def small(self, cell: StudyCell, fold: SequenceFold) -> SequenceFold:
        """Return the first 100 training and test sequences of a fold."""
        few = np.arange(DRY_RUN_SEQUENCES)
        train, test = (part.take(few[: len(part)]) for part in (fold.train, fold.test))
        return dataclasses.replace(fold, train=train, test=test)

    def protocol_text(self, fold: SequenceFold, seed: int) -> str:
        """Return the protocol for a seed as text; different seeds have different random draws."""
        return str(self._protocol(seed))

    def _protocol(self, seed: int) -> Sequence:
        protocol = self.plan.protocol
        return dataclasses.replace(protocol, seed=protocol.seed + seed * protocol.seeds)

    def answer(
        self, fitted: Any, fold: SequenceFold, name: str, seed: int, checkpoint: Path | None, listener: Listener
    ) -> Runs:
        """Return the sequences that a fitted system generates, a result for each seed of the protocol.

        ``name`` is that of the system, and ``seed`` that of the study. Studies of streams need the others.
        """
        return generate(fitted, fold, self._protocol(seed), name=name, threads=self.threads)

    def store_answer(self, cell: StudyCell, name: str, answer: Runs, fold: SequenceFold, key: str) -> None:
        """Write the sequences that a system generated on a cell (data set, split, fold, seed) as a Parquet file.

        ``key``, a digest of all that they depend on, is stored in the metadata of the file.
        """
        frame = generated_frame(answer, fold.test.item_vocabulary, int(fold.how[FIRST_SEQUENCE]))
        write_parquet(frame, self.store.run_place(cell, name), {MADE_FROM: key})

    def load_answer(self, cell: StudyCell, name: str, fold: SequenceFold, key: str) -> Runs | None:
        """Return the sequences of a system that are stored for a cell with this ``key``, else None."""
        path = self.store.stored_table(cell, name, key)
        return None if path is None else generated_of(name, read_parquet(path), fold.test.item_vocabulary)

    def judge(self, cell: StudyCell, fold: SequenceFold, answers: dict[str, Runs], *, dry_run: bool = False) -> Judged:
        """Score the generated sequences of all systems on a fold; return ({SEQUENCES: scores}, ()).

        SEQUENCES is the name of the only design (the way of choosing candidates) of sequences, and the empty tuple
        stands for findings. Scores compare generated sequences with the true continuations, and have a value per test
        sequence. ``answers`` maps each system to its sequences. A dry run computes no intervals, and also compares the
        systems.
        """
        scored = self._scores(fold, answers, NO_INTERVALS if dry_run else self.plan.study.judge.uncertainty)
        if dry_run:
            compare_systems(self.plan, scored.scores, threads=self.threads)
        return {SEQUENCES: scored}, ()

    def _scores(self, fold: SequenceFold, answers: dict[str, Runs], uncertainty: Uncertainty) -> StudyScores:
        given = self.given(fold.how[DATA])
        scores = scored(fold, answers, list(self.plan.metrics), given, uncertainty, self.threads)
        numbered = dataclasses.replace(scores, units=scores.units + int(fold.how[FIRST_SEQUENCE]))
        return StudyScores(numbered, users=fold.test.user_vocabulary.decode(fold.test.users))

    def exhibits(
        self, cell: StudyCell, fold: SequenceFold, systems: Iterable[System], answers: dict[str, Runs]
    ) -> Iterator[Exhibit]:
        """Yield charts of item frequencies, of all metrics side by side, and of scores by position in a sequence."""
        how, metrics = self.plan.study.judge.uncertainty, self.plan.metrics
        yield sequence_sizes(fold)
        yield item_frequency(fold, answers)
        yield item_counts(fold, answers)
        view = parallel_view(self._scores(fold, answers, NO_INTERVALS).scores)
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


def generated_frame(runs: Iterable[Generated], vocabulary: Vocabulary, first: int = 0) -> pl.DataFrame:
    """Return a table of generated sequences, a row per test sequence and seed, with item ids in place of codes.

    ``runs`` are the sequences of one system, one per seed, and ``vocabulary`` has the ids of the items. The columns are
    seed, sequence (numbered from ``first``), items (a list of k), chances (their k probabilities), and surprise.
    Positions after the end of a short list are null, and so are probabilities that a system does not have.

    >>> made = Generated("mine", np.array([[1, -1]], np.int32), np.array([[0.5, np.nan]]), np.array([2.0]), seed=7)
    >>> frame = generated_frame([made], Vocabulary(pl.Series(["a", "b"])))
    >>> [list(value) if hasattr(value, "__len__") else value for value in frame.row(0)]
    [7, 0, ['b', None], [0.5, None], 2.0]
    >>> generated_of("mine", frame, Vocabulary(pl.Series(["a", "b"])))[0].items.tolist()
    [[1, -1]]
    """
    parts = []
    for made in runs:
        items = vocabulary.stored_ids.gather(pl.Series(made.items.ravel()).replace(NOTHING, None))
        columns = {
            "seed": np.full(len(made), made.seed),
            "sequence": np.arange(first, first + len(made)),
            "items": items.reshape(made.items.shape),
            "chances": pl.Series(made.chances.ravel()).fill_nan(None).reshape(made.items.shape),
            "surprise": pl.Series(made.surprise).fill_nan(None),
        }
        parts.append(pl.DataFrame(columns))
    return pl.concat(parts)


def generated_of(name: str, frame: pl.DataFrame, vocabulary: Vocabulary) -> tuple[Generated, ...]:
    """Return the generated sequences in a table of :func:`generated_frame`, one :class:`Generated` per seed."""
    found = []
    for part in frame.partition_by("seed", maintain_order=True):
        items = rows_in_table(part["items"].explode(), vocabulary.stored_ids).astype(np.int32)  # -1 for null
        shape = part.height, items.size // part.height
        found.append(
            Generated(
                name,
                items.reshape(shape),
                np.array(part["chances"].explode().to_numpy()).reshape(shape),
                np.array(part["surprise"].to_numpy()),
                int(part["seed"][0]),
            )
        )
    return tuple(found)
