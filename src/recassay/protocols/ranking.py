"""Ranking: one query per test user over the whole catalogue."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import polars as pl

from recassay.data.fold import Fold
from recassay.data.truth import Truth
from recassay.protocols.base import UserProtocol

TOP = 100


@dataclass(frozen=True, repr=False)
class Ranking(UserProtocol):
    """One query per user with a test rating; nothing is revealed.

    A test rating of ``relevant_from`` or more is relevant (None: all of them). Lists have ``k`` items. Training items
    of a user are not candidates; ``keep_seen=True`` keeps them, to show the effect of their exclusion. ``bins`` is the
    number of popularity bins for percentile designs (0: none). Where a design samples by popularity, the weight of an
    item is its number of users in ``training``, or in ``all`` parts of the log.

    Bins have equal numbers of items, ordered by their users in all parts; ``equal_mass=True`` cuts where the ratings of
    the more popular items pass each share, and ``bins_from="training"`` counts users in training only.

    >>> import polars as pl
    >>> from recassay.data.interactions import Interactions
    >>> log = Interactions.from_frame(pl.DataFrame({"user_id": [1, 1, 2], "item_id": [7, 8, 8], "rating": [5, 4, 2]}))
    >>> fold = Fold(log.take(np.array([0])), log.take(np.array([1, 2])), "global", {})
    >>> protocol = Ranking(relevant_from=4)
    >>> [step.ask.ids.to_list() for step in protocol.steps(fold)]
    [[1, 2]]
    >>> protocol.truth(fold).frame().rows()
    [(1, 8, 1.0), (2, 8, 0.0)]
    """

    name: ClassVar[str] = "ranking"

    relevant_from: float | None = None
    k: int = TOP
    bins: int = 10
    keep_seen: bool = False
    popularity: Literal["training", "all"] = "training"
    equal_mass: bool = False
    bins_from: Literal["all", "training"] = "all"

    def truth(self, fold: Fold) -> Truth:
        """Return the test ratings as judgements: gain 1 from ``relevant_from`` on, gain 0 below."""
        test = fold.test
        frame = test.frame().select("user_id", "item_id")
        if self.relevant_from is not None:
            frame = frame.with_columns(gain=pl.Series(test.liked(self.relevant_from).astype(np.float64)))
        return Truth.from_frame(frame, origin=test.origin)
