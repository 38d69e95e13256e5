"""Scores of systems on streams, comparisons of systems over time, and the choice of settings on the first events."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from recassay.checks.streams import drift_findings, unscored_findings
from recassay.comparison.over_time.compare import OverTime, compare_over_time, declared
from recassay.comparison.over_time.curves import made_of
from recassay.comparison.over_time.windows import windows
from recassay.engine.finish import finish, merge_findings, row_of
from recassay.engine.streams.result import Stream, mean
from recassay.engine.streams.run import play_stream
from recassay.metrics.base import Metric
from recassay.results.exhibit import Exhibit
from recassay.results.finding import Finding
from recassay.results.outcomes import EVENT, TIME, USER, CatalogueValues, Outcomes, is_error
from recassay.results.scores import Summary, Values
from recassay.study.plan.plan import StreamFold, StreamPlan
from recassay.study.plan.systems import System
from recassay.study.run.study_scores import NO_INTERVALS, StudyScores
from recassay.study.store.folder import StudyCell, StudyFolder, model_key
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
    played: Mapping[str, Outcomes], plan: StreamPlan, *, dry_run: bool = False, threads: int | None = None
) -> StudyScores:
    """Return the scores of all systems on a stream, with a row for every event that was scored for at least one system.

    ``played`` maps each system to its outcomes. Intervals resample users with all their events, because events of one
    user are not independent; a dry run computes none.
    """
    parts = [outcomes.frame().select(pl.col(EVENT, USER), pl.col(f"^{TIME}$")) for outcomes in played.values()]
    about = pl.concat(parts).unique(EVENT, keep="first").sort(EVENT)
    columns: dict[Key, Values] = {}
    for name, outcomes in played.items():
        scored = about[EVENT].search_sorted(pl.Series(outcomes.event)).to_numpy()
        for heading in plan.of_events:
            columns[name, heading] = np.full(about.height, np.nan)
            columns[name, heading][scored] = outcomes.of(made_of(outcomes, heading).column)
    rows = [
        _row(outcomes, (name, heading), metric, columns.get((name, heading)))
        for name, outcomes in played.items()
        for heading, metric in plan.metrics.items()
    ]
    users = about[USER].rank("dense").to_numpy().astype(np.int64) - 1
    how = NO_INTERVALS if dry_run or not about.height else plan.study.judge.uncertainty
    scores = finish(about[EVENT], plan.metrics, rows, columns, {}, how, clusters=users, threads=threads)
    times = about[TIME] if TIME in about.columns else None
    if times is not None and times.dtype.is_integer():
        times = times.cast(pl.Int64)  # any integer width
    return StudyScores(scores, users=about[USER], times=times)


def _row(outcomes: Outcomes, key: Key, metric: Metric, column: Values | None) -> Summary:
    """Return the row of a system under a metric: its mean over scored events, with counts.

    ``key`` is (system, heading of the metric). ``column`` has the value at each event; it is None for a metric of many
    lists together, such as coverage.
    """
    scored, counts = len(outcomes), outcomes.counts
    if column is None:
        return row_of(key, metric, outcomes.catalogue[key[1]].whole, scored, short=counts.get("short", 0))
    known = int(np.count_nonzero(~np.isnan(column)))
    return row_of(
        key,
        metric,
        mean(outcomes, key[1]),
        known,
        short=counts.get("short", 0),
        undefined=scored - known,
        accompanying={what: counts[what] for what in (*NOT_SCORED, *COUNTED) if counts.get(what)},
    )


def catalogue_window(plan: StreamPlan, dataset: str) -> int | None:
    """Return the number of scored events in a window: that of ``over_time`` if it counts scored events.

    Else return None, for the default size.
    """
    how = plan.study.over_time
    size = how.window_of(dataset) if (how.how, how.by) == ("moving", "scored") else None
    return None if size is None else max(1, int(size))


def with_catalogue(stream: Stream, plan: StreamPlan, dataset: str) -> Outcomes:
    """Return the outcomes of a stream, with its metrics of many lists, such as coverage, over all of it and windows."""
    outcomes, found, scored = stream.outcomes, dict[str, CatalogueValues](), len(stream.outcomes)
    size = windows(window=catalogue_window(plan, dataset), scored=scored, events=outcomes.events).window
    size = min(int(size or 1), scored)
    for heading in plan.of_catalogue:
        if not scored:
            found[heading] = CatalogueValues(math.nan, 0, (), ())
            continue
        whole, table = (stream.catalogue_over_time(heading, events).table for events in (scored, size))
        column = next(name for name in table.columns if name not in (EVENT, "system"))
        values = CatalogueValues(float(whole[column][-1]), size, tuple(table[EVENT]), tuple(table[column]))
        found[heading] = values
    return replace(outcomes, catalogue=found)


# --- one against another --------------------------------------------------------------------------------------------


def declared_rows(
    by_cell: Mapping[StudyCell, Mapping[str, Outcomes]], plan: StreamPlan
) -> Iterator[tuple[StudyCell, list[Row]]]:
    """Yield (cell, rows) for each stream and each metric that can be compared: the final test of each pair of systems.

    ``by_cell[cell]`` maps each system to its outcomes on a stream. P-values are adjusted for all pairs and streams of
    one metric and seed. The rows also have bounds of the difference that hold at all events simultaneously.
    """
    families: dict[tuple[str, int], dict[StudyCell, OverTime]] = defaultdict(dict)
    for cell, played in by_cell.items():
        own = plan.for_data(cell.dataset)
        for metric in own.of_events:
            if is_comparable(played, metric, own):
                families[metric, cell.seed][cell] = compare_streams(played, metric, own, cell.dataset)
    correction, level = plan.study.compare.correction, plan.study.over_time.alpha
    for family in families.values():
        table = declared({str(number): each for number, each in enumerate(family.values())}, correction=correction)
        for number, cell in enumerate(family):
            rows = table.filter(stream=str(number)).drop("stream")
            yield cell, [_comparison_row(row, correction, level) for row in rows.to_dicts()]


def is_comparable(played: Mapping[str, Outcomes], metric: str, plan: StreamPlan) -> bool:
    """Return whether systems can be compared over time by a metric; ``played`` maps each system to its outcomes.

    There must be two or more, each with scored events, and any baseline among them.
    """
    baseline = plan.study.compare.baseline
    there = len(played) > 1 and all(map(len, played.values())) and (baseline is None or baseline in played)
    return there and is_bounded(played, metric, plan)


def is_bounded(played: Mapping[str, Outcomes], metric: str, plan: StreamPlan) -> bool:
    """Return whether the values of a metric span at most the range that bounds over time assume.

    The range is ``over_time.largest`` of the study. Only novelty and similar metrics can exceed it. The result is also
    False for ``rmse``, and if such a metric is undefined at some event.
    """
    known = plan.metrics.get(metric)
    if metric == RMSE or known is None or known.family != "beyond":
        return metric != RMSE
    values = np.concatenate([outcomes.of(metric) for outcomes in played.values()])
    return bool(np.ptp(values) <= plan.study.over_time.largest)  # False for a value that is undefined


def compare_streams(played: Mapping[str, Outcomes], metric: str, plan: StreamPlan, dataset: str) -> OverTime:
    """Return the comparison of systems on one stream under a metric, with the options of the study.

    ``played`` maps each system to its outcomes, and ``dataset`` is the name of the stream.
    """
    how, of = plan.study.over_time, plan.study.compare
    return compare_over_time(
        dict(played),
        metric=metric,
        baseline=of.baseline,
        window=how.window_of(dataset),
        how=how.how,
        by=how.by,
        fading=how.fading,
        alpha=how.alpha,
        test=of.test if "test" in of.model_fields_set else "auto",
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


def stream_findings(played: Mapping[str, Outcomes], plan: StreamPlan) -> tuple[Finding, ...]:
    """Return warnings (findings) on drift alarms and unscored events; ``played`` maps each system to its outcomes."""
    unscored = [found for outcomes in played.values() for found in unscored_findings(outcomes)]
    watched = ((one, made_of(one, plan.over_time).column) for one in played.values())
    drift = [found for one, column in watched for found in drift_findings(one, column, plan.detectors)]
    return *merge_findings(unscored), *drift


# --- tuning -----------------------------------------------------------------------------------------------------------


def tune_on_stream(
    system: System,
    models: tuple[Any, ...],
    fold: StreamFold,
    metric: str,
    folder: StudyFolder,
    report: Callable[[str, int, int], None],
) -> tuple[System, list[Row]]:
    """Return the system with the best of several ``models`` on ``fold`` (the first part of a stream), and their rows.

    A row has a model, its mean of ``metric``, and whether it was chosen. Stored results in ``folder`` are used. A model
    that fails, or for which no event is scored, has no mean; the first model is chosen if all fail.
    """
    found = []
    for number, model in enumerate(models):
        report(f"{fold.dataset}: settings of {system.name}", number, len(models))
        parts = model_key(str(model), system.source, model, fold.fingerprint), str(fold.protocol), metric
        found.append(folder.remember("tuned", parts, partial(_mean_on_stream, system, model, fold, metric)))
    report(f"{fold.dataset}: settings of {system.name}", len(models), len(models))
    sign = -1 if is_error(metric) else 1
    values = [-math.inf if mean is None else sign * mean for mean, _ in found]
    best = values.index(max(values))
    rows = [
        {
            "system": system.name,
            "setting": number,
            metric: mean,
            "model": str(model),
            "taken": number == best,
            "failed": why,
        }
        for number, (model, (mean, why)) in enumerate(zip(models, found, strict=True))
    ]
    return replace(system, model=models[best]), rows


def _mean_on_stream(system: System, model: Any, fold: StreamFold, metric: str) -> tuple[float | None, str]:
    """Return the mean of ``metric`` of a model on a stream, or None and why it has none."""
    metrics = None if fold.protocol.predict == "ratings" else metric
    items = fold.items if metrics else None
    try:
        stream = play_stream(model, fold.log, fold.protocol, name=system.name, metrics=metrics, items=items)
        value = mean(stream.outcomes, metric)
    except Exception as error:  # of any kind: other settings may work
        return None, str(error)
    return (None, "no event was scored") if math.isnan(value) else (value, "")


def settings_exhibit(rows: list[Row], metric: str, about: str) -> Exhibit:
    """Return a chart of the means of all settings that tuning tried for each system, with the chosen ones marked.

    ``rows`` are those of :func:`tune_on_stream`, ``metric`` decides, and ``about`` says on which data.
    """
    taken = "; ".join(f"{row['system']}: {row['model']}" for row in rows if row["taken"])
    table = pl.DataFrame(rows, infer_schema_length=None)
    about = f"{about}Chosen: {taken}."
    return Exhibit("settings", "Settings that were tried", about, table, "setting", metric, "system", kind="point")
