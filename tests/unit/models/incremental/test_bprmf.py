"""Incremental pairwise ranking: a worked example, and the effect of each rule."""

import math

import numpy as np
import pytest

from recassay.errors import UsageError
from recassay.models.incremental import BPRMF
from recassay.models.incremental._bprmf import gradient_step

EVENTS = [(0, 0), (0, 1), (1, 0), (2, 2), (1, 1), (2, 3), (2, 0)]


def fitted_learner(events, model):
    learner = model.start()
    learner.learn(*np.array(events, np.int32).reshape(-1, 2).T, np.ones(len(events)))
    return learner


def item(learner, code):
    return learner.items[code // 64, :, code % 64]


class TestTheWorkedExample:
    P, POSITIVE, NEGATIVE = [0.1, 0.2], [0.3, -0.1, 0.05], [-0.2, 0.4, -0.02]  # the last factor is the bias

    def moved(self, *sides):
        learner = fitted_learner(EVENTS, BPRMF(factors=2))
        learner.users[0], item(learner, 0)[:], item(learner, 1)[:] = self.P, self.POSITIVE, self.NEGATIVE
        gradient_step(learner.users[0], 0, 1, learner.settings.rates, *sides, learner._state())
        return learner.users[0], item(learner, 0), item(learner, 1)

    def test_a_step_of_all_three_vectors(self):
        user, positive, negative = self.moved(True, True, True)
        assert user == pytest.approx([0.1123625, 0.1876], abs=1e-7)
        assert positive == pytest.approx([0.3024375, -0.0950375, 0.07475], abs=1e-7)
        assert negative == pytest.approx([-0.2024725, 0.395045, -0.04475], abs=1e-7)

    def test_a_step_of_the_user_leaves_items_unchanged(self):
        user, positive, negative = self.moved(True, False, False)
        assert user == pytest.approx([0.1123625, 0.1876], abs=1e-7)
        assert (positive.tolist(), negative.tolist()) == (
            np.array(self.POSITIVE, np.float32).tolist(),
            np.array(self.NEGATIVE, np.float32).tolist(),
        )


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
    untouched._grow(3, 4)
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


def test_sampling_by_frequency_draws_frequent_items_more_often():
    """Nine users in ten had item 0, so a user without it draws it most often as a negative, and its score falls."""
    events = [(user, 0 if user % 10 else 1 + user // 10) for user in range(200)] + [(200, 30)]
    even, weighted = (fitted_learner(events, BPRMF(iterations=50, sampling=law)) for law in ("uniform", "frequency"))
    assert weighted.scores(200)[0] < even.scores(200)[0]


def test_draws_depend_on_the_seed():
    first, same, other = (fitted_learner(EVENTS, BPRMF(seed=seed)).scores(1).tolist() for seed in (1, 1, 2))
    assert first == same != other


@pytest.mark.parametrize("wrong", [{"factors": 0}, {"rate": -1.0}, {"learns": "item"}])
def test_parameters_out_of_range_are_an_error(wrong):
    with pytest.raises(UsageError, match="U102"):
        BPRMF(**wrong)


def test_with_given_negatives_the_model_equals_a_plain_loop():
    """No draw of the model takes part: initial factors and negatives come from here, and the loop has its own state."""
    rng = np.random.default_rng(7)
    model, f4 = BPRMF(factors=3, iterations=4, rate=0.2, reg_bias=0.05), np.float32
    users, items = rng.integers(0, 6, 200), np.append(np.arange(9), rng.integers(0, 9, 191))
    users[:6] = np.arange(6)
    negatives, had = np.full((200, 4), -1, np.int32), {user: set() for user in range(6)}
    for event, (user, one) in enumerate(zip(users.tolist(), items.tolist(), strict=True)):
        had[user].add(one)
        left = sorted(set(items[: event + 1].tolist()) - had[user])
        if left:
            negatives[event] = rng.choice(left, 4)
    negatives[50, 2:] = -1  # this event makes two steps only

    p, q, b = rng.normal(size=(6, 3)).astype(f4), rng.normal(size=(9, 3)).astype(f4), np.zeros(9, f4)
    learner = model.start()
    learner._grow(6, 9)
    learner.users[:6] = p
    for code in range(9):
        item(learner, code)[:3] = q[code]
    for begin in (0, 77):  # in two calls
        part = slice(begin, 77 if begin == 0 else 200)
        learner.learn(
            users[part].astype(np.int32), items[part].astype(np.int32), np.ones(part.stop - begin),
            negatives=negatives[part],
        )  # fmt: skip

    rate, of_user, of_item, of_other, of_bias = map(f4, (0.2, 0.0025, 0.0025, 0.00025, 0.05))
    for event in range(200):
        u, i = users[event], items[event]
        for j in negatives[event]:
            if j < 0:
                break
            margin = b[i] - b[j]
            for f in range(3):
                margin += p[u, f] * (q[i, f] - q[j, f])
            g = f4(1 / (1 + math.exp(margin)))
            mine, up, down = p[u].copy(), q[i].copy(), q[j].copy()
            p[u] = mine + rate * (g * (up - down) - of_user * mine)
            q[i] = up + rate * (g * mine - of_item * up)
            q[j] = down + rate * (-g * mine - of_other * down)
            b[i], b[j] = b[i] + rate * (g - of_bias * b[i]), b[j] + rate * (-g - of_bias * b[j])
    assert learner.users[:6].tolist() == p.tolist()
    assert [item(learner, code).tolist() for code in range(9)] == np.column_stack([q, b]).tolist()


@pytest.mark.parametrize(
    ("model", "negatives"),
    [
        (BPRMF(iterations=2), [[0, 0]]),
        (BPRMF(iterations=2), np.zeros((2, 2))),
        (BPRMF(iterations=2), [[0, 0], [0, 5]]),
        (BPRMF(iterations=2), [[0, -2], [0, 0]]),
        (BPRMF(iterations=2, learns="user"), [[0, 0], [0, 0]]),
    ],
)
def test_negatives_that_do_not_fit_are_an_error(model, negatives):
    users, items = np.zeros(2, np.int32), np.array([0, 1], np.int32)
    with pytest.raises(UsageError, match="U102"):
        model.start().learn(users, items, np.ones(2), negatives=negatives)
