"""The edge: bad files, devices, pipes, links and full disks are errors with a code."""

import errno
import gzip
import json
import os
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest

import recassay as ra
from recassay.data.io import edge, require_possible_folder, write_text
from recassay.data.io.edge import reading, regular_file
from recassay.data.io.write import is_full
from recassay.errors import RecassayError

from ....refusals import refused


def code_of(call, *arguments):
    with pytest.raises(RecassayError) as caught:
        call(*arguments)
    return caught.value.code


@pytest.mark.parametrize("text", ["[" * 100_000, '{"ann": {"x": ' + "9" * 5_000 + "}}"])
def test_json_beyond_a_limit(tmp_path, text):
    (tmp_path / "run.json").write_text(text)
    assert code_of(ra.read_run, tmp_path / "run.json") == "I117"


def test_what_a_library_raises_is_an_error_of_the_file():
    with refused("I104"), reading("run.json"):
        json.loads(None)  # TypeError


@pytest.mark.parametrize("mistake", [{}.__getitem__, None])
def test_a_mistake_of_recassay_is_not_hidden_by_the_edge(mistake, monkeypatch):
    monkeypatch.setattr(edge, "stat", SimpleNamespace(S_ISREG=mistake))
    with pytest.raises((KeyError, TypeError)):
        regular_file(Path(__file__))


@pytest.mark.parametrize("path", ["/", "/dev/zero", "/dev/null"])
def test_what_is_no_file_is_refused(path):
    assert code_of(ra.read_run, path) == "I107"


def test_a_name_that_is_too_long_is_refused():
    assert code_of(ra.read_run, "a" * 300) == "I110"
    assert code_of(ra.read_scores, "a" * 300) == "I110"


def test_a_name_that_is_not_utf8_is_refused_with_what_to_do(tmp_path):
    path = os.fsencode(tmp_path) + b"/\xff.csv"
    with open(path, "w") as file:
        file.write("user_id,item_id,score\n1,7,0.5\n")
    with refused("I110", match="not UTF-8") as caught:
        ra.read_run(os.fsdecode(path))
    assert str(caught.value).isascii()


@pytest.mark.parametrize("out", ["/dev/null/x", "file", "file/x", "a" * 300])
def test_an_impossible_output_is_refused_before_any_work(tmp_path, monkeypatch, out):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    assert code_of(require_possible_folder, out) == "U111"
    require_possible_folder("new/deep")


def test_a_pipe_is_read_to_its_end(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    text = "user_id,item_id,score\n1,7,0.5\n1,8,0.25\n"
    writer = threading.Thread(target=(tmp_path / "pipe.csv").write_text, args=(text,))
    writer.start()
    assert len(ra.read_run(tmp_path / "pipe.csv").items) == 2
    writer.join()


def test_a_pipe_that_nobody_writes_to_is_waited_for_aloud(tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(edge, "QUIET", 0.0)
    os.mkfifo(tmp_path / "pipe.csv")
    reader = threading.Thread(target=edge.regular_file, args=(tmp_path / "pipe.csv",))
    reader.start()
    said, deadline = "", time.monotonic() + 30
    while not said and time.monotonic() < deadline:
        said = capfd.readouterr().err
        time.sleep(0.01)
    assert said == f"Waiting for {tmp_path / 'pipe.csv'}: nothing has been written to it yet\n"
    (tmp_path / "pipe.csv").write_text("user_id,item_id,score\n1,7,0.5\n")
    reader.join()
    assert len(ra.read_run(tmp_path / "pipe.csv").items) == 1


@pytest.mark.parametrize("place", ["a frame", "a file"])
def test_ids_of_128_bits_are_ids(tmp_path, place):
    frame = pl.DataFrame({"user_id": [1, 1], "item_id": [7, 8], "score": [0.5, 0.25]})
    table = frame.with_columns(pl.col("item_id").cast(pl.Int128))
    if place == "a file":
        try:
            table.write_parquet(tmp_path / "run.parquet")
        except pl.exceptions.ComputeError:
            pytest.skip("this version of Polars does not write them")
        table = tmp_path / "run.parquet"
    assert ra.read_run(table).frame()["item_id"].to_list() == [7, 8]


def test_times_of_128_bits_are_numbers():
    frame = pl.DataFrame({"user_id": [1, 1], "item_id": [7, 8], "timestamp": pl.Series([5, None], dtype=pl.Int128)})
    assert ra.read_interactions(frame).timestamps.to_list() == [5, None]
    far = frame.with_columns(timestamp=pl.Series([5, 2**70], dtype=pl.Int128))
    assert ra.read_interactions(far).timestamps.to_list() == [5.0, 2.0**70]


def test_an_archive_that_does_not_fit_is_refused_before_it_is_read(tmp_path, monkeypatch):
    path = tmp_path / "run.csv.gz"
    path.write_bytes(gzip.compress(b"user_id,item_id,score\n" + b"1,7,0.5\n" * 500_000))
    monkeypatch.setattr(edge, "available_memory", lambda: 1 << 20)
    assert code_of(ra.read_run, path) == "U143"


def test_a_table_that_does_not_fit_is_refused_before_it_is_read(tmp_path, monkeypatch):
    pl.DataFrame({"user_id": [1] * 100_000, "item_id": range(100_000)}).write_parquet(tmp_path / "run.parquet")
    monkeypatch.setattr(edge, "available_memory", lambda: 1 << 20)
    assert code_of(ra.read_run, tmp_path / "run.parquet") == "U143"


def test_a_device_is_never_replaced_and_a_link_is_followed(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert code_of(write_text, "x", tmp_path / "pipe") == "U111"
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real" / "file")
    write_text("x", tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real" / "file").read_text() == "x"


def test_a_full_disk_is_u238_and_leaves_nothing(tmp_path, monkeypatch):
    def full(_handle):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    assert code_of(write_text, "x", tmp_path / "a") == "U238"
    assert list(tmp_path.iterdir()) == []
    assert is_full(pl.exceptions.ComputeError("No space left on device (os error 28)"))
