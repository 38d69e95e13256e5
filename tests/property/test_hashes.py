"""Hashes of compiled loops against their readable twins and against the laws they follow."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recassay.columnar import _hashes
from recassay.columnar.identity import mix

keys = st.integers(0, 2**64 - 1)


@settings(deadline=None)
@given(keys)
def test_mix_is_mix_of_an_array(key):
    assert int(_hashes.mix(np.uint64(key))) == int(mix(np.array([key], np.uint64))[0])


@settings(deadline=None)
@given(keys, st.integers(1, 2**31))
def test_whole_numbers_are_the_upper_bits_scaled(key, bound):
    assert _hashes.below(np.uint64(key), bound) == (key >> 32) * bound >> 32


@settings(deadline=None)
@given(keys)
def test_units_lie_between(key):
    assert 0 < _hashes.unit(np.uint64(key)) <= 1


def test_normal_numbers_are():
    drawn = np.array([_hashes.normal(key) for key in mix(np.arange(20_000, dtype=np.uint64))])
    assert drawn.mean() == pytest.approx(0, abs=0.03)
    assert drawn.std() == pytest.approx(1, abs=0.02)
    assert np.quantile(drawn, [0.025, 0.25, 0.75, 0.975]) == pytest.approx([-1.96, -0.674, 0.674, 1.96], abs=0.06)
