"""Filters of bursts, of features and of samples, against plain loops."""

from datetime import datetime, timedelta

import polars as pl
import pytest

from recassay.data.features import Features
from recassay.data.interactions import Interactions
from recassay.data.synthetic import log as made_up
from recassay.errors import UsageError
from recassay.split import filters

ITEMS = pl.DataFrame({"item_id": [1, 2, 3, 4], "kinds": [["Office"], ["Bar", "Office"], ["Bar"], []]})


def log_of(rows, columns=("user_id", "item_id", "timestamp")):
    return Interactions.from_frame(pl.DataFrame(rows, list(columns), orient="row"))


@pytest.mark.parametrize("gap", [1, 1000, 90_000])
def test_users_without_a_burst_are_those_of_a_loop(gap):
    log = made_up(users=80, items=30, events=900, seed=5)
    by_user = {}
    for user, _, time in log.frame().rows():
        by_user.setdefault(user, []).append(time)
    calm = {
        user for user, times in by_user.items()
        if all(later - time >= gap for time, later in zip(sorted(times), sorted(times)[1:], strict=False))
    }  # fmt: skip
    kept = filters.parse(f"no_bursts(gap={gap})")(log).log.frame()
    assert kept.rows() == [row for row in log.frame().rows() if row[0] in calm]


def test_a_gap_is_in_seconds_where_times_are_dates():
    day = datetime(2017, 10, 1)
    rows = [("ann", 1, day), ("ann", 2, day + timedelta(seconds=60)), ("bob", 1, day), ("bob", 1, day)]
    kept = filters.parse("no_bursts")(log_of(rows))
    assert (kept.log.frame()["user_id"].to_list(), kept.removed) == (["ann", "ann"], {"user with a burst": 2})
    with pytest.raises(UsageError, match="U102"):
        filters.parse("no_bursts(gap=0)")


def test_items_with_and_without_features():
    log, items = log_of([(7, item, item) for item in (1, 2, 3, 4, 5)]), Features.from_frame(ITEMS)
    texts = ("featured(only='Bar')", "featured(without='Office')")
    kept = {text: filters.apply(log, text, items) for text in texts}
    assert {text: one.log.frame()["item_id"].to_list() for text, one in kept.items()} == {
        "featured(only='Bar')": [2, 3],
        "featured(without='Office')": [3, 4, 5],
    }
    both = filters.apply(log, "featured(only='Bar', without='Office')", items)
    assert both.log.frame()["item_id"].to_list() == [3]
    assert both.removed == {"item without a wanted feature": 3, "item with an unwanted feature": 1}


def test_features_are_needed_and_must_exist():
    log, items = log_of([(7, 1, 1)]), Features.from_frame(ITEMS)
    with pytest.raises(UsageError, match="U105"):
        filters.parse("featured(only='Bar')")(log)
    with pytest.raises(UsageError, match="did you mean 'Office'"):
        filters.apply(log, "featured(without='Ofice')", items)
    with pytest.raises(UsageError, match="U102"):
        filters.parse("featured")


def test_a_sample_of_users_is_about_its_share_and_nested():
    log = made_up(users=2000, items=30, events=6000, seed=5)
    users = {n: set(filters.parse(f"one_in(n={n})")(log).log.frame()["user_id"]) for n in (2, 10, 20)}
    assert users[20] < users[10] < users[2]
    assert [pytest.approx(2000 / n, abs=4 * (2000 / n) ** 0.5) for n in users] == [len(one) for one in users.values()]
    other = set(filters.parse("one_in(n=10, seed=1)")(log).log.frame()["user_id"])
    assert other != users[10]
    whole = log.frame().filter(pl.col("user_id").is_in(sorted(users[10])))
    assert filters.parse("one_in(n=10)")(log).log.frame().rows() == whole.rows()


def test_a_sample_of_rows_cuts_users():
    log = made_up(users=200, items=60, events=6000, seed=5)
    kept = filters.parse("one_in(n=10, of='rows')")(log)
    assert len(kept.log) == pytest.approx(600, abs=100)
    assert kept.removed == {"not in the sample": len(log) - len(kept.log)}
    with pytest.raises(UsageError, match="U102"):
        filters.parse("one_in(n=0)")
