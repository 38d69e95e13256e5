"""A run of a study of streams: systems are tested and trained event by event, all on the same events."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from recassay.checks.streams import drifts
from recassay.comparison.over_time.compare import compare_over_time, declared
from recassay.comparison.over_time.curves import exhibit, made_of, over_time
from recassay.data.interactions import Interactions
from recassay.drift import alarms
from recassay.engine.lists.score_sets import read_scores
from recassay.engine.streams.result import mean
from recassay.engine.streams.run import Checkpoint, play_stream
from recassay.errors import UsageError
from recassay.models.base.capabilities import Listener
from recassay.protocols.prequential import Prequential
from recassay.results.exhibit import Exhibit
from recassay.results.outcomes import EVENT, Outcomes, Timing
from recassay.study.plan.plan import STREAM, StreamFold, StreamPlan, WholeStream
from recassay.study.plan.systems import System
from recassay.study.run.loop import Judged, StudyRun, sizes_of
from recassay.study.run.stream_scores import (
    NOT_SCORED,
    catalogue_window,
    compare_streams,
    declared_rows,
    is_bounded,
    is_comparable,
    score_streams,
    settings_exhibit,
    stream_findings,
    tune_on_stream,
    with_catalogue,
)  # fmt: skip
from recassay.study.run.study_scores import StudyScores, compare_systems
from recassay.study.store.folder import MADE_FROM, StudyCell

DRY_RUN_EVENTS = 1_000
DRY_RUN_SPAN = 100  # events; the longest batch, delay or refit interval of a dry run
COLUMNS = ["system", "a", "b", "n", "dropped", "mean_a", "mean_b", "difference", "low", "high", "p", "p_adjusted"]

Played = Mapping[str, Outcomes]  # by system


@dataclass
class StreamRun(StudyRun[StreamFold, Outcomes]):
    """One run of a study of streams.

    ``played[cell]`` maps each system to its outcomes on a stream and seed. Results over all streams, such as corrected
    p-values, are computed from it.
    """

    plan: StreamPlan
    played: dict[StudyCell, Mapping[str, Outcomes]] = field(default_factory=dict)

    def folds(self, name: str, log: Interactions, split: WholeStream) -> list[StreamFold]:
        """Return one fold, the whole log; with tuning, the events used for it count as a warm-up and are not scored."""
        protocol, tune = self.plan.protocol_of(name, str(split)), self.plan.study.tune
        tuned_on = int(len(log) * tune.share) if tune else 0
        with self.plan.document.locating("tune", "share"):
            with_warmup = replace(protocol, warmup=max(protocol.warmup, tuned_on))
        return [StreamFold(log, with_warmup, name, tuned_on, items=self.items(name), split=str(split))]

    def about(self, fold: StreamFold) -> dict[str, Any]:
        """Return the sizes of a stream and the kind of its times."""
        return {"times": fold.log.times, "stream": sizes_of(fold.log)}

    def small(self, cell: StudyCell, fold: StreamFold) -> StreamFold:
        """Return a fold of the first events of a stream, on which the study is tried first."""
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

    def protocol_text(self, fold: StreamFold, seed: int) -> str:
        """Return the protocol and the metrics as text, the same for every seed."""
        plan = self.plan.for_data(fold.dataset)
        window = f" in windows of {catalogue_window(plan, fold.dataset)}" if plan.of_catalogue else ""
        return f"{fold.protocol} by {', '.join(plan.metrics)}{window}"

    def answer(
        self, fitted: Any, fold: StreamFold, name: str, seed: int, checkpoint: Path | None, listener: Listener
    ) -> Outcomes:
        """Return the outcomes of a system (values per scored event) on a whole stream.

        If the model can be stored, a run that was interrupted resumes from the file ``checkpoint``. ``listener`` is
        told the number of events done.
        """
        plan, done = self.plan.for_data(fold.dataset), 0
        metrics = list(plan.of_events) if fold.protocol.predict == "items" else None
        how: dict[str, Any] = {"metrics": metrics, "items": fold.items if metrics else None}
        how |= {"name": name, "lists": bool(plan.of_catalogue)}

        def progress(walked: int) -> None:
            nonlocal done
            done += walked
            listener("events", done, len(fold.log))

        try:
            stream = play_stream(
                fitted,
                fold.log,
                fold.protocol,
                progress=progress,
                checkpoint=Checkpoint(checkpoint, trust=self.record.trust),
                **how,
            )
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
        replace(answer, timing=None).write(self.store.run_place(cell, name), {MADE_FROM: key})
        if answer.timing is not None:
            self.store.store_times(_calls_key(key), answer.timing.to_dict())
        self.store.checkpoint(key).unlink(missing_ok=True)

    def load_answer(self, cell: StudyCell, name: str, fold: StreamFold, key: str) -> Outcomes | None:
        """Return the outcomes of a system that are stored for a cell (stream and seed) with this ``key``, else None."""
        path = self.store.stored_table(cell, name, key)
        return None if path is None else Outcomes.read(path)

    def note_times(self, cell: StudyCell, system: str, keys: Mapping[str, str]) -> None:
        """Record how long each step of a system took, and its queries and updates; ``keys`` maps a step to its key."""
        super().note_times(cell, system, keys)
        for key in keys.values():
            if noted := self.store.times(_calls_key(key)):
                self.record.calls.append({"system": system, **vars(cell), **Timing.from_dict(noted).to_dict()})

    def judge(
        self, cell: StudyCell, fold: StreamFold, answers: dict[str, Outcomes], *, dry_run: bool = False
    ) -> Judged:
        """Score the outcomes of all systems on a stream; return ({STREAM: scores}, findings).

        STREAM is the name of the only design (the way of choosing candidates) of streams. Scores have a value at every
        scored event; findings are warnings about drift and about unscored events. ``answers`` maps each system to its
        outcomes. A dry run computes no intervals and no findings.
        """
        plan = self.plan.for_data(fold.dataset)
        scored = {STREAM: score_streams(answers, plan, dry_run=dry_run, threads=self.threads)}
        if dry_run:
            return scored, ()
        self.played[cell] = dict(answers)
        return scored, stream_findings(answers, plan)

    def compare(self, cell: StudyCell, design: str, scored: StudyScores) -> None:
        """Record the best system by each metric; ``scored`` are the scores of all systems on the stream.

        Whether the lead of a system is significant is tested by user, as in ``recassay compare``, because events of one
        user are not independent.
        """
        for _, scores in read_scores(scored.frame(**self.record.identity(cell), design=design)):  # one place
            pooled = replace(scores, rows=scored.scores.rows)
            comparison = compare_systems(self.plan.for_data(cell.dataset), pooled, threads=self.threads)
            self.record.note_leads(cell, design, pooled, comparison)

    def conclude(self) -> None:
        """Record the final tests of all streams, and charts of those that are played by several protocols."""
        for cell, rows in declared_rows(self.played, self.plan):
            self.record.note_comparisons(cell, STREAM, rows)
        several: dict[tuple[str, int], dict[StudyCell, Mapping[str, Outcomes]]] = defaultdict(dict)
        for cell, played in self.played.items():
            if len(self.plan.protocols[cell.dataset]) > 1:
                several[cell.dataset, cell.seed][cell] = played
        for (dataset, _), by_cell in several.items():
            for one in protocol_exhibits(by_cell, self.plan, dataset):
                self.record.write_exhibit(next(iter(by_cell)), one)

    def exhibits(
        self, cell: StudyCell, fold: StreamFold, systems: Sequence[System], answers: dict[str, Outcomes]
    ) -> Iterator[Exhibit]:
        """Yield charts of a stream: curves, tests, bounds, drift alarms, counts of events, and the settings tried."""
        yield from stream_exhibits(answers, self.plan.for_data(cell.dataset), cell.dataset)
        if self.tried:
            about = (
                f"{self.plan.tuned_by} on the first {fold.tuned_on:,} events, which only choose settings and are not "
                "scored: every system learns them before its first scored event. Setting 0 is the model of the study. "
            )
            yield settings_exhibit(self.tried, self.plan.tuned_by, about)


def dry_run_protocol(protocol: Prequential, events: int) -> Prequential:
    """Return the protocol shortened for a dry run on ``events`` events: a shorter warm-up and shorter intervals."""
    warmup = min(protocol.warmup, events // 2)
    spans = {
        name: min(getattr(protocol, name), DRY_RUN_SPAN) for name, span in protocol.regime.items() if not span.of_time
    }
    until = None if protocol.learn_until is None else max(warmup, min(protocol.learn_until, events // 2))
    return replace(protocol, warmup=warmup, learn_until=until, score_every=1.0, **spans)


def _calls_key(key: str) -> str:
    """Return the key of the stored times of queries and updates of the result with ``key``."""
    return f"{key}-calls"


# --- exhibits -------------------------------------------------------------------------------------------------------


def stream_exhibits(played: Played, plan: StreamPlan, dataset: str) -> Iterator[Exhibit]:
    """Yield charts of a stream: curves and differences of systems over time, drift alarms, and counts of scored events.

    ``played`` maps each system to its outcomes, and ``dataset`` is the name of the stream. The charts of the first
    metric have plain names, such as ``over-time``; the names of other charts end in their metric.
    """
    scored = {name: outcomes for name, outcomes in played.items() if len(outcomes)}
    for metric in plan.curves if scored else ():
        name = "" if metric == plan.over_time else f"-{_slug(metric)}"
        yield from (replace(one, name=one.name + name) for one in _over_time_exhibits(scored, metric, plan, dataset))
    for metric in plan.of_catalogue if scored else ():
        yield _catalogue_exhibit(scored, metric)
    yield _event_counts_exhibit(played)


def _over_time_exhibits(scored: Played, metric: str, plan: StreamPlan, dataset: str) -> Iterator[Exhibit]:
    """Yield the charts of one metric: curves, tests and bounds of the differences of systems, and drift alarms.

    ``scored`` maps each system to its outcomes, which have scored events. Drift alarms come with the main metric only.
    """
    how = plan.study.over_time
    curves = [
        over_time(outcomes, metric, window=how.window_of(dataset), how=how.how, by=how.by, fading=how.fading)
        for outcomes in scored.values()
    ]
    yield exhibit(curves)
    if is_comparable(scored, metric, plan):
        yield from compare_streams(scored, metric, plan, dataset).exhibits()[1:]  # the first one repeats the curves
    if metric != plan.over_time:
        return
    column = made_of(next(iter(scored.values())), metric).column
    raised = {name: drifts(alarms(outcomes, column, plan.detectors)) for name, outcomes in scored.items()}
    marked = [curve.marked(alarm.mark for alarm in raised[curve.system]) for curve in curves]
    if any(curve.marks for curve in marked):
        figure = exhibit(marked, "alarms")
        yield replace(figure, title=f"Alarms of drift in {metric}", series=None, facet="system")


def _catalogue_exhibit(scored: Played, heading: str) -> Exhibit:
    """Return a chart over time of the metric ``heading``, which describes many lists together, such as coverage.

    ``scored`` maps each system to its outcomes.
    """
    curves = {name: outcomes.catalogue[heading] for name, outcomes in scored.items()}
    table = pl.concat(
        pl.DataFrame({EVENT: np.array(one.at, np.int64), heading: np.array(one.values, np.float64)}).with_columns(
            system=pl.lit(name)
        )
        for name, one in curves.items()
    )
    sizes = " or ".join(f"{size:,}" for size in sorted({one.window for one in curves.values()}))
    caption = (
        f"{heading} of the lists of the last {sizes} scored events. The catalogue is all items of events up to then, "
        "and all items in lists of the window. It describes many lists together and has no value for an event, so that "
        "no test compares systems by it, and its means have no intervals."
    )
    return Exhibit(f"over-time-{_slug(heading)}", f"{heading} over time", caption, table, EVENT, heading, "system")


def _event_counts_exhibit(played: Played) -> Exhibit:
    """Return a bar chart of how many events were scored, and how many were not, by reason.

    There is one series of bars if the numbers are the same for all systems, else one per system.
    """
    rows: list[dict[str, Any]] = [
        {"what": what.replace("_", " "), "events": outcomes.counts.get(what, 0), "system": name}
        for name, outcomes in played.items()
        for what in NOT_SCORED
    ]
    table = pl.DataFrame(rows)
    table = table.filter(pl.col("events").max().over("what") > 0)
    same = table.unique(["what", "events"], maintain_order=True)
    alike = same.height == same["what"].n_unique()
    unseen = ", ".join(f"{outcomes.counts.get('unseen', 0):,} of {name}" for name, outcomes in played.items())
    return Exhibit(
        "events",
        "Scored and unscored events",
        "An event is not scored if its user is new (first), if the user had the item before (repeats), if it belongs "
        "to the warm-up, if it is one of those that the protocol gives to the model (given), if it was not sampled, or "
        "if no rating was predicted. The item of some scored events was new, and "
        f"could be hit only if it was a candidate: {unseen}.",
        same.drop("system") if alike else table,
        "what",
        "events",
        None if alike else "system",
        kind="bar",
    )


# --- one system under several protocols of one stream ---------------------------------------------------------------


def protocol_exhibits(by_cell: Mapping[StudyCell, Played], plan: StreamPlan, dataset: str) -> Iterator[Exhibit]:
    """Yield charts for each metric: each system under each pair of protocols, on the events scored under both.

    ``by_cell[cell]`` maps each system to its outcomes on stream ``dataset`` with one seed; the split of a cell names
    the protocol. Two protocols are not paired if different items may be right at the same event; a chart of means says
    so.
    """
    groups: dict[tuple[object, ...], dict[str, Played]] = defaultdict(dict)
    for cell, outcomes in by_cell.items():
        protocol = plan.protocol_of(dataset, cell.split)
        target = protocol.predict, protocol.match, protocol.reach if protocol.match != "exact" else None
        groups[target][str(protocol)] = outcomes  # outcomes are paired if the same items are right at an event
    seed = next(iter(by_cell)).seed
    suffix = f"-{seed}" if len(plan.study.seeds) > 1 else ""
    for metric in plan.for_data(dataset).of_events:
        if len(groups) > 1:
            every = {text: played for group in groups.values() for text, played in group.items()}
            yield _means_exhibit(every, metric, suffix)
        for number, group in enumerate(groups.values()):
            compared = {
                system: compare_over_time(
                    under, metric=metric, alpha=plan.study.over_time.alpha, largest=plan.study.over_time.largest
                )
                for system, under in _by_system(group).items()
                if is_bounded(under, metric, plan)
            }
            if compared:
                yield _pairs_exhibit(
                    declared(compared, correction=plan.study.compare.correction),
                    metric,
                    suffix + (f"-{number + 1}" if number else ""),
                )


def _by_system(by_protocol: Mapping[str, Played]) -> dict[str, dict[str, Outcomes]]:
    """Return the outcomes by system and protocol, of systems that have scored events under two or more protocols."""
    systems = dict.fromkeys(system for outcomes in by_protocol.values() for system in outcomes)
    scored = {text: {name: one for name, one in played.items() if len(one)} for text, played in by_protocol.items()}
    found = {name: {text: played[name] for text, played in scored.items() if name in played} for name in systems}
    return {system: under for system, under in found.items() if len(under) > 1}


def _pairs_exhibit(table: pl.DataFrame, metric: str, suffix: str) -> Exhibit:
    return Exhibit(
        f"protocols-{_slug(metric)}{suffix}",
        f"{metric} of each system under the protocols",
        "Each system under protocol a less the same system under protocol b, on the n events scored under both: the "
        "item to find is the same there. Events scored under only one of them (dropped) are left out. p is adjusted "
        "over all systems and pairs of this table.",
        table.rename({"stream": "system"})
        .select(*COLUMNS, "test", "significant")
        .with_columns(pair=pl.format("{} less {}", "a", "b")),
        "system",
        "difference",
        "pair",
        kind="bar",
    )


def _means_exhibit(by_protocol: Mapping[str, Played], metric: str, suffix: str) -> Exhibit:
    """Return a chart of the means of systems under protocols that cannot all be compared event by event.

    ``by_protocol`` maps each protocol to {system: outcomes}; ``suffix`` ends the name of the chart.
    """
    rows = [
        {"system": system, "protocol": text, "mean": mean(one, metric), "n": len(one)}
        for text, outcomes in by_protocol.items()
        for system, one in outcomes.items()
    ]
    return Exhibit(
        f"protocol-means-{_slug(metric)}{suffix}",
        f"{metric} under the protocols",
        "Not all of these protocols are compared by a test: under some of them other items are right at the same event "
        "(predict, match or reach differ), so that a difference between their means is not one between systems.",
        pl.DataFrame(rows),
        "system",
        "mean",
        "protocol",
        kind="bar",
    )


def _slug(metric: str) -> str:
    return re.sub(r"\W+", "-", metric).strip("-")
