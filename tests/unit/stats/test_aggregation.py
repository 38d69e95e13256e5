"""Aggregation rules against their definitions, written as loops."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose

from recassay.stats.aggregation import RULES, WORST_RATIO

RNG = np.random.default_rng(3)
TABLE = np.round(RNG.random((9, 5)), 1) + 0.1  # one decimal: some values tie
SYSTEMS = range(5)


def wins(table, a, b):
    return sum(1.0 if row[a] > row[b] else 0.5 if row[a] == row[b] else 0.0 for row in table)


def test_relative_mean_is_the_mean_share_of_the_best():
    assert_allclose(RULES["relative mean"].scores(TABLE), [np.mean(TABLE[:, s] / TABLE.max(axis=1)) for s in SYSTEMS])


def test_geometric_mean_is_the_root_of_the_product():
    assert_allclose(RULES["geometric mean"].scores(TABLE), TABLE.prod(axis=0) ** (1 / 9))


def test_profile_is_the_area_under_the_share_of_data_sets_within_a_ratio_of_the_best():
    ratios = TABLE.max(axis=1, keepdims=True) / TABLE
    steps = np.linspace(1, WORST_RATIO, 200_001)
    for s in SYSTEMS:
        within = np.searchsorted(np.sort(ratios[:, s]), steps, side="right") / 9
        assert_allclose(RULES["profile"].scores(TABLE)[s], within.mean(), atol=1e-5)


def test_copeland_counts_majorities():
    expected = [
        sum(1.0 if wins(TABLE, a, b) > 4.5 else 0.5 if wins(TABLE, a, b) == 4.5 else 0.0 for b in SYSTEMS if b != a)
        for a in SYSTEMS
    ]
    assert RULES["copeland"].scores(TABLE).tolist() == expected


def test_minimax_is_the_worst_defeat():
    expected = [-max(wins(TABLE, b, a) for b in SYSTEMS if b != a) for a in SYSTEMS]
    assert RULES["minimax"].scores(TABLE).tolist() == expected


def test_bradley_terry_strengths_solve_the_likelihood_equations():
    strength = RULES["bradley-terry"].scores(TABLE)
    assert_allclose(strength.sum(), 1)
    for a in SYSTEMS:
        others = [b for b in SYSTEMS if b != a]
        won = sum(wins(TABLE, a, b) + 0.5 for b in others)
        assert_allclose(won, sum(10 * strength[a] / (strength[a] + strength[b]) for b in others), rtol=1e-9)


def test_bradley_terry_orders_a_complete_table_as_mean_ranks_do():
    both = [RULES[name].scores(TABLE) for name in ("bradley-terry", "mean rank")]
    for a, b in itertools.combinations(SYSTEMS, 2):
        if both[1][a] != both[1][b]:
            assert (both[0][a] > both[0][b]) == (both[1][a] > both[1][b])


@pytest.mark.parametrize("name", RULES)
def test_less_is_better_turns_the_winner(name):
    apart = np.array([[0.1, 0.5, 0.9], [0.2, 0.4, 0.8], [0.1, 0.3, 0.7]])
    assert int(np.argmax(RULES[name].scores(apart, higher=False))) == 0
    assert int(np.argmax(RULES[name].scores(apart))) == 2


@pytest.mark.parametrize("name", ["geometric mean", "relative mean", "profile"])
def test_rules_of_ratios_are_undefined_for_negative_values(name):
    assert RULES[name].scores(TABLE - 0.5) is None


def test_a_zero_where_less_is_better_is_the_best_ratio():
    zero = np.array([[0.0, 0.5], [0.2, 0.4]])
    assert RULES["relative mean"].scores(zero, higher=False).tolist() == [1.0, 0.25]
