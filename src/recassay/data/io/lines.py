"""The lines of a file one by one, which find the line that a fast reader could not parse."""

from __future__ import annotations

import csv
import os
import re
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from recassay.data.io.clean import DECIMAL_COMMA
from recassay.data.io.head import BLANKS, BOM, SAMPLE_BYTES, Head, Layout, is_archive, open_unpacked
from recassay.errors import InputError

FLOAT = re.compile(r" *[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)? *|[-+]?(inf|infinity|nan)", re.IGNORECASE)


SHOWN_CHARACTERS = 80
MOST_EVEN = 0.9  # share of lines; where fewer have the same number of fields, a line may be a list
ENOUGH_LINES = 50  # among fewer, the last field may well be the shortest by chance
UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True)
class TextLine:
    """One record of a file: the number of its first line, its text and its fields (none for a blank line).

    ``ended`` says whether a line end follows; only the last line of a file may lack it.
    """

    number: int
    text: str
    fields: list[str]
    ended: bool = True


def check_encoding(head: Head) -> None:
    """Raise I106 if the head of the file is not UTF-8; the rest is checked only if reading it fails."""
    if head.data[:2] in UTF16_MARKS:
        raise _wrong_encoding(head, "UTF-16", "byte 0 starts a UTF-16 byte order mark")
    try:
        head.data.decode()
    except UnicodeDecodeError as error:
        # A character cut in half by the end of the sample is not an error.
        if head.whole or error.start < len(head.data) - 4:
            for _ in walk(head, Layout([], "\n")):
                pass


def walk(head: Head, layout: Layout) -> Iterator[TextLine]:
    """Yield every record below the header.

    Raise I106 for a byte that is not UTF-8, and I105 for a quotation mark that is never closed.
    """
    above = head.lines_above_data(layout.header_lines)
    if not layout.quotes:
        for number, text in enumerate(_decoded(head), start=1):
            line = text.rstrip("\r\n")
            if number > above:
                fields = line.split() if layout.separator == BLANKS else line.split(layout.separator)
                yield TextLine(number, line, fields if line.strip() else [], line != text)
        return
    pending: list[str] = []  # the lines of a record, whose fields in quotation marks may have line ends

    def remembered() -> Iterator[str]:
        for text in _decoded(head):
            pending.append(text)
            yield text

    reader = csv.reader(remembered(), delimiter=layout.separator, strict=True)
    while True:
        pending.clear()
        start = reader.line_num + 1
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise broken_line(head, start, pending[0].rstrip("\r\n"), f"cannot be parsed ({error})") from None
        if start > above:
            text = "".join(pending).rstrip("\r\n")
            yield TextLine(start, text, fields if text.strip() else [], pending[-1].endswith(("\r", "\n")))


def remark_on_cut_file(head: Head, layout: Layout) -> dict[str, str]:
    """Return the remark R012 if the last line of a file has no end, and its last field is the shortest by far.

    "By far" means: shorter than the last field of each of at least 50 lines above it. A line that is cut earlier has
    too few fields, and is an error.
    """
    if is_archive(head.path):  # an archive that is cut short cannot be unpacked
        return {}
    with head.path.open("rb") as file:
        begin = max(file.seek(0, os.SEEK_END) - SAMPLE_BYTES, 0)
        file.seek(begin)
        data = file.read()
    if data.endswith(b"\n"):
        return {}
    lines = data.decode("utf-8", errors="replace").split("\n")[layout.header_lines if begin == 0 else 1 :]
    separator = None if layout.separator == BLANKS else layout.separator
    lengths = [len(line.rstrip("\r").rsplit(separator, 1)[-1]) for line in lines if line.strip()]
    if len(lengths) <= ENOUGH_LINES or lengths[-1] >= min(lengths[:-1]):
        return {}
    return {
        "R012": f"the last line of {head.path.name}, {lines[-1][-SHOWN_CHARACTERS:]!r}, has no end, and its last field "
        f"is shorter than those of the {len(lengths) - 1:,} lines above it: the file may be cut short"
    }


def blank_lines(head: Head, layout: Layout) -> int:
    """Return the number of blank lines of a file; raise I105 for a line with another number of fields."""
    blank = 0
    for line in walk(head, layout):
        if not line.fields:
            blank += 1
        elif len(line.fields) != len(layout.names):
            raise _uneven(head, line, layout)
    return blank


def broken_file(head: Head, layout: Layout, numeric: Collection[str], reason: str) -> InputError:
    """Return the error I105 for the first line with another number of fields, or with text in a ``numeric`` column.

    ``reason`` is the message of the fast reader, used if no such line is found.
    """
    positions = [(layout.names.index(name), name) for name in numeric]
    for line in walk(head, layout):
        if not line.fields:
            continue
        if len(line.fields) != len(layout.names):
            return _uneven(head, line, layout)
        for position, name in positions:
            if line.fields[position] and not FLOAT.fullmatch(line.fields[position]):
                again = ""
                if DECIMAL_COMMA.fullmatch(line.fields[position]):
                    again = " (a decimal comma: write a point)"
                elif 0 < layout.header_lines == line.number - 1:
                    again = " (a second line of headers? then remove it)"
                return _broken(head, line, f"has {line.fields[position]!r} where {name} needs a number{again}")
        if layout.quotes and any('"' in field for field in line.fields) and line.text.count('"') % 2:
            return _broken(head, line, "has an unpaired quotation mark")
    return InputError(
        "I105",
        f"{head.path.name} cannot be parsed: {' '.join(reason.split())[: 2 * SHOWN_CHARACTERS]}",
        where=str(head.path),
        hint="write it again with the CSV writer of a library, or as Parquet",
    )


def broken_line(head: Head, number: int, text: str, problem: str) -> InputError:
    """Return the I105 error that shows one line of a file, cut to 80 characters.

    >>> from pathlib import Path
    >>> print(broken_line(Head(Path("a.csv"), b"", True), 3, "1", "has 1 field, but 2 are expected"))
    [I105] line 3 of a.csv has 1 field, but 2 are expected: '1'.
      Where: a.csv, line 3
      Try:   look at it with: sed -n 3p 'a.csv'
    """
    shown = text if len(text) <= SHOWN_CHARACTERS else text[: SHOWN_CHARACTERS - 3] + "..."
    reader = f"zcat '{head.path}' |" if head.path.suffix == ".gz" else ""
    target = "" if reader else f" '{head.path}'"
    return InputError(
        "I105",
        f"line {number} of {head.path.name} {problem}: {shown!r}",
        where=f"{head.path}, line {number}",
        hint=f"look at it with: {reader}{' ' if reader else ''}sed -n {number}p{target}",
    )


def _uneven(head: Head, line: TextLine, layout: Layout) -> InputError:
    """Return the error I105 for a line with another number of fields than the layout has."""
    error = _broken(
        head, line, f"has {len(line.fields)} field{'s' * (len(line.fields) != 1)}, but {len(layout.names)} are expected"
    )
    separator = None if layout.separator == BLANKS else layout.separator
    widths = Counter(len(row.split(separator)) for row in head.lines())
    if not layout.by_position or widths.most_common(1)[0][1] > MOST_EVEN * widths.total():
        return error
    hint = f"if a line is a user and then the user's items: --format user_lines; otherwise {error.hint}"
    return InputError(error.code, error.what, where=error.where, hint=hint)


def _broken(head: Head, line: TextLine, problem: str) -> InputError:
    cut = "" if line.ended else " (the last line, which has no end: the file may be cut short)"
    return broken_line(head, line.number, line.text, problem + cut)


def _decoded(head: Head) -> Iterator[str]:
    offset = 0
    with open_unpacked(head.path) as file:
        for number, raw in enumerate(file, start=1):
            try:
                text = raw.decode()
            except UnicodeDecodeError as error:
                raise _wrong_encoding(
                    head,
                    "WINDOWS-1252",
                    f"byte {offset + error.start:,}, in line {number:,}, is 0x{raw[error.start]:02x}",
                ) from None
            offset += len(raw)
            yield text.removeprefix(BOM.decode()) if number == 1 else text


def _wrong_encoding(head: Head, likely: str, place: str) -> InputError:
    name = head.path.name
    return InputError(
        "I106",
        f"{name} is not UTF-8 text: {place}",
        where=str(head.path),
        hint=f"convert it, for example: iconv -f {likely} -t UTF-8 '{name}' > 'utf8-{name}'",
    )
