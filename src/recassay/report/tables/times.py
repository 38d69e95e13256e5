"""Tables of the time that the systems of a study took, for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from statistics import fmean
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from recassay.report.content.wording import NOTHING
from recassay.report.tables.model import Cell, Column, ResultTable
from recassay.report.tables.terminal import Terminal

STAGES = {"fit": "fit", "recommend": "answer"}  # always shown, by heading
OF_SEQUENCES = {"judge": "judge", "judge with diversity": "judge with diversity"}  # shown where they were timed
JUDGE = "judge"
STATISTICS = ("mean", "median", "p95", "p99")


def times_table(times: Iterable[Mapping[str, Any]]) -> RenderableType:
    """Return the mean seconds over folds and seeds to fit and to recommend; a table per data set and split.

    All systems are evaluated together, so the evaluation has a single time, below the table. Generated sequences are
    judged system by system; for them there are two more columns, the time of all metrics but diversity and the time of
    all metrics. ``times`` are rows as in ``times.json``.

    >>> from recassay.report.tables.terminal import printed
    >>> place = {"dataset": "tiny", "split": "random(test=0.2)"}
    >>> rows = [("A", "fit", 2), ("A", "answer", 0.25), ("A", "answer", 0.75), ("B", "answer", 90), (None, "judge", 1)]
    >>> times = [{**place, "system": system, "what": what, "seconds": seconds} for system, what, seconds in rows]
    >>> print(printed(times_table(times)))
    tiny, random(test=0.2)
    seconds    fit   recommend
    ──────────────────────────
    A         2.00        0.50
    B            –       90.00
    evaluation of all systems: 1.00
    <BLANKLINE>
    """
    places: dict[str, dict[tuple[str | None, str], list[float]]] = {}
    for row in times:
        place = places.setdefault(f"{row['dataset']}, {row['split']}", {})
        place.setdefault((row["system"], row["what"]), []).append(row["seconds"])
    parts: list[RenderableType] = []
    for title, place in places.items():
        timed = {stage for system, stage in place if system is not None}
        stages = STAGES | {heading: stage for heading, stage in OF_SEQUENCES.items() if stage in timed}
        rows = tuple(
            (Cell(system), *(Cell(_mean(place.get((system, stage)))) for stage in stages.values()))
            for system in dict.fromkeys(system for system, _ in place if system is not None)
        )
        table = ResultTable((Column("seconds", "name"), *map(Column, stages)), rows, title, gap=3)
        parts += [Terminal(table), Text(f"evaluation of all systems: {_mean(place.get((None, JUDGE)))}"), Text()]
    return Group(*parts)


def calls_table(calls: Iterable[Mapping[str, Any]]) -> RenderableType:
    """Return the microseconds per query and per update on streams; a table per data set and seed.

    ``calls`` are rows as in ``times.json``.

    >>> from recassay.report.tables.terminal import printed
    >>> spent = {"calls": 4, "total": 2e-5, "mean": 5e-6, "median": 4e-6, "p95": 8e-6, "p99": 8e-6, "first": 8e-6}
    >>> row = {"dataset": "tiny", "split": "whole", "seed": 0, "system": "A", "recommend": spent, "update": spent}
    >>> print(printed(calls_table([row])))
    tiny, seed 0
    microseconds            mean   median   p95   p99   per second
    ──────────────────────────────────────────────────────────────
    A              query     5.0      4.0   8.0   8.0      200,000
                   update    5.0      4.0   8.0   8.0      200,000
    <BLANKLINE>
    """
    places: dict[str, list[tuple[Cell, ...]]] = {}
    for row in calls:
        rows = places.setdefault(f"{row['dataset']}, seed {row['seed']}", [])
        for name, call, spent in ((row["system"], "query", row["recommend"]), ("", "update", row["update"])):
            rate = f"{spent['calls'] / spent['total']:,.0f}" if spent["total"] else NOTHING
            micros = (f"{1e6 * spent[statistic]:,.1f}" for statistic in STATISTICS)
            rows.append(tuple(map(Cell, (name, call, *micros, rate))))
    columns = (Column("microseconds", "name"), Column("", "name"), *map(Column, (*STATISTICS, "per second")))
    tables = (ResultTable(columns, tuple(rows), title, gap=3) for title, rows in places.items())
    return Group(*(part for table in tables for part in (Terminal(table), Text())))


def _mean(seconds: list[float] | None) -> str:
    return f"{fmean(seconds):,.2f}" if seconds else NOTHING
