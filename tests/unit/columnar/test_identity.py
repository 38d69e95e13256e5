"""Keys of ids and rows: they depend on content only, on every machine and for every integer width."""

import numpy as np
import polars as pl
import pytest

from recassay.columnar.identity import id_keys, value_keys
from recassay.data.fold import Fold
from recassay.data.interactions import Interactions

FRAME = pl.DataFrame({"user_id": [7, 3, 7], "item_id": [1, 1, 2], "timestamp": [5, 6, 7], "rating": [1.0, 2.0, 0.0]})


def digest(frame):
    return Interactions.from_frame(frame).fingerprint


@pytest.mark.parametrize("width", [pl.Int8, pl.UInt16, pl.Int32, pl.UInt64])
def test_the_width_of_an_integer_does_not_matter(width):
    assert digest(FRAME.with_columns(pl.col("user_id", "item_id", "timestamp").cast(width))) == digest(FRAME)


def test_id_type_column_and_values_change_the_digest():
    texts = FRAME.with_columns(pl.col("user_id").cast(pl.String))
    swapped = FRAME.rename({"user_id": "item_id", "item_id": "user_id"})
    moved = FRAME.with_columns(rating=pl.col("rating").reverse())
    missing = FRAME.with_columns(timestamp=pl.Series([5, 6, None]))
    assert len({digest(one) for one in (FRAME, texts, swapped, moved, missing, FRAME.drop("rating"))}) == 6
    time_alone = FRAME.drop("rating").with_columns(pl.col("timestamp").cast(pl.Float64))
    assert digest(time_alone) != digest(time_alone.rename({"timestamp": "rating"}))


def test_negative_zero_equals_zero_and_text_keys_are_fixed():
    assert digest(FRAME.with_columns(rating=pl.Series([1.0, 2.0, -0.0]))) == digest(FRAME)
    assert value_keys(pl.Series([0.0, -0.0])).tolist() == [0, 0]
    # blake2b with 8 bytes of "ann", read with the lowest byte first
    assert id_keys(pl.Series(["ann"])).tolist() == [11957940740637538957]
    texts = pl.Series(["ann", "ünïcode", None])
    assert id_keys(texts.cast(pl.Categorical)).tolist() == id_keys(texts).tolist()
    assert id_keys(texts)[2] == id_keys(pl.Series(["None"]))[0]


def test_a_digest_is_the_same_on_every_machine():
    assert digest(FRAME) == "7852e3e828d80dbc0a274730bad77fee"


def test_every_part_changes_the_fingerprint_of_a_fold():
    log = Interactions.from_frame(FRAME)
    one, two, three = (log.take(np.array([row])) for row in range(3))
    folds = [
        Fold(one, two, "none", {}), Fold(two, one, "none", {}), Fold(one, two, "global", {}),
        Fold(one, two, "none", {"seed": 1}), Fold(one, two, "none", {}, three),
        Fold(one, two, "none", {}, profile=np.array([True])),
    ]  # fmt: skip
    assert len({fold.fingerprint for fold in folds}) == len(folds)
    assert Fold(one, two, "none", {}).fingerprint == folds[0].fingerprint
