"""Scoring random users until the means are accurate: which users are drawn, when it stops, and the result."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import recassay as ra
from recassay.rng import derive

from ....refusals import refused
from ....scoring import score

METRICS = "ndcg@10 hit@10 recall@10"


@pytest.fixture(scope="module")
def tables() -> tuple[pl.DataFrame, pl.DataFrame]:
    """A run and a truth of 30,000 users; one in ten has no relevant item, one in twenty has no list."""
    rng, users = derive(3, "until"), 30_000
    truth = pl.DataFrame(
        {
            "user_id": np.repeat(np.arange(users), 3),
            "item_id": np.tile(np.arange(3), users) + 3 * rng.integers(0, 20, 3 * users),
            "gain": np.repeat((rng.random(users) < 0.9).astype(float), 3),
        }
    )
    lists = pl.DataFrame(
        {
            "user_id": np.repeat(np.arange(users), 10),
            "item_id": (60 * rng.random(10 * users) ** 2).astype(int),
            "score": rng.random(10 * users),
        }
    )
    return lists.filter(pl.col("user_id") % 20 > 0), truth


def judged(tables, metrics=METRICS, **options):
    lists, truth = tables
    return score({"mine": lists}, truth, metrics, **options)


@pytest.mark.parametrize("strata", [1, 4])
def test_drawing_stops_early_and_the_means_are_accurate(tables, strata):
    found, whole = judged(tables, within=0.02, strata=strata), judged(tables, interval=None)
    how = found.settings["within"]
    assert how["users"] < how["of"] == int((~np.isnan(whole.values("mine", "hit@10"))).sum())
    for metric in METRICS.split():
        row = found.row("mine", metric)
        assert (row.high - row.low) / 2 <= 0.02
        assert row.low <= whole.row("mine", metric).mean <= row.high


def test_a_tiny_width_draws_all_users_and_gives_exact_means(tables):
    found, whole = judged(tables, within=1e-6), judged(tables, interval=None)
    assert found.settings["within"]["users"] == found.settings["within"]["of"]
    for metric in METRICS.split():
        row = found.row("mine", metric)
        assert row.mean == whole.row("mine", metric).mean
        assert row.low == row.high == pytest.approx(row.mean, abs=1e-12)


@pytest.mark.parametrize("strata", [7, 2**63])
def test_with_more_strata_than_users_all_users_can_be_drawn(strata):
    truth = pl.DataFrame({"user_id": [1, 2, 3], "item_id": [1, 2, 3]})
    lists = pl.DataFrame({"user_id": [1, 2, 3], "item_id": [1, 5, 3], "score": [1.0, 1.0, 1.0]})
    found = ra.score({"mine": lists}, truth, "hit@1", within=ra.options.Until(1e-6, strata=strata))
    assert (found.settings["within"]["users"], found.row("mine", "hit@1").mean) == (3, 2 / 3)


def test_strata_use_the_training_log_if_there_is_one(tables):
    _, truth = tables
    train = truth.select("user_id", "item_id").filter(pl.col("user_id") % 3 == 0)
    found = judged(tables, within=0.02, strata=3, train=train)
    assert found.units.to_list() != judged(tables, within=0.02, strata=3).units.to_list()


def test_metrics_with_undefined_values_are_bounded_as_a_quotient(tables):
    found = judged(tables, "recall(missing='skip')@10", within=0.03)
    whole = judged(tables, "recall(missing='skip')@10", interval=None)
    row = found.row("mine", "recall(missing='skip')@10")
    assert row.low <= whole.row("mine", "recall(missing='skip')@10").mean <= row.high
    assert (row.high - row.low) / 2 <= 0.03


@pytest.mark.parametrize("metric", ["coverage(catalogue='truth')@10", "hit(form='count')@10", "rmse"])
def test_unbounded_metrics_are_refused(tables, metric):
    with refused("U110"):
        judged(tables, metric, within=0.01)


@pytest.mark.parametrize("options", [{"within": 0.0}, {"within": 1.0}, {"within": 0.1, "strata": 0}])
def test_invalid_options_are_refused(tables, options):
    with refused("U102"):
        judged(tables, **options)
