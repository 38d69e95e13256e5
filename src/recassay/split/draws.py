"""Random numbers that depend on ids, never on row positions, and the order of rows that they give.

A draw depends on the seed, the name of its purpose, and the ids of user and item. So the order of rows in a file does
not change a split, and a partition of the log draws what the whole log would.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from recassay.columnar.identity import id_keys, mix, pair_keys, value_keys
from recassay.columnar.order import positions_in_groups
from recassay.columnar.vocabulary import Vocabulary
from recassay.data.interactions import Interactions
from recassay.rng import derive_seed

Draws = NDArray[np.uint64]
SLACK = 1e-9  # so that 0.2 * 5 counts as 1 despite rounding errors


def vocabulary_keys(vocabulary: Vocabulary) -> Draws:
    """Return a 64-bit hash of each id of a log's vocabulary."""
    assert vocabulary.ids is not None, "a log's ids are dense"
    return id_keys(vocabulary.ids)


def user_draws(log: Interactions, seed: int, name: str) -> Draws:
    """Return a 64-bit random number for each user, derived from (seed, name, user id)."""
    return mix(mix(vocabulary_keys(log.user_vocabulary)) ^ np.uint64(derive_seed(seed, name, "user") % 2**64))


def row_draws(log: Interactions, seed: int, name: str) -> Draws:
    """Return a 64-bit random number for each row, derived from (seed, name, user id, item id).

    Rows of the same user and item get the same number.
    """
    users, items = vocabulary_keys(log.user_vocabulary), vocabulary_keys(log.item_vocabulary)
    return pair_keys(log.users, log.items, users, items, derive_seed(seed, name, "pair"))


def uniform(draws: Draws) -> NDArray[np.float64]:
    """Return draws as numbers strictly between 0 and 1.

    >>> uniform(np.array([0, 2**64 - 1], np.uint64)).tolist() == [2.0**-53, 1 - 2.0**-53]
    True
    """
    return ((draws >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52


def draw_ranks(log: Interactions, groups: NDArray[np.int32], draws: NDArray[Any]) -> NDArray[np.int64]:
    """Return the rank 0, 1, ... of each row within its group, by its draw; equal draws are ranked by time, then rating.

    ``groups`` is the group of each row, such as its user, and ``draws`` the random number of each row.
    """
    keys: list[NDArray[Any]] = [draws]  # the last key decides first
    if log.timestamps is not None:
        keys.insert(0, value_keys(log.timestamps))
    if log.ratings is not None:
        keys.insert(0, log.ratings)
    return positions_in_groups(groups, *keys)


def events_per_user(log: Interactions) -> NDArray[np.int64]:
    """Return the number of rows of each user."""
    return np.bincount(log.users, minlength=log.n_users)


def round_down(values: NDArray[Any]) -> NDArray[np.int64]:
    """Return values rounded down, after adding a slack of 1e-9 against rounding errors."""
    whole: NDArray[np.int64] = np.floor(values + SLACK).astype(np.int64)
    return whole
