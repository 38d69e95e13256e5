"""Simulated logs in which only popularity predicts: which designs reward it, and how much."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import recassay as ra
from recassay.data.synthetic import fit_power_law, item_counts, power_law

PROTOCOL = ra.protocols.ranking(relevant_from=5, bins=10)


@pytest.mark.parametrize(
    ("alpha", "counts"),
    [(0, [20] * 5), (1, [33, 23, 18, 14, 12]), (1.4, [39, 23, 16, 12, 10]), (2, [48, 22, 14, 9, 7])],
)
def test_counts_of_the_power_law(alpha, counts):
    assert item_counts(users=100, items=5, ratings=100, alpha=alpha, c1=2, c2=1).tolist() == counts


def test_no_item_has_more_ratings_than_there_are_users():
    counts = item_counts(users=40, items=10, ratings=200, alpha=2, c1=0, c2=0)
    assert counts.max() == 40
    assert counts.sum() == 200
    assert (np.diff(counts) <= 0).all()


def test_fitting_a_generated_log_recovers_its_curve():
    c1, c2, alpha = fit_power_law(power_law(users=6_000, items=400, ratings=150_000, alpha=1.4, c1=20, c2=15))
    made = item_counts(users=6_000, items=400, ratings=150_000, alpha=alpha, c1=c1, c2=c2)
    true = item_counts(users=6_000, items=400, ratings=150_000, alpha=1.4, c1=20, c2=15)
    assert np.abs(np.log(made / true)).max() < 0.05


def test_counts_that_fall_faster_than_a_power_law_get_the_steepest_allowed_exponent():
    counts = np.exp(-np.arange(300) / 50) * 400 + 1
    who = np.concatenate([np.arange(int(count)) for count in counts])
    what = np.repeat(np.arange(300), counts.astype(int))
    log = ra.Interactions.from_frame(pl.DataFrame({"user_id": who, "item_id": what}), origin="generated")
    assert fit_power_law(log)[2] == pytest.approx(2)
    assert fit_power_law(log, steepest=3)[2] == pytest.approx(3)
    assert fit_power_law(log, steepest=3)[1] > fit_power_law(log)[1]
