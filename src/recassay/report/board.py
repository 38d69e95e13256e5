"""What a table of results says, before any format: the best, the reference, who beats whom, which counts matter."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from recassay.data.scores import Scores, Summary
from recassay.report.wording import letters

if TYPE_CHECKING:
    from recassay.comparison.compare import Comparison, Row

COUNTS = ("missing", "short", "undefined", "duplicate")


class Tally(NamedTuple):
    """Counts of one system, with all the metrics for which they are the same."""

    system: str
    metrics: tuple[str, ...]
    counts: tuple[int, ...]  # n, then COUNTS


@dataclass(frozen=True, eq=False)
class Board:
    """Scores and, perhaps, their comparison, as a reader asks about them."""

    scores: Scores
    comparison: Comparison | None = None

    def groups(self) -> Iterator[tuple[str, list[Summary]]]:
        """The summaries of every metric, in the order asked; systems in the order given."""
        for metric in self.scores.metrics:
            yield metric, [self.row(system, metric) for system in self.scores.systems]

    def row(self, system: str, metric: str) -> Summary:
        """The summary of one system under one metric."""
        return self._rows[system, metric]

    def best(self, metric: str) -> frozenset[str]:
        """The systems with the best mean; none if the metric has no good end or there is no choice."""
        return self._best[metric]

    def reference(self, metric: str) -> str | None:
        """The system others are compared with: the baseline, else the best (of several, the first given)."""
        if self.comparison is None:
            return None
        if self.comparison.baseline is not None:
            return self.comparison.baseline
        best = self.best(metric)
        return next((system for system in self.scores.systems if system in best), None)

    def versus(self, system: str, metric: str) -> Row | None:
        """The comparison of a system with the reference, as system minus reference."""
        reference = self.reference(metric)
        return None if reference is None else self._pairs.get((metric, system, reference))

    def beaten(self, system: str, metric: str) -> list[str]:
        """Letters of the systems that this one is significantly better than."""
        higher = self.row(system, metric).higher_is_better
        if higher is None:
            return []
        sign = 1 if higher else -1
        rows = {other: self._pairs.get((metric, system, other)) for other in self.scores.systems}
        return [
            self.letter[other] for other, row in rows.items() if row and row.significant and sign * row.difference > 0
        ]

    @functools.cached_property
    def letter(self) -> dict[str, str]:
        """The letter of each system."""
        return dict(zip(self.scores.systems, letters(len(self.scores.systems)), strict=True))

    @functools.cached_property
    def counts(self) -> tuple[str, ...]:
        """The counts that are not 0 everywhere."""
        return tuple(name for name in COUNTS if any(getattr(row, name) for row in self.scores.rows))

    def tallies(self) -> list[Tally]:
        """n and every count of each system, metrics with equal counts in one row."""
        alike: dict[tuple[str, tuple[int, ...]], list[str]] = {}
        for system in self.scores.systems:
            for metric in self.scores.metrics:
                row = self.row(system, metric)
                key = (system, tuple(getattr(row, name) for name in ("n", *COUNTS)))
                alike.setdefault(key, []).append(metric)
        return [Tally(system, tuple(metrics), counts) for (system, counts), metrics in alike.items()]

    @functools.cached_property
    def _rows(self) -> dict[tuple[str, str], Summary]:
        return {(row.system, row.metric): row for row in self.scores.rows}

    @functools.cached_property
    def _best(self) -> dict[str, frozenset[str]]:
        return {metric: _best_of(rows) for metric, rows in self.groups()}

    @functools.cached_property
    def _pairs(self) -> dict[tuple[str, str, str], Row]:
        """Every comparison both ways round."""
        rows = self.comparison.rows if self.comparison else ()
        given = {(row.metric, row.a, row.b): row for row in rows}
        return {(row.metric, row.b, row.a): _turned(row) for row in rows} | given


def _best_of(rows: list[Summary]) -> frozenset[str]:
    defined = [row for row in rows if not math.isnan(row.mean)]
    if len(rows) < 2 or not defined or defined[0].higher_is_better is None:
        return frozenset()
    choose = max if defined[0].higher_is_better else min
    top = choose(row.mean for row in defined)
    return frozenset(row.system for row in defined if row.mean == top)


def _turned(row: Row) -> Row:
    return replace(row, a=row.b, b=row.a, difference=-row.difference, low=-row.high, high=-row.low, effect=-row.effect)
