"""Events as they are read, and why rows are refused."""

import gzip
import json
import zlib

import polars as pl
import pytest

from recassay.live.events.schema import REASONS, read_lines, read_table

SHOWN = {"request_id": "r", "user_id": "u", "items": ["a", "b"], "time": 100}
CLICK = {"request_id": "r", "item_id": "a", "time": 101}
TAKEN = {"event": "interaction", "user_id": "u", "item_id": "a", "items": ["b", "a"], "time": 100, "arm": "als"}


def reason(event):
    batch = read_lines([json.dumps(event).encode()])
    return batch.refused[0].reason if batch.refused else None


@pytest.mark.parametrize(
    ("event", "wanted"),
    [
        (SHOWN, None),
        (CLICK, None),
        ({**SHOWN, "items": []}, None),
        ({**SHOWN, "propensity": 0.5}, None),
        ({**SHOWN, "propensity": [0.5, 0.1]}, None),
        ({**CLICK, "value": "2.5"}, None),
        ({"user_id": "u"}, "unknown-event"),
        ({**SHOWN, "event": "view"}, "unknown-event"),
        ({**SHOWN, "time": None}, "no-time"),
        ({**SHOWN, "time": "noon"}, "bad-time"),
        ({**SHOWN, "time": -5}, "bad-time"),
        ({**SHOWN, "request_id": ""}, "no-request"),
        ({**SHOWN, "user_id": None}, "no-user"),
        ({"item_id": "a", "time": 3}, "no-user"),
        ({**SHOWN, "items": "a"}, "wrong-type"),
        ({**SHOWN, "event": "exposure", "items": None}, "wrong-type"),
        ({**SHOWN, "items": ["a", None]}, "null-item"),
        ({**SHOWN, "items": ["a"] * 1001}, "too-many-items"),
        ({**CLICK, "event": "feedback", "item_id": None}, "no-item"),
        ({**SHOWN, "user_id": "u" * 1025}, "long-id"),
        ({**CLICK, "value": "much"}, "bad-value"),
        ({**SHOWN, "propensity": 0}, "bad-propensity"),
        ({**SHOWN, "propensity": [0.5, 0.5, 0.5]}, "bad-propensity"),
        (TAKEN, None),
        ({**TAKEN, "user_id": None, "request_id": "r"}, "no-user"),
        ({**TAKEN, "item_id": None}, "no-item"),
        ({**TAKEN, "items": None}, "no-list"),
        ({**TAKEN, "items": ["a", ""]}, "null-item"),
        ([1, 2], "not-json"),
    ],
)
def test_reasons(event, wanted):
    assert reason(event) == wanted
    assert wanted is None or wanted in REASONS


@pytest.mark.parametrize(
    ("time", "seconds"),
    [
        (1_767_571_200, 1_767_571_200), (1_767_571_200.25, 1_767_571_200.25), (1_767_571_200_250, 1_767_571_200.25),
        (1_767_571_200_250_000, 1_767_571_200.25), (1_767_571_200_250_000_000, 1_767_571_200.25),
        ("1767571200", 1_767_571_200), ("2026-01-05T00:00:00Z", 1_767_571_200), ("2026-01-05", 1_767_571_200),
        ("2026-01-05T02:00:00.5+02:00", 1_767_571_200.5), ("2026-01-05 00:00:00", 1_767_571_200),
    ],
)  # fmt: skip
def test_times(time, seconds):
    batch = read_lines([json.dumps({**SHOWN, "time": time}).encode()])
    assert batch.events["time"].to_list() == [round(seconds * 1e6)]


def test_tables_with_their_own_types():
    frame = pl.DataFrame({"request_id": [1, 2], "user_id": [7, 7], "items": [[1, 2], [3]], "time": pl.datetime_range(
        pl.datetime(2026, 1, 5), pl.datetime(2026, 1, 6), "1d", eager=True), "policy": ["a", None]})  # fmt: skip
    events = read_table(frame).events
    assert events["items"].to_list() == [["1", "2"], ["3"]]
    assert events["arm"].to_list() == ["a", "all"]
    assert events["time"][0] == 1_767_571_200_000_000


@pytest.mark.parametrize("compress", [gzip.compress, zlib.compress, lambda line: zlib.compress(line)[:9]])
def test_compressed_lines_are_not_decompressed(compress):
    line = compress(json.dumps(SHOWN).encode()).replace(b"\n", b"")
    batch = read_lines([line, json.dumps(SHOWN).encode()])
    assert [(one.row, one.reason) for one in batch.refused] == [(0, "not-json")]
    assert batch.rows.tolist() == [1]
