"""The plainest split: some of each user's events, at random, become the truth."""

from __future__ import annotations

import numpy as np

from recassay.data.interactions import Interactions
from recassay.data.truth import Truth
from recassay.errors import UsageError
from recassay.rng import derive


def hold_out(log: Interactions, share: float = 0.2, *, seed: int = 0) -> tuple[Interactions, Truth]:
    """What remains of a log, and the truth taken from it: a share of each user's events, rounded down, at least one.

    A user with a single event keeps it and is not asked about. The order of rows does not matter.

    >>> import polars as pl
    >>> log = Interactions.from_frame(pl.DataFrame({"user_id": [1, 1, 1, 2], "item_id": [7, 8, 9, 7]}))
    >>> train, truth = hold_out(log)
    >>> len(train), truth.queries.to_list(), truth.items.size
    (3, [1], 1)
    """
    if not 0 < share < 1:
        raise UsageError("U102", f"a share of {share} cannot be held out", hint="a share between 0 and 1, such as 0.2")
    keys = (log.items, log.users) if log.timestamps is None else (log.timestamps.to_physical(), log.items, log.users)
    lot = np.empty(len(log))
    lot[np.lexsort(keys)] = derive(seed, "hold-out").random(len(log))
    order = np.lexsort((lot, log.users))
    events = np.bincount(log.users, minlength=log.n_users)
    taken = np.where(events > 1, np.maximum(1, np.floor(share * events)), 0)
    place = np.arange(len(log)) - np.repeat(np.cumsum(events) - events, events)
    held = np.zeros(len(log), np.bool_)
    held[order] = place < np.repeat(taken, events)
    frame = log.frame()
    train = Interactions.from_frame(frame.filter(~held), origin=log.origin, times=log.times)
    return train, Truth.from_frame(frame.filter(held).select("user_id", "item_id"), origin=log.origin)
