"""What a run was worth under each metric, from the values of all units, or from sums over them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

import numpy as np

from recassay.comparison.intervals import means
from recassay.data.scores import Values
from recassay.engine.parts import Column, Columns, Order
from recassay.metrics.base import UnitMetric
from recassay.portable import elementary


class Worth(ABC):
    """Means over the units where a metric is defined; ``metrics`` are those with a value per unit, by heading."""

    def __init__(self, metrics: Mapping[str, UnitMetric]) -> None:
        self.metrics = metrics

    @abstractmethod
    def counts(self, heading: str) -> tuple[int, int]:
        """Units with a value, and without."""

    @abstractmethod
    def mean(self, heading: str, order: Order | None = None) -> float:
        """The mean, or what it would be in another order of ties."""

    @abstractmethod
    def error(self, heading: str) -> float:
        """The standard error of the plain mean; 0 for fewer than two values."""

    @property
    @abstractmethod
    def reordered(self) -> tuple[str, ...]:
        """Headings whose values are known in the other orders of ties."""


class WorthOfColumns(Worth):
    """From values, which are all there."""

    def __init__(self, metrics: Mapping[str, UnitMetric], columns: Columns) -> None:
        super().__init__(metrics)
        self.columns = columns

    def counts(self, heading: str) -> tuple[int, int]:
        """Units with a value, and without."""
        values = self.columns["value", heading]
        undefined = int(np.isnan(values).sum())
        return values.size - undefined, undefined

    def mean(self, heading: str, order: Order | None = None) -> float:
        """The mean."""
        key: Column = (order or "value", heading)
        return mean(self.metrics[heading], self.columns[key], self.columns.get(("weight", heading)))

    def error(self, heading: str) -> float:
        """Of the plain mean."""
        return standard_error(self.columns["value", heading])

    @property
    def reordered(self) -> tuple[str, ...]:
        """Headings whose values are known in the other orders of ties."""
        return tuple(heading for kind, heading in self.columns if kind == "pessimistic")


def mean(metric: UnitMetric, values: Values, weights: Values | None) -> float:
    """Mean over the units where the metric is defined."""
    undefined = np.isnan(values)
    if undefined.any():
        values, weights = values[~undefined], None if weights is None else weights[~undefined]
    column = values if metric.power == 1 else values**metric.power
    found = float(means(column[:, None], None if weights is None else weights[:, None])[0])
    return found if metric.power == 1 else elementary.power(found, 1 / metric.power)


def standard_error(values: Values) -> float:
    """Of the mean of the defined values; 0 for fewer than two; NaN where one is infinite."""
    defined = values[~np.isnan(values)]
    if np.isinf(defined).any():
        return float("nan")
    return float(defined.std(ddof=1) / np.sqrt(defined.size)) if defined.size > 1 else 0.0
