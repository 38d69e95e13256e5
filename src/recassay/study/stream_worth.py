"""What systems of a study were worth on a stream: their means, one against another, and pictures of their course."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from recassay.comparison.compare_over_time import OverTime, compare_over_time, declared
from recassay.comparison.intervals import Uncertainty
from recassay.comparison.over_time import exhibit, made_of, over_time
from recassay.data.exhibit import Exhibit
from recassay.data.finding import Finding
from recassay.data.outcomes import EVENT, TIME, USER, Outcomes
from recassay.data.scores import Scores, Summary, Values
from recassay.diagnose.base import Streamed, Watched, diagnose
from recassay.diagnose.drift import drifts
from recassay.engine.stream.result import mean
from recassay.engine.summary import bounds_of, said_once
from recassay.metrics.base import Metric
from recassay.portable import elementary
from recassay.study.plan import StreamPlan
from recassay.study.results import Row
from recassay.study.schema import Judge
from recassay.study.shelf import Cell
from recassay.study.verdict import Verdict

NOT_SCORED = ("scored", "first", "repeats", "warmup", "sampled_out", "unpredicted")  # every event is one of these
COUNTED = ("again", "unseen", "moved")  # of the scored ones, but for the last
RMSE = "rmse"  # no mean over events: it has no difference at one

Key = tuple[str, str]  # system, heading


def verdict_of(
    played: Mapping[str, Outcomes],
    metrics: Mapping[str, Metric],
    judge: Judge,
    *,
    trial: bool = False,
    threads: int | None = None,
) -> Verdict:
    """A value for every system at every event that was scored for one of them; an interval draws users.

    Events of a user hang on each other, so that intervals draw users with all of their events, as they do over folds.
    """
    about = _events(played)
    columns = {
        (name, heading): _column(one, made_of(one, heading).column, about)
        for name, one in played.items()
        for heading in metrics
    }
    powers = {heading: float(getattr(metric, "power", 1)) for heading, metric in metrics.items()}
    uncertainty = Uncertainty(None if trial else judge.method, judge.level, judge.resamples, judge.seed)
    bounds = _bounds(columns, about, powers, uncertainty, threads)
    rows = [
        _row(one, name, heading, metric, columns[name, heading], bounds.get((name, heading)))
        for name, one in played.items()
        for heading, metric in metrics.items()
    ]
    scores = Scores(about[EVENT], tuple(played), tuple(metrics), columns, rows=tuple(rows))
    times = about[TIME] if TIME in about.columns else None
    if times is not None and times.dtype.is_integer():
        times = times.cast(pl.Int64)  # of whatever width they were
    return Verdict(scores, users=about[USER], times=times)


def _events(played: Mapping[str, Outcomes]) -> pl.DataFrame:
    """Every event that was scored for some system, with its user and its time."""
    parts = [one.frame().select(pl.col(EVENT, USER), pl.col(f"^{TIME}$")) for one in played.values()]
    return pl.concat(parts).unique(EVENT, keep="first").sort(EVENT)


def _column(one: Outcomes, heading: str, about: pl.DataFrame) -> Values:
    column = np.full(about.height, np.nan)
    column[about[EVENT].search_sorted(pl.Series(one.event)).to_numpy()] = one.of(heading)
    return column


def _bounds(
    columns: Mapping[Key, Values],
    about: pl.DataFrame,
    powers: Mapping[str, float],
    uncertainty: Uncertainty,
    threads: int | None,
) -> Mapping[Key, tuple[float, float]]:
    """An interval of every mean over events, from the means of users and how many events stand behind each."""
    if uncertainty.method is None or not about.height:
        return {}
    user = about[USER].rank("dense").to_numpy().astype(np.int64) - 1
    size = int(user.max()) + 1
    means, weights = {}, {}
    for key, column in columns.items():
        known, power = ~np.isnan(column), powers[key[1]]
        weights[key] = np.bincount(user[known], minlength=size).astype(np.float64)
        total = np.bincount(user[known], weights=column[known] ** power, minlength=size)
        share = np.divide(total, weights[key], out=np.full(size, np.nan), where=weights[key] > 0)
        means[key] = elementary.power(share, 1 / power) if power != 1 else share
    return bounds_of(means, weights, uncertainty, powers, threads)


def _row(
    one: Outcomes, name: str, heading: str, metric: Metric, column: Values, bounds: tuple[float, float] | None
) -> Summary:
    low, high = bounds or (math.nan, math.nan)
    known = int(np.count_nonzero(~np.isnan(column)))
    return Summary(
        system=name,
        metric=heading,
        mean=mean(one, heading),
        n=known,
        missing=0,
        short=one.counts.get("short", 0),
        duplicate=0,
        undefined=len(one) - known,
        low=low,
        high=high,
        higher_is_better=metric.higher_is_better,
        parameters=metric.parameters,
        accompanying={what: one.counts[what] for what in (*NOT_SCORED, *COUNTED) if one.counts.get(what)},
    )


# --- one against another --------------------------------------------------------------------------------------------


@dataclass
class Declared:
    """Comparisons by metric and seed, of all streams: the family that final tests are corrected for."""

    families: dict[tuple[str, int], dict[Cell, OverTime]] = field(default_factory=lambda: defaultdict(dict))

    def add(self, cell: Cell, verdict: Verdict, plan: StreamPlan) -> None:
        """All metrics of one stream; nothing where there is nothing to compare, or no baseline to compare with."""
        played = outcomes_of(verdict)
        for metric in plan.metrics:
            if metric != RMSE and comparable(played, plan):
                self.families[metric, cell.seed][cell] = compared(played, metric, plan)

    def rows(self, plan: StreamPlan) -> Iterator[tuple[Cell, list[Row]]]:
        """The final tests with p adjusted for every pair on every stream, and bounds that hold at every event."""
        correction, level = plan.study.compare.correction, plan.study.over_time.alpha
        for family in self.families.values():
            table = declared({str(number): one for number, one in enumerate(family.values())}, correction=correction)
            for number, cell in enumerate(family):
                own = table.filter(stream=str(number)).drop("stream")
                yield cell, [_told(row, correction, level) for row in own.to_dicts()]


def outcomes_of(verdict: Verdict) -> dict[str, Outcomes]:
    """What every system did, at the events that were scored for it."""
    scores, found = verdict.scores, {}
    headings = scores.metrics
    events = int(scores.units[-1]) + 1 if scores.units.len() else 0  # what comes later was scored for nobody
    for name in scores.systems:
        there = ~np.isnan(scores.values(name, headings[0]))
        values = {heading: scores.values(name, heading)[there] for heading in headings}
        times = None if verdict.times is None else verdict.times.filter(pl.Series(there))
        place = scores.units.filter(pl.Series(there)).to_numpy()
        found[name] = Outcomes(name, place, values, times=times, events=events)
    return found


def comparable(played: Mapping[str, Outcomes], plan: StreamPlan) -> bool:
    """Whether there are two systems that were scored, and the baseline if there is to be one."""
    baseline = plan.study.compare.baseline
    return len(played) > 1 and all(map(len, played.values())) and (baseline is None or baseline in played)


def compared(played: Mapping[str, Outcomes], metric: str, plan: StreamPlan) -> OverTime:
    """The comparison that a study asks for."""
    how, of = plan.study.over_time, plan.study.compare
    test = of.test if "test" in of.model_fields_set else "auto"
    return compare_over_time(
        dict(played),
        metric=metric,
        baseline=of.baseline,
        window=how.window,
        how=how.how,
        by=how.by,
        fading=how.fading,
        alpha=how.alpha,
        test=test,
        correction=of.correction,
        largest=how.largest,
    )


def _told(row: Row, correction: str, alpha: float) -> Row:
    """A comparison as studies tell it."""
    decided = "0 lies within the bounds at every event"
    if row["decided"] is not None:
        decided = f"0 is left out of the bounds first at event {row['decided']:,}, and {row['for']} better up to there"
    about = {name: row[name] for name in ("metric", "a", "b", "difference", "low", "high", "p", "p_adjusted")}
    counts = {name: row[name] for name in ("n", "dropped", "only_a", "only_b", "decided")}
    tested = {"test": row["test"], "correction": correction, "significant": row["significant"], "alpha": alpha}
    finite = {name: None if isinstance(value, float) and math.isnan(value) else value for name, value in about.items()}
    return {**finite, "effect": None, **counts, **tested, "resamples": 0, "note": decided}


# --- the course of it -----------------------------------------------------------------------------------------------


def found_in(played: Mapping[str, Outcomes], plan: StreamPlan) -> tuple[Finding, ...]:
    """What is found in the alarms of detectors, and in the events that were left out."""
    left_out = [found for one in played.values() for found in diagnose(Streamed.of(one))]
    return said_once(left_out) + tuple(found for one in played.values() for found in diagnose(_watched(one, plan)))


def _watched(one: Outcomes, plan: StreamPlan) -> Watched:
    return Watched.of(one, made_of(one, plan.over_time).column, plan.detectors)


def exhibits_of(played: Mapping[str, Outcomes], plan: StreamPlan) -> Iterator[Exhibit]:
    """Curves of all systems, signed McNemar and bounds of pairs, alarms on the curve of each, and what was scored."""
    how, scored = plan.study.over_time, {name: one for name, one in played.items() if len(one)}
    curves = [
        over_time(one, plan.over_time, window=how.window, how=how.how, by=how.by, fading=how.fading)
        for one in scored.values()
    ]
    if curves:
        yield exhibit(curves)
    if plan.over_time != RMSE and comparable(scored, plan):
        yield from compared(scored, plan.over_time, plan).exhibits()[1:]  # the first are the same curves, by pairs
    marked = [curve.marked(alarm.mark for alarm in drifts(_watched(scored[curve.system], plan))) for curve in curves]
    if any(curve.marks for curve in marked):
        alarms = exhibit(marked, "alarms")
        yield replace(alarms, title=f"Alarms of drift in {plan.over_time}", series=None, facet="system")
    yield _counted(played)


def _counted(played: Mapping[str, Outcomes]) -> Exhibit:
    """What became of every event: once for all systems, if it is the same for all."""
    rows: list[dict[str, Any]] = [
        {"what": what.replace("_", " "), "events": one.counts.get(what, 0), "system": name}
        for name, one in played.items()
        for what in NOT_SCORED
    ]
    table = pl.DataFrame(rows)
    table = table.filter(pl.col("events").max().over("what") > 0)
    same = table.unique(["what", "events"], maintain_order=True)
    alike = same.height == same["what"].n_unique()
    unseen = ", ".join(f"{one.counts.get('unseen', 0):,} of {name}" for name, one in played.items())
    return Exhibit(
        "events",
        "What became of the events",
        "An event is scored, or not because its user was new (first), because the user had the item (repeats), because "
        "it belongs to the warm-up, because it was not drawn, or because no rating was foretold. The item of some "
        f"scored events had not been met before, and could not be hit unless it was a candidate: {unseen}.",
        same.drop("system") if alike else table,
        "what",
        "events",
        None if alike else "system",
        kind="bar",
    )
