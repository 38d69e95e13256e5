"""The log: codes, profiles, counts and fingerprint."""

import pickle
from itertools import permutations

import numpy as np
import polars as pl
import pytest

from recassay.data.interactions import Interactions
from recassay.errors import InputError

from ...refusals import refused

ROWS = [("b", 7, 4.0, 30), ("a", 9, 5.0, 10), ("b", 7, 3.0, 20), ("b", 8, 1.0, 40)]


def log_of(rows=ROWS, columns=("user_id", "item_id", "rating", "timestamp")):
    return Interactions.from_frame(pl.DataFrame([row[: len(columns)] for row in rows], list(columns), orient="row"))


def test_ids_are_coded_in_ascending_order_and_rows_keep_their_order():
    log = log_of()
    assert (len(log), log.n_users, log.n_items) == (4, 2, 3)
    assert log.users.tolist() == [1, 0, 1, 1]
    assert log.items.tolist() == [0, 2, 0, 1]
    assert log.ratings.tolist() == [4.0, 5.0, 3.0, 1.0]
    assert log.timestamps.to_list() == [30, 10, 20, 40]
    assert log.frame().rows() == [(user, item, time, rating) for user, item, rating, time in ROWS]


def test_profiles_hold_an_item_once_and_event_counts_include_repeats():
    log = log_of()
    offsets, items = log.by_user
    assert [items[offsets[u] : offsets[u + 1]].tolist() for u in range(2)] == [[2], [0, 1]]
    assert log.item_events.tolist() == [2, 1, 1]
    assert log.item_users.tolist() == [1, 1, 1]


def test_times_and_ratings_are_optional():
    log = log_of(columns=("user_id", "item_id"))
    assert log.timestamps is None
    assert log.ratings is None
    assert log.frame().columns == ["user_id", "item_id"]


def test_the_fingerprint_ignores_the_order_of_rows():
    whole = log_of().fingerprint
    assert log_of(ROWS[::-1]).fingerprint == whole
    others = [ROWS[:-1], [*ROWS, ROWS[0]], [*ROWS[:-1], ("b", 8, 2.0, 40)], [*ROWS[:-1], ("c", 8, 1.0, 40)]]
    assert whole not in {log_of(rows).fingerprint for rows in others}
    assert log_of(columns=("user_id", "item_id")).fingerprint != whole


def test_text_ids_with_equal_concatenations_have_different_fingerprints():
    assert (
        log_of([("a", "bc")], ("user_id", "item_id")).fingerprint
        != log_of([("ab", "c")], ("user_id", "item_id")).fingerprint
    )


@pytest.mark.parametrize("seed", range(3))
def test_profiles_equal_a_dict_of_sets(seed):
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


class TestLogOfSomeUsers:
    ROWS = pl.DataFrame({"user_id": [7, 3, 7, 3, 8], "item_id": [5, 9, 5, 5, 2], "rating": [1.0, 2.0, 3.0, 4.0, 5.0]})

    def test_item_counts_are_of_the_whole_log_and_the_rest_of_these_rows(self):
        whole = Interactions.from_frame(self.ROWS)
        log = Interactions.from_frame(self.ROWS.filter(user_id=3), whole=whole.item_counts)
        assert (log.n_users, log.n_items, len(log), log.item_counts.rows) == (3, 3, 2, 5)
        assert log.item_users.tolist() == whole.item_users.tolist() == [1, 2, 1]
        assert log.item_events.tolist() == whole.item_events.tolist() == [1, 3, 1]
        assert [one.tolist() for one in log.by_user] == [[0, 2], [1, 2]]
        assert log.frame().rows() == [(3, 9, 2.0), (3, 5, 4.0)]
        assert log.take(np.array([0])).n_users == 3

    def test_counts_add_up_in_any_order(self):
        parts = [Interactions.from_frame(self.ROWS.filter(user_id=user)).item_counts for user in (3, 7, 8)]
        whole = Interactions.from_frame(self.ROWS).item_counts
        for order in permutations(parts):
            found = pickle.loads(pickle.dumps(order[0])) + order[1] + order[2]
            assert found.ids.equals(whole.ids)
            assert found.n_users == whole.n_users
            assert found.users.tolist() == whole.users.tolist()
            assert found.events.tolist() == whole.events.tolist()

    def test_an_uncounted_item_is_rejected(self):
        counts = Interactions.from_frame(self.ROWS).item_counts
        with refused("I421", match=r"1 of 5 rows have an item that was not there .*, such as 6"):
            Interactions.from_frame(self.ROWS.with_columns(item_id=pl.Series([5, 9, 6, 5, 2])), whole=counts)

    def test_ids_of_another_type_are_rejected(self):
        counts = Interactions.from_frame(self.ROWS).item_counts
        with pytest.raises(InputError, match="I403"):
            Interactions.from_frame(self.ROWS.with_columns(item_id=pl.format("i{}", "item_id")), whole=counts)
