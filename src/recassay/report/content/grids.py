"""The rows of a summary as tables of systems by designs, grouped by data set, split, protocol and seed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from recassay.checks.base import TARGET_SET_COLUMN
from recassay.metrics.registry import describe, known_metric
from recassay.report.content import wording
from recassay.results.score_set import GIVEN, Place
from recassay.results.scores import PLACES, Scores
from recassay.stats.ranks import kendall

if TYPE_CHECKING:
    from recassay.comparison.compare import Comparison

Row = Mapping[str, Any]
LISTS = "lists"  # the design of ranked lists as given


@dataclass(frozen=True, eq=False)
class Grid:
    """Results of all systems under all designs by one metric, on one data set, split, protocol and seed.

    A design says which items are ranked as candidates.

    ``rows`` are keyed by (system, design), and ``pairs``, the comparisons, by (design, system, system). ``base`` is the
    baseline of the comparisons, if it is known.
    """

    metric: str
    systems: tuple[str, ...]
    designs: tuple[str, ...]
    rows: Mapping[tuple[str, str], Row]  # by system and design
    pairs: Mapping[tuple[str, str, str], Row]  # comparisons, by design and the two systems
    base: str | None = None  # the baseline of the comparisons, if it is known

    @cached_property
    def higher_is_better(self) -> bool | None:
        """Return whether larger values are better; None if the metric has no better direction or is unknown."""
        stated = [row["higher_is_better"] for row in self.rows.values() if "higher_is_better" in row]
        better: bool | None = stated[0] if stated else getattr(known_metric(self.metric), "higher_is_better", None)
        return better

    @cached_property
    def title(self) -> str:
        """Return a sentence that describes the metric; an empty string if the metric is unknown."""
        known = known_metric(self.metric)
        return "" if known is None else describe(type(known)).title

    def value(self, system: str, design: str, name: str = "mean") -> float:
        """Return a number of a system under a design: its mean, or another column ``name``, such as ``low``.

        A design says which items are ranked as candidates. NaN if it is undefined or absent.
        """
        return real(self.rows.get((system, design), {}).get(name))

    def means(self, design: str) -> list[float]:
        """Return the means of all systems under a design (which items are ranked); NaN where undefined."""
        return [self.value(system, design) for system in self.systems]

    def ranked(self, design: str) -> list[str]:
        """Return the systems with a defined mean under a design (which items are ranked), best first.

        Ties keep the order of ``systems``.
        """
        sign = -1 if self.higher_is_better else 1
        defined = [system for system in self.systems if not math.isnan(self.value(system, design))]
        return sorted(defined, key=lambda system: sign * self.value(system, design))

    def best(self, design: str) -> list[str]:
        """Return the systems with the best mean under a design (which items are ranked).

        There are none for a single system, or for a metric without a better direction.
        """
        if self.higher_is_better is None or len(self.systems) < 2:
            return []
        ranked = self.ranked(design)
        return [system for system in ranked if self.value(system, design) == self.value(ranked[0], design)]

    def second(self, design: str) -> list[str]:
        """Return the systems with the second best mean under a design (which items are ranked).

        There are none with fewer than three systems.
        """
        best = self.best(design)
        others = [system for system in self.ranked(design) if system not in best]
        if not best or len(self.systems) < 3:
            return []
        return [system for system in others if self.value(system, design) == self.value(others[0], design)]

    def versus(self, design: str, a: str, b: str) -> Row | None:
        """Return the comparison ``a`` minus ``b`` under a design (which items are ranked); None if not compared."""
        pair = self.pairs.get((design, a, b))
        if pair is None and (design, b, a) in self.pairs:
            pair = swapped(self.pairs[design, b, a])
        return pair

    def baseline(self, design: str) -> str | None:
        """Return the baseline, or else the system that is in each of two or more comparisons under a design.

        A design says which items are ranked. Return None if there is no such system.
        """
        if self.base is not None:
            return self.base
        pairs = [{a, b} for under, a, b in self.pairs if under == design]
        shared = set.intersection(*pairs) if len(pairs) > 1 else set[str]()
        return next(iter(shared), None)

    def beaten(self, design: str, system: str) -> list[str]:
        """Return the systems that ``system`` is significantly better than under a design (which items are ranked).

        With a baseline, only comparisons with the baseline count.
        """
        baseline = self.baseline(design)
        others = self.systems if baseline is None else (baseline,)
        return [other for other in others if self.beats(design, system, other)]

    def order(self, design: str) -> list[str]:
        """Return the systems with a row under a design (which items are ranked), best first.

        Those without a mean are last.
        """
        ranked = self.ranked(design)
        return [*ranked, *(system for system in self.systems if system not in ranked and (system, design) in self.rows)]

    @cached_property
    def letters(self) -> dict[str, str]:
        """Return {system: letter}; the letters stand for systems in marks of significance."""
        return dict(zip(self.systems, wording.system_letters(len(self.systems)), strict=True))

    def marks(self, design: str, system: str) -> str:
        """Return the letters of the systems that a system is significantly better than under a design.

        A design says which items are ranked.
        """
        return wording.joined(self.letters[other] for other in self.beaten(design, system))

    def beats(self, design: str, a: str, b: str) -> bool:
        """Return whether system ``a`` is significantly better than ``b`` under a design (which items are ranked)."""
        pair = self.versus(design, a, b)
        if pair is None or self.higher_is_better is None or not pair["significant"]:
            return False
        return (real(pair["difference"]) > 0) == self.higher_is_better

    def close_to_best(self, system: str, design: str) -> bool:
        """Return whether a system was compared with a best system and does not differ significantly from it."""
        best = self.best(design)
        pairs = [self.versus(design, other, system) for other in best if other != system]
        return system not in best and any(pair is not None and not pair["significant"] for pair in pairs)

    def agreement(self, design: str) -> float:
        """Return Kendall's tau between the order of systems under a design and that under the first design.

        A design says which items are ranked as candidates. Systems without a mean under both are left out; NaN if none
        is left.
        """
        both = [
            (left, right)
            for left, right in zip(self.means(self.designs[0]), self.means(design), strict=True)
            if not math.isnan(left) and not math.isnan(right)
        ]
        return kendall(*zip(*both, strict=True)) if both else math.nan

    def same_order(self, design: str) -> bool:
        """Return whether the systems have the same order under a design as under the first; ties count as the same.

        A design says which items are ranked as candidates.
        """
        ranked = [system for system in self.ranked(self.designs[0]) if not math.isnan(self.value(system, design))]
        sign = 1 if self.higher_is_better else -1
        steps = pairwise(sign * self.value(system, design) for system in ranked)
        return all(before >= after for before, after in steps)


@dataclass(frozen=True, eq=False)
class ResultGrids:
    """Results on one data set, split, protocol and seed (``place``).

    ``grids`` has a table for each metric, with systems as rows and designs (which items are ranked) as columns.
    ``folds`` are the rows of single folds, and ``comparisons`` those of comparisons.
    """

    place: Place
    grids: tuple[Grid, ...]
    folds: tuple[Row, ...] = ()
    comparisons: tuple[Row, ...] = field(default=())


def result_grids(rows: Iterable[Row], comparisons: Iterable[Row], baseline: str | None = None) -> list[ResultGrids]:
    """Return the rows and comparisons of a summary grouped by data set, split, protocol and seed, in row order.

    >>> row = {"dataset": "ml", "split": "s", "design": "lists", "system": "pop", "metric": "ndcg@5", "mean": 0.25}
    >>> [results] = result_grids([row], [])
    >>> results.grids[0].ranked("lists"), results.grids[0].means("lists")
    (['pop'], [0.25])
    """
    by_place: dict[Place, tuple[list[Row], list[Row]]] = {}
    for at, table in enumerate((rows, comparisons)):
        for row in table:
            by_place.setdefault(Place.of(row)._replace(design=GIVEN), ([], []))[at].append(row)
    results = []
    for place, (own, compared) in by_place.items():
        whole = [row for row in own if row.get("fold", "all") == "all"]
        folds = [row for row in own if row.get("fold", "all") != "all"]
        if len({row["fold"] for row in folds}) == 1 and whole:
            folds = []  # a single fold repeats the rows over all folds
        grids = []
        for metric in dict.fromkeys(row["metric"] for row in whole):
            chosen = {(row["system"], design_of(row)): row for row in whole if row["metric"] == metric}
            pairs = {(design_of(row), row["a"], row["b"]): row for row in compared if row["metric"] == metric}
            systems, designs = (tuple(dict.fromkeys(key[part] for key in chosen)) for part in (0, 1))
            grids.append(Grid(metric, systems, designs, chosen, pairs, baseline))
        results += [ResultGrids(place, tuple(grids), tuple(folds), tuple(compared))] if own else []
    return results


def grids_of(scores: Scores, comparison: Comparison | None) -> list[ResultGrids]:
    """Return the scores of one call as tables: systems as rows, designs (which items are ranked) as columns.

    They have no data set or split. ``comparison`` has the tests of the scores, if there are any.
    """
    rows = map(vars, scores.rows)
    return result_grids(rows, *((map(vars, comparison.rows), comparison.baseline) if comparison else ((),)))


def notes(grid: Grid) -> str:
    """Return sentences on what a metric was computed over: positions without a cut-off, catalogue, features of items.

    The text is empty if the metric needs no sentence.
    """
    rows, known = grid.rows.values(), known_metric(grid.metric)
    sentences = [wording.notes(rows)]
    if known is not None and known.is_uncut and any(TARGET_SET_COLUMN in row for row in rows):
        which = "Under a design it" if any(PLACES in (row.get("parameters") or {}) for row in rows) else grid.metric
        sentences.append(f"{which} is computed over every whole target set.")
    return " ".join(filter(None, sentences))


def design_of(row: Row) -> str:
    """Return the design of a row, that is, which items were ranked; ``lists`` (the lists as they are) without one."""
    design = row.get("design") or LISTS
    return LISTS if design == "given" else str(design)


def heading(place: Place, separator: str = ", ") -> str:
    """Return the data set, split, protocol, design and seed of results as one text, joined by ``separator``.

    The design (which items are ranked as candidates) is left out if it is ``lists``: ranked lists as they are.
    """
    return place.text(separator, ["design"] if place.design == LISTS else [])


def real(value: Any) -> float:
    """Return a number read from JSON as a float; null becomes NaN."""
    return math.nan if value is None else float(value)


def swapped(row: Row) -> Row:
    """Return a comparison (a minus b) with its two systems swapped: difference, bounds and effect change signs."""
    negated = {
        name: None if row.get(source) is None else -row[source]
        for name, source in (("difference", "difference"), ("low", "high"), ("high", "low"), ("effect", "effect"))
    }
    return {**row, "a": row["b"], "b": row["a"], **negated}
