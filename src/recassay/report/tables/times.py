"""Tables of the time that the systems of a study took, for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from statistics import fmean
from typing import Any

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

STAGES = {"fit": "fit", "recommend": "answer"}  # always shown, by heading
OF_SEQUENCES = {"judge": "judge", "judge with diversity": "judge with diversity"}  # shown where they were timed
JUDGE = "judge"
STATISTICS = ("mean", "median", "p95", "p99")


def times_table(times: Iterable[Mapping[str, Any]]) -> RenderableType:
    """Return the mean seconds over folds and seeds to fit and to recommend; a table per data set and split.

    All systems are evaluated together, so the evaluation has a single time, below the table. Generated sequences are
    judged system by system; for them there are two more columns, the time of all metrics but diversity and the time of
    all metrics. ``times`` are rows as in ``times.json``.

    >>> from rich.console import Console
    >>> place = {"dataset": "tiny", "split": "random(test=0.2)"}
    >>> rows = [("A", "fit", 2), ("A", "answer", 0.25), ("A", "answer", 0.75), ("B", "answer", 90), (None, "judge", 1)]
    >>> times = [{**place, "system": system, "what": what, "seconds": seconds} for system, what, seconds in rows]
    >>> Console(width=60).print(times_table(times))
    tiny, random(test=0.2)
    seconds    fit   recommend
    ──────────────────────────
    A         2.00        0.50
    B            –       90.00
    evaluation of all systems: 1.00
    <BLANKLINE>
    """
    groups: dict[tuple[str, str], dict[tuple[str | None, str], list[float]]] = {}
    for row in times:
        group = groups.setdefault((row["dataset"], row["split"]), {})
        group.setdefault((row["system"], row["what"]), []).append(row["seconds"])
    parts: list[RenderableType] = []
    for (dataset, split), group in groups.items():
        table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
        table.add_column("seconds", no_wrap=True)
        timed = {stage for system, stage in group if system is not None}
        stages = STAGES | {heading: stage for heading, stage in OF_SEQUENCES.items() if stage in timed}
        for heading in stages:
            table.add_column(heading, justify="right")
        for system in dict.fromkeys(system for system, _ in group if system is not None):
            table.add_row(Text(system), *(_mean(group.get((system, stage))) for stage in stages.values()))
        evaluation = Text(f"evaluation of all systems: {_mean(group.get((None, JUDGE)))}")
        parts += [Text(f"{dataset}, {split}", style="bold"), table, evaluation, Text()]
    return Group(*parts)


def calls_table(calls: Iterable[Mapping[str, Any]]) -> RenderableType:
    """Return the microseconds per query and per update on streams; a table per data set and seed.

    ``calls`` are rows as in ``times.json``.

    >>> from rich.console import Console
    >>> spent = {"calls": 4, "total": 2e-5, "mean": 5e-6, "median": 4e-6, "p95": 8e-6, "p99": 8e-6, "first": 8e-6}
    >>> row = {"dataset": "tiny", "split": "whole", "seed": 0, "system": "A", "recommend": spent, "update": spent}
    >>> Console(width=70).print(calls_table([row]))
    tiny, seed 0
    microseconds            mean   median   p95   p99   per second
    ──────────────────────────────────────────────────────────────
    A              query     5.0      4.0   8.0   8.0      200,000
                   update    5.0      4.0   8.0   8.0      200,000
    <BLANKLINE>
    """
    groups: dict[tuple[str, int], list[Mapping[str, Any]]] = {}
    for row in calls:
        groups.setdefault((row["dataset"], row["seed"]), []).append(row)
    parts: list[RenderableType] = []
    for (dataset, seed), rows in groups.items():
        table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
        table.add_column("microseconds", no_wrap=True)
        table.add_column("")
        for column in (*STATISTICS, "per second"):
            table.add_column(column, justify="right")
        for row in rows:
            for name, call, spent in ((row["system"], "query", row["recommend"]), ("", "update", row["update"])):
                rate = f"{spent['calls'] / spent['total']:,.0f}" if spent["total"] else "–"
                table.add_row(Text(name), call, *(f"{1e6 * spent[statistic]:,.1f}" for statistic in STATISTICS), rate)
        parts += [Text(f"{dataset}, seed {seed}", style="bold"), table, Text()]
    return Group(*parts)


def _mean(seconds: list[float] | None) -> str:
    return f"{fmean(seconds):,.2f}" if seconds else "–"
