"""The standings of a user have the same bits whatever other users are queried."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

from recassay.data.fold import Fold
from recassay.data.interactions import Interactions
from recassay.engine.ranks import standings
from recassay.engine.ranks.blocks import BLOCK_ROWS, EMPTY, alike_rows, query_blocks, row_in_block
from recassay.engine.ranks.play import play_fitted, ranking_task
from recassay.protocols import ranking
from recassay.threads import one_library_thread

USERS, ITEMS = 150, 203


def test_every_query_is_in_exactly_one_block():
    rows = row_in_block(pl.Series([f"user {number}" for number in range(500)]))
    blocks = query_blocks(rows)
    assert sorted(blocks[blocks != EMPTY].tolist()) == list(range(500))
    assert all(rows[block[at]] == at for block in blocks for at in np.flatnonzero(block != EMPTY))
    assert (blocks[0] != EMPTY).sum() == BLOCK_ROWS
    assert query_blocks(rows[:0]).shape == (0, BLOCK_ROWS)


def test_rows_do_not_depend_on_the_integer_type_of_ids():
    ids = pl.Series([7, 9])
    assert row_in_block(ids.cast(pl.Int16)).tolist() == row_in_block(ids.cast(pl.UInt32)).tolist()


def test_rows_that_are_rounded_alike_fill_each_other():
    rows = row_in_block(pl.Series(np.arange(1_000)))
    alike = np.arange(BLOCK_ROWS) // 6 % 2
    blocks = query_blocks(rows, alike)
    block, row = np.nonzero(blocks != EMPTY)
    assert sorted(blocks[block, row].tolist()) == list(range(1_000))
    assert (alike[row] == alike[rows[blocks[block, row]]]).all()
    assert len(blocks) == max(-(-count // 24) for count in np.bincount(alike[rows]).tolist())
    assert (query_blocks(rows) == query_blocks(rows, np.arange(BLOCK_ROWS))).all()


@pytest.mark.parametrize(("width", "columns"), [(1, 3), (16, 203), (64, 500), (100, 1_001)])
def test_equal_users_get_equal_scores_in_rows_that_are_rounded_alike(width, columns):
    rng = np.random.default_rng(width)
    alike = alike_rows(width, columns)
    assert all(alike[row] <= row and alike[alike[row]] == alike[row] for row in range(BLOCK_ROWS))
    for _ in range(20):
        user = rng.standard_normal(width).astype(np.float32)
        others = rng.standard_normal((BLOCK_ROWS, width)).astype(np.float32)
        table = rng.standard_normal((width, columns)).astype(np.float32)
        some = rng.random(BLOCK_ROWS) < 0.5
        with one_library_thread():
            scores = np.where(some[:, None], user, others) @ table
        for label in np.unique(alike):
            assert len(np.unique(scores[some & (alike == label)].view(np.int32), axis=0)) <= 1


@pytest.mark.parametrize("few", [0, USERS + 1])
@pytest.mark.parametrize("factors", [1, 7, 16, 64, 100])
def test_scores_of_a_user_have_the_same_bits_with_any_other_users(monkeypatch, factors, few):
    """Products round by the position of a row: this fails if the rounding depends on more than the user."""
    monkeypatch.setattr(standings, "FEW_QUERIES", few)
    rng = np.random.default_rng(factors)
    cells = pl.DataFrame({"user_id": np.arange(USERS).repeat(ITEMS), "item_id": np.tile(np.arange(ITEMS), USERS)})
    log = Interactions.from_frame(cells)
    part = rng.choice(3, size=len(log), p=[0.9, 0.05, 0.05])
    train, test = log.take(part == 1), log.take(part == 2)
    fitted = SimpleNamespace(
        user_factors=rng.standard_normal((USERS, factors)).astype(np.float32),
        item_factors=rng.standard_normal((ITEMS, factors)).astype(np.float32),
    )
    whole = lists(train, test, fitted)
    monkeypatch.setattr(standings, "FEW_QUERIES", USERS + 1)
    assert lists(train, test, fitted) == whole
    monkeypatch.setattr(standings, "FEW_QUERIES", few)
    for step in (1, 2, 7):
        few = replace(test.take(test.users % step == 0), whole=test.item_counts)
        assert lists(train, few, fitted) == {user: one for user, one in whole.items() if user % step == 0}


def lists(train, test, fitted):
    """Return items and score bits of every user's list."""
    run = play_fitted(fitted, ranking_task(Fold(train, test, "global", {}), ranking(bins=0)), "mine", k=20)
    frame = run.frame().group_by("user_id").agg("item_id", "score")
    return {user: (items, np.array(scores).tobytes()) for user, items, scores in frame.iter_rows()}
