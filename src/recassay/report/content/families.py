"""Sentences on diversity, novelty, coverage and so on: who is highest and lowest, beside the verdict by one metric.

A study may ask whether diversity suffers where accuracy gains. Many such metrics do not say which system is better, so
no verdict answers; these sentences do, from the means and the comparisons that were computed.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from recassay.comparison.verdict import Verdict
from recassay.report.content import wording
from recassay.report.content.grids import Grid, ResultGrids, metric_of, real
from recassay.report.content.verdict import listed

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
    known = metric_of(metric)
    if known is None:
        return ""
    module = type(known).__module__.rsplit(".", 1)[-1]
    subject = FAMILIES.get(known.family) or SUBJECT_OF.get(known.name, module)
    return "coverage" if "coverage" in known.name else subject


class Ends(NamedTuple):
    """The systems with the highest and the lowest mean by a metric, in one place, and these two means."""

    grid: Grid
    highest: tuple[str, ...]
    lowest: tuple[str, ...]
    high: float
    low: float


def _ends(grid: Grid) -> list[Ends]:
    """Return the highest and lowest systems under the first design; an empty list with fewer than two defined means."""
    means = {system: mean for system in grid.systems if not math.isnan(mean := grid.value(system, grid.designs[0]))}
    if len(means) < 2:
        return []
    high, low = max(means.values()), min(means.values())
    highest, lowest = (tuple(system for system, mean in means.items() if mean == end) for end in (high, low))
    return [Ends(grid, highest, lowest, high, low)]


def family_sentences(verdict: Verdict, groups: Sequence[ResultGrids]) -> tuple[str, ...]:
    """Return a sentence for each family of metrics but that of the verdict: which systems are highest and lowest.

    A family is represented by its first metric. Families with fewer than two systems have no sentence.
    """
    grids = [grid for group in groups for grid in group.grids]
    first: dict[str, str] = {}
    for grid in grids:
        first.setdefault(family_of(grid.metric), grid.metric)
    ends = {
        (family, metric): [ends for grid in grids if grid.metric == metric for ends in _ends(grid)]
        for family, metric in first.items()
        if family not in ("", family_of(verdict.metric))
    }
    return tuple(
        f"{family.capitalize()} ({metric}): {_single(several[0], verdict) if len(several) == 1 else _several(several)}."
        for (family, metric), several in ends.items()
        if several
    )


def _single(ends: Ends, verdict: Verdict) -> str:
    highest, lowest = ends.highest, ends.lowest
    high, low, apart = (wording.number(value) for value in (ends.high, ends.low, ends.high - ends.low))
    if ends.high == ends.low:
        return f"all {len(highest)} systems have {high}"
    leaders, grid = {lead.leader for lead in verdict.leads}, ends.grid
    between = [
        f"{leader}, which leads by {verdict.metric}, has {wording.number(grid.value(leader, grid.designs[0]))}"
        for leader in leaders
        if len(leaders) == 1 and leader in grid.systems and leader not in (*highest, *lowest)
    ]
    tested = _tested(ends, verdict.level)
    return "; ".join(
        [f"highest {listed(highest)} with {high}, lowest {listed(lowest)} with {low}, {apart} apart{tested}", *between]
    )


def _tested(ends: Ends, level: float) -> str:
    """Return the interval of the difference between highest and lowest and its p in brackets, if they were compared."""
    row = ends.grid.versus(ends.grid.designs[0], ends.highest[0], ends.lowest[0]) or {}
    low, high, p = (real(row.get(name)) for name in ("low", "high", "p_adjusted"))
    interval = "" if math.isnan(low) else f"{wording.percent(level)} interval {wording.interval(low, high)}; "
    return " (not tested)" if math.isnan(p) else f" ({interval}{wording.p_phrase(p)})"


def _several(several: Sequence[Ends]) -> str:
    differences = sorted(ends.high - ends.low for ends in several)
    smallest, largest = (wording.number(differences[at]) for at in (0, -1))
    apart = smallest if smallest == largest else f"{smallest} to {largest}"
    highest, lowest = (
        listed(list(counted(system for systems in kind for system in systems)))
        for kind in ([ends.highest for ends in several], [ends.lowest for ends in several])
    )
    return f"highest {highest}, lowest {lowest}, of {len(several)} settings; {apart} apart"


def counted(systems: Iterable[str]) -> Iterator[str]:
    """Yield each system with the number of times it is named, the most often named first.

    >>> list(counted("abb"))
    ['b on 2', 'a on 1']
    """
    yield from (f"{system} on {count}" for system, count in Counter(systems).most_common())
