"""k-fold streams: mean and spread of the curves, tests fold by fold, and what is no set of folds."""

from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

import recassay as ra
from recassay.errors import InputError, UsageError
from recassay.rng import derive


def folds(system="a", rate=0.3, k=3, events=900, metric="recall@10"):
    """Each user, and so each event, is scored in one fold."""
    rng = derive(1, "folds", system)
    owner = derive(2, "owners").integers(0, k, events)
    hits = (rng.random(events) < rate) * 1.0
    mine = [np.flatnonzero(owner == fold) for fold in range(k)]
    return [
        ra.Outcomes(system, rows, {metric: hits[rows]}, events=events, settings={"fold": fold})
        for fold, rows in enumerate(mine)
    ]


def test_mean_and_spread_are_those_of_the_curves_as_they_stood():
    played = folds()
    found = ra.overall.over_folds(played, "recall@10", how="cumulative", points=900)
    for event in (5, 77, 899):
        so_far = [one.of("recall@10")[one.event <= event] for one in played]
        means = [part.mean() for part in so_far if part.size]
        row = found.table.row(by_predicate=pl.col("event") == event, named=True)
        assert row["mean"] == pytest.approx(np.mean(means))
        assert row["sd"] == pytest.approx(np.std(means, ddof=1))
        assert (row["lowest"], row["highest"], row["folds"]) == (min(means), max(means), len(means))


def test_one_fold_has_no_spread_and_few_points_suffice():
    found = ra.overall.over_folds(folds(k=1), "recall@10", window=50, points=40)
    assert found.table.height == 40
    assert found.table["sd"].is_nan().all()
    assert found.table["event"][-1] == 899
    pictured = ra.overall.over_folds(folds(), "recall@10", window=50).exhibit()
    assert (pictured.low, pictured.high, pictured.series) == ("low", "high", "system")
    assert "3 folds" in pictured.caption


def test_systems_are_compared_fold_by_fold_and_adjusted_together():
    found = ra.overall.compare_folds(folds("a", 0.4), folds("b", 0.2), metric="recall@10", window=100)
    assert list(found) == ["fold 0", "fold 1", "fold 2"]
    alone = ra.compare_over_time(folds("a", 0.4)[1], folds("b", 0.2)[1], metric="recall@10", window=100)
    assert found["fold 1"].summary().equals(alone.summary())
    table = ra.overall.declared(found)
    assert table["p_adjusted"].min() == pytest.approx(3 * table["p"].min())
    assert table["n"].sum() == 900


def test_what_was_played_in_several_copies_will_do():
    played = SimpleNamespace(copies=tuple(folds()))
    assert ra.overall.over_folds(played, "recall@10").table.equals(ra.overall.over_folds(folds(), "recall@10").table)


def test_what_is_no_set_of_folds_is_refused():
    with pytest.raises(UsageError, match="there are no folds"):
        ra.overall.over_folds([], "recall@10")
    with pytest.raises(UsageError, match="a has 3 folds and b 2"):
        ra.overall.compare_folds(folds("a"), folds("b", k=2), metric="recall@10")
    with pytest.raises(InputError, match="streams of 800 and 900 events"):
        ra.overall.over_folds([folds()[0], folds(events=800)[0]], "recall@10")
