"""Sentences on diversity, novelty, coverage and so on: who is highest and lowest, beside the verdict by one metric.

A study may ask whether diversity suffers where accuracy gains. Many such metrics do not say which system is better, so
no verdict answers; these sentences do, from the means and the comparisons that were computed.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from recassay.comparison.verdict import Verdict
from recassay.errors import RecassayError
from recassay.metrics.registry import parse_metric
from recassay.report.content import wording
from recassay.report.content.grids import Grid, ResultGrids, real
from recassay.report.content.verdict import DIGITS, listed

FAMILIES = {"ranking": "accuracy", "debiased": "accuracy without popularity bias", "rating": "rating error"}
SUBJECTS = {
    "accuracy": "seq_mrr seq_ndcg seq_precision seq_recall",
    "calibration": "calibration",
    "certainty": "seq_confidence seq_perplexity seq_surprise",
    "diversity": "eild epd ild seq_diversity",
    "diversity of topics": "alpha_ndcg err_ia precision_ia subtopic_recall",
    "exposure": "entropy gini gini_simpson",
    "novelty": "efd epc seq_novelty seq_serendipity",
    "order": "seq_kendall seq_lcs seq_ndpm",
    "popularity": "aclt aplt arp",
    "surprise": "serendipity unexpectedness",
}  # and the metrics that measure them
SUBJECT_OF = {name: subject for subject, names in SUBJECTS.items() for name in names.split()}


def family_of(metric: str) -> str:
    """Return what a metric measures, such as accuracy, diversity or coverage; empty for an unknown metric.

    >>> [family_of(metric) for metric in ("ndcg@10", "ild@10", "coverage@10", "gini@10", "my own number")]
    ['accuracy', 'diversity', 'coverage', 'exposure', '']
    """
    try:
        kind = type(parse_metric(metric))
    except RecassayError:
        return ""
    if "coverage" in kind.name:
        return "coverage"
    module = kind.__module__.rsplit(".", 1)[-1]
    return FAMILIES.get(kind.family) or SUBJECT_OF.get(kind.name, module)


@dataclass(frozen=True)
class Extremes:
    """The systems with the highest and the lowest mean by a metric, in one place (data set, split and so on)."""

    grid: Grid
    highest: tuple[str, ...]
    lowest: tuple[str, ...]

    @classmethod
    def of(cls, grid: Grid) -> Extremes | None:
        """Return the highest and lowest systems under the first design; None with fewer than two defined means."""
        means = {system: mean for system in grid.systems if not math.isnan(mean := grid.value(system, grid.designs[0]))}
        if len(means) < 2:
            return None
        ends = (max(means.values()), min(means.values()))
        highest, lowest = (tuple(system for system, mean in means.items() if mean == end) for end in ends)
        return cls(grid, highest, lowest)

    def mean(self, system: str) -> str:
        """Return the mean of a system as text."""
        return wording.number(self.grid.value(system, self.grid.designs[0]), DIGITS)

    @property
    def difference(self) -> float:
        """Return the highest mean minus the lowest."""
        high, low = (self.grid.value(ends[0], self.grid.designs[0]) for ends in (self.highest, self.lowest))
        return high - low


def family_sentences(verdict: Verdict, groups: Sequence[ResultGrids]) -> tuple[str, ...]:
    """Return a sentence for each family of metrics but that of the verdict: which systems are highest and lowest.

    A family is represented by its first metric. Families with fewer than two systems have no sentence.
    """
    first: dict[str, str] = {}
    for group in groups:
        for grid in group.grids:
            first.setdefault(family_of(grid.metric), grid.metric)
    sentences = []
    for family, metric in first.items():
        if family in ("", family_of(verdict.metric)):
            continue
        grids = [grid for group in groups for grid in group.grids if grid.metric == metric]
        found = [ends for grid in grids if (ends := Extremes.of(grid)) is not None]
        if len(found) == 1:
            sentences.append(f"{family.capitalize()} ({metric}): {_single(found[0], verdict)}.")
        elif found:
            sentences.append(f"{family.capitalize()} ({metric}): {_several(found)}.")
    return tuple(sentences)


def _single(ends: Extremes, verdict: Verdict) -> str:
    highest, lowest = ends.highest, ends.lowest
    if not ends.difference:
        return f"all {len(highest)} systems have {ends.mean(highest[0])}"
    parts = [
        f"highest {listed(highest)} with {ends.mean(highest[0])}, lowest {listed(lowest)} with {ends.mean(lowest[0])}, "
        f"{wording.number(ends.difference, DIGITS)} apart{_tested(ends, verdict.level)}"
    ]
    leaders = {lead.leader for lead in verdict.leads}
    parts += [
        f"{leader}, which leads by {verdict.metric}, has {ends.mean(leader)}"
        for leader in leaders
        if len(leaders) == 1 and leader in ends.grid.systems and leader not in (*highest, *lowest)
    ]
    return "; ".join(parts)


def _tested(ends: Extremes, level: float) -> str:
    """Return the interval of the difference between highest and lowest and its p in brackets, if they were compared."""
    row = ends.grid.versus(ends.grid.designs[0], ends.highest[0], ends.lowest[0])
    if row is None:
        return " (not tested)"
    low, high, p = (real(row.get(name)) for name in ("low", "high", "p_adjusted"))
    interval = "" if math.isnan(low) else f"{100 * level:.4g} % interval {wording.interval(low, high, DIGITS)}; "
    return " (not tested)" if math.isnan(p) else f" ({interval}{wording.p_phrase(p)})"


def _several(found: Sequence[Extremes]) -> str:
    differences = sorted(ends.difference for ends in found)
    smallest, largest = (wording.number(differences[at], DIGITS) for at in (0, -1))
    apart = smallest if smallest == largest else f"{smallest} to {largest}"
    highest, lowest = (
        listed(list(counted(system for ends in several for system in ends)))
        for several in zip(*((ends.highest, ends.lowest) for ends in found), strict=True)
    )
    return f"highest {highest}, lowest {lowest}, of {len(found)} settings; {apart} apart"


def counted(systems: Iterable[str]) -> Iterator[str]:
    """Yield each system with the number of times it is named, the most often named first.

    >>> list(counted("abb"))
    ['b on 2', 'a on 1']
    """
    yield from (f"{system} on {count}" for system, count in Counter(systems).most_common())
