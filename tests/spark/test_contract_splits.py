"""Every split, filter and sequencer does to a log on Spark what it does to one in memory, however rows are spread."""

from datetime import UTC, datetime

import polars as pl
import pytest

from recassay import split
from recassay.backends.spark.logs import spark_log
from recassay.data.features import Features
from recassay.data.interactions import Interactions
from recassay.errors import InputError, UsageError
from recassay.split import filters
from recassay.split.sequences import parse as parse_sequencer

from ..contract.test_split_parts import SEQUENCERS, frame_of, named
from ..contract.test_splits import CASES
from .tables import made_once

SPREADS = {
    "as they come": lambda rows: rows,
    "at random, and in empty partitions": lambda rows: rows.unionByName(rows.limit(0)).repartition(5),
    "by item": lambda rows: rows.repartition(2, "item_id"),
}


@pytest.fixture(scope="module")
def frame():
    """Pairs and times that repeat; a column ``row`` says how rows stand."""
    return named(frame_of()).with_row_index("row").with_columns(pl.col("row").cast(pl.Int64))


@pytest.fixture(scope="module")
def log(frame):
    return Interactions.from_frame(frame.drop("row"))


CHAIN = [
    "rated(at_least=2)", "between(end=1615000000)", "once(users=8, items=5)", "once(users=7, items=5, first='users')",
    "distinct(keep='max')", "core(users=7, items=7)",
]  # fmt: skip

SUBSETS = ["featured(without='rare')", "no_bursts(gap=2)", "one_in(n=2)", "one_in(n=2, of='rows')"]


def on_spark(spark, frame, spread):
    rows = frame.sample(fraction=1.0, shuffle=True, seed=7)
    return spark_log(made_once(frame, spread, lambda: SPREADS[spread](spark.createDataFrame(rows.to_arrow()))))


def turns(texts):
    """Each with a way to spread rows: they take turns."""
    return [(text, [*SPREADS][number % len(SPREADS)]) for number, text in enumerate(texts)]


def rows_of(frame):
    return sorted(pl.DataFrame(frame.toArrow()).rows())


ONE_OF_EACH = [*{split.parse(text).name: text for text in CASES}.values(), "k_folds(k=3)", "global_time(quantile=0.8)"]


@pytest.mark.parametrize(("text", "spread"), turns(ONE_OF_EACH))
def test_every_split_on_spark(spark, text, spread, frame, log):
    folds, mine = split.parse(text)(log), split.parse(text)(on_spark(spark, frame, spread))
    assert len(folds) == len(mine)
    for fold, one in zip(folds, mine, strict=True):
        assert (one.how, one.removed, one.number, one.leakage) == (fold.how, fold.removed, fold.number, fold.leakage)
    assert one.here().fingerprint == fold.fingerprint
    assert rows_of(one.test) == sorted(fold.test.frame().rows())
    one.labelled.unpersist()


def test_one_row_a_partition_and_many_tasks(spark, frame):
    """More tasks than the driver wants to hear of: some add up what others found."""
    some = frame.filter(pl.col("user_id").is_in([f"ü{number}" for number in range(1, 9)]))
    some = some.group_by("user_id", maintain_order=True).head(6).select(frame.columns)
    rows = spark.sparkContext.parallelize(some.rows(), some.height)
    log = spark_log(
        spark.createDataFrame(rows, "row long, user_id string, item_id string, timestamp long, rating double")
    )
    before = spark.conf.get("spark.sql.shuffle.partitions")
    spark.conf.set("spark.sql.shuffle.partitions", "17")
    try:
        (mine,) = split.last(n=2)(log)
        assert mine.here().fingerprint == split.last(n=2)(Interactions.from_frame(some.drop("row")))[0].fingerprint
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", before)


@pytest.mark.parametrize("spread", [*SPREADS][1:])
def test_filters_on_spark(spark, spread, frame, log):
    """All of them, one after the other; then a cut by items, and one in the order of rows, of what they leave."""
    kept, mine = filters.apply(log, CHAIN), filters.apply(on_spark(spark, frame, spread), CHAIN)
    assert {one.name for one in filters.REGISTRY.parse_list(CHAIN + SUBSETS)} == set(filters.REGISTRY.built_in)
    assert {reason for reason, count in kept.removed.items() if count} == set(kept.removed) - {"too early"}
    assert mine.removed == kept.removed
    assert rows_of(mine.log.frame) == sorted(kept.log.frame().rows())
    for spec in (split.uniform_items(test=0.05), split.last(n=2))[: 1 + (spread == "by item")]:
        (one,) = spec(mine.log)
        assert one.here().fingerprint == spec(kept.log)[0].fingerprint


def test_subsets_on_spark(spark, frame, log):
    ids = log.item_vocabulary.ids
    items = Features.from_frame(pl.DataFrame({"item_id": ids, "genre": ["rare"] * 3 + ["usual"] * (ids.len() - 3)}))
    kept, mine = (filters.apply(one, SUBSETS, items) for one in (log, on_spark(spark, frame, "by item")))
    assert mine.removed == kept.removed
    assert all(kept.removed.values())
    assert rows_of(mine.log.frame) == sorted(kept.log.frame().rows())


@pytest.mark.parametrize(("text", "spread"), turns(SEQUENCERS))
def test_every_sequencer_on_spark(spark, text, spread, frame, log):
    made, mine = parse_sequencer(text)(log), parse_sequencer(text)(on_spark(spark, frame, spread))
    assert (len(mine), mine.removed) == (len(made), made.removed)
    assert mine.here().frame().equals(made.frame())
    assert mine.here().fingerprint == made.fingerprint


def test_rows_of_files_have_an_order(spark, tmp_path):
    """Events of a user at one time stand as they do in the files; without files, by item id."""
    rows = pl.DataFrame({"user_id": [1] * 4 + [2] * 3, "item_id": [*"dcbaxyz"], "timestamp": [5] * 4 + [1, 2, 2]})
    rows.write_parquet(tmp_path / "log.parquet")
    (fold,) = split.last(n=1)(spark_log(str(tmp_path / "log.parquet")))
    assert (rows_of(fold.test), fold.how["ties"]) == ([(1, "a", 5), (2, "z", 2)], 2)
    (fold,) = split.last(n=1)(spark_log(spark.createDataFrame(rows.reverse().to_arrow())))
    assert rows_of(fold.test) == [(1, "d", 5), (2, "z", 2)]


def test_dates_are_instants(spark, frame):
    days = frame.with_columns(pl.from_epoch("timestamp").dt.replace_time_zone("UTC").dt.cast_time_unit("us"))
    log, mine = Interactions.from_frame(days.drop("row")), on_spark(spark, days, "as they come")
    spec = split.global_time(at="2020-03-01", validation=0.2)
    (fold,), (one,) = spec(log), spec(mine)
    assert one.how == fold.how
    assert one.test.count() == len(fold.test) > 0
    assert min(row.timestamp for row in one.test.select("timestamp").collect()).astimezone(UTC) >= datetime(
        2020, 3, 1, tzinfo=UTC
    )
    sessions = parse_sequencer("sessions(gap=90000)")
    assert sessions(mine).here().frame().equals(sessions(log).frame())


def test_what_is_refused(spark, frame, log):
    mine = on_spark(spark, frame, "as they come")
    alone = spark_log(mine.table.frame.dropDuplicates(["user_id"]))
    no_times = spark_log(mine.table.frame.drop("timestamp"))
    for call, kind, code in (
        (lambda: split.last()(no_times), InputError, "I201"),
        (lambda: split.global_time(at=1)(mine), UsageError, "U116"),
        (lambda: split.windows(length=1e9, first=1e12)(mine), UsageError, "U116"),
        (lambda: split.uniform_items(test=0.9)(mine), UsageError, "U116"),
        (lambda: filters.apply(mine, "core(users=9999)"), UsageError, "U116"),
        (lambda: parse_sequencer("sessions(gap=9)")(alone), UsageError, "U116"),
        (lambda: split.last()(spark_log(mine.table.frame.limit(0))), UsageError, "U116"),
        (lambda: split.last()(mine.table.frame), UsageError, "U225"),
        (lambda: split.subsample(split.last()(mine)[0], 0.5), UsageError, "U225"),
        (lambda: split.random_sequences()(parse_sequencer("ready_made")(mine)), UsageError, "U225"),
    ):
        with pytest.raises(kind) as caught:
            call()
        assert caught.value.code == code
    with pytest.raises(UsageError) as theirs:
        split.global_time(at=1)(log)
    with pytest.raises(UsageError) as ours:
        split.global_time(at=1)(mine)
    assert str(ours.value) == str(theirs.value)
