"""Generated logs: size, long tails, tastes, and reproducible bits."""

from __future__ import annotations

import numpy as np
import pytest

from recassay.data.synthetic import TOPICS, item_features, log
from recassay.errors import UsageError


@pytest.fixture(scope="module")
def made():
    return log(users=800, items=500, events=30_000, seed=3)


def test_a_log_has_the_requested_size_and_no_repeated_pair(made):
    assert (len(made), made.n_users) == (30_000, 800)
    assert made.by_user[1].size == 30_000
    assert made.n_items <= 500
    assert made.item_vocabulary.ids.is_between(1, 500).all()


def test_rows_are_in_the_order_of_time(made):
    assert made.timestamps.is_sorted()


def test_users_have_at_least_five_events_and_at_most_half_of_the_items(made):
    activity = np.bincount(made.users)
    assert activity.min() >= 5
    assert activity.max() <= 250
    assert activity.max() > 5 * np.median(activity)


def test_only_equal_seeds_give_equal_logs(made):
    assert log(users=800, items=500, events=30_000, seed=3).frame().equals(made.frame())
    assert not log(users=800, items=500, events=30_000, seed=4).frame().equals(made.frame())


@pytest.mark.parametrize("seed", range(3))
def test_the_fullest_log_possible_can_be_made(seed):
    full = log(users=20, items=10, events=100, seed=seed)
    assert np.bincount(full.users).tolist() == [5] * 20
    assert full.by_user[1].size == 100


@pytest.mark.parametrize(("users", "items", "events"), [(0, 10, 5), (10, 10, 9), (10, 10, 51)])
def test_an_impossible_log_is_rejected(users, items, events):
    with pytest.raises(UsageError, match="are impossible"):
        log(users=users, items=items, events=events)


def test_item_features_cover_the_catalogue_with_known_topics():
    features = item_features(items=300, seed=1)
    assert features["item_id"].to_list() == list(range(1, 301))
    topics = features["genres"].str.split("|")
    assert set(topics.explode()) == set(TOPICS)
    assert set(topics.list.len()) == {1, 2}
    assert (topics.list.n_unique() == topics.list.len()).all()
