"""Incremental user-kNN by hand."""

import pickle

import numpy as np
import pytest

from recassay.errors import UsageError
from recassay.models.incremental import UKNN
from recassay.models.incremental.uknn import ROWS

A, B, C, D = range(4)
BEFORE = [(0, A), (0, B), (0, C), (1, A), (1, B), (1, D), (2, C), (2, D), (3, A)]


def learnt(events, **parameters):
    learner = UKNN(**parameters).start()
    learner.learn(*np.array(events, np.int32).T, np.ones(len(events)))
    return learner


class TestTheWorkedExample:
    """u1 {a, b, c}, u2 {a, b, d}, u3 {c, d}, u4 {a}; two neighbours; then u4 meets d."""

    def test_before(self):
        assert learnt(BEFORE, neighbours=2).scores(3)[[B, C, D]] == pytest.approx([1, 0.5, 0.5])

    def test_after(self):
        learner = learnt([*BEFORE, (3, D)], neighbours=2)
        assert learner.scores(3)[[B, C]] == pytest.approx([0.620204, 0.379796], abs=5e-7)

    def test_similarities_show_with_all_neighbours(self):
        """u4 before: 0.577350 to u1 and u2, 0 to u3. c is had by u1 alone, d by u2 alone, both weigh the same."""
        assert learnt(BEFORE).scores(3).tolist() == pytest.approx([1, 1, 0.5, 0.5])
        after = learnt([*BEFORE, (3, D)]).scores(3)
        weights = np.array([0.408248, 0.816497, 0.5])
        assert after[[B, C, D]] == pytest.approx(np.array([1.224745, 0.908248, 1.316497]) / weights.sum(), abs=2e-6)

    def test_a_repeated_pair_changes_nothing(self):
        assert learnt([*BEFORE, (3, A), (0, B)]).scores(3).tolist() == learnt(BEFORE).scores(3).tolist()


def test_stale_neighbours_are_those_of_ones_own_last_event():
    """u4 met a when u1 alone had it; whoever came near since counts only where neighbours are exact."""
    events = [(0, A), (0, B), (1, A), (2, A), (2, C)]
    assert learnt(events).scores(1).tolist() == pytest.approx([1, 0.5, 0.5])
    assert learnt(events, stale=True).scores(1).tolist() == [1, 1, 0]


def test_similarities_of_stale_neighbours_are_up_to_date():
    """u2 found u1 and u3 as near as each other; then u1 learns much, and weighs less."""
    events = [(0, A), (2, A), (1, A), (0, B), (0, C), (0, D), (2, B)]
    scores = learnt(events, stale=True).scores(1)
    assert scores[[C, B]] == pytest.approx([0.5 / (0.5 + 0.5**0.5), 1])


def test_nobody_is_near_a_newcomer():
    assert learnt(BEFORE).scores(4).tolist() == [0, 0, 0, 0]
    assert learnt(BEFORE).scores(5_000).tolist() == [0, 0, 0, 0]


def test_memory_is_linear_in_users_and_pairs():
    events = [(user, item) for user in range(5_000) for item in (user % 7, 7 + user % 11)]
    learner = learnt(events)
    held = sum(array.nbytes for array in (*learner.common.arrays, *learner._near()))
    users = learner.level.size
    assert held < 5 * ROWS * users + 12 * 2 * 4 * len(events) + 100 * users
    assert held < 5_000**2


def test_a_copy_goes_on_with_the_same_bits():
    learner = learnt(BEFORE, neighbours=2)
    learner.scores(3)
    copy = pickle.loads(pickle.dumps(learner))
    for one in (learner, copy):
        one.learn(np.array([3, 2], np.int32), np.array([D, B], np.int32), np.ones(2))
    assert [copy.scores(user).tolist() for user in range(4)] == [learner.scores(user).tolist() for user in range(4)]


def test_a_neighbour_is_needed():
    with pytest.raises(UsageError, match="U102"):
        UKNN(neighbours=0)
