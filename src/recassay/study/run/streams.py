"""A run of a study of streams: systems are tested and trained event by event, all on the same events."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from recassay.data.interactions import Interactions
from recassay.engine.lists.score_sets import read_scores
from recassay.engine.streams.checkpoint import Checkpoint
from recassay.engine.streams.run import play_stream
from recassay.errors import UsageError
from recassay.models.base.capabilities import Listener
from recassay.protocols.prequential import Prequential
from recassay.results.finding import Finding
from recassay.results.outcomes import Outcomes, Timing
from recassay.study.config.sources import load_items
from recassay.study.plan.plan import STREAM, StreamFold, StreamPlan, WholeStream
from recassay.study.plan.systems import System
from recassay.study.plan.tuning import settings_exhibit, tune_on_stream
from recassay.study.run.judging import absent_metrics, compare_systems
from recassay.study.run.loop import Judged, StudyRun
from recassay.study.run.stream_exhibits import protocol_exhibits, stream_exhibits
from recassay.study.run.stream_scores import (
    DeclaredComparisons,
    catalogue_window,
    score_streams,
    stream_findings,
    stream_outcomes,
    with_catalogue,
)  # fmt: skip
from recassay.study.run.study_scores import StudyScores
from recassay.study.store.folder import MADE_FROM, StudyCell

DRY_RUN_EVENTS = 1_000
DRY_RUN_SPAN = 100  # events; the longest batch, delay or refit interval of a dry run


@dataclass
class StreamRun(StudyRun[StreamFold, Outcomes]):
    """One run of a study of streams.

    ``declared`` has the comparisons of systems on all streams, and ``by_protocol`` the outcomes on streams that are
    played by several protocols: by data set and seed, then by cell and system.
    """

    plan: StreamPlan
    declared: DeclaredComparisons = field(default_factory=DeclaredComparisons)
    by_protocol: dict[tuple[str, int], dict[StudyCell, Mapping[str, Outcomes]]] = field(default_factory=dict)

    def folds(self, name: str, log: Interactions, split: WholeStream) -> list[StreamFold]:
        """Return one fold, the whole log; with tuning, the events used for it count as a warm-up and are not scored."""
        protocol, tune = self.plan.protocol_of(name, str(split)), self.plan.study.tune
        tuned_on = int(len(log) * tune.share) if tune else 0
        with self.plan.document.locating(("tune", "share")):
            with_warmup = dataclasses.replace(protocol, warmup=max(protocol.warmup, tuned_on))
        with self.plan.locating_data(name):
            items = load_items(self.plan.data[name], self.plan.folder, self.data)
        return [StreamFold(log, with_warmup, name, tuned_on, items=items, split=str(split))]

    def findings(self, fold: StreamFold) -> tuple[Finding, ...]:
        """Return a finding about metrics that lack their data."""
        return absent_metrics(self.plan, fold)

    def small(self, cell: StudyCell, fold: StreamFold) -> StreamFold:
        """Return the first events of a stream."""
        events = min(DRY_RUN_EVENTS, len(fold.log))
        return fold.first(events, dry_run_protocol(fold.protocol, events))

    def tuned(self, system: System, fold: StreamFold) -> System:
        """Return a system with the settings that were best on the first part of the stream."""
        models = self.plan.settings.get(system.name)
        if models is None:
            return system
        part = fold.first(fold.tuned_on, self.plan.protocol_of(fold.dataset, fold.split))
        system, tried = tune_on_stream(system, models, part, self.plan.tuned_by, self.store, self.report)
        self.tried += tried
        return system

    def fitted(self, name: str, model: Any, fold: StreamFold, key: str) -> Any:
        """Return the model unchanged, because it learns during the stream."""
        return model

    def fit(self, model: Any, fold: StreamFold, **training: Any) -> Any:
        """Return the model unchanged, because it learns during the stream."""
        return model

    def protocol_text(self, fold: StreamFold, seed: int) -> str:
        """Return the protocol and the metrics as text, the same for every seed."""
        plan = self.plan.for_data(fold.dataset)
        window = f" in windows of {catalogue_window(plan, fold.dataset)}" if plan.of_catalogue else ""
        return f"{fold.protocol} by {', '.join(plan.metrics)}{window}"

    def answer(
        self, fitted: Any, fold: StreamFold, name: str, seed: int, checkpoint: Path | None, listener: Listener
    ) -> Outcomes:
        """Return the outcomes of a system at every event; resume from a checkpoint if the model can be stored."""
        plan, done = self.plan.for_data(fold.dataset), 0
        metrics = list(plan.of_events) if fold.protocol.predict == "items" else None
        how: dict[str, Any] = {"metrics": metrics, "items": fold.items if metrics else None}
        how |= {"name": name, "lists": bool(plan.of_catalogue)}

        def progress(walked: int) -> None:
            nonlocal done
            done += walked
            listener("events", done, len(fold.log))

        try:
            options = Checkpoint(checkpoint, trust=self.record.trust)
            stream = play_stream(fitted, fold.log, fold.protocol, progress=progress, checkpoint=options, **how)
        except UsageError as error:
            if error.code != "U141" or checkpoint is None or checkpoint.is_file():
                raise
            done = 0
            stream = play_stream(fitted, fold.log, fold.protocol, progress=progress, **how)
        return with_catalogue(stream, plan, fold.dataset) if plan.of_catalogue else stream.outcomes

    def store_answer(self, cell: StudyCell, name: str, answer: Outcomes, fold: StreamFold, key: str) -> None:
        """Write the outcomes of a system on a cell (stream and seed), a row per scored event, together with ``key``.

        Times of queries and updates go to a separate file.
        """
        dataclasses.replace(answer, timing=None).write(self.store.run_place(cell, name), {MADE_FROM: key})
        if answer.timing is not None:
            self.clock.store(_calls(key), answer.timing.to_dict())
        self.store.checkpoint(key).unlink(missing_ok=True)

    def load_answer(self, cell: StudyCell, name: str, fold: StreamFold, key: str) -> Outcomes | None:
        """Return the outcomes of a system that are stored for a cell (stream and seed) with this ``key``, else None."""
        path = self.store.stored_table(cell, name, key)
        return None if path is None else Outcomes.read(path)

    def note_times(self, cell: StudyCell, system: str, keys: Mapping[str, str]) -> None:
        """Record how long each step of a system took, and its queries and updates."""
        super().note_times(cell, system, keys)
        for key in keys.values():
            if noted := self.clock.times(_calls(key)):
                self.record.calls.append({"system": system, **vars(cell), **Timing.from_dict(noted).to_dict()})

    def judge(
        self,
        cell: StudyCell,
        split: WholeStream,
        fold: StreamFold,
        answers: dict[str, Outcomes],
        *,
        dry_run: bool = False,
    ) -> Judged:
        """Return the scores at every scored event, and findings about drift and unscored events.

        A dry run computes no intervals and no findings.
        """
        plan = self.plan.for_data(fold.dataset)
        scored = score_streams(answers, plan, dry_run=dry_run, threads=self.threads)
        return {STREAM: scored}, () if dry_run else stream_findings(answers, plan)

    def compare(self, cell: StudyCell, design: str, scored: StudyScores) -> None:
        """Compare the systems on a stream under each metric, and keep the comparisons for :meth:`conclude`.

        There the p-values of all streams are corrected together. Also record the best system by each metric; whether
        its lead is significant is tested by user, as in ``recassay compare``, because events of one user are not
        independent.
        """
        plan, played = self.plan.for_data(cell.dataset), stream_outcomes(scored)
        self.declared.add(cell, played, plan)
        if len(self.plan.protocols[cell.dataset]) > 1:
            self.by_protocol.setdefault((cell.dataset, cell.seed), {})[cell] = played
        for _, scores in read_scores(scored.frame(**self.record.identity(cell), design=design)):  # one place
            pooled = dataclasses.replace(scores, rows=scored.scores.rows)
            self.record.note_leads(cell, design, pooled, compare_systems(plan, pooled, threads=self.threads))

    def conclude(self) -> None:
        """Record the final tests of all streams; p is corrected over all streams and pairs of one metric and seed."""
        for cell, rows in self.declared.rows(self.plan):
            self.record.note_comparisons(cell, STREAM, rows)
        for (dataset, _), by_cell in self.by_protocol.items():
            for exhibit in protocol_exhibits(by_cell, self.plan, dataset):
                self.record.write_exhibit(next(iter(by_cell)), exhibit)

    def make_exhibits(
        self,
        cell: StudyCell,
        split: WholeStream,
        fold: StreamFold,
        systems: Sequence[System],
        answers: dict[str, Outcomes],
    ) -> None:
        """Write charts of a stream: curves, tests, bounds, drift alarms, counts of events, and the settings tried."""
        self.report(f"{cell.dataset}, {cell.split}: exhibits", 0, 1)
        for exhibit in stream_exhibits(answers, self.plan.for_data(cell.dataset), cell.dataset):
            self.record.write_exhibit(cell, exhibit)
        if self.tried:
            about = (
                f"{self.plan.tuned_by} on the first {fold.tuned_on:,} events, which only choose settings and are not "
                "scored: every system learns them before its first scored event. Setting 0 is the model of the study. "
            )
            self.record.write_exhibit(cell, settings_exhibit(self.tried, self.plan.tuned_by, about))
        self.report(f"{cell.dataset}, {cell.split}: exhibits", 1, 1)


def dry_run_protocol(protocol: Prequential, events: int) -> Prequential:
    """Return the protocol shortened for a dry run on ``events`` events: a shorter warm-up and shorter intervals."""
    warmup = min(protocol.warmup, events // 2)
    spans = {
        name: min(getattr(protocol, name), DRY_RUN_SPAN) for name, span in protocol.regime.items() if not span.of_time
    }
    until = None if protocol.learn_until is None else max(warmup, min(protocol.learn_until, events // 2))
    return dataclasses.replace(protocol, warmup=warmup, learn_until=until, score_every=1.0, **spans)


def _calls(key: str) -> str:
    """Return the key under which the times of queries and updates are stored that belong to the result with ``key``."""
    return f"{key}-calls"
