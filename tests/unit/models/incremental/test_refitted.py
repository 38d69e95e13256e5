"""Batch models that are fitted again at intervals: equality with the protocol's own refits, beside a live model."""

import numpy as np
import pytest

import recassay as ra
from recassay.data.synthetic import drifting
from recassay.errors import UsageError
from recassay.models.incremental import Refitted, StreamPopular

LOG = drifting(users=60, items=40, events=900, changes=1, seed=1)


@pytest.mark.parametrize("model", [ra.models.UserKNN(neighbours=60), ra.models.Popular()])
def test_the_values_are_those_of_a_protocol_that_refits(model):
    wrapped = ra.play(Refitted(model, every=200), LOG, ra.protocols.prequential(known="stream"))
    refitted = ra.play(model, LOG, ra.protocols.prequential(known="stream", refit=200))
    np.testing.assert_array_equal(wrapped.outcomes.event, refitted.outcomes.event)
    np.testing.assert_array_equal(wrapped.outcomes.of("recall@10"), refitted.outcomes.of("recall@10"))
    assert wrapped.outcomes.mean("recall@10") > 0


def test_a_live_model_beside_it_still_learns_every_event():
    protocol = ra.protocols.prequential(known="stream")
    live = ra.play(StreamPopular(), LOG, protocol).outcomes
    batch = ra.play(Refitted("Popular", every=200), LOG, protocol).outcomes
    np.testing.assert_array_equal(live.event, batch.event)
    assert live.mean("recall@10") > batch.mean("recall@10")


def test_blocks_of_events_do_not_matter():
    users, items = np.array([0, 0, 1, 1, 2], np.int32), np.array([0, 1, 0, 2, 3], np.int32)
    whole, single = (Refitted("Markov", every=2).start() for _ in range(2))
    whole.learn(users, items, np.ones(5))
    for row in range(5):
        single.learn(users[row : row + 1], items[row : row + 1], np.ones(1))
    for user in range(3):
        np.testing.assert_array_equal(whole.scores(user), single.scores(user))
    assert np.isneginf(whole.scores(2)).all()  # who came after the last fit
    assert np.isneginf(whole.scores(0)[3])


def test_seeds_are_added_and_wrong_models_refused():
    assert Refitted("Random(seed=3)", seed=2).batch_model().seed == 5
    assert str(Refitted(ra.models.Popular(), every=5)) == "Refitted(model='Popular', every=5)"
    with pytest.raises(UsageError, match="U102"):
        Refitted("Popular", every=0)
    with pytest.raises(UsageError, match="has no fit"):
        Refitted(f"{__file__}:Unfit")


class Unfit:
    """A model without fit."""
