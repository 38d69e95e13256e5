"""The ranking protocol asks every user of the test part, once, and says what is right."""

import numpy as np
import polars as pl
import pytest

from recassay import protocols
from recassay.data.fold import Fold
from recassay.data.interactions import Interactions

from ...refusals import refused

LOG = Interactions.from_frame(
    pl.DataFrame({"user_id": ["ann", "ann", "bob", "cem"], "item_id": [*"xyyz"], "rating": [5, 4, 2, 5]})
)
FOLD = Fold(LOG.take(np.array([0, 3])), LOG.take(np.array([1, 2])), "global", {})


def test_one_step_queries_every_test_user_and_reveals_nothing():
    (step,) = protocols.ranking().steps(FOLD)
    assert step.ask.ids.to_list() == ["ann", "bob"]
    assert len(step.ask) == 2
    assert step.reveal is None


def test_relevance_is_a_rating_threshold_or_every_test_rating():
    judged = protocols.ranking(relevant_from=4).truth(FOLD)
    assert judged.frame().rows() == [("ann", "y", 1.0), ("bob", "y", 0.0)]
    assert protocols.ranking().truth(FOLD).gains.tolist() == [1.0, 1.0]


def test_a_threshold_needs_ratings():
    bare = Interactions.from_frame(LOG.frame().drop("rating"))
    with refused("I307"):
        protocols.ranking(relevant_from=4).truth(Fold(bare, bare, "global", {}))


def test_a_protocol_prints_as_the_text_that_makes_it():
    assert protocols.parse("ranking(relevant_from=4, k=10)") == protocols.ranking(relevant_from=4, k=10)
    assert str(protocols.ranking(bins=0)) == "ranking(bins=0)"


@pytest.mark.parametrize("parameters", [{"k": 0}, {"bins": 1}, {"bins": -2}, {"relevant_from": "four"}])
def test_invalid_parameters_are_errors(parameters):
    with refused("U102"):
        protocols.ranking(**parameters)


def test_a_custom_protocol_must_define_the_truth():
    class Mine(protocols.UserProtocol):
        """A protocol without a truth."""

        k, bins = 10, 0

    with pytest.raises(NotImplementedError, match="must define the truth"):
        Mine().truth(FOLD)
