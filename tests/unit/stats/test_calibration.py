"""Calibration by simulation: tests keep their level under the null, and intervals have their coverage.

Rates over 2,000 simulated studies must be within four standard errors of the level.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from recassay.stats.intervals import intervals
from recassay.stats.resampling import ResamplingOptions
from recassay.stats.significance import CORRECTIONS, TESTS, adjust, run_test

STUDIES = 2_000
FEW = ResamplingOptions(seed=1, resamples=499)
RELIABLE_FROM = {"bootstrap": 200, "t": 15}  # units; these two are approximate for differences that are not normal


def tolerance(alpha, studies=STUDIES):
    return 4 * np.sqrt(alpha * (1 - alpha) / studies)


def null(law, n):
    """Return differences (n units, studies) with a distribution symmetric around 0."""
    rng = np.random.default_rng(n)
    if law == "normal":
        return rng.normal(size=(n, STUDIES))
    if law == "ties":
        return np.round(2 * rng.normal(size=(n, STUDIES))) / 2 - np.round(2 * rng.normal(size=(n, STUDIES))) / 2
    if law == "hits":
        return rng.integers(0, 2, (n, STUDIES)) - rng.integers(0, 2, (n, STUDIES)).astype(float)
    a, b = (rng.beta(0.3, 3, (n, STUDIES)).round(2) for _ in range(2))
    return np.where(rng.random((n, STUDIES)) < 0.5, 0.0, a - b)  # like differences of metrics: most 0, some large


@pytest.mark.parametrize("law", ["normal", "ties", "hits", "metrics"])
@pytest.mark.parametrize("n", [6, 8, 15, 200])
def test_the_false_alarm_rate_is_at_most_the_level(n, law):
    d = null(law, n)
    for name in TESTS:
        if (name == "mcnemar" and law != "hits") or n < RELIABLE_FROM.get(name, 0):
            continue
        p = run_test(name, d, FEW).p
        for alpha in (0.01, 0.05, 0.2):
            assert np.mean(p <= alpha) <= alpha + tolerance(alpha), (name, alpha)


@pytest.mark.parametrize("name", ["permutation", "t", "wilcoxon", "wilcoxon-pratt"])
@pytest.mark.parametrize("n", [15, 60])
def test_the_false_alarm_rate_equals_the_level_without_ties(name, n):
    p = run_test(name, null("normal", n), FEW).p
    for alpha in (0.01, 0.05, 0.2):
        assert abs(np.mean(p <= alpha) - alpha) <= tolerance(alpha)


def test_the_bootstrap_test_is_liberal_with_few_units_as_the_documentation_says():
    rates = {n: np.mean(run_test("bootstrap", null("normal", n), FEW).p <= 0.05) for n in (8, 40)}
    assert rates[8] > 0.08
    assert rates[8] > rates[40] > 0.05


@pytest.mark.parametrize("correction", ["holm", "bonferroni", "bh", "by"])
def test_corrections_bound_the_probability_of_any_false_alarm_among_all_pairs(correction):
    """With five equal systems, the complete null, BH bounds the probability of any false alarm too."""
    studies, n, alpha = 1_000, 30, 0.05
    assert correction in CORRECTIONS
    systems = np.random.default_rng(4).normal(size=(5, n, studies))
    pairs = itertools.combinations(systems, 2)
    p = np.array([run_test("t", a - b).p for a, b in pairs])
    alarms = np.mean([adjust(study, correction).min() <= alpha for study in p.T])
    assert alarms <= alpha + tolerance(alpha, studies)
    uncorrected = np.mean(p.min(axis=0) <= alpha)
    assert uncorrected > 3 * alpha


@pytest.mark.parametrize("n", [6, 15, 40, 200])
def test_the_t_interval_covers_normal_means_at_any_size(n):
    values = np.random.default_rng(n).normal(size=(n, STUDIES))
    low, high = intervals(values, method="normal")
    assert abs(np.mean((low <= 0) & (high >= 0)) - 0.95) <= tolerance(0.05)


@pytest.mark.parametrize("method", ["bca", "percentile", "abc"])
@pytest.mark.parametrize("law", ["normal", "exponential"])
def test_bootstrap_intervals_cover_the_mean_at_300_units(method, law):
    studies = 1_000
    draw = getattr(np.random.default_rng(5), law)
    values = draw(size=(300, studies)) - (law == "exponential")
    low, high = intervals(values, method=method, resamples=499)
    assert abs(np.mean((low <= 0) & (high >= 0)) - 0.95) <= tolerance(0.05, studies)
