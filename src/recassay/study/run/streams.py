"""The runner of studies of streams: systems are tested and trained event by event, all on the same events."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from recassay.data.features import Features
from recassay.data.interactions import Interactions
from recassay.engine.lists.score_sets import read_scores
from recassay.engine.streams.checkpoint import CheckpointOptions
from recassay.engine.streams.run import play_stream
from recassay.errors import RecassayError, UsageError
from recassay.models.base.training import Listener
from recassay.results.finding import Finding
from recassay.results.outcomes import Outcomes
from recassay.results.timing import Timing
from recassay.study.config.sources import load_items
from recassay.study.plan.plan import STREAM, StreamPlan
from recassay.study.plan.systems import System
from recassay.study.plan.tuning import Setting, best_setting, play_setting, tuning_exhibit
from recassay.study.run.dry_run import Rehearsal
from recassay.study.run.judging import absent_metrics, compare_systems
from recassay.study.run.runner import Runner
from recassay.study.run.stream_catalogue import catalogue_window, with_catalogue
from recassay.study.run.stream_protocols import ProtocolComparisons
from recassay.study.run.stream_scores import (
    DeclaredComparisons,
    score_streams,
    stream_exhibits,
    stream_findings,
    stream_outcomes,
)  # fmt: skip
from recassay.study.run.study_scores import StudyScores
from recassay.study.store.folder import StudyCell
from recassay.study.store.stream_fold import StreamFold, WholeStream, dry_run_protocol

DRY_RUN_EVENTS = 1_000  # events


@dataclass
class StreamRunner(Runner[StreamFold, Outcomes]):
    """One run of a study of streams."""

    plan: StreamPlan
    declared: DeclaredComparisons = field(default_factory=DeclaredComparisons)
    by_protocol: ProtocolComparisons = field(default_factory=ProtocolComparisons)
    settings: dict[str, dict[str, list[Setting]]] = field(
        default_factory=dict
    )  # results of tuning, by data set and system

    def folds(self, name: str, log: Interactions, split: WholeStream) -> list[StreamFold]:
        """Return one fold, the whole log; with tuning, the events used for it count as a warm-up and are not scored."""
        protocol, tune = self.plan.protocol_of(name, str(split)), self.plan.study.tune
        tuned_on = int(len(log) * tune.share) if tune else 0
        try:
            with_warmup = dataclasses.replace(protocol, warmup=max(protocol.warmup, tuned_on))
        except RecassayError as error:
            raise self.plan.document.locate(("tune", "share"), error) from error
        self.record.protocols[name, str(split)] = str(protocol)
        return [StreamFold(log, with_warmup, name, tuned_on, items=self._items(name), split=str(split))]

    def _items(self, name: str) -> Features | None:
        """Return the item features of data set ``name``; None if it has none."""
        try:
            return load_items(self.plan.data[name], self.plan.folder, self.data)
        except RecassayError as error:
            raise self.plan.locate_data(name, error) from error

    def findings_of_fold(self, fold: StreamFold) -> tuple[Finding, ...]:
        """Return a finding about metrics that lack their data."""
        return absent_metrics(self.plan, fold)

    def rehearse(self, cell: StudyCell, split: WholeStream, fold: StreamFold) -> Rehearsal[Outcomes]:
        """Return functions, not yet called, that try systems and metrics on the first events of a stream."""
        events = min(DRY_RUN_EVENTS, len(fold.log))
        part = fold.first(events, dry_run_protocol(fold.protocol, events))
        return Rehearsal(
            f"{events:,} events",
            lambda system: self._played(system.model, part, system.name),
            lambda played: self.judge(split, part, played, dry_run=True),
        )

    def systems(self, fold: StreamFold) -> tuple[System, ...]:
        """Return the systems with the settings that were best on the first part of the stream.

        Settings without a stored result are run first.
        """
        if not self.plan.settings:
            return self.plan.systems
        metric, part = self._tuned_by, self._tuned_on(fold)
        done, of = 0, sum(map(len, self.plan.settings.values()))
        found, settings = [], dict[str, list[Setting]]()
        self.settings[fold.dataset] = settings
        for system in self.plan.systems:
            models = (
                ()
                if self.is_left_out(fold.dataset, fold.split, system.name)
                else self.plan.settings.get(system.name, ())
            )
            for model in models:
                self.report(f"{fold.dataset}: settings", done, of)
                settings.setdefault(system.name, []).append(play_setting(system, model, part, metric, self.out))
                done += 1
            chosen = models[best_setting(settings[system.name], metric)] if models else system.model
            found.append(dataclasses.replace(system, model=chosen))
        self.report(f"{fold.dataset}: settings", done, of)
        return tuple(found)

    def _tuned_on(self, fold: StreamFold) -> StreamFold:
        return fold.first(fold.tuned_on, self.plan.protocol_of(fold.dataset, fold.split))

    @property
    def _tuned_by(self) -> str:
        tune = self.plan.study.tune
        return (tune and tune.metric) or self.plan.over_time

    def fitted(self, name: str, model: Any, fold: StreamFold, key: str) -> Any:
        """Return the model unchanged, because it learns during the stream."""
        return model

    def fit(self, model: Any, fold: StreamFold, checkpoint: Path, listener: Listener) -> Any:
        """Return the model unchanged, because it learns during the stream."""
        return model

    def protocol_text(self, fold: StreamFold, seed: int) -> str:
        """Return the protocol and the metrics as text, the same for every seed."""
        plan = self.plan.for_data(fold.dataset)
        window = f" in windows of {catalogue_window(plan, fold.dataset)}" if plan.of_catalogue else ""
        return f"{fold.protocol} by {', '.join(plan.metrics)}{window}"

    def answer(
        self, fitted: Any, fold: StreamFold, name: str, seed: int, checkpoint: Path, listener: Listener
    ) -> Outcomes:
        """Return the outcomes of a system at every event; resume from a checkpoint if the model can be stored."""
        done = 0

        def progress(walked: int) -> None:
            nonlocal done
            done += walked
            listener("events", done, len(fold.log))

        try:
            return self._played(
                fitted, fold, name, progress=progress, checkpoint=CheckpointOptions(checkpoint, trust=self.trust)
            )
        except UsageError as error:
            if error.code != "U141" or checkpoint.is_file():
                raise
        done = 0
        return self._played(fitted, fold, name, progress=progress)

    def _played(self, model: Any, fold: StreamFold, name: str, **how: Any) -> Outcomes:
        plan = self.plan.for_data(fold.dataset)
        metrics = list(plan.of_events) if fold.protocol.predict == "items" else None
        items, of_lists = fold.items if metrics else None, plan.of_catalogue
        stream = play_stream(
            model, fold.log, fold.protocol, name=name, metrics=metrics, items=items, lists=bool(of_lists), **how
        )
        return with_catalogue(stream, of_lists, catalogue_window(plan, fold.dataset)) if of_lists else stream.outcomes

    def store_answer(self, cell: StudyCell, name: str, made: Outcomes, fold: StreamFold, key: str) -> None:
        """Write the outcomes of a system on a cell (stream and seed), a row per scored event, together with ``key``.

        The key is a digest of all that the outcomes depend on. Times of queries and updates go to a separate file.
        """
        self.store.store_outcomes(cell, made, key)
        if made.timing is not None:
            self.clock.store(_calls(key), made.timing.to_dict())
        self.store.checkpoint(key).unlink(missing_ok=True)

    def load_answer(self, cell: StudyCell, name: str, fold: StreamFold, key: str) -> Outcomes | None:
        """Return the outcomes of a system that are stored for a cell (stream and seed) with this ``key``, else None.

        The key is a digest of all that they depend on.
        """
        return self.store.outcomes(cell, name, key)

    def _note_times(self, cell: StudyCell, system: str | None, keys: Mapping[str, str]) -> None:
        super()._note_times(cell, system, keys)
        for key in keys.values():
            if noted := self.clock.times(_calls(key)):
                timing = Timing.from_dict(noted).to_dict()
                self.record.calls.append({"system": system, **vars(cell), **timing})

    def judge(
        self, split: WholeStream, fold: StreamFold, answers: dict[str, Outcomes], *, dry_run: bool = False
    ) -> tuple[dict[str, StudyScores], tuple[Finding, ...]]:
        """Return the scores at every scored event, and findings about drift and unscored events.

        ``answers`` are the outcomes by system. A dry run computes no intervals and no findings.
        """
        plan = self.plan.for_data(fold.dataset)
        scored = score_streams(answers, plan.metrics, plan.study.judge, dry_run=dry_run, threads=self.threads)
        return {STREAM: scored}, () if dry_run else stream_findings(answers, plan)

    def compare(self, cell: StudyCell, design: str, scored: StudyScores) -> None:
        """Compare the systems on a stream under each metric, and keep the comparisons for :meth:`conclude`.

        There the p-values of all streams are corrected together. Also record the best system by each metric; whether
        its lead is significant is tested by user, as in ``recassay compare``, because events of one user are not
        independent.
        """
        plan = self.plan.for_data(cell.dataset)
        self.declared.add(cell, scored, plan)
        if len(self.plan.protocols[cell.dataset]) > 1:
            self.by_protocol.add(cell, stream_outcomes(scored))
        by_user = read_scores(scored.frame(**self.record.identity(cell), design=design))
        for _, scores in by_user:  # one place
            pooled = dataclasses.replace(scores, rows=scored.scores.rows)
            self.record.note_leads(cell, design, pooled, compare_systems(plan, pooled, threads=self.threads))

    def conclude(self) -> None:
        """Record the final tests of all streams; p is corrected over all streams and pairs of one metric and seed."""
        for cell, rows in self.declared.rows(self.plan):
            self.record.note_comparisons(cell, STREAM, rows)
        for cell, exhibit in self.by_protocol.exhibits(self.plan):
            self.record.write_exhibit(cell, exhibit)

    def make_exhibits(
        self, cell: StudyCell, split: WholeStream, fold: StreamFold, answers: dict[str, Outcomes]
    ) -> None:
        """Write charts of a stream: curves, tests, bounds, drift alarms, counts of events, and the settings tried."""
        self.report(f"{cell.dataset}, {cell.split}: exhibits", 0, 1)
        for exhibit in stream_exhibits(answers, self.plan.for_data(cell.dataset), cell.dataset):
            self.record.write_exhibit(cell, exhibit)
        if settings := self.settings.get(fold.dataset):
            self.record.write_exhibit(cell, tuning_exhibit(settings, self._tuned_by, fold.tuned_on))
        self.report(f"{cell.dataset}, {cell.split}: exhibits", 1, 1)


def _calls(key: str) -> str:
    """Return the key under which the times of queries and updates are stored that belong to the result with ``key``."""
    return f"{key}-calls"
