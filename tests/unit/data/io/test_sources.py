"""Paths, globs and folders resolve to named runs."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from recassay.data.io import run_sources
from recassay.data.io.read import read_table
from recassay.errors import InputError, UsageError


def touch(*paths: Path) -> None:
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("bpr.parquet", "bpr"),
        ("bpr.csv.gz", "bpr"),
        ("bm25.run", "bm25"),
        ("als.k=0.5.parquet", "als.k=0.5"),
        ("SASRec.v1.2.trec.gz", "SASRec.v1.2"),
        ("ease.weird", "ease.weird"),
    ],
)
def test_run_names_drop_suffixes(tmp_path: Path, file: str, name: str) -> None:
    touch(tmp_path / file)
    assert run_sources(tmp_path / file) == [(name, tmp_path / file)]


def test_folders_globs_and_part_files_are_expanded(tmp_path: Path) -> None:
    touch(tmp_path / "b.parquet", tmp_path / "a.csv", tmp_path / "notes.md", tmp_path / ".hidden.csv")
    touch(tmp_path / "spark.parquet" / "part-0.parquet", tmp_path / "spark.parquet" / "_SUCCESS")
    touch(tmp_path / "other" / "inner.csv")
    assert [name for name, _ in run_sources([tmp_path])] == ["a", "b", "spark"]
    assert run_sources(tmp_path / "spark.parquet") == [("spark", tmp_path / "spark.parquet")]
    assert run_sources([str(tmp_path / "*.parquet"), tmp_path / "a.csv"]) == [
        ("b", tmp_path / "b.parquet"),
        ("spark", tmp_path / "spark.parquet"),
        ("a", tmp_path / "a.csv"),
    ]


def test_two_runs_of_one_name_are_rejected(tmp_path: Path) -> None:
    touch(tmp_path / "a.csv", tmp_path / "a.parquet")
    with pytest.raises(UsageError, match=r"U109.*two runs have the name 'a'(.|\n)*a.csv and .*a.parquet"):
        run_sources(tmp_path)


def test_missing_paths_and_empty_folders_are_errors(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="I109"):
        run_sources(tmp_path)
    touch(tmp_path / "bpr.csv")
    with pytest.raises(InputError, match=r"I101(.|\n)*did you mean 'bpr.csv'"):
        run_sources(tmp_path / "bpr.cvs")
    with pytest.raises(InputError, match=r"I101.*no file matches \*.parquet"):
        run_sources(tmp_path / "*.parquet")


def test_alike_part_files_are_read_by_one_scan_in_the_order_of_their_names(tmp_path, monkeypatch):
    for number, users in enumerate(([3, 1], [2], [])):
        part = pl.DataFrame({"user": users, "item": users, "score": [float(user) for user in users]})
        part.cast({"user": pl.Int64, "item": pl.Int64, "score": pl.Float64}).write_parquet(
            tmp_path / f"part-{number}.parquet"
        )
    monkeypatch.setattr("recassay.data.io.read.read_head", None)  # no file is opened by itself
    assert read_table(tmp_path, "run").rows() == [(3, 3, 3.0), (1, 1, 1.0), (2, 2, 2.0)]


def test_an_error_in_one_of_many_alike_part_files_names_the_file(tmp_path):
    for number, user in enumerate((3, None)):
        part = pl.DataFrame({"user": pl.Series([user], dtype=pl.Int64), "item": [1], "score": [0.5]})
        part.write_parquet(tmp_path / f"part-{number}.parquet")
    with pytest.raises(InputError) as caught:
        read_table(tmp_path, "run")
    assert (caught.value.code, "part-1.parquet" in caught.value.where) == ("I304", True)
