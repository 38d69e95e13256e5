"""The table of the statistics of a log."""

import io
from dataclasses import replace

import polars as pl
from rich.console import Console

from recassay.data.interactions import Interactions
from recassay.data.stats import sequence_stats, stats
from recassay.report.tables.summaries import stats_table
from recassay.split.sessions import Sessions


def shown(**columns):
    out = io.StringIO()
    log = Interactions.from_frame(pl.DataFrame(columns))
    Console(file=out, width=100).print(stats_table(stats(log)))
    return [" ".join(line.split()) for line in out.getvalue().splitlines()]


def test_counts_and_shares():
    lines = shown(user_id=[1, 1, 1, 2], item_id=[7, 8, 7, 7])
    assert lines[:3] == [
        "rows 4",
        "users 2",
        "items 2",
    ]
    assert "pairs 3 distinct user-item pairs; 1 rows repeat a pair" in lines
    assert "density 75 % of all possible user-item pairs" in lines
    assert "time no times" in lines
    assert not any(line.startswith("ratings") for line in lines)


def test_sequences_have_their_numbers_lengths_and_entropy():
    out = io.StringIO()
    rows = [("u", item, time) for time, item in ((0, "a"), (1, "b"), (2, "a"), (50, "c"), (51, "d"), (90, "a"))]
    log = Interactions.from_frame(pl.DataFrame(rows, ["user_id", "item_id", "timestamp"], orient="row"))
    found = replace(stats(log), sequences=sequence_stats(Sessions(gap=5)(log)))
    Console(file=out, width=100).print(stats_table(found))
    lines = [" ".join(line.split()) for line in out.getvalue().splitlines()]
    assert "sequences 2 of 1 users, with 5 rows of 4 items" in lines
    assert "length: mean 2.5, median 2.5, range 2 to 3" in lines
    assert "entropy of their items 1.922 bits (1.332 nats)" in lines


def test_times_and_ratings():
    lines = shown(
        user_id=[1, 1, 2],
        item_id=[7, 8, 7],
        timestamp=[1_577_836_800, 1_577_836_800, 1_577_923_200],
        rating=[1.0, 5.0, 5.0],
    )
    assert "time 2020-01-01 00:00:00 to 2020-01-02 00:00:00 (seconds)" in lines
    assert any("67 % of rows have the same time" in line for line in lines)
    assert any("for 50 % of users the last item is ambiguous" in " ".join(lines[i : i + 2]) for i in range(len(lines)))
    assert "ratings 1: 1, 5: 2" in lines


def test_many_ratings_by_quantile_and_missing_ones_counted():
    ratings = [float(value) for value in range(20)] + [None]
    lines = shown(user_id=list(range(21)), item_id=[1] * 21, rating=ratings)
    assert "ratings min 0, 25% 4.75, median 9.5, 75% 14.25, max 19, mean 9.5; 1 missing" in lines
