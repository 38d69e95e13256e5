"""Smoothed counts held to a readable twin: rows of all items, written out by counting over lists."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recassay.data.sequences import Sequences
from recassay.models.sequence import NGram, Unigram

ITEMS = 5
LISTS = st.lists(st.lists(st.integers(0, ITEMS - 1), min_size=2, max_size=7), min_size=1, max_size=8)
LOTS = st.floats(2.0**-53, 1 - 2.0**-53)


def row_of(lists, order, smoothing, history):
    """The probabilities after a history, by counting."""
    for length in range(min(order - 1, len(history)), -1, -1):
        context, counts = history[len(history) - length :], np.zeros(ITEMS)
        for one in lists:
            for at in range(length, len(one)):
                counts[one[at]] += one[at - length : at] == context
        if order > 1 and length == 0:
            break
        if counts.sum() or order == 1:
            break
    if order > 1 and length == 0:
        return np.full(ITEMS, 1 / ITEMS)
    total = counts.sum() + smoothing * ITEMS
    return (counts + smoothing) / total


@given(LISTS, st.integers(1, 4), st.sampled_from([0, 0.25, 1]), st.lists(LOTS, min_size=1, max_size=5))
def test_rows_draws_and_chances_are_those_of_counting(lists, order, smoothing, lots):
    lists = [*lists, [*range(ITEMS)]]  # every item is in a sequence, so that codes are items
    frame = pl.DataFrame([(s, i) for s, row in enumerate(lists) for i in row], ["sequence_id", "item_id"], orient="row")
    sequences = Sequences.from_frame(frame)
    model = Unigram(smoothing) if order == 1 else NGram(order, smoothing)
    fitted, histories = model.fit(sequences), sequences.histories
    table = fitted.next_probabilities(histories)
    last = histories.last(fitted.memory, pad=-1) if fitted.memory else np.empty((len(histories), 0), np.int32)
    steps = histories.lengths - 1
    for number, history in enumerate(lists):
        row = row_of(lists, order, smoothing, history)
        assert table[number] == pytest.approx(row, abs=1e-12)
        where = slice(number, number + 1)
        for item in range(ITEMS):
            found = fitted.probability(last[where], steps[where], np.array([item], np.int32))[0]
            assert found == pytest.approx(row[item], abs=1e-12)
        for lot in lots:
            item = fitted.draw(last[where], steps[where], np.array([lot]))[0]
            assert row[item] > 0
            assert row[:item].sum() <= lot + 1e-9
            assert lot - 1e-9 <= row[: item + 1].sum()
