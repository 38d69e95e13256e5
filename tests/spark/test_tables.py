"""Tables of Spark become ours: names, types, whole users, and errors that say what is wrong."""

import os

import polars as pl
import pytest

from recassay.backends.base import is_spark_frame
from recassay.backends.spark import session as sessions
from recassay.backends.spark.session import is_local, spark_session, translate_errors
from recassay.backends.spark.tables import map_users, spark_table
from recassay.errors import InputError

from ..refusals import refused

SCHEMA = "user_id bigint, item_id string, piece int, name string"
RUN = pl.DataFrame({"uid": [3, 1, 2, 1], "iid": ["a", "b", "c", "d"], "pred": [0.1, 0.2, 0.3, 0.4]})


def named(pieces):
    for number, piece in enumerate(pieces):
        for name, frame in piece.items():
            yield frame.select("user_id", "item_id").with_columns(piece=pl.lit(number), name=pl.lit(name))


def test_whole_users_stand_together_in_order(spark, tmp_path):
    RUN.write_parquet(tmp_path / "run.parquet")
    run = spark_table(spark, tmp_path / "run.parquet", "run", columns="score=pred")
    truth = spark_table(
        spark, spark.createDataFrame([(1.0, "b"), (3.0, "z")], ["user", "item"]).repartition(2), "truth"
    )
    assert [dict(one.frame.dtypes)["user_id"] for one in (run, truth)] == ["bigint", "bigint"]
    rows = map_users({"run": run, "truth": truth}, named, SCHEMA, rows=1, order=["-score"]).collect()
    assert [tuple(row)[:2] for row in rows if row.user_id == 1 and row.name == "run"] == [(1, "d"), (1, "b")]
    assert sorted((row.user_id, row.item_id) for row in rows if row.name == "truth") == [(1, "b"), (3, "z")]


def test_rows_know_their_place_in_files(spark, tmp_path):
    RUN.write_parquet(tmp_path / "run.parquet")
    assert spark_table(spark, tmp_path / "run.parquet", "run", rows=True).has_rows
    assert not spark_table(spark, spark.read.parquet(str(tmp_path)), "run", rows=True).has_rows


def test_ids_of_two_kinds_do_not_meet(spark):
    run = spark_table(spark, spark.createDataFrame([("1", 1)], ["user_id", "item_id"]), "run")
    truth = spark_table(spark, spark.createDataFrame([(1, 1)], ["user_id", "item_id"]), "truth")
    with refused("I403"):
        map_users({"run": run, "truth": truth}, named, "user_id bigint")


@pytest.mark.parametrize(("user", "code"), [(1.5, "I202"), (None, "I304")])
def test_what_a_task_refuses_is_our_error(spark, user, code):
    frame = spark.createDataFrame([(user, "b"), (3.0, "z")], "user_id double, item_id string")
    with refused(code), translate_errors():
        map_users(
            {"truth": spark_table(spark, frame, "truth")},
            named,
            "user_id bigint, item_id string, piece int, name string",
        ).count()


def test_whole_scores_that_floats_would_round_are_refused(spark):
    frame = spark.createDataFrame([(1, "a", 2**53 + 1)], "user_id bigint, item_id string, score bigint")
    with pytest.raises(InputError, match=r"I202.*whole numbers above 2\^53"), translate_errors():
        spark_table(spark, frame, "run").frame.collect()


def test_missing_and_damaged_files_are_named(spark, tmp_path):
    with pytest.raises(InputError) as caught:
        spark_table(spark, tmp_path / "nowhere.parquet", "run")
    assert (caught.value.code, caught.value.where) == ("I101", str(tmp_path / "nowhere.parquet"))
    for part in range(3):
        RUN.write_parquet(tmp_path / f"part-{part}.parquet")
    whole = (tmp_path / "part-1.parquet").read_bytes()
    (tmp_path / "part-1.parquet").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError) as caught, translate_errors():
        spark_table(spark, tmp_path, "run", columns="score=pred").frame.collect()
    assert (caught.value.code, caught.value.where) == ("I104", str(tmp_path / "part-1.parquet"))


def test_what_spark_does_not_read(spark):
    with refused("U223"):
        spark_table(spark, {"ann": ["x"]}, "run")


def test_sessions(spark, monkeypatch):
    assert spark_session() is spark
    assert is_local(spark)
    assert is_spark_frame(spark.range(1))
    monkeypatch.setattr("pyspark.sql.SparkSession.getActiveSession", lambda: None)
    monkeypatch.setattr(sessions.shutil, "which", lambda name: None)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with refused("U227") as caught:
        spark_session()
    assert "apt-get install openjdk-17" in str(caught.value)
    assert os.environ["PYSPARK_PYTHON"]
