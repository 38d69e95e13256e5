"""Incremental user-kNN compared with values by hand."""

import pickle

import numpy as np
import pytest

from recassay.errors import UsageError
from recassay.models.incremental import UKNN
from recassay.models.incremental.uknn import LEAST_ROWS

A, B, C, D = range(4)
BEFORE = [(0, A), (0, B), (0, C), (1, A), (1, B), (1, D), (2, C), (2, D), (3, A)]


def fitted_learner(events, **parameters):
    learner = UKNN(**parameters).start()
    learner.learn(*np.array(events, np.int32).T, np.ones(len(events)))
    return learner


def test_stale_neighbours_are_those_at_the_users_last_event():
    """When user 1 had a, only user 0 had it too; user 2, who came later, counts only if neighbours are exact."""
    events = [(0, A), (0, B), (1, A), (2, A), (2, C)]
    assert fitted_learner(events).scores(1).tolist() == pytest.approx([1, 0.5, 0.5])
    assert fitted_learner(events, stale=True).scores(1).tolist() == [1, 1, 0]


def test_similarities_of_stale_neighbours_are_current():
    """User 1 found users 0 and 2 equally near; then user 0 has more items, so its weight decreases."""
    events = [(0, A), (2, A), (1, A), (0, B), (0, C), (0, D), (2, B)]
    scores = fitted_learner(events, stale=True).scores(1)
    assert scores[[C, B]] == pytest.approx([0.5 / (0.5 + 0.5**0.5), 1])


def test_new_users_have_no_neighbours():
    assert fitted_learner(BEFORE).scores(4).tolist() == [0, 0, 0, 0]
    assert fitted_learner(BEFORE).scores(5_000).tolist() == [0, 0, 0, 0]


def test_memory_is_linear_in_users_and_pairs():
    events = [(user, item) for user in range(5_000) for item in (user % 7, 7 + user % 11)]
    learner = fitted_learner(events)
    held = sum(array.nbytes for array in (*learner.common.arrays, *learner._buffers()))
    users = learner.threshold.size
    assert held < 5 * LEAST_ROWS * users + 12 * 2 * 4 * len(events) + 100 * users
    assert held < 5_000**2


def test_a_pickled_copy_continues_with_the_same_bits():
    learner = fitted_learner(BEFORE, neighbours=2)
    learner.scores(3)
    copy = pickle.loads(pickle.dumps(learner))
    for model in (learner, copy):
        model.learn(np.array([3, 2], np.int32), np.array([D, B], np.int32), np.ones(2))
    assert [copy.scores(user).tolist() for user in range(4)] == [learner.scores(user).tolist() for user in range(4)]


def test_zero_neighbours_is_an_error():
    with pytest.raises(UsageError, match="U102"):
        UKNN(neighbours=0)
