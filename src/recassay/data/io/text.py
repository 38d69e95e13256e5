"""Reading of delimited text with Polars; if Polars fails, the faulty line is found and shown."""

from __future__ import annotations

import contextlib
import csv
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.data.io.clean import PLAIN_WHOLE, as_number, exceeds_exact, infer_type
from recassay.data.io.columns import GAIN, ITEM, POOL, RANK, RATING, SCORE, TIMESTAMP, USER, Role
from recassay.data.io.lines import (
    BLANKS,
    BOM,
    Head,
    Layout,
    blank_lines,
    broken_file,
    check_encoding,
    is_archive,
    open_unpacked,
    remark_on_cut_file,
    walk,
)
from recassay.data.io.parquet import DAMAGE, scan_parquet
from recassay.data.io.table import Table, Wanted
from recassay.errors import UsageError
from recassay.threads import each_block

# Replaces a separator of several characters, since Polars accepts single bytes only.
UNIT_SEPARATOR = "\x1f"
ROWS_PER_GROUP = 1 << 18  # of a Parquet file converted from text

INTEGER = re.compile(PLAIN_WHOLE)
INTEGERS = (pl.Int64, pl.UInt64)  # the types of ids that are whole numbers; if neither holds all ids, they are text
WHOLE_FLOAT = re.compile(r"-?(0|[1-9][0-9]*)\.0*")
NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")


def text_table(head: Head, layout: Layout, role: Role) -> Table:
    """Return the table in a text file of the given layout; raise I106 if the text is not UTF-8."""
    check_encoding(head)
    return Table(
        layout.names,
        lambda wanted: read_text(head, layout, role, wanted),
        str(head.path),
        layout.by_position,
        pack=lambda wanted, path: pack_text(head, layout, role, wanted, path),
        sample=lambda names: _sample(head, layout, names),
        remarks=remark_on_cut_file(head, layout),
    )


def read_text(head: Head, layout: Layout, role: Role, wanted: Wanted) -> pl.DataFrame:
    """Return the wanted columns; raise I105 for a line with another number of fields, or text in place of a number.

    Every column is scanned, because only then does Polars check the width of every line. Otherwise a stray separator in
    a title would silently shift the columns after it. Ids become integers if all of them are, else strings.
    """
    guesses, safe = _types(head, layout, role, wanted)
    above = head.lines_above_data(layout.header_lines)
    failure = ""
    for source, separator in _sources(head, layout):
        for types in _attempts(source, separator, layout, above, guesses, safe):
            try:
                frame = _scan(source, separator, layout, types, above).collect()
            except DAMAGE as error:
                failure = str(error)
                continue
            if _may_hide_a_short_line(frame, separator) and not _has_even_lines(source, separator, layout, above):
                frame = _without_blank_lines(frame, blank_lines(head, layout))
            _refuse_rounded(frame, wanted, lambda: _scan(source, separator, layout, {}, above), head)  # noqa: B023
            return _select(frame, wanted, role)
    if not any(line.fields for line in walk(head, layout)):
        return pl.DataFrame(schema=dict.fromkeys(wanted.values(), pl.String))
    numeric = [name for name, dtype in safe.items() if dtype == pl.Float64]
    raise broken_file(head, layout, numeric, failure)


def pack_text(head: Head, layout: Layout, role: Role, wanted: Wanted, path: Path) -> None:
    """Write the wanted columns of a text file to the Parquet file ``path`` in bounded memory.

    Raise the errors that :func:`read_text` raises.
    """
    guesses, safe = _types(head, layout, role, wanted)
    above = head.lines_above_data(layout.header_lines)
    source, separator = next(_sources(head, layout))
    packed = is_archive(head.path)
    if packed or isinstance(source, bytes):
        raise UsageError(
            "U223",
            f"{head.path.name} cannot be read in chunks: "
            + ("it is a gzip archive" if packed else f"its fields are separated by {layout.separator!r}"),
            where=str(head.path),
            hint="write it as Parquet, or uncompressed with a single character between the fields",
        )
    failure = ""
    for types in _attempts(source, separator, layout, above, guesses, safe):
        rows = _scan(source, separator, layout, types, above)
        try:
            rows.sink_parquet(path, compression="lz4", row_group_size=ROWS_PER_GROUP)
        except DAMAGE as error:
            failure = str(error)
            continue
        values = scan_parquet(path).select(_values(wanted)).collect()
        _refuse_rounded(values, wanted, lambda: _scan(source, separator, layout, {}, above), head)
        names = layout.names if separator == BLANKS else layout.names[-1:]
        nulls = scan_parquet(path).select(pl.col(names).null_count().sum()).collect()
        if sum(nulls.row(0)) and not _has_even_lines(source, separator, layout, above):
            blank_lines(head, layout)  # raises if a line is too short
            rows.filter(~pl.all_horizontal(pl.all().is_null())).sink_parquet(
                path, compression="lz4", row_group_size=ROWS_PER_GROUP
            )
        return
    numeric = [name for name, dtype in safe.items() if dtype == pl.Float64]
    raise broken_file(head, layout, numeric, failure)


def _values(wanted: Wanted) -> list[str]:
    return [name for meaning, name in wanted.items() if meaning in (SCORE, RATING, GAIN)]


def _refuse_rounded(frame: pl.DataFrame, wanted: Wanted, texts: Callable[[], pl.LazyFrame], head: Head) -> None:
    """Raise I202 if a column of values, read as floats, has whole numbers that floats do not hold.

    ``texts`` returns the same table with all columns as text; it is only read if a value is that large.
    """
    for name in _values(wanted):
        if frame[name].dtype == pl.Float64 and exceeds_exact(frame[name]):
            as_number(texts().select(name).collect().to_series(), str(head.path))


Types = dict[str, type[pl.DataType]]


def _types(head: Head, layout: Layout, role: Role, wanted: Wanted) -> tuple[Types, Types]:
    """Return two dicts of column types by name: guessed from a sample of fields, and the same with all ids as text."""
    samples = _samples(head, layout)
    guesses = {name: _guess(meaning, samples[name], role) for meaning, name in wanted.items()}
    safe = {name: _guess(meaning, ["any text"], role) for meaning, name in wanted.items()}
    whole = [name for meaning, name in wanted.items() if meaning in (USER, ITEM) and guesses[name] in INTEGERS]
    guesses |= dict.fromkeys(_with_padded_ids(head, layout, whole), pl.String)
    return guesses, safe


def _attempts(
    source: Path | bytes, separator: str, layout: Layout, above: int, guesses: Types, safe: Types
) -> Iterator[Types]:
    """Yield the column types to try one after another: as guessed from the first lines, then as all lines have them.

    ``guesses`` are the guessed types, ``safe`` those in which ids are text, and ``above`` is the number of lines above
    the data. Columns of ids that were guessed to be integers are checked one by one, so that text in one of them does
    not make the other one text.
    """
    yield guesses
    if guesses == safe:
        return
    rows = _scan(source, separator, layout, {}, above)
    measured = dict(safe)
    for name in (name for name in guesses if guesses[name] in INTEGERS and safe[name] == pl.String):
        text = pl.col(name)
        plain = text.str.contains(f"^{PLAIN_WHOLE}$").all()
        fits = [
            (plain & (text.cast(dtype, strict=False).null_count() == text.null_count())).alias(str(dtype))
            for dtype in INTEGERS
        ]
        try:
            found = rows.select(fits).collect().row(0)
        except DAMAGE:
            break  # reading all columns will report what is wrong
        measured[name] = next((dtype for dtype, all_fit in zip(INTEGERS, found, strict=True) if all_fit), pl.String)
    yield measured


def _with_padded_ids(head: Head, layout: Layout, names: list[str]) -> list[str]:
    """Return those of the columns ``names`` that hold an id such as ``007``, which is not written as a plain integer.

    The sample of the first lines shows only integers in these columns, so the whole file is scanned.
    """
    source, separator = next(_sources(head, layout))
    if not names or not may_have_padded(source, separator):
        return []
    rows = _scan(source, separator, layout, {}, head.lines_above_data(layout.header_lines))
    plain = rows.select(pl.col(names).str.contains(rf"^(?:{INTEGER.pattern}|\s*)$").all())  # a blank line is no id
    try:
        found = plain.collect()
    except DAMAGE:
        return []  # reading all columns will report what is wrong
    return [name for name in names if not found[name].item()]


def sample_rows(lines: list[str], layout: Layout) -> list[list[str]]:
    """Return the fields of some lines, header lines included.

    >>> sample_rows(["1  2", "3 4"], Layout([], " "))
    [['1', '2'], ['3', '4']]
    """
    if layout.separator == BLANKS:
        return [line.split() for line in lines]
    if layout.quotes:
        with contextlib.suppress(csv.Error):  # a field longer than the csv module accepts
            return list(csv.reader((line.replace("\r", " ") for line in lines), delimiter=layout.separator))
    return [line.split(layout.separator) for line in lines]


def is_number(text: str) -> bool:
    """Return whether a field is a number.

    >>> is_number("-1.5e3"), is_number("B00X")
    (True, False)
    """
    return NUMBER.fullmatch(text.strip()) is not None


def _samples(head: Head, layout: Layout) -> dict[str, list[str]]:
    rows = sample_rows(head.lines(), layout)[layout.header_lines :]
    width = len(layout.names)
    return {name: [row[i] for row in rows if len(row) == width] for i, name in enumerate(layout.names)}


def _sample(head: Head, layout: Layout, names: Sequence[str]) -> pl.DataFrame:
    found = _samples(head, layout)
    return pl.DataFrame({name: pl.Series(found[name], dtype=pl.String) for name in names})


def _guess(meaning: str, sample: list[str], role: Role) -> type[pl.DataType]:
    """Return the type to read a column as, from its meaning and a sample of its fields.

    Ids are integers or text, and values are numbers.
    """
    if meaning in (SCORE, RATING, GAIN) and meaning in role.optional:
        return pl.Float64
    filled = [field for field in sample if field]
    whole = all(INTEGER.fullmatch(field) and abs(int(field)) < 2**63 for field in filled)
    if meaning in (RANK, POOL) and meaning in role.columns:
        return pl.Int64 if whole else pl.Float64
    if meaning in (USER, ITEM) or (meaning == TIMESTAMP and meaning in role.optional):
        if whole:
            return pl.Int64
        if meaning != TIMESTAMP and all(INTEGER.fullmatch(field) and 0 <= int(field) < 2**64 for field in filled):
            return pl.UInt64
        return pl.Float64 if all(WHOLE_FLOAT.fullmatch(field) for field in filled) else pl.String
    return pl.String


def _sources(head: Head, layout: Layout) -> Iterator[tuple[Path | bytes, str]]:
    """Yield (source, separator) pairs that Polars can read in place of a file; the next one is used if one fails.

    The file itself comes first if its separator allows. Then come its bytes, converted to have a separator of one byte.
    """
    if layout.separator == BLANKS:
        first = head.lines(1)[0] if head.lines(1) else ""
        yield head.path, "\t" if "\t" in first and " " not in first else " "
    elif len(layout.separator) == 1:
        yield head.path, layout.separator
        return
    with open_unpacked(head.path) as file:
        data = file.read().removeprefix(BOM)
    unit = UNIT_SEPARATOR.encode()
    if layout.separator == BLANKS:
        data = _with_single_blanks(data)
    yield data.replace(layout.separator.encode(), unit), UNIT_SEPARATOR


def _with_single_blanks(data: bytes) -> bytes:
    """Return the text with one blank in place of every run of blanks and tabs, and none at line ends."""
    data = data.replace(b"\r\n", b"\n").replace(b"\t", b" ")
    while b"  " in data:
        data = data.replace(b"  ", b" ")
    return data.replace(b"\n ", b"\n").replace(b" \n", b"\n").strip(b" ")


def _scan(
    source: Path | bytes, separator: str, layout: Layout, types: dict[str, type[pl.DataType]], above: int
) -> pl.LazyFrame:
    schema: dict[str, type[pl.DataType]] = {name: types.get(name, pl.String) for name in layout.names}
    return pl.scan_csv(
        source,
        has_header=False,
        skip_lines=above,
        schema=schema,
        separator=separator,
        quote_char='"' if layout.quotes else None,
        raise_if_empty=False,
        glob=False,
    )


def _may_hide_a_short_line(frame: pl.DataFrame, separator: str) -> bool:
    """Return whether values are missing where a line with too few fields would leave nulls.

    That is the last column; if runs of blanks separate fields, any column.
    """
    columns = frame.get_columns() if separator == BLANKS else frame.get_columns()[-1:]
    return any(column.null_count() > 0 for column in columns)


def _has_even_lines(source: Path | bytes, separator: str, layout: Layout, above: int) -> bool:
    """Return whether each line has the expected number of separators and no quotation mark, so none is short.

    ``above`` is the number of lines above the data. If runs of blanks separate fields, counting proves nothing, and the
    result is False.
    """
    if separator == BLANKS:
        return False
    lines = pl.scan_csv(
        source,
        has_header=False,
        skip_lines=above,
        schema={"line": pl.String},
        separator="\0",
        quote_char=None,
        glob=False,
    )
    line = pl.col("line")
    even = line.str.count_matches(separator, literal=True) == len(layout.names) - 1
    if layout.quotes:
        even &= ~line.str.contains('"', literal=True)
    try:
        return bool(lines.select(even.fill_null(False).all()).collect().item())
    except DAMAGE:
        return False


def _without_blank_lines(frame: pl.DataFrame, blank: int) -> pl.DataFrame:
    kept = frame.filter(~pl.all_horizontal(pl.all().is_null()))
    return kept if frame.height - kept.height == blank else frame


def _select(frame: pl.DataFrame, wanted: Wanted, role: Role) -> pl.DataFrame:
    frame = frame.select(list(wanted.values()))
    if not role.describes:
        return frame
    features = [name for meaning, name in wanted.items() if meaning not in role.required]
    return frame.with_columns([infer_type(frame[name]) for name in features])


AT_ONCE = 1 << 22  # bytes scanned at a time, most of them still in the processor's cache


def may_have_padded(source: Path | bytes, separator: str) -> bool:
    """Return whether some field of any column begins with a zero and another digit, with ``+``, or with a blank.

    >>> may_have_padded(b"user,item\\n1,7\\n1,10\\n", ","), may_have_padded(b"user,item\\n1,7\\n1,007\\n", ",")
    (False, True)
    """
    from recassay.columnar._kernels import has_padded  # numba is slow to import, and Parquet files do not need it

    def has_match(data: NDArray[np.uint8]) -> bool:
        return bool(has_padded(data, ord(separator)))

    if isinstance(source, Path) and is_archive(source):
        return any(has_match(data) for data in _unpacked(source))
    size = len(source) if isinstance(source, bytes) else source.stat().st_size

    def scan(begin: int, end: int) -> bool:
        """Scan a block with the byte before it and the byte behind it."""
        begin, end = max(begin - 1, 0), min(end + 1, size)
        if isinstance(source, bytes):
            return has_match(np.frombuffer(source, np.uint8, end - begin, begin))
        data = np.fromfile(source, np.uint8, end - begin, offset=begin)
        data.flags.writeable = False  # as of the other arrays, so that only one kernel is compiled
        return has_match(data)

    return any(each_block(scan, size, size=AT_ONCE))


def _unpacked(path: Path) -> Iterator[NDArray[np.uint8]]:
    """Yield the bytes in an archive in chunks, each of which begins with the last two bytes of the chunk before."""
    before = b""
    with open_unpacked(path) as unpacked:
        while chunk := unpacked.read(AT_ONCE):
            yield np.frombuffer(before + chunk, np.uint8)
            before = (before + chunk)[-2:]
