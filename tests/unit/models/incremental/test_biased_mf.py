"""Biased factors by event: equality with a plain loop, in both protocols of streams."""

import math

import numpy as np
import polars as pl
import pytest

import recassay as ra
from recassay.errors import InputError, UsageError
from recassay.models.incremental import StreamBiasedMF
from recassay.models.incremental.base import initial_factors

MODEL = StreamBiasedMF(factors=3, iterations=2, rate=0.05, reg=0.1, seed=4)


@pytest.fixture(scope="module")
def rated():
    rng = np.random.default_rng(5)
    rows = {"user_id": rng.integers(0, 12, 300), "item_id": rng.integers(0, 9, 300), "timestamp": np.arange(300)}
    return pl.DataFrame({**rows, "rating": rng.integers(1, 6, 300).astype(float)})


class Plain:
    """The model in plain numbers, with codes by first appearance."""

    def __init__(self, model):
        self.model, self.users, self.items, self.sum, self.n = model, {}, {}, 0.0, 0

    def vectors(self, table, what, key):
        if key not in table:
            m = self.model
            drawn = initial_factors(m.seed, f"biased {what}", 0, 1024, m.factors, m.deviation)
            table[key] = [0.0, *map(float, drawn[len(table)])]
        return table[key]

    def predict(self, user, item):
        if not self.n:
            return None
        mine, its = self.users.get(user), self.items.get(item)
        found = self.sum / self.n + (mine[0] if mine else 0) + (its[0] if its else 0)
        return found + sum(p * q for p, q in zip(mine[1:], its[1:], strict=True)) if mine and its else found

    def learn(self, user, item, rating):
        mine, its = self.vectors(self.users, "user", user), self.vectors(self.items, "item", item)
        self.sum, self.n = self.sum + rating, self.n + 1
        rate, reg = self.model.rate, self.model.reg
        for _ in range(self.model.iterations):
            e = rating - self.predict(user, item)
            p, q = mine.copy(), its.copy()
            mine[0], its[0] = p[0] + rate * (e - reg * p[0]), q[0] + rate * (e - reg * q[0])
            for f in range(1, len(p)):
                mine[f] = p[f] + rate * (e * q[f] - reg * p[f])
                its[f] = q[f] + rate * (e * p[f] - reg * q[f])


def test_a_stream_of_ratings_equals_a_plain_loop(rated):
    plain, errors = Plain(MODEL), []
    for user, item, rating in rated.select("user_id", "item_id", "rating").iter_rows():
        predicted = plain.predict(user, item)
        errors.append(None if predicted is None else abs(rating - predicted))
        plain.learn(user, item, rating)
    stream = ra.play(MODEL, rated, ra.protocols.prequential(predict="ratings"))
    assert stream.counts["unpredicted"] == 1
    assert stream.outcomes.of("absolute_error") == pytest.approx(errors[1:], abs=1e-12)
    assert stream.summary()["mean"].to_list() == pytest.approx(
        [np.mean(errors[1:]), math.sqrt(np.mean(np.square(errors[1:])))]
    )


def test_lists_of_a_stream_have_the_best_predicted_items(rated):
    plain, hits = Plain(MODEL), []
    for user, item, rating in rated.select("user_id", "item_id", "rating").iter_rows():
        if user in plain.users:
            best = sorted(plain.items, key=lambda one: (-plain.predict(user, one), one))[:3]
            hits.append(float(item in best))
        plain.learn(user, item, rating)
    stream = ra.play(MODEL, rated, ra.protocols.prequential(at=3, repeats="allow"), metrics="recall@3")
    assert stream.outcomes.of("recall@3").tolist() == hits


def test_a_new_user_or_item_leaves_out_what_is_unknown():
    learner = StreamBiasedMF(rate=0.5, reg=0.0, deviation=0.0).start()
    assert math.isnan(learner.predict(0, 0))
    learner.learn(np.array([0], np.int32), np.array([0], np.int32), np.array([4.0]))  # the mean is 4, so the error is 0
    learner.learn(np.array([0], np.int32), np.array([1], np.int32), np.array([2.0]))  # mean 3, error -1, biases -0.5
    assert [learner.predict(*pair) for pair in ((9, 9), (9, 1), (0, 9), (0, 1))] == [3.0, 2.5, 2.5, 2.0]
    assert learner.scores(0).tolist() == [2.5, 2.0]


def test_fitting_a_log_without_ratings_is_an_error():
    with pytest.raises(InputError, match="I307"):
        MODEL.fit(ra.read_interactions([("ann", "a"), ("bob", "b")]))


@pytest.mark.parametrize("wrong", [{"factors": 0}, {"rate": -1.0}, {"iterations": 0}])
def test_parameters_out_of_range_are_an_error(wrong):
    with pytest.raises(UsageError, match="U102"):
        StreamBiasedMF(**wrong)
