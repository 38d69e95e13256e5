"""Runs a study whose systems generate sequences: built from each log, cut into folds, and judged one by one."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from recassay.data.exhibit import Exhibit
from recassay.data.finding import Finding
from recassay.data.generated import Generated
from recassay.data.interactions import Interactions
from recassay.data.sequences import SequenceFold
from recassay.engine.generate import generate
from recassay.engine.score_sequences import score_sequences
from recassay.engine.sequence_exhibits import by_position, item_frequency, parallel_view
from recassay.errors import RecassayError, UsageError
from recassay.metrics.sequence.base import OfAll, Placed
from recassay.models.sequence.base import fit
from recassay.models.training import Listener, Training
from recassay.protocols.sequence import Sequence
from recassay.split.sequences import SequenceSplit
from recassay.study.generated import generated_frame, generated_from
from recassay.study.judging import compared
from recassay.study.plan import SEQUENCES, SequencePlan
from recassay.study.runner import Runner
from recassay.study.shelf import Cell
from recassay.study.verdict import Verdict

FIRST = "first"  # in how a fold was made: the number of its first test sequence, counted through all folds
ON_TRIAL = 100  # sequences, of training and of test

Runs = tuple[Generated, ...]  # of one system, with each seed of the protocol


@dataclass
class SequenceRunner(Runner[SequenceFold, Runs]):
    """One run of a study of generated sequences."""

    plan: SequencePlan

    def folds(self, name: str, log: Interactions, split: SequenceSplit) -> list[SequenceFold]:
        """The folds of a split; what is in no sequence is counted among what they leave out."""
        try:
            sequences = self.plan.sequencers[name](log)
        except RecassayError as error:
            raise self.plan.at_data(list(self.plan.data).index(name), error) from error
        found, first = [], 0
        for fold in split(sequences):
            how, removed = {**fold.how, FIRST: first}, {**sequences.removed, **fold.removed}
            found.append(dataclasses.replace(fold, how=how, removed=removed))
            first += len(fold.test)
        return found

    def rehearse(self, split: SequenceSplit, fold: SequenceFold) -> None:
        """Fit, generate and judge with the first sequences of each part; items keep their codes."""
        few = np.arange(ON_TRIAL)
        train, test = fold.train.take(few[: len(fold.train)]), fold.test.take(few[: len(fold.test)])
        part = dataclasses.replace(fold, train=train, test=test)
        answers: dict[str, Runs] = {}
        for system in self.plan.systems:
            try:
                model, asked = system.model, self._protocol(0)
                fitted = fit(model, train, training=Training(most=1)) if hasattr(model, "fit") else model
                answers[system.name] = generate(fitted, part, asked, name=system.name, threads=self.threads)
            except RecassayError as error:
                raise self.plan.document.at(system.key, error) from error
            except Exception as error:
                raise UsageError(
                    "U135",
                    f"{system.name} failed on {len(train):,} sequences: {type(error).__name__}: {error}",
                    where=self.plan.document.where(system.key),
                    hint="the lines above, in the traceback, say where; repair the model, or leave it out",
                ) from error
        judged, _ = self.judged(split, part, answers, trial=True)
        for verdict in judged.values():
            compared(self.plan, verdict.scores, threads=self.threads)

    def fit(self, model: Any, fold: SequenceFold, checkpoint: Path, listener: Listener) -> Any:
        """A model fitted on sequences, or on a log in which every sequence is a user."""
        return fit(model, fold.train, training=Training(checkpoint=checkpoint, listener=listener))

    def asked(self, fold: SequenceFold, seed: int) -> str:
        """The protocol with the seeds it draws with."""
        return str(self._protocol(seed))

    def answer(
        self, fitted: Any, fold: SequenceFold, name: str, seed: int, checkpoint: Path, listener: Listener
    ) -> Runs:
        """What is generated with each seed of the protocol."""
        return generate(fitted, fold, self._protocol(seed), name=name, threads=self.threads)

    def _protocol(self, seed: int) -> Sequence:
        """The protocol for one seed of the study: no two of them draw with the same seed."""
        protocol = self.plan.protocol
        return dataclasses.replace(protocol, seed=protocol.seed + seed * protocol.seeds)

    def keep(self, cell: Cell, name: str, made: Runs, fold: SequenceFold, key: str) -> None:
        """One table."""
        frame = generated_frame(made, fold.test.item_vocabulary, int(fold.how[FIRST]))
        self.shelf.keep_table(cell, name, frame, key)

    def is_kept(self, cell: Cell, name: str, key: str) -> bool:
        """Whether that table says so."""
        return self.shelf.has_table(cell, name, key)

    def kept(self, cell: Cell, name: str, fold: SequenceFold, key: str) -> Runs | None:
        """What that table holds."""
        frame = self.shelf.table(cell, name, key)
        return None if frame is None else generated_from(frame, name, fold.test.item_vocabulary)

    def judged(
        self, split: SequenceSplit, fold: SequenceFold, answers: dict[str, Runs], *, trial: bool = False
    ) -> tuple[dict[str, Verdict], tuple[Finding, ...]]:
        """Beside what really followed; a unit is a test sequence."""
        how = self.plan.study.judge
        scores = score_sequences(
            fold,
            answers,
            list(self.plan.metrics),
            interval=None if trial else how.method,
            level=how.level,
            resamples=how.resamples,
            seed=how.seed,
            threads=self.threads,
        )
        users = fold.test.user_vocabulary.decode(fold.test.users)
        numbered = dataclasses.replace(scores, units=scores.units + int(fold.how[FIRST]))
        return {SEQUENCES: Verdict(numbered, users=users)}, ()

    def show(self, cell: Cell, split: SequenceSplit, fold: SequenceFold, answers: dict[str, Runs]) -> None:
        """Which items are shown, where systems stand on every metric, and what each place is worth."""
        self.told(f"{cell.dataset}, {cell.split}: exhibits", 0, 1)
        for exhibit in self._exhibits(split, fold, answers):
            self.record.shown(cell, exhibit)
        self.told(f"{cell.dataset}, {cell.split}: exhibits", 1, 1)

    def _exhibits(self, split: SequenceSplit, fold: SequenceFold, answers: dict[str, Runs]) -> Iterator[Exhibit]:
        how = self.plan.study.judge
        yield item_frequency(fold, answers)
        judged, _ = self.judged(split, fold, answers, trial=True)
        yield _finite(parallel_view(judged[SEQUENCES].scores))
        placed = [heading for heading, one in self.plan.metrics.items() if isinstance(one, OfAll | Placed)]
        if placed:
            yield by_position(
                fold,
                answers,
                placed,
                interval=how.method,
                level=how.level,
                resamples=how.resamples,
                seed=how.seed,
                threads=self.threads,
            )


def _finite(exhibit: Exhibit) -> Exhibit:
    """The exhibit with an infinite number left out, as in the summary: JSON has none."""
    table = exhibit.table.with_columns(pl.col(pl.Float64).replace(math.inf, None))
    return dataclasses.replace(exhibit, table=table)
