"""Bounds of the means of all systems, from values per user."""

import math

import numpy as np
import polars as pl
import pytest

from recassay.engine.finish import finish, row_of
from recassay.metrics.registry import parse_metrics
from recassay.stats.intervals import Uncertainty


@pytest.mark.parametrize("method", ["bootstrap", "normal"])
def test_infinities_of_both_signs_have_no_bounds_and_give_no_warning(method):
    metrics, key = parse_metrics("efd@10"), ("mine", "efd@10")
    values = {key: np.array([np.inf, -np.inf, 1.0, 2.0])}
    rows = [row_of(key, metrics["efd@10"], math.nan, 4)]
    (row,) = finish(pl.Series(range(4)), metrics, rows, values, {}, Uncertainty(method, 0.95, 200, 0)).rows
    assert math.isnan(row.low)
    assert math.isnan(row.high)


def test_values_of_a_cluster_are_resampled_together():
    """Two events of each user that are equal tell as much as one: the interval is that of the users."""
    metrics, key = parse_metrics("hit@10"), ("mine", "hit@10")
    users, how = np.random.default_rng(1).random(200).round(), Uncertainty(resamples=500)
    rows = [row_of(key, metrics["hit@10"], float(users.mean()), 400)]
    (own,) = finish(pl.Series(range(200)), metrics, rows, {key: users}, {}, how).rows
    clusters, events = np.repeat(np.arange(200), 2), np.repeat(users, 2)
    (row,) = finish(pl.Series(range(400)), metrics, rows, {key: events}, {}, how, clusters=clusters).rows
    assert (row.low, row.high) == pytest.approx((own.low, own.high), rel=1e-12)
