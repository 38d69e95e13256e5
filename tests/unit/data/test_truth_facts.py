"""What metrics must know of the whole truth adds up over users."""

import pickle

import numpy as np
import polars as pl
import pytest

from recassay.data.truth import Truth
from recassay.data.truth_facts import TruthFacts
from recassay.errors import UsageError
from recassay.metrics.base import facts_for
from recassay.metrics.context import Context
from recassay.metrics.registry import parse_metric, parse_metrics

ROWS = {"user_id": [1, 1, 2, 3, 3, 4], "item_id": [5, 9, 9, 5, 6, 7], "gain": [1.0, 0.0, 4.0, 2.0, -1.0, 3.0]}
TRUTH = Truth.from_frame(pl.DataFrame(ROWS), negative="unjudged", origin="answers")


@pytest.mark.parametrize("cut", range(5))
def test_facts_add_up(cut):
    below = [0.5, 1.0, 2.5]
    parts = [TruthFacts.of(TRUTH.take(np.array(users, np.int64)), below) for users in (range(cut), range(cut, 4))]
    assert pickle.loads(pickle.dumps(parts[0])) + parts[1] == TruthFacts.of(TRUTH, below)


def test_what_is_counted():
    """A negative gain is unjudged: it is no item that was judged wrong."""
    facts = TruthFacts.of(TRUTH, [1.0, 2.5])
    assert facts == TruthFacts(4, 4.0, {1.0: 3, 2.5: 2}, "answers")
    assert TruthFacts.of(TRUTH.take(np.empty(0, np.int64))).greatest == -np.inf


def test_metrics_say_what_they_must_know():
    asked = parse_metrics("ndcg@5 bpref auc(negatives='judged', relevant_from=3) auc(targets=9)")
    assert facts_for(asked.values(), TRUTH).lacking == {1.0: 3, 3.0: 2}


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("bpref", "bpref needs judged non-relevant items; 3 of 4 users have none"),
        ("err(scale=3)@5", "the truth has a gain of 4"),
        ("err(scale=2000)@5", "2^2000 is no number"),
        ("ndcg(gain='exp2', offset=-2000)@5", "2^2004 is no number; the truth has a gain of 4"),
    ],
)
def test_a_metric_refuses_a_truth_by_its_facts(name, what):
    metric = parse_metric(name)
    with pytest.raises(UsageError) as refused:
        metric.prepare(facts_for([metric], TRUTH), Context())
    assert what in str(refused.value)


def test_a_scale_is_the_greatest_gain():
    assert parse_metric("err@5").resolve(TruthFacts.of(TRUTH)).scale == 4.0
    assert parse_metric("err@5").resolve(TruthFacts.of(TRUTH.take(np.empty(0, np.int64)))).scale == 1.0
