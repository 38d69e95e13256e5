"""Sequences: their contents, ready-made ones, and identities that do not depend on place."""

import numpy as np
import polars as pl
import pytest

from recassay.data.sequences import SINGLE_ROW, SequenceFold, Sequences

from ...refusals import refused

LISTS = ["ab", "acd", "cbb", "abc", "cddab", "deb"]


def made(lists=LISTS, **columns):
    rows = [(number, item) for number, items in enumerate(lists) for item in items]
    frame = pl.DataFrame(rows, ["sequence_id", "item_id"], orient="row")
    return Sequences.from_frame(frame.with_columns(**columns))


def texts(sequences):
    ids = sequences.item_vocabulary.decode(sequences.items).to_list()
    cuts = zip(sequences.offsets, sequences.offsets[1:], strict=False)
    return ["".join(ids[begin:end]) for begin, end in cuts]


def test_seeds_and_references_of_sequences():
    sequences = made()
    assert texts(sequences) == LISTS
    assert (len(sequences), sequences.n_items, sequences.n_users) == (6, 5, 6)
    assert sequences.lengths.tolist() == [2, 3, 3, 3, 5, 3]
    assert sequences.seeds.tolist() == [0, 0, 2, 0, 2, 3]
    assert sequences.references.rows() == [[1], [2, 3], [1, 1], [1, 2], [3, 3, 0, 1], [4, 1]]
    assert sequences.histories.rows()[1] == [0, 2, 3]
    assert sequences.starts is None


def test_a_fold_counts_training_items_over_the_items_of_both_parts():
    sequences = made()
    fold = SequenceFold(sequences.take(np.arange(3)), sequences.take(np.arange(6) > 2), {"split": "by hand"}, {})
    assert fold.counts.tolist() == [2, 3, 2, 1, 0]
    assert fold.n_items == 5
    assert texts(fold.test) == LISTS[3:]
    other = SequenceFold(fold.train, fold.test, {"split": "otherwise"}, {})
    assert fold.fingerprint != other.fingerprint


def test_rows_are_ordered_by_position_then_time_then_row():
    columns = {"sequence_id": [2, 1, 2, 1], "item_id": [*"wxyz"]}
    by_row = Sequences.from_frame(pl.DataFrame(columns))
    by_time = Sequences.from_frame(pl.DataFrame({**columns, "timestamp": [5, 9, 3, 7]}))
    by_place = Sequences.from_frame(pl.DataFrame({**columns, "timestamp": [5, 9, 3, 7], "position": [0, 0, 1, 1]}))
    assert [texts(one) for one in (by_row, by_time, by_place)] == [["xz", "wy"], ["zx", "yw"], ["xz", "wy"]]
    assert by_time.times.tolist() == [7, 9, 3, 5]
    assert by_place.starts.tolist() == [9, 5]


def test_a_sequence_of_one_row_is_dropped_and_counted():
    sequences = Sequences.from_frame(
        pl.DataFrame({"sequence_id": [1, 2, 2], "user_id": ["ann", "bob", "bob"], "item_id": [7, 8, 9]})
    )
    assert sequences.removed == {SINGLE_ROW: 1}
    assert (len(sequences), sequences.n_items, sequences.n_users) == (1, 2, 1)
    assert sequences.frame().rows() == [(0, "bob", 8), (0, "bob", 9)]


def test_the_table_of_sequences_reads_back():
    sequences = made(timestamp=pl.int_range(pl.len()))
    again = Sequences.from_frame(sequences.frame())
    assert texts(again) == LISTS
    assert again.fingerprint == sequences.fingerprint
    assert again.identities.tolist() == sequences.identities.tolist()


def test_identities_depend_on_user_items_order_and_time_only():
    one = made(["ab", "ba", "ab", "abc"], user_id=pl.lit("ann"))
    assert len(set(one.identities.tolist())) == 4
    order = np.array([3, 2, 1, 0])
    assert set(one.take(order).identities.tolist()) == set(one.identities.tolist())
    assert one.take(order).fingerprint == one.fingerprint
    of_bob = made(["ab", "ba", "ab", "abc"], user_id=pl.lit("bob"))
    later = made(["ab", "ba", "ab", "abc"], user_id=pl.lit("ann"), timestamp=pl.int_range(pl.len()))
    assert not set(one.identities.tolist()) & (set(of_bob.identities.tolist()) | set(later.identities.tolist()))


def test_identities_do_not_depend_on_blocks(monkeypatch):
    whole = made().identities.tolist()
    monkeypatch.setattr("recassay.data.sequences.SEQUENCES_PER_BLOCK", 2)
    assert made().identities.tolist() == whole


@pytest.mark.parametrize(
    ("columns", "code"),
    [
        ({"sequence_id": [1, 2], "item_id": [7, 8]}, "I351"),
        ({"sequence_id": [1, 1], "item_id": [7, 8], "user_id": [1, 2]}, "I351"),
        ({"sequence_id": [1, 1], "item_id": [7, 8], "position": [1, 1]}, "I351"),
        ({"sequence": [1, 1], "item_id": [7, 8]}, "I201"),
        ({"sequence_id": [1, 1], "item_id": [7, 8], "timestamp": [1, None]}, "I304"),
    ],
)
def test_invalid_sequence_tables_are_rejected(columns, code):
    with refused(code):
        Sequences.from_frame(pl.DataFrame(columns))
