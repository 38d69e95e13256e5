"""Ranks of relevant items among drawn candidates, and what is corrected from them."""

import functools

import numpy as np
import polars as pl
import pytest

import recassay as ra
from recassay.data.synthetic import log
from recassay.errors import UsageError

from ....refusals import refused

FOLD = ra.split.last(n=1)(log(users=400, items=150, events=8_000, seed=1))[0]


@functools.cache
def popular():
    return ra.play(ra.models.Popular(), FOLD, ra.protocols.next_item(), name="popular")


@functools.cache
def svd():
    return ra.play(ra.models.PureSVD(factors=8), FOLD, ra.protocols.next_item(), name="svd")


def test_the_metric_of_the_ranks_is_what_judging_the_same_draw_gives():
    for design in ("AI-1R-NN(20)", "AI-1R-NN(20, by='popularity')", "AI-1R-NN(20, by='mixed')"):
        ranks = ra.sampled.sampled_ranks(popular(), design=design, seed=3)["rank"].to_numpy()
        judged = ra.judge(popular(), design, "hit@5 mrr", method="sample", draws=1, seed=3, interval=None)
        assert [row.mean for row in judged.rows] == pytest.approx([(ranks <= 5).mean(), (1 / ranks).mean()])


def test_users_items_and_pools_are_those_of_the_test_part():
    table = ra.sampled.sampled_ranks(svd(), 20)
    test = FOLD.test.frame().select("user_id", "item_id").sort("user_id")
    assert table.select("user_id", "item_id").sort("user_id").equals(test)
    assert table["pool"].to_list() == svd().standings.pool["AI"].tolist()
    assert table["rank"].is_between(1, 21).all()


def test_all_candidates_give_the_full_rank():
    least = int(svd().standings.pool["AI"].min())
    table = ra.sampled.sampled_ranks(svd(), least).filter(pl.col("pool") == least)
    full = pl.DataFrame(
        {
            "user_id": svd().standings.queries,
            "full": svd().standings.above["AI"] + 1,
            "tied": svd().standings.tied["AI"],
        }
    )
    both = table.join(full, on="user_id").filter(pl.col("tied") == 0)
    assert both.height > 0
    assert (both["rank"] == both["full"]).all()


def test_a_seed_gives_other_candidates_and_rows_and_threads_do_not():
    first = ra.sampled.sampled_ranks(popular(), 20)
    assert not first.equals(ra.sampled.sampled_ranks(popular(), 20, seed=1))
    assert first.equals(ra.sampled.sampled_ranks(popular(), 20, threads=1))


def test_runs_are_corrected_by_drawing_their_ranks():
    runs = {"popular": popular(), "svd": svd()}
    drawn = {name: ra.sampled.sampled_ranks(run, 20, seed=2) for name, run in runs.items()}
    by_runs = ra.correct(runs, sample=20, metrics="hit@5", resamples=20, seed=2)
    assert by_runs.means.equals(ra.correct(drawn, sample=20, metrics="hit@5", resamples=20, seed=2).means)
    assert ra.correct([popular(), svd()], sample=20, metrics="hit@5", resamples=20, seed=2).systems == (
        "popular",
        "svd",
    )
    assert ra.correct(popular(), sample=20, replace=True, metrics="hit@5", resamples=20).systems == ("popular",)
    full = (np.array(svd().standings.above["AI"]) < 5).mean()
    of_svd = by_runs.means.filter(pl.col("system") == "svd")
    assert (of_svd["mean"] - full).abs().min() < (of_svd["sampled"] - full).abs().max()


@pytest.mark.parametrize("value", [FOLD, 5, [FOLD]])
def test_only_a_played_run_has_ranks(value):
    with pytest.raises(UsageError, match=r"U124.* a run with standings is needed"):
        ra.sampled.sampled_ranks(value, 5)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({}, "U102"),
        ({"sample": 5, "design": "AI-1R-NN(5)"}, "U102"),
        ({"design": "AI-AR-NN(5)"}, "U122"),
        ({"design": "AI-1R-AN"}, "U122"),
        ({"design": "P1R(bins=2, n=3)"}, "U122"),
        ({"sample": 150}, "U120"),
        ({"sample": 0}, "U118"),
    ],
)
def test_what_cannot_be_drawn(arguments, code):
    with refused(code):
        ra.sampled.sampled_ranks(popular(), **arguments)
