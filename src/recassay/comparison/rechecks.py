"""The verdict computed again without the users or the order of ties that a finding names: can the finding change it?"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recassay.comparison.tables import finite
from recassay.metrics.registry import known_metric
from recassay.results.scores import CODES, Scores, Summary, users_without
from recassay.stats.intervals import means

TIES, OTHER_USERS = "T001", "C013"
FEWEST = 2  # users that a verdict needs


@dataclass(frozen=True)
class Recheck:
    """The best system by a metric without what the finding ``code`` names, tested against the second best.

    ``n`` counts the users with a value for both. ``p`` is adjusted over all pairs of systems.
    """

    code: str
    metric: str
    n: int
    leader: str
    runner_up: str
    mean: float
    difference: float
    p: float
    significant: bool

    def to_dict(self) -> dict[str, Any]:
        """Return the fields for JSON; undefined and infinite numbers are None."""
        return dict(finite(dataclasses.asdict(self)))

    @classmethod
    def from_dict(cls, row: Mapping[str, Any]) -> Recheck:
        """Return the recheck of a row that :meth:`to_dict` made."""
        numbers = {name: math.nan if row[name] is None else row[name] for name in ("mean", "difference", "p")}
        return cls(**{**row, **numbers})


def without_findings(scores: Scores, metric: str, leader: str) -> Iterator[tuple[str, Scores]]:
    """Yield (code, scores) for each finding that names users: the scores by one metric without these users.

    For findings on ties (T001) the leader's ties are in the worst order and those of all others in the best. Scores
    that do not know whom findings name yield nothing, and neither does a finding that names nearly all users.
    """
    if scores.named is None:
        return
    without = {code: users_without(code, scores.named.values()) for code in CODES}
    known, listed = without["C010"], without["C001"]
    if known is not None and listed is not None and listed[known].all():
        without["C001"] = None  # C010 reports users without a list if all of them have no training events
    for code, kept in without.items():
        if kept is not None and np.count_nonzero(kept) >= FEWEST:
            yield code, scores_of_users(scores, metric, kept)
    defined = np.array([~np.isnan(scores.values(system, metric)) for system in scores.systems])
    common = np.asarray(defined.all(axis=0))
    if (defined.any(axis=0) & ~common).any() and np.count_nonzero(common) >= FEWEST:
        yield OTHER_USERS, scores_of_users(scores, metric, common)
    orders = {
        system: scores.tie_orders[system, metric] for system in scores.systems if (system, metric) in scores.tie_orders
    }
    if any(not np.array_equal(worst, best, equal_nan=True) for worst, best in orders.values()):
        values = {(system, metric): worst if system == leader else best for system, (worst, best) in orders.items()}
        other = dataclasses.replace(scores, per_unit={**scores.per_unit, **values})
        yield TIES, scores_of_users(other, metric, np.ones(common.size, np.bool_))


def scores_of_users(scores: Scores, metric: str, kept: NDArray[np.bool_]) -> Scores:
    """Return the scores of the users that ``kept`` marks by one metric, without intervals."""
    keys = [(system, metric) for system in scores.systems]
    values = {key: scores.per_unit[key][kept] for key in keys}
    weights = {key: scores.per_unit_weights[key][kept] for key in keys if key in scores.per_unit_weights}
    rows = {(row.system, row.metric): row for row in scores.rows}
    return Scores(
        scores.units.filter(kept),
        scores.systems,
        (metric,),
        values,
        weights,
        tuple(_with_mean(rows[key], values[key], weights.get(key)) for key in keys),
    )


def _with_mean(row: Summary, values: NDArray[np.float64], weights: NDArray[np.float64] | None) -> Summary:
    defined, power = ~np.isnan(values), float(getattr(known_metric(row.metric), "power", 1))
    column = values[defined] if power == 1 else values[defined] ** power
    mean = float(means(column[:, None], None if weights is None else weights[defined][:, None])[0])
    mean = mean if power == 1 else mean ** (1 / power)
    return dataclasses.replace(row, mean=mean, n=int(defined.sum()), low=math.nan, high=math.nan)
