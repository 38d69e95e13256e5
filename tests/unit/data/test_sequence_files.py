"""Folds of sequences in files: the same fold comes back, whatever its ids and times."""

import numpy as np
import polars as pl
import pytest

import recassay as ra
from recassay.data.fold_files import read_generated, write_sequence_fold
from recassay.data.sequences import SequenceFold

ROWS = [
    (7, "ann", "a", 1.5), (7, "ann", "b", 2.5), (8, "bob", "z", 1.0), (8, "bob", "a", 2.0),
    (9, "ann", "c", 3.0), (9, "ann", "c", 4.0), (9, "ann", "a", 5.0),
]  # fmt: skip
FRAME = pl.DataFrame(ROWS, ["sequence_id", "user_id", "item_id", "timestamp"], orient="row")


def fold_of(frame):
    made = ra.sequences.Sequences.from_frame(frame)
    return SequenceFold(
        made.take(np.array([0])), made.take(np.array([2])), {"split": "by hand", "test": 0.2}, {"x": 2}, 3
    )


@pytest.mark.parametrize(
    "frame",
    [
        FRAME,
        FRAME.drop("timestamp"),
        FRAME.with_columns(pl.col("item_id").replace_strict({"a": 5, "b": 7, "c": 11, "z": 2})),
        FRAME.with_columns(pl.from_epoch(pl.col("timestamp").cast(pl.Int64) + 10**9)),
        FRAME.drop("user_id"),
    ],
    ids=["text", "no times", "integers", "dates", "no users"],
)
def test_a_fold_is_read_as_it_was_written(tmp_path, frame):
    fold = fold_of(frame)
    assert fold.n_items == 4  # z is in neither part, and counts as an item that can be recommended
    read = ra.read_fold(write_sequence_fold(fold, tmp_path))
    assert (read.fingerprint, read.n_items, read.number) == (fold.fingerprint, 4, 3)
    assert (dict(read.removed), read.train.kind, read.train.dates) == ({"x": 2}, fold.train.kind, fold.train.dates)


def test_shuffled_files_are_the_same_fold(tmp_path):
    fold = fold_of(FRAME)
    write_sequence_fold(fold, tmp_path)
    for name in ("train", "truth"):
        pl.read_parquet(tmp_path / f"{name}.parquet").reverse().write_parquet(tmp_path / f"{name}.parquet")
    assert ra.read_fold(tmp_path).fingerprint == fold.fingerprint


def test_a_surprise_that_differs_within_a_sequence_is_refused():
    rows = {"sequence_id": [0, 0], "position": [1, 2], "item_id": ["a", "b"], "surprise": [1.0, 2.0]}
    with pytest.raises(ra.InputError, match="surprise differs"):
        read_generated(rows, "mine", fold_of(FRAME))


def test_probabilities_and_surprise_reach_the_metrics():
    rows = {"sequence_id": [0, 0], "position": [2, 1], "item_id": ["a", "c"], "probability": [0.25, 0.5]}
    fold = fold_of(FRAME)
    metrics = "seq_confidence@2 seq_perplexity seq_ndpm@2"
    with_bits = pl.DataFrame({**rows, "surprise": [4.0, 4.0]})
    scores = ra.sequences.score_sequences(fold, {"mine": with_bits}, metrics, interval=None)
    assert [row.mean for row in scores.rows] == [0.375, 4.0, 0.0]
