"""Adapters of factors and batch scores: tables of several libraries, unknown ids, and errors."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import recassay as ra
from recassay.models.adapters.tables import FactorTable, ScoreBatches, Vectors

from ....refusals import refused

LOG = ra.read_interactions({"ann": ["x", "y"], "bob": ["z", "x"], "cem": ["y"]})
USERS = pl.DataFrame({"id": ["bob", "ann", "zoe"], "features": [[1.0, 0.0], [0.5, 2.0], [9.0, 9.0]]})
ITEMS = pl.DataFrame({"id": ["z", "x", "w"], "features": [[1.0, 1.0], [0.0, -1.0], [9.0, 9.0]]})
SCORES = [[-2.0, -np.inf, 2.5], [0.0, -np.inf, 1.0], [-np.inf] * 3]  # of ann, bob and cem; y and cem have no vector


@pytest.mark.parametrize(
    "made",
    [
        lambda frame: frame,
        lambda frame: frame.to_arrow(),
        lambda frame: pd.DataFrame({"who": frame["id"].to_list(), "what": frame["features"].to_list()}),
        lambda frame: frame.with_columns(pl.col("features").cast(pl.Array(pl.Float32, 2))).select("features", "id"),
    ],
    ids=["polars", "arrow", "pandas", "arrays"],
)
def test_factors_are_matched_by_id(made):
    fitted = FactorTable(made(USERS), made(ITEMS), name="als").fit(LOG)
    assert fitted.scores(np.arange(3, dtype=np.int32)).tolist() == SCORES


def test_factors_in_files_can_be_played(tmp_path):
    for name, frame in (("users", USERS), ("items", ITEMS)):
        frame.write_parquet(tmp_path / f"{name}.parquet")
    fold = ra.Fold(LOG.take(np.array([0, 3, 4])), LOG.take(np.array([1, 2])), "global", {})
    model = FactorTable(tmp_path / "users.parquet", tmp_path / "items.parquet", name="als")
    run = ra.play(model, fold, ra.protocols.ranking(bins=0))
    assert (run.name, run.standings.unlisted) == ("als", 1)  # y has no vector
    assert run.frame().select("user_id", "item_id").rows() == [("ann", "z"), ("bob", "z")]


def test_batch_functions_are_called_with_ids():
    calls = []

    def scores(users):
        calls.append(users)
        return np.outer([len(user) for user in users], [1.0, 2.0])

    fitted = ScoreBatches(scores, items=["z", "x"]).fit(LOG)
    assert fitted.scores(np.array([2, 0], np.int32)).tolist() == [[6.0, -np.inf, 3.0]] * 2
    assert calls[0].tolist() == ["cem", "ann"]
    all_items = ScoreBatches(lambda users: np.zeros((users.size, 3))).fit(LOG)
    assert all_items.scores(np.array([1], np.int32)).tolist() == [[0.0, 0.0, 0.0]]


@pytest.mark.parametrize(
    ("users", "words"),
    [
        (pl.DataFrame({"id": ["ann"], "name": ["Ann"]}), "id, name"),
        (pl.DataFrame({"id": ["ann", "bob", "cem"], "v": [[1.0], [1.0, 2.0], [2.0, 3.0]]}), "1 of 3 vectors"),
        (pl.DataFrame({"id": ["ann", "bob"], "v": [[1.0, 2.0], None]}), "'bob'"),
        (pl.DataFrame({"id": ["ann", "bob"], "v": [[1.0, 2.0], [None, 1.0]]}), "'bob'"),
        (pl.DataFrame({"id": ["ann", "ann"], "v": [[1.0, 2.0], [2.0, 1.0]]}), "1 ids have several"),
        (pl.DataFrame({"id": ["ann"], "v": [[1.0, 2.0, 3.0]]}), "users have 3 factors, but items have 2"),
    ],
)
def test_tables_that_are_no_factors_are_an_error(users, words):
    with refused("I423") as caught:
        FactorTable(users, ITEMS).fit(LOG)
    assert words in str(caught.value)


def test_ids_of_another_type_are_an_error():
    with refused("I403"):
        FactorTable(pl.DataFrame({"id": [1], "v": [[1.0, 2.0]]}), ITEMS).fit(LOG)
    with refused("I403"):
        ScoreBatches(lambda users: users, items=[1, 2]).fit(LOG)


def test_an_empty_table_of_users_scores_nothing():
    fitted = FactorTable(USERS.clear(), ITEMS).fit(LOG)
    assert np.isneginf(fitted.scores(np.arange(3, dtype=np.int32))).all()
    assert Vectors.of(USERS.clear(), "users").table.shape == (0, 0)
