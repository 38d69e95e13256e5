"""Parquet files with impossible numbers are refused before Polars reserves the memory that they ask for."""

import random
import subprocess
import sys

import numpy as np
import polars as pl
import pyarrow.parquet
import pytest

import recassay as ra
from recassay.data.io.clean import require_rows
from recassay.data.io.parquet_pages import impossible_page
from recassay.errors import InputError

FRAME = pl.DataFrame({"user_id": [1, 1, 2], "item_id": [7, 8, 7], "score": [0.5, 0.25, 0.125]})
VALUES = b"\x2c\x15\x06"  # of a data page: field 5 of its header, a struct that begins with 3 values
VALUES_2 = b"\x5c\x15\x06"  # of version 2: field 8
READ = "import sys, recassay as ra\ntry: ra.read_run(sys.argv[1])\nexcept ra.errors.InputError as e: print(e.code)"


def damaged(path, old, new, version="1.0"):
    """Write a sound file with its first ``old`` bytes replaced by ``new``."""
    options = {"use_dictionary": False, "compression": "none", "data_page_version": version}
    pyarrow.parquet.write_table(FRAME.to_arrow(), path, **options)
    data = path.read_bytes()
    assert old in data
    path.write_bytes(data.replace(old, new, 1))
    return path


@pytest.mark.parametrize(
    ("old", "new", "version", "said"),
    [
        (VALUES, VALUES[:2] + b"\x05", "1.0", "has a negative size"),
        (VALUES, VALUES[:2] + b"\x7e", "1.0", "has 63 values, and the column 3"),
        (VALUES_2, VALUES_2[:2] + b"\x05", "2.0", "has a negative size"),
    ],
)
def test_impossible_numbers_of_values_are_refused(tmp_path, old, new, version, said):
    path = damaged(tmp_path / "run.parquet", old, new, version)
    assert said in impossible_page(path)
    with pytest.raises(InputError, match=r"I104.*row group 1, column 1"):
        ra.read_run(path)


def test_a_page_of_minus_three_values_does_not_end_the_process(tmp_path):
    path = damaged(tmp_path / "run.parquet", VALUES, VALUES[:2] + b"\x05")
    done = subprocess.run([sys.executable, "-c", READ, path], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "I104"


def with_two_for_three(path):
    """Write a sound file of three rows again and again, with another place of its footer that says three saying two."""
    sound = damaged(path, b"", b"").read_bytes()
    for at in (at for at in range(len(sound)) if sound.startswith(b"\x16\x06", at)):
        path.write_bytes(sound[:at] + b"\x16\x04" + sound[at + 2 :])
        yield path


@pytest.mark.parametrize("small", [0, 1_000_000])
def test_a_footer_that_contradicts_itself_about_rows_loses_none(tmp_path, monkeypatch, small):
    """Columns are read alone, or all together."""
    monkeypatch.setattr("recassay.data.io.read.SMALL", small)
    refused = []
    for path in with_two_for_three(tmp_path / "run.parquet"):
        try:
            assert ra.read_run(path).frame().height == len(FRAME)
        except InputError as error:
            refused.append(error.code)
    assert set(refused) == {"I104"}
    assert len(refused) >= 2 + FRAME.width  # rows of the file and of its row group, and the values of each column


def test_what_contradicts_itself_about_rows_is_said(tmp_path):
    seen = {impossible_page(path) for path in with_two_for_three(tmp_path / "run.parquet")}
    assert {
        "its row groups have 3 rows, and the file says 2",
        "its row groups have 2 rows, and the file says 3",
        *(f"row group 1, column {column}: 2 values for 3 rows" for column in (1, 2, 3)),
    } <= seen


@pytest.mark.parametrize("rows", [2, 4])
def test_a_column_that_polars_read_with_other_rows_is_refused(rows):
    with pytest.raises(InputError, match=rf"I104.*'user_id' has {rows} rows, and the table 3"):
        require_rows(pl.Series(range(rows)), 3, "user_id", "run.parquet")


@pytest.mark.parametrize("compression", ["zstd", "snappy", "gzip", "lz4", "uncompressed", "brotli"])
def test_sound_files_are_not_suspected(tmp_path, compression):
    text = FRAME.with_columns(pl.col("user_id", "item_id").cast(pl.String), tags=pl.Series([["a"], [], None]))
    many = pl.DataFrame({"user_id": np.arange(30_000) // 7, "item_id": np.arange(30_000) % 90})
    for frame in (FRAME, FRAME.clear(), text, many, text.with_columns(pl.col("item_id").cast(pl.Categorical))):
        path = tmp_path / "one.parquet"
        frame.write_parquet(path, compression=compression, row_group_size=10_000, data_page_size=1_000)
        assert impossible_page(path) is None
        for version in ("1.0", "2.0"):
            options = {"data_page_version": version, "data_page_size": 500, "row_group_size": 9_000}
            pyarrow.parquet.write_table(frame.to_arrow(), path, **options)
            assert impossible_page(path) is None


@pytest.mark.parametrize(
    "data", [b"", b"PAR1", b"PAR1" * 3, b"PAR1\xff\xff\xff\x7fPAR1", b"PAR1\x1c\x1c\x01\x02\x00\x00\x00PAR1"]
)
def test_what_cannot_be_followed_is_left_to_polars(tmp_path, data):
    (tmp_path / "x.parquet").write_bytes(data)
    assert impossible_page(tmp_path / "x.parquet") is None


def test_damaged_headers_raise_nothing(tmp_path):
    path, rng = tmp_path / "run.parquet", random.Random(1)
    FRAME.write_parquet(path)
    sound = path.read_bytes()
    for _ in range(1_000):
        made = bytearray(sound)
        for _ in range(rng.choice((1, 2, 8))):
            made[rng.randrange(len(made))] = rng.randrange(256)
        path.write_bytes(made)
        impossible_page(path)
