"""The two best systems by every metric that says how good a system is."""

from __future__ import annotations

import math
from typing import NamedTuple

from recassay.comparison.pairs import ComparableScores
from recassay.errors import RecassayError
from recassay.metrics.registry import parse_metric
from recassay.results.scores import Summary


class FirstTwo(NamedTuple):
    """The systems with the best and the second best mean by a metric, and whether more of the metric is better."""

    first: str
    second: str
    higher_is_better: bool


def leaders(scores: ComparableScores) -> dict[str, FirstTwo]:
    """Return the two best systems by each metric that says how good a system is.

    A metric is left out if it only describes lists, if neither more nor less of it is better, or if fewer than two of
    its means are defined.
    """
    found: dict[str, FirstTwo] = {}
    rows: dict[str, list[Summary]] = {}
    for row in getattr(scores, "rows", ()):
        if row.higher_is_better is not None and not math.isnan(row.mean):
            rows.setdefault(row.metric, []).append(row)
    for metric in scores.unit_metrics:
        if len(rows.get(metric, ())) > 1 and judges(metric):
            higher = bool(rows[metric][0].higher_is_better)
            first, second, *_ = sorted(rows[metric], key=lambda row: row.mean, reverse=higher)
            found[metric] = FirstTwo(first.system, second.system, higher)
    return found


def judges(metric: str) -> bool:
    """Return whether a metric says how good a system is; False if it only describes its lists.

    >>> judges("ndcg@10"), judges("ild@10"), judges("my own number")
    (True, False, True)
    """
    try:
        return not parse_metric(metric).describes
    except RecassayError:
        return True
