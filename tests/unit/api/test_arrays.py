"""``ra.score_arrays`` and ``ra.scorer``: every form of array gives the numbers of the lists that it stands for."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import recassay as ra
from recassay.api import arrays

METRICS = "ndcg@3 recall@2 mrr@4"
RANDOM = np.random.default_rng(5)
RELEVANCE = RANDOM.integers(0, 3, (40, 12)) * (RANDOM.random((40, 12)) < 0.3)
SCORES = RANDOM.integers(0, 6, (40, 12)) / 5  # with ties


def means(scores):
    return {row.metric: row.mean for row in scores.rows}


def expected(metrics=METRICS, **options):
    run = {user: dict(enumerate(row)) for user, row in enumerate(SCORES.tolist())}
    truth = {user: dict(enumerate(row)) for user, row in enumerate(RELEVANCE.tolist())}
    return means(ra.score(run, truth, metrics, interval=None, **options))


def flat(order=slice(None)):
    users = np.repeat(np.arange(40), 12)
    return RELEVANCE.ravel()[order], SCORES.ravel()[order], users[order]


@pytest.mark.parametrize("as_type", [np.asarray, lambda table: table.tolist(), pd.DataFrame])
def test_tables(as_type):
    assert means(ra.score_arrays(as_type(RELEVANCE), as_type(SCORES), METRICS)) == pytest.approx(expected())


def test_pairs_with_ids_and_with_sizes():
    relevance, scores, users = flat()
    by_id = ra.score_arrays(relevance, scores, METRICS, groups=users, interval=None)
    by_size = ra.score_arrays(relevance, scores, METRICS, groups=[12] * 40, interval=None)
    assert means(by_id) == means(by_size) == pytest.approx(expected())
    order = RANDOM.permutation(480)
    shuffled = flat(order)
    named = pd.Series(shuffled[2]).map("q{:02}".format)
    again = ra.score_arrays(
        *shuffled[:2], METRICS, groups=named, conventions=ra.options.ConventionOptions(ties="expected")
    )
    assert means(again) == pytest.approx(expected(conventions=ra.options.ConventionOptions(ties="expected")))


@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.coo_array, sp.csc_array])
def test_sparse_matrices(kind):
    assert means(ra.score_arrays(kind(RELEVANCE), kind(SCORES + 1), METRICS)) == pytest.approx(expected())
    assert means(ra.score_arrays(kind(RELEVANCE), SCORES, METRICS)) == pytest.approx(expected())


@pytest.mark.parametrize("cells", [1, 100, 1 << 22])
def test_blocks_and_cuts_change_no_number(monkeypatch, cells):
    monkeypatch.setattr(arrays, "CELLS", cells)
    cut, whole = (ra.score_arrays(RELEVANCE, SCORES, METRICS, k=k, interval=None) for k in (None, 12))
    for metric in cut.metrics:
        np.testing.assert_array_equal(cut.values("scores", metric), whole.values("scores", metric))


def test_without_a_cut_off_lists_are_whole():
    assert means(ra.score_arrays(RELEVANCE, SCORES, "mrr map")) == pytest.approx(expected("mrr map"))


def test_users_without_a_relevant_item_are_counted():
    scores = ra.score_arrays([[1, 0], [0, 0]], [[0.9, 0.1], [0.9, 0.1]], "mrr", interval=None)
    assert (scores.rows[0].n, scores.rows[0].undefined) == (1, 1)


def test_not_a_number_is_an_error_or_last():
    table = SCORES.copy()
    table[3, 2] = np.nan
    with pytest.raises(ra.InputError, match="NaN"):
        ra.score_arrays(RELEVANCE, table, "ndcg@3")
    assert ra.score_arrays(RELEVANCE, table, "ndcg@3", columns=ra.options.ReadOptions(nan="last")).rows[0].n


@pytest.mark.parametrize(
    ("arguments", "options", "code"),
    [
        (([1, 0], [0.5, 0.4]), {}, "U105"),
        (([1, 0], [0.5]), {"groups": [2]}, "I202"),
        (([1, 0], [0.5, 0.4]), {"groups": [3]}, "I202"),
        (([[1, 0]], [[0.5, 0.4]]), {"groups": [2]}, "U105"),
        ((["a", "b"], [0.5, 0.4]), {"groups": [2]}, "I108"),
        ((np.zeros((2, 2, 2)), np.zeros((2, 2, 2))), {}, "I108"),
    ],
)
def test_refusals(arguments, options, code):
    with pytest.raises(ra.RecassayError) as caught:
        ra.score_arrays(*arguments, "mrr", **options)
    assert caught.value.code == code


class Model:
    """An estimator that predicts what it is told."""

    def __init__(self, **predictions):
        for name, values in predictions.items():
            setattr(self, name, lambda _, values=values: values)


def test_a_scorer_for_scikit_learn():
    judge = ra.scorer("ndcg@3")
    assert judge(Model(decision_function=SCORES), None, RELEVANCE) == pytest.approx(expected("ndcg@3")["ndcg@3"])
    labels = [np.column_stack([1 - column, column]) for column in SCORES.T]
    assert judge(Model(predict_proba=labels), None, RELEVANCE) == pytest.approx(expected("ndcg@3")["ndcg@3"])
    relevance, scores, users = flat()
    grouped = ra.scorer("ndcg@3", groups="qid")
    both = np.column_stack([1 - scores, scores])
    frame = pd.DataFrame({"qid": users})
    assert grouped(Model(predict_proba=both), frame, relevance) == pytest.approx(expected("ndcg@3")["ndcg@3"])
    assert ra.scorer("mae", groups="qid")(Model(predict=scores), frame, relevance) < 0
