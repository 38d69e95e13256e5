"""The rows of a summary as a page shows them: a board per data set, split and seed, a grid of cells per metric."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

from recassay.data.agreement import kendall
from recassay.data.scores import PLACES
from recassay.diagnose.base import OF_SETS
from recassay.errors import RecassayError
from recassay.metrics.describe import describe
from recassay.metrics.registry import parse_metric
from recassay.report import wording

Row = Mapping[str, Any]
PLACE = ("dataset", "split", "protocol", "seed")


@dataclass(frozen=True, eq=False)
class Grid:
    """The means of systems under designs by one metric, of one board."""

    metric: str
    systems: tuple[str, ...]
    designs: tuple[str, ...]
    rows: Mapping[tuple[str, str], Row]  # by system and design
    pairs: Mapping[tuple[str, str, str], Row]  # comparisons, by design and the two systems

    @cached_property
    def higher_is_better(self) -> bool | None:
        """None where the metric has no good end, or is not known."""
        for row in self.rows.values():
            if "higher_is_better" in row:
                given: bool | None = row["higher_is_better"]
                return given
        try:
            return parse_metric(self.metric).higher_is_better
        except RecassayError:
            return None

    @cached_property
    def title(self) -> str:
        """What the metric is, in a sentence; nothing if it is not known."""
        try:
            return describe(type(parse_metric(self.metric))).title
        except RecassayError:
            return ""

    def value(self, system: str, design: str, name: str = "mean") -> float:
        """A number of a row; NaN where it is undefined or there is no row."""
        return real(self.rows.get((system, design), {}).get(name))

    def means(self, design: str) -> list[float]:
        """The means of all systems."""
        return [self.value(system, design) for system in self.systems]

    def ranked(self, design: str) -> list[str]:
        """Systems with a defined mean, best first; equal ones as they were given."""
        sign = -1 if self.higher_is_better else 1
        defined = [system for system in self.systems if not math.isnan(self.value(system, design))]
        return sorted(defined, key=lambda system: sign * self.value(system, design))

    def best(self, design: str) -> list[str]:
        """The systems with the best mean; none where nothing is best or there is no choice."""
        if self.higher_is_better is None or len(self.systems) < 2:
            return []
        ranked = self.ranked(design)
        return [one for one in ranked if self.value(one, design) == self.value(ranked[0], design)]

    def versus(self, design: str, a: str, b: str) -> Row | None:
        """The comparison of two systems, as a minus b; None if they were not compared."""
        found = self.pairs.get((design, a, b))
        if found is None and (design, b, a) in self.pairs:
            found = turned(self.pairs[design, b, a])
        return found

    def beats(self, design: str, a: str, b: str) -> bool:
        """Whether a was compared with b and is significantly better."""
        found = self.versus(design, a, b)
        if found is None or self.higher_is_better is None or not found["significant"]:
            return False
        return (real(found["difference"]) > 0) == self.higher_is_better

    def level_with_best(self, system: str, design: str) -> bool:
        """Whether a system was compared with a best one and cannot be told apart from it."""
        best = self.best(design)
        found = [self.versus(design, one, system) for one in best if one != system]
        return system not in best and any(one is not None and not one["significant"] for one in found)

    def agreement(self, design: str) -> float:
        """Kendall's tau of the order under a design and the order under the first one, over systems defined in both."""
        both = [
            (left, right)
            for left, right in zip(self.means(self.designs[0]), self.means(design), strict=True)
            if not math.isnan(left) and not math.isnan(right)
        ]
        return kendall(*zip(*both, strict=True)) if both else math.nan

    def same_order(self, design: str) -> bool:
        """Whether a design ranks as the first one does: nobody whom that one puts before another comes after."""
        ranked = [one for one in self.ranked(self.designs[0]) if not math.isnan(self.value(one, design))]
        sign = 1 if self.higher_is_better else -1
        steps = pairwise(sign * self.value(system, design) for system in ranked)
        return all(before >= after for before, after in steps)


@dataclass(frozen=True, eq=False)
class Board:
    """One data set, split, protocol and seed: a grid per metric, and rows fold by fold."""

    place: tuple[Any, ...]
    grids: tuple[Grid, ...]
    folds: tuple[Row, ...] = ()
    comparisons: tuple[Row, ...] = field(default=())


def boards(rows: Iterable[Row], comparisons: Iterable[Row]) -> list[Board]:
    """The boards of a summary, in the order of its rows.

    >>> row = {"dataset": "ml", "split": "s", "design": "lists", "system": "pop", "metric": "ndcg@5", "mean": 0.25}
    >>> [board] = boards([row], [])
    >>> board.grids[0].ranked("lists"), board.grids[0].means("lists")
    (['pop'], [0.25])
    """
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(_place(row), []).append(row)
    compared: dict[tuple[Any, ...], list[Row]] = {}
    for row in comparisons:
        compared.setdefault(_place(row), []).append(row)
    return [_board(place, group, compared.get(place, [])) for place, group in groups.items()]


def _board(place: tuple[Any, ...], rows: list[Row], comparisons: list[Row]) -> Board:
    whole = [row for row in rows if row.get("fold", "all") == "all"]
    folds = [row for row in rows if row.get("fold", "all") != "all"]
    if len({row["fold"] for row in folds}) == 1 and whole:
        folds = []  # one fold is all there is, and says the same again
    metrics = dict.fromkeys(row["metric"] for row in whole)
    return Board(place, tuple(_grid(one, whole, comparisons) for one in metrics), tuple(folds), tuple(comparisons))


def _grid(metric: str, rows: list[Row], comparisons: list[Row]) -> Grid:
    chosen = {(row["system"], design_of(row)): row for row in rows if row["metric"] == metric}
    pairs = {(design_of(row), row["a"], row["b"]): row for row in comparisons if row["metric"] == metric}
    systems, designs = (tuple(dict.fromkeys(key[part] for key in chosen)) for part in (0, 1))
    return Grid(metric, systems, designs, chosen, pairs)


def uncut(grid: Grid) -> str:
    """How far a metric without a cut-off looks, in lists and in target sets; nothing of one with a cut-off."""
    lists = {
        system: int(places)
        for (system, _), row in grid.rows.items()
        if (places := (row.get("parameters") or {}).get(PLACES)) is not None
    }
    parts = [wording.lengths((grid.metric, system, places) for system, places in lists.items())]
    if any(OF_SETS in row for row in grid.rows.values()) and _looks_at_all(grid.metric):
        parts.append(f"{'Under a design it' if lists else grid.metric} is over the whole of every target set.")
    return " ".join(filter(None, parts))


def _looks_at_all(metric: str) -> bool:
    try:
        return parse_metric(metric).is_uncut
    except RecassayError:
        return False


def _place(row: Row) -> tuple[Any, ...]:
    return tuple(row.get(name) for name in PLACE)


def design_of(row: Row) -> str:
    """The design of a row: ranked lists as they were given, unless it says otherwise."""
    design = row.get("design") or "lists"
    return "lists" if design == "given" else str(design)


def real(value: Any) -> float:
    """A number from JSON: undefined is NaN."""
    return math.nan if value is None else float(value)


def turned(row: Row) -> Row:
    """A comparison as b minus a."""
    negated = {
        name: None if row.get(of) is None else -row[of]
        for name, of in (("difference", "difference"), ("low", "high"), ("high", "low"), ("effect", "effect"))
    }
    return {**row, "a": row["b"], "b": row["a"], **negated}
