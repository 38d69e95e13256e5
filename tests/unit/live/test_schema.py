"""Events as they are read, and why rows are refused."""

import datetime as dt
import gzip
import json
import zlib

import polars as pl
import pytest

from recassay.live.events import REASONS, read_lines, read_table

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
    assert batch.events.height == 1


ODD_COLUMNS = [  # a column of a Parquet file or a table that is no event's: what becomes of the row
    ("items", pl.Series([[b"\xff"]]), "wrong-type"),
    ("items", pl.Series([[dt.timedelta(1)]]), "wrong-type"),
    ("items", pl.Series([[2**31 - 1]]).cast(pl.List(pl.Date)), "null-item"),
    ("items", pl.Series([object()], dtype=pl.Object), "wrong-type"),
    ("time", pl.Series([2**62]).cast(pl.Datetime("ms")), "bad-time"),
    ("time", pl.Series([-(2**63) + 1]).cast(pl.Datetime("us")), "bad-time"),
    ("time", pl.Series([2**31 - 1]).cast(pl.Date), "bad-time"),
    ("time", pl.Series([dt.datetime(1960, 1, 1)]), "bad-time"),
    ("time", pl.Series([dt.timedelta(1)]), "bad-time"),
    ("time", pl.Series([2**100], dtype=pl.Int128), "bad-time"),
    ("user_id", pl.Series([object()], dtype=pl.Object), "no-user"),
    ("user_id", pl.Series([dt.timedelta(1)]), "no-user"),
    ("user_id", pl.Series([2**31 - 1]).cast(pl.Date), "no-user"),
    ("propensity", pl.Series([[[0.5]]]), "bad-propensity"),
    ("propensity", pl.Series([{"a": 0.5}]), "bad-propensity"),
    ("propensity", pl.Series([[{"a": 0.5}]]), "bad-propensity"),
    ("propensity", pl.Series([b"x"]), "bad-propensity"),
    ("propensity", pl.Series([[b"x"]]), "bad-propensity"),
    ("propensity", pl.Series([object()], dtype=pl.Object), "bad-propensity"),
    ("propensity", pl.Series([["0.5"]]).cast(pl.List(pl.Categorical)), None),
    ("propensity", pl.Series(["0.5"]).cast(pl.Categorical), None),
    ("value", pl.Series([object()], dtype=pl.Object), None),
]


@pytest.mark.parametrize(("name", "column", "wanted"), ODD_COLUMNS)
def test_columns_of_other_types_are_read_or_refused_row_by_row(name, column, wanted):
    frame = pl.DataFrame([SHOWN]).with_columns(column.alias(name))
    batch = read_table(frame)
    assert batch.received == batch.events.height + len(batch.refused) == 1
    assert [one.reason for one in batch.refused] == ([wanted] if wanted else [])
    both = pl.concat([frame, frame.with_columns(pl.lit(None, column.dtype).alias(name))])
    assert [one.reason for one in read_table(both).refused][:1] == [one.reason for one in batch.refused]


def test_a_table_without_any_column_of_an_event_is_refused_row_by_row():
    batch = read_table(pl.DataFrame({"x": [1, 2]}))
    assert [(one.row, one.reason, one.content) for one in batch.refused] == [
        (0, "unknown-event", "{}"), (1, "unknown-event", "{}"),
    ]  # fmt: skip


ODD_LINES = {
    b'{"request_id":"a\x00","user_id":"u","items":["a"],"time":1}': "not-json",
    b'{"request_id":"a\xff","user_id":"u","items":["a"],"time":1}': "not-json",
    b'{"x":' + b"[" * 100_000 + b"]" * 100_000 + b"}": "not-json",
    b'{"x":' * 50_000: "not-json",
    b'{"request_id":"r","user_id":"u","items":["a"],"time":1e400}': "wrong-type",
    b'{"request_id":"r","user_id":"u","items":["a"],"time":' + b"9" * 400 + b"}": "wrong-type",
    b'{"request_id":"r","user_id":"u","items":["a"],"time":1,"time":2}': None,  # the last one counts
    b'{"request_id":"r\\u0000","user_id":"u","items":["a"],"time":1}': None,
    b'{"request_id":"r\\ud800","user_id":"u","items":["a"],"time":1}': None,
    b'{"request_id":"r","user_id":"u","items":["a"],"time":1700000000000}': None,
}


@pytest.mark.parametrize(("line", "wanted"), ODD_LINES.items(), ids=range(len(ODD_LINES)))
def test_odd_lines_are_read_or_refused(line, wanted):
    batch = read_lines([line])
    assert [one.reason for one in batch.refused] == ([wanted] if wanted else [])
    assert batch.events.height == (wanted is None)
