"""The simplest split: a random share of each user's events becomes the truth."""

from __future__ import annotations

import numpy as np

from recassay.columnar.order import positions_in_groups
from recassay.data.interactions import Interactions
from recassay.data.truth import Truth
from recassay.errors import UsageError
from recassay.rng import derive


def hold_out(log: Interactions, share: float = 0.2, *, seed: int = 0) -> tuple[Interactions, Truth]:
    """Return the training log, and the truth made of a random share of each user's events.

    The share is rounded down, but is at least one event. A user with a single event keeps it and is not in the truth.
    The order of rows does not matter. Raise U102 unless the share is between 0 and 1.

    >>> import polars as pl
    >>> log = Interactions.from_frame(pl.DataFrame({"user_id": [1, 1, 1, 2], "item_id": [7, 8, 9, 7]}))
    >>> train, truth = hold_out(log)
    >>> len(train), truth.queries.to_list(), truth.items.size
    (3, [1], 1)
    """
    if not 0 < share < 1:
        raise UsageError("U102", f"share must be between 0 and 1, got {share}", hint="a share such as 0.2")
    keys = (log.items, log.users) if log.timestamps is None else (log.timestamps.to_physical(), log.items, log.users)
    draw = np.empty(len(log))
    draw[np.lexsort(keys)] = derive(seed, "hold-out").random(len(log))
    events = np.bincount(log.users, minlength=log.n_users)
    taken = np.where(events > 1, np.maximum(1, np.floor(share * events)), 0)
    held = positions_in_groups(log.users, draw) < taken[log.users]
    frame = log.frame()
    train = Interactions.from_frame(frame.filter(~held), origin=log.origin, times=log.times)
    return train, Truth.from_frame(frame.filter(held).select("user_id", "item_id"), origin=log.origin)
