"""Runs a study of streams: every system meets every log event by event, and all are judged at the same events."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from recassay.data.finding import Finding
from recassay.data.interactions import Interactions
from recassay.data.outcomes import Outcomes
from recassay.data.timing import Timing
from recassay.engine.stream.run import play_stream
from recassay.errors import RecassayError, UsageError
from recassay.models.training import Listener
from recassay.study.plan import STREAM, StreamPlan
from recassay.study.runner import Runner
from recassay.study.shelf import Cell
from recassay.study.stream_fold import StreamFold, Whole, on_trial
from recassay.study.stream_worth import Declared, exhibits_of, found_in, verdict_of
from recassay.study.systems import System
from recassay.study.tuning import Setting, best, place_of, tried, tuning_exhibit
from recassay.study.verdict import Verdict

ON_TRIAL = 1_000  # events


@dataclass
class StreamRunner(Runner[StreamFold, Outcomes]):
    """One run of a study of streams."""

    plan: StreamPlan
    declared: Declared = field(default_factory=Declared)
    settings: dict[str, dict[str, list[Setting]]] = field(default_factory=dict)  # tried, by data set and system

    def folds(self, name: str, log: Interactions, split: Whole) -> list[StreamFold]:
        """The whole log; its first part is a warm-up where settings are chosen on it."""
        protocol, tune = self.plan.protocols[name], self.plan.study.tune
        tuned_on = int(len(log) * tune.share) if tune else 0
        try:
            asked = dataclasses.replace(protocol, warmup=max(protocol.warmup, tuned_on))
        except RecassayError as error:
            raise self.plan.document.at(("tune", "share"), error) from error
        self.record.asked[name] = str(protocol)
        return [StreamFold(log, asked, name, tuned_on)]

    def rehearse(self, split: Whole, fold: StreamFold) -> None:
        """Play every system on the first events, and judge."""
        events = min(ON_TRIAL, len(fold.log))
        part = fold.first(events, on_trial(fold.protocol, events))
        played = {}
        for system in self.plan.systems:
            try:
                played[system.name] = self._played(system.model, part, system.name)
            except RecassayError as error:
                raise self.plan.document.at(system.key, error) from error
            except Exception as error:
                raise UsageError(
                    "U135",
                    f"{system.name} failed on {events:,} events: {type(error).__name__}: {error}",
                    where=self.plan.document.where(system.key),
                    hint="the lines above, in the traceback, say where; repair the model, or leave it out",
                ) from error
        self.judged(split, part, played, trial=True)

    def systems(self, fold: StreamFold) -> tuple[System, ...]:
        """The systems with the settings that did best on the first part of the stream."""
        if not self.plan.settings:
            return self.plan.systems
        metric, part = self._tuned_by, self._tuned_on(fold)
        done, of = 0, sum(map(len, self.plan.settings.values()))
        found, settings = [], dict[str, list[Setting]]()
        self.settings[fold.dataset] = settings
        for system in self.plan.systems:
            models = self.plan.settings.get(system.name, ())
            for model in models:
                self.told(f"{fold.dataset}: settings", done, of)
                settings.setdefault(system.name, []).append(tried(system, model, part, metric, self.out))
                done += 1
            taken = models[best(settings[system.name], metric)] if models else system.model
            found.append(dataclasses.replace(system, model=taken))
        self.told(f"{fold.dataset}: settings", done, of)
        return tuple(found)

    def untried(self, fold: StreamFold) -> list[tuple[str, int]]:
        """Settings whose worth on the first part is not known."""
        if not self.plan.settings:
            return []
        part, metric = self._tuned_on(fold), self._tuned_by
        return [
            (system.name, number)
            for system in self.plan.systems
            for number, model in enumerate(self.plan.settings.get(system.name, ()))
            if not place_of(system, model, part, metric, self.out).is_file()
        ]

    def attempt(self, fold: StreamFold, system: str, number: int) -> None:
        """Play one of them on the first part."""
        whole = next(one for one in self.plan.systems if one.name == system)
        tried(whole, self.plan.settings[system][number], self._tuned_on(fold), self._tuned_by, self.out)

    def _tuned_on(self, fold: StreamFold) -> StreamFold:
        return fold.first(fold.tuned_on, self.plan.protocols[fold.dataset])

    @property
    def _tuned_by(self) -> str:
        tune = self.plan.study.tune
        return (tune and tune.metric) or self.plan.over_time

    def fitted(self, name: str, model: Any, fold: StreamFold, key: str) -> Any:
        """The model as it is: it learns while it is asked."""
        return model

    def fit(self, model: Any, fold: StreamFold, checkpoint: Path, listener: Listener) -> Any:
        """The same."""
        return model

    def asked(self, fold: StreamFold, seed: int) -> str:
        """The same for every seed, so that all are judged at the same events."""
        return f"{fold.protocol} by {', '.join(self.plan.metrics)}"

    def answer(
        self, fitted: Any, fold: StreamFold, name: str, seed: int, checkpoint: Path, listener: Listener
    ) -> Outcomes:
        """What it did at every event; it goes on from where it was stopped, unless it cannot be written down."""
        done = 0

        def progress(walked: int) -> None:
            nonlocal done
            done += walked
            listener("events", done, len(fold.log))

        try:
            return self._played(fitted, fold, name, checkpoint=checkpoint, progress=progress)
        except UsageError as error:
            if error.code != "U193" or checkpoint.is_file():
                raise
        done = 0
        return self._played(fitted, fold, name, progress=progress)

    def _played(self, model: Any, fold: StreamFold, name: str, **how: Any) -> Outcomes:
        metrics = list(self.plan.metrics) if fold.protocol.predict == "items" else None
        return play_stream(model, fold.log, fold.protocol, name=name, metrics=metrics, **how).outcomes

    def keep(self, cell: Cell, name: str, made: Outcomes, fold: StreamFold, key: str) -> None:
        """A row per scored event; how long calls took is noted apart."""
        self.shelf.keep_outcomes(cell, made, key)
        if made.timing is not None:
            self.clock.keep(_calls(key), made.timing.to_dict())
        self.shelf.checkpoint(key).unlink(missing_ok=True)

    def is_kept(self, cell: Cell, name: str, key: str) -> bool:
        """Whether its table says so."""
        return self.shelf.has_table(cell, name, key)

    def kept(self, cell: Cell, name: str, fold: StreamFold, key: str) -> Outcomes | None:
        """What was kept."""
        return self.shelf.outcomes(cell, name, key)

    def _note_times(self, cell: Cell, system: str | None, keys: Mapping[str, str]) -> None:
        super()._note_times(cell, system, keys)
        for key in keys.values():
            if noted := self.clock.noted(_calls(key)):
                timing = Timing.from_dict(noted).to_dict()
                self.record.calls.append({"system": system, **vars(cell), **timing})

    def judged(
        self, split: Whole, fold: StreamFold, answers: dict[str, Outcomes], *, trial: bool = False
    ) -> tuple[dict[str, Verdict], tuple[Finding, ...]]:
        """At every event that was scored, and by what detectors and counts say of them."""
        verdict = verdict_of(answers, self.plan.metrics, self.plan.study.judge, trial=trial, threads=self.threads)
        return {STREAM: verdict}, () if trial else found_in(answers, self.plan)

    def compare(self, cell: Cell, design: str, verdict: Verdict) -> None:
        """Event by event; what is claimed in the end is corrected for all streams together."""
        self.declared.add(cell, verdict, self.plan)

    def conclude(self) -> None:
        """The final tests, as one family by metric and seed."""
        for cell, rows in self.declared.rows(self.plan):
            self.record.note_comparisons(cell, STREAM, rows)

    def show(self, cell: Cell, split: Whole, fold: StreamFold, answers: dict[str, Outcomes]) -> None:
        """Curves, signed McNemar, bounds, alarms, what was scored, and the settings that were tried."""
        self.told(f"{cell.dataset}, {cell.split}: exhibits", 0, 1)
        for exhibit in exhibits_of(answers, self.plan):
            self.record.shown(cell, exhibit)
        if settings := self.settings.get(fold.dataset):
            self.record.shown(cell, tuning_exhibit(settings, self._tuned_by, fold.tuned_on))
        self.told(f"{cell.dataset}, {cell.split}: exhibits", 1, 1)


def _calls(key: str) -> str:
    """Where the times of calls are noted."""
    return f"{key}-calls"
