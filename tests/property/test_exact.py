"""Exact sums against fractions: any numbers, in any order, however they are cut."""

import itertools
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from recassay.data import exact
from recassay.data.exact import Exact

finite = st.floats(allow_nan=False, allow_infinity=False)
small = st.floats(-1e-300, 1e-300)  # mostly below the normal range
close = st.floats(-1, 1)
FLOATS = st.lists(finite | small | close, max_size=60)
LARGEST, SMALLEST = np.finfo(float).max, 5e-324


def bits(number):
    return np.float64(number + 0.0).tobytes()  # there is but one zero


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
@example([1.0, 2.0**-53, SMALLEST])  # half a unit in the last place, and a trifle more
@example([-0.0])
def test_a_sum_is_that_of_fractions(values):
    wanted = as_fraction(values)
    found = Exact.of(values)
    assert Fraction(found.quanta, 2**1074) == wanted
    assert bits(float(found)) == bits(as_float(wanted))
    if all(abs(value) < 1e300 for value in values):
        assert float(found) == math.fsum(values)


@settings(deadline=None)
@given(FLOATS, st.randoms(use_true_random=False), st.lists(st.integers(0, 60)))
def test_any_order_and_any_cut(values, random, ends):
    mixed = random.sample(values, len(values))
    edges = [0, *sorted(ends), len(mixed)]
    parts = [Exact.of(mixed[begin:end]) for begin, end in itertools.pairwise(edges)]
    assert sum(random.sample(parts, len(parts)), Exact()) == Exact.of(values)


@settings(deadline=None)
@given(FLOATS, FLOATS)
def test_a_quotient_is_rounded_once(top, bottom):
    above, below = as_fraction(top), as_fraction(bottom)
    found = Exact.of(top) / Exact.of(bottom)
    assert bits(found) == bits(as_float(above / below) if below else math.nan)


@pytest.mark.parametrize(
    "values",
    [[math.inf, 1.0], [-math.inf, 5.0], [math.inf, -math.inf], [-math.inf, math.inf], [math.nan, 2.0], [-math.nan]],
)
def test_what_is_no_number_adds_up_as_in_floats(values):
    with np.errstate(invalid="ignore"):
        wanted = float(np.sum(values))
    for found in (Exact.of(values), Exact.of(values[::-1]), sum(map(Exact.of, values), Exact())):
        assert bits(float(found)) == bits(wanted if math.isinf(wanted) else math.nan)
        assert (found / Exact.of(2.0) == wanted) is math.isinf(wanted)
        assert math.isnan(found / Exact())
    assert Exact.of(3.0) / Exact.of(math.inf) == 0.0


def test_as_many_values_as_there_are(monkeypatch):
    """Blocks add up, and any array is taken as it lies."""
    values = np.random.default_rng(4).normal(size=(50, 20))
    whole = Exact.of(values)
    monkeypatch.setattr(exact, "TOGETHER", 7)
    assert Exact.of(values.T[::-1]) == whole
    assert Exact.of([]) == Exact() == Exact.of(np.empty((0, 3)))
    assert Exact.of([1, 2]) == Exact.of(3)


def test_halves_have_room_for_the_largest_significands():
    """The largest significand 2^20 times leaves 53 bits behind."""
    values = np.full(2**20, np.nextafter(2.0, 1))
    assert Exact.of(values).quanta == 2**20 * (2**53 - 1) * 2**1022
    assert Exact.of(-values).quanta == -Exact.of(values).quanta


def test_sums_travel_light():
    found = Exact.of(np.random.default_rng(3).random(100_000))
    sent = pickle.dumps(found)
    assert pickle.loads(sent) == found
    assert len(sent) < 300
