"""Incremental item-kNN compared with values by hand."""

import numpy as np
import pytest

from recassay.errors import UsageError
from recassay.models.incremental import StreamItemKNN
from recassay.models.incremental.item_knn import ROW_CELLS

EVENTS = [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 3), (2, 2), (2, 3), (3, 0)]


def fitted_learner(events, model=None):
    learner = (model or StreamItemKNN()).start()
    learner.learn(*np.array(events, np.int32).T, np.ones(len(events)))
    return learner


def test_scores_are_sums_of_cosines():
    """Item a has 3 users, and b, c and d have 2. User 3 had a, which shares 2 users with b, and 1 with c and with d."""
    scores = fitted_learner(EVENTS).scores(3)
    assert scores.tolist() == pytest.approx([0, 2 / 6**0.5, 1 / 6**0.5, 1 / 6**0.5])


def test_recent_uses_only_the_last_items():
    whole, last = fitted_learner([*EVENTS, (3, 2)]), fitted_learner([*EVENTS, (3, 2)], StreamItemKNN(recent=1))
    assert last.scores(3).tolist() == pytest.approx([2 / 3, 1 / 6**0.5, 0, 1 / 6**0.5])
    assert (whole.scores(3) >= last.scores(3)).all()


def test_a_repeated_pair_changes_nothing():
    assert fitted_learner([*EVENTS, (0, 1), (3, 0)]).scores(3).tolist() == fitted_learner(EVENTS).scores(3).tolist()


def test_new_users_have_scores_of_zero():
    assert fitted_learner(EVENTS).scores(9).tolist() == [0, 0, 0, 0]


def test_the_cache_of_co_counts_is_bounded():
    items = np.random.default_rng(3).integers(0, 40_000, 60_000)
    events = list(
        zip((np.arange(60_000) // 6).tolist(), np.unique(items, return_inverse=True)[1].tolist(), strict=True)
    )
    learner = fitted_learner(events)
    learner.scores(0)
    assert learner.common.rows.size <= ROW_CELLS < learner.n_items**2


def test_recent_below_one_is_an_error():
    with pytest.raises(UsageError, match="U102"):
        StreamItemKNN(recent=0)
