"""G001 counts test items that training never has, and is silent where it has all of them."""

import polars as pl

import recassay as ra
from recassay.models.sequence import Unigram


def scored(lists, test):
    rows = [(number, item, number) for number, items in enumerate(lists) for item in items]
    made = ra.Sequences.from_frame(pl.DataFrame(rows, ["sequence_id", "item_id", "timestamp"], orient="row"))
    (fold,) = ra.split.latest_sequences(test=test)(made)
    return ra.score_sequences(fold, ra.generate(Unigram(), fold), interval=None)


def test_test_items_without_training_are_counted():
    (finding,) = scored(["ab", "abc", "axbyx", "zab"], test=0.5).findings
    assert (finding.code, finding.severity, finding.system) == ("G001", "info", "")
    assert finding.detail == (
        "3 of 6 (50 %) events after the first of a test sequence are of items that are in no training sequence, "
        "such as 'x'"
    )


def test_the_first_item_of_a_sequence_is_not_counted():
    assert scored(["ab", "zab"], test=0.5).findings == ()
