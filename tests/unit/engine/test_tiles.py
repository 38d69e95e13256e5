"""A user's standings are the user's own: the same bits whoever else is asked."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

from recassay.data.fold import Fold
from recassay.data.interactions import Interactions
from recassay.engine.play import answer
from recassay.engine.question import Question
from recassay.engine.tiles import NOBODY, TILE, rows_of, tiles_of

USERS, ITEMS = 150, 203


def test_everybody_stands_in_one_tile_once():
    rows = rows_of(pl.Series([f"user {number}" for number in range(500)]))
    tiles = tiles_of(rows)
    assert sorted(tiles[tiles != NOBODY].tolist()) == list(range(500))
    assert all(rows[tile[at]] == at for tile in tiles for at in np.flatnonzero(tile != NOBODY))
    assert (tiles[0] != NOBODY).sum() == TILE
    assert tiles_of(rows[:0]).shape == (0, TILE)


def test_rows_do_not_hang_on_the_width_of_ids():
    assert rows_of(pl.Series([7, 9], dtype=pl.Int16)).tolist() == rows_of(pl.Series([7, 9], dtype=pl.UInt32)).tolist()


@pytest.mark.parametrize("factors", [1, 7, 16, 64, 100])
def test_a_user_has_the_same_bits_in_every_company(factors):
    """Products round by the place of a row: this fails where a row is not drawn from the user alone."""
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
    for step in (1, 2, 7):
        few = replace(test.take(test.users % step == 0), whole=test.item_counts)
        assert lists(train, few, fitted) == {user: one for user, one in whole.items() if user % step == 0}


def lists(train, test, fitted):
    """The bits of the scores of every user's list."""
    run = answer(fitted, Question.of(Fold(train, test, "global", {}), bins=()), "mine", k=20)
    frame = run.frame().group_by("user_id").agg("item_id", "score")
    return {user: (items, np.array(scores).tobytes()) for user, items, scores in frame.iter_rows()}
