"""What most users had lately: fashions pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from recassay.data.interactions import Interactions
from recassay.data.time_kind import require_times
from recassay.data.times import times
from recassay.models.base import BuiltIn, Scoring


@dataclass(frozen=True, repr=False)
class RecentPopular(BuiltIn):
    """The score of an item is the number of distinct users who had it lately; equal ones stand by all users they had.

    Lately is the last ``window`` of time before the last event, in the unit of the log's times (seconds where they are
    dates), both ends included; that needs clock times. Without a window it is the latest ``share`` of the events, one
    at least, and all others at the time of the first of them; a log without times is in the order of its rows then.

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
        """A length of time, and a share."""
        if self.window is not None:
            self.at_least(0, "window")
        if not 0 < self.share <= 1:
            raise self.refuse("share", "it is a share", "above 0, at most 1")

    def fit(self, log: Interactions) -> FittedRecentPopular:
        """Counts the users of every item, lately."""
        require_times(log, None if self.window is None else "clock", self)
        in_order = log.timestamps is None
        when = np.arange(len(log)) if in_order else times(log)
        ordered = np.sort(when)
        latest = ordered[-max(1, round(self.share * when.size)) :]
        since = latest[:1] if self.window is None else ordered[-1:] - self.window
        return FittedRecentPopular(log, log.take(when >= since).item_users)


@dataclass(frozen=True, eq=False)
class FittedRecentPopular(Scoring):
    """A log, and the users whom each item had lately."""

    log: Interactions
    users: NDArray[np.int64]

    def scores(self, users: NDArray[np.int32]) -> NDArray[np.float64]:
        """A score of every item, the same for each user."""
        row = self.users + self.log.item_users / (self.log.n_users + 1)  # the second term is below 1
        return np.broadcast_to(row, (users.size, self.log.n_items))
