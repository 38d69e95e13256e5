"""Distributions behind means: counts equal those of a slow implementation, for files of any layout."""

from __future__ import annotations

import itertools

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from recassay.report.content.distribution import STEPS, UnitValues, share_reaching, win_shares
from recassay.results.score_set import Place

VALUES = st.integers(0, 30).flatmap(
    lambda size: st.tuples(*(arrays(float, size, elements=st.sampled_from([0.0, 0.05, 0.3, 0.5, 1.0, np.nan])),) * 2)
)
PLACE = {"dataset": "d", "split": "s", "protocol": "p", "design": "lists"}


@settings(deadline=None)
@given(VALUES)
def test_counts_agree_with_those_of_a_loop(pair):
    left, right = pair
    known = left[~np.isnan(left)]
    if known.any():
        steps = [known.max() * step / STEPS for step in range(STEPS + 1)]
        slow = [int((known >= step - 1e-9).sum()) for step in steps]
        assert share_reaching("mrr", {"a": left}).table["users"].to_list() == slow
    won = win_shares("mrr", {"a": left, "b": right}, True).table.row(0, named=True)
    with np.errstate(invalid="ignore"):
        counts = (left > right).sum(), (left == right).sum(), (left < right).sum()
    assert (won["wins"], won["ties"], won["losses"]) == counts


def test_an_infinite_value_reaches_every_threshold():
    table = share_reaching("seq_perplexity", {"a": np.array([1.0, 2.0, np.inf])}).table
    assert table["users"].to_list()[-1] == 2


def test_shares_are_relative_to_users_with_a_value():
    table = share_reaching("mrr", {"a": np.array([0.0, 0.5, 1.0, np.nan]), "b": np.full(4, np.nan)}).table
    assert set(table["system"]) == {"a"}
    assert table.filter(mrr=0.5).rows() == [("a", 0.5, 2 / 3, 2)]
    assert table["share of users"][0] == 1


def test_the_smaller_value_wins_if_lower_is_better():
    table = win_shares("rmse", {"a": np.array([1.0, 2.0, 3.0]), "b": np.array([2.0, 2.0, 2.0])}, False).table
    assert table.select("system", "wins", "ties", "losses").rows() == [("a", 1, 1, 1), ("b", 1, 1, 1)]
    [share] = table.filter(system="a")["share won"]
    assert share == pytest.approx(1 / 3)


def written(tmp_path, systems, *, folds=(None,), units=(1, 2, 3), mixed=False):
    parts = []
    for fold, (system, values) in itertools.product(folds, systems.items()):
        part = pl.DataFrame({"system": system, **PLACE, "seed": 0, "unit": units, "user": units, "mrr": values})
        parts.append(part if fold is None else part.with_columns(fold=pl.lit(fold)))
    table = pl.concat(parts)
    path = tmp_path / "scores.parquet"
    (table.sample(fraction=1, shuffle=True, seed=1) if mixed else table).write_parquet(path)
    return UnitValues.of(path)


def test_shares_and_wins_are_read_from_a_file(tmp_path):
    values = written(tmp_path, {"a": [0.0, 0.5, None], "b": [1.0, 0.5, 1.0]})
    [((place, metric), (shares, wins))] = values.exhibits({"mrr": True, "absent": True}).items()
    assert (place, metric) == (Place("d", "s", "p", "lists", 0), "mrr")
    assert shares.table.filter(system="b", mrr=1.0)["users"].to_list() == [2]
    assert wins.table.select("system", "wins", "ties", "losses").rows() == [("a", 0, 1, 1), ("b", 1, 1, 0)]


def test_folds_are_pooled(tmp_path):
    values = written(tmp_path, {"a": [0.0, 0.5, 1.0], "b": [1.0, 0.5, 0.0]}, folds=(0, 1))
    [(_, wins)] = values.exhibits({"mrr": True}).values()
    assert wins.table["users"].to_list() == [6, 6]


def test_a_metric_without_a_direction_has_no_wins(tmp_path):
    [found] = written(tmp_path, {"a": [0.0, 0.5, 1.0], "b": [1.0, 0.5, 0.0]}).exhibits({"mrr": None}).values()
    assert len(found) == 1


def test_shuffled_rows_and_other_tables_have_no_index(tmp_path):
    assert written(tmp_path, {"a": [0.0, 0.5, 1.0], "b": [1.0, 0.5, 0.0]}, mixed=True) is None
    assert UnitValues.of(tmp_path / "none.parquet") is None
    pl.DataFrame({"user": [1]}).write_parquet(tmp_path / "other.parquet")
    assert UnitValues.of(tmp_path / "other.parquet") is None


def test_systems_with_different_users_have_no_wins(tmp_path):
    same = pl.DataFrame({"system": "a", **PLACE, "seed": 0, "unit": [1, 2], "user": [1, 2], "mrr": [0.0, 1.0]})
    other = same.with_columns(system=pl.lit("b"), unit=pl.col("unit") + 1)
    pl.concat([same, other]).write_parquet(tmp_path / "scores.parquet")
    [found] = UnitValues.of(tmp_path / "scores.parquet").exhibits({"mrr": True}).values()
    assert len(found) == 1


def test_exhibits_name_the_unit_that_was_scored():
    values = {"a": np.array([1.0, 0.0]), "b": np.array([0.0, 0.0])}
    assert share_reaching("hit@1", values, "events").y == "share of events"
    assert win_shares("hit@1", values, True, "events").title == "Share of events on which each system wins"
    assert "users" not in win_shares("hit@1", values, True, "events").caption
