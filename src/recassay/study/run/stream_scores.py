"""Scores of systems on streams: means, comparisons, and charts of the course over time."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from recassay.checks.streams import drift_findings, drifts, unscored_findings
from recassay.comparison.over_time.compare import OverTime, compare_over_time, declared
from recassay.comparison.over_time.curves import exhibit, made_of, over_time
from recassay.drift import alarms
from recassay.engine.finish import finish, merge_findings, row_of
from recassay.engine.streams.result import mean
from recassay.metrics.base import CatalogueMetric, Metric
from recassay.results.exhibit import Exhibit
from recassay.results.finding import Finding
from recassay.results.outcomes import EVENT, TIME, USER, Outcomes
from recassay.results.scores import Summary, Values
from recassay.stats.intervals import Uncertainty
from recassay.study.config.schema import Judge
from recassay.study.plan.curves import of_events
from recassay.study.plan.plan import StreamPlan
from recassay.study.run.stream_catalogue import catalogue_exhibits
from recassay.study.run.study_scores import StudyScores
from recassay.study.store.folder import StudyCell
from recassay.study.store.results import Row

NOT_SCORED = (
    "scored",
    "first",
    "repeats",
    "warmup",
    "given",
    "sampled_out",
    "unpredicted",
)  # the fate of an event: exactly one of these
COUNTED = ("again", "unseen", "moved")  # counts of scored events, except for the last
RMSE = "rmse"  # not a mean over events, so it has no difference per event

Key = tuple[str, str]  # system, heading


def score_streams(
    played: Mapping[str, Outcomes],
    metrics: Mapping[str, Metric],
    judge: Judge,
    *,
    dry_run: bool = False,
    threads: int | None = None,
) -> StudyScores:
    """Return the scores of all systems on a stream, with a row for every event that was scored for at least one system.

    ``played`` are the outcomes by system, and ``metrics`` are by heading. Intervals resample users with all their
    events, because events of one user are not independent; a dry run computes none.
    """
    about = _events(played)
    columns = {
        (name, heading): _column(outcomes, made_of(outcomes, heading).column, about)
        for name, outcomes in played.items()
        for heading in of_events(metrics)
    }
    uncertainty = Uncertainty(None if dry_run else judge.method, judge.level, judge.resamples, judge.seed)
    rows = [
        _row(outcomes, (name, heading), metric, columns.get((name, heading)))
        for name, outcomes in played.items()
        for heading, metric in metrics.items()
    ]
    users = about[USER].rank("dense").to_numpy().astype(np.int64) - 1 if about.height else np.empty(0, np.int64)
    how = uncertainty if about.height else Uncertainty(None)
    scores = finish(about[EVENT], metrics, rows, columns, {}, how, clusters=users, threads=threads)
    times = about[TIME] if TIME in about.columns else None
    if times is not None and times.dtype.is_integer():
        times = times.cast(pl.Int64)  # any integer width
    return StudyScores(scores, users=about[USER], times=times)


def _events(played: Mapping[str, Outcomes]) -> pl.DataFrame:
    """Return a row per event that was scored for at least one system: event, user, and time if known, in order."""
    parts = [outcomes.frame().select(pl.col(EVENT, USER), pl.col(f"^{TIME}$")) for outcomes in played.values()]
    return pl.concat(parts).unique(EVENT, keep="first").sort(EVENT)


def _column(outcomes: Outcomes, heading: str, about: pl.DataFrame) -> Values:
    column = np.full(about.height, np.nan)
    column[about[EVENT].search_sorted(pl.Series(outcomes.event)).to_numpy()] = outcomes.of(heading)
    return column


def _row(outcomes: Outcomes, key: Key, metric: Metric, column: Values | None) -> Summary:
    """Return the row of a system under a metric; ``column`` has its value at each event, None for one of all lists."""
    if isinstance(metric, CatalogueMetric):
        short = outcomes.counts.get("short", 0)
        return row_of(key, metric, outcomes.catalogue[key[1]].whole, len(outcomes), short=short)
    assert column is not None, "metrics of events have values"
    known = int(np.count_nonzero(~np.isnan(column)))
    return row_of(
        key,
        metric,
        mean(outcomes, key[1]),
        known,
        short=outcomes.counts.get("short", 0),
        undefined=len(outcomes) - known,
        accompanying={what: outcomes.counts[what] for what in (*NOT_SCORED, *COUNTED) if outcomes.counts.get(what)},
    )


# --- one against another --------------------------------------------------------------------------------------------


@dataclass
class DeclaredComparisons:
    """The comparisons of systems on all streams; those of one metric and seed are corrected together."""

    families: dict[tuple[str, int], dict[StudyCell, OverTime]] = field(default_factory=lambda: defaultdict(dict))

    def add(self, cell: StudyCell, scored: StudyScores, plan: StreamPlan) -> None:
        """Add the comparisons of systems on one stream under every metric that can be compared over time.

        Nothing is added for fewer than two systems or a missing baseline.
        """
        played = stream_outcomes(scored)
        for metric in plan.of_events:
            if metric != RMSE and comparable(played, plan) and is_bounded(played, metric, plan):
                self.families[metric, cell.seed][cell] = compare_streams(played, metric, plan, cell.dataset)

    def rows(self, plan: StreamPlan) -> Iterator[tuple[StudyCell, list[Row]]]:
        """Yield (cell, rows) for each stream and metric: the final test of each pair of systems.

        P-values are adjusted for all pairs and streams. The rows also have bounds of the difference that hold at every
        event together.
        """
        correction, level = plan.study.compare.correction, plan.study.over_time.alpha
        for family in self.families.values():
            table = declared({str(number): each for number, each in enumerate(family.values())}, correction=correction)
            for number, cell in enumerate(family):
                own = table.filter(stream=str(number)).drop("stream")
                yield cell, [_comparison_row(row, correction, level) for row in own.to_dicts()]


def stream_outcomes(scored: StudyScores) -> dict[str, Outcomes]:
    """Return the outcomes of every system, by name: its values at the events that were scored for it.

    ``scored`` are the scores on one stream.
    """
    scores, found = scored.scores, {}
    headings = scores.unit_metrics
    events = int(scores.units[-1]) + 1 if scores.units.len() else 0  # later events were not scored
    for name in scores.systems:
        there = ~np.isnan(scores.values(name, headings[0]))
        values = {heading: scores.values(name, heading)[there] for heading in headings}
        times = None if scored.times is None else scored.times.filter(pl.Series(there))
        place = scores.units.filter(pl.Series(there)).to_numpy()
        found[name] = Outcomes(name, place, values, times=times, events=events)
    return found


def comparable(played: Mapping[str, Outcomes], plan: StreamPlan) -> bool:
    """Return whether systems can be compared: there are two or more, each has scored events, and any baseline is there.

    ``played`` are the outcomes by system.
    """
    baseline = plan.study.compare.baseline
    return len(played) > 1 and all(map(len, played.values())) and (baseline is None or baseline in played)


def is_bounded(played: Mapping[str, Outcomes], metric: str, plan: StreamPlan) -> bool:
    """Return whether the values of a metric span at most the range that bounds over time assume.

    The range is ``over_time.largest`` of the study. Only novelty and similar metrics can exceed it. The result is also
    False if such a metric is undefined at some event.
    """
    known = plan.metrics.get(metric)
    if known is None or known.family != "beyond":
        return True
    values = np.concatenate([outcomes.of(metric) for outcomes in played.values()])
    return bool(np.ptp(values) <= plan.study.over_time.largest)  # False for a value that is undefined


def compare_streams(played: Mapping[str, Outcomes], metric: str, plan: StreamPlan, dataset: str) -> OverTime:
    """Return the comparison of systems on one stream under a metric, with the options of the study.

    ``played`` are the outcomes by system, and ``dataset`` is the name of the stream.
    """
    how, of = plan.study.over_time, plan.study.compare
    test = of.test if "test" in of.model_fields_set else "auto"
    return compare_over_time(
        dict(played),
        metric=metric,
        baseline=of.baseline,
        window=how.window_of(dataset),
        how=how.how,
        by=how.by,
        fading=how.fading,
        alpha=how.alpha,
        test=test,
        correction=of.correction,
        largest=how.largest,
    )


def _comparison_row(row: Row, correction: str, alpha: float) -> Row:
    """Return ``row`` of a table of comparisons over time, converted to the columns of the study's comparisons.

    ``correction`` names how p-values were corrected, and ``alpha`` is the level of significance; both become columns.
    """
    decided = "the bounds include 0 at the last event"
    if row["decided"] is not None:
        decided = f"the bounds exclude 0 at event {row['decided']:,} and at the last, with {row['for']} better"
    about = {name: row[name] for name in ("metric", "a", "b", "difference", "low", "high", "p", "p_adjusted")}
    counts = {name: row[name] for name in ("n", "dropped", "only_a", "only_b", "decided")}
    tested = {"test": row["test"], "correction": correction, "significant": row["significant"], "alpha": alpha}
    finite = {name: None if isinstance(value, float) and math.isnan(value) else value for name, value in about.items()}
    return {**finite, "effect": None, **counts, **tested, "resamples": 0, "note": decided}


# --- the course of it -----------------------------------------------------------------------------------------------


def stream_findings(played: Mapping[str, Outcomes], plan: StreamPlan) -> tuple[Finding, ...]:
    """Return findings about drift alarms and about unscored events; ``played`` are the outcomes by system."""
    unscored = [found for outcomes in played.values() for found in unscored_findings(outcomes)]
    return merge_findings(unscored) + tuple(
        found
        for outcomes in played.values()
        for found in drift_findings(outcomes, _watched(plan, outcomes), plan.detectors)
    )


def _watched(plan: StreamPlan, outcomes: Outcomes) -> str:
    """Return the column of the outcomes that drift detectors watch."""
    return made_of(outcomes, plan.over_time).column


def stream_exhibits(played: Mapping[str, Outcomes], plan: StreamPlan, dataset: str) -> Iterator[Exhibit]:
    """Yield charts of a stream: curves and differences of systems over time, drift alarms, and counts of scored events.

    ``played`` are the outcomes by system, and ``dataset`` is the name of the stream. The charts of the first metric
    have plain names, such as ``over-time``; those of further metrics end in the metric.
    """
    scored = {name: outcomes for name, outcomes in played.items() if len(outcomes)}
    for metric in plan.curves if scored else ():
        name = "" if metric == plan.over_time else "-" + re.sub(r"\W+", "-", metric).strip("-")
        yield from (replace(one, name=one.name + name) for one in _over_time(scored, metric, plan, dataset))
    if scored:
        yield from catalogue_exhibits(scored, plan)
    yield _counted(played)


def _over_time(scored: Mapping[str, Outcomes], metric: str, plan: StreamPlan, dataset: str) -> Iterator[Exhibit]:
    """Yield the charts of one metric: curves, tests and bounds of the differences of systems, and drift alarms.

    ``scored`` are the outcomes by system, each with scored events. Drift alarms come with the main metric only.
    """
    how = plan.study.over_time
    curves = [
        over_time(outcomes, metric, window=how.window_of(dataset), how=how.how, by=how.by, fading=how.fading)
        for outcomes in scored.values()
    ]
    yield exhibit(curves)
    if metric != RMSE and comparable(scored, plan) and is_bounded(scored, metric, plan):
        compared = compare_streams(scored, metric, plan, dataset)
        yield from compared.exhibits()[1:]  # the first one repeats the curves
    if metric != plan.over_time:
        return
    raised = {name: alarms(one, _watched(plan, one), plan.detectors) for name, one in scored.items()}
    marked = [curve.marked(alarm.mark for alarm in drifts(raised[curve.system])) for curve in curves]
    if any(curve.marks for curve in marked):
        figure = exhibit(marked, "alarms")
        yield replace(figure, title=f"Alarms of drift in {metric}", series=None, facet="system")


def _counted(played: Mapping[str, Outcomes]) -> Exhibit:
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
