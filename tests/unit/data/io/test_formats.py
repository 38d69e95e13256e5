"""The same small table gives the same frame from every format and object."""

from __future__ import annotations

import gzip
import json
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from recassay.data.io import formats
from recassay.data.io.read import read_table
from recassay.errors import InputError, UsageError

RUN = pl.DataFrame({"user_id": [1, 1, 2], "item_id": ["a", "b", "a"], "score": [0.5, 0.25, 1.0]})
LOG = pl.DataFrame(
    {"user_id": [1, 1, 2], "item_id": [10, 20, 10], "timestamp": [100, 101, 99], "rating": [5.0, 3.5, 4.0]}
)

RUN_TEXTS = {
    "plain.csv": "user_id,item_id,score\n1,a,0.5\n1,b,0.25\n2,a,1.0\n",
    "crlf.csv": "user_id,item_id,score\r\n1,a,0.5\r\n1,b,0.25\r\n2,a,1.0\r\n",
    "bom.csv": "\ufeffuser_id,item_id,score\n1,a,0.5\n1,b,0.25\n2,a,1.0",
    "bom_headerless.csv": "\ufeff1,a,0.5\n1,b,0.25\n2,a,1.0",
    "quoted.csv": '"user_id","item_id","score"\n"1","a","0.5"\n"1","b","0.25"\n"2","a","1.0"\n',
    "order.csv": "score;item;tag;user\n0.5;a;x;1\n0.25;b;y;1\n1.0;a;z;2\n",
    "pipes.txt": "uid|iid|prediction\n1|a|0.5\n1|b|0.25\n2|a|1\n",
    "caret.txt": "uid^iid^prediction\n1^a^0.5\n1^b^0.25\n2^a^1\n",
    "headerless.csv": "1,a,0.5\n1,b,0.25\n2,a,1.0\n",
    "headerless.tsv": "1\ta\t0.5\n1\tb\t0.25\n2\ta\t1.0\n",
    "blanks.txt": "1  a   0.5\n 1 b 0.25 \n2 a 1.0\n",
    "blank_lines.csv": "user_id,item_id,score\n1,a,0.5\n\n1,b,0.25\n2,a,1.0\n\n\n",
    "blank_lines_above.csv": "\n \nuser_id,item_id,score\n\n\n1,a,0.5\n1,b,0.25\n2,a,1.0\n",
    "blank_lines_first.tsv": "\r\n\r\n1\ta\t0.5\r\n1\tb\t0.25\r\n2\ta\t1.0\r\n",
    "blank_lines_first.txt": "\n1 a 0.5\n\n1 b 0.25\n2 a 1.0\n",
    "elliot.tsv": "userId\titemId\tprediction\n1\ta\t0.5\n1\tb\t0.25\n2\ta\t1.0\n",
    "recbole.inter": "user_id:token\titem_id:token\tscore:float\n1\ta\t0.5\n1\tb\t0.25\n2\ta\t1.0\n",
    "nested.json": '{"1": {"a": 0.5, "b": 0.25}, "2": {"a": 1.0}}',
    "pairs.json": '{"1": [["a", 0.5], ["b", 0.25]], "2": [["a", 1.0]]}',
    "records.json": '[{"user_id": 1, "item_id": "a", "score": 0.5}, {"user_id": 1, "item_id": "b", "score": 0.25},'
    ' {"user_id": 2, "item_id": "a", "score": 1}]',
    "columns.json": '{"user_id": [1, 1, 2], "item_id": ["a", "b", "a"], "score": [0.5, 0.25, 1.0]}',
    "lines.jsonl": '{"user": 1, "item": "a", "score": 0.5}\n{"user": 1, "item": "b", "score": 0.25}\n'
    '\n{"user": 2, "item": "a", "score": 1}\n',
    "lines_by_content.txt": '{"user": 1, "item": "a", "score": 0.5}\n{"user": 1, "item": "b", "score": 0.25}\n'
    '{"user": 2, "item": "a", "score": 1}\n',
}


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gz"])
@pytest.mark.parametrize("name", RUN_TEXTS)
def test_a_run_in_every_text_format(tmp_path: Path, name: str, packed: bool) -> None:
    path = tmp_path / (name + ".gz" * packed)
    data = RUN_TEXTS[name].encode()
    path.write_bytes(gzip.compress(data) if packed else data)
    assert read_table(path, "run").equals(RUN)
    assert read_table(str(path), "run").schema == RUN.schema


@pytest.mark.parametrize("separator", [" ", "\t", "   ", " \t "], ids=["blank", "tab", "blanks", "mixed"])
def test_trec_run_and_qrels(tmp_path: Path, separator: str) -> None:
    run = tmp_path / "bm25.run"
    rows = ["q1 Q0 d1 1 9.5 bm25", "q1 Q0 d2 2 9.25 bm25", "q2 Q0 d1 1 -1e-3 bm25"]
    run.write_text("\n".join(row.replace(" ", separator) for row in rows))
    frame = read_table(run, "run")
    assert frame.to_dict(as_series=False) == {
        "user_id": ["q1", "q1", "q2"],
        "item_id": ["d1", "d2", "d1"],
        "rank": [1, 2, 1],
        "score": [9.5, 9.25, -0.001],
    }
    qrels = tmp_path / "qrels.txt"
    qrels.write_text("".join(row.replace(" ", separator) + "\n" for row in ["7 0 d1 1", "7 0 d2 -1", "8 0 d1 0"]))
    assert read_table(qrels, "truth").rows() == [(7, "d1", 1.0), (7, "d2", -1.0), (8, "d1", 0.0)]


LOG_TEXTS = {
    "uirt.txt": ("uirt", "1\t10\t5\t100\n1\t20\t3.5\t101\n2\t10\t4\t99\n"),
    "u.data": (None, "1\t10\t5\t100\n1\t20\t3.5\t101\n2\t10\t4\t99\n"),
    "ratings.dat": (None, "1::10::5::100\n1::20::3.5::101\n2::10::4::99\n"),
    "ratings.csv": (None, "userId,movieId,rating,timestamp\n1,10,5.0,100\n1,20,3.5,101\n2,10,4.0,99\n"),
    "forced.dat": ("movielens", "1::10::5::100\n1::20::3.5::101\n2::10::4::99\n"),
    "ml.inter": (
        None,
        "user_id:token\titem_id:token\trating:float\ttimestamp:float\n1\t10\t5\t100\n1\t20\t3.5\t101\n2\t10\t4\t99\n",
    ),
    "rectools.csv": (None, "user_id,item_id,weight,datetime\n1,10,5,100\n1,20,3.5,101\n2,10,4,99\n"),
}


@pytest.mark.parametrize("name", LOG_TEXTS)
def test_a_log_in_every_text_format(tmp_path: Path, name: str) -> None:
    format, text = LOG_TEXTS[name]
    (tmp_path / name).write_text(text)
    assert read_table(tmp_path / name, "log", format=format).equals(LOG)


def test_sasrec_text_has_the_position_as_time(tmp_path: Path) -> None:
    (tmp_path / "beauty.txt").write_text("1 30\n1 10\n2 10\n1 20\n")
    frame = read_table(tmp_path / "beauty.txt", "log")
    assert frame.rows() == [(1, 30, 0), (1, 10, 1), (2, 10, 0), (1, 20, 2)]
    assert frame.columns == ["user_id", "item_id", "timestamp"]
    assert read_table(tmp_path / "beauty.txt", "truth").columns == ["user_id", "item_id"]


def test_headerless_text_columns_go_by_position_if_requested(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("ann,lamp\nbob,desk\n")
    assert read_table(tmp_path / "x.csv", "truth", format="uirt").rows() == [("ann", "lamp"), ("bob", "desk")]
    with pytest.raises(InputError, match="'ann', 'lamp'"):
        read_table(tmp_path / "x.csv", "truth")


def test_headerless_columns_can_be_chosen(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("0.5,a,1\n0.25,b,1\n1.0,a,2\n")
    assert read_table(tmp_path / "x.csv", "run", columns="user=column_3,item=column_2,score=column_1").equals(RUN)


def test_parquet_file_folder_and_glob(tmp_path: Path) -> None:
    RUN.write_parquet(tmp_path / "run.parquet")
    assert read_table(tmp_path / "run.parquet", "run").equals(RUN)
    RUN.write_parquet(tmp_path / "named_wrongly.csv")
    assert read_table(tmp_path / "named_wrongly.csv", "run").equals(RUN)
    folder = tmp_path / "parts"
    (folder / "day=1").mkdir(parents=True)
    RUN.head(2).write_parquet(folder / "day=1" / "part-00000.parquet")
    RUN.head(0).write_parquet(folder / "part-00001.parquet")
    RUN.tail(1).select("score", "item_id", pl.col("user_id").cast(pl.Int32)).write_parquet(
        folder / "part-00002.parquet"
    )
    (folder / "_SUCCESS").touch()
    (folder / ".part-00000.crc").write_bytes(b"x")
    assert read_table(folder, "run").equals(RUN)
    assert read_table(str(folder / "**" / "*.parquet"), "run").equals(RUN)


def test_csv_parts_and_empty_parts(tmp_path: Path) -> None:
    (tmp_path / "part-0.csv").write_text("user_id,item_id,score\n1,a,0.5\n1,b,0.25\n")
    (tmp_path / "part-1.csv").write_text("")
    (tmp_path / "part-2.csv").write_text("user_id,item_id,score\n2,a,1.0\n")
    assert read_table(tmp_path, "run").equals(RUN)


def test_parquet_reads_the_needed_columns_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    RUN.with_columns(text=pl.lit("x")).write_parquet(tmp_path / "run.parquet")
    seen: list[list[str]] = []
    collect = pl.LazyFrame.collect

    def spy(self: pl.LazyFrame, *args: Any, **kwargs: Any) -> Any:
        seen.append(self.collect_schema().names())
        return collect(self, *args, **kwargs)

    monkeypatch.setattr(pl.LazyFrame, "collect", spy)
    monkeypatch.setattr("recassay.data.io.read.SMALL", 0)
    assert read_table(tmp_path / "run.parquet", "run").equals(RUN)
    assert {name for names in seen for name in names} - {"len"} == {"user_id", "item_id", "score"}
    assert max(map(len, seen)) == 1  # one column at a time


class ArrowOnly:
    """An object that only exports Arrow."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)


TUPLES = [(1, "a", 0.5), (1, "b", 0.25), (2, "a", 1.0)]
OBJECTS = {
    "polars": lambda: RUN,
    "lazy": RUN.lazy,
    "pandas": lambda: pd.DataFrame(TUPLES, columns=["user_id", "item_id", "score"]),
    "pandas_category": lambda: pd.DataFrame(TUPLES, columns=["uid", "iid", "score"]).astype({"iid": "category"}),
    "pandas_float_ids": lambda: pd.DataFrame(TUPLES, columns=["userId", "itemId", "score"]).astype({"userId": float}),
    "pandas_nullable": lambda: pd.DataFrame(TUPLES, columns=["userId", "itemId", "score"]).convert_dtypes(),
    "pandas_object": lambda: pd.DataFrame(TUPLES, columns=["userId", "itemId", "score"]).astype(object),
    "arrow": RUN.to_arrow,
    "reader": lambda: RUN.to_arrow().to_reader(),
    "arrow_capsule": lambda: ArrowOnly(RUN.to_arrow()),
    "dict_of_dicts": lambda: {1: {"a": 0.5, "b": 0.25}, 2: {"a": 1}},
    "dict_of_pairs": lambda: {1: [("a", 0.5), ("b", 0.25)], 2: [("a", 1)]},
    "dict_of_columns": lambda: {"user": [1, 1, 2], "item": np.array(["a", "b", "a"]), "score": [0.5, 0.25, 1]},
    "numpy_keys": lambda: {np.int64(1): {"a": np.float32(0.5), "b": 0.25}, np.int64(2): {"a": np.float64(1)}},
    "tuples": lambda: TUPLES,
    "records": lambda: [dict(zip(("user", "item", "score"), row, strict=True)) for row in TUPLES],
}


@pytest.mark.parametrize("name", OBJECTS)
def test_a_run_reads_from_every_object_type(name: str) -> None:
    frame = read_table(OBJECTS[name](), "run")
    assert frame.equals(RUN)
    assert frame.schema == RUN.schema


def test_a_duckdb_relation_is_read() -> None:
    import duckdb  # not above: what is there before the tests is never freed, and DuckDB lists it at the end

    connection = duckdb.connect()
    relation = connection.sql("select 1::hugeint as user_id, 'a' as item_id, 0.5::decimal(4,2) as score")
    assert read_table(relation, "run").rows() == [(1, "a", 0.5)]
    assert read_table(relation, "run").dtypes == [pl.Int64, pl.String, pl.Float64]


@pytest.fixture
def without_pyarrow(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "pyarrow"]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setattr(pl.Series, "__init__", _refusing_pandas(pl.Series.__init__))


def _refusing_pandas(init: Any) -> Any:
    """Return Polars' constructor as it behaves without pyarrow, which pandas' own types need."""

    def refuse(self: pl.Series, name: Any = None, values: Any = None, *args: Any, **kwargs: Any) -> None:
        if type(values).__module__.startswith("pandas"):
            raise ImportError("pyarrow is required")
        init(self, name, values, *args, **kwargs)

    return refuse


@pytest.mark.usefixtures("without_pyarrow")
@pytest.mark.parametrize("name", [name for name in OBJECTS if name.startswith("pandas")])
def test_pandas_without_pyarrow(name: str) -> None:
    assert read_table(OBJECTS[name](), "run").equals(RUN)


@pytest.mark.usefixtures("without_pyarrow")
def test_missing_pandas_id_without_pyarrow() -> None:
    frame = pd.DataFrame({"user_id": ["a", None], "item_id": [1, 2]})
    with pytest.raises(InputError, match=r"I304.*1 of 2 ids are missing, the first in row 2"):
        read_table(frame, "truth")


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_times_of_pandas(unit: str) -> None:
    times = np.array(["2014-01-01T00:00:01", "NaT"], dtype=f"datetime64[{unit}]")
    frame = pd.DataFrame({"user": [1, 2], "item": [2, 3], "time": times})
    assert read_table(frame, "log")["timestamp"].to_list() == [datetime(2014, 1, 1, 0, 0, 1), None]


def test_missing_values_stay_missing(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("user_id,item_id,score\n1,a,\n1,b,0.25\n2,a,\n")
    assert read_table(tmp_path / "x.csv", "run")["score"].to_list() == [None, 0.25, None]
    (tmp_path / "x.csv").write_text('user_id,item_id,score\n1,"a",\n\n1,b,0.25\n2,a,\n')
    assert read_table(tmp_path / "x.csv", "run")["score"].to_list() == [None, 0.25, None]


def test_dict_of_lists_is_ranked_timed_or_neither() -> None:
    lists = {"ann": ["x", "y"], "bob": ("y",)}
    assert read_table(lists, "run").to_dict(as_series=False)["rank"] == [1, 2, 1]
    assert read_table(lists, "log").columns == ["user_id", "item_id", "timestamp"]
    assert read_table(lists, "truth").rows() == [("ann", "x"), ("ann", "y"), ("bob", "y")]
    assert sorted(read_table({"ann": {"x", "y"}}, "truth").rows()) == [("ann", "x"), ("ann", "y")]
    with pytest.raises(InputError, match=r"I108.*set of items has no order"):
        read_table({"ann": {"x", "y"}}, "run")


def test_items_keep_all_other_columns(tmp_path: Path) -> None:
    items = pl.DataFrame({"movieId": [1, 2], "title": ["A", None], "genres": [["x", "y"], []], "year": [1999, 2001]})
    expected = items.rename({"movieId": "item_id"})
    items.write_parquet(tmp_path / "items.parquet")
    assert read_table(tmp_path / "items.parquet", "items").equals(expected)
    assert read_table(items, "items").equals(expected)
    (tmp_path / "items.csv").write_text('id,title,year,zip,price\n1,"A, B",1999,01234,1.5\n2,C,,99,2\n')
    frame = read_table(tmp_path / "items.csv", "items")
    assert frame.rows() == [(1, "A, B", 1999, "01234", 1.5), (2, "C", None, "99", 2.0)]
    assert read_table({"a": {"year": 1}, "b": {"year": 2}}, "items").rows() == [("a", 1), ("b", 2)]


def test_json_keys_become_integers_if_all_are(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps({"1": {"7": 0.5}, "2": {"08": 1}}))
    frame = read_table(path, "run")
    assert frame["user_id"].to_list() == [1, 2]
    assert frame["item_id"].to_list() == ["7", "08"]
    path.write_text(json.dumps({"1": ["7", "8"]}))
    assert read_table(path, "run")["item_id"].to_list() == ["7", "8"]


def test_text_ids_become_numbers_only_if_nothing_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("user_id,item_id\n007,12345678901234567890\n7,1\n")
    assert read_table(path, "truth").rows() == [("007", 12345678901234567890), ("7", 1)]
    path.write_text("user_id,item_id\n7,123456789012345678901\n8,1\n")
    assert read_table(path, "truth").rows() == [(7, "123456789012345678901"), (8, "1")]
    path.write_text("user_id,item_id\n" + "1,2\n" * 40_000 + "x,2\n")
    assert read_table(path, "truth")["user_id"].to_list()[-2:] == ["1", "x"]
    path.write_text("user_id,item_id\n1.0,5\n2.0,6\n")
    assert read_table(path, "truth").rows() == [(1, 5), (2, 6)]


@pytest.mark.parametrize(
    "dtype", [pl.Int8, pl.Int32, pl.UInt16, pl.UInt64, pl.Categorical, pl.Enum(["1", "2"]), pl.Binary, pl.Float32]
)
def test_id_types(dtype: Any) -> None:
    values = pl.Series("user_id", ["2", "1"])
    if not isinstance(dtype, pl.Enum) and dtype.is_numeric():
        values = values.cast(pl.Int64)
    column = read_table(pl.DataFrame([values.cast(dtype), pl.Series("item_id", [1, 2])]), "truth")["user_id"]
    if column.dtype == pl.String:
        assert column.to_list() == ["2", "1"]
    else:
        assert column.to_list() == [2, 1]
        assert column.dtype == (pl.Int64 if dtype == pl.Float32 else dtype)


def test_times_in_text_are_parsed(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    moments = {
        "2014-04-07T10:51:09.277Z": datetime(2014, 4, 7, 10, 51, 9, 277000),
        "2014-04-07 10:51:09": datetime(2014, 4, 7, 10, 51, 9),
        "2014-04-07": datetime(2014, 4, 7),
        "1396868069.5": 1396868069.5,
        "1396868069": 1396868069,
    }
    for text, moment in moments.items():
        path.write_text(f"user_id,item_id,timestamp\n1,2,{text}\n")
        assert read_table(path, "log")["timestamp"].to_list() == [moment]


def test_a_title_with_a_separator_or_quote_shifts_no_column(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text('user_id,title,item_id\nu1,"Crouching, ""Tiger""",i1\nu2,"a\nb",i2\n')
    assert read_table(path, "truth").rows() == [("u1", "i1"), ("u2", "i2")]
    path.write_text("user_id,title,item_id\n" + "u1,t,i1\n" * 10 + "u1,Crouching, Tiger,i2\n")
    with pytest.raises(InputError, match=r"I105.*line 12 .* has 4 fields, but 3 are expected"):
        read_table(path, "truth")


def test_every_format_can_be_forced_and_an_unknown_one_is_an_error(tmp_path: Path) -> None:
    assert all(known.description for known in formats())
    path = tmp_path / "x.csv"
    path.write_text(RUN_TEXTS["plain.csv"])
    assert read_table(path, "run", format="csv").equals(RUN)
    with pytest.raises(UsageError, match=r"U107.*no file format 'xlsx'(.|\n)*csv, json, jsonl"):
        read_table(path, "run", format="xlsx")
    with pytest.raises(UsageError, match=r"U107.*no table role 'answers'"):
        read_table(path, "answers")
