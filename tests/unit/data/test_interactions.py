"""The log: codes, profiles, counts and its fingerprint."""

import numpy as np
import polars as pl
import pytest

from recassay.data.interactions import Interactions

ROWS = [("b", 7, 4.0, 30), ("a", 9, 5.0, 10), ("b", 7, 3.0, 20), ("b", 8, 1.0, 40)]


def log_of(rows=ROWS, columns=("user_id", "item_id", "rating", "timestamp")):
    return Interactions.from_frame(pl.DataFrame([row[: len(columns)] for row in rows], list(columns), orient="row"))


def test_ids_are_numbered_in_ascending_order_and_rows_stay_in_theirs():
    log = log_of()
    assert (len(log), log.n_users, log.n_items) == (4, 2, 3)
    assert log.users.tolist() == [1, 0, 1, 1]
    assert log.items.tolist() == [0, 2, 0, 1]
    assert log.ratings.tolist() == [4.0, 5.0, 3.0, 1.0]
    assert log.timestamps.to_list() == [30, 10, 20, 40]
    assert log.frame().rows() == [(user, item, time, rating) for user, item, rating, time in ROWS]


def test_profiles_hold_an_item_once_and_events_count_it_again():
    log = log_of()
    offsets, items = log.by_user
    assert [items[offsets[u] : offsets[u + 1]].tolist() for u in range(2)] == [[2], [0, 1]]
    assert log.item_events.tolist() == [2, 1, 1]
    assert log.item_users.tolist() == [1, 1, 1]


def test_a_log_may_have_neither_time_nor_rating():
    log = log_of(columns=("user_id", "item_id"))
    assert log.timestamps is None
    assert log.ratings is None
    assert log.frame().columns == ["user_id", "item_id"]


def test_the_fingerprint_is_of_the_rows_as_a_set():
    whole = log_of().fingerprint
    assert log_of(ROWS[::-1]).fingerprint == whole
    others = [ROWS[:-1], [*ROWS, ROWS[0]], [*ROWS[:-1], ("b", 8, 2.0, 40)], [*ROWS[:-1], ("c", 8, 1.0, 40)]]
    assert whole not in {log_of(rows).fingerprint for rows in others}
    assert log_of(columns=("user_id", "item_id")).fingerprint != whole


def test_the_fingerprint_tells_ids_of_text_that_run_together_apart():
    assert (
        log_of([("a", "bc")], ("user_id", "item_id")).fingerprint
        != log_of([("ab", "c")], ("user_id", "item_id")).fingerprint
    )


@pytest.mark.parametrize("seed", range(3))
def test_profiles_equal_the_sets_of_a_dict(seed):
    pairs = np.random.default_rng(seed).integers(0, 30, (400, 2))
    log = log_of([tuple(map(int, pair)) for pair in pairs], ("user_id", "item_id"))
    profiles = {}
    for user, item in zip(log.users.tolist(), log.items.tolist(), strict=True):
        profiles.setdefault(user, set()).add(item)
    offsets, items = log.by_user
    assert [items[offsets[u] : offsets[u + 1]].tolist() for u in range(log.n_users)] == [
        sorted(profiles[u]) for u in range(log.n_users)
    ]
    assert log.item_users.sum() == items.size
