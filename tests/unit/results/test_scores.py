"""Scores answer by name, count what they count, and write undefined as nothing."""

import math

import numpy as np
import pytest

import recassay as ra
from recassay.results.finding import Finding

from ...refusals import refused

TRUTH = {"ann": {"x": 1, "y": 1}, "bob": {"x": 0}, "cat": {"z": 1}}
RUNS = {"a": {"ann": ["x", "q"], "bob": ["x"]}, "b": {"ann": ["q", "q", "y"], "bob": ["y"], "cat": ["z", "x"]}}


@pytest.fixture(scope="module")
def scores():
    return ra.score(RUNS, TRUTH, ["recall@2", "mrr", "coverage(catalogue='truth')@2"])


def test_values_are_per_unit_and_undefined_is_nan(scores):
    assert scores.units.to_list() == ["ann", "bob", "cat"]
    np.testing.assert_array_equal(scores.values("a", "recall@2"), [0.5, np.nan, 0.0])
    np.testing.assert_array_equal(scores.values("b", "recall@2"), [0.5, np.nan, 1.0])


def test_counts_travel_with_the_mean(scores):
    row = scores.row("a", "recall@2")
    assert (row.mean, row.n, row.missing, row.undefined, row.duplicate, row.short) == (0.25, 2, 1, 1, 0, 1)
    row = scores.row("b", "recall@2")
    assert (row.mean, row.n, row.missing, row.undefined, row.duplicate, row.short) == (0.75, 2, 0, 1, 1, 1)


def test_the_summary_is_a_table(scores):
    summary = scores.summary()
    assert summary.columns == [
        "system",
        "metric",
        "mean",
        "low",
        "high",
        "n",
        "missing",
        "short",
        "duplicate",
        "undefined",
    ]
    assert summary.height == 6


def test_a_metric_of_the_catalogue_has_no_value_per_unit(scores):
    metric = "coverage(catalogue='truth')@2"
    assert metric not in scores.unit_metrics
    assert scores.row("b", metric).mean == 1.0
    assert math.isnan(scores.row("b", metric).low)
    with refused("U105", match="has no value per unit"):
        scores.values("a", metric)


@pytest.mark.parametrize(("system", "metric", "code"), [("aa", "mrr", "U108"), ("a", "mmr", "U101")])
def test_names_that_were_not_scored(scores, system, metric, code):
    for ask in (scores.values, scores.row):
        with refused(code, match="did you mean"):
            ask(system, metric)


def test_the_frame_has_identity_unit_and_metrics(scores):
    frame = scores.frame(dataset="toy", seed=3)
    identity = ["system", "dataset", "split", "protocol", "design", "seed", "unit", "user"]
    assert frame.columns == [*identity, "recall@2", "mrr"]
    assert frame.filter(system="a").rows()[0] == ("a", "toy", "given", "given", "given", 3, "ann", "ann", 0.5, 1.0)
    assert frame["recall@2"].to_list() == [0.5, None, 0.0, 0.5, None, 1.0]
    assert scores.frame()["seed"].to_list() == [None] * 6


def test_json_has_no_nan(scores):
    found = scores.row("a", "coverage(catalogue='truth')@2").to_dict()
    assert found["low"] is None
    assert found["parameters"] == {"catalogue": "truth", "catalogue_items": 3}
    assert scores.row("a", "recall@2").parameters["missing"] == "zero"


def test_more_findings(scores):
    more = scores.with_findings(Finding("Z001", "info", "t", "d"))
    assert more.findings[:-1] == scores.findings
    assert more.findings[-1].code == "Z001"


def test_weights_where_a_metric_has_them():
    scores = ra.score(
        {"m": {"ann": {"x": 3.0, "y": 2.0}, "cat": {"z": 5.0}}}, TRUTH, ["mae", "recall@1"], interval=None
    )
    assert scores.weights("m", "mae").tolist() == [2.0, 0.0, 1.0]
    assert scores.weights("m", "recall@1") is None
    assert scores.row("m", "mae").mean == pytest.approx((2 + 1 + 4) / 3)
