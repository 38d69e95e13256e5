"""Random tables written in any format read back unchanged."""

from __future__ import annotations

import contextlib
import gzip
import json
import tempfile
from collections.abc import Callable
from pathlib import Path

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from recassay.data.io.read import read_table
from recassay.errors import InputError

from ....examples import examples

Rows = list[tuple[object, object, float]]

WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"], exclude_characters='"\u2028'), min_size=1)
# Text that reads as a number is a number in a text file, so string ids begin with a letter here.
NAMES = WORDS.map(lambda word: "n" + word)
WHOLE = st.integers(-(2**53), 2**53)
SCORES = st.floats(allow_nan=False, allow_infinity=False)


def rows_of(ids: st.SearchStrategy[object]) -> st.SearchStrategy[Rows]:
    pairs = st.tuples(ids, ids)
    return st.dictionaries(pairs, SCORES, min_size=1, max_size=12).map(
        lambda table: [(user, item, score) for (user, item), score in table.items()]
    )


TABLES = rows_of(WHOLE) | rows_of(NAMES)


def as_csv(separator: str) -> Callable[[Rows], bytes]:
    return lambda rows: frame_of(rows).write_csv(separator=separator).encode()


def as_trec(rows: Rows) -> bytes:
    return "".join(f"{user} Q0 {item} 0 {score!r} tag\n" for user, item, score in rows).encode()


def as_json_lines(rows: Rows) -> bytes:
    return "".join(json.dumps({"user": u, "item": i, "score": s}) + "\n" for u, i, s in rows).encode()


def as_json_records(rows: Rows) -> bytes:
    return json.dumps([{"user": u, "item": i, "score": s} for u, i, s in rows]).encode()


def as_recbole(rows: Rows) -> bytes:
    body = "".join(f"{user}\t{item}\t{score!r}\n" for user, item, score in rows)
    return ("user_id:token\titem_id:token\tscore:float\n" + body).encode()


WRITERS = {
    "x.csv": as_csv(","),
    "x.tsv": as_csv("\t"),
    "x.txt": as_csv(";"),
    "y.txt": as_csv("|"),
    "x.run": as_trec,
    "x.jsonl": as_json_lines,
    "x.json": as_json_records,
    "x.inter": as_recbole,
}


def frame_of(rows: Rows) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=["user_id", "item_id", "score"], orient="row")


@settings(max_examples=examples(60), deadline=None)
@given(rows=TABLES)
def test_written_tables_read_back(rows: Rows) -> None:
    expected = frame_of(rows)
    with tempfile.TemporaryDirectory() as folder:
        for name, write in WRITERS.items():
            data = write(rows)
            (Path(folder) / name).write_bytes(data)
            (Path(folder) / f"{name}.gz").write_bytes(gzip.compress(data))
            for path in (name, f"{name}.gz"):
                frame = read_table(Path(folder) / path, "run").select("user_id", "item_id", "score")
                assert frame.rows() == expected.rows(), path
                assert frame.dtypes == expected.dtypes, path
        expected.write_parquet(Path(folder) / "x.parquet")
        assert read_table(Path(folder) / "x.parquet", "run").equals(expected)


@settings(max_examples=examples(60), deadline=None)
@given(rows=TABLES)
def test_objects_read_back(rows: Rows) -> None:
    expected = frame_of(rows)
    assert read_table(rows, "run").equals(expected)
    assert read_table(expected.to_pandas(), "run").equals(expected)
    assert read_table(expected.to_arrow(), "run").equals(expected)
    nested: dict[object, dict[object, float]] = {}
    for user, item, score in rows:
        nested.setdefault(user, {})[item] = score
    assert sorted(read_table(nested, "run").rows()) == sorted(expected.rows())


@settings(max_examples=examples(200), deadline=None)
@given(data=st.binary(min_size=0, max_size=80), name=st.sampled_from([*WRITERS, "x.parquet", "x.csv.gz", "noname"]))
def test_arbitrary_bytes_never_crash_the_reader(data: bytes, name: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / name).write_bytes(data)
        with contextlib.suppress(InputError):
            assert read_table(Path(folder) / name, "run").height > 0
