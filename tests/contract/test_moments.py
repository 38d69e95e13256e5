"""Means and intervals from sums over parts: the same bits for any cut and any order, and what the values give."""

import functools
import itertools
import operator
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recassay.engine.finish import standard_error
from recassay.stats.intervals import bounds_from_moments, intervals, means
from recassay.stats.moments import InfluenceSums, Totals

from ..examples import examples

shares = st.floats(0, 1, allow_subnormal=False) | st.sampled_from([0.0, 0.5, 1.0])
anything = st.floats(-1e6, 1e6)
weight = st.integers(0, 4).map(float) | st.floats(0.01, 50)
UNITS = st.lists(st.tuples(shares, weight), max_size=50) | st.lists(st.tuples(anything, weight), max_size=20)
CUTS = st.lists(st.integers(0, 50), max_size=8)
METHODS = ("abc", "normal")


def columns(units, weighted):
    values, weights = np.array(units, float).reshape(-1, 2).T
    return values.copy(), weights.copy() if weighted else None


def parts(values, weights, edges):
    for begin, end in itertools.pairwise([0, *edges, values.size]):
        yield values[begin:end], None if weights is None else weights[begin:end]


def from_parts(cut):
    """Both passes over the parts of a cut, each of which may be made elsewhere."""
    cut = list(cut)
    totals = functools.reduce(operator.add, (Totals.of(*part) for part in cut))
    totals = pickle.loads(pickle.dumps(totals))
    spread = functools.reduce(operator.add, (InfluenceSums.of(*part, totals) for part in cut))
    return totals, pickle.loads(pickle.dumps(spread))


def finished(totals, spread):
    """Everything that is read from sums."""
    bounds = [bounds_from_moments(totals, spread, method=method, level=0.95) for method in METHODS]
    return np.array([totals.mean, totals.unweighted_mean, *itertools.chain(*bounds), spread.moments.standard_error])


@settings(deadline=None, max_examples=examples(150))
@given(UNITS, st.booleans(), CUTS, st.randoms(use_true_random=False))
def test_no_cut_and_no_order_changes_a_bit(units, weighted, cuts, random):
    whole = from_parts([columns(units, weighted)])
    cut = list(parts(*columns(random.sample(units, len(units)), weighted), sorted(cuts)))
    some = from_parts(random.sample(cut, len(cut)))
    assert some[0] == whole[0]
    assert repr(some[1]) == repr(whole[1])  # of nobody the mean is NaN, which is not equal to itself
    assert finished(*some).tobytes() == finished(*whole).tobytes()


@settings(deadline=None, max_examples=examples(200))
@given(UNITS, st.booleans(), st.sampled_from([0.5, 0.8, 0.95]))
def test_what_sums_tell_is_what_values_tell(units, weighted, level):
    values, weights = columns(units, weighted)
    totals, spread = from_parts([(values, weights)])
    size = 1e-12 * np.abs(values).max(initial=0.0)
    weighed = None if weights is None else weights[:, None]
    assert totals.mean == pytest.approx(means(values[:, None], weighed)[0], rel=1e-12, abs=size, nan_ok=True)
    assert totals.unweighted_mean == pytest.approx(means(values[:, None])[0], rel=1e-12, abs=size, nan_ok=True)
    tame = (
        abs(spread.moments.acceleration) < 0.1 and abs(spread.moments.curvature) < 0.1
    )  # else abc divides by almost nothing
    for method in METHODS if tame else ["normal"]:
        wanted = np.ravel(intervals(values[:, None], weighed, method=method, level=level))
        found = bounds_from_moments(totals, spread, method=method, level=level)
        assert found == pytest.approx(tuple(wanted), rel=1e-12, abs=size, nan_ok=True)
    plain = InfluenceSums.of(values, None, totals)
    assert plain.moments.standard_error == pytest.approx(standard_error(values), rel=1e-12, abs=size)


@pytest.mark.parametrize("weighted", [False, True])
def test_many_users_in_many_parts(weighted):
    """A quarter of a million, most of them without a hit, as metrics have them."""
    random = np.random.default_rng(5)
    values = np.where(random.random(250_000) < 0.7, 0.0, random.random(250_000))
    weights = random.integers(0, 30, values.size).astype(float) if weighted else None
    whole = from_parts([(values, weights)])
    order = random.permutation(values.size)
    mixed = parts(values[order], None if weights is None else weights[order], np.sort(random.integers(0, 250_000, 99)))
    assert finished(*from_parts(mixed)).tobytes() == finished(*whole).tobytes()
    wanted = intervals(values[:, None], None if weights is None else weights[:, None])
    found = bounds_from_moments(*whole, method="bootstrap", level=0.95)
    assert found == pytest.approx(tuple(np.ravel(wanted)), rel=1e-12)
    assert whole[0].mean == pytest.approx(np.average(values, weights=weights), rel=1e-12)
