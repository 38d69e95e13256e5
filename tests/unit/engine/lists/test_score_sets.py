"""Reading scores: from result folders, with the same numbers, and from custom tables."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest

import recassay as ra
from recassay.engine.lists.score_sets import read_all, read_scores
from recassay.errors import InputError, UsageError
from recassay.report.folder.results import write_results
from recassay.results.score_set import Place

STUDY = """\
study: small
data: {generate: "log(users=80, items=40, events=1500)"}
split: [k_folds(k=2), uniform_items(test=0.1)]
models: {popular: Popular, random: Random, svd: "PureSVD(factors=4)"}
designs: [lists, TI-AR-AN, P1R, U1R]
metrics: [recall@5, ndcg@5]
seeds: [0, 1]
judge: {resamples: 200, short: all}
"""
TABLE = {
    "user": [1, 2, 1, 2],
    "system": ["a", "a", "b", "b"],
    "ndcg@10": [0.1, 0.3, 0.2, None],
    "loss": [1.0, 2.0, 0.5, 0.1],
}


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    home = tmp_path_factory.mktemp("study")
    (home / "study.yaml").write_text(STUDY)
    ra.run_study(home / "study.yaml", home / "out")
    return home / "out"


def only(scores):
    (sheet,) = (one for _, one in scores)
    return sheet


def test_a_result_folder_gives_the_comparison_of_its_study(results):
    """Over folds, under designs with weights, and for every seed: bit by bit."""
    written = json.loads((results / "summary.json").read_text())["comparisons"]
    assert written
    scores = read_scores(results)
    rows = [(place, row) for place, one in scores for row in ra.compare(one).to_dicts()]
    found = {(*place, row["metric"], row["a"], row["b"]): row for place, row in rows}
    for row in written:
        key = tuple(row[name] for name in ("dataset", "split", "protocol", "design", "seed", "metric", "a", "b"))
        assert found[key] == {name: row[name] for name in found[key]}
    assert len(written) == len(found)


def test_means_of_a_result_folder_equal_its_summary(results):
    rows = [row for row in json.loads((results / "summary.json").read_text())["rows"] if row["fold"] == "all"]
    scores = read_scores(results)
    for row in rows:
        place = Place(*(row[axis] for axis in ("dataset", "split", "protocol", "design", "seed")))
        sheet = scores.sheets[place]
        values, weights = sheet.values(row["system"], row["metric"]), sheet.weights(row["system"], row["metric"])
        there = ~np.isnan(values)
        mean = np.average(values[there], weights=None if weights is None else weights[there])
        assert mean == pytest.approx(row["mean"], abs=1e-12)
        assert sheet.row(row["system"], row["metric"]).low == row["low"]


def test_scores_written_by_score_are_read_back(tmp_path):
    runs = {"a": {"ann": ["x", "q"], "bob": ["y"]}, "b": {"ann": ["q", "x"], "bob": ["q"]}}
    given = ra.score(runs, {"ann": ["x"], "bob": ["y"], "cem": ["z"]}, "mrr ndcg@2 coverage(catalogue='truth')@2")
    write_results(given, None, tmp_path / "out", {"dataset": "mine"})
    found = read_scores(tmp_path / "out")
    assert found.sheets.keys() == {Place("mine")}
    sheet = only(found)
    assert (sheet.metrics, sheet.units.to_list()) == (("mrr", "ndcg@2"), ["ann", "bob", "cem"])
    for system in runs:
        for metric in sheet.metrics:
            assert np.array_equal(sheet.values(system, metric), given.values(system, metric), equal_nan=True)
            assert sheet.row(system, metric).low == given.row(system, metric).low
    assert found.folder == tmp_path / "out"


@pytest.mark.parametrize("kind", ["parquet", "csv", "polars", "pandas", "dict"])
def test_a_custom_table_is_read(kind, tmp_path):
    frame = pl.DataFrame(TABLE)
    frame.write_parquet(tmp_path / "mine.parquet")
    frame.write_csv(tmp_path / "mine.csv")
    source = {
        "parquet": tmp_path / "mine.parquet", "csv": tmp_path / "mine.csv", "polars": frame,
        "pandas": pd.DataFrame(TABLE), "dict": TABLE,
    }[kind]  # fmt: skip
    sheet = only(read_scores(source))
    assert (sheet.systems, sheet.metrics) == (("a", "b"), ("ndcg@10", "loss"))
    assert sheet.values("b", "ndcg@10")[0] == 0.2
    assert np.isnan(sheet.values("b", "ndcg@10")[1])
    assert (sheet.row("b", "ndcg@10").n, sheet.row("b", "ndcg@10").undefined) == (1, 1)
    assert (sheet.row("a", "ndcg@10").higher_is_better, sheet.row("a", "loss").higher_is_better) == (True, False)


def test_column_names_are_recognised_or_given():
    table = {"uid": [1, 1], "Model": ["a", "b"], "Dataset": ["x", "x"], "Fold": [0, 0], "HR": [1, 0]}
    assert read_scores(table).sheets.keys() == {Place("x")}
    table = {"who": [1, 1], "by": ["a", "b"], "hr": [1, 0]}
    assert only(read_scores(table, columns="user=who,system=by")).systems == ("a", "b")
    assert only(read_scores(TABLE, smaller=["ndcg@10"])).row("a", "ndcg@10").higher_is_better is False
    assert only(read_scores(TABLE, metrics=["loss"])).metrics == ("loss",)


def test_a_user_in_several_folds_is_one_weighted_unit():
    table = {"user": [1, 1, 2] * 2, "system": ["a"] * 3 + ["b"] * 3, "fold": [0, 1, 0] * 2, "mrr": [1, 0, 0.5, 0, 0, 1]}
    sheet = only(read_scores(table))
    assert sheet.values("a", "mrr").tolist() == [0.5, 0.5]
    assert sheet.weights("a", "mrr").tolist() == [2, 1]
    weighted = {"user": [1, 2, 1, 2], "system": ["a", "a", "b", "b"], "weight": [3, 1, 3, 1], "mrr": [1, 0, 0, 1]}
    row = only(read_scores(weighted)).row("a", "mrr")
    assert row.mean == 0.75
    assert ra.compare(only(read_scores(weighted))).rows[0].difference == 0.5


def test_several_sources_are_read_as_one_set(tmp_path):
    for name in ("ml-1m", "steam"):
        pl.DataFrame(TABLE).write_csv(tmp_path / f"{name}.csv")
    both = read_all([tmp_path / "ml-1m.csv", tmp_path / "steam.csv"])
    assert both.along("dataset") == ("ml-1m", "steam")
    with pytest.raises(InputError, match="I314"):
        read_all([tmp_path / "steam.csv", tmp_path / "steam.csv"])


@pytest.mark.parametrize(
    ("table", "code"),
    [
        ({"user": [1, 2], "mrr": [0.1, 0.2]}, "I313"),
        ({"user": [1, 2], "system": ["a", "a"], "note": ["x", "y"]}, "I313"),
        ({"user": [1, 1], "system": ["a", "a"], "mrr": [0.1, 0.2]}, "I314"),
        (pl.DataFrame({"system": ["a", "a"], "mrr": [0.1, 0.2]}), "I201"),
    ],
)
def test_tables_without_scores_are_refused(table, code):
    with pytest.raises(InputError, match=code):
        read_scores(table)


def test_a_folder_without_scores_is_refused(tmp_path):
    with pytest.raises(InputError, match="I316"):
        read_scores(tmp_path)
    (tmp_path / "summary.json").write_text("{}")
    with pytest.raises(InputError, match="no metric has a value per user"):
        read_scores(tmp_path)


def test_places_can_be_selected_and_mistakes_get_a_hint(results):
    scores = read_scores(results)
    assert {place.design for place, _ in scores.where(design=["P1R"])} == {"P1R"}
    assert {place.seed for place, _ in scores.where(seed=1)} == {1}
    with pytest.raises(UsageError, match="U115"):
        scores.where(design="P2R")
    with pytest.raises(UsageError, match="U101"):
        scores.only(["recall@6"])
    assert scores.only(["ndcg@5"]).metrics == ("ndcg@5",)
