"""Properties of intervals, tests, corrections and effect sizes that hold for any numbers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from recassay.stats.differences import EFFECTS
from recassay.stats.intervals import METHODS, intervals, means
from recassay.stats.resampling import ResamplingOptions
from recassay.stats.significance import CORRECTIONS, TESTS, adjust, run_test

UNIT = st.integers(0, 64).map(lambda i: i / 64)  # sums of these are exact, so results can be compared for equality
COLUMN = st.integers(2, 40).flatmap(lambda n: arrays(np.float64, n, elements=UNIT))
PAIR = st.integers(2, 40).flatmap(lambda n: arrays(np.float64, (n, 2), elements=UNIT))
QUICK = settings(max_examples=40, deadline=None)
FEW = ResamplingOptions(seed=3, resamples=299)


@pytest.mark.parametrize("method", METHODS)
@given(values=COLUMN)
@QUICK
def test_bounds_enclose_the_mean_and_widen_with_the_level(method, values):
    def bounds(level):
        return np.ravel(intervals(values[:, None], method=method, level=level, resamples=499))

    (low, high), (lower, higher) = bounds(0.8), bounds(0.99)
    assert lower <= low <= high <= higher
    if method in {"normal", "abc"}:
        assert low <= means(values[:, None])[0] <= high
    if method in {"bca", "percentile"}:
        assert values.min() <= lower
        assert higher <= values.max()


@pytest.mark.parametrize("method", METHODS)
@given(values=COLUMN, shift=st.integers(-4, 4))
@QUICK
def test_bounds_shift_and_scale_with_the_values(method, values, shift):
    plain = np.ravel(intervals(values[:, None], method=method, resamples=499))
    moved = np.ravel(intervals(4 * values[:, None] + shift, method=method, resamples=499))
    assert moved == pytest.approx(4 * plain + shift, abs=1e-9)


@pytest.mark.parametrize("test", [name for name in TESTS if name != "mcnemar"])
@given(d=COLUMN, turn=st.booleans())
@QUICK
def test_p_is_in_its_range_and_two_sided(test, d, turn):
    d = d - 0.5 if turn else d - d.mean().round(1)
    p = run_test(test, d[:, None], FEW).p[0]
    assert 0 < p <= 1
    assert run_test(test, -d[:, None], FEW).p[0] == pytest.approx(p, rel=1e-9)


@pytest.mark.parametrize("test", ["t", "wilcoxon", "wilcoxon-pratt", "sign"])
@given(d=COLUMN, seed=st.integers(0, 99))
@QUICK
def test_the_order_of_the_units_does_not_matter(test, d, seed):
    d = d - 0.25
    shuffled = np.random.default_rng(seed).permutation(d)
    assert run_test(test, shuffled[:, None]).p[0] == pytest.approx(run_test(test, d[:, None]).p[0], rel=1e-9)


@pytest.mark.parametrize("method", CORRECTIONS)
@given(p=st.lists(st.floats(1e-9, 1), min_size=1, max_size=30).map(np.array))
@QUICK
def test_corrections_never_lower_p_and_keep_the_order(method, p):
    adjusted = adjust(p, method)
    assert (adjusted >= p * (1 - 1e-12)).all()
    assert (adjusted <= 1).all()
    assert (np.diff(adjusted[np.argsort(p)]) >= -1e-12).all()


@given(p=st.lists(st.floats(1e-9, 1), min_size=1, max_size=30).map(np.array))
@QUICK
def test_corrections_are_ordered_by_strictness(p):
    bound = 1 + 1e-12
    assert (adjust(p, "bh") <= adjust(p, "holm") * bound).all()
    assert (adjust(p, "holm") <= adjust(p, "bonferroni") * bound).all()
    assert (adjust(p, "bh") <= adjust(p, "by") * bound).all()


@given(pair=PAIR)
@QUICK
def test_effect_sizes_stay_in_their_range(pair):
    a, b = pair.T
    sizes = {name: effect(a, b) for name, effect in EFFECTS.items()}
    assert -1 <= sizes["cliff"] <= 1
    assert sizes["a12"] == (sizes["cliff"] + 1) / 2
    assert np.isnan(sizes["rank_biserial"]) or -1 <= sizes["rank_biserial"] <= 1
    direction = np.sign(round((a - b).mean(), 12))
    assert all(np.isnan(sizes[name]) or np.sign(round(sizes[name], 12)) == direction for name in ("d_z", "relative"))
