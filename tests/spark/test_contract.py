"""Every metric, convention and test has the same bits on Spark, however rows are spread over partitions and files.

Every choice of parameters of every metric, in parts of all kinds, is the business of ``tests/contract/test_parts.py``.
"""

import numpy as np
import polars as pl
import pytest

import recassay as ra
from recassay.backends.spark import tallies
from recassay.errors import InputError
from recassay.metrics.registry import parse_metrics

from ..contract.test_metrics import DEFAULTS, bits, judged, remapped, table_of_distances, world
from ..contract.test_parts import STRANGE
from ..refusals import refused
from ..scoring import score
from .tables import made_once

SPREAD = ["one row a partition", "empty partitions", "one partition"]
SOME = ["ndcg@5", "recall@3", "mrr", "map", "ild@5", "gini@5", "rmse", "snips@5", "stratified_recall@5", "epc@5"]


@pytest.fixture(scope="module")
def tables():
    return world()


def spread(spark, frame, how):
    """A table of Spark whose rows are spread in some way."""
    return made_once(frame, how, lambda: _spread(spark, frame, how))


def _spread(spark, frame, how):
    rows = frame.sample(fraction=1.0, shuffle=True, seed=7)
    if how == "one row a partition":
        few, rest = rows[:30], rows[30:]
        lone = spark.createDataFrame(few.to_arrow()).repartition(few.height)
        return lone.unionByName(spark.createDataFrame(rest.to_arrow()))
    whole = spark.createDataFrame(rows.to_arrow())
    return whole.coalesce(1) if how == "one partition" else whole.repartition(5).unionByName(whole.limit(0))


def on_spark(spark, tables, texts, how="empty partitions", *, log_of_spark=False, **more):
    """What :func:`judged` makes, made by Spark."""
    options = {"resamples": 200, "seed": 3, "distances": table_of_distances(tables)} | more
    return score(
        {name: spread(spark, frame, how) for name, frame in tables["runs"].items()},
        spread(spark, tables["truth"], how),
        texts,
        train=spread(spark, tables["train"], how) if log_of_spark else tables["train"],
        items=tables["items"],
        **options,
    )


@pytest.fixture(scope="module")
def everything(spark, tables):
    return on_spark(spark, tables, DEFAULTS), judged(tables, DEFAULTS)


def test_every_metric_on_spark(everything):
    mine, theirs = everything
    assert bits(mine) == bits(theirs)


def test_every_metric_with_a_log_of_spark(spark, tables):
    """Tasks have the rows of their own users, and counts of all."""
    texts = {text: metric for text in DEFAULTS for metric in parse_metrics(text).values()}
    able = [text for text, metric in texts.items() if not metric.needs_whole_log]
    assert bits(on_spark(spark, tables, able, log_of_spark=True)) == bits(judged(tables, able))
    with refused("U110"):
        on_spark(spark, tables, ["ild(distance='training')@5"], log_of_spark=True)


@pytest.mark.parametrize("how", SPREAD)
def test_any_partitions_give_the_same_bits(spark, tables, how):
    assert bits(on_spark(spark, tables, SOME, how)) == bits(judged(tables, SOME))


@pytest.mark.parametrize("how", [{"duplicates": "last"}, {"duplicates": "last", "ties": "row", "order": "score"}])
def test_the_order_of_rows_comes_from_files_or_a_column(spark, tables, how, tmp_path):
    """A last row is asked for: of the files, or by a column ``row``; where there is no order it is refused."""
    texts, mixed = ["ndcg@5", "mrr", "rmse"], {}
    for name, frame in tables["runs"].items():
        again = frame.with_columns(score=frame["score"].reverse())  # the same pairs, with other scores
        mixed[name] = pl.concat([frame, again]).sample(fraction=1.0, shuffle=True, seed=11)
        mixed[name].write_parquet(tmp_path / f"{name}.parquet")
    placed = {
        name: frame.with_row_index("row").with_columns(pl.col("row").cast(pl.Int64)) for name, frame in mixed.items()
    }
    whole = bits(judged(tables | {"runs": mixed}, texts, **how))
    truth, options = (
        spread(spark, tables["truth"], "empty partitions"),
        {"train": tables["train"], "resamples": 200, "seed": 3},
    )
    assert bits(score(str(tmp_path), truth, texts, engine="spark", **options, **how)) == whole
    assert bits(on_spark(spark, tables | {"runs": placed}, texts, **how)) == whole
    with refused("U223" if "ties" in how else "I319"):
        on_spark(spark, tables | {"runs": mixed}, texts, **how)


def test_ids_of_text(spark, tables):
    other = remapped(tables, *[lambda ids: pl.Series([f"é{one:05d}" for one in ids], dtype=pl.String)] * 2)
    texts = ["ndcg@5", "coverage(catalogue='truth')@5", "gini@5", "ild@5", "epc@5", "mae"]
    assert bits(on_spark(spark, other, texts)) == bits(judged(other, texts))


@pytest.fixture
def unseen(monkeypatch):
    """Return a function after which the driver does not see what tasks wrote, as on a cluster."""
    return lambda: monkeypatch.setattr(tallies, "is_local", lambda spark: False)


def test_what_the_driver_does_not_see_is_read_by_spark(spark, tables, unseen):
    texts = ["ndcg@5", "stratified_recall@5", "gini@5"]
    whole = judged(tables, texts)
    unseen()
    mine = on_spark(spark, tables, texts)
    assert bits(mine) == bits(whole)
    assert repr(ra.compare(mine, resamples=500)) == repr(ra.compare(whole, resamples=500))


@pytest.mark.parametrize(("code", "options"), STRANGE)
def test_what_is_refused_is_refused_on_spark(spark, tables, code, options):
    how = dict(options)
    run = tables["runs"]["even"].with_columns(
        pl.col("user_id") + how.pop("user", 0), pl.col("item_id") + how.pop("item", 0)
    )
    moved = {**tables, "runs": {"mine": run}}
    for name in ("train", "items"):
        moved[name] = tables[name].with_columns(pl.col("item_id") + how.pop(name, 0))
    texts = ["ndcg@5", "epc@5", "subtopic_recall@5"]
    with pytest.raises(InputError) as whole:
        judged(moved, texts, **how)
    with pytest.raises(InputError) as tasks:
        on_spark(spark, moved, texts, **how)
    assert tasks.value.code == whole.value.code == code
    assert tasks.value.what == whole.value.what


def test_every_registered_metric_is_looked_at(everything):
    mine, _ = everything
    assert len(mine.metrics) == len(DEFAULTS) > 40
    assert not np.isnan([row.mean for row in mine.rows]).all()
