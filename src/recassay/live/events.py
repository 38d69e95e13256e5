"""Events as tables: the columns of exposures, feedback and interactions, how they are read, and why a row is refused.

How a row is read depends on that row alone, never on the batch it came in. So formats of times, for example, are not
inferred from the rest of a column.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.live.clock import SECOND

EXPOSURE, FEEDBACK, INTERACTION = 0, 1, 2
EVENTS = ("exposure", "feedback", "interaction")
SEGMENT, MISSING = "segment ", "(none)"  # beginning of the columns of segments, and the value of a missing field
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MAX_TEXT = 1024  # bytes of an id
LARGEST_LINE = 4 << 20  # bytes of an event as JSON
LATEST_TIME = 253_402_300_800 * SECOND  # the year 10000

TEXTS = ("event", "request_id", "user_id", "item_id", "time", "kind", "value", "arm", "policy", "propensity",
         "model_version", "surface", "event_id")  # fmt: skip
RAW: dict[str, pl.DataType] = {name: pl.String() for name in TEXTS} | {"items": pl.List(pl.String())}
ITEMS = "\x1fitems"  # the readable items, beside the columns that are given
UNREADABLE = (pl.List, pl.Array, pl.Struct, pl.Binary, pl.Duration, pl.Object)  # types of columns that have no text
FIRST_DAY, LAST_DAY = -719_162, 2_932_896  # of the years 1 and 9999, since 1970: Polars fails on others
PER_DAY = {"ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}
DATE_FORMATS = ("%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%d")  # without a zone: UTC

REASONS = {
    "not-json": "the line is not one JSON object",
    "wrong-type": "a field has a type that cannot be read, such as items that are not a list",
    "too-large": f"the event has more than {LARGEST_LINE:,} bytes",
    "unknown-event": "it has neither items nor an item_id, or its field event is not exposure, feedback or interaction",
    "no-time": "it has no time",
    "bad-time": "its time is neither a number nor a date and time as ISO 8601 has it",
    "future": "its time is later than the clock of this machine allows",
    "no-request": "an exposure has no request_id",
    "no-user": "it has no user_id (feedback: neither a user_id nor a request_id)",
    "no-list": "an interaction has no list of items, and no model is attached that would make one",
    "model-name": "an interaction has a list of a model that is attached under this name",
    "no-item": "feedback or an interaction has no item_id",
    "null-item": "an item of the list is missing",
    "too-many-items": "the list has more items than --max-items allows",
    "long-id": f"an id has more than {MAX_TEXT:,} bytes",
    "bad-propensity": "a propensity is not above 0 and at most 1, or there is not one for each item",
    "bad-value": "the value is not a number",
}


class Refused(NamedTuple):
    """A row that is not an event: its position in the batch, the reason (a key of ``REASONS``), and its content.

    The content is shortened.
    """

    row: int
    reason: str
    content: str


class EventBatch(NamedTuple):
    """Events of one partition in order of arrival, and the rows that were refused.

    The columns of ``events`` are those of :func:`columns`. ``received`` counts all rows, also the refused ones.
    """

    events: pl.DataFrame
    received: int
    refused: list[Refused]


def columns(segments: Sequence[str] = ()) -> dict[str, pl.DataType]:
    """Return the columns of a table of events with their types; each of ``segments`` adds a column of text."""
    return {
        "time": pl.Int64(),
        "event": pl.Int8(),
        "request_id": pl.String(),
        "user_id": pl.String(),
        "item_id": pl.String(),
        "kind": pl.String(),
        "arm": pl.String(),
        "items": pl.List(pl.String()),
        "value": pl.Float64(),
        "propensity": pl.List(pl.Float64()),
        "model_version": pl.String(),
        "event_id": pl.String(),
        **{f"{SEGMENT}{name}": pl.String() for name in segments},
    }


def read_lines(
    lines: Sequence[bytes], segments: Sequence[str] = (), max_items: int = 1000, attached: Sequence[str] = ()
) -> EventBatch:
    """Return the events in lines of JSON; lines that are not events are in ``refused``.

    ``segments`` are additional fields of exposures, and a list with more than ``max_items`` items is refused.
    ``attached`` are names of models that make lists for interactions (attached models); if there are any, an
    interaction may come without a list.

    >>> batch = read_lines([b'{"request_id": "r", "user_id": 7, "items": ["a", "b"], "time": 3}', b"{"])
    >>> batch.events["time"].to_list(), batch.refused[0].reason
    ([3000000], 'not-json')
    """
    schema: dict[str, pl.DataType] = {**RAW} | {name: pl.String() for name in segments}
    small = np.array([len(line) <= LARGEST_LINE for line in lines], np.bool_)
    refused = [Refused(row, "too-large", "") for row in np.flatnonzero(~small).tolist()]
    frame, rows, bad = _parse(lines, np.flatnonzero(small), schema)
    return read_table(frame, segments, max_items, attached, rows=rows, received=len(lines), refused=[*refused, *bad])


def _parse(
    lines: Sequence[bytes], rows: NDArray[np.int64], schema: dict[str, pl.DataType]
) -> tuple[pl.DataFrame, NDArray[np.int64], list[Refused]]:
    """Return (table, line number of each row of the table, refused lines), for the lines with the numbers ``rows``.

    If the lines cannot be read together, each half is read separately, and so on down to single lines.
    """
    if not rows.size:
        return pl.DataFrame(schema=schema), rows, []
    frame = _read_json([lines[row] for row in rows], schema)
    if frame is not None:
        return frame, rows, []
    if rows.size == 1:
        line = lines[rows[0]]
        return pl.DataFrame(schema=schema), rows[:0], [Refused(int(rows[0]), _reason(line), shortened(line))]
    half = rows.size // 2
    (left, left_rows, one), (right, right_rows, other) = (
        _parse(lines, part, schema) for part in (rows[:half], rows[half:])
    )
    return pl.concat([left, right]), np.concatenate([left_rows, right_rows]), one + other


def _read_json(lines: list[bytes], schema: dict[str, pl.DataType]) -> pl.DataFrame | None:
    """Return the table of lines of JSON; None if a line is not an object whose fields have the types of ``schema``."""
    text = b" " + b"\n".join(lines)  # without the blank, lines that begin like compressed data would be decompressed
    try:
        frame = pl.read_ndjson(io.BytesIO(text), schema=schema)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OverflowError, ValueError, OSError):
        return None
    return frame if frame.height == len(lines) else None


def _reason(line: bytes) -> str:
    try:
        return "wrong-type" if isinstance(json.loads(line), dict) else "not-json"
    except (ValueError, RecursionError):
        return "not-json"


def written(events: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield each event as fields that :func:`read_lines` reads as the same event again.

    >>> batch = read_lines([b'{"request_id": "r", "user_id": 7, "items": ["a", "b"], "time": 3}'])
    >>> read_lines([json.dumps(event).encode() for event in written(batch.events)]).events.equals(batch.events)
    True
    """
    for row in events.iter_rows(named=True):
        event = {name: value for name, value in row.items() if value is not None and not name.startswith(SEGMENT)}
        event |= {"event": EVENTS[row["event"]], "time": (EPOCH + timedelta(microseconds=row["time"])).isoformat()}
        for name in row:
            if name.startswith(SEGMENT):
                event[name.removeprefix(SEGMENT)] = None if row[name] == MISSING else row[name]
        if event["arm"] is None:  # it came from the policy
            event.setdefault("policy", row["arm"])
        yield event


def contents(events: pl.DataFrame) -> list[str]:
    """Return each event as JSON text without missing fields; the texts of equal events are equal."""
    return [
        json.dumps({name: value for name, value in row.items() if value is not None}, ensure_ascii=False)
        for row in events.iter_rows(named=True)
    ]


def lines(events: pl.DataFrame) -> list[bytes]:
    """Return a line of JSON for each event of a table, without its missing fields."""
    return [content.encode() for content in contents(events)]


def shortened(line: bytes | str) -> str:
    """Return the first 200 characters of an event as text."""
    text = line.decode("utf-8", "replace") if isinstance(line, bytes) else line
    return text if len(text) <= 200 else text[:200] + "…"


def read_table(
    frame: pl.DataFrame,
    segments: Sequence[str] = (),
    max_items: int = 1000,
    attached: Sequence[str] = (),
    *,
    rows: NDArray[np.int64] | None = None,
    received: int | None = None,
    refused: list[Refused] | None = None,
) -> EventBatch:
    """Return the events of a table with the columns of :data:`RAW`, whose types are converted if necessary.

    ``segments`` are additional columns, and a list with more than ``max_items`` items is refused. ``attached`` are
    names of models that make lists for interactions (attached models); if there are any, an interaction may come
    without a list. If rows were ``refused`` before, ``rows`` has the position of each remaining row among those
    received, and ``received`` is their number.
    """
    rows = np.arange(frame.height) if rows is None else rows
    typed = _typed(frame, segments)
    reason = typed.select(_refusal(max_items, attached).alias("reason"))["reason"]
    good = reason.is_null()
    found = list(refused or ())
    if not good.all():
        bad = np.flatnonzero(~good.to_numpy()).tolist()
        for at, content in zip(bad, _contents(frame[bad], segments), strict=True):
            found.append(Refused(int(rows[at]), str(reason[at]), content))
        typed = typed.filter(good)
    events = typed.select(pl.col(name).cast(kind) for name, kind in columns(segments).items())
    found.sort()
    return EventBatch(events, frame.height if received is None else received, found)


def _contents(frame: pl.DataFrame, segments: Sequence[str]) -> list[str]:
    """Return the start of each row as JSON text, without missing fields and without columns that events do not have."""
    names = [name for name in frame.columns if name in {*RAW, *segments}]
    if not names:
        return ["{}"] * frame.height
    plain = frame.select(_in_years(pl.col(name), frame.schema[name]) for name in names)
    try:
        rows = plain.rows(named=True)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OverflowError, ValueError):
        return [f"(unreadable: {', '.join(f'{name} {kind}' for name, kind in plain.schema.items())})"] * frame.height
    return [
        shortened(json.dumps({name: value for name, value in row.items() if value is not None}, default=str))
        for row in rows
    ]


def _in_years(column: pl.Expr, kind: pl.DataType) -> pl.Expr:
    """Return ``column``, but with null for dates before the year 1 or after 9999."""
    if not isinstance(kind, pl.Date | pl.Datetime):
        return column
    scale = PER_DAY[kind.time_unit] if isinstance(kind, pl.Datetime) else 1
    days = column.to_physical().cast(pl.Float64) / scale
    return pl.when((days >= FIRST_DAY) & (days < LAST_DAY + 1)).then(column)


def _typed(frame: pl.DataFrame, segments: Sequence[str]) -> pl.DataFrame:
    """Return the columns of events in their final types, with null for a value that cannot be read.

    Further columns say which values are not missing: ``_timed``, ``_valued`` and ``_weighted``, and ``_unlisted`` for
    items that are not a list. ``segments`` are additional columns.
    """

    def given(name: str) -> pl.Expr:
        return pl.col(name).is_not_null() if name in frame.columns else pl.lit(False)

    def text(name: str) -> pl.Expr:
        kind = frame.schema.get(name, pl.Null())
        if name not in frame.columns or isinstance(kind, UNREADABLE):
            return pl.lit(None, pl.String)
        return _in_years(pl.col(name), kind).cast(pl.String)

    kind = frame.schema.get("items", pl.Null())
    inner = getattr(kind, "inner", None)
    listed = kind == pl.Null or (inner is not None and not isinstance(inner, UNREADABLE))
    items = pl.lit(None, pl.List(pl.String))
    if listed and inner is not None:
        items = _listed(frame, "items")
        if isinstance(inner, pl.Date | pl.Datetime):
            items = items.list.eval(_in_years(pl.element(), inner))
        items = items.cast(pl.List(pl.String))
    kind_of = (
        pl.when(text("event").is_not_null())
        .then(text("event").replace_strict({name: code for code, name in enumerate(EVENTS)}, default=-1))
        .when(pl.col(ITEMS).is_not_null()).then(EXPOSURE)
        .when(text("item_id").is_not_null()).then(FEEDBACK)
        .otherwise(-1)
    )  # fmt: skip
    return frame.with_columns(items.alias(ITEMS)).select(
        _time(frame).alias("time"),
        given("time").alias("_timed"),
        kind_of.cast(pl.Int8).alias("event"),
        *(_id(text(name)).alias(name) for name in ("request_id", "user_id", "item_id", "event_id")),
        _id(text("kind")).fill_null("click").alias("kind"),
        pl.coalesce(_id(text("arm")), _id(text("policy")), pl.lit("all")).alias("arm"),
        pl.col(ITEMS).alias("items"),
        (pl.lit(not listed) & given("items")).alias("_unlisted"),
        text("value").cast(pl.Float64, strict=False).alias("value"),
        text("value").is_not_null().alias("_valued"),
        _propensity(frame).alias("propensity"),
        given("propensity").alias("_weighted"),
        _id(text("model_version")).alias("model_version"),
        *(_id(text(name)).fill_null(MISSING).alias(f"{SEGMENT}{name}") for name in segments),
    )


def _id(expression: pl.Expr) -> pl.Expr:
    """Return an expression for a column of ids in which an empty text is null."""
    return pl.when(expression != "").then(expression)


def _time(frame: pl.DataFrame) -> pl.Expr:
    """Return an expression for times in microseconds since 1970, from numbers of any unit or the text of dates.

    A number below 1e11 is in seconds, below 1e14 in milliseconds, below 1e17 in microseconds, else in nanoseconds.
    """
    time, kind = pl.col("time"), frame.schema.get("time", pl.Null())
    micro = pl.lit(None, pl.Int64)
    if isinstance(kind, pl.Datetime | pl.Date):
        micro = _in_years(time, kind).cast(pl.Datetime("us")).dt.epoch("us")
    elif kind.is_numeric() or kind == pl.String:
        number = time.cast(pl.Float64, strict=False)
        size = number.abs()
        scale = pl.when(size < 1e11).then(1e6).when(size < 1e14).then(1e3).when(size < 1e17).then(1.0).otherwise(1e-3)
        micro = (number * scale).round().cast(pl.Int64, strict=False)
        if kind == pl.String and frame.select((time.is_not_null() & number.is_null()).any()).item():
            dates = [time.str.to_datetime("%+", time_unit="us", time_zone="UTC", strict=False).dt.epoch("us")]
            dates += [time.str.to_datetime(form, time_unit="us", strict=False).dt.epoch("us") for form in DATE_FORMATS]
            micro = pl.when(number.is_null()).then(pl.coalesce(*dates)).otherwise(micro)
    return pl.when(micro.is_between(0, LATEST_TIME - 1)).then(micro)


def _propensity(frame: pl.DataFrame) -> pl.Expr:
    """Return an expression for the propensities as a list: one number for the whole shown list, or one per item."""
    column, kind, several = pl.col("propensity"), frame.schema.get("propensity", pl.Null()), pl.List(pl.Float64)
    inner = getattr(kind, "inner", kind)
    if kind == pl.Null:
        return pl.lit(None, several)
    if isinstance(inner, UNREADABLE):  # a missing number, which is refused
        return pl.when(column.is_not_null()).then(pl.lit([None], several))
    if inner is not kind:
        return _listed(frame, "propensity").cast(pl.List(pl.String)).cast(several, strict=False)
    inside = column.cast(pl.String).str.strip_chars().str.strip_prefix("[").str.strip_suffix("]")
    texts = inside.str.split(",").list.eval(pl.element().str.strip_chars())
    return pl.when(column.is_not_null()).then(texts.cast(several, strict=False))


def _listed(frame: pl.DataFrame, name: str) -> pl.Expr:
    """Return an expression for a column of lists or arrays as lists."""
    return pl.col(name).arr.to_list() if isinstance(frame.schema[name], pl.Array) else pl.col(name)


def _refusal(max_items: int, attached: Sequence[str]) -> pl.Expr:
    """Return an expression for the reason (a key of ``REASONS``) why a row is not an event; null if it is one.

    ``max_items`` is the largest number of items of a list, and ``attached`` are the names of attached models.
    """
    column = pl.col
    exposure = column("event") == EXPOSURE
    interaction, missing = column("event") == INTERACTION, column("items").is_null()
    listed = exposure | interaction  # it has a list of items
    ids = ("request_id", "user_id", "item_id", "event_id", "kind", "arm", "model_version")
    weights = column("propensity")
    bad = weights.list.eval(pl.element().is_null() | ~(pl.element() > 0) | (pl.element() > 1)).list.any()
    uneven = (weights.list.len() != 1) & (weights.list.len() != column("items").list.len())
    reasons = (
        ("wrong-type", column("_unlisted")),
        ("unknown-event", column("event") < 0),
        ("no-time", ~column("_timed")),
        ("bad-time", column("time").is_null()),
        ("no-request", exposure & column("request_id").is_null()),
        ("no-user", column("user_id").is_null() & (listed | column("request_id").is_null())),
        ("wrong-type", exposure & missing),
        ("no-list", interaction & missing & pl.lit(not attached)),
        ("model-name", interaction & ~missing & column("arm").is_in(list(attached))),
        ("too-many-items", listed & (column("items").list.len() > max_items)),
        ("null-item", listed & column("items").list.eval(pl.element().is_null() | (pl.element() == "")).list.any()),
        ("no-item", ~exposure & column("item_id").is_null()),
        ("long-id", pl.any_horizontal(column(name).str.len_bytes() > MAX_TEXT for name in ids)),
        ("long-id", listed & (column("items").list.eval(pl.element().str.len_bytes()).list.max() > MAX_TEXT)),
        ("bad-value", column("_valued") & (column("value").is_null() | ~column("value").is_finite())),
        ("bad-propensity", exposure & column("_weighted") & (weights.is_null() | bad.fill_null(True) | uneven)),
    )  # fmt: skip
    name, condition = reasons[0]
    chain = pl.when(condition.fill_null(False)).then(pl.lit(name))
    for name, condition in reasons[1:]:
        chain = chain.when(condition.fill_null(False)).then(pl.lit(name))  # type: ignore[assignment]
    return chain.otherwise(pl.lit(None, pl.String))
