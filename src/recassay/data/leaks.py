"""Training events that come after test events: what a system knew that it could not have known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recassay.data.fold import Fold
from recassay.data.times import times


@dataclass(frozen=True)
class LeakReport:
    """Of ``train`` events, those ``later`` than the earliest test event, and than the earliest of the same user.

    ``later`` is None where the log has an order within each user only: then nobody knows.
    """

    train: int
    later: int | None
    later_of_user: int


def leaks(fold: Fold) -> LeakReport:
    """Count the training events of a fold that are strictly later than the earliest test event.

    A log without timestamps is an error. Validation events are not counted.

    >>> import polars as pl
    >>> from recassay.data.interactions import Interactions
    >>> frame = pl.DataFrame({"user_id": [*"aabb"], "item_id": [*range(4)], "timestamp": [1, 2, 3, 4]})
    >>> log = Interactions.from_frame(frame)
    >>> leaks(Fold(log.take(np.array([0, 2])), log.take(np.array([1, 3])), "per user", {}))
    LeakReport(train=2, later=1, later_of_user=0)
    """
    past, future = times(fold.train), times(fold.test)
    earliest = np.full(fold.train.n_users, np.inf)
    np.minimum.at(earliest, fold.test.users, future)
    later = past > future.min() if future.size else np.zeros(past.size, np.bool_)
    of_user = int(np.count_nonzero(past > earliest[fold.train.users]))
    return LeakReport(len(fold.train), None if fold.train.times == "user" else int(np.count_nonzero(later)), of_user)
