"""Agreement of orders, held to scipy resample by resample."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
import scipy.stats

from recassay.comparison.consistency import consistency
from recassay.errors import UsageError
from recassay.results.score_set import Place, ScoreSet
from recassay.results.scores import Scores, Summary
from recassay.rng import derive_seed
from recassay.stats.resampling import ResamplingOptions, bootstrap_sums

SYSTEMS = ("a", "b", "c", "d")


def scores(seed, metrics=("mrr", "hit@10"), n=60, users=None, weights=False, higher=True):
    rng = np.random.default_rng(seed)
    strength = {name: 0.05 * i for i, name in enumerate(SYSTEMS)}
    values = {(s, m): rng.normal(0.5 + strength[s], 0.4, n).round(2) for m in metrics for s in SYSTEMS}
    values[SYSTEMS[0], metrics[0]][:3] = np.nan
    own = {key: rng.integers(1, 4, n).astype(float) for key in values} if weights else {}
    rows = tuple(Summary(s, m, 0.0, n, 0, 0, 0, 0, higher_is_better=higher) for m in metrics for s in SYSTEMS)
    return Scores(pl.Series(range(n) if users is None else users), SYSTEMS, metrics, values, own, rows)


def resampled_means(given, metric, counts):
    out = []
    for system in given.systems:
        values, weights = given.values(system, metric), given.weights(system, metric)
        w = np.where(np.isnan(values), 0.0, 1.0 if weights is None else weights)
        out.append((counts @ (w * np.nan_to_num(values))) / (counts @ w))
    return np.array(out).T


@pytest.mark.parametrize("weights", [False, True])
def test_taus_and_swaps_resample_by_resample(weights):
    given = scores(3, weights=weights)
    found = consistency(given, resamples=200, seed=9)
    counts = bootstrap_sums(np.eye(60), 200, ResamplingOptions(derive_seed(9, "consistency", "given"), 200)).T
    left, right = (resampled_means(given, metric, counts) for metric in given.metrics)
    one, other = (resampled_means(given, metric, np.ones((1, 60)))[0] for metric in given.metrics)
    row = found.rows[0]
    assert row.tau == pytest.approx(scipy.stats.kendalltau(one, other).statistic, abs=1e-12)
    taus = [scipy.stats.kendalltau(*pair).statistic for pair in zip(left, right, strict=True)]
    assert (row.low, row.high) == pytest.approx(np.quantile(taus, [0.025, 0.975]), abs=1e-12)
    swaps = {(swap.ahead, swap.behind): swap for swap in found.swaps}
    expected = {
        (SYSTEMS[i], SYSTEMS[j]): np.mean((left[:, i] > left[:, j]) & (right[:, i] < right[:, j]))
        for i in range(4)
        for j in range(4)
        if one[i] > one[j] and other[i] < other[j]
    }
    assert {key: swap.share for key, swap in swaps.items()} == pytest.approx(expected)
    assert row.swaps == len(expected)


def test_a_metric_of_which_less_is_better_is_turned():
    up = scores(3, metrics=("mrr",))
    values = {("rmse" if m == "mrr" else m, s): 1 - one for (s, m), one in up.per_unit.items()}
    rows = tuple(Summary(s, "rmse", 0.0, 60, 0, 0, 0, 0, higher_is_better=False) for s in SYSTEMS)
    both = Scores(
        up.units, SYSTEMS, ("mrr", "rmse"), {**up.per_unit, **{(s, m): one for (m, s), one in values.items()}},
        rows=(*up.rows, *rows),
    )  # fmt: skip
    found = consistency(both, resamples=50)
    assert (found.rows[0].tau, found.rows[0].low, found.swaps) == (1.0, 1.0, ())


def test_places_of_one_data_set_draw_the_same_users():
    """Equal values under two designs agree in every resample, also where one design knows fewer users."""
    whole = scores(3, metrics=("mrr",))
    given = ScoreSet({Place("x", design="P1R"): whole, Place("x", design="U1R"): whole})
    assert consistency(given, resamples=100).rows[0].low == 1.0
    apart = ScoreSet({Place("x"): whole, Place("y"): whole})
    assert consistency(apart, resamples=100).rows[0].low < 1.0


def test_along_says_which_and_settings_are_named():
    given = ScoreSet({Place("x", design=design, seed=seed): scores(seed) for design in "PU" for seed in (1, 2)})
    found = consistency(given, resamples=20)
    assert {row.along for row in found.rows} == {"metric", "design", "seed"}
    assert {row.setting for row in consistency(given, along="design", resamples=20).rows} == {
        "1, mrr", "1, hit@10", "2, mrr", "2, hit@10",
    }  # fmt: skip
    assert found.frame().height == len(found.rows) == 4 + 4 + 4
    assert found.to_dict()["resamples"] == 20


def test_one_order_alone_agrees_with_nothing():
    alone = scores(3, metrics=("mrr",))
    for along in (None, "metric", "design", "user"):
        with pytest.raises(UsageError, match="U215"):
            consistency(alone, along=along)
