"""Statistics of logs that are small enough to count by hand."""

import json
import math
from datetime import datetime

import numpy as np
import polars as pl
import pytest

from recassay.data.interactions import Interactions
from recassay.data.sequences import Sequences
from recassay.data.stats import sequence_stats, stats
from recassay.stats.concentration import entropy, gini, top_share

# users 1 (a b a), 2 (a), 3 (a c): 6 rows, 5 pairs, items a 4, b 1, c 1
ROWS = {"user_id": [1, 1, 1, 2, 3, 3], "item_id": list("abaaac")}


def of(**columns):
    return stats(Interactions.from_frame(pl.DataFrame({**ROWS, **columns})))


def test_counts_of_a_small_log():
    found = of()
    assert (found.rows, found.users, found.items, found.pairs, found.duplicates) == (6, 3, 3, 5, 1)
    assert found.density == pytest.approx(5 / 9)
    profile = found.profile
    assert (profile.mean, profile.median, profile.min, profile.max) == (pytest.approx(5 / 3), 2, 1, 2)
    assert found.times is None
    assert found.ratings is None


def test_popularity_of_a_small_log():
    popularity = of().popularity
    assert popularity.gini == pytest.approx((-2 * 1 + 0 * 1 + 2 * 4) / (3 * 6))
    assert popularity.top_1_percent == popularity.top_20_percent == pytest.approx(4 / 6)  # one item, rounded up
    assert popularity.items_with_one_row == pytest.approx(2 / 3)
    assert popularity.entropy == pytest.approx(-(4 / 6 * math.log2(4 / 6) + 2 / 6 * math.log2(1 / 6)))


def test_the_entropy_of_equal_counts_is_the_logarithm_of_their_number():
    assert entropy(np.array([3, 0, 3, 3, 3])) == 2
    assert math.isnan(entropy(np.zeros(3, np.int64)))
    counts = np.random.default_rng(1).integers(0, 50, 200)
    by_hand = -sum(one / counts.sum() * math.log2(one / counts.sum()) for one in counts.tolist() if one)
    assert entropy(counts) == pytest.approx(by_hand, abs=1e-12)


def test_sequences_of_the_builder_example():
    rows = [("s1", "u1", "ab"), ("s2", "u1", "acd"), ("s3", "u2", "cbb")]  # counts a 2, b 3, c 2, d 1 of 8
    flat = [(sequence, user, item) for sequence, user, items in rows for item in items]
    made = Sequences.from_frame(pl.DataFrame(flat, ["sequence_id", "user_id", "item_id"], orient="row"))
    found = sequence_stats(made)
    assert (found.sequences, found.users, found.items, found.rows) == (3, 2, 4, 8)
    assert (found.lengths.mean, found.lengths.min, found.lengths.max) == (pytest.approx(8 / 3), 2, 3)
    assert found.entropy == pytest.approx(2 / 4 * 2 + 3 / 8 * math.log2(8 / 3) + 1 / 8 * 3)
    assert sequence_stats(made.take(np.array([0]))).items == 2  # items of this part, not of the vocabulary


def test_top_share_takes_whole_counts():
    counts = np.arange(1, 31)
    assert top_share(counts, 0.1) == pytest.approx((30 + 29 + 28) / counts.sum())  # 0.1 * 30 is a little above 3
    assert math.isnan(top_share(np.zeros(3, np.int64), 0.1))
    assert math.isnan(gini(np.zeros(3, np.int64)))


@pytest.mark.parametrize(
    ("scale", "unit"), [(1, "seconds"), (10**3, "milliseconds"), (10**6, "microseconds"), (10**9, "nanoseconds")]
)
def test_time_units_are_inferred_from_magnitude(scale, unit):
    times = of(timestamp=[scale * (978_300_760 + t) for t in (0, 1, 2, 3, 4, 60)]).times
    assert times.unit == unit
    assert (times.first, times.last) == ("2000-12-31 22:12:40", "2000-12-31 22:13:40")


def test_small_numbers_are_a_clock_of_unknown_unit_and_dates_are_dates():
    assert of(timestamp=[1, 2, 3, 4, 5, 6]).times.unit == "numbers"
    assert of(timestamp=[1, 2, 3, 4, 5, 6]).times.last == "6"
    times = of(timestamp=[datetime(2020, 1, day) for day in range(1, 7)]).times
    assert (times.unit, times.first, times.last) == ("date", "2020-01-01 00:00:00", "2020-01-06 00:00:00")


def test_time_ties_and_undetermined_last_items_are_counted():
    # user 1: b and a at the last time, open; user 2: one row; user 3: a tie of two items, open
    times = of(timestamp=[10, 20, 20, 5, 7, 7]).times
    assert times.tied == pytest.approx(4 / 6)
    assert times.last_unclear == pytest.approx(2 / 3)
    # user 1: a at 10, b at 20, a at 30; user 3: c after a
    assert of(timestamp=[10, 20, 30, 5, 7, 8]).times.last_unclear == 0
    # the same item twice at the last time is one last item
    assert of(timestamp=[20, 10, 20, 5, 7, 8]).times.last_unclear == 0


def test_missing_times_and_ratings_are_counted():
    found = of(timestamp=[None, 20, 30, None, 7, 8], rating=[5.0, None, 4.0, 4.5, float("nan"), 4.0])
    assert found.times.missing == 2
    assert found.ratings.missing == 2
    assert found.ratings.counts == {"4": 2, "4.5": 1, "5": 1}
    nothing = of(timestamp=pl.Series([None] * 6, dtype=pl.Int64), rating=pl.Series([None] * 6, dtype=pl.Float64))
    assert nothing.times.missing == 6
    assert nothing.ratings.counts == {}


def test_many_distinct_ratings_are_summarised_by_quantiles():
    frame = pl.DataFrame({"user_id": range(101), "item_id": 1, "rating": [value / 10 for value in range(101)]})
    ratings = stats(Interactions.from_frame(frame)).ratings
    assert ratings.counts is None
    assert ratings.quantiles == pytest.approx({"min": 0, "25%": 2.5, "median": 5, "75%": 7.5, "max": 10, "mean": 5})


def test_to_dict_is_json_and_independent_of_row_order():
    frame = pl.DataFrame({**ROWS, "timestamp": [10, 20, 20, 5, 7, 7], "rating": [1.0, 2, 3, 4, 5, 1]})
    found = stats(Interactions.from_frame(frame)).to_dict()
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert stats(Interactions.from_frame(frame[::-1])).to_dict() == found
