"""Which runs a list of paths stands for, and how they are named."""

from __future__ import annotations

from pathlib import Path

import pytest

from recassay.data.io import run_sources
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
def test_names(tmp_path: Path, file: str, name: str) -> None:
    touch(tmp_path / file)
    assert run_sources(tmp_path / file) == [(name, tmp_path / file)]


def test_folders_globs_and_parts(tmp_path: Path) -> None:
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


def test_two_runs_of_one_name(tmp_path: Path) -> None:
    touch(tmp_path / "a.csv", tmp_path / "a.parquet")
    with pytest.raises(UsageError, match=r"U109.*two runs have the name 'a'(.|\n)*a.csv and .*a.parquet"):
        run_sources(tmp_path)


def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="I109"):
        run_sources(tmp_path)
    touch(tmp_path / "bpr.csv")
    with pytest.raises(InputError, match=r"I101(.|\n)*did you mean 'bpr.csv'"):
        run_sources(tmp_path / "bpr.cvs")
    with pytest.raises(InputError, match=r"I101.*no file matches \*.parquet"):
        run_sources(tmp_path / "*.parquet")
