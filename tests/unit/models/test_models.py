"""Batch models: lists without seen items, in a defined order, independent of the other users of a call."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from recassay.cli.demo import hold_out
from recassay.data.interactions import Interactions
from recassay.data.synthetic import log
from recassay.errors import UsageError
from recassay.models import ALS, BPR, PLSA, ItemKNN, UserKNN
from recassay.models.base.model import NO_ITEM, best_unseen, recommend
from recassay.models.baselines import Popular, Random
from recassay.models.factors import PureSVD

MODELS = [
    Random(seed=1),
    Popular(),
    PureSVD(factors=8),
    UserKNN(neighbours=20),
    UserKNN(neighbours=20, similarity="jaccard", shrink=5.0),
    PLSA(factors=8, iterations=10),
    ALS(factors=8, iterations=5),
    BPR(factors=8, iterations=30, learning_rate=0.05),
    ItemKNN(neighbours=20),
    ItemKNN(neighbours=20, similarity="bm25"),
]


@pytest.fixture(scope="module")
def fold():
    return hold_out(log(users=400, items=200, events=8_000, seed=1), seed=1)


@pytest.mark.parametrize("model", MODELS, ids=repr)
class TestEveryModel:
    def test_lists_have_no_item_twice_and_none_of_the_profile(self, model, fold):
        train, _ = fold
        items, scores = model.fit(train).recommend(np.arange(train.n_users, dtype=np.int32), 15)
        offsets, profile = train.by_user
        for user, row in enumerate(items):
            assert len({*row}) == 15
            assert not {*row} & {*profile[offsets[user] : offsets[user + 1]]}
        assert (np.diff(scores, axis=1) <= 0).all()

    def test_lists_do_not_depend_on_the_other_users_of_a_call(self, model, fold):
        train, _ = fold
        fitted = model.fit(train)
        items, scores = fitted.recommend(np.arange(train.n_users, dtype=np.int32), 10)
        some = np.array([399, 7, 300], np.int32)
        again, same = fitted.recommend(some, 10)
        assert again.tolist() == items[some].tolist()
        np.testing.assert_allclose(same, scores[some], rtol=1e-5)  # the rounding of a product depends on the row

    def test_fitting_again_gives_the_same_bits(self, model, fold):
        train, truth = fold
        first, second = (recommend(model.fit(train), truth.queries, 10, "x") for _ in range(2))
        assert first.items.tobytes() == second.items.tobytes()
        assert first.scores.tobytes() == second.scores.tobytes()

    def test_a_list_ends_when_items_run_out(self, model):
        rows = [(user, item) for user in range(12) for item in range(10 + user % 2)]
        train = Interactions.from_frame(pl.DataFrame(rows, schema=["user_id", "item_id"], orient="row"))
        items, scores = model.fit(train).recommend(np.array([0, 1], np.int32), 12)
        assert items[0].tolist() == [10] + [NO_ITEM] * 11
        assert items[1].tolist() == [NO_ITEM] * 12
        assert np.isneginf(scores[1]).all()
        run = recommend(model.fit(train), pl.Series([0, 1, 99]), 12, "x")
        assert run.frame().select("user_id", "item_id", "rank").rows() == [(0, 10, 1)]


def test_the_top_equals_that_of_a_stable_sort():
    """With many ties, the partition must equal a full sort by score, then by code."""
    train = log(users=60, items=50, events=600, seed=4)
    coarse = np.arange(60)[:, None] * 7 % 5 + np.arange(train.n_items) ** 2 % 4.0
    users = np.arange(60, dtype=np.int32)
    items, _ = best_unseen(lambda block: coarse[block], train, users, 9)
    for user in range(60):
        row = coarse[user].copy()
        row[train.items[train.users == user]] = -np.inf
        assert items[user].tolist() == np.argsort(-row, kind="stable")[:9].tolist()


def test_popular_counts_users_not_events():
    train = Interactions.from_frame(pl.DataFrame({"user_id": [1, 1, 1, 2, 3, 4], "item_id": [5, 5, 5, 6, 6, 7]}))
    items, scores = Popular().fit(train).recommend(np.array([3], np.int32), 2)
    assert train.item_vocabulary.decode(items[0]).to_list() == [6, 5]
    assert scores.tolist() == [[2.0, 1.0]]


def test_pure_svd_is_the_truncated_decomposition():
    train = log(users=40, items=30, events=300, seed=6)
    dense = np.zeros((40, train.n_items))
    dense[train.users, train.items] = 1
    _, _, vectors = np.linalg.svd(dense)
    expected = np.where(dense > 0, -np.inf, dense @ vectors[:5].T @ vectors[:5])
    items, scores = PureSVD(5).fit(train).recommend(np.arange(40, dtype=np.int32), 4)
    np.testing.assert_allclose(scores, -np.sort(-expected, axis=1)[:, :4], atol=1e-10)
    np.testing.assert_allclose(np.take_along_axis(expected, items.astype(np.int64), 1), scores, atol=1e-10)


def test_too_many_factors_are_an_error(fold):
    with pytest.raises(UsageError, match="at most 199"):
        PureSVD(500).fit(fold[0])


def test_a_cutoff_of_zero_is_an_error(fold):
    with pytest.raises(UsageError, match="at least 1 item"):
        Popular().fit(fold[0]).recommend(np.array([0], np.int32), 0)
