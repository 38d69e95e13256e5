"""Nearest neighbours of items: the items that share most users with them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recassay.columnar.layout import readonly
from recassay.data.interactions import Interactions
from recassay.data.subprofiles import _kernels
from recassay.threads import each_block

NO_ITEM = -1  # marks a missing neighbour
ITEMS_PER_BLOCK = 256


def nearest(log: Interactions, k: int, *, threads: int | None = None) -> NDArray[np.int32]:
    """Return the k items most similar to each item (items, k), most similar first; -1 if there are fewer.

    Similarity is the cosine of 0/1 item vectors, |U_i and U_j| / sqrt(|U_i| |U_j|), U_i being the users of item i. An
    item is not its own neighbour, and neighbours share at least one user. Ties are in ascending order of id.

    >>> import polars as pl
    >>> log = Interactions.from_frame(pl.DataFrame({"user_id": [1, 1, 2, 2, 2, 3], "item_id": [7, 8, 7, 8, 9, 6]}))
    >>> nearest(log, 2).tolist()
    [[-1, -1], [2, 3], [1, 3], [1, 2]]
    """
    offsets, items = (readonly(array) for array in log.by_user)
    item_offsets, item_users = (readonly(array) for array in log.by_item)
    found = np.full((log.n_items, k), NO_ITEM, np.int32)

    def fill(begin: int, end: int) -> None:
        _kernels.nearest(item_offsets, item_users, offsets, items, begin, end, found)

    each_block(fill, log.n_items, size=ITEMS_PER_BLOCK, threads=threads)
    return found
