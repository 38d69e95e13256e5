"""Simulated logs in which only popularity predicts: which designs reward it, and how much."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import recassay as ra
from recassay.data.synthetic.power_law import fit_power_law, item_counts, power_law

LIKED = {5.0: 0.5, 1.0: 0.5}
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


def mean(users, design, metric, split, runs=3):
    """Return the means of popularity, of a random system and of the random column over generated logs."""
    found = []
    for seed in range(runs):
        log = power_law(users=users, items=200, ratings=30_000, alpha=1, c1=5, c2=5, values=LIKED, seed=seed)
        fold = split(seed)(log)[0]
        systems = [ra.play(model, fold, PROTOCOL) for model in (ra.models.Popular(), ra.models.Random(seed))]
        scores = ra.judge(systems, design, metric, short="all", variance=False, interval=None)
        found.append([row.mean for row in scores.rows] + [scores.rows[0].random])
    return np.mean(found, axis=0)


def by_chance(seed):
    return ra.split.random(test=0.2, seed=seed)


def uniform(seed):
    return ra.split.uniform_items(test=0.15, epsilon=0.3, seed=seed)


@pytest.mark.parametrize(
    ("users", "design", "metric", "split", "popular", "chance"),
    [
        (800, "TI-1R-NN(49)", "precision@10", by_chance, 0.062, 0.020),
        (8000, "TI-1R-NN(49)", "precision@10", by_chance, 0.057, 0.020),
        (800, "P1R(n=10)", "precision@2", by_chance, 0.101, 0.089),
        (8000, "P1R(n=10)", "precision@2", by_chance, 0.091, 0.088),
        (800, "U1R(n=49)", "precision@3", uniform, 0.041, 0.020),
        (8000, "U1R(n=49)", "precision@3", uniform, 0.022, 0.020),
    ],
)
def test_popularity_scores_high_in_1r_and_near_chance_in_designs_that_neutralise_it(
    users, design, metric, split, popular, chance
):
    found = mean(users, design, metric, split)
    assert found[0] == pytest.approx(popular, rel=0.1)
    assert found[1] == pytest.approx(chance, rel=0.1)


def test_popularity_falls_to_chance_if_training_items_stay_candidates():
    """Popular items are more often in training and so excluded from target sets, which favours popularity."""
    log = power_law(users=800, items=200, ratings=30_000, alpha=1, c1=5, c2=5, values=LIKED, seed=1)
    fold = uniform(1)(log)[0]
    ratio = {}
    for keep in (False, True):
        run = ra.play(ra.models.Popular(), fold, ra.protocols.ranking(relevant_from=5, keep_seen=keep))
        row = ra.judge(run, "U1R(n=49)", "precision@3", short="all", interval=None).rows[0]
        ratio[keep] = row.mean / row.random
    assert ratio[False] > 1.7
    assert ratio[True] == pytest.approx(1, abs=0.15)
