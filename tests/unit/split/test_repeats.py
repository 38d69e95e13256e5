"""Sums of repeated pairs, and ratings from play counts, against plain loops."""

from collections import defaultdict
from math import ceil

import numpy as np
import polars as pl
import pytest

from recassay.data.interactions import Interactions
from recassay.errors import UsageError
from recassay.split import filters


def plays(rows=600, users=12, items=15, seed=1):
    rng = np.random.default_rng(seed)
    columns = {"user_id": rng.integers(users, size=rows), "item_id": rng.integers(items, size=rows)}
    columns |= {"timestamp": rng.integers(10**6, 2 * 10**6, rows), "rating": rng.integers(1, 9, rows)}
    return pl.DataFrame(columns)


def summed(frame):
    found = defaultdict(int)
    for user, item, _, rating in frame.rows():
        found[user, item] += rating
    return found


def test_a_pair_has_the_sum_of_its_plays_and_its_first_time():
    frame = plays()
    kept = filters.parse("distinct(keep='sum')")(Interactions.from_frame(frame))
    first = {(user, item): time for user, item, time, _ in sorted(frame.rows(), key=lambda row: -row[2])}
    assert {row[:2]: row[3] for row in kept.log.frame().rows()} == summed(frame)
    assert {row[:2]: row[2] for row in kept.log.frame().rows()} == first
    assert kept.removed == {"pair repeated": 600 - len(first)}


def test_without_ratings_every_row_counts_one():
    frame = plays().drop("rating")
    kept = filters.parse("distinct(keep='sum')")(Interactions.from_frame(frame))
    counts = frame.group_by("user_id", "item_id").len()
    assert sorted(row[:2] + row[3:] for row in kept.log.frame().rows()) == sorted(counts.rows())


@pytest.mark.parametrize("levels", [2, 5])
def test_ratings_are_levels_of_the_profile_of_a_user(levels):
    frame = plays()
    kept = filters.parse(f"distinct(keep='sum', levels={levels})")(Interactions.from_frame(frame))
    sums = summed(frame)
    for user, item, _, rating in kept.log.frame().rows():
        own = [plays for (other, _), plays in sums.items() if other == user]
        assert rating == ceil(levels * sum(plays <= sums[user, item] for plays in own) / len(own))


def test_five_levels_of_ten_artists_by_hand():
    rows = [("ann", f"artist {n}", n * n) for n in range(1, 11)]
    log = Interactions.from_frame(pl.DataFrame(rows, ["user_id", "item_id", "rating"], orient="row"))
    kept = filters.parse("distinct(keep='sum', levels=5)")(log)
    assert kept.log.ratings.tolist() == [1, 1, 2, 2, 3, 3, 4, 4, 5, 5]


@pytest.mark.parametrize("text", ["distinct(levels=5)", "distinct(keep='sum', levels=1)"])
def test_levels_go_with_sums(text):
    with pytest.raises(UsageError, match="U102"):
        filters.parse(text)
