"""The truth: order, merging, gains and rejected input."""

import numpy as np
import polars as pl
import pytest

from recassay.data.truth import Truth

from ...refusals import refused


def truth_of(rows, **more):
    columns = ["user_id", "item_id", "gain"][: len(rows[0])]
    return Truth.from_frame(pl.DataFrame(rows, columns, orient="row"), **more)


def test_items_are_ordered_by_gain_then_id():
    truth = truth_of([(2, 9, 1.0), (1, 5, 1.0), (1, 4, 2.0), (1, 3, 1.0), (1, 6, 0.0)])
    assert truth.queries.to_list() == [1, 2]
    assert truth.frame().rows() == [(1, 4, 2.0), (1, 3, 1.0), (1, 5, 1.0), (1, 6, 0.0), (2, 9, 1.0)]


def test_the_default_gain_is_one():
    assert truth_of([("a", "x"), ("a", "y")]).gains.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("seed", range(4))
def test_repeats_are_merged_to_the_highest_gain_and_counted(seed):
    rows = [(1, 5, 1.0), (1, 5, 3.0), (1, 5, 3.0), (1, 5, 2.0), (1, 6, 1.0), (2, 5, 1.0), (2, 5, 1.0)]
    rows = [rows[row] for row in np.random.default_rng(seed).permutation(7)]
    truth = truth_of(rows)
    assert truth.frame().rows() == [(1, 5, 3.0), (1, 6, 1.0), (2, 5, 1.0)]
    assert (truth.merged, truth.conflicting) == (4, 2)


def test_the_order_of_rows_does_not_change_a_truth():
    rng = np.random.default_rng(0)
    rows = [(int(u), int(i), float(g)) for u, i, g in rng.integers(0, 200, (4_000, 3))]
    straight, turned = truth_of(rows), truth_of(rows[::-1])
    assert straight.frame().equals(turned.frame())
    assert (straight.merged, straight.conflicting) == (turned.merged, turned.conflicting)


def test_the_given_table_is_not_changed():
    frame = pl.DataFrame({"user_id": [1, 1], "item_id": [5, 4], "gain": [1.0, 2.0]})
    Truth.from_frame(frame)
    assert frame.rows() == [(1, 5, 1.0), (1, 4, 2.0)]


def test_a_negative_gain_is_rejected_unless_unjudged():
    rows = [(1, 5, -1.0), (1, 6, 1.0), (2, 7, -2.0)]
    with refused("I303", match=r"2 of 3 gains are negative, the first \(-1.0\) for user 1, item 5") as caught:
        truth_of(rows, origin="t.csv")
    assert caught.value.where == "t.csv"
    assert truth_of(rows, negative="unjudged").gains.tolist() == [1.0, -1.0, -2.0]


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), None])
@pytest.mark.parametrize("negative", ["error", "unjudged"])
def test_nan_infinite_and_missing_gains_are_rejected(bad, negative):
    with refused("I303", match="1 of 2 gains are missing, NaN or infinite"):
        truth_of([(1, 5, 1.0), (1, 6, bad)], negative=negative)


def test_the_frame_reads_back_to_the_same_truth():
    truth = truth_of([("b", "x", 1.0), ("a", "y", 2.0), ("a", "x", 2.0)])
    again = Truth.from_frame(truth.frame())
    assert again.frame().equals(truth.frame())


@pytest.mark.parametrize("n", [1, 48, 49, 500])
def test_lists_of_any_length_are_sorted(n):
    rng = np.random.default_rng(n)
    rows = [(1, int(item), float(gain)) for item, gain in zip(rng.permutation(n), rng.integers(0, 3, n), strict=True)]
    assert truth_of(rows).frame().rows() == sorted(rows, key=lambda row: (-row[2], row[1]))


@pytest.mark.parametrize("kind", [pl.Int64, pl.String])
def test_the_fingerprint_is_that_of_the_judgements_whatever_the_codes_of_the_items(kind):
    rows = pl.DataFrame({"user_id": [1, 1, 2], "item_id": [5, 7, 5], "gain": [1.0, 0.0, 2.0]})
    rows = rows.with_columns(pl.col("item_id").cast(kind))
    more = rows.with_columns(item_id=pl.Series([2**40, 2**41, 7]).cast(kind), user_id=pl.Series([3, 4, 5]))
    truth = Truth.from_frame(pl.concat([more, rows]))
    same = truth.take(np.flatnonzero(truth.queries.to_numpy() <= 2))
    assert same.fingerprint == Truth.from_frame(rows).fingerprint
    for change in ({"user_id": [1, 1, 3]}, {"item_id": pl.Series([5, 8, 5]).cast(kind)}, {"gain": [1.0, 0.0, 2.5]}):
        other = rows.with_columns(**{name: pl.Series(values) for name, values in change.items()})
        assert Truth.from_frame(other).fingerprint != same.fingerprint
    swapped = rows.with_columns(gain=pl.Series([0.0, 1.0, 2.0]))
    assert Truth.from_frame(swapped).fingerprint != same.fingerprint
