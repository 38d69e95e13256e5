"""Models that read histories without learning for long: what they say they compute, counted by loops."""

import itertools
import pickle
from collections import Counter

import numpy as np
import polars as pl
import pytest

from recassay import models, protocols, split
from recassay.data.histories import Histories
from recassay.data.interactions import Interactions
from recassay.data.synthetic import log
from recassay.engine.play import play
from recassay.errors import InputError, UsageError
from recassay.models import Markov, RecentItemKNN, RecentPopular
from recassay.models.base import Sequential, profiles
from recassay.testing import check_recommender

LOG = log(users=90, items=50, events=1_200, seed=4)
EVERYBODY = np.arange(LOG.n_users, dtype=np.int32)
ROWS = Histories.of(LOG).rows()
READERS = [Markov(), Markov(smoothing=0.0), RecentItemKNN(), RecentItemKNN(last=1, neighbours=5, shrink=2.0)]


@pytest.mark.parametrize("smoothing", [0.0, 1.0, 7.5])
def test_chains_by_hand(smoothing):
    came_after = Counter((a, b) for row in ROWS for a, b in itertools.pairwise(row))
    share = np.bincount(LOG.items, minlength=LOG.n_items) / len(LOG)
    fitted = Markov(smoothing).fit(LOG)
    scores = fitted.scores(EVERYBODY)
    for user, row in enumerate(ROWS):
        counts = np.array([came_after[row[-1], item] for item in range(LOG.n_items)])
        total = counts.sum() + smoothing
        wanted = (counts + smoothing * share) / total if total else share
        assert np.allclose(scores[user], wanted, atol=1e-12)
    assert np.allclose(fitted.next_probabilities(fitted.histories).sum(axis=1), 1)


def test_after_nothing_and_after_a_dead_end_stands_popularity():
    made = Interactions.from_frame(pl.DataFrame({"user_id": [1, 1, 2], "item_id": [*"aba"]}))
    asked = Histories(np.array([0, 0, 1, 2]), np.array([0, 1], np.int32))
    assert Markov(0.0).fit(made).next_scores(asked).tolist() == [[2 / 3, 1 / 3], [0, 1], [2 / 3, 1 / 3]]


@pytest.mark.parametrize("model", [RecentItemKNN(3, 0.5, 4, 2.0), RecentItemKNN(2, 0.0, 60), RecentItemKNN(60, 1.0)])
def test_neighbours_of_the_last_items_by_hand(model):
    had = profiles(LOG).toarray()
    common = had.T @ had
    size = np.diag(common)
    similar = common / np.sqrt(np.outer(size, size)) * (common / (common + model.shrink + 1e-300))
    kept = np.zeros_like(similar)
    for item in range(LOG.n_items):
        order = np.argsort(-similar[item], kind="stable")
        near = [other for other in order if other != item and similar[item, other] > 0][: model.neighbours]
        kept[item, near] = similar[item, near]
    scores = model.fit(LOG).scores(EVERYBODY)
    for user, row in enumerate(ROWS):
        back = row[::-1][: model.last]
        wanted = sum(model.decay**k * kept[item] for k, item in enumerate(back))
        assert np.allclose(scores[user], wanted, atol=1e-12)


def test_lately_by_hand():
    when = LOG.timestamps.to_numpy()
    for model, since in (
        (RecentPopular(window=5_000_000), when.max() - 5_000_000),
        (RecentPopular(share=0.25), np.sort(when)[-300]),
    ):
        lately = {(u, i) for u, i, t in zip(LOG.users, LOG.items, when, strict=True) if t >= since}
        counts = np.bincount([item for _, item in lately], minlength=LOG.n_items)
        row = model.fit(LOG).scores(EVERYBODY[:1])[0]
        assert np.floor(row).tolist() == counts.tolist()
        best = np.argsort(-row, kind="stable")
        assert best.tolist() == np.lexsort((np.arange(LOG.n_items), -LOG.item_users, -counts)).tolist()


def test_lately_without_times_is_the_last_rows_and_without_events_nothing():
    made = Interactions.from_frame(pl.DataFrame({"user_id": [1, 1, 2, 3], "item_id": [*"abcc"]}))
    assert RecentPopular(share=0.5).fit(made).users.tolist() == [0, 0, 2]
    assert RecentPopular(share=0.01).fit(made).users.tolist() == [0, 0, 1]
    assert RecentPopular().fit(made.take(np.empty(0, np.int64))).users.tolist() == [0, 0, 0]
    with pytest.raises(InputError, match="no timestamps"):
        RecentPopular(window=3).fit(made)


@pytest.mark.parametrize("model", [*READERS, RecentPopular()], ids=repr)
def test_every_promise_of_a_recommender(model):
    check_recommender(model, learns=False)
    assert models.parse(str(model)) == model


@pytest.mark.parametrize("model", READERS, ids=repr)
def test_what_is_told_is_heard_of_and_not_learnt(model):
    fold = split.last(n=1, validation=1)(LOG)[0]
    fitted = model.fit(fold.train)
    assert isinstance(fitted, Sequential)
    told = fitted.told(fold.train.followed_by(fold.validation))
    histories = Histories.of(told.log)
    assert np.array_equal(told.scores(EVERYBODY), fitted.next_scores(histories))
    assert not np.array_equal(told.scores(EVERYBODY), fitted.scores(EVERYBODY))
    run = play(fitted, fold, protocols.next_item(), name="x")
    assert run.frame().equals(play(model, fold, protocols.next_item(), name="x").frame())
    assert pickle.loads(pickle.dumps(told)).__dict__.keys() == {*fitted.__dataclass_fields__}
    with pytest.raises(InputError) as caught:
        fitted.told(log(users=90, items=60, events=1_200))
    assert caught.value.code == "I322"


@pytest.mark.parametrize(
    "make",
    [
        lambda: Markov(-1.0),
        lambda: RecentPopular(share=0.0),
        lambda: RecentPopular(share=1.5),
        lambda: RecentPopular(window=-1.0),
        lambda: RecentItemKNN(last=0),
        lambda: RecentItemKNN(decay=1.5),
        lambda: RecentItemKNN(neighbours=0),
    ],
)
def test_parameters_that_make_no_sense_are_refused(make):
    with pytest.raises(UsageError) as caught:
        make()
    assert caught.value.code == "U102"
