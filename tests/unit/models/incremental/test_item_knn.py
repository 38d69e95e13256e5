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
