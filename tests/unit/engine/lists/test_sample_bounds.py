"""Bounds from a sample without replacement hold at every sample size, with or without strata, and end exact."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recassay.engine.lists.until import SampleBounds, proportional_shares
from recassay.rng import derive

Floats = np.ndarray


def draw_until_narrow(
    strata: list[Floats], width: float, alpha: float, *, first: int = 50
) -> tuple[bool, SampleBounds]:
    """Return whether the true mean was within the bounds at every sample size, and the final bounds."""
    sizes = np.array([stratum.size for stratum in strata])
    users, truth = int(sizes.sum()), float(np.concatenate(strata).mean())
    bounds, drawn, inside = SampleBounds(sizes, width, alpha), 0, True
    while drawn < users and (bounds.high - bounds.low) / 2 > width:
        begins, drawn = proportional_shares(sizes, drawn), min(users, max(first, int(1.3 * drawn)))
        ends = proportional_shares(sizes, drawn)
        bounds.add([stratum[begin:end] for stratum, begin, end in zip(strata, begins, ends, strict=True)])
        inside &= bounds.low - 1e-12 <= truth <= bounds.high + 1e-12
    return inside, bounds


@pytest.mark.parametrize("strata", [1, 3])
@pytest.mark.parametrize("rare", [0.5, 0.02])
def test_bounds_hold_at_all_sample_sizes_with_the_promised_probability(strata, rare):
    alpha, trials, missed = 0.2, 300, 0
    for trial in range(trials):
        rng = derive(trial, "census", strata)
        parts = [(rng.random(400) < rare * (1 + number) / strata).astype(float) for number in range(strata)]
        missed += not draw_until_narrow(parts, 0.02, alpha)[0]
    assert missed <= trials * alpha + 3 * np.sqrt(trials * alpha * (1 - alpha))


def test_few_users_suffice_where_values_hardly_differ_within_strata():
    rng = derive(1, "strata")
    low, high = 0.1 + 0.02 * rng.random(20_000), 0.8 + 0.02 * rng.random(20_000)
    stratified = draw_until_narrow([low, high], 0.01, 0.05)[1]
    unstratified = draw_until_narrow([rng.permutation(np.concatenate([low, high]))], 0.01, 0.05)[1]
    assert 4 * stratified.drawn.sum() < unstratified.drawn.sum()


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30), st.integers(1, 30))
def test_bounds_equal_the_mean_once_all_users_are_drawn(values, first):
    x = np.array(values)
    bounds = SampleBounds(np.array([x.size]), 1e-9, 0.05)
    bounds.add([x[:first]])
    if first < x.size:
        assert bounds.low <= bounds.high
        bounds.add([x[first:]])
    assert bounds.low == bounds.high == pytest.approx(x.mean(), abs=1e-12)


@given(st.lists(st.integers(0, 50), min_size=1, max_size=6).filter(sum), st.data())
def test_shares_are_proportional_and_at_most_the_size_of_the_stratum(sizes, data):
    sizes = np.array(sizes)
    total = data.draw(st.integers(0, int(sizes.sum())))
    found = proportional_shares(sizes, total)
    assert found.sum() == total
    assert (found <= sizes).all()
    assert (np.abs(found - sizes * total / sizes.sum()) < 1).all()
