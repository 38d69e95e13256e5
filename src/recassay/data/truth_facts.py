"""What metrics must know of the whole truth before the first list is judged, and no more."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from recassay.data.truth import Truth


@dataclass(frozen=True)
class TruthFacts:
    """Facts of some users' judgements; those of some users and of others add up to those of both.

    ``greatest`` is the greatest gain, -inf where nothing is judged. ``lacking`` has, by threshold, the users without a
    judged item below it: those of whom is known what was right and not what was wrong.

    >>> import polars as pl
    >>> rows = {"user_id": [1, 1, 2, 3], "item_id": [5, 9, 9, 5], "gain": [1, 0, 4, 2]}
    >>> truth = Truth.from_frame(pl.DataFrame(rows))
    >>> first, others = (TruthFacts.of(truth.take(np.array(users)), [1.0, 3.0]) for users in ([0], [1, 2]))
    >>> first + others
    TruthFacts(users=3, greatest=4.0, lacking={1.0: 2, 3.0: 1}, origin='')
    """

    users: int
    greatest: float
    lacking: Mapping[float, int]
    origin: str = ""

    @classmethod
    def of(cls, truth: Truth, below: Iterable[float] = ()) -> TruthFacts:
        """Facts of a truth, or of some users of one, with ``below`` as thresholds."""
        return cls(
            truth.queries.len(),
            float(truth.gains.max(initial=-np.inf)),
            {threshold: _without_any_below(truth, threshold) for threshold in sorted(set(below))},
            truth.origin,
        )

    def __add__(self, other: TruthFacts) -> TruthFacts:
        return TruthFacts(
            self.users + other.users,
            max(self.greatest, other.greatest),
            {threshold: users + other.lacking[threshold] for threshold, users in self.lacking.items()},
            self.origin or other.origin,
        )


def _without_any_below(truth: Truth, threshold: float) -> int:
    """Users without a judged item below a threshold; an item with a negative gain is not judged."""
    judged = np.append(0, np.cumsum((truth.gains >= 0) & (truth.gains < threshold)))
    return int((np.diff(judged[truth.offsets]) == 0).sum())
