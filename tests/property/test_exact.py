"""Exact sums compared with fractions: any numbers, in any order and any grouping."""

import itertools
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from recassay.stats import exact_sums as exact
from recassay.stats.exact_sums import ExactSum

finite = st.floats(allow_nan=False, allow_infinity=False)
small = st.floats(-1e-300, 1e-300)  # mostly below the normal range
close = st.floats(-1, 1)
FLOATS = st.lists(finite | small | close, max_size=60)
LARGEST, SMALLEST = np.finfo(float).max, 5e-324


def bits(number):
    return np.float64(number + 0.0).tobytes()  # turns -0.0 into 0.0


def as_fraction(values):
    return sum(map(Fraction, values), Fraction())


def as_float(fraction):
    try:
        return float(fraction)
    except OverflowError:
        return math.inf if fraction > 0 else -math.inf


@settings(deadline=None)
@given(FLOATS)
@example([LARGEST, LARGEST, -LARGEST, -SMALLEST, 2.3e-308, -2.2e-308])
@example([1.0, 2.0**-53, SMALLEST])  # slightly more than half a unit in the last place
@example([-0.0])
def test_a_sum_equals_the_sum_of_fractions(values):
    wanted = as_fraction(values)
    found = ExactSum.of(values)
    assert Fraction(found.quanta, 2**1074) == wanted
    assert bits(float(found)) == bits(as_float(wanted))
    if all(abs(value) < 1e300 for value in values):
        assert float(found) == math.fsum(values)


@settings(deadline=None)
@given(FLOATS, st.randoms(use_true_random=False), st.lists(st.integers(0, 60)))
def test_the_sum_does_not_depend_on_order_or_grouping(values, random, ends):
    mixed = random.sample(values, len(values))
    edges = [0, *sorted(ends), len(mixed)]
    parts = [ExactSum.of(mixed[begin:end]) for begin, end in itertools.pairwise(edges)]
    assert sum(random.sample(parts, len(parts)), ExactSum()) == ExactSum.of(values)


@settings(deadline=None)
@given(FLOATS, FLOATS)
def test_a_quotient_is_rounded_once(top, bottom):
    above, below = as_fraction(top), as_fraction(bottom)
    found = ExactSum.of(top) / ExactSum.of(bottom)
    assert bits(found) == bits(as_float(above / below) if below else math.nan)


@pytest.mark.parametrize(
    "values",
    [[math.inf, 1.0], [-math.inf, 5.0], [math.inf, -math.inf], [-math.inf, math.inf], [math.nan, 2.0], [-math.nan]],
)
def test_infinities_and_nan_add_up_as_in_floats(values):
    with np.errstate(invalid="ignore"):
        wanted = float(np.sum(values))
    for found in (ExactSum.of(values), ExactSum.of(values[::-1]), sum(map(ExactSum.of, values), ExactSum())):
        assert bits(float(found)) == bits(wanted if math.isinf(wanted) else math.nan)
        assert (found / ExactSum.of(2.0) == wanted) is math.isinf(wanted)
        assert math.isnan(found / ExactSum())
    assert ExactSum.of(3.0) / ExactSum.of(math.inf) == 0.0


def test_sums_of_large_arrays_are_cut_into_blocks(monkeypatch):
    """Blocks add up, and arrays may have any shape and memory order."""
    values = np.random.default_rng(4).normal(size=(50, 20))
    whole = ExactSum.of(values)
    monkeypatch.setattr(exact, "TOGETHER", 7)
    assert ExactSum.of(values.T[::-1]) == whole
    assert ExactSum.of([]) == ExactSum() == ExactSum.of(np.empty((0, 3)))
    assert ExactSum.of([1, 2]) == ExactSum.of(3)


def test_adding_the_largest_significands_does_not_overflow():
    """2^20 times the largest significand has more than 64 bits, so the halves are needed."""
    values = np.full(2**20, np.nextafter(2.0, 1))
    assert ExactSum.of(values).quanta == 2**20 * (2**53 - 1) * 2**1022
    assert ExactSum.of(-values).quanta == -ExactSum.of(values).quanta


def test_pickled_sums_are_small():
    found = ExactSum.of(np.random.default_rng(3).random(100_000))
    sent = pickle.dumps(found)
    assert pickle.loads(sent) == found
    assert len(sent) < 300
