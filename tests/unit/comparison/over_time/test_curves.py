"""Curves over a stream: the worked example, the ways to count a window, and what makes no sense."""

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

from recassay.comparison.over_time.curves import over_time, thinned
from recassay.errors import InputError, UsageError
from recassay.results.outcomes import Outcomes
from recassay.stats.anytime import anytime_bounds

from ....refusals import refused

HITS = np.array([0.0, 1, 0, 1, 1, 1, 0, 1])  # of the worked example, by default: events 2, 4, 5, 7, 9, 10, 11, 12
EVENTS = np.array([1, 3, 4, 6, 8, 9, 10, 11])


def played(values=HITS, event=EVENTS, events=12, metric="recall@2", **more):
    return Outcomes("Popular", np.asarray(event), {metric: np.asarray(values, float)}, events=events, **more)


def values(curve):
    return curve.table["value"].round(6).to_list()


def test_a_window_of_the_stream_has_what_was_scored_in_it():
    curve = over_time(played(), "recall@2", window=3, by="event")  # events 1 | 3 1 | 4 3 | 6 4 | 8 6 | 9 8 | ..
    assert curve.table["n"].to_list() == [1, 2, 2, 2, 2, 2, 3, 3]
    assert values(curve) == [0, 0.5, 0.5, 0.5, 1, 1, 0.666667, 0.666667]
    assert curve.table["partial"].to_list() == [True] + [False] * 7


@pytest.mark.parametrize("window", [3600, timedelta(hours=1)])
def test_a_window_of_time_begins_after_its_length_ago(window):
    minutes = [0, 0, 30, 60, 61, 120, 121, 500]
    times = pl.Series([datetime(2020, 1, 1, tzinfo=UTC) + timedelta(minutes=one) for one in minutes])
    curve = over_time(played(times=times), "recall@2", window=window, by="time")
    assert curve.table["n"].to_list() == [1, 2, 3, 2, 3, 2, 2, 1]
    assert curve.table["partial"].to_list() == [True, True, True, False, False, False, False, False]
    assert curve.table["timestamp"].to_list() == times.to_list()


def test_a_window_is_a_fiftieth_of_the_stream_unless_told_and_no_more_than_5000():
    def widths(m, **more):
        return over_time(played(np.zeros(m), np.arange(m) * 2, 2 * m), "recall@2", **more).windows.window

    assert [widths(m) for m in (8, 1000, 400_000)] == [1, 20, 5000]
    assert widths(1000, by="event") == 40


def test_undefined_values_are_no_points_and_counted():
    curve = over_time(played([0, np.nan, 1, np.nan, 1, 1, 0, 1]), "recall@2", window=2)
    assert (curve.undefined, curve.table["event"].to_list()) == (2, [1, 4, 8, 9, 10, 11])
    assert values(curve) == [0, 0.5, 1, 1, 0.5, 0.5]
    assert "2 scored events have no value" in curve.exhibit().caption


def test_errors_of_ratings_as_mean_and_as_root_of_the_mean_square():
    outcomes = played([1, 2.5, 1, 1.5, 1.5], [1, 2, 3, 4, 5], 6, metric="absolute_error")
    assert values(over_time(outcomes, "mae", how="cumulative"))[-1] == 1.5
    assert values(over_time(outcomes, "rmse", how="cumulative"))[-1] == 1.596872
    assert values(over_time(outcomes, "rmse", window=2))[-1] == 1.5
    with pytest.raises(UsageError, match="'rmse' was not scored"):
        over_time(played(), "rmse")


def test_what_was_played_will_do_and_a_stream_without_scored_events():
    assert over_time(SimpleNamespace(outcomes=played()), "recall@2", window=3).table.height == 8
    nothing = over_time(played([], np.array([], np.int64)), "recall@2")
    assert nothing.table.height == 0
    assert "0 points" in str(nothing)


def test_the_value_at_any_event_is_that_of_the_last_point():
    curve = over_time(played(), "recall@2", window=3)
    found = curve.at(np.array([0, 1, 2, 3, 11, 100]))
    assert np.isnan(found[0])
    assert found[1:].round(6).tolist() == [0, 0, 0.5, 0.666667, 0.666667]


def test_a_picture_is_thin_keeps_the_last_point_and_has_its_marks():
    curve = over_time(played(np.arange(9999) % 2, np.arange(9999), 9999), "recall@2", window=100)
    shown = curve.marked([(7, "ADWIN: loss rose"), (5005, "another")]).exhibit()
    assert shown.table.height <= 502
    assert shown.table["event"][-1] == 9998
    assert shown.table.drop_nulls("mark").select("event", "mark").rows() == [
        (7, "ADWIN"),
        (5005, "another"),
    ]
    assert "Popular at event 7: ADWIN: loss rose. Popular at event 5,005: another." in shown.caption
    assert shown.table["event"].is_sorted()
    assert "event 5,005: another" in str(curve.marked([(5005, "another")]))
    assert thinned(pl.DataFrame({"x": []})).height == 0


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"window": 0}, "got 0"),
        ({"window": 2.5}, "got 2.5"),
        ({"window": float("nan")}, "got nan"),
        ({"how": "fading", "fading": 1}, "got 1"),
        ({"how": "fading", "window": 1}, "at least 2"),
        ({"how": "fading", "window": 10, "by": "event"}, "by='event'"),
        ({"by": "time"}, "needs a length"),
    ],
)
def test_windows_that_make_no_sense_are_refused(options, what):
    with refused("U196", match=what):
        over_time(played(), "recall@2", **options)


def test_windows_of_time_need_times_that_do_not_fall():
    with refused("I383", match="have no times"):
        over_time(played(), "recall@2", by="time", window=5)
    with pytest.raises(InputError, match="backwards 1 times: 2 comes after 9"):
        over_time(played(times=pl.Series([1, 9, 2, 3, 4, 5, 6, 7])), "recall@2", by="time", window=5)
    with pytest.raises(UsageError, match="how='movin' is not known"):
        over_time(played(), "recall@2", how="movin")


@pytest.mark.parametrize("wrong", [1.5, float("nan")])
def test_a_difference_larger_than_it_can_be_is_refused(wrong):
    with refused("I384", match="1 of 3 differences"):
        anytime_bounds(np.array([0.0, wrong, 1.0]))
    assert anytime_bounds(np.array([0.0, 1.5, 1.0]), largest=2).mean[-1] == 2.5 / 3
