"""Bounds of the means of all systems, from values per user."""

import math

import numpy as np
import pytest

from recassay.engine.finish import interval_bounds
from recassay.stats.intervals import Uncertainty


@pytest.mark.parametrize("method", ["bootstrap", "normal"])
def test_infinities_of_both_signs_have_no_bounds_and_give_no_warning(method):
    values = {("mine", "own"): np.array([np.inf, -np.inf, 1.0, 2.0])}
    bounds = interval_bounds(values, {}, Uncertainty(method, 0.95, 200, 0))
    assert all(math.isnan(bound) for bound in bounds["mine", "own"])
