"""Errors of systems that give scores, and folds whose test pairs repeat training pairs."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

import recassay as ra
from recassay.data.fold import Fold
from recassay.data.interactions import Interactions
from recassay.data.run import Run
from recassay.engine.ranks.blocks import BLOCK_ROWS
from recassay.engine.ranks.standings import compute_standings, standings_of_lists
from recassay.engine.ranks.task import RankingTask
from recassay.errors import InputError

LOG = Interactions.from_frame(pl.DataFrame({"user_id": ["ann", "ann", "bob"], "item_id": ["x", "y", "y"]}))


def fold(train, test):
    return Fold(LOG.take(np.array(train)), LOG.take(np.array(test)), "global", {})


def scorer_of(scores):
    return SimpleNamespace(scores=scores)


def refused(code, act):
    with pytest.raises(InputError) as caught:
        act()
    assert caught.value.code == code
    return str(caught.value)


def test_relevance_from_a_rating_needs_ratings():
    refused("I307", lambda: RankingTask.of(fold([0, 2], [1]), relevant_from=4))


def test_scores_of_another_shape_are_refused_with_both_shapes():
    task = RankingTask.of(fold([0, 2], [1]), bins=())
    message = refused("I308", lambda: compute_standings(task, scorer_of(lambda users: np.zeros((1, 2))), "mine"))
    assert "(1, 2)" in message
    assert f"({BLOCK_ROWS}, 2)" in message


def test_nan_scores_are_refused_with_their_count():
    task = RankingTask.of(fold([0, 2], [1]), bins=())
    fitted = scorer_of(lambda users: np.full((users.size, 2), np.nan))
    message = refused("I308", lambda: compute_standings(task, fitted, "mine"))
    assert f"{2 * BLOCK_ROWS}" in message


def test_a_test_row_that_repeats_training_is_refused_with_an_example():
    message = refused("I310", lambda: RankingTask.of(fold([0, 1, 2], [1])))
    assert "'ann'" in message
    assert "'y'" in message


@pytest.mark.parametrize(("other", "above"), [(-np.inf, 1), (0.0, 1)])
def test_the_relevant_item_of_a_user_without_scores_is_behind_all_others_and_there_is_no_list(other, above):
    task = RankingTask.of(fold([2], [0]), bins=())
    row = np.where(np.arange(2) == task.train.item_vocabulary.size - 1, other, -np.inf)
    standings, run = compute_standings(task, scorer_of(lambda users: np.tile(row, (users.size, 1))), "mine", k=2)
    assert (standings.above["AI"].tolist(), standings.tied["AI"].tolist()) == ([above], [0])
    assert run is not None
    assert run.items.size == int(other > -np.inf)
    assert standings.unlisted == 1


def test_a_user_without_scores_gets_no_credit_in_any_design_exact_or_sampled():
    log = Interactions.from_frame(
        pl.DataFrame({"user_id": [user for user in range(6) for _ in range(9)], "item_id": [*range(9)] * 6})
    )
    test = log.items == log.users
    train = (log.users < 5) & (log.items < 6) & ((log.items - log.users) % 3 > 0)
    one = Fold(log.take(train), log.take(test), "global", {})
    run = ra.play(ra.models.EASE(l2=1.0), one, ra.protocols.ranking(k=3, bins=2))
    assert 5 not in run.queries
    for options in ({}, {"method": "sample", "draws": 2}):
        judged = ra.judge([run], ["AI-AR-AN", "TI-1R-NN(1)", "AI-1R-NN(1, by='popularity')"], "hit@1 auc", **options)
        for design in judged.designs:
            scores = judged.scores(design)
            for metric in judged.metrics:
                value = scores.values(run.name, metric)[scores.units.to_list().index(5)]
                assert value == 0, (design, metric, options)
    ranks = ra.sampled.sampled_ranks(run, 3)
    assert ranks.filter(user_id=5)["rank"].to_list() == [4]


def test_a_missing_list_gets_the_credit_of_no_list_in_every_design():
    task = RankingTask.of(fold([0, 2], [1]), bins=())
    nobody = standings_of_lists(task, ra.read_run({"zoe": ["x"]}, "other"))
    assert nobody.above["AI"].tolist() == nobody.pool["AI"].tolist()
    assert nobody.tied["AI"].tolist() == [0]


@pytest.mark.parametrize(
    ("users", "items", "code"),
    [
        (np.ones((2, 3)), np.ones((3, 3)), "I308"),
        (np.ones((2, 3)), np.ones((2, 4)), "I308"),
        (np.full((2, 3), np.nan), np.ones((2, 3)), "I308"),
        (np.full((2, 3), 1e30), np.full((2, 3), 1e30), "I308"),
    ],
)
def test_factors_that_cannot_be_scores_are_refused(users, items, code):
    task = RankingTask.of(fold([0, 2], [1]), bins=())
    refused(code, lambda: compute_standings(task, SimpleNamespace(user_factors=users, item_factors=items), "mine"))


def test_bins_that_outnumber_the_candidates_are_left_out():
    assert RankingTask.of(fold([0, 2], [1]), bins=(2,)).bins == {}
    assert list(RankingTask.of(fold([2], [0, 1]), bins=(2, 3)).bins) == [2]


def test_lists_with_other_id_types_are_refused():
    run = Run.from_frame(LOG.frame().head(1).with_columns(user_id=pl.lit(1)), "mine")
    assert "user ids are" in refused(
        "I403", lambda: standings_of_lists(RankingTask.of(fold([0, 2], [1]), bins=()), run)
    )
