"""Which users of a truth have training events."""

from __future__ import annotations

import numpy as np
import polars as pl

from recassay.data.fold import known_users
from recassay.data.interactions import Interactions

LOG = Interactions.from_frame(pl.DataFrame({"user_id": [7, 3, 5], "item_id": ["a", "b", "c"]}))


def test_a_user_who_lost_all_events_to_the_test_part_is_unknown():
    assert known_users(LOG.take(np.array([0, 2])), pl.Series([3, 5, 7, 9])).tolist() == [False, True, True, False]


def test_without_training_events_nobody_is_known():
    assert known_users(LOG.take(np.array([], np.int64)), pl.Series([3, 7])).tolist() == [False, False]
    assert known_users(LOG.take(np.array([], np.int64)).compact(), pl.Series([3, 7])).tolist() == [False, False]
