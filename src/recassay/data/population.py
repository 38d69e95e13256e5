"""Which users of a truth have training events: the difference between the populations ``known`` and ``all``."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.columnar.recoding import Recoding
from recassay.columnar.vocabulary import Vocabulary
from recassay.data.interactions import Interactions


def profile_rows(train: Interactions, queries: pl.Series) -> NDArray[np.integer]:
    """Return the user code of each query in the training log, or a negative number for a user without events there."""
    assert train.user_vocabulary.ids is not None
    vocabulary, codes = Vocabulary.encode(queries)
    rows = Recoding.between(vocabulary, train.user_vocabulary.ids, "user")(codes)
    offsets, _ = train.by_user
    if offsets.size < 2:  # a partition of a log can be empty
        return np.full(queries.len(), -1)
    known: NDArray[np.integer] = np.where((rows >= 0) & (np.diff(offsets)[np.maximum(rows, 0)] > 0), rows, -1)
    return known


def known_users(train: Interactions, queries: pl.Series) -> NDArray[np.bool_]:
    """Return a mask of the users of ``queries`` that have at least one training event.

    >>> train = Interactions.from_frame(pl.DataFrame({"user_id": ["ann", "bob"], "item_id": ["x", "y"]}))
    >>> known_users(train, pl.Series(["ann", "eve"])).tolist()
    [True, False]
    """
    return profile_rows(train, queries) >= 0
