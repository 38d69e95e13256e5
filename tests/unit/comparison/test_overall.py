"""Several metrics at once: weights that are stated, and dominance that needs none."""

import math

import numpy as np
import polars as pl
import pytest

import recassay as ra
from recassay.comparison.overall import fronts, standing
from recassay.errors import UsageError
from recassay.results.scores import Scores, Summary
from recassay.stats.ranks import kendall

from ...refusals import refused

BETTER = {"precision": True, "ndpm": False, "perplexity": False, "rbp_residual": None}


def scores(**systems):
    """Scores from a dict of metric to mean for each system."""
    rows = tuple(
        Summary(name, metric, mean, 10, 0, 0, 0, 0, higher_is_better=BETTER[metric])
        for name, means in systems.items()
        for metric, mean in means.items()
    )
    metrics = tuple(next(iter(systems.values())))
    return Scores(pl.Series([1]), tuple(systems), metrics, {}, rows=rows)


THREE = scores(
    good={"precision": 0.3, "ndpm": 0.4, "perplexity": 10.0},
    bad={"precision": 0.1, "ndpm": 0.5, "perplexity": 30.0},
    fixed={"precision": 0.4, "ndpm": 0.5, "perplexity": math.inf},
)


def test_the_score_is_the_sum_of_its_parts():
    table = ra.overall.global_score(THREE, {"precision": 1, "ndpm": 1, "perplexity": 2})
    assert table.columns == ["system", "score", "0.25 precision", "0.25 ndpm", "0.5 perplexity"]
    assert table.rows() == [
        ("good", pytest.approx(0.25 * 2 / 3 + 0.25 + 0.5), pytest.approx(0.25 * 2 / 3), 0.25, 0.5),
        ("fixed", 0.25, 0.25, 0.0, 0.0),
        ("bad", 0.0, 0.0, 0.0, 0.0),
    ]
    np.testing.assert_allclose(table["score"], table.drop("system", "score").sum_horizontal())


@pytest.mark.parametrize("mean", [0.2, math.inf])
def test_equal_systems_are_all_best(mean):
    same = scores(a={"perplexity": mean}, b={"perplexity": mean})
    assert ra.overall.global_score(same, {"perplexity": 5})["score"].to_list() == [1.0, 1.0]


@pytest.mark.parametrize("weights", [{}, {"precision": 0}, {"precision": -1}, {"precision": math.nan}])
def test_weights_that_make_no_sense(weights):
    with refused("U102", match="weight"):
        ra.overall.global_score(THREE, weights)


def test_metrics_that_were_not_scored_or_cannot_say():
    with pytest.raises(UsageError, match="was not scored") as caught:
        ra.overall.global_score(THREE, {"precison": 1})
    assert (caught.value.code, caught.value.hint) == ("U101", "did you mean 'precision'?")
    with pytest.raises(UsageError, match="neither direction is better"):
        ra.overall.pareto(scores(a={"rbp_residual": 0.1}), ["rbp_residual"])
    with pytest.raises(UsageError, match="undefined for 'a'"):
        ra.overall.pareto(scores(a={"ndpm": math.nan}))


def test_fronts():
    assert ra.overall.pareto(THREE).rows() == [("good", 1, []), ("fixed", 1, []), ("bad", 2, ["good"])]
    assert ra.overall.pareto(THREE, ["ndpm"]).rows() == [("good", 1, []), ("bad", 2, ["good"]), ("fixed", 2, ["good"])]
    undirected = scores(a={"precision": 0.1, "rbp_residual": 0.3}, b={"precision": 0.2, "rbp_residual": 0.1})
    assert ra.overall.pareto(undirected).rows() == [("b", 1, []), ("a", 2, ["b"])]


def test_equal_systems_do_not_dominate_each_other():
    assert ra.overall.pareto(scores(a={"ndpm": 0.1}, b={"ndpm": 0.1}))["front"].to_list() == [1, 1]


def test_means_that_differ_by_rounding_are_equal():
    below, above = 0.3, 0.1 + 0.2
    assert below < above
    assert fronts(np.array([[below, 0.5], [above, 0.4]]))[0].tolist() == [1, 2]  # not [1, 1]
    assert standing(np.array([below, above])).tolist() == [1.0, 1.0]
    assert kendall([below, above, 0.4], [1, 1, 2]) == 1.0  # not 0.816
