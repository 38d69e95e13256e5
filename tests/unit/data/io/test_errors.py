"""Errors of reading have a code, counts, an example, the place and a next step."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import recassay as ra
from recassay.data.io.read import read_table
from recassay.errors import RecassayError

from ....refusals import refused

GOOD = b"user_id,item_id,score\n1,a,0.5\n1,b,0.25\n"


def error_of(source: object, role: str = "run", **options: str) -> RecassayError:
    with pytest.raises(RecassayError) as caught:
        read_table(source, role, **options)
    assert caught.value.exit_code == 2
    assert caught.value.where
    return caught.value


def parquet_bytes(tmp_path: Path) -> bytes:
    pl.DataFrame({"user_id": range(5000), "item_id": range(5000), "score": [0.5] * 5000}).write_parquet(
        tmp_path / "whole.parquet"
    )
    return (tmp_path / "whole.parquet").read_bytes()


def test_missing_file_names_its_siblings(tmp_path: Path) -> None:
    (tmp_path / "bpr.parquet").write_bytes(GOOD)
    error = error_of(tmp_path / "brp.parquet")
    assert error.code == "I101"
    assert "'brp.parquet'" in error.what
    assert "did you mean 'bpr.parquet'?" in error.hint
    assert error_of(tmp_path / "nothing" / "like" / "it.csv").code == "I101"
    assert "1 entries, for example 'bpr.parquet'" in error_of(tmp_path / "zzzzzz").hint
    assert "no file matches *.csv" in error_of(tmp_path / "*.csv").what


def test_files_without_bytes_or_rows(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(b"")
    assert error_of(path).code == "I102"
    path.write_bytes(gzip.compress(b""))
    assert error_of(path).code == "I102"
    for content in (
        b"user_id,item_id,score\n",
        b"user_id,item_id,score",
        b"user_id,item_id,score\n\n\n",
        b"\n \n",
        b"\xef\xbb\xbf",
    ):
        path.write_bytes(content)
        assert error_of(path).code == "I102", content
    pl.DataFrame({"user_id": [], "item_id": []}).write_parquet(tmp_path / "x.parquet")
    assert error_of(tmp_path / "x.parquet").code == "I102"
    (tmp_path / "x.json").write_text("{}")
    for source in ({}, [], tmp_path / "x.json", pd.DataFrame({"user_id": [], "item_id": []})):
        assert error_of(source).code == "I102", source


@pytest.mark.parametrize("keep", [0.1, 0.5, 0.99])
def test_truncated_files_are_rejected(tmp_path: Path, keep: float) -> None:
    whole = parquet_bytes(tmp_path)
    table = b"user_id,item_id,score\n" + b"".join(b"%d,%d,0.5\n" % (i, i * i) for i in range(50_000))
    packed = gzip.compress(table)
    nested = b'{"1": {"a": 0.5, "b": 0.25}, "2": {"a": 1.0}}'
    for name, data in (("x.parquet", whole), ("x.csv.gz", packed), ("x.json", nested)):
        (tmp_path / name).write_bytes(data[: max(int(len(data) * keep), 5)])
        error = error_of(tmp_path / name)
        assert error.code == "I104", (name, str(error))
        assert name in error.what
        assert error.hint


def test_damaged_files_are_named(tmp_path: Path) -> None:
    whole = parquet_bytes(tmp_path)
    parts = tmp_path / "parts"
    parts.mkdir()
    (parts / "part-0.parquet").write_bytes(whole)
    (parts / "part-1.parquet").write_bytes(whole[:-200])
    error = error_of(parts)
    assert (error.code, "part-1.parquet" in error.what) == ("I104", True)
    (tmp_path / "text.parquet").write_bytes(GOOD)
    assert error_of(tmp_path / "text.parquet").code == "I104"
    (tmp_path / "x.json").write_text('{"1": {"a": 0.5,, "b": 1}}')
    error = error_of(tmp_path / "x.json")
    assert (error.code, "line 1, column 17" in error.where) == ("I104", True)


TWICE = {  # the JSON text, the number of repeated keys, and the first of them
    "user": ('{"ann": {"x": 1}, "bob": {"y": 1}, "ann": {"y": 1}}', 1, "the first is 'ann'"),
    "user with lists": ('{"ann": ["x"], "bob": ["y"], "ann": ["y"], "ann": ["z"]}', 2, "the first is 'ann'"),
    "item of a user": ('{"ann": {"x": 1}, "bob": {"y": 1, "x": 2, "y": 1}}', 1, "the first is 'y' inside 'bob'"),
    "both": ('{"bob": {"y": 1, "y": 2}, "ann": {"x": 1}, "ann": {"x": 1}}', 2, "the first is 'ann'"),
    "written otherwise": (r'{"ann": {"x": 1}, "\u0061nn": {"y": 1}}', 1, "the first is 'ann'"),
    "column": ('{"user_id": [1], "item_id": [2], "item_id": [3]}', 1, "the first is 'item_id'"),
    "in a record": ('[{"user_id": 1, "item_id": 2}, {"user_id": 1, "item_id": 3, "item_id": 4}]', 1, "'item_id'"),
}


@pytest.mark.parametrize("role", ["run", "truth", "log"])
@pytest.mark.parametrize("case", TWICE)
def test_a_repeated_json_key_is_rejected(tmp_path: Path, case: str, role: str) -> None:
    """Python silently keeps the last one."""
    text, count, first = TWICE[case]
    (tmp_path / "x.json").write_text(text)
    error = error_of(tmp_path / "x.json", role)
    assert error.code == "I113"
    assert error.what.startswith(f"{count} keys are repeated in the same JSON object")
    assert error.what.endswith(first)
    assert "x.json" in error.where


def test_a_repeated_feature_key_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('{"x": {"genre": "a"}, "y": {"genre": "b", "genre": "c"}}')
    error = error_of(tmp_path / "x.json", "items")
    assert (error.code, "the first is 'genre' inside 'y'" in error.what) == ("I113", True)


def test_a_json_line_with_a_repeated_key_is_rejected(tmp_path: Path) -> None:
    """Polars silently keeps the first one."""
    (tmp_path / "x.jsonl").write_text('{"user": 1, "item": 2}\n{"user": 1, "item": 3, "item": 4}\n')
    error = error_of(tmp_path / "x.jsonl")
    assert (error.code, "line 2" in error.where) == ("I113", True)
    (tmp_path / "x.jsonl").write_text('{"user": "item", "item": "user"}\n{"user": "a", "item": "item"}\n')
    assert read_table(tmp_path / "x.jsonl", "run").rows() == [("item", "user"), ("a", "item")]
    (tmp_path / "x.json").write_text('{"ann": {"ann": 1}, "bob": {"ann": 1, "bob": 2}}')  # the same words elsewhere
    assert read_table(tmp_path / "x.json", "run").height == 3


@pytest.mark.parametrize("role", ["run", "truth", "log"])
def test_users_of_different_shapes_are_rejected(tmp_path: Path, role: str) -> None:
    mixed = {"ann": {"x": 1.0}, "bob": ["y"], "eve": ["x", "z"]}
    (tmp_path / "x.json").write_text(json.dumps(mixed))
    for source in (mixed, dict(reversed(mixed.items())), tmp_path / "x.json"):
        error = error_of(source, role)
        assert error.code == "I108"
        assert "1 in a dict of item and number (such as 'ann'), 2 in a list (such as" in error.what
        assert "give all users the same shape: {user: {item: number}}" in error.hint
    error = error_of({"ann": [("x", 1.0)], "bob": ["y"], "eve": []}, role)
    assert error.code == "I108"
    assert "1 in a list of (item, number) (such as 'ann'), 1 in a list of items (such as 'bob')" in error.what
    assert error_of({"ann": ["x", ("y", 1.0)]}, role).code == "I108"


def test_a_dict_of_other_values_is_rejected_with_an_example() -> None:
    error = error_of({"ann": {"x": 1.0}, "bob": None})
    assert (error.code, "holds a NoneType (for 'bob')" in error.what) == ("I108", True)


def test_users_of_different_shapes_are_not_taken_for_named_runs() -> None:
    with refused("I108"):
        ra.score({"ann": {"x": 1.0}, "bob": ["y"]}, {"ann": ["x"]}, "mrr")


BROKEN_LINES = {
    "short": ("x.csv", GOOD + b"2,c\n3,d,0.5\n", 4, "has 2 fields, but 3 are expected: '2,c'"),
    "long": ("x.csv", GOOD + b"2,c,0.5,9\n", 4, "has 4 fields, but 3 are expected"),
    "word": ("x.csv", GOOD + b"2,c,high\n", 4, "has 'high' where score needs a number: '2,c,high'"),
    "two headers": (
        "x.csv",
        b"user,item,score\nc,c,c\n1,2,3\n",
        2,
        "has 'c' where score needs a number (a second line of headers? then remove it)",
    ),
    "decimal comma": (
        "x.csv",
        b"user;item;score\n1;a;3,5\n1;b;2,25\n",
        2,
        "has '3,5' where score needs a number (a decimal comma: write a point): '1;a;3,5'",
    ),
    "cut short": (
        "x.csv",
        GOOD + b"2,c",
        4,
        "has 2 fields, but 3 are expected (the last line, which has no end: the file may be cut short): '2,c'",
    ),
    "header again": ("x.csv", GOOD + GOOD, 4, "has 'score' where score needs a number"),
    "late": ("x.csv", GOOD + b"1,a,0.5\n" * 50_000 + b"2,c\n", 50_004, "has 2 fields"),
    "after blank": ("x.csv", GOOD + b"\n2,c\n", 5, "has 2 fields"),
    "after quoted break": ("x.csv", GOOD + b'2,"c\nd",0.5\n2,c\n', 6, "has 2 fields"),
    "below blanks": ("x.csv", b"\n" + GOOD + b"2,c\n", 5, "has 2 fields, but 3"),
    "open quote": ("x.csv", GOOD + b'2,"c,0.5\n3,d,1\n', 4, "cannot be parsed (unexpected end of data)"),
    "quote alone": ("x.csv", GOOD + b'2,c,"\n', 4, "cannot be parsed"),
    "packed": ("x.csv.gz", gzip.compress(GOOD + b"2,c\n"), 4, "has 2 fields"),
    "trec": ("x.run", b"q1 Q0 d1 1 0.5 t\nq1 Q0 d2 2 0.25\n", 2, "has 5 fields, but 6 are expected"),
    "trec five": ("x.run", b"\nq1 Q0 d1 0.5 t\nq1 Q0 d2 0.25 t\n", 2, "has 5 fields, but a line of a TREC run has 6"),
    "trec gap": ("x.run", b"q1 Q0 d1 1 0.5 t\nq1 Q0 d2 2  t\n", 2, "has 5 fields, but 6 are expected"),
    "trec word": ("x.run", b"q1 Q0 d1 1 0.5 t\nq1 Q0 d2 2 x t\n", 2, "has 'x' where score needs a number"),
    "sasrec": ("x.txt", b"1 2\n1 3\n2\n", 3, "has 1 field, but 2 are expected"),
    "movielens": ("x.dat", b"1::2::3::4\n1::2::3\n", 2, "has 3 fields, but 4 are expected"),
    "recbole": ("x.inter", b"user_id:token\titem_id:token\n1\t2\n3\n", 3, "has 1 field, but 2"),
    "json lines": ("x.jsonl", b'{"user": 1, "item": 2}\n{"user": 1, "item"\n', 2, "is not JSON"),
    "json lines word": ("x.jsonl", b'{"user": 1, "item": 2}\n\nhello\n', 3, "is not JSON"),
    "json lines list": ("x.jsonl", b'{"user": 1, "item": 2}\n[1, 2]\n', 2, "is not a JSON object: '[1, 2]'"),
}


@pytest.mark.parametrize("case", BROKEN_LINES)
def test_broken_lines_are_numbered_and_shown(tmp_path: Path, case: str) -> None:
    name, data, line, what = BROKEN_LINES[case]
    (tmp_path / name).write_bytes(data)
    role = "log" if case == "sasrec" else "run"
    options = {"format": "sasrec"} if case == "sasrec" else {}
    error = error_of(tmp_path / name, role, **options)
    assert error.code == "I105", str(error)
    assert f"line {line} of {name} {what}" in error.what
    assert error.where.endswith(f"line {line}")
    assert f"sed -n {line}p" in error.hint


def test_a_quotation_mark_inside_a_field_is_kept_or_shown(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_bytes(GOOD + b'2,c"c,0.5\n3,d,1\n')
    try:
        items = read_table(tmp_path / "x.csv", "run")["item_id"].to_list()
    except RecassayError as error:
        # Polars 2 refuses such a line, earlier versions read it unchanged.
        items = ["a", "b", 'c"c', "d"] if "line 4 of x.csv has an unpaired quotation mark" in error.what else []
    assert items == ["a", "b", 'c"c', "d"]


def test_a_long_line_is_cut(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_bytes(GOOD + b"x" * 5000 + b"\n")
    assert "x" * 77 + "...'" in error_of(tmp_path / "x.csv").what
    assert "x" * 78 not in error_of(tmp_path / "x.csv").what


@pytest.mark.parametrize("rows", [0, 30_000])
def test_a_wrong_encoding_error_has_position_and_command(tmp_path: Path, rows: int) -> None:
    head = GOOD + b"1,a,0.5\n" * rows
    (tmp_path / "x.csv").write_bytes(head + b"2,caf\xe9,0.5\n")
    error = error_of(tmp_path / "x.csv")
    assert error.code == "I106"
    assert f"byte {len(head) + 5:,}, in line {rows + 4:,}, is 0xe9" in error.what
    assert "iconv -f WINDOWS-1252 -t UTF-8" in error.hint
    (tmp_path / "x.jsonl").write_bytes(b'{"user": 1, "item": "a"}\n' * (rows + 1) + b'{"user": 1, "item": "\xe9"}\n')
    assert error_of(tmp_path / "x.jsonl").code == "I106"
    (tmp_path / "x.json").write_bytes(b'{"1": {"a": 0.5, "\xe9": 1}}')
    assert error_of(tmp_path / "x.json").code == "I106"


def test_utf16_is_recognised(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_bytes(GOOD.decode().encode("utf-16"))
    error = error_of(tmp_path / "x.csv")
    assert (error.code, "iconv -f UTF-16" in error.hint) == ("I106", True)


def test_a_character_cut_by_the_sample_is_not_an_error(tmp_path: Path) -> None:
    data = b"user_id,item_id,score\n"
    data += b"1,a,0.5\n" * ((65_536 - len(data)) // 8)
    filler = b"1," + b"x" * (65_536 - len(data) - 3)
    (tmp_path / "x.csv").write_bytes(data + filler + "é,1.0\n".encode())
    assert read_table(tmp_path / "x.csv", "run")["item_id"][-1].endswith("é")


def test_unknown_formats_objects_and_folders_are_rejected(tmp_path: Path) -> None:
    (tmp_path / "x.pickle").write_bytes(b"\x80\x04\x00\x00")
    error = error_of(tmp_path / "x.pickle")
    assert (error.code, "parquet" in error.hint) == ("I107", True)
    for source in (7, object(), {"a": 1}, [1, 2], [(1, 2), (1,)], [(1,)], {"a": {"b": 1}, "c": 1}, b"bytes"):
        assert error_of(source).code == "I108", source
    (tmp_path / "folder").mkdir()
    assert error_of(tmp_path / "folder").code == "I109"
    (tmp_path / "folder" / "notes.md").write_text("x")
    error = error_of(tmp_path / "folder")
    assert (error.code, "1 entries, for example 'notes.md'" in error.what) == ("I109", True)


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="the administrator may read everything")
def test_an_unreadable_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_bytes(GOOD)
    (tmp_path / "x.csv").chmod(0)
    assert error_of(tmp_path / "x.csv").code == "I110"


def test_a_missing_column_error_suggests_the_option(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("usr_id,thing,score\n1,2,0.5\n")
    error = error_of(tmp_path / "x.csv")
    assert error.code == "I201"
    assert "no column for user_id and item_id; the 3 columns found are 'usr_id', 'thing', 'score'" in error.what
    assert "did you mean 'usr_id'?" in error.hint
    assert "--columns user=usr_id,item=thing" in error.hint
    (tmp_path / "y.csv").write_text("house,store_id,thing\n1,2,0.5\n")
    error = error_of(tmp_path / "y.csv")
    assert "did you mean" not in error.hint  # the example takes another column
    assert "--columns user=house,item=store_id" in error.hint
    error = error_of(tmp_path / "x.csv", columns="user=user_id,item=thing")
    assert (error.code, "there is no column 'user_id'" in error.what) == ("I201", True)
    assert read_table(tmp_path / "x.csv", "run", columns="user=usr_id,item=thing").rows() == [(1, 2, 0.5)]
    assert error_of(pl.DataFrame({"a": [1]}), "items").code == "I201"


@pytest.mark.parametrize("columns", ["usr=a", "user", "user=", "user=a,user=b", "user=a,item=a", "=a"])
def test_invalid_column_choices_are_rejected(columns: str) -> None:
    error = error_of(pl.DataFrame({"a": [1], "b": [2]}), columns=columns)
    assert error.code == "U102"
    assert "user, item, timestamp, rating, score, rank, gain" in error.hint


def test_column_names_are_recognised() -> None:
    frame = pl.DataFrame({"user": [1], "userId": [2], "item": [3], "score": [0.5]})
    error = error_of(frame)
    assert (error.code, error.what) == ("I203", "2 columns can be user_id: 'user', 'userId'")
    assert "--columns user=user" in error.hint
    assert read_table(frame, "run", columns={"user": "userId"}).rows() == [(2, 3, 0.5)]
    assert read_table(frame.rename({"user": "user_id"}), "run").rows() == [(1, 3, 0.5)]
    merged = pl.DataFrame({"userID": [1], "itemID": [2], "rating": [5], "prediction": [0.5], "session": [9]})
    assert read_table(merged, "run").rows() == [(1, 2, 0.5)]
    assert read_table(merged, "truth").rows() == [(1, 2, 5.0)]
    assert read_table(merged, "log").columns == ["user_id", "item_id", "rating"]
    sessions = pl.DataFrame({"Session_ID": [1], "Artist": ["x"], "time": [3]})
    assert read_table(sessions, "log").rows() == [(1, "x", 3)]


def test_two_columns_of_one_name_are_rejected() -> None:
    assert error_of(pd.DataFrame([[1, 2, 3]], columns=["user_id", "user_id", "item_id"])).code == "I203"
    twice = pa.table([[1], [2], [3]], names=["user_id", "user_id", "item_id"])
    assert error_of(twice).code == "I108"


def test_missing_and_invalid_ids_are_rejected(tmp_path: Path) -> None:
    frame = pl.DataFrame({"user_id": [1, None, None], "item_id": ["a", "b", "c"]})
    error = error_of(frame, "truth")
    assert (error.code, error.what) == ("I304", "2 of 3 ids are missing, the first in row 2")
    assert "column 'user_id'" in error.where
    (tmp_path / "x.csv").write_bytes(GOOD + b"2,,0.5\n")
    assert error_of(tmp_path / "x.csv").what == "1 of 3 ids are missing, the first in row 3"
    (tmp_path / "x.csv").write_bytes(GOOD + b"2,,\n")
    assert error_of(tmp_path / "x.csv").code == "I304"
    assert error_of({"a": {"": 1.0}}).code == "I304"
    assert error_of(pl.DataFrame({"user_id": [1.0, float("nan")], "item_id": [1, 2]})).code == "I304"
    assert error_of(pl.DataFrame({"user_id": [None], "item_id": [1]})).code == "I304"
    for ids in ([1.5, 2.0], [float("inf"), 1.0], [2.0**60, 1.0], [[1], [2]], [True, False], [{"a": 1}, {"a": 2}]):
        error = error_of(pl.DataFrame({"user_id": ids, "item_id": [1, 2]}))
        assert error.code == "I202", ids
    assert (
        "1 of 2 values are not exact whole numbers, the first 1.5 in row 2"
        in error_of(pl.DataFrame({"user_id": [2.0, 1.5], "item_id": [1, 2]})).what
    )


def test_values_of_the_wrong_type_are_rejected() -> None:
    ids = {"user_id": [1, 2], "item_id": [1, 2]}
    error = error_of(pl.DataFrame({**ids, "score": ["0.5", "high"]}))
    assert (error.code, "1 of 2 values are not numbers, the first 'high' in row 2" in error.what) == ("I202", True)
    assert error_of(pl.DataFrame({**ids, "score": [[1], [2]]})).code == "I202"
    assert error_of(pl.DataFrame({**ids, "rank": [1.0, 1.5]})).code == "I202"
    assert error_of(pl.DataFrame({**ids, "timestamp": ["2014-01-01", "soon"]}), "log").code == "I202"
    assert "'a' (str)" in error_of([("a", 1), (1, 2)]).what
    assert error_of(pd.DataFrame({"user_id": ["a", 1], "item_id": [1, 2]})).code == "I202"
    kept = read_table(pl.DataFrame({**ids, "score": [float("nan"), None], "rank": [2.0, None]}), "run")
    assert kept["rank"].to_list() == [2, None]
    assert kept["score"].is_nan().to_list() == [True, None]


def test_parts_with_different_types_are_rejected(tmp_path: Path) -> None:
    pl.DataFrame({"user_id": [1], "item_id": [1]}).write_parquet(tmp_path / "part-0.parquet")
    pl.DataFrame({"user_id": ["a"], "item_id": [1]}).write_parquet(tmp_path / "part-1.parquet")
    error = error_of(tmp_path)
    assert error.code == "I202"
    assert "part-0.parquet" in error.where
    assert "part-1.parquet" in error.where


def test_text_parts_may_have_numeric_and_text_ids(tmp_path: Path) -> None:
    (tmp_path / "part-0.csv").write_bytes(GOOD)
    (tmp_path / "part-1.csv").write_bytes(b"user_id,item_id,score\nu2,a,1\n")
    assert read_table(tmp_path, "run")["user_id"].to_list() == ["1", "1", "u2"]
    (tmp_path / "part-2.csv").write_bytes(b"user_id,item_id\nu2,a\n")
    assert error_of(tmp_path).code == "I202"


def test_a_file_without_line_ends_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "run.csv"
    path.write_bytes(b"user_id,item_id,score," + b"x," * 10_000_000)
    with refused("I117", match=r"the first line of run\.csv is longer than"):
        ra.read_run(path)
