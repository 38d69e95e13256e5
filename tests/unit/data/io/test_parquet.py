"""Parquet files with names that Polars would expand, and outputs whose names no library can write."""

import os
import resource
import signal

import numpy as np
import polars as pl
import pytest

import recassay as ra
from recassay.data.io.parquet import parquet_metadata, parquet_schema, read_parquet, scan_parquet
from recassay.data.io.write import write_parquet
from recassay.errors import UsageError
from recassay.study.store.values import Values

TABLE = pl.DataFrame({"a": [1, 2], "b": ["x", "y"]})


@pytest.mark.parametrize("folder", ["[", "~", "*", "a[1]", "x=1"])
def test_a_file_is_where_its_name_says(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / folder).mkdir()
    path = f"{folder}/t.parquet"
    write_parquet(TABLE, path, {"key": "value"})
    assert (tmp_path / folder / "t.parquet").is_file()
    assert read_parquet(path).equals(TABLE)
    assert read_parquet(path, ["b"]).columns == ["b"]
    assert scan_parquet(path, path).collect().height == 4
    assert parquet_schema(path) == TABLE.schema
    assert parquet_metadata(path)["key"] == "value"


STUDY = """
study: small
data: {generate: "log(users=30, items=20, events=300)"}
split: random(test=0.3)
protocol: ranking
models: {popular: Popular}
metrics: mrr
judge: {interval: normal}
"""


@pytest.mark.parametrize("folder", ["[", "~"])
def test_a_study_is_written_and_read_in_a_folder_with_such_a_name(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.yaml").write_text(STUDY)
    first = ra.run_study("small.yaml", folder)
    assert (tmp_path / folder / "scores.parquet").is_file()
    assert ra.read_scores(folder)
    again = ra.run_study("small.yaml", folder, quick=False)
    assert again.rows == first.rows


def test_an_output_whose_name_is_not_utf8_is_refused_before_the_work(tmp_path):
    scores = ra.score({"mine": {"ann": ["x", "y"]}}, {"ann": ["y"]}, "mrr", interval=None)
    with pytest.raises(UsageError, match="not UTF-8") as caught:
        scores.write(tmp_path / os.fsdecode(b"\xff"))
    assert caught.value.code == "U111"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not hasattr(signal, "SIGXFSZ"), reason="limits on the size of files are of POSIX")
def test_a_disk_that_is_full_in_the_middle_of_a_header_is_said(tmp_path):
    before, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    many = pl.DataFrame({f"c{number}": np.arange(60) for number in range(60)})
    write_parquet(many, tmp_path / "t.parquet")
    size = (tmp_path / "t.parquet").stat().st_size
    try:
        for limit in range(0, size, size // 10):
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
            for write in (write_parquet, lambda table, path: Values(path.with_name("parts"), []).add(table)):
                with pytest.raises(UsageError) as caught:
                    write(many, tmp_path / "t.parquet")
                assert caught.value.code == "U238"
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
