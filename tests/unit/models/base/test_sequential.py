"""History models compared with straightforward computations in loops."""

import itertools
import pickle
from collections import Counter
from dataclasses import fields

import numpy as np
import polars as pl
import pytest

from recassay import models, protocols, split
from recassay.api.play import play
from recassay.data.interactions import Interactions
from recassay.data.sequences import Histories
from recassay.data.synthetic import log
from recassay.errors import InputError
from recassay.models import Markov, RecentItemKNN, RecentPopular
from recassay.models.base.model import HistoryModel, user_item_matrix
from recassay.testing import check_recommender

from ....refusals import refused

LOG = log(users=90, items=50, events=1_200, seed=4)
ALL_USERS = np.arange(LOG.n_users, dtype=np.int32)
ROWS = Histories.of(LOG).rows()
HISTORY_MODELS = [Markov(), Markov(smoothing=0.0), RecentItemKNN(), RecentItemKNN(last=1, neighbours=5, shrink=2.0)]


@pytest.mark.parametrize("smoothing", [0.0, 1.0, 7.5])
def test_markov_scores_equal_smoothed_transition_counts(smoothing):
    came_after = Counter((a, b) for row in ROWS for a, b in itertools.pairwise(row))
    share = np.bincount(LOG.items, minlength=LOG.n_items) / len(LOG)
    fitted = Markov(smoothing).fit(LOG)
    scores = fitted.scores(ALL_USERS)
    for user, row in enumerate(ROWS):
        counts = np.array([came_after[row[-1], item] for item in range(LOG.n_items)])
        total = counts.sum() + smoothing
        wanted = (counts + smoothing * share) / total if total else share
        assert np.allclose(scores[user], wanted, atol=1e-12)
    assert np.allclose(fitted.next_probabilities(fitted.histories).sum(axis=1), 1)


def test_markov_falls_back_to_popularity_without_transitions():
    made = Interactions.from_frame(pl.DataFrame({"user_id": [1, 1, 2], "item_id": [*"aba"]}))
    histories = Histories(np.array([0, 0, 1, 2]), np.array([0, 1], np.int32))
    assert Markov(0.0).fit(made).next_scores(histories).tolist() == [[2 / 3, 1 / 3], [0, 1], [2 / 3, 1 / 3]]


@pytest.mark.parametrize("model", [RecentItemKNN(3, 0.5, 4, 2.0), RecentItemKNN(2, 0.0, 60), RecentItemKNN(60, 1.0)])
def test_neighbours_of_the_last_items_equal_a_dense_computation(model):
    had = user_item_matrix(LOG).toarray()
    common = had.T @ had
    size = np.diag(common)
    similar = common / np.sqrt(np.outer(size, size)) * (common / (common + model.shrink + 1e-300))
    kept = np.zeros_like(similar)
    for item in range(LOG.n_items):
        order = np.argsort(-similar[item], kind="stable")
        near = [other for other in order if other != item and similar[item, other] > 0][: model.neighbours]
        kept[item, near] = similar[item, near]
    scores = model.fit(LOG).scores(ALL_USERS)
    for user, row in enumerate(ROWS):
        back = row[::-1][: model.last]
        wanted = sum(model.decay**k * kept[item] for k, item in enumerate(back))
        assert np.allclose(scores[user], wanted, atol=1e-12)


def test_recent_popularity_equals_a_count_of_recent_users():
    when = LOG.timestamps.to_numpy()
    for model, since in (
        (RecentPopular(window=5_000_000), when.max() - 5_000_000),
        (RecentPopular(share=0.25), np.sort(when)[-300]),
    ):
        lately = {(u, i) for u, i, t in zip(LOG.users, LOG.items, when, strict=True) if t >= since}
        counts = np.bincount([item for _, item in lately], minlength=LOG.n_items)
        row = model.fit(LOG).scores(ALL_USERS[:1])[0]
        assert np.floor(row).tolist() == counts.tolist()
        best = np.argsort(-row, kind="stable")
        assert best.tolist() == np.lexsort((np.arange(LOG.n_items), -LOG.item_users, -counts)).tolist()


def test_recent_popularity_without_times_uses_the_last_rows():
    made = Interactions.from_frame(pl.DataFrame({"user_id": [1, 1, 2, 3], "item_id": [*"abcc"]}))
    assert RecentPopular(share=0.5).fit(made).row.astype(int).tolist() == [0, 0, 2]
    assert RecentPopular(share=0.01).fit(made).row.astype(int).tolist() == [0, 0, 1]
    assert RecentPopular().fit(made.take(np.empty(0, np.int64))).row.astype(int).tolist() == [0, 0, 0]
    with pytest.raises(InputError, match="no timestamps"):
        RecentPopular(window=3).fit(made)


@pytest.mark.parametrize("model", [*HISTORY_MODELS, RecentPopular()], ids=repr)
def test_history_models_pass_all_checks_of_a_recommender(model):
    check_recommender(model, learns=False)
    assert models.parse(str(model)) == model


@pytest.mark.parametrize("model", HISTORY_MODELS, ids=repr)
def test_with_log_changes_histories_but_not_what_was_learned(model):
    fold = split.last(n=1, validation=1)(LOG)[0]
    fitted = model.fit(fold.train)
    assert isinstance(fitted, HistoryModel)
    updated = fitted.with_log(fold.train.concat(fold.validation))
    histories = Histories.of(updated.log)
    assert np.array_equal(updated.scores(ALL_USERS), fitted.next_scores(histories))
    assert not np.array_equal(updated.scores(ALL_USERS), fitted.scores(ALL_USERS))
    run = play(fitted, fold, protocols.next_item(), name="x")
    assert run.frame().equals(play(model, fold, protocols.next_item(), name="x").frame())
    assert pickle.loads(pickle.dumps(updated)).__dict__.keys() == {one.name for one in fields(fitted)}
    with refused("I322"):
        fitted.with_log(log(users=90, items=60, events=1_200))


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
def test_parameters_out_of_range_are_an_error(make):
    with refused("U102"):
        make()
