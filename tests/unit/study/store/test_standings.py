"""Standings go into the tables of a study and come back with all that designs read."""

from __future__ import annotations

import numpy as np

import recassay as ra
from recassay.data.synthetic import log
from recassay.study.store.answers import standings_of, standings_tables


def test_masses_and_candidates_of_other_users_survive_storage():
    fold = ra.split.random(test=0.2, seed=1)(log(users=40, items=30, events=300, seed=2))[0]
    made = ra.play(ra.models.Popular(), fold, ra.protocols.ranking(bins=0)).standings
    back = standings_of("again", *standings_tables(made))
    assert made.tied_masses["AI"].any()
    for base in ("AI", "TI"):
        np.testing.assert_array_equal(back.tied_masses[base], made.tied_masses[base])
        np.testing.assert_array_equal(back.pool_masses[base], made.pool_masses[base])
        np.testing.assert_array_equal(back.others[base], made.others[base])
        assert made.others[base].size == made.users - made.queries.len() > 0
