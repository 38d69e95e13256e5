"""Users needed: statsmodels, simulation, and what the rows say."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
import scipy.stats
from statsmodels.stats.power import TTestPower

from recassay.api.compare import compare
from recassay.comparison.power import detectable, power_of_t, users_for, users_needed
from recassay.errors import UsageError
from recassay.results.scores import Scores


def scores(**values):
    per_unit = {(name, "mrr"): np.asarray(one, float) for name, one in values.items()}
    return Scores(pl.Series(range(len(next(iter(values.values()))))), tuple(values), ("mrr",), per_unit)


@pytest.mark.parametrize("alpha", [0.05, 0.01, 0.05 / 45])
@pytest.mark.parametrize("effect", [0.02, 0.1, 0.3, 0.5, 1.0])
def test_agrees_with_statsmodels(effect, alpha):
    other = TTestPower()
    for n in (3, 10, 40, 300):
        found, theirs = power_of_t(n, effect, alpha), other.power(effect, n, alpha)
        if np.isnan(theirs):  # the chance of the wrong direction is too small for it
            theirs = scipy.stats.nct.sf(scipy.stats.t.isf(alpha / 2, n - 1), n - 1, effect * np.sqrt(n))
        assert found == pytest.approx(theirs, abs=1e-9)
    for chance in (0.8, 0.95):
        wanted = other.solve_power(effect, power=chance, alpha=alpha)
        assert users_for(effect, alpha, chance) == pytest.approx(np.ceil(wanted), abs=1, rel=1e-6)


def test_fewest_users_and_the_smallest_effect_are_each_others_inverse():
    for n in (5, 34, 400, 40_000):
        effect = detectable(n, 0.05, 0.8)
        assert users_for(effect * (1 + 1e-6), 0.05, 0.8) in (n, n + 1, n + 2)
        assert power_of_t(min(n, 5_000), detectable(min(n, 5_000), 0.05, 0.8), 0.05) == pytest.approx(0.8, abs=2e-3)


def test_a_row_says_what_is_there_and_what_is_needed():
    rng = np.random.default_rng(2)
    base = rng.normal(0.3, 0.1, 500)
    given = scores(a=base + rng.normal(0.01, 0.05, 500), b=base, c=base)
    found = users_needed(given, baseline="b", correction="none")
    row, none = found.rows
    d = given.values("a", "mrr") - given.values("b", "mrr")
    assert (row.difference, row.sd, row.n) == pytest.approx((d.mean(), d.std(ddof=1), 500))
    assert row.users == users_for(abs(d.mean()) / d.std(ddof=1), 0.05, 0.8)
    assert row.enough == (row.users <= 500)
    assert (none.users, none.enough) == (None, False)  # c is b: no number of users tells them apart
    assert compare(given, baseline="b").rows[0].n == row.n
    assert found.frame().height == 2
    assert "overstates" in found.assumptions
    assert found.to_dicts()[1]["users"] is None


def test_more_pairs_need_more_users():
    rng = np.random.default_rng(2)
    given = scores(**{name: rng.normal(0.3, 0.1, 90) for name in "abcd"})
    alone, corrected = (users_needed(given, wanted=0.02, correction=one).rows[0] for one in ("none", "holm"))
    assert corrected.per_comparison == pytest.approx(0.05 / 6)
    assert corrected.users > alone.users
    assert corrected.detectable > alone.detectable


def test_what_makes_no_sense_is_refused():
    given = scores(a=[1, 2], b=[2, 1])
    for options in ({"wanted": 0}, {"wanted": float("nan")}, {"chance": 1}, {"level": 0}):
        with pytest.raises(UsageError, match="U102"):
            users_needed(given, **options)
