"""Incremental pairwise ranking: a worked example, and the effect of each rule."""

import numpy as np
import pytest

from recassay.errors import UsageError
from recassay.models.incremental import BPRMF

EVENTS = [(0, 0), (0, 1), (1, 0), (2, 2), (1, 1), (2, 3), (2, 0)]


def fitted_learner(events, model):
    learner = model.start()
    learner.learn(*np.array(events, np.int32).reshape(-1, 2).T, np.ones(len(events)))
    return learner


def item(learner, code):
    return learner.items[code // 64, :, code % 64]


def test_events_move_their_item_above_the_others():
    scores = fitted_learner([*EVENTS, (0, 1)], BPRMF(factors=4, iterations=200)).scores(0)
    assert scores[1] > scores[2:].max()


def test_nothing_moves_without_a_negative_item():
    learner, untouched = fitted_learner([(0, 0), (0, 1), (0, 0)], BPRMF()), fitted_learner([], BPRMF())
    untouched.scores(0)
    assert learner.users[0].tolist() == untouched.users[0].tolist()
    assert item(learner, 0)[-1] == item(learner, 1)[-1] == 0


def learner_after_a_query(model, events=EVENTS):
    """Return a learner that answered a query before its first event, so it has no warm-up."""
    learner = model.start()
    learner.scores(0)
    learner.learn(*np.array(events, np.int32).T, np.ones(len(events)))
    return learner


def test_the_first_preset_updates_users_but_not_items():
    model = BPRMF.preset("mymedialite")
    assert model == BPRMF(learns="user")
    learner, untouched = learner_after_a_query(model), fitted_learner([], model)
    untouched.grow(3, 4)
    assert learner.items.tolist() == untouched.items.tolist()
    assert learner.users[0].tolist() != untouched.users[0].tolist()


def test_items_of_the_first_preset_are_trained_on_the_warm_up():
    model = BPRMF.preset("mymedialite")
    learner, events = fitted_learner(EVENTS, model), learner_after_a_query(model)
    learner.scores(0)
    trained = learner.items.copy()
    assert trained.tolist() != events.items.tolist()
    learner.learn(np.array([0], np.int32), np.array([3], np.int32), np.ones(1))
    assert learner.items.tolist() == trained.tolist()


def test_the_second_preset_also_updates_items():
    learner = learner_after_a_query(BPRMF.preset("mymedialite-items"), EVENTS * 3)
    assert any(item(learner, code)[-1] for code in range(4))


def test_draws_depend_on_the_seed():
    first, same, other = (fitted_learner(EVENTS, BPRMF(seed=seed)).scores(1).tolist() for seed in (1, 1, 2))
    assert first == same != other


@pytest.mark.parametrize("wrong", [{"factors": 0}, {"rate": -1.0}, {"learns": "item"}])
def test_parameters_out_of_range_are_an_error(wrong):
    with pytest.raises(UsageError, match="U102"):
        BPRMF(**wrong)
