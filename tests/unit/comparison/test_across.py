"""Ranks over data sets: the worked example, scipy and scikit-posthocs, and what is done about gaps."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
import scipy.stats

from recassay.comparison.across import across
from recassay.errors import UsageError
from recassay.results.score_set import Place, ScoreSet
from recassay.results.scores import Scores, Summary
from recassay.stats.over_datasets import nemenyi_p, range_tail

WORKED = [[0.50, 0.45, 0.40], [0.62, 0.60, 0.61], [0.30, 0.35, 0.25], [0.81, 0.70, 0.72], [0.45, 0.40, 0.30]]
WORKED.append([0.70, 0.62, 0.55])


def scores(means, metric="mrr", higher=True):
    """One user whose values are the means, by system."""
    rows = tuple(Summary(name, metric, mean, 1, 0, 0, 0, 0, higher_is_better=higher) for name, mean in means.items())
    values = {(row.system, metric): np.array([row.mean]) for row in rows}
    return Scores(pl.Series(["ann"]), tuple(means), (metric,), values, rows=rows)


def sets(table, **more):
    names = "abcdefghij"[: len(table[0])]
    return {f"data {i}": scores(dict(zip(names, row, strict=True)), **more) for i, row in enumerate(table)}


def test_nemenyi_agrees_with_scikit_posthocs():
    posthocs = pytest.importorskip("scikit_posthocs")
    rng = np.random.default_rng(3)
    for k, blocks in ((3, 6), (5, 12), (10, 30)):
        table = rng.integers(0, 5, (blocks, k)) / 10  # with ties
        other = np.asarray(posthocs.posthoc_nemenyi_friedman(table))
        ranks = np.mean([scipy.stats.rankdata(-row) for row in table], axis=0)
        for i in range(k):
            for j in range(i):
                assert nemenyi_p(ranks[i] - ranks[j], k, blocks) == pytest.approx(other[i, j], abs=1e-9)


@pytest.mark.parametrize("k", [2, 3, 7, 20])
def test_the_range_agrees_with_scipy(k):
    for q in (0.1, 1.0, 3.3, 6.0):
        assert range_tail(q, k) == pytest.approx(scipy.stats.studentized_range.sf(q, k, np.inf), abs=1e-9)


def test_less_can_be_better_and_then_differences_are_turned():
    table = np.array(WORKED)
    up, down = across(sets(table)).rankings[0], across(sets(1 - table, metric="rmse", higher=False)).rankings[0]
    assert up.mean_ranks == down.mean_ranks
    assert [pair.difference for pair in up.pairs] == pytest.approx([pair.difference for pair in down.pairs])
    assert [pair.better for pair in up.pairs] == [pair.better for pair in down.pairs]


@pytest.mark.parametrize("higher", [True, False])
def test_both_differences_are_positive_where_the_first_system_is_better(higher):
    table = np.array([[0.9, 0.5], [0.8, 0.4], [0.7, 0.6]]) if higher else np.array([[0.5, 0.9], [0.4, 0.8], [0.6, 0.7]])
    (row,) = across(sets(table, metric="mrr" if higher else "rmse", higher=higher)).frame().to_dicts()
    assert (row["a"], row["b"], row["rank_difference"]) == ("a", "b", 1.0)
    assert row["difference"] == pytest.approx(0.3)
    assert row["better"] > row["worse"]


def test_means_of_seeds_that_differ_by_rounding_tie():
    def mean_of(a, b):
        return {Place("data", seed=seed): scores({"a": a[seed], "b": b[seed]}) for seed in range(3)}

    seeds = [0.1, 0.2, 0.3]
    sheets = mean_of(seeds, seeds[::-1])
    assert np.mean(seeds) != np.mean(seeds[::-1])
    other = {Place("other", seed=place.seed): sheet for place, sheet in sheets.items()}
    assert across(ScoreSet({**sheets, **other})).rankings[0].mean_ranks == (1.5, 1.5)


def test_seeds_of_a_data_set_are_averaged_and_are_no_blocks_of_their_own():
    sheets = {}
    for number, row in enumerate(WORKED):
        for seed, lift in ((1, -0.2), (2, 0.2)):
            means = {name: mean + lift for name, mean in zip("abc", row, strict=True)}
            sheets[Place(f"data {number}", seed=seed)] = scores(means)
    found = across(ScoreSet(sheets)).rankings
    assert len(found) == 1
    assert found[0].means == pytest.approx(np.array(WORKED))
    assert across(ScoreSet(sheets), over="seed").rankings[0].blocks == (1, 2)


def test_systems_that_are_not_everywhere_are_left_out_and_named():
    given = sets(WORKED)
    given["data 0"] = scores({"a": 0.5, "b": 0.4, "c": 0.3, "new": 0.9})
    found = across(given).rankings[0]
    assert (found.systems, found.left_out) == (("a", "b", "c"), ("new",))


def test_two_systems_have_chances_and_no_friedman_test():
    found = across(sets([[0.5, 0.4], [0.6, 0.4], [0.4, 0.3]])).rankings[0]
    assert (found.test, found.groups, found.pairs[0].p) == (None, (), None)
    assert found.pairs[0].better > 0.9


def test_the_exhibit_separates_what_nemenyi_separates():
    found = across(sets(WORKED))
    table = found.exhibit().table
    reach = {row["system"]: (row["low"], row["high"]) for row in table.to_dicts()}
    assert reach["a"][1] > reach["b"][0]
    assert reach["a"][1] < reach["c"][0]
    assert found.frame().height == 3


def test_one_data_set_is_too_few():
    with pytest.raises(UsageError, match="U211"):
        across(scores({"a": 0.5, "b": 0.4}))
    with pytest.raises(UsageError, match="U107"):
        across(sets(WORKED), over="user")
    with pytest.raises(UsageError, match="U102"):
        across(sets(WORKED), rope=-1)
