"""EASE: the closed form, its optimum, and what it refuses."""

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose

from recassay.data.interactions import Interactions
from recassay.errors import UsageError
from recassay.models import EASE

from ...refusals import refused

RNG = np.random.default_rng(5)
TABLE = (RNG.random((60, 17)) < RNG.random(17) ** 2 + 0.02).astype(np.float64)
TABLE[0] = TABLE[:, 0] = 1  # every user and every item occurs
USERS, ITEMS = np.nonzero(TABLE)
LOG = Interactions.from_frame(pl.DataFrame({"user_id": USERS, "item_id": ITEMS}))


@pytest.mark.parametrize("l2", [0.5, 10.0, 500.0])
def test_every_column_solves_its_ridge_regression(l2):
    weights = EASE(l2=l2).fit(LOG).right
    for item in range(17):
        others = np.arange(17) != item
        known = TABLE[:, others]
        best = np.linalg.solve(known.T @ known + l2 * np.eye(16), known.T @ TABLE[:, item])
        assert_allclose(weights[others, item], best, rtol=2e-4, atol=2e-6)
        assert weights[item, item] == 0


def test_scores_are_sums_of_the_weights_of_the_users_items():
    fitted = EASE(l2=10.0).fit(LOG)
    users = np.array([3, 0, 59], np.int32)
    assert_allclose(fitted.scores(users), TABLE[users] @ fitted.right, rtol=1e-5)


def test_blocks_of_items_do_not_change_the_weights(monkeypatch):
    whole = EASE(l2=10.0).fit(LOG).right
    monkeypatch.setattr("recassay.models.factors.ITEMS_PER_BLOCK", 5)
    assert np.array_equal(EASE(l2=10.0).fit(LOG).right, whole)


def test_a_catalogue_above_the_limit_is_refused_with_its_memory():
    with refused("U102", match=r"17 items; the limit is max_items=16") as caught:
        EASE(max_items=16).fit(LOG)
    assert "EASE(max_items=17)" in caught.value.hint


def test_a_matrix_that_does_not_fit_into_the_free_memory_is_refused_before_it_is_made(monkeypatch):
    monkeypatch.setattr("recassay.models.factors.available_memory", lambda: 1_000)
    monkeypatch.setattr("recassay.models.factors.co_counts", lambda *_: pytest.fail("too late"))
    with refused("U143", match=r"for 17 items, and 0\.0 GB are free") as caught:
        EASE().fit(LOG)
    assert "ItemKNN" in caught.value.hint


@pytest.mark.parametrize("wrong", [{"l2": 0.0}, {"l2": -1.0}, {"l2": float("nan")}, {"max_items": 0}])
def test_parameters_out_of_range_are_refused(wrong):
    with pytest.raises(UsageError, match="U102"):
        EASE(**wrong)


def test_a_regularisation_too_small_for_single_precision_is_refused():
    twins = Interactions.from_frame(pl.DataFrame({"user_id": [1] * 2 + [2] * 2 + [3] * 2, "item_id": [*"ababab"]}))
    with pytest.raises(UsageError, match="single precision"):
        EASE(l2=1e-30).fit(twins)
