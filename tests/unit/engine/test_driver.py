"""The driver is the one loop that asks and reveals: protocols are the steps that it takes."""

import numpy as np

import recassay as ra
from recassay.data.synthetic import log
from recassay.engine.driver import drive
from recassay.models.incremental import StreamPopular
from recassay.protocols import next_item, prequential, ranking
from recassay.protocols.base import Step

FOLD = ra.split.last(n=1)(log(users=60, items=40, events=1_200, seed=4))[0]


class Notes:
    """A system that notes what it is asked and what it learns."""

    def __init__(self):
        self.notes = []

    def answer(self, ask):
        self.notes.append(("answer", ask))
        return ask

    def learn(self, reveal):
        self.notes.append(("learn", reveal))


def test_a_step_asks_first_and_reveals_afterwards():
    system = Notes()
    answers = list(drive(system, [Step(reveal="a"), Step(ask=1, reveal="b"), Step(ask=2)]))
    assert answers == [1, 2]
    assert system.notes == [("learn", "a"), ("answer", 1), ("learn", "b"), ("answer", 2)]


def hits(fold, protocol):
    """Whether the item that each user took next is among the five best, by user."""
    model = StreamPopular()
    if protocol.name == "prequential":
        outcomes = ra.play(model, fold, protocol, metrics="hit@5").outcomes
        return dict(zip(outcomes.users.to_list(), outcomes.of("hit@5").tolist(), strict=True))
    scores = ra.score(ra.play(ra.models.Popular(), fold, protocol), fold, "hit@5", interval=None)
    return dict(zip(scores.units.to_list(), scores.values("Popular", "hit@5").tolist(), strict=True))


def test_next_item_is_a_stream_that_learns_nothing_after_training():
    """The window of a query is the one event that follows, and no update comes after it."""
    stream = hits(FOLD, prequential(at=5, learn_until=0, candidates="all"))
    assert stream == hits(FOLD, next_item())
    assert 0 < np.mean(list(stream.values())) < 1


def test_ranking_is_a_stream_of_one_window():
    """All that a user takes in the test part comes after one query; where that is one item, the ranking is the same."""
    assert hits(FOLD, ranking(bins=0)) == hits(FOLD, prequential(at=5, batch=len(FOLD.test), candidates="all"))
