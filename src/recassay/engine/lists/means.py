"""The mean of a run under each metric, from the values of all users or from sums over them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

import numpy as np

from recassay.engine.lists.parts import Column, Columns, Order
from recassay.metrics.base import UnitMetric
from recassay.portable import elementary
from recassay.results.scores import Values
from recassay.stats.intervals import means


class MetricMeans(ABC):
    """Means of a run under each metric; users for whom a metric is undefined are left out.

    ``metrics`` are those that have a value per user, by name (the heading of their column).
    """

    def __init__(self, metrics: Mapping[str, UnitMetric]) -> None:
        self.metrics = metrics

    @abstractmethod
    def counts(self, heading: str) -> tuple[int, int]:
        """Return the numbers of users who have a value under the metric, and of those who have none."""

    @abstractmethod
    def mean(self, heading: str, order: Order | None = None) -> float:
        """Return the mean of a metric; ``order`` asks for the worst (pessimistic) or best order of tied rows."""

    @abstractmethod
    def error(self, heading: str) -> float:
        """Return the standard error of the unweighted mean; 0 for fewer than two values."""

    @property
    @abstractmethod
    def tie_order_headings(self) -> tuple[str, ...]:
        """Return the names of metrics that also have values in the worst and the best order of ties."""


class ColumnMeans(MetricMeans):
    """Means from the values of all users, in memory."""

    def __init__(self, metrics: Mapping[str, UnitMetric], columns: Columns) -> None:
        super().__init__(metrics)
        self.columns = columns

    def counts(self, heading: str) -> tuple[int, int]:
        """Return the numbers of users who have a value under the metric, and of those who have none."""
        values = self.columns["value", heading]
        undefined = int(np.count_nonzero(np.isnan(values)))
        return values.size - undefined, undefined

    def mean(self, heading: str, order: Order | None = None) -> float:
        """Return the mean of a metric; ``order`` asks for the worst (pessimistic) or best order of tied rows."""
        key: Column = (order or "value", heading)
        return mean(self.metrics[heading], self.columns[key], self.columns.get(("weight", heading)))

    def error(self, heading: str) -> float:
        """Return the standard error of the unweighted mean; 0 for fewer than two values."""
        return standard_error(self.columns["value", heading])

    @property
    def tie_order_headings(self) -> tuple[str, ...]:
        """Return the names of metrics that also have values in the worst and the best order of ties."""
        return tuple(heading for kind, heading in self.columns if kind == "pessimistic")


def mean(metric: UnitMetric, values: Values, weights: Values | None) -> float:
    """Return the mean over the users for whom the metric is defined, or the power mean if the metric has a power."""
    undefined = np.isnan(values)
    if undefined.any():
        values, weights = values[~undefined], None if weights is None else weights[~undefined]
    column = values if metric.power == 1 else values**metric.power
    result = float(means(column[:, None], None if weights is None else weights[:, None])[0])
    return result if metric.power == 1 else elementary.power(result, 1 / metric.power)


def standard_error(values: Values) -> float:
    """Return the standard error of the mean of defined values; 0 for fewer than two, NaN if one is infinite."""
    defined = values[~np.isnan(values)]
    if np.isinf(defined).any():
        return float("nan")
    return float(defined.std(ddof=1) / np.sqrt(defined.size)) if defined.size > 1 else 0.0
