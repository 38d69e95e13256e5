"""Recent popularity: the items that most users had in a recent period."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from recassay.columnar.time_kind import require_times
from recassay.data.interactions import Interactions
from recassay.data.nouns import require_log
from recassay.data.times import row_times
from recassay.models.base.model import BuiltIn, ScoringModel


@dataclass(frozen=True, repr=False)
class RecentPopular(BuiltIn):
    """Recent popularity: the score of an item is the number of distinct users who had it in a recent period.

    Ties are ordered by the number of users at any time. With a ``window``, the period is that span before the last
    event, both ends included, in the unit of the log's times (seconds for dates); it needs clock times. Without a
    window it is the latest ``share`` of the events, at least one, and all other events at the time of the first of
    these. A log without times is then read in the order of its rows.

    >>> import polars as pl
    >>> frame = {"user_id": [1, 2, 3, 3, 4], "item_id": [*"aaabb"], "timestamp": [1, 2, 3, 8, 9]}
    >>> log = Interactions.from_frame(pl.DataFrame(frame))
    >>> [RecentPopular(window=window).fit(log).users.tolist() for window in (1, 6, 99)]
    [[0, 2], [1, 2], [3, 2]]
    >>> RecentPopular(share=0.4).fit(log).scores(np.array([0], np.int32)).tolist()
    [[0.6, 2.4]]

    Reference: Ji, Sun, Zhang and Li, A re-visit of the popularity baseline in recommender systems, SIGIR 2020.
    """

    name: ClassVar[str] = "RecentPopular"

    window: float | None = None
    share: float = 0.1

    def validate(self) -> None:
        """Raise U102 if the window is negative or the share is not above 0 and at most 1."""
        if self.window is not None:
            self.at_least(0, "window")
        if not 0 < self.share <= 1:
            raise self.refuse("share", "it must be above 0 and at most 1", "share=0.1")

    def fit(self, log: Interactions) -> FittedRecentPopular:
        """Count the distinct users of every item among recent events, and return the fitted model."""
        require_log(log)
        require_times(log, None if self.window is None else "clock", self)
        in_order = log.timestamps is None
        when = np.arange(len(log)) if in_order else row_times(log)
        ordered = np.sort(when)
        latest = ordered[-max(1, round(self.share * when.size)) :]
        since = latest[:1] if self.window is None else ordered[-1:] - self.window
        return FittedRecentPopular(log, log.take(when >= since).item_users)


@dataclass(frozen=True, eq=False)
class FittedRecentPopular(ScoringModel):
    """A log, and the number of distinct users of each item among recent events."""

    personal: ClassVar[bool] = False

    log: Interactions
    users: NDArray[np.int64]

    def scores(self, users: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return scores (n, items), the same for each user."""
        row = self.users + self.log.item_users / (self.log.n_users + 1)  # below 1: it only breaks ties
        return np.broadcast_to(row, (users.size, self.log.n_items))
