"""Lots drawn from ids, never from the place of a row; and the order they make."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from recassay.data.identity import id_keys, mix, pair_keys, value_keys
from recassay.data.interactions import Interactions
from recassay.data.order import places
from recassay.data.vocabulary import Vocabulary
from recassay.rng import derive_seed

Lots = NDArray[np.uint64]
SLACK = 1e-9  # 0.2 * 5 is one event, whatever the last bit says


def keys_of(vocabulary: Vocabulary) -> Lots:
    """A number for every id of a log."""
    assert vocabulary.ids is not None, "a log's ids are dense"
    return id_keys(vocabulary.ids)


def user_lots(log: Interactions, seed: int, name: str) -> Lots:
    """A random number for each user, from (seed, name, user id)."""
    return mix(mix(keys_of(log.user_vocabulary)) ^ np.uint64(derive_seed(seed, name, "user") % 2**64))


def row_lots(log: Interactions, seed: int, name: str) -> Lots:
    """A random number for each row, from (seed, name, user id, item id): a pair that comes twice draws once."""
    users, items = keys_of(log.user_vocabulary), keys_of(log.item_vocabulary)
    return pair_keys(log.users, log.items, users, items, derive_seed(seed, name, "pair"))


def uniform(lots: Lots) -> NDArray[np.float64]:
    """Lots as numbers in ]0, 1[.

    >>> uniform(np.array([0, 2**64 - 1], np.uint64)).tolist() == [2.0**-53, 1 - 2.0**-53]
    True
    """
    return ((lots >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52


def places_by_lot(log: Interactions, groups: NDArray[np.int32], lots: NDArray[Any]) -> NDArray[np.int64]:
    """The place 0, 1, ... of each row in its group by lot; rows of the same lot by time and rating."""
    keys: list[NDArray[Any]] = [lots]
    if log.timestamps is not None:
        keys.insert(0, value_keys(log.timestamps))
    if log.ratings is not None:
        keys.insert(0, log.ratings)
    return places(groups, *keys)


def events(log: Interactions) -> NDArray[np.int64]:
    """Rows of each user."""
    return np.bincount(log.users, minlength=log.n_users)


def floor(values: NDArray[Any]) -> NDArray[np.int64]:
    """Rounded down, with room for the last bit."""
    whole: NDArray[np.int64] = np.floor(values + SLACK).astype(np.int64)
    return whole
