"""Which users of a truth have training events: the difference between the populations ``known`` and ``all``."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.columnar.recoding import Recoding
from recassay.columnar.vocabulary import Vocabulary
from recassay.data.interactions import Interactions
from recassay.data.truth import Truth
from recassay.errors import InputError


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


def of_known_users(truth: Truth, train: Interactions) -> tuple[Truth, dict[str, int]]:
    """Return the truth of the users with training events, and the numbers of these users and ``of`` all users.

    Raise I406 if there is no such user.

    >>> train = Interactions.from_frame(pl.DataFrame({"user_id": ["ann", "bob"], "item_id": ["x", "y"]}))
    >>> truth = Truth.from_frame(pl.DataFrame({"user_id": ["ann", "eve"], "item_id": ["y", "y"]}))
    >>> of_known_users(truth, train)[1]
    {'users': 1, 'of': 2}
    """
    known = np.flatnonzero(known_users(train, truth.queries))
    if not known.size:
        raise nobody_is_known(truth.queries.len(), truth.origin)
    return truth.take(known), {"users": known.size, "of": truth.queries.len()}


def nobody_is_known(users: int, where: str) -> InputError:
    """Return the error I406: none of the ``users`` of a truth, which is read from ``where``, has a training event."""
    return InputError(
        "I406",
        f"none of the {users:,} users of the truth has a training event, so there are no known users",
        where=where,
        hint="check that both files use the same ids, or score all users",
    )
