"""Reading of delimited text with Polars; if Polars fails, the faulty line is found and shown."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import compress
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import polars as pl

from recassay.columnar.layout import readonly
from recassay.data.io.clean import PLAIN_WHOLE, as_number, exceeds_exact, infer_type
from recassay.data.io.columns import GAIN, ITEM, POOL, RANK, RATING, SCORE, TIMESTAMP, USER, Role
from recassay.data.io.head import BLANKS, BOM, Head, Layout, is_archive, read_unpacked, sample_rows
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
VALUES = (SCORE, RATING, GAIN)
FILLED = ~pl.all_horizontal(pl.all().is_null())  # rows that are no blank lines
Types = dict[str, type[pl.DataType]]
Result = TypeVar("Result")


def text_table(head: Head, layout: Layout, role: Role) -> Table:
    """Return the table in a text file of the given layout; raise I106 if the text is not UTF-8."""
    check_encoding(head)
    rows = [row for row in sample_rows(head.lines(), layout)[layout.header_lines :] if len(row) == len(layout.names)]
    samples = {name: [row[place] for row in rows] for place, name in enumerate(layout.names)}
    text = _Text(head, layout, role, samples, head.path, layout.separator)
    return Table(
        layout.names,
        partial(_read_text, text),
        str(head.path),
        layout.by_position,
        pack=partial(_pack_text, text),
        sample=lambda names: pl.DataFrame({name: pl.Series(samples[name], dtype=pl.String) for name in names}),
        remarks=remark_on_cut_file(head, layout),
    )


@dataclass(frozen=True)
class _Text:
    """A text file as Polars reads it: the file itself or its bytes, and the separator of its fields there.

    ``samples`` has the fields of the first lines by column.
    """

    head: Head
    layout: Layout
    role: Role
    samples: Mapping[str, list[str]]
    source: Path | bytes
    separator: str

    def readable(self) -> Iterator[_Text]:
        """Yield the file, then its converted bytes: forms to try one after another until Polars can read one.

        The file itself comes first if its separator allows. Then come its bytes, converted to have a separator of one
        byte: with blanks, one in place of every run of blanks and tabs, and none at line ends.
        """
        if self.separator == BLANKS:
            first = self.head.lines(1)[0] if self.head.lines(1) else ""
            yield replace(self, separator="\t" if "\t" in first and " " not in first else " ")
        elif len(self.separator) == 1:
            yield self
            return
        data = read_unpacked(self.head.path).removeprefix(BOM)
        if self.separator == BLANKS:
            data = data.replace(b"\r\n", b"\n").replace(b"\t", b" ")
            while b"  " in data:
                data = data.replace(b"  ", b" ")
            data = data.replace(b"\n ", b"\n").replace(b" \n", b"\n").strip(b" ")
        data = data.replace(self.separator.encode(), UNIT_SEPARATOR.encode())
        yield replace(self, source=data, separator=UNIT_SEPARATOR)

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
        """Return, for each condition, whether it holds for the file read as text; () if the file cannot be read."""
        try:
            return self.scan(**options).select(*conditions).collect().row(0)
        except DAMAGE:  # reading all columns will report what is wrong
            return ()

    @property
    def last_columns(self) -> list[str]:
        """Return the columns where too short a line may leave nulls: the last; if blanks separate fields, all."""
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

    def refuse_rounded(self, rows: pl.LazyFrame, wanted: Wanted) -> None:
        """Raise I202 if a column of values, read as floats, has whole numbers that floats do not hold.

        The columns are read again as text, if a value is that large.
        """
        for column in rows.select(name for meaning, name in wanted.items() if meaning in VALUES).collect():
            if column.dtype == pl.Float64 and exceeds_exact(column):
                as_number(self.scan().select(column.name).collect().to_series(), str(self.head.path))


def _read_text(text: _Text, wanted: Wanted) -> pl.DataFrame:
    """Return the wanted columns; raise I105 for a line with another number of fields, or text in place of a number.

    Every column is scanned, because only then does Polars check the width of every line. Otherwise a stray separator in
    a title would silently shift the columns after it. Ids become integers if all of them are, else strings.
    """
    try:
        frame, _, text = _first_reading(text.readable(), wanted, pl.LazyFrame.collect)
    except InputError:
        if any(line.fields for line in walk(text.head, text.layout)):
            raise
        return pl.DataFrame(schema=dict.fromkeys(wanted.values(), pl.String))
    if any(frame[name].null_count() for name in text.last_columns) and not text.has_even_lines():
        kept, blank = frame.filter(FILLED), blank_lines(text.head, text.layout)
        frame = kept if frame.height - kept.height == blank else frame
    text.refuse_rounded(frame.lazy(), wanted)
    frame, role = frame.select(list(wanted.values())), text.role
    features = [name for meaning, name in wanted.items() if role.describes and meaning not in role.required]
    return frame.with_columns([infer_type(frame[name]) for name in features])


def _pack_text(text: _Text, wanted: Wanted, path: Path) -> None:
    """Write a text file to the Parquet file ``path`` in bounded memory; raise the same errors as :func:`_read_text`.

    Raise U223 for a file that Polars cannot read as it is.
    """
    given, file = next(text.readable()), text.head.path
    packed = is_archive(file)
    if packed or isinstance(given.source, bytes):
        raise UsageError(
            "U223",
            f"{file.name} cannot be read in chunks: "
            + ("it is a gzip archive" if packed else f"its fields are separated by {text.separator!r}"),
            where=str(file),
            hint="write it as Parquet, or uncompressed with a single character between the fields",
        )
    write = partial(pl.LazyFrame.sink_parquet, path=path, compression="lz4", row_group_size=ROWS_PER_GROUP)
    _, rows, text = _first_reading([given], wanted, write)
    text.refuse_rounded(scan_parquet(path), wanted)
    nulls = scan_parquet(path).select(pl.col(text.last_columns).null_count().sum()).collect()
    if sum(nulls.row(0)) and not text.has_even_lines():
        blank_lines(text.head, text.layout)  # raises if a line is too short
        write(rows.filter(FILLED))


def _first_reading(
    texts: Iterable[_Text], wanted: Wanted, read: Callable[[pl.LazyFrame], Result]
) -> tuple[Result, pl.LazyFrame, _Text]:
    """Return (result, rows, text): the first of ``texts`` that can be read, its rows, and ``read(rows)``.

    Several column types are tried for each text; the first that fit are used. Raise I105 if no text can be read.
    """
    failure = ""
    for text in texts:
        for types in _attempts(text, wanted):
            rows = text.scan(types)
            try:
                return read(rows), rows, text
            except DAMAGE as error:
                failure = str(error)
    numeric = [name for meaning, name in wanted.items() if _guess(meaning, ["text"], text.role) == pl.Float64]
    raise broken_file(text.head, text.layout, numeric, failure)


def _attempts(text: _Text, wanted: Wanted) -> Iterator[Types]:
    """Yield the column types to try one after another: as guessed from the first lines, then as all lines have them."""
    guesses = {name: _guess(meaning, text.samples[name], text.role) for meaning, name in wanted.items()}
    safe = {name: _guess(meaning, ["text"], text.role) for meaning, name in wanted.items()}
    whole = [name for name, dtype in guesses.items() if dtype in INTEGERS and safe[name] == pl.String]
    # An id such as ``007`` is no integer, and the sample may not show it.
    padded = any(meaning in (USER, ITEM) and name in whole for meaning, name in wanted.items()) and may_have_padded(
        text.source, text.separator
    )
    yield _measured(guesses, text, whole) if padded else guesses
    if guesses != safe:
        yield _measured(safe, text, whole)


def _measured(types: Types, text: _Text, names: Sequence[str]) -> Types:
    """Return ``types`` with each column in ``names`` as integers if all fields of all lines are, else as text."""
    fits: list[pl.Expr] = []
    for column in map(pl.col, names):
        filled, plain = column.str.contains(r"\S"), column.str.contains(f"^{PLAIN_WHOLE}$")  # a blank line is no id
        for dtype in INTEGERS:
            fit = ~filled | (plain & column.cast(dtype, strict=False).is_not_null())
            fits.append(fit.all().alias(f"{len(fits)}"))
    found, each = text.has(*fits), len(INTEGERS)
    chosen = {
        name: next(compress(INTEGERS, found[place * each : (place + 1) * each]), pl.String)
        for place, name in enumerate(names)
    }
    return {**types, **chosen}


def _guess(meaning: str, sample: list[str], role: Role) -> type[pl.DataType]:
    """Return the type to read a column as, from its meaning and a sample of its fields.

    Ids are integers or text, and values are numbers.
    """
    if meaning in VALUES and meaning in role.optional:
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


AT_ONCE = 1 << 22  # bytes scanned at a time, most of them still in the processor's cache


def may_have_padded(source: Path | bytes, separator: str) -> bool:
    """Return whether some field of any column begins with a zero and another digit, with ``+``, or with a blank.

    >>> may_have_padded(b"user,item\\n1,7\\n1,10\\n", ","), may_have_padded(b"user,item\\n1,7\\n1,007\\n", ",")
    (False, True)
    """
    from recassay.columnar._kernels import has_padded  # numba is slow to import, and Parquet files do not need it

    if isinstance(source, Path) and is_archive(source):
        source = read_unpacked(source)
    size = len(source) if isinstance(source, bytes) else source.stat().st_size

    def scan(begin: int, end: int) -> bool:
        """Scan a block with the byte before it and the byte behind it."""
        first, count = max(begin - 1, 0), min(end + 1, size) - max(begin - 1, 0)
        if isinstance(source, bytes):
            return bool(has_padded(np.frombuffer(source, np.uint8, count, first), ord(separator)))
        data = readonly(np.fromfile(source, np.uint8, count, offset=first))  # to compile one kernel only
        return bool(has_padded(data, ord(separator)))

    return any(each_block(scan, size, size=AT_ONCE))
