"""Scores of two files are those of the same tables in memory, and errors come in the same order, though both files
are read at the same time."""

from contextlib import nullcontext

import polars as pl
import pytest

import recassay as ra

from ....refusals import refused

METRICS = ["ndcg@3", "map", "recall@2"]


@pytest.fixture
def files(tmp_path):
    users = [f"u{number:03d}" for number in range(200) for _ in range(5)]
    items = [f"i{(7 * number) % 40}" for number in range(1_000)]
    pl.DataFrame({"user_id": users, "item_id": items, "score": range(1_000)}).write_parquet(tmp_path / "run.parquet")
    pl.DataFrame({"user_id": users[::2], "item_id": items[1::2]}).unique(maintain_order=True).write_csv(
        tmp_path / "truth.csv"
    )
    return tmp_path / "run.parquet", tmp_path / "truth.csv"


@pytest.mark.parametrize("most", [0, 1 << 29])
def test_files_have_the_scores_of_tables_in_memory(files, most, monkeypatch):
    monkeypatch.setattr("recassay.engine.lists.score.MOST_AHEAD", most)
    run, truth = files
    tables = ra.score({"run": pl.read_parquet(run)}, pl.read_csv(truth), METRICS)
    for runs in (str(run), [run], {"run": run}):
        scores = ra.score(runs, truth, METRICS)
        assert scores.summary().equals(tables.summary())
        assert scores.frame().equals(tables.frame())


def test_both_are_read_at_the_same_time_if_they_are_files(files, monkeypatch):
    ahead = []
    monkeypatch.setattr("recassay.engine.lists.score.first_ahead", lambda runs: ahead.append(1) or nullcontext(runs))
    run, truth = files
    ra.score({"run": run}, truth, METRICS)
    assert ahead == [1]
    ra.score({"run": pl.read_parquet(run)}, truth, METRICS)
    ra.score({"run": run}, pl.read_csv(truth), METRICS)
    ra.score(str(run.parent / "*.parquet"), truth, METRICS)
    monkeypatch.setattr("recassay.engine.lists.score.MOST_AHEAD", run.stat().st_size)
    ra.score({"run": run}, truth, METRICS)
    assert ahead == [1]


def test_the_truth_is_complained_of_first(files, tmp_path):
    run, truth = files
    bad_run, bad_truth = tmp_path / "bad.csv", tmp_path / "worse.csv"
    bad_run.write_text("user_id,item_id,score\nann,x,nan\n")
    bad_truth.write_text("user_id,item_id,gain\nann,x,-1\n")
    for runs, judged, code in (
        (bad_run, bad_truth, "I303"), (run, bad_truth, "I303"), (bad_run, truth, "I301"),
    ):  # fmt: skip
        with refused(code):
            ra.score({"run": runs}, judged, METRICS)
