"""Incremental pairwise ranking by hand."""

import numpy as np
import pytest

from recassay.errors import UsageError
from recassay.models.incremental import BPRMF
from recassay.models.incremental._bprmf import move

EVENTS = [(0, 0), (0, 1), (1, 0), (2, 2), (1, 1), (2, 3), (2, 0)]


def learnt(events, model):
    learner = model.start()
    learner.learn(*np.array(events, np.int32).reshape(-1, 2).T, np.ones(len(events)))
    return learner


def item(learner, code):
    return learner.items[code // 64, :, code % 64]


class TestTheWorkedExample:
    P, LIKED, AGAINST = [0.1, 0.2], [0.3, -0.1, 0.05], [-0.2, 0.4, -0.02]  # biases at the end

    def moved(self, *sides):
        learner = learnt(EVENTS, BPRMF(factors=2))
        learner.users[0], item(learner, 0)[:], item(learner, 1)[:] = self.P, self.LIKED, self.AGAINST
        move(learner.users[0], 0, 1, learner.how.rates, *sides, learner._state())
        return learner.users[0], item(learner, 0), item(learner, 1)

    def test_a_full_step(self):
        user, liked, against = self.moved(True, True, True)
        assert user == pytest.approx([0.1123625, 0.1876], abs=1e-7)
        assert liked == pytest.approx([0.3024375, -0.0950375, 0.07475], abs=1e-7)
        assert against == pytest.approx([-0.2024725, 0.395045, -0.04475], abs=1e-7)

    def test_a_side_may_stay(self):
        user, liked, against = self.moved(True, False, False)
        assert user == pytest.approx([0.1123625, 0.1876], abs=1e-7)
        assert (liked.tolist(), against.tolist()) == (
            np.array(self.LIKED, np.float32).tolist(),
            np.array(self.AGAINST, np.float32).tolist(),
        )


def test_an_event_moves_its_item_above_the_others():
    scores = learnt([*EVENTS, (0, 1)], BPRMF(factors=4, iterations=200)).scores(0)
    assert scores[1] > scores[2:].max()


def test_nothing_moves_while_nothing_is_left_to_rank_below():
    learner, untouched = learnt([(0, 0), (0, 1), (0, 0)], BPRMF()), learnt([], BPRMF())
    untouched.scores(0)
    assert learner.users[0].tolist() == untouched.users[0].tolist()
    assert item(learner, 0)[-1] == item(learner, 1)[-1] == 0


def asked_then_taught(model, events=EVENTS):
    """A learner that was asked before it learnt anything, so that every event teaches it by itself."""
    learner = model.start()
    learner.scores(0)
    learner.learn(*np.array(events, np.int32).T, np.ones(len(events)))
    return learner


def test_a_preset_moves_users_and_leaves_items():
    model = BPRMF.preset("mymedialite")
    assert model == BPRMF(learns="user")
    learner, untouched = asked_then_taught(model), learnt([], model)
    untouched._grow(3, 4)
    assert learner.items.tolist() == untouched.items.tolist()
    assert learner.users[0].tolist() != untouched.users[0].tolist()


def test_items_of_the_preset_are_trained_on_what_comes_before_the_first_question():
    model = BPRMF.preset("mymedialite")
    learner, events = learnt(EVENTS, model), asked_then_taught(model)
    learner.scores(0)
    trained = learner.items.copy()
    assert trained.tolist() != events.items.tolist()
    learner.learn(np.array([0], np.int32), np.array([3], np.int32), np.ones(1))
    assert learner.items.tolist() == trained.tolist()


def test_items_of_the_second_preset_move_too():
    learner = asked_then_taught(BPRMF.preset("mymedialite-items"), EVENTS * 3)
    assert any(item(learner, code)[-1] for code in range(4))


def test_frequent_items_are_drawn_more_often():
    """Item 0 is had by nine users in ten; who never had it draws it as often, and it sinks."""
    events = [(user, 0 if user % 10 else 1 + user // 10) for user in range(200)] + [(200, 30)]
    even, weighted = (learnt(events, BPRMF(iterations=50, sampling=law)) for law in ("uniform", "frequency"))
    assert weighted.scores(200)[0] < even.scores(200)[0]


def test_draws_are_of_the_seed():
    first, same, other = (learnt(EVENTS, BPRMF(seed=seed)).scores(1).tolist() for seed in (1, 1, 2))
    assert first == same != other


@pytest.mark.parametrize("wrong", [{"factors": 0}, {"rate": -1.0}, {"learns": "item"}])
def test_bad_parameters(wrong):
    with pytest.raises(UsageError, match="U102"):
        BPRMF(**wrong)
