"""How likely an item of a grade satisfies its reader."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from recassay.metrics.base import Metric, Values
from recassay.metrics.ranking.ndcg import LARGEST_EXPONENT
from recassay.portable.elementary import exp2

if TYPE_CHECKING:
    from recassay.data.truth_facts import TruthFacts
    from recassay.metrics.context import Context


@dataclass(frozen=True, repr=False)
class Satisfying(Metric):
    """A metric of readers who stop at an item with probability ``(2^grade - 1) / 2^scale``.

    ``scale`` is the largest grade there can be; if it is not given, the largest in the whole truth.
    """

    scale: float | None = None

    def resolve(self, facts: TruthFacts) -> Self:
        """The metric with its scale settled by the data."""
        return self if self.scale is not None else dataclasses.replace(self, scale=max(facts.greatest, 1.0))

    def prepare(self, facts: TruthFacts, context: Context) -> None:
        super().prepare(facts, context)
        if self.scale is not None and self.scale > LARGEST_EXPONENT:
            raise self.refuse("scale", f"2^{self.scale:g} is no number; grades are a few small steps")
        if self.scale is not None and max(facts.greatest, 0.0) > self.scale:
            raise self.refuse("scale", f"the truth has a gain of {facts.greatest:g}")

    def satisfied(self, grade: Values) -> Values:
        """The probability that an item of each grade satisfies."""
        assert self.scale is not None
        return np.asarray((exp2(np.maximum(grade, 0.0)) - 1.0) / exp2(self.scale))
