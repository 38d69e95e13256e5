"""Incremental item-kNN by hand."""

import numpy as np
import pytest

from recassay.errors import UsageError
from recassay.models.incremental import StreamItemKNN
from recassay.models.incremental.item_knn import CELLS

EVENTS = [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 3), (2, 2), (2, 3), (3, 0)]


def learnt(events, model=None):
    learner = (model or StreamItemKNN()).start()
    learner.learn(*np.array(events, np.int32).T, np.ones(len(events)))
    return learner


def test_sums_of_cosines():
    """a has 3 users, b, c and d have 2. User 3 had a: b shares both its users with it, c and d one of two."""
    scores = learnt(EVENTS).scores(3)
    assert scores.tolist() == pytest.approx([0, 2 / 6**0.5, 1 / 6**0.5, 1 / 6**0.5])


def test_the_last_items_alone():
    whole, last = learnt([*EVENTS, (3, 2)]), learnt([*EVENTS, (3, 2)], StreamItemKNN(recent=1))
    assert last.scores(3).tolist() == pytest.approx([2 / 3, 1 / 6**0.5, 0, 1 / 6**0.5])
    assert (whole.scores(3) >= last.scores(3)).all()


def test_a_repeated_pair_changes_nothing():
    assert learnt([*EVENTS, (0, 1), (3, 0)]).scores(3).tolist() == learnt(EVENTS).scores(3).tolist()


def test_newcomers_have_nothing_to_go_by():
    assert learnt(EVENTS).scores(9).tolist() == [0, 0, 0, 0]


def test_memory_for_counts_is_bounded():
    items = np.random.default_rng(3).integers(0, 40_000, 60_000)
    events = list(
        zip((np.arange(60_000) // 6).tolist(), np.unique(items, return_inverse=True)[1].tolist(), strict=True)
    )
    learner = learnt(events)
    learner.scores(0)
    assert learner.common.rows.size <= CELLS < learner.met**2


def test_recent_is_a_count():
    with pytest.raises(UsageError, match="U102"):
        StreamItemKNN(recent=0)
