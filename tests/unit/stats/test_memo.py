"""Remembered results of resampling have the bits of computed ones, whatever was computed together."""

import numpy as np
import pytest

from recassay.stats.differences import Differences
from recassay.stats.intervals import intervals
from recassay.stats.resampling import ResamplingOptions, digest_of, remembering
from recassay.stats.significance import run_test

RNG = np.random.default_rng(3)
COLUMNS = RNG.random((40, 6))
COLUMNS[:, 4] = 0.5  # no variance
WEIGHTS = RNG.integers(0, 3, (40, 6)).astype(float)
PAIRS = np.array([[0, 1], [0, 2], [1, 2], [3, 0], [4, 5]])


@pytest.mark.parametrize("weights", [None, WEIGHTS, np.repeat(WEIGHTS[:, :1], 6, axis=1)])
@pytest.mark.parametrize("method", ["bca", "percentile", "abc"])
def test_intervals_of_new_columns_join_those_that_are_remembered(weights, method):
    how = {"method": method, "resamples": 300, "seed": 5}
    alone = np.array(intervals(COLUMNS, weights, **how))
    with remembering({}) as memo:
        first = intervals(COLUMNS[:, :3], None if weights is None else weights[:, :3], **how)
        whole = np.array(intervals(COLUMNS, weights, **how))
    assert np.array_equal(whole, alone)
    assert np.array_equal(np.array(first), alone[:, :3])
    assert (memo.taken, memo.computed) == ((3, 6) if method != "abc" else (0, 0))
    with remembering(memo.used) as later:
        assert np.array_equal(intervals(COLUMNS, weights, **how), alone)
    assert later.computed == 0


@pytest.mark.parametrize("test", ["permutation", "bootstrap", "t", "wilcoxon"])
def test_tests_of_new_pairs_join_those_that_are_remembered(test):
    options = ResamplingOptions(seed=2, resamples=500)
    alone = run_test(test, Differences(COLUMNS, PAIRS), options)
    with remembering({}) as memo:
        run_test(test, Differences(COLUMNS[:, :3], PAIRS[:3]), options)
        whole = run_test(test, Differences(COLUMNS, PAIRS), options)
    assert np.array_equal(whole.p, alone.p)
    assert whole.resamples == alone.resamples
    assert (memo.taken, memo.computed) == ((3, 5) if test in ("permutation", "bootstrap") else (0, 0))


def test_a_changed_value_seed_or_order_is_another_result():
    with remembering({}) as memo:
        for values, seed in ((COLUMNS, 0), (COLUMNS, 1), (COLUMNS[::-1], 0), (np.nextafter(COLUMNS, 1), 0)):
            intervals(values[:, :1], method="bca", resamples=100, seed=seed)
    assert (memo.taken, memo.computed) == (0, 4)


def test_a_digest_separates_its_parts():
    assert digest_of("a", "bc") != digest_of("ab", "c")
    assert digest_of(COLUMNS[:, 0]) == digest_of(COLUMNS[:, 0].copy())


def test_differences_can_be_taken_with_their_columns():
    whole = Differences(COLUMNS, PAIRS, np.arange(6.0))
    some = whole.take([4, 1])
    assert some.columns.shape == (40, 4)
    assert np.array_equal(some.matrix, whole.matrix[:, [4, 1]])
    assert np.array_equal(some.scale, whole.scale[[4, 1]])
    assert np.array_equal(Differences(COLUMNS).take([5, 2]).matrix, COLUMNS[:, [5, 2]])
