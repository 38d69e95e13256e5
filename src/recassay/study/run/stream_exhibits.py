"""Exhibits (tables to draw) of studies of streams: curves, differences of systems, and of protocols."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from recassay.checks.streams import drifts
from recassay.comparison.over_time.compare import compare_over_time, declared
from recassay.comparison.over_time.curves import exhibit, made_of, over_time
from recassay.drift import alarms
from recassay.engine.streams.result import mean
from recassay.protocols.prequential import Prequential
from recassay.results.exhibit import Exhibit
from recassay.results.outcomes import EVENT, Outcomes
from recassay.study.plan.plan import StreamPlan
from recassay.study.run.stream_scores import NOT_SCORED, compare_streams, is_bounded, is_comparable
from recassay.study.store.folder import StudyCell

NOT_TESTED = (
    "It describes many lists together and has no value for an event, so that no test compares systems by it, and its "
    "means have no intervals."
)
COLUMNS = ["system", "a", "b", "n", "dropped", "mean_a", "mean_b", "difference", "low", "high", "p", "p_adjusted"]

Played = Mapping[str, Outcomes]  # by system


def stream_exhibits(played: Played, plan: StreamPlan, dataset: str) -> Iterator[Exhibit]:
    """Yield charts of a stream: curves and differences of systems over time, drift alarms, and counts of scored events.

    ``played`` are the outcomes by system, and ``dataset`` is the name of the stream. The charts of the first metric
    have plain names, such as ``over-time``; those of further metrics end in the metric.
    """
    scored = {name: outcomes for name, outcomes in played.items() if len(outcomes)}
    for metric in plan.curves if scored else ():
        name = "" if metric == plan.over_time else f"-{_slug(metric)}"
        yield from (replace(one, name=one.name + name) for one in _over_time(scored, metric, plan, dataset))
    for metric in plan.of_catalogue if scored else ():
        yield _catalogue(scored, metric)
    yield _counted(played)


def _over_time(scored: Played, metric: str, plan: StreamPlan, dataset: str) -> Iterator[Exhibit]:
    """Yield the charts of one metric: curves, tests and bounds of the differences of systems, and drift alarms.

    ``scored`` are the outcomes by system, each with scored events. Drift alarms come with the main metric only.
    """
    how = plan.study.over_time
    curves = [
        over_time(outcomes, metric, window=how.window_of(dataset), how=how.how, by=how.by, fading=how.fading)
        for outcomes in scored.values()
    ]
    yield exhibit(curves)
    if is_comparable(scored, metric, plan):
        compared = compare_streams(scored, metric, plan, dataset)
        yield from compared.exhibits()[1:]  # the first one repeats the curves
    if metric != plan.over_time:
        return
    column = made_of(next(iter(scored.values())), metric).column
    raised = {name: drifts(alarms(outcomes, column, plan.detectors)) for name, outcomes in scored.items()}
    marked = [curve.marked(alarm.mark for alarm in raised[curve.system]) for curve in curves]
    if any(curve.marks for curve in marked):
        figure = exhibit(marked, "alarms")
        yield replace(figure, title=f"Alarms of drift in {metric}", series=None, facet="system")


def _catalogue(scored: Played, heading: str) -> Exhibit:
    """Return a chart over time of a metric of many lists, such as coverage."""
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
        f"and all items in lists of the window. {NOT_TESTED}"
    )
    return Exhibit(f"over-time-{_slug(heading)}", f"{heading} over time", caption, table, EVENT, heading, "system")


def _counted(played: Played) -> Exhibit:
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

    ``by_cell`` has the outcomes of the systems on stream ``dataset`` with one seed; the split of a cell names the
    protocol. Protocols under which another item may be right at the same event are not paired; a chart of means says
    so.
    """
    groups: dict[tuple[object, ...], dict[str, Played]] = defaultdict(dict)
    for cell, outcomes in by_cell.items():
        protocol = plan.protocol_of(dataset, cell.split)
        groups[_target(protocol)][str(protocol)] = outcomes
    seed = next(iter(by_cell)).seed
    suffix = f"-{seed}" if len(plan.study.seeds) > 1 else ""
    for metric in plan.for_data(dataset).of_events:
        if len(groups) > 1:
            yield _unpaired(
                {text: played for group in groups.values() for text, played in group.items()}, metric, suffix
            )
        for number, group in enumerate(groups.values()):
            compared = {
                system: compare_over_time(
                    under, metric=metric, alpha=plan.study.over_time.alpha, largest=plan.study.over_time.largest
                )
                for system, under in _by_system(group).items()
                if is_bounded(under, metric, plan)
            }
            if compared:
                table = declared(compared, correction=plan.study.compare.correction)
                yield _paired(table, metric, suffix + (f"-{number + 1}" if number else ""))


def _target(protocol: Prequential) -> tuple[object, ...]:
    """Return what decides which items are right at an event: equal for protocols whose outcomes can be paired."""
    return protocol.predict, protocol.match, protocol.reach if protocol.match != "exact" else None


def _by_system(by_protocol: Mapping[str, Played]) -> dict[str, dict[str, Outcomes]]:
    """Return the outcomes by system and protocol, of systems that have scored events under two or more protocols.

    All have the same number of events: it may differ if the last events were not scored under some protocol.
    """
    events = max(one.events for outcomes in by_protocol.values() for one in outcomes.values())
    found: dict[str, dict[str, Outcomes]] = defaultdict(dict)
    for text, outcomes in by_protocol.items():
        for system, one in outcomes.items():
            if len(one):
                found[system][text] = replace(one, events=events)
    return {system: under for system, under in found.items() if len(under) > 1}


def _paired(table: pl.DataFrame, metric: str, suffix: str) -> Exhibit:
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


def _unpaired(by_protocol: Mapping[str, Played], metric: str, suffix: str) -> Exhibit:
    """Return the means of the systems under protocols that cannot all be paired."""
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
