"""Outcomes of a stream: what they refuse, what they are, and what a file keeps."""

import dataclasses

import numpy as np
import polars as pl
import pytest

from recassay.errors import InputError, UsageError
from recassay.results.outcomes import CallTimes, Outcomes, Timing

from ...refusals import refused


def made(**changed):
    parts = {
        "system": "ISGD",
        "event": np.array([1, 3, 4]),
        "values": {"recall@2": np.array([0.0, 1.0, 1.0]), "auc": np.array([0.5, np.nan, 0.75])},
        "users": pl.Series(["ann", "bob", "ann"]),
        "times": pl.Series([10, 20, 20]),
        "events": 6,
        "counts": {"scored": 3, "repeats": 1},
        "settings": {"protocol": "prequential(at=2)", "seed": 7, "at": (2, 5)},
    }
    return Outcomes(**{**parts, **changed})


def test_a_mean_is_over_events_where_the_metric_is_defined():
    assert made().mean("recall@2") == pytest.approx(2 / 3)
    assert made().mean("auc") == 0.625
    nothing = Outcomes("none", np.array([], np.int64), {"mrr": np.array([])})
    assert np.isnan(nothing.mean("mrr"))
    assert len(nothing) == 0


def test_a_file_keeps_everything(tmp_path):
    timing = Timing(CallTimes.of([0.1, 0.2]), CallTimes.of([]), "a machine", 2)
    outcomes = made(timing=timing)
    outcomes.write(tmp_path / "outcomes.parquet")
    again = Outcomes.read(tmp_path / "outcomes.parquet")
    assert again.frame().equals(outcomes.frame())
    assert (again.system, again.events, again.counts) == ("ISGD", 6, {"scored": 3, "repeats": 1})
    assert again.timing.recommend == timing.recommend
    assert (again.timing.update.calls, again.timing.threads) == (0, 2)
    assert again.fingerprint == outcomes.fingerprint
    bare = made(users=None, times=None)
    bare.write(tmp_path / "bare.parquet")
    assert Outcomes.read(tmp_path / "bare.parquet").users is None


@pytest.mark.parametrize(
    "changed",
    [
        {"system": "other"},
        {"event": np.array([1, 3, 5])},
        {"events": 7},
        {"users": None},
        {"users": pl.Series(["ann", "bob", "bob"])},
        {"times": pl.Series([10, 20, 21])},
        {"counts": {"scored": 3}},
        {"settings": {}},
        {"values": {"recall@2": np.array([0.0, 1.0, 0.0]), "auc": np.array([0.5, np.nan, 0.75])}},
    ],
)
def test_the_fingerprint_hangs_on_everything_but_the_timing(changed):
    assert made(**changed).fingerprint != made().fingerprint
    assert (
        dataclasses.replace(made(), timing=Timing(CallTimes.of([1.0]), CallTimes.of([]))).fingerprint
        == made().fingerprint
    )


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        ({"users": pl.Series(["ann"])}, "3 events were scored, and there are 1 users"),
        ({"values": {"mrr": np.zeros(4)}}, "3 events were scored, and there are 4 mrr"),
        ({"event": np.array([1, 4, 3])}, "3 comes after 4"),
        ({"event": np.array([1, 1, 3])}, "1 comes after 1"),
        ({"events": 4}, "events 1 to 4 were scored, and the stream has 4"),
        ({"event": np.array([-1, 3, 4])}, "events -1 to 4"),
    ],
)
def test_outcomes_that_contradict_themselves_are_refused(changed, what):
    with refused("I381", match=what):
        made(**changed)


def test_what_cannot_be_read_is_refused(tmp_path):
    with pytest.raises(UsageError, match="'recal@2' was not scored"):
        made().of("recal@2")
    with pytest.raises(InputError, match="no column event"):
        Outcomes.from_frame(pl.DataFrame({"mrr": [1.0]}), "x", events=1)
    with pytest.raises(InputError, match="there is no file"):
        Outcomes.read(tmp_path / "nothing.parquet")
    pl.DataFrame({"event": [0]}).write_parquet(tmp_path / "table.parquet")
    with pytest.raises(InputError, match="does not say which system"):
        Outcomes.read(tmp_path / "table.parquet")


def test_calls_without_any_have_no_percentiles():
    spent = CallTimes.of([])
    assert (spent.calls, spent.total) == (0, 0.0)
    assert np.isnan(spent.median)
    assert np.isnan(spent.per_second)
