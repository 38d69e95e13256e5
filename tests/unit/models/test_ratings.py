"""Models that learn from rating values: equality with plain loops, and ranking by predicted rating."""

import numpy as np
import polars as pl
import pytest

import recassay as ra
from recassay.data.interactions import Interactions
from recassay.data.synthetic import log
from recassay.models import BiasedMF, RatingKNN
from recassay.rng import derive

from ...refusals import refused


@pytest.fixture(scope="module")
def rated():
    made = log(users=40, items=30, events=500, seed=3).frame()
    values = np.random.default_rng(1).integers(1, 6, made.height).astype(float)
    return Interactions.from_frame(made.with_columns(rating=pl.Series(values)))


def test_biased_factors_equal_a_plain_loop(rated):
    model = BiasedMF(factors=3, epochs=2, rate=0.02, reg=0.1, seed=4)
    fitted = model.fit(rated)
    rng = derive(4, "biased factors")
    p, q = (0.1 * (2 * rng.random((size, 3)) - 1) for size in (rated.n_users, rated.n_items))
    bu, bi, mean = np.zeros(rated.n_users), np.zeros(rated.n_items), rated.ratings.mean()
    rows = np.lexsort((rated.ratings, rated.items, rated.users))
    for _ in range(2):
        for row in rows[rng.permutation(rows.size)]:
            u, i, r = rated.users[row], rated.items[row], rated.ratings[row]
            e = r - (mean + bu[u] + bi[i] + p[u] @ q[i])
            bu[u], bi[i] = bu[u] + 0.02 * (e - 0.1 * bu[u]), bi[i] + 0.02 * (e - 0.1 * bi[i])
            p[u], q[i] = p[u] + 0.02 * (e * q[i] - 0.1 * p[u]), q[i] + 0.02 * (e * p[u] - 0.1 * q[i])
    users = np.arange(rated.n_users, dtype=np.int32)
    assert fitted.scores(users) == pytest.approx(mean + bu[:, None] + bi + p @ q.T, abs=1e-5)
    assert fitted.errors[1] < fitted.errors[0]
    assert fitted.predict(users[:2], users[:2]) == pytest.approx(fitted.scores(users[:2])[[0, 1], [0, 1]])


def test_the_order_of_rows_does_not_change_the_factors(rated):
    shuffled = rated.take(np.random.default_rng(0).permutation(len(rated)))
    one, other = (BiasedMF(factors=2, epochs=2).fit(each) for each in (rated, shuffled))
    assert (one.user_factors == other.user_factors).all()


@pytest.mark.parametrize("similarity", ["pearson", "cosine"])
@pytest.mark.parametrize("predict", ["mean", "sum"])
def test_rating_neighbours_equal_a_plain_loop(rated, similarity, predict):
    fitted = RatingKNN(neighbours=5, similarity=similarity, predict=predict, shrink=2).fit(rated)
    table = np.full((rated.n_users, rated.n_items), np.nan)
    table[rated.users, rated.items] = rated.ratings
    had = ~np.isnan(table)
    means = np.nanmean(table, axis=1)
    for user in range(rated.n_users):
        similar = np.zeros(rated.n_users)
        for other in range(rated.n_users):
            both = had[user] & had[other]
            if user == other or not both.any():
                continue
            mine, its = table[user, both], table[other, both]
            if similarity == "pearson":
                mine, its = mine - mine.mean(), its - its.mean()
                over = np.sqrt((mine**2).sum() * (its**2).sum())
            else:
                over = np.sqrt((table[user, had[user]] ** 2).sum() * (table[other, had[other]] ** 2).sum())
            similar[other] = (mine * its).sum() / over * both.sum() / (both.sum() + 2) if over > 1e-12 else 0
        nearest = [other for other in np.argsort(-similar, kind="stable")[:5] if similar[other] > 0]
        scores = fitted.scores(np.array([user], np.int32))[0]
        assert sorted(fitted.neighbours[[user]].indices.tolist()) == sorted(nearest)
        for item in range(rated.n_items):
            raters = [other for other in nearest if had[other, item]]
            if predict == "sum":
                wanted = sum(similar[other] * table[other, item] for other in raters)
            else:
                above = sum(similar[other] * (table[other, item] - means[other]) for other in raters)
                wanted = means[user] + (above / sum(similar[other] for other in raters) if raters else 0)
            assert scores[item] == pytest.approx(wanted)


@pytest.mark.parametrize("model", [BiasedMF(factors=2, epochs=1), RatingKNN()], ids=str)
def test_a_log_without_ratings_is_refused(rated, model):
    with refused("I307", match="learns from ratings"):
        model.fit(Interactions.from_frame(rated.frame().drop("rating")))


def test_every_model_says_whether_it_reads_ratings():
    for registry in (ra.models.REGISTRY, ra.models.sequence.REGISTRY):
        for name in registry.built_in:
            assert "ratings" in ra.explain(name).facts, name
