"""What the times of a log on Spark can tell is what the same log in memory tells, and it is refused alike."""

import polars as pl
import pytest

import recassay as ra
from recassay.backends.spark.logs import spark_log

from ..contract.test_times import FRAMES, LOGS, VERBS, WRONG
from ..refusals import refused

ON_SPARK = ["last", "global_time(quantile)", "sessions", "filters.apply"]


def far(spark, frame, **said):
    return spark_log(spark.createDataFrame(frame.to_arrow()).repartition(3, "item_id"), **said)


def refusal(do, log):
    """The code and text of the error that a verb raises, if it does."""
    try:
        do(log)
    except ra.InputError as error:
        return error.code, error.what
    return None


@pytest.mark.parametrize("kind", FRAMES)
def test_every_kind_is_found_refused_and_kept(spark, kind):
    log = far(spark, FRAMES[kind])
    assert log.times == kind
    for verb in ON_SPARK:
        do = VERBS[verb][1]
        if refused := refusal(do, LOGS[kind]):
            assert refusal(do, log) == refused
        else:
            assert do(log)
    fold = ra.split.leave_out(n=1)(far(spark, FRAMES[kind]))[0]
    assert fold.here().train.times == kind
    made = ra.split.ready_made()(log)
    assert made.here().kind == kind


def test_names_dates_and_what_is_said_count(spark):
    frame = FRAMES["clock"].with_columns(pos=pl.int_range(pl.len()).over("user_id") * 2)
    assert far(spark, frame, columns={"timestamp": "pos"}).times == "user"
    assert far(spark, frame.drop("timestamp").rename({"pos": "timestamp"})).times == "clock"
    dates = frame.with_columns(pl.from_epoch("timestamp"))
    assert far(spark, dates).times == "clock"
    calendar = frame.with_columns(timestamp=dates["timestamp"].dt.strftime("%Y%m%d%H%M%S").cast(pl.Int64))
    assert far(spark, calendar).times == "global"
    assert far(spark, frame, times="user").times == "user"
    with pytest.raises(ra.UsageError, match="U102"):
        far(spark, FRAMES[None], times="user")


@pytest.mark.parametrize("name", ["seconds and milliseconds", "0 for missing", "dates of 9999"])
def test_times_that_cannot_all_be_true_are_refused(spark, name):
    values, code, counts = WRONG[name]
    log = far(spark, FRAMES["clock"].with_columns(timestamp=pl.Series(values)))
    with refused(code, match=counts):
        ra.split.last(n=1)(log)
