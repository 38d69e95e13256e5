"""Values that every format of a result table shows: the best system, the reference, significant wins, counts."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from recassay.report.content.wording import system_letters
from recassay.results.scores import Scores, Summary

if TYPE_CHECKING:
    from recassay.comparison.compare import Comparison, Row

COUNTS = ("missing", "short", "undefined", "duplicate")


class CountNote(NamedTuple):
    """Counts of users of one system, such as those without a list, and the metrics that have these counts.

    The first of ``counts`` is ``n``, the number of users with a value.
    """

    system: str
    metrics: tuple[str, ...]
    counts: tuple[int, ...]  # n, then COUNTS


@dataclass(frozen=True, eq=False)
class ResultTable:
    """Scores and their comparison, if there is one, with the values that tables of any format show."""

    scores: Scores
    comparison: Comparison | None = None

    def groups(self) -> Iterator[tuple[str, list[Summary]]]:
        """Yield (metric, summaries of all systems under the metric).

        Metrics and systems come in the order of the scores.
        """
        for metric in self.scores.metrics:
            yield metric, [self.row(system, metric) for system in self.scores.systems]

    def row(self, system: str, metric: str) -> Summary:
        """Return the summary of one system under one metric."""
        return self._rows[system, metric]

    def best(self, metric: str) -> frozenset[str]:
        """Return the systems with the best mean; none for a single system or a metric without a better direction."""
        return self._best[metric]

    def second(self, metric: str) -> frozenset[str]:
        """Return the systems with the best mean below that of the best; none if there are fewer than three systems."""
        best, rows = self._best[metric], [self.row(system, metric) for system in self.scores.systems]
        return _best_of([row for row in rows if row.system not in best]) if best and len(rows) > 2 else frozenset()

    def reference(self, metric: str) -> str | None:
        """Return the system that others are compared with: the baseline, else the first of the best systems."""
        if self.comparison is None:
            return None
        if self.comparison.baseline is not None:
            return self.comparison.baseline
        best = self.best(metric)
        return next((system for system in self.scores.systems if system in best), None)

    def versus(self, system: str, metric: str) -> Row | None:
        """Return the comparison of a system with the reference, as system minus reference; None if there is none."""
        reference = self.reference(metric)
        return None if reference is None else self._pairs.get((metric, system, reference))

    def beaten(self, system: str, metric: str) -> list[str]:
        """Return the label (letter) of each system that this system is significantly better than, by a metric.

        With a baseline these are at most the baseline: other systems were not compared.
        """
        higher = self.row(system, metric).higher_is_better
        if higher is None:
            return []
        sign, baseline = 1 if higher else -1, self.comparison.baseline if self.comparison else None
        others = self.scores.systems if baseline is None else (baseline,)
        rows = {other: self._pairs.get((metric, system, other)) for other in others}
        return [
            self.letters[other] for other, row in rows.items() if row and row.significant and sign * row.difference > 0
        ]

    @property
    def has_other_users(self) -> bool:
        """Return whether some difference is over fewer users than the mean of one of its two systems."""
        return any(
            row.n < max(self.row(system, row.metric).n for system in (row.a, row.b))
            for row in (self.comparison.rows if self.comparison else ())
        )

    def superscripts(self, what: str) -> str:
        """Return a sentence on what superscripts in the table mean; "" without a comparison.

        ``what`` is the name of the marks, such as "Superscripts".
        """
        if self.comparison is None:
            return ""
        baseline, level = self.comparison.baseline, f"{1 - self.comparison.level:.4g}"
        than = "the system with that letter"
        if baseline is not None:
            than = f"the baseline, {self.letters[baseline]} (other pairs were not compared)"
        return f"{what}: significantly better than {than} (adjusted p ≤ {level})."

    @functools.cached_property
    def letters(self) -> dict[str, str]:
        """Return the label that stands for each system in tables: a letter, or two letters such as ``aa``."""
        return dict(zip(self.scores.systems, system_letters(len(self.scores.systems)), strict=True))

    @functools.cached_property
    def counts(self) -> tuple[str, ...]:
        """Return the names of the counts (users without a list, with a short one, ...) that are above 0 in some row."""
        return tuple(name for name in COUNTS if any(getattr(row, name) for row in self.scores.rows))

    def count_notes(self) -> list[CountNote]:
        """Return, for each system, how many users have a value (``n``), no list, a short one, and so on.

        Metrics in which all these numbers are equal share a row.
        """
        shared: dict[tuple[str, tuple[int, ...]], list[str]] = {}
        for system in self.scores.systems:
            for metric in self.scores.metrics:
                row = self.row(system, metric)
                key = (system, tuple(getattr(row, name) for name in ("n", *COUNTS)))
                shared.setdefault(key, []).append(metric)
        return [CountNote(system, tuple(metrics), counts) for (system, counts), metrics in shared.items()]

    @functools.cached_property
    def _rows(self) -> dict[tuple[str, str], Summary]:
        return {(row.system, row.metric): row for row in self.scores.rows}

    @functools.cached_property
    def _best(self) -> dict[str, frozenset[str]]:
        return {metric: _best_of(rows) if len(rows) > 1 else frozenset() for metric, rows in self.groups()}

    @functools.cached_property
    def _pairs(self) -> dict[tuple[str, str, str], Row]:
        """Return every comparison by (metric, system a, system b), also with the two systems swapped."""
        rows = self.comparison.rows if self.comparison else ()
        given = {(row.metric, row.a, row.b): row for row in rows}
        return {(row.metric, row.b, row.a): row.swapped() for row in rows} | given


def _best_of(rows: list[Summary]) -> frozenset[str]:
    defined = [row for row in rows if not math.isnan(row.mean)]
    if not defined or defined[0].higher_is_better is None:
        return frozenset()
    choose = max if defined[0].higher_is_better else min
    top = choose(row.mean for row in defined)
    return frozenset(row.system for row in defined if row.mean == top)
