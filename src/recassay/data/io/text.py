"""Reading of delimited text with Polars; if Polars fails, the faulty line is found and shown."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.data.io.clean import PLAIN_WHOLE, as_number, exceeds_exact, infer_type
from recassay.data.io.columns import GAIN, ITEM, POOL, RANK, RATING, SCORE, TIMESTAMP, USER, Role
from recassay.data.io.head import BLANKS, BOM, Head, Layout, is_archive, open_unpacked, sample_rows
from recassay.data.io.lines import blank_lines, broken_file, check_encoding, remark_on_cut_file, walk
from recassay.data.io.parquet import DAMAGE, scan_parquet
from recassay.data.io.table import Table, Wanted
from recassay.errors import InputError, UsageError
from recassay.threads import each_block

# Replaces a separator of several characters, since Polars accepts single bytes only.
UNIT_SEPARATOR = "\x1f"
ROWS_PER_GROUP = 1 << 18  # of a Parquet file converted from text

INTEGER = re.compile(PLAIN_WHOLE)
INTEGERS = (pl.Int64, pl.UInt64)  # the types of ids that are whole numbers; if neither holds all ids, they are text
WHOLE_FLOAT = re.compile(r"-?(0|[1-9][0-9]*)\.0*")
Made = TypeVar("Made")


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
    try:
        frame, _, text = _first_reading(_texts(head, layout), role, wanted, pl.LazyFrame.collect)
    except InputError:
        if any(line.fields for line in walk(head, layout)):
            raise
        return pl.DataFrame(schema=dict.fromkeys(wanted.values(), pl.String))
    if any(frame[name].null_count() for name in text.last_columns) and not text.has_even_lines():
        kept, blank = frame.filter(FILLED), blank_lines(head, layout)
        frame = kept if frame.height - kept.height == blank else frame
    _refuse_rounded(frame, wanted, text)
    return _select(frame, wanted, role)


def pack_text(head: Head, layout: Layout, role: Role, wanted: Wanted, path: Path) -> None:
    """Write a text file to the Parquet file ``path`` in bounded memory; raise the errors that :func:`read_text` raises.

    Raise U223 for a file that Polars cannot read as it is.
    """
    given = next(_texts(head, layout))
    packed = is_archive(head.path)
    if packed or isinstance(given.source, bytes):
        raise UsageError(
            "U223",
            f"{head.path.name} cannot be read in chunks: "
            + ("it is a gzip archive" if packed else f"its fields are separated by {layout.separator!r}"),
            where=str(head.path),
            hint="write it as Parquet, or uncompressed with a single character between the fields",
        )

    def write(rows: pl.LazyFrame) -> None:
        rows.sink_parquet(path, compression="lz4", row_group_size=ROWS_PER_GROUP)

    _, rows, text = _first_reading([given], role, wanted, write)
    _refuse_rounded(scan_parquet(path).select(_values(wanted)).collect(), wanted, text)
    nulls = scan_parquet(path).select(pl.col(text.last_columns).null_count().sum()).collect()
    if sum(nulls.row(0)) and not text.has_even_lines():
        blank_lines(head, layout)  # raises if a line is too short
        write(rows.filter(FILLED))


FILLED = ~pl.all_horizontal(pl.all().is_null())  # rows that are no blank lines
Types = dict[str, type[pl.DataType]]


@dataclass(frozen=True)
class _Text:
    """A text file as Polars reads it: the file itself or its bytes, and the separator of its fields there."""

    head: Head
    layout: Layout
    source: Path | bytes
    separator: str

    def scan(self, types: Types | None = None, **options: Any) -> pl.LazyFrame:
        """Return the rows below the header; a column has its type of ``types``, or is text."""
        known, names = types or {}, self.layout.names
        given: dict[str, Any] = {
            "schema": {name: known.get(name, pl.String) for name in names},
            "separator": self.separator,
            "quote_char": '"' if self.layout.quotes else None,
            "raise_if_empty": False,
        }
        above = self.head.lines_above_data(self.layout.header_lines)
        return pl.scan_csv(self.source, has_header=False, skip_lines=above, glob=False, **given | options)

    def has(self, *conditions: pl.Expr, **options: Any) -> tuple[bool, ...]:
        """Return whether each condition holds for the file, whose columns are text; nothing if it cannot be read."""
        try:
            return self.scan(**options).select(*conditions).collect().row(0)
        except DAMAGE:  # reading all columns will report what is wrong
            return ()

    @property
    def last_columns(self) -> list[str]:
        """Return the columns where a line with too few fields would leave nulls: the last; with blanks, any."""
        return self.layout.names if self.separator == BLANKS else self.layout.names[-1:]

    def has_even_lines(self) -> bool:
        """Return whether each line has the expected number of separators and no quotation mark, so none is short.

        If runs of blanks separate fields, counting proves nothing, and the result is False.
        """
        line = pl.col("line")
        even = line.str.count_matches(self.separator, literal=True) == len(self.layout.names) - 1
        if self.layout.quotes:
            even &= ~line.str.contains('"', literal=True)
        options = {"schema": {"line": pl.String}, "separator": "\0", "quote_char": None}
        return self.separator != BLANKS and self.has(even.fill_null(False).all(), **options) == (True,)


def _texts(head: Head, layout: Layout) -> Iterator[_Text]:
    """Yield what Polars can read in place of a file; the next one is used if one fails.

    The file itself comes first if its separator allows. Then come its bytes, converted to have a separator of one byte.
    """
    if layout.separator == BLANKS:
        first = head.lines(1)[0] if head.lines(1) else ""
        yield _Text(head, layout, head.path, "\t" if "\t" in first and " " not in first else " ")
    elif len(layout.separator) == 1:
        yield _Text(head, layout, head.path, layout.separator)
        return
    with open_unpacked(head.path) as file:
        data = file.read().removeprefix(BOM)
    if layout.separator == BLANKS:
        data = _with_single_blanks(data)
    yield _Text(head, layout, data.replace(layout.separator.encode(), UNIT_SEPARATOR.encode()), UNIT_SEPARATOR)


def _with_single_blanks(data: bytes) -> bytes:
    """Return the text with one blank in place of every run of blanks and tabs, and none at line ends."""
    data = data.replace(b"\r\n", b"\n").replace(b"\t", b" ")
    while b"  " in data:
        data = data.replace(b"  ", b" ")
    return data.replace(b"\n ", b"\n").replace(b" \n", b"\n").strip(b" ")


def _first_reading(
    texts: Iterable[_Text], role: Role, wanted: Wanted, read: Callable[[pl.LazyFrame], Made]
) -> tuple[Made, pl.LazyFrame, _Text]:
    """Return what ``read`` makes of the rows, with the first types that fit, of the first text that can be read.

    Also return these rows and this text. Raise I105 if there is none.
    """
    failure = ""
    for text in texts:
        for types in _attempts(text, role, wanted):
            rows = text.scan(types)
            try:
                return read(rows), rows, text
            except DAMAGE as error:
                failure = str(error)
    raise broken_file(
        text.head, text.layout, [name for name, dtype in _safe(role, wanted).items() if dtype == pl.Float64], failure
    )


def _safe(role: Role, wanted: Wanted) -> Types:
    """Return the types of columns by name with all ids as text."""
    return {name: _guess(meaning, ["any text"], role) for meaning, name in wanted.items()}


def _attempts(text: _Text, role: Role, wanted: Wanted) -> Iterator[Types]:
    """Yield the column types to try one after another: as guessed from the first lines, then as all lines have them.

    Columns of ids that were guessed to be integers are checked one by one, so that text in one of them does not make
    the other one text.
    """
    samples, safe = _samples(text.head, text.layout), _safe(role, wanted)
    guesses = {name: _guess(meaning, samples[name], role) for meaning, name in wanted.items()}
    ids = [name for meaning, name in wanted.items() if meaning in (USER, ITEM) and guesses[name] in INTEGERS]
    # An id such as ``007`` is no integer, and the sample may not show it.
    yield _measured(guesses, text, ids) if ids and may_have_padded(text.source, text.separator) else guesses
    if guesses != safe:
        yield _measured(safe, text, [name for name in guesses if guesses[name] in INTEGERS and safe[name] == pl.String])


def _measured(types: Types, text: _Text, names: list[str]) -> Types:
    """Return the types with those of the columns ``names`` as all lines have them: integers, or else text."""
    measured = dict(types)
    for name in names:
        column = pl.col(name)
        filled, plain = column.str.contains(r"\S"), column.str.contains(f"^{PLAIN_WHOLE}$")  # a blank line is no id
        fits = [
            (~filled | (plain & column.cast(dtype, strict=False).is_not_null())).all().alias(str(dtype))
            for dtype in INTEGERS
        ]
        measured[name] = next((dtype for dtype, fit in zip(INTEGERS, text.has(*fits), strict=False) if fit), pl.String)
    return measured


def _values(wanted: Wanted) -> list[str]:
    return [name for meaning, name in wanted.items() if meaning in (SCORE, RATING, GAIN)]


def _refuse_rounded(frame: pl.DataFrame, wanted: Wanted, text: _Text) -> None:
    """Raise I202 if a column of values, read as floats, has whole numbers that floats do not hold.

    The columns are read again as text, if a value is that large.
    """
    for name in _values(wanted):
        if frame[name].dtype == pl.Float64 and exceeds_exact(frame[name]):
            as_number(text.scan().select(name).collect().to_series(), str(text.head.path))


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
