"""Items that the same users had."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recassay.data.interactions import Interactions
from recassay.data.layout import readonly
from recassay.data.subprofiles import _kernels
from recassay.threads import each_block

NOBODY = -1  # the place of a neighbour that an item does not have
ITEMS_PER_BLOCK = 256


def nearest(log: Interactions, k: int, *, threads: int | None = None) -> NDArray[np.int32]:
    """The k items most similar to each item (items, k), most similar first; -1 where there are fewer.

    Similar is the cosine of 0/1 item vectors, |U_i and U_j| / sqrt(|U_i| |U_j|), U_i the users who had item i. An item
    is no neighbour of its own, nor is one that shares no user with it; ties stand in ascending order of id.

    >>> import polars as pl
    >>> log = Interactions.from_frame(pl.DataFrame({"user_id": [1, 1, 2, 2, 2, 3], "item_id": [7, 8, 7, 8, 9, 6]}))
    >>> nearest(log, 2).tolist()
    [[-1, -1], [2, 3], [1, 3], [1, 2]]
    """
    offsets, items = (readonly(one) for one in log.by_user)
    item_offsets, item_users = (readonly(one) for one in log.by_item)
    found = np.full((log.n_items, k), NOBODY, np.int32)

    def fill(begin: int, end: int) -> None:
        _kernels.nearest(item_offsets, item_users, offsets, items, begin, end, found)

    each_block(fill, log.n_items, size=ITEMS_PER_BLOCK, threads=threads)
    return found
