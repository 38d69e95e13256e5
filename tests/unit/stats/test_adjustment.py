"""Corrections for multiple comparisons: worked values and an independent implementation."""

from __future__ import annotations

import numpy as np
import pytest
from statsmodels.stats.multitest import multipletests

from recassay.stats.significance import CORRECTIONS, adjust

P = np.array([0.01, 0.04, 0.03, 0.005])


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("bonferroni", [0.04, 0.16, 0.12, 0.02]),
        ("holm", [0.03, 0.06, 0.06, 0.02]),
        ("bh", [0.02, 0.04, 0.04, 0.02]),
        ("by", [0.041667, 0.083333, 0.083333, 0.041667]),
        ("none", P),
    ],
)
def test_worked_values(method, expected):
    assert adjust(P, method) == pytest.approx(np.array(expected), abs=5e-7)


@pytest.mark.parametrize(
    ("ours", "theirs"), [("holm", "holm"), ("bonferroni", "bonferroni"), ("bh", "fdr_bh"), ("by", "fdr_by")]
)
@pytest.mark.parametrize("m", [1, 2, 45])
def test_agrees_with_statsmodels(ours, theirs, m):
    p = np.random.default_rng(m).random(m) ** 3
    assert adjust(p, ours) == pytest.approx(multipletests(p, method=theirs)[1], rel=1e-9)


@pytest.mark.parametrize("method", CORRECTIONS)
def test_undefined_p_values_do_not_count_as_comparisons(method):
    p = np.array([0.01, np.nan, 0.04])
    adjusted = adjust(p, method)
    assert np.isnan(adjusted[1])
    assert np.array_equal(adjusted[[0, 2]], adjust(p[[0, 2]], method))
    assert adjust(np.array([]), method).size == 0
