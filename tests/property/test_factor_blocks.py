"""Scores of items whose factors lie in blocks, against a plain sum for every item."""

from __future__ import annotations

import numpy as np
import pytest

from recassay.models.incremental._factor_blocks import ITEMS_PER_BLOCK, score_and_count, score_of
from recassay.models.incremental._walk import UNKNOWN_ITEM

BLOCKS, UNIVERSE = 3, 150


def plain_score(user, items, item, *, to_one):
    product = np.float32(-0.0)
    for factor in range(user.size):
        product += user[factor] * items[item // ITEMS_PER_BLOCK, factor, item % ITEMS_PER_BLOCK]
    return -abs(np.float32(1) - product) if to_one else product


@pytest.mark.parametrize("to_one", [True, False])
@pytest.mark.parametrize("factors", [1, 2, 7, 8, 9, 10, 11, 16, 19])
def test_scores_and_counts_are_those_of_a_plain_sum(factors, to_one):
    rng = np.random.default_rng(factors)
    user = rng.standard_normal(factors).astype(np.float32)
    items = rng.standard_normal((BLOCKS, factors, ITEMS_PER_BLOCK)).astype(np.float32)
    items[0, :, 5], items[2, 0, 9] = items[0, :, 3], np.nan  # a tie, and an item whose score is NaN
    expected = np.array([plain_score(user, items, item, to_one=to_one) for item in range(UNIVERSE)])
    for known in (0, 1, 6, 63, 64, 65, 128, UNIVERSE):
        own = score_of(user, items, 3, known, UNIVERSE, to_one)
        assert own == (expected[3] if known > 3 else UNKNOWN_ITEM)
        row, among = np.empty(BLOCKS * ITEMS_PER_BLOCK, np.float32), expected[:known]
        counts = score_and_count(user, items, known, to_one, own, row)
        assert counts == ((among > own).sum(), (among == own).sum(), np.isnan(among).sum())
        assert row[:known].tobytes() == among.tobytes()


def test_an_item_that_is_no_candidate_has_no_score():
    user, items = np.ones(1, np.float32), np.ones((1, 1, ITEMS_PER_BLOCK), np.float32)
    assert np.isnan(score_of(user, items, 2, 1, 2, False))
