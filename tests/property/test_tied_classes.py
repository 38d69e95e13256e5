"""Masses above a relevant item tied with candidates of two masses: fast sums beside the sum over every position."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from recassay.columnar.layout import readonly
from recassay.designs import _places

LOGS = np.append(0, np.cumsum(np.log(np.arange(1, 60_000, dtype=np.longdouble)))).astype(float)


def few_hits(gaps, chances, q, pool, most):
    """Return the probability of at most ``most`` hits in q draws: a mean over masses above."""
    return float(chances @ stats.binom.cdf(most, q, np.clip(gaps / pool, 0, 1)))


def every_position(number, mass, above, i, m):
    """Return the mass above the i-th of m relevant items and its probability, for every position among the tied."""
    light, heavy = np.arange(number[0] + 1), np.arange(number[1] + 1)[:, None]
    n, k = number.sum(), light + heavy
    log = LOGS[m] - LOGS[i - 1] - LOGS[m - i] - LOGS[n + m] + LOGS[number].sum()
    log = log - LOGS[light] - LOGS[number[0] - light] - LOGS[heavy] - LOGS[number[1] - heavy]
    chances = np.exp(log + LOGS[k + i - 1] + LOGS[n - k + m - i])
    return (above + light * mass[0] + heavy * mass[1]).ravel(), chances.ravel()


def compare(number, mass, i, m, q, most, above, below):
    number, mass = np.array(number), np.array(mass, float)
    tied = float(number @ mass)
    pool = tied * (1 + above + below)
    given = readonly(number), readonly(mass), above * tied, i, m, q, pool, most, readonly(LOGS)
    fast = _places.masses_above(*given)
    slow = every_position(number, mass, above * tied, i, m)
    assert few_hits(*fast, q, pool, most) == pytest.approx(few_hits(*slow, q, pool, most), abs=1e-8)


@pytest.mark.parametrize(
    "number",
    [(14_037, 79), (1_690, 112), (500, 400), (700, 700), (1_000, 990), (300, 2_500), (900, 3), (45, 45), (20_000, 1)],
)
@pytest.mark.parametrize(
    ("i", "m", "q", "most"), [(1, 1, 100, 9), (2, 3, 100, 9), (3, 4, 1_000, 9), (1, 1, 3, 2), (5, 5, 500, 99)]
)
def test_two_classes_of_a_large_catalogue(number, i, m, q, most):
    for above, below in ((0.0, 0.0), (0.1, 0.2), (0.0, 5.0)):
        compare(number, (1.0, 20.0), i, m, q, most, above, below)


@given(
    number=st.tuples(st.integers(1, 3_000), st.integers(1, 60)),
    heavier=st.floats(1.01, 300),
    m=st.integers(1, 6),
    q=st.integers(1, 1_000),
    most=st.integers(0, 100),
    above=st.sampled_from([0.0, 0.01, 0.5]),
    below=st.sampled_from([0.0, 0.3, 10.0]),
)
def test_two_classes_of_any_size(number, heavier, m, q, most, above, below):
    for i in {1, (m + 1) // 2, m}:
        compare(number, (1.0, heavier), i, m, q, most, above, below)
