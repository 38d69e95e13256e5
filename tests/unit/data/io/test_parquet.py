"""Parquet files with names that Polars would expand, and outputs whose names no library can write."""

import contextlib
import os
import random
import resource
import signal
import subprocess
import sys

import numpy as np
import polars as pl
import pyarrow.parquet
import pytest

import recassay as ra
from recassay.data.io.clean import require_rows
from recassay.data.io.parquet import parquet_metadata, parquet_schema, read_parquet, scan_parquet
from recassay.data.io.write import write_parquet
from recassay.errors import InputError
from recassay.study.run.record import Values

from ....refusals import refused

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


RUN = pl.DataFrame({"user_id": [1, 1, 2], "item_id": [7, 8, 7], "score": [0.5, 0.25, 0.125]})
READ = "import sys, recassay as ra\ntry: ra.read_run(sys.argv[1])\nexcept ra.errors.InputError as e: print(e.code)"


@pytest.mark.parametrize("values", [b"\x05", b"\x7e"], ids=["minus three", "63"])
def test_a_page_with_another_number_of_values_does_not_end_the_process(tmp_path, values):
    path = tmp_path / "run.parquet"
    pyarrow.parquet.write_table(RUN.to_arrow(), path, use_dictionary=False, compression="none")
    header = b"\x2c\x15\x06"  # of a data page: field 5 of its header, a struct that begins with 3 values
    path.write_bytes(path.read_bytes().replace(header, header[:2] + values, 1))
    done = subprocess.run([sys.executable, "-c", READ, path], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "I104"


def test_a_damaged_byte_is_an_error_with_a_code_or_no_error(tmp_path):
    path, rng = tmp_path / "run.parquet", random.Random(1)
    RUN.with_columns(pl.col("item_id").cast(pl.String)).write_parquet(path)
    sound = path.read_bytes()
    for _ in range(300):
        made = bytearray(sound)
        made[rng.randrange(len(made))] ^= 1 << rng.randrange(8)
        path.write_bytes(made)
        with contextlib.suppress(InputError):
            ra.read_run(path)


@pytest.mark.parametrize("rows", [2, 4])
def test_a_column_that_polars_read_with_other_rows_is_refused(rows):
    with pytest.raises(InputError, match=rf"I104.*'user_id' has {rows} rows, and the table 3"):
        require_rows(pl.Series(range(rows)), 3, "user_id", "run.parquet")


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
    with refused("U111", match="not UTF-8"):
        scores.write(tmp_path / os.fsdecode(b"\xff"))
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
                with refused("U238"):
                    write(many, tmp_path / "t.parquet")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
