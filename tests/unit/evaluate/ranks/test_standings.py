"""Errors of systems that give scores, and folds whose test pairs repeat training pairs."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

from recassay.data.fold import Fold
from recassay.data.interactions import Interactions
from recassay.data.run import Run
from recassay.errors import InputError
from recassay.evaluate.ranks.blocks import BLOCK_ROWS
from recassay.evaluate.ranks.standings import compute_standings, standings_of_lists
from recassay.evaluate.ranks.task import RankingTask

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
    message = refused("I309", lambda: compute_standings(task, fitted, "mine"))
    assert f"{2 * BLOCK_ROWS}" in message


def test_a_test_row_that_repeats_training_is_refused_with_an_example():
    message = refused("I310", lambda: RankingTask.of(fold([0, 1, 2], [1])))
    assert "'ann'" in message
    assert "'y'" in message


def test_items_with_score_minus_infinity_tie_at_the_bottom():
    task = RankingTask.of(fold([2], [0]), bins=())
    standings, run = compute_standings(task, scorer_of(lambda users: np.full((users.size, 2), -np.inf)), "mine", k=2)
    assert standings.above["AI"].tolist() == [0]
    assert standings.tied["AI"].tolist() == [1]
    assert run is not None
    assert run.items.size == 0


@pytest.mark.parametrize(
    ("users", "items", "code"),
    [
        (np.ones((2, 3)), np.ones((3, 3)), "I308"),
        (np.ones((2, 3)), np.ones((2, 4)), "I308"),
        (np.full((2, 3), np.nan), np.ones((2, 3)), "I309"),
        (np.full((2, 3), 1e30), np.full((2, 3), 1e30), "I309"),
    ],
)
def test_factors_that_cannot_be_scores_are_refused(users, items, code):
    task = RankingTask.of(fold([0, 2], [1]), bins=())
    refused(code, lambda: compute_standings(task, SimpleNamespace(user_factors=users, item_factors=items), "mine"))


def test_bins_that_outnumber_the_candidates_are_left_out():
    assert RankingTask.of(fold([0, 2], [1]), bins=(2,)).bins == {}
    assert list(RankingTask.of(fold([2], [0, 1]), bins=(2, 3)).bins) == [2]


def test_lists_with_other_id_types_are_refused():
    run = Run.from_frame(pl.DataFrame({"user_id": [1], "item_id": ["x"]}), "mine")
    assert "user ids are" in refused(
        "I403", lambda: standings_of_lists(RankingTask.of(fold([0, 2], [1]), bins=()), run)
    )
