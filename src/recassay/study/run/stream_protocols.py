"""Comparison of each system with itself under several protocols of one stream, on the events scored under both."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import polars as pl

from recassay.comparison.over_time.compare import OverTime, compare_over_time, declared
from recassay.engine.streams.result import mean
from recassay.protocols.prequential import Prequential
from recassay.results.exhibit import Exhibit
from recassay.results.outcomes import Outcomes
from recassay.study.plan.plan import StreamPlan
from recassay.study.run.stream_scores import RMSE, is_bounded
from recassay.study.store.folder import StudyCell

COLUMNS = ["system", "a", "b", "n", "dropped", "mean_a", "mean_b", "difference", "low", "high", "p", "p_adjusted"]


@dataclass
class ProtocolComparisons:
    """The outcomes of systems on streams that are played by several protocols.

    ``played`` has them by data set and seed, then by cell and system.
    """

    played: dict[tuple[str, int], dict[StudyCell, Mapping[str, Outcomes]]] = field(
        default_factory=lambda: defaultdict(dict)
    )

    def add(self, cell: StudyCell, outcomes: Mapping[str, Outcomes]) -> None:
        """Add the outcomes of all systems under one protocol, which the split of the cell names."""
        self.played[cell.dataset, cell.seed][cell] = outcomes

    def exhibits(self, plan: StreamPlan) -> Iterator[tuple[StudyCell, Exhibit]]:
        """Yield charts for each data set, seed and metric: each system under each pair of protocols.

        Protocols under which another item may be right at the same event are not paired; a chart of means says so.
        """
        for (dataset, seed), by_cell in self.played.items():
            groups = defaultdict[tuple[object, ...], dict[str, Mapping[str, Outcomes]]](dict)
            for cell, outcomes in by_cell.items():
                protocol = plan.protocol_of(dataset, cell.split)
                groups[_target(protocol)][str(protocol)] = outcomes
            suffix = f"-{seed}" if len(plan.study.seeds) > 1 else ""
            first = next(iter(by_cell))
            for metric in plan.for_data(dataset).of_events:
                if len(groups) > 1:
                    yield first, _unpaired(groups.values(), metric, suffix)
                for number, group in enumerate(groups.values()):
                    compared = _compared(group, metric, plan)
                    if compared:
                        table = declared(compared, correction=plan.study.compare.correction)
                        yield first, _paired(table, metric, suffix + (f"-{number + 1}" if number else ""))


def _compared(group: Mapping[str, Mapping[str, Outcomes]], metric: str, plan: StreamPlan) -> dict[str, OverTime]:
    """Return the comparison of each system with itself under the protocols of a group, where a test is possible."""
    if metric == RMSE:
        return {}
    return {
        system: compare_over_time(
            under, metric=metric, alpha=plan.study.over_time.alpha, largest=plan.study.over_time.largest
        )
        for system, under in _by_system(group).items()
        if is_bounded(under, metric, plan)
    }


def _target(protocol: Prequential) -> tuple[object, ...]:
    """Return what decides which items are right at an event: equal for protocols whose outcomes can be paired."""
    return protocol.predict, protocol.match, protocol.reach if protocol.match != "exact" else None


def _by_system(by_protocol: Mapping[str, Mapping[str, Outcomes]]) -> dict[str, dict[str, Outcomes]]:
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


def _unpaired(groups: Iterable[Mapping[str, Mapping[str, Outcomes]]], metric: str, suffix: str) -> Exhibit:
    """Return the means of the systems under protocols that cannot all be paired."""
    rows = [
        {"system": system, "protocol": text, "mean": mean(one, metric), "n": len(one)}
        for group in groups
        for text, outcomes in group.items()
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
