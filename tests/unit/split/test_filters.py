"""Filters: what they keep, in which order, and what they count."""

import pickle

import numpy as np
import polars as pl
import pytest

from recassay.data.features import Features
from recassay.data.interactions import Interactions
from recassay.data.synthetic import log as made_up
from recassay.errors import InputError, UsageError
from recassay.split import filters
from recassay.split.subsets import Distinct

from ...refusals import refused

CASES = {
    "core": "core(users=12, items=20)",
    "once": "once(users=15, items=20, first='users')",
    "rated": "rated(at_least=3)",
    "distinct": "distinct(keep='last')",
    "between": "between(start=1600000000, end=1620000000)",
    "featured": filters.parse("featured(only='odd|big', without='third')").bind(
        Features.from_frame(
            pl.DataFrame(
                {
                    "item_id": range(1, 81),
                    "kinds": [
                        [name for name, has in (("odd", i % 2), ("big", i > 60), ("third", i % 3 == 0)) if has]
                        for i in range(1, 81)
                    ],
                }
            )
        )
    ),
    "no_bursts": "no_bursts(gap=600)",
    "one_in": "one_in(n=3, seed=2)",
}


@pytest.fixture(scope="module")
def log():
    frame = made_up(users=100, items=80, events=2000, seed=3).frame()
    frame = pl.concat([frame, frame.head(300).with_columns(timestamp=pl.col("timestamp") + 5_000_000)])
    return Interactions.from_frame(frame.with_columns(rating=pl.Series(np.arange(frame.height) % 5 + 1.0)))


def test_every_filter_is_tested():
    assert sorted(CASES) == list(filters.REGISTRY.built_in)


@pytest.mark.parametrize("text", CASES.values())
def test_filters_keep_row_order_and_count_removed_rows(text, log):
    spec = filters.parse(text)
    assert filters.parse(str(spec)) == spec == pickle.loads(pickle.dumps(spec))
    kept = spec(log)
    assert 0 < len(kept.log) < len(log)
    assert len(kept.log) + sum(kept.removed.values()) == len(log)
    whole = Interactions.from_frame(kept.log.frame())
    assert (whole.users.tolist(), whole.items.tolist()) == (kept.log.users.tolist(), kept.log.items.tolist())
    assert (whole.n_users, whole.n_items) == (kept.log.n_users, kept.log.n_items)
    shuffled = spec(log.take(np.random.default_rng(0).permutation(len(log))))
    assert (shuffled.log.fingerprint, shuffled.removed) == (kept.log.fingerprint, kept.removed)
    remaining = kept.log.frame().rows()
    members = set(remaining)
    assert [row for row in log.frame().rows() if row in members] == remaining


@pytest.mark.parametrize(("users", "items"), [(1, 1), (12, 20), (20, 10)])
def test_a_core_is_the_fixed_point_of_dropping_one_row_after_another(users, items, log):
    rows = log.frame().rows()
    while True:
        by_user, by_item = ([row[at] for row in rows] for at in (0, 1))
        bad = [row for row in rows if by_user.count(row[0]) < users or by_item.count(row[1]) < items]
        if not bad:
            break
        dropped = set(bad)
        rows = [row for row in rows if row not in dropped]
    assert filters.parse(f"core(users={users}, items={items})")(log).log.frame().rows() == rows


def test_one_pass_depends_on_the_side_that_is_checked_first(log):
    kept = {first: filters.Once(users=15, items=20, first=first)(log).log for first in ("items", "users")}
    assert np.bincount(kept["items"].users).min() >= 15
    assert np.bincount(kept["users"].items).min() >= 20
    assert kept["items"].fingerprint != kept["users"].fingerprint


def test_distinct_keeps_one_row_of_each_pair():
    rows = [(1, 7, 2.0, 9), (1, 7, 5.0, 3), (1, 8, 1.0, 1), (1, 7, 5.0, 4), (2, 7, 1.0, 1)]
    log = Interactions.from_frame(pl.DataFrame(rows, ["user_id", "item_id", "rating", "timestamp"], orient="row"))
    kept = {keep: Distinct(keep)(log) for keep in ("first", "last", "max")}
    assert {keep: one.log.timestamps.to_list() for keep, one in kept.items()} == {
        "first": [3, 1, 1], "last": [9, 1, 1], "max": [1, 4, 1],
    }  # fmt: skip
    assert {dict(one.removed)["pair repeated"] for one in kept.values()} == {2}
    without = Interactions.from_frame(log.frame().drop("timestamp", "rating"))
    assert len(Distinct()(without).log) == 3
    with pytest.raises(InputError, match="I307"):
        Distinct("max")(without)


def test_filters_apply_in_order(log):
    texts = ["rated(at_least=2)", "distinct", "core(users=5, items=5)"]
    kept = filters.apply(log, ", ".join(texts))
    step = log
    for text in texts:
        step = filters.parse(text)(step).log
    assert kept.log.fingerprint == step.fingerprint == filters.apply(log, texts).log.fingerprint
    assert sum(kept.removed.values()) == len(log) - len(step)
    twice = filters.apply(log, ["rated(at_least=3)", "core", filters.Core(users=6)])
    assert sum(twice.removed.values()) == len(log) - len(twice.log)
    assert filters.apply(log, []).log is log


def test_between_with_one_limit(log):
    early = filters.Between(end=1600000000)(log)
    late = filters.Between(start=1600000000)(log)
    assert len(early.log) + len(late.log) == len(log)
    assert early.log.timestamps.max() < 1600000000 <= late.log.timestamps.min()


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("croe", "U115"), ("core(users=0)", "U102"), ("once(items=0)", "U102"), ("distinct(keep='best')", "U102"),
        ("between", "U102"), ("rated", "U102"),
    ],
)  # fmt: skip
def test_mistakes(text, code):
    with refused(code):
        filters.parse(text)


def test_empty_results_and_missing_columns_are_errors(log):
    with pytest.raises(UsageError, match="U116"):
        filters.parse("core(users=1000)")(log)
    bare = Interactions.from_frame(log.frame().drop("timestamp", "rating"))
    with pytest.raises(InputError, match="I307"):
        filters.parse("rated(at_least=3)")(bare)
    with pytest.raises(InputError, match="I201"):
        filters.parse("between(start=3)")(bare)
