"""Random holdout of a share of each user's events."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from recassay.cli.demo import hold_out
from recassay.data.interactions import Interactions
from recassay.data.synthetic import log
from recassay.errors import UsageError


def test_every_event_is_in_one_part_and_a_fifth_of_each_user_is_held_out():
    whole = log(users=100, items=60, events=1_500, seed=2)
    train, truth = hold_out(whole, 0.2, seed=5)
    pairs = [side.frame().select("user_id", "item_id") for side in (train, truth)]
    assert (
        pl.concat(pairs).sort("user_id", "item_id").equals(whole.frame().drop("timestamp").sort("user_id", "item_id"))
    )
    expected = np.maximum(1, np.floor(0.2 * np.bincount(whole.users)))
    assert np.diff(truth.offsets).tolist() == expected.tolist()


def test_a_user_with_one_event_keeps_it():
    train, truth = hold_out(Interactions.from_frame(pl.DataFrame({"user_id": [1, 2, 2], "item_id": [5, 5, 6]})))
    assert truth.queries.to_list() == [2]
    assert train.frame().filter(pl.col("user_id") == 1).height == 1


def test_the_order_of_rows_does_not_matter():
    frame = log(users=50, items=40, events=500, seed=2).frame()
    shuffled = frame.sample(fraction=1, shuffle=True, seed=9)
    one, other = (hold_out(Interactions.from_frame(rows), seed=5)[1].frame() for rows in (frame, shuffled))
    assert one.equals(other)


def test_the_seed_matters():
    whole = log(users=50, items=40, events=500, seed=2)
    assert not hold_out(whole, seed=5)[1].frame().equals(hold_out(whole, seed=6)[1].frame())


@pytest.mark.parametrize("share", [0.0, 1.0, -0.5])
def test_a_share_outside_0_to_1_is_rejected(share):
    with pytest.raises(UsageError, match="share must be between 0 and 1"):
        hold_out(log(users=5, items=10, events=20), share)
