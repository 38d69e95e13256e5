"""Perplexity by position equals a loop over the true sequences, and over all positions ``seq_perplexity``."""

from collections import defaultdict

import numpy as np
import pytest

import recassay as ra
from recassay.data.synthetic import log
from recassay.models.sequence import CRF, MostPopular, NGram

from ....refusals import refused

FOLD = ra.split.random_sequences(test=0.4)(ra.split.sessions(gap=2e6)(log(users=60, items=40, events=900)))[0]
SYSTEMS = {"order": NGram(order=3), "field": CRF(iterations=5), "after": ra.models.Markov(smoothing=0.1)}


def test_perplexity_by_position_equals_a_plain_loop():
    table = ra.sequences.perplexity_by_position(FOLD, SYSTEMS, positions=4).table
    assert table["position"].to_list() == [1, 2, 3, 4] * 3
    assert table["system"].unique(maintain_order=True).to_list() == list(SYSTEMS)
    for name, model in SYSTEMS.items():
        fitted, found = ra.models.sequence.base.fitted_on_sequences(model, FOLD.train), defaultdict(list)
        histories = FOLD.test.histories
        for number in range(len(FOLD.test)):
            row = FOLD.test.items[FOLD.test.offsets[number] : FOLD.test.offsets[number + 1]]
            for place in range(1, row.size):
                prefix = type(histories)(np.array([0, place]), row[:place])
                found[place].append(-np.log2(fitted.next_probabilities(prefix)[0, row[place]]))
        own = table.filter(system=name)
        assert own["transitions"].to_list() == [len(found[place]) for place in range(1, 5)]
        assert own["perplexity"].to_list() == pytest.approx([2 ** np.mean(found[place]) for place in range(1, 5)])


def test_an_item_of_probability_zero_gives_infinite_perplexity():
    shown = ra.sequences.perplexity_by_position(FOLD, {"popular": MostPopular()}, positions=3)
    assert shown.table["perplexity"].is_infinite().all()


def test_a_system_without_probabilities_is_refused():
    with refused("U173", match="mine has no next_probabilities"):
        ra.sequences.perplexity_by_position(FOLD, {"mine": object()})
