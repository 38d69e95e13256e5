"""Events as tables: the columns of exposures, feedback and interactions, how they are read, and why a row is refused.

How a row is read depends on that row alone, never on the batch it came in. So formats of times, for example, are not
inferred from the rest of a column.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.live.events.durations import SECOND

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


@dataclass(frozen=True)
class Refused:
    """A row that is not an event: its position in the batch, the reason (a key of ``REASONS``), and its content.

    The content is shortened.
    """

    row: int
    reason: str
    content: str


@dataclass(frozen=True, eq=False)
class EventBatch:
    """Events of one partition in order of arrival; ``rows`` is the position of each event in the batch.

    The columns of ``events`` are those of :func:`columns`. ``received`` counts all rows, also the refused ones.
    """

    events: pl.DataFrame
    rows: NDArray[np.int64]
    received: int
    refused: list[Refused] = field(default_factory=list)


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
    refused = [Refused(row, "too-large", "") for row, line in enumerate(lines) if len(line) > LARGEST_LINE]
    large = {one.row for one in refused}
    kept = np.array(
        [row for row in range(len(lines)) if row not in large] if large else np.arange(len(lines)), np.int64
    )
    frame, rows, bad = _parse(lines, kept, schema)
    return read_table(frame, segments, max_items, attached, rows=rows, received=len(lines), refused=[*refused, *bad])


def _parse(
    lines: Sequence[bytes], rows: NDArray[np.int64], schema: dict[str, pl.DataType]
) -> tuple[pl.DataFrame, NDArray[np.int64], list[Refused]]:
    """Return (table, line number of each row of the table, refused lines), for the lines with the numbers ``rows``.

    If the lines cannot be read together, each half is read separately, and so on.
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
    without a list. If rows were ``refused`` before, ``rows`` is the position of each remaining row among those
    received, and ``received`` the number of rows received.
    """
    rows = np.arange(frame.height) if rows is None else rows
    typed, unreadable = _typed(frame, segments)
    reason = typed.select(_refusal(max_items, attached).alias("reason"))["reason"]
    if unreadable is not None:
        reason = pl.select(pl.when(pl.lit(unreadable)).then(pl.lit("wrong-type")).otherwise(pl.lit(reason))).to_series()
    good = reason.is_null()
    found = list(refused or ())
    if not good.all():
        bad = np.flatnonzero(~good.to_numpy())
        for at, content in zip(bad.tolist(), _contents(frame[bad], segments), strict=True):
            found.append(Refused(int(rows[at]), str(reason[at]), content))
        typed, rows = typed.filter(good), rows[good.to_numpy()]
    events = typed.select(pl.col(name).cast(kind) for name, kind in columns(segments).items())
    found.sort(key=lambda one: one.row)
    return EventBatch(events, rows, frame.height if received is None else received, found)


def _contents(frame: pl.DataFrame, segments: Sequence[str]) -> list[str]:
    """Return the start of each row as JSON text without missing fields and columns that no event has."""
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
    """Return an expression that is null for a date before the year 1 or after 9999, and unchanged for all else."""
    if not isinstance(kind, pl.Date | pl.Datetime):
        return column
    scale = PER_DAY[kind.time_unit] if isinstance(kind, pl.Datetime) else 1
    days = column.to_physical().cast(pl.Float64) / scale
    return pl.when((days >= FIRST_DAY) & (days < LAST_DAY + 1)).then(column)


def _typed(frame: pl.DataFrame, segments: Sequence[str]) -> tuple[pl.DataFrame, NDArray[np.bool_] | None]:
    """Return the columns of events in their final types, and a mask of the rows whose ``items`` are not a list.

    A value that cannot be read is null. The mask is None if there are no such rows. ``segments`` are additional
    columns.
    """
    unreadable = None
    given = set(frame.columns)
    items = frame["items"] if "items" in given else None
    if items is not None and not isinstance(items.dtype, pl.List | pl.Array | pl.Null):
        unreadable, items = items.is_not_null().to_numpy(), None
    inner = items.dtype.inner if items is not None and isinstance(items.dtype, pl.List | pl.Array) else None
    if isinstance(inner, UNREADABLE):
        unreadable, items = items.is_not_null().to_numpy(), None  # type: ignore[union-attr]
    if isinstance(inner, pl.Date | pl.Datetime):
        items = frame.select(_listed(frame, "items").list.eval(_in_years(pl.element(), inner)))["items"]

    def text(name: str) -> pl.Expr:
        if name not in given:
            return pl.lit(None, pl.String)
        kind = frame.schema[name]
        if isinstance(kind, UNREADABLE):
            return pl.lit(None, pl.String)
        return _in_years(pl.col(name), kind).cast(pl.String)

    kind_of = (
        pl.when(text("event") == EVENTS[EXPOSURE]).then(EXPOSURE)
        .when(text("event") == EVENTS[FEEDBACK]).then(FEEDBACK)
        .when(text("event") == EVENTS[INTERACTION]).then(INTERACTION)
        .when(text("event").is_not_null()).then(-1)
        .when(pl.lit(items is not None) & pl.col(ITEMS).is_not_null()).then(EXPOSURE)
        .when(text("item_id").is_not_null()).then(FEEDBACK)
        .otherwise(-1)
    )  # fmt: skip
    plain = frame.with_columns(
        (pl.lit(None, pl.List(pl.String)) if items is None else items.cast(pl.List(pl.String))).alias(ITEMS)
    )
    typed = plain.select(
        _time(frame, "time").alias("time"),
        (pl.col("time").is_not_null() if "time" in given else pl.lit(False)).alias("_timed"),
        kind_of.cast(pl.Int8).alias("event"),
        *(_id(text(name)).alias(name) for name in ("request_id", "user_id", "item_id", "event_id")),
        _id(text("kind")).fill_null("click").alias("kind"),
        pl.coalesce(_id(text("arm")), _id(text("policy")), pl.lit("all")).alias("arm"),
        pl.col(ITEMS).alias("items"),
        text("value").cast(pl.Float64, strict=False).alias("value"),
        text("value").is_not_null().alias("_valued"),
        _propensity(frame).alias("propensity"),
        (pl.col("propensity").is_not_null() if "propensity" in given else pl.lit(False)).alias("_weighted"),
        _id(text("model_version")).alias("model_version"),
        *(_id(text(name)).fill_null(MISSING).alias(f"{SEGMENT}{name}") for name in segments),
    )
    return typed, unreadable


def _id(expression: pl.Expr) -> pl.Expr:
    """Return an expression for a column of ids in which an empty text is null."""
    return pl.when(expression != "").then(expression)


def _time(frame: pl.DataFrame, name: str) -> pl.Expr:
    """Return an expression for times in microseconds since 1970, from numbers of any unit or the text of dates.

    A number below 1e11 is in seconds, below 1e14 in milliseconds, below 1e17 in microseconds, else in nanoseconds.
    """
    if name not in frame.columns:
        return pl.lit(None, pl.Int64)
    kind = frame.schema[name]
    if isinstance(kind, pl.Datetime | pl.Date):
        date = _in_years(pl.col(name), kind).cast(pl.Datetime("us")).dt.epoch("us")
        return pl.when(date.is_between(0, LATEST_TIME - 1)).then(date)
    if not (kind.is_numeric() or kind == pl.String):
        return pl.lit(None, pl.Int64)
    number = pl.col(name).cast(pl.Float64, strict=False)
    size = number.abs()
    scale = pl.when(size < 1e11).then(1e6).when(size < 1e14).then(1e3).when(size < 1e17).then(1.0).otherwise(1e-3)
    usable = number.is_finite() & (number >= 0) & (number * scale < LATEST_TIME)
    of_number = pl.when(usable).then((number * scale).round()).cast(pl.Int64, strict=False)
    if kind != pl.String or not frame.select((pl.col(name).is_not_null() & number.is_null()).any()).item():
        return of_number
    text = pl.col(name)
    dates = [text.str.to_datetime("%+", time_unit="us", time_zone="UTC", strict=False).dt.epoch("us")]
    dates += [text.str.to_datetime(form, time_unit="us", strict=False).dt.epoch("us") for form in DATE_FORMATS]
    date = pl.coalesce(*dates)
    return pl.when(number.is_null()).then(pl.when(date.is_between(0, LATEST_TIME - 1)).then(date)).otherwise(of_number)


def _propensity(frame: pl.DataFrame) -> pl.Expr:
    """Return an expression for the propensities as a list: one number for the whole shown list, or one per item."""
    kind = frame.schema.get("propensity")
    several = pl.List(pl.Float64)
    if kind is None or kind == pl.Null:
        return pl.lit(None, several)
    column = pl.col("propensity")
    inner = kind.inner if isinstance(kind, pl.List | pl.Array) else kind
    if isinstance(inner, UNREADABLE):  # a missing number, which is refused
        return pl.when(column.is_not_null()).then(pl.lit([None], several))
    if inner is not kind:
        listed = _listed(frame, "propensity")
        if isinstance(inner, pl.Categorical | pl.Enum):
            listed = listed.cast(pl.List(pl.String))
        return listed.cast(several, strict=False)
    if isinstance(kind, pl.Categorical | pl.Enum):
        column, kind = column.cast(pl.String), pl.String()
    alone = column.cast(pl.Float64, strict=False)
    if kind != pl.String:
        return pl.when(alone.is_not_null()).then(pl.concat_list(alone))
    inside = column.str.strip_chars().str.strip_prefix("[").str.strip_suffix("]")
    listed = inside.str.split(",").list.eval(pl.element().str.strip_chars().cast(pl.Float64, strict=False))
    return pl.when(column.is_not_null()).then(listed)


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
