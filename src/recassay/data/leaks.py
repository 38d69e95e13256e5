"""Training events that are later than test events: future information a system could not have had."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recassay.data.fold import Fold
from recassay.data.times import row_times


@dataclass(frozen=True)
class LeakReport:
    """Numbers of training events: all (``train``), and those later than test events.

    ``later`` counts those later than the earliest test event of any user, and ``later_of_user`` those later than the
    earliest test event of the same user. ``later`` is None if the times order events only within each user, since users
    cannot be compared then.
    """

    train: int
    later: int | None
    later_of_user: int


def leaks(fold: Fold) -> LeakReport:
    """Return how many training events of a fold are later than the earliest test event, of all users and per user.

    Events at the same time are not later. A log without timestamps raises an error. Validation events are not counted.

    >>> import polars as pl
    >>> from recassay.data.interactions import Interactions
    >>> frame = pl.DataFrame({"user_id": [*"aabb"], "item_id": [*range(4)], "timestamp": [1, 2, 3, 4]})
    >>> log = Interactions.from_frame(frame)
    >>> leaks(Fold(log.take(np.array([0, 2])), log.take(np.array([1, 3])), "per user", {}))
    LeakReport(train=2, later=1, later_of_user=0)
    """
    past, future = row_times(fold.train), row_times(fold.test)
    earliest = np.full(fold.train.n_users, np.inf)
    np.minimum.at(earliest, fold.test.users, future)
    later = past > future.min() if future.size else np.zeros(past.size, np.bool_)
    of_user = int(np.count_nonzero(past > earliest[fold.train.users]))
    return LeakReport(len(fold.train), None if fold.train.times == "user" else int(np.count_nonzero(later)), of_user)
