"""Conversion of each column to its type: ids are integers or text and never missing, values are numbers."""

from __future__ import annotations

import re

import polars as pl

from recassay.data.io.columns import (
    GAIN,
    ITEM,
    POOL,
    POSITION,
    PROBABILITY,
    RANK,
    RATING,
    SCORE,
    SEQUENCE,
    SURPRISE,
    SYSTEM,
    TIMESTAMP,
    USER,
)
from recassay.errors import InputError
from recassay.threads import each_block

TEXTS_PER_BLOCK = 1 << 18
CORRECT = "correct these values, or choose another column with --columns"
# Every whole number below this is exact as a float.
EXACT_FLOAT = 2**53
DECIMAL_COMMA = re.compile(r"\s*[-+]?[0-9]*,[0-9]+\s*")
WIDE = ("Int128", "UInt128")  # NumPy has no such integers
PLAIN_WHOLE = r"(?:0|-?[1-9][0-9]{0,19})"  # a whole number of up to 64 bits; no leading zero, which ids keep
# Day and month in either order, then the year. Dates with dots are unambiguous: the day comes first.
DAY_AND_MONTH = r"^\s*(?<first>\d{1,2})[/-](?<second>\d{1,2})[/-](?<year>\d{4}|\d{2})(?:\D|$)"
TIMED = r"\d{1,2}:\d{2}"
ZONED = r"\d{1,2}:\d{2}.*(?:[Zz]|[+-]\d{2}:?\d{2})\s*$"


def clean(frame: pl.DataFrame, *, columns: tuple[str, ...], where: str, whole_ranks: bool = True) -> pl.DataFrame:
    """Return the frame with each of the columns ``columns`` converted to its type; other columns are unchanged.

    Ids stay integers or strings (whole floats become integers, categories become strings). Score, rating and gain
    become Float64; rank and pool become integers, with missing values left null. Timestamps stay whole numbers, floats
    or datetimes. Without ``whole_ranks`` a rank becomes Float64. ``where`` names the table in errors.
    """
    rules = {**RULES, RANK: as_whole_number if whole_ranks else as_number}
    return frame.with_columns(rules[name](frame[name], where).alias(name) for name in columns if name in frame.columns)


def as_ids(series: pl.Series, where: str = "") -> pl.Series:
    """Return ids as integers or strings; raise I304 if one is missing or empty, I202 if a value cannot be an id.

    Whole numbers are integers if all of them fit 64 bits, with or without a sign; otherwise all become strings.

    >>> as_ids(pl.Series("user_id", [3.0, 1.0])).to_list()
    [3, 1]
    """
    dtype = series.dtype
    if str(dtype) in WIDE:
        series = integers_or_text(series)
    elif dtype.is_float():
        series = _whole(series.fill_nan(None), where)
    elif dtype.is_decimal():
        fractions = (series != series.floor()).any()
        series = _whole(series.cast(pl.Float64), where) if fractions else integers_or_text(series)
    elif isinstance(dtype, pl.Categorical | pl.Enum):
        series = series.cast(pl.String)
    elif dtype == pl.Binary:
        try:
            series = series.cast(pl.String)
        except pl.exceptions.PolarsError:
            raise InputError("I202", "ids are bytes that are not UTF-8 text", where=_at(series, where)) from None
    elif not (dtype.is_integer() or dtype in (pl.String, pl.Null)):
        raise InputError(
            "I202",
            f"ids are {dtype}, for example {series.drop_nulls().head(1).to_list()}",
            where=_at(series, where),
            hint="one row per pair is needed: explode the lists first"
            if dtype.is_nested()
            else "make it text or integer",
        )
    empty = series.dtype == pl.String and any(
        each_block(
            lambda begin, end: bool((series.slice(begin, end - begin) == "").any()), series.len(), size=TEXTS_PER_BLOCK
        )
    )
    if series.null_count() or empty:
        missing = series.is_null() | (series == "") if empty else series.is_null()
        first = missing.arg_true()[0] + 1
        raise InputError(
            "I304",
            f"{missing.sum():,} of {len(series):,} ids are missing, the first in row {first:,}",
            where=_at(series, where),
            hint="remove these rows, or give each an id",
        )
    return series


def are_complete_categories(series: pl.Series) -> bool:
    """Return whether a column holds categories none of which is missing or empty, so that rows can keep their numbers.

    >>> texts = pl.Series(["a", "b", "a"])
    >>> are_complete_categories(texts.cast(pl.Categorical)), are_complete_categories(texts)
    (True, False)
    """
    if not isinstance(series.dtype, pl.Categorical | pl.Enum) or series.null_count():
        return False
    if isinstance(series.dtype, pl.Enum):
        return "" not in series.dtype.categories
    return not (series == "").any()


def as_number(series: pl.Series, where: str = "") -> pl.Series:
    """Return a column as Float64; raise I202 for what is not a number, or a whole number that a float cannot hold.

    >>> as_number(pl.Series("score", ["1.5", None])).to_list()
    [1.5, None]
    """
    dtype = series.dtype
    if dtype == pl.Float64:
        return series
    if isinstance(dtype, pl.Categorical | pl.Enum):
        series = series.cast(pl.String)
    elif not (dtype.is_numeric() or dtype in (pl.Boolean, pl.Null, pl.String)):
        raise InputError("I202", f"{dtype} where a number is needed", where=_at(series, where))
    numbers = series.cast(pl.Float64, strict=False)
    _check_values(series, numbers.is_null() & series.is_not_null(), "not numbers", where)
    if (dtype.is_integer() or series.dtype == pl.String) and exceeds_exact(numbers):
        rounded = (numbers.cast(pl.Int128, strict=False) != series.cast(pl.Int128, strict=False)).fill_null(False)
        _check_values(
            series,
            rounded,
            "whole numbers above 2^53 that a float would round",
            where,
            "subtract the same number from all of them, or name a column of ranks: --columns rank=NAME",
        )
    return numbers


def exceeds_exact(numbers: pl.Series) -> bool:
    """Return whether a float is so large, 2^53 or more, that the next whole number may have the same float.

    >>> exceeds_exact(pl.Series([1.0, 2.0**53])), exceeds_exact(pl.Series([0.5, None]))
    (True, False)
    """
    low, high = numbers.min(), numbers.max()
    return low is not None and bool(low <= -EXACT_FLOAT or high >= EXACT_FLOAT)  # type: ignore[operator]


def as_whole_number(series: pl.Series, where: str = "") -> pl.Series:
    """Return a column as integers of any width; raise I202 for a fraction.

    >>> as_whole_number(pl.Series("rank", [1.0, 2.0])).to_list()
    [1, 2]
    """
    if series.dtype.is_integer():
        return series
    return _whole(as_number(series, where).fill_nan(None), where)


def as_time(series: pl.Series, where: str = "") -> pl.Series:
    """Return times as whole numbers, floats or datetimes: dates become datetimes, and text is parsed.

    Raise I386 for text that can be read in two ways, such as 03/04/2020, and I202 for what is not a time.

    >>> as_time(pl.Series("timestamp", ["2014-04-07T10:51:09Z", None])).to_list()
    [datetime.datetime(2014, 4, 7, 10, 51, 9), None]
    """
    dtype = series.dtype
    if str(dtype) in WIDE:
        narrow = _fitting(series, pl.Int64)
        return series.cast(pl.Float64) if narrow is None else narrow
    if dtype.is_integer() or dtype.is_float() or isinstance(dtype, pl.Datetime):
        return series
    if dtype == pl.Date:
        return series.cast(pl.Datetime("us"))
    if dtype in (pl.Null, pl.String):
        return _time_of_text(series.cast(pl.String), where)
    if dtype.is_decimal():
        return series.cast(pl.Float64)
    raise InputError("I202", f"{dtype} where a time is needed", where=_at(series, where))


RULES = {
    USER: as_ids, ITEM: as_ids, SYSTEM: as_ids, TIMESTAMP: as_time, POOL: as_whole_number, SEQUENCE: as_whole_number,
    POSITION: as_whole_number, SCORE: as_number, RATING: as_number, GAIN: as_number, PROBABILITY: as_number,
    SURPRISE: as_number,
}  # fmt: skip


def infer_type(series: pl.Series) -> pl.Series:
    """Return text as integers if all values are plain whole numbers, as Float64 if all are numbers, else unchanged.

    Integers are Int64 or UInt64, whichever holds all of them; if neither does, they stay text.

    >>> infer_type(pl.Series(["7", "10"])).to_list(), infer_type(pl.Series(["007", "x10"])).to_list()
    ([7, 10], ['007', 'x10'])
    """
    if series.dtype != pl.String or series.null_count() == len(series):
        return series
    plain = series.str.contains(f"^{PLAIN_WHOLE}$").all()
    if plain and (whole := _fitting(series, pl.Int64, pl.UInt64)) is not None:
        return whole
    if series.str.contains(r"^-?(0|[1-9][0-9]*)?\.[0-9]+([eE][-+]?[0-9]+)?$|^(0|-?[1-9][0-9]{0,14})$").all():
        return series.cast(pl.Float64)
    return series


def integers_or_text(whole: pl.Series) -> pl.Series:
    """Return whole numbers of any type, also as text, as Int64 or UInt64 if all of them fit, else as text.

    >>> [str(integers_or_text(pl.Series([text])).dtype) for text in ("-1", str(2**64 - 1), str(2**64))]
    ['Int64', 'UInt64', 'String']
    """
    integers = _fitting(whole, pl.Int64, pl.UInt64)
    # a decimal may have zeros after its point
    return whole.cast(pl.String).str.replace(r"\.0*$", "") if integers is None else integers


def _fitting(series: pl.Series, *dtypes: type[pl.DataType]) -> pl.Series | None:
    """Return a column in the first of the types that holds all of its values; None if none does."""
    casts = (series.cast(dtype, strict=False) for dtype in dtypes)
    return next((cast for cast in casts if cast.null_count() == series.null_count()), None)


def _whole(series: pl.Series, where: str) -> pl.Series:
    _check_values(series, (series != series.floor()) | (series.abs() >= EXACT_FLOAT), "not exact whole numbers", where)
    return series.cast(pl.Int64)


def _time_of_text(series: pl.Series, where: str) -> pl.Series:
    if (numbers := _fitting(series, pl.Int64, pl.Float64)) is not None:
        return numbers
    _check_ambiguity(series, where)
    try:
        times = series.str.to_datetime(time_unit="us", time_zone="UTC", strict=False).dt.replace_time_zone(None)
    except pl.exceptions.PolarsError:
        times = pl.Series(series.name, [None] * len(series), dtype=pl.Datetime("us"))
    _check_values(series, times.is_null() & series.is_not_null(), "not times", where)
    return times


def _check_ambiguity(series: pl.Series, where: str) -> None:
    """Raise I386 for dates whose day and month cannot be told apart, and for times with and without a zone."""
    zoned = series.str.contains(ZONED)
    if zoned.any() and (bare := ~zoned & series.str.contains(TIMED)).any():
        raise InputError(
            "I386",
            f"{int(zoned.sum()):,} of {len(series):,} times have a zone and {int(bare.sum()):,} have none, such as "
            f"{series.filter(zoned.fill_null(False))[0]!r} and {series.filter(bare.fill_null(False))[0]!r}",
            where=_at(series, where),
            hint="give all of them a zone, or none",
        )
    parts = series.str.extract_groups(DAY_AND_MONTH).struct.unnest().drop_nulls()
    if not parts.height:
        return
    first, second = (parts[name].cast(pl.Int64) for name in ("first", "second"))
    two_digits = bool((parts["year"].str.len_chars() == 2).any())
    if not two_digits and (first > 12).any() and not (second > 12).any():
        return  # some first number is above 12, so the day comes first everywhere
    why = "the year has two digits" if two_digits else "it is unknown whether day or month comes first"
    example = series.filter(series.str.contains(DAY_AND_MONTH).fill_null(False))[0]
    raise InputError(
        "I386",
        f"{parts.height:,} of {len(series):,} times are dates such as {example!r}, and {why}",
        where=_at(series, where),
        hint="write the year first: 2020-04-03, 2020-04-03 10:30:00 or 2020-04-03T10:30:00+02:00",
    )


def _check_values(series: pl.Series, bad: pl.Series, what: str, where: str, hint: str = CORRECT) -> None:
    """Raise I202 if ``bad`` marks any row.

    ``what`` says what is wrong with the values. The error has the number of bad rows, and the value of the first.
    """
    rows = bad.arg_true()
    if len(rows):
        comma = DECIMAL_COMMA.fullmatch(str(series[rows[0]])) is not None
        raise InputError(
            "I202",
            f"{len(rows):,} of {len(series):,} values are {what}, the first {series[rows[0]]!r} in row {rows[0] + 1:,}",
            where=_at(series, where),
            hint="write decimal points instead of commas" if comma else hint,
        )


def _at(series: pl.Series, where: str) -> str:
    return f"{where}, column {series.name!r}" if where else f"column {series.name!r}"


def require_rows(column: pl.Series, rows: int, name: str, where: str) -> None:
    """Raise I104 if a column that was read has not as many rows as its table says: the file contradicts itself.

    >>> require_rows(pl.Series([1, 2]), 2, "user_id", "run.parquet")
    """
    if column.len() != rows:
        raise InputError(
            "I104",
            f"column {name!r} has {column.len():,} rows, and the table {rows:,}: the file is damaged",
            where=where,
            hint="write or copy the file again",
        )
