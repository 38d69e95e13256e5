"""G001 counts test items that training never has, and is silent where it has all of them."""

import numpy as np
import polars as pl
import pytest
from scipy.sparse import csr_array

import recassay as ra
from recassay.data.generated import Generated
from recassay.models.sequence import Unigram


def scored(lists, test):
    rows = [(number, item, number) for number, items in enumerate(lists) for item in items]
    made = ra.sequences.Sequences.from_frame(pl.DataFrame(rows, ["sequence_id", "item_id", "timestamp"], orient="row"))
    (fold,) = ra.split.latest_sequences(test=test)(made)
    return ra.sequences.score_sequences(fold, ra.sequences.generate(Unigram(), fold), interval=None)


def test_test_items_without_training_are_counted():
    (finding,) = scored(["ab", "abc", "axbyx", "zab"], test=0.5).findings
    assert (finding.code, finding.severity, finding.system) == ("G001", "info", "")
    assert finding.detail == (
        "3 of 6 (50 %) events after the first of a test sequence are of items that are in no training sequence, "
        "such as 'x'"
    )


def test_the_first_item_of_a_sequence_is_not_counted():
    assert scored(["ab", "zab"], test=0.5).findings == ()


def diverse(similarities):
    frame = pl.DataFrame({"sequence_id": [1, 1, 1, 2, 2], "item_id": [*"abcab"], "timestamp": range(5)})
    (fold,) = ra.split.latest_sequences(test=0.5)(ra.sequences.Sequences.from_frame(frame))
    lists = Generated("mine", np.array([[0, 1, 2]]), np.full((1, 3), 0.5), np.array([1.0]), seed=0)
    metric = "seq_diversity(similarity='given')@3"
    return ra.sequences.score_sequences(fold, lists, metric, similarities=similarities, interval=None).findings


@pytest.mark.parametrize(("pairs", "severity", "said"), [("ab", "warning", "1 of 3"), ("ab bc", "info", "2 of 3")])
def test_pairs_without_a_given_similarity_are_counted(pairs, severity, said):
    rows = [(*pair, 0.0) for pair in pairs.split()]  # a listed 0 is given
    (finding,) = diverse(pl.DataFrame(rows, ["item_id", "other_id", "similarity"], orient="row"))
    assert (finding.code, finding.severity, said in finding.detail) == ("G002", severity, True)


@pytest.mark.parametrize("given", [np.eye(3), csr_array(np.full((3, 3), 0.5))])
def test_a_matrix_of_all_pairs_has_no_finding(given):
    assert diverse(given) == ()
