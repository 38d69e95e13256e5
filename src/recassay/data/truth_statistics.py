"""Statistics of the whole truth that metrics need before the first list is scored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from recassay.columnar.layout import different_numbers
from recassay.data.truth import Truth


@dataclass(frozen=True)
class TruthStatistics:
    """Statistics of the judgements of some users; the statistics of disjoint groups of users add up.

    ``max_gain`` is the highest gain, -inf if nothing is judged. ``users_without_lower`` maps a threshold of relevance
    to the number of users all of whose judged items reach it, so no non-relevant item is known for them.

    >>> import polars as pl
    >>> rows = {"user_id": [1, 1, 2, 3], "item_id": [5, 9, 9, 5], "gain": [1, 0, 4, 2]}
    >>> truth = Truth.from_frame(pl.DataFrame(rows))
    >>> first, others = (TruthStatistics.of(truth.take(np.array(users)), [1.0, 3.0]) for users in ([0], [1, 2]))
    >>> first + others
    TruthStatistics(users=3, max_gain=4.0, users_without_lower={1.0: 2, 3.0: 1}, origin='')
    """

    users: int
    max_gain: float
    users_without_lower: Mapping[float, int]
    origin: str = ""

    @classmethod
    def of(cls, truth: Truth, below: Iterable[float] = ()) -> TruthStatistics:
        """Return the statistics of a truth; ``below`` are the thresholds of relevance to count users for."""
        return cls(
            truth.queries.len(),
            float(different_numbers(truth.gains).max(initial=-np.inf)),
            {threshold: _without_any_below(truth, threshold) for threshold in sorted(set(below))},
            truth.origin,
        )

    def __add__(self, other: TruthStatistics) -> TruthStatistics:
        return TruthStatistics(
            self.users + other.users,
            max(self.max_gain, other.max_gain),
            {
                threshold: users + other.users_without_lower[threshold]
                for threshold, users in self.users_without_lower.items()
            },
            self.origin or other.origin,
        )


def _without_any_below(truth: Truth, threshold: float) -> int:
    """Return the number of users without a judged item below a threshold; items of negative gain are not judged."""
    judged = np.append(0, np.cumsum((truth.gains >= 0) & (truth.gains < threshold)))
    return int((np.diff(judged[truth.offsets]) == 0).sum())
