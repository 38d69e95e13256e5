"""Bounds from users drawn without replacement hold at every look, in and without strata, and are exact in the end."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recassay.comparison.census import Census, shares
from recassay.rng import derive

Floats = np.ndarray


def watched(parts: list[Floats], width: float, alpha: float, *, first: int = 50) -> tuple[bool, Census]:
    """Whether the true mean was within the bounds at every look, and the census when it was narrow enough."""
    sizes = np.array([part.size for part in parts])
    everyone, truth = int(sizes.sum()), float(np.concatenate(parts).mean())
    census, drawn, inside = Census(sizes, width, alpha), 0, True
    while drawn < everyone and (census.high - census.low) / 2 > width:
        begins, drawn = shares(sizes, drawn), min(everyone, max(first, int(1.3 * drawn)))
        ends = shares(sizes, drawn)
        census.draw([part[begin:end] for part, begin, end in zip(parts, begins, ends, strict=True)])
        inside &= census.low - 1e-12 <= truth <= census.high + 1e-12
    return inside, census


@pytest.mark.parametrize("strata", [1, 3])
@pytest.mark.parametrize("rare", [0.5, 0.02])
def test_bounds_hold_at_all_looks_at_once_as_often_as_they_should(strata, rare):
    alpha, trials, missed = 0.2, 300, 0
    for trial in range(trials):
        rng = derive(trial, "census", strata)
        parts = [(rng.random(400) < rare * (1 + number) / strata).astype(float) for number in range(strata)]
        missed += not watched(parts, 0.02, alpha)[0]
    assert missed <= trials * alpha + 3 * np.sqrt(trials * alpha * (1 - alpha))


def test_few_users_suffice_where_values_hardly_differ_within_strata():
    rng = derive(1, "strata")
    low, high = 0.1 + 0.02 * rng.random(20_000), 0.8 + 0.02 * rng.random(20_000)
    apart = watched([low, high], 0.01, 0.05)[1]
    together = watched([rng.permutation(np.concatenate([low, high]))], 0.01, 0.05)[1]
    assert 4 * apart.drawn.sum() < together.drawn.sum()


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30), st.integers(1, 30))
def test_everyone_drawn_is_the_mean_exactly(values, first):
    x = np.array(values)
    census = Census(np.array([x.size]), 1e-9, 0.05)
    census.draw([x[:first]])
    if first < x.size:
        assert census.low <= census.high
        census.draw([x[first:]])
    assert census.low == census.high == pytest.approx(x.mean(), abs=1e-12)


@given(st.lists(st.integers(0, 50), min_size=1, max_size=6).filter(sum), st.data())
def test_shares_are_in_proportion_and_never_more_than_there_are(sizes, data):
    sizes = np.array(sizes)
    total = data.draw(st.integers(0, int(sizes.sum())))
    found = shares(sizes, total)
    assert found.sum() == total
    assert (found <= sizes).all()
    assert (np.abs(found - sizes * total / sizes.sum()) < 1).all()
