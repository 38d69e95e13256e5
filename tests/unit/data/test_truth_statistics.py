"""Statistics of the truth add up over users."""

import pickle

import numpy as np
import polars as pl
import pytest

from recassay.data.truth import Truth, TruthStatistics
from recassay.errors import UsageError
from recassay.metrics.base import truth_statistics_for
from recassay.metrics.context import Context
from recassay.metrics.registry import parse_metric, parse_metrics

ROWS = {"user_id": [1, 1, 2, 3, 3, 4], "item_id": [5, 9, 9, 5, 6, 7], "gain": [1.0, 0.0, 4.0, 2.0, -1.0, 3.0]}
TRUTH = Truth.from_frame(pl.DataFrame(ROWS), negative="unjudged", origin="answers")


@pytest.mark.parametrize("cut", range(5))
def test_statistics_of_user_groups_add_up(cut):
    below = [0.5, 1.0, 2.5]
    parts = [TruthStatistics.of(TRUTH.take(np.array(users, np.int64)), below) for users in (range(cut), range(cut, 4))]
    assert pickle.loads(pickle.dumps(parts[0])) + parts[1] == TruthStatistics.of(TRUTH, below)


def test_statistics_of_a_small_truth():
    """A negative gain means unjudged, so the item does not count as judged non-relevant."""
    statistics = TruthStatistics.of(TRUTH, [1.0, 2.5])
    assert statistics == TruthStatistics(4, 4.0, {1.0: 3, 2.5: 2}, "answers")
    assert TruthStatistics.of(TRUTH.take(np.empty(0, np.int64))).max_gain == -np.inf


def test_metrics_declare_the_statistics_they_need():
    metrics = parse_metrics("ndcg@5 bpref auc(negatives='judged', relevant_from=3) auc(targets=9)")
    assert truth_statistics_for(metrics.values(), TRUTH).users_without_lower == {1.0: 3, 3.0: 2}


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("bpref", "bpref needs judged non-relevant items; 3 of 4 users have none"),
        ("err(scale=3)@5", "the truth has a gain of 4"),
        ("err(scale=2000)@5", "2^2000 is too large"),
        ("ndcg(gain='exp2', offset=-2000)@5", "2^2004 is too large; the truth has a gain of 4"),
    ],
)
def test_a_metric_rejects_a_truth_by_its_statistics(name, what):
    metric = parse_metric(name)
    with pytest.raises(UsageError) as caught:
        metric.prepare(truth_statistics_for([metric], TRUTH), Context())
    assert what in str(caught.value)


def test_the_default_scale_is_the_highest_gain():
    assert parse_metric("err@5").resolve(TruthStatistics.of(TRUTH)).scale == 4.0
    assert parse_metric("err@5").resolve(TruthStatistics.of(TRUTH.take(np.empty(0, np.int64)))).scale == 1.0
