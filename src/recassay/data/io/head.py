"""The first bytes of a file, and what they tell of its layout: the separator of its fields and its header line."""

from __future__ import annotations

import contextlib
import csv
import gzip
import re
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import IO

from recassay.data.io.columns import known_meanings
from recassay.data.io.table import column_names
from recassay.errors import InputError

SAMPLE_BYTES = 1 << 16
LONGEST_LINE = 1 << 24  # bytes: a file with longer lines is not a text table
GZIP_MAGIC = b"\x1f\x8b"
BOM = b"\xef\xbb\xbf"
NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")
# The separator that means any run of blanks and tabs.
BLANKS = " "
# Earlier separators win a draw: a time of day contains colons, a title contains blanks.
SEPARATORS = [",", "\t", ";", "|", "::", "\x01", "^", "~", ":", BLANKS]
SAMPLE_LINES = 200


@dataclass(frozen=True)
class Head:
    """The path and the first bytes of a file; ``whole`` says that these are the complete file."""

    path: Path
    data: bytes
    whole: bool

    @property
    def suffixes(self) -> list[str]:
        """Return the file's suffixes in lower case, without ``.gz``."""
        return [suffix for suffix in map(str.lower, self.path.suffixes) if suffix != ".gz"]

    def lines(self, most: int = 1000) -> list[str]:
        """Return up to ``most`` complete lines that are not blank; bytes that are not UTF-8 are replaced by U+FFFD."""
        data = self.data.removeprefix(BOM)
        if not self.whole and b"\n" in data:
            data = data[: data.rindex(b"\n")]
        lines = data.decode("utf-8", errors="replace").split("\n")
        return [line.removesuffix("\r") for line in lines if line.strip()][:most]

    @cached_property
    def words(self) -> list[list[str]]:
        """Return the words, separated by blanks and tabs, of the first 50 lines that are not blank."""
        return [line.split() for line in self.lines(50)]

    def lines_above_data(self, header_lines: int) -> int:
        """Return the number of lines above the first data line: the header, and blank lines before and after it.

        >>> Head(Path("x"), b"\\nuser,item\\n\\n1,2\\n", True).lines_above_data(1)
        3
        """
        lines = self.data.removeprefix(BOM).removesuffix(b"\n").split(b"\n")
        filled = (number for number, line in enumerate(lines) if line.strip())
        return next(islice(filled, header_lines, None), len(lines))


def read_head(path: Path) -> Head:
    """Return the head of a file; for text it contains the first two lines completely, whatever their length.

    Raise I102 for an empty file, I104 for a damaged archive, and I110 for a file that cannot be opened.
    """
    with open_unpacked(path) as file:
        data = file.read(SAMPLE_BYTES)
        is_text = b"\0" not in data and data.lstrip(BOM + b" \t\r\n")[:1] not in (b"{", b"[")  # not Parquet, not JSON
        while is_text and data.count(b"\n") < 2 and len(data) < LONGEST_LINE and (more := file.read(len(data))):
            data += more
        head = Head(path, data, whole=not file.read(1))
    if not data:
        raise InputError("I102", f"{path.name} is empty (0 bytes)", where=str(path), hint="write the file again")
    return head


def is_archive(path: Path) -> bool:
    """Return whether a file begins as a gzip archive does."""
    with path.open("rb") as file:
        return file.read(len(GZIP_MAGIC)) == GZIP_MAGIC


@contextmanager
def open_unpacked(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for reading bytes, decompressed if it is a gzip archive; raise I104 or I110 on failure."""
    try:
        with gzip.open(path) if is_archive(path) else path.open("rb") as file:
            yield file  # type: ignore[misc]
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(
            "I104",
            f"the gzip archive {path.name} is damaged or cut off ({error})",
            where=f"{path}, {path.stat().st_size:,} bytes",
            hint=f"copy or download the file again, and check it with: gzip -t '{path}'",
        ) from None
    except OSError as error:
        raise InputError("I110", f"cannot open {path.name}: {error.strerror or error}", where=str(path)) from None


def read_unpacked(path: Path) -> bytes:
    """Return all bytes of a file, decompressed if it is a gzip archive; raise I104 or I110 on failure."""
    with open_unpacked(path) as file:
        return file.read()


@dataclass(frozen=True)
class Layout:
    """The rules by which the lines of a text file are split into fields.

    ``names`` are the columns in order. ``header_lines`` are skipped, ``quotes`` says whether fields may be in quotation
    marks, and ``by_position`` whether the names are made up because there is no header.
    """

    names: list[str]
    separator: str
    header_lines: int = 0
    quotes: bool = False
    by_position: bool = False


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


def sniff(head: Head, *, separator: str | None = None, header: bool | None = None) -> Layout:
    r"""Return the layout of delimited text; ``separator`` and ``header`` are detected unless they are given.

    The separator is the one that splits most of the first lines into the same number (two or more) of fields. The first
    line is a header if it names a known column, or if none of its fields is a number. Raise I102 if all lines are
    blank, I106 if they end in carriage returns alone, and I117 if the first one is too long for a table.

    >>> from pathlib import Path
    >>> sniff(Head(Path("x.txt"), b"u1;i1;0.5\nu1;i2;0.4\n", True))
    Layout(names=['column_1', 'column_2', 'column_3'], separator=';', header_lines=0, quotes=True, by_position=True)
    """
    if b"\n" not in head.data.rstrip() and b"\r" in head.data.rstrip():
        raise InputError(
            "I106",
            f"the lines of {head.path.name} end in carriage returns alone, as on old Macs",
            where=str(head.path),
            hint=f"convert it: tr '\\r' '\\n' < '{head.path}' > '{head.path.stem}.lf{head.path.suffix}'",
        )
    if b"\n" not in head.data.rstrip() and not head.whole:
        raise InputError(
            "I117",
            f"the first line of {head.path.name} is longer than {len(head.data) >> 20:,} MB: it is not a text table",
            where=str(head.path),
            hint="write one line per row, or Parquet",
        )
    lines = head.lines(SAMPLE_LINES)
    if not lines:
        raise InputError("I102", f"{head.path.name} has only blank lines", where=str(head.path))
    separators = [separator] if separator else ["\t"] * (".tsv" in head.suffixes) + SEPARATORS
    _, layout, rows = max((_cut(lines, mark) for mark in separators), key=itemgetter(0))
    if header is None:
        header = any(map(known_meanings, rows[0])) or not any(map(is_number, rows[0]))
    if header:
        seen = Counter(name.strip() for name in rows[0])
        names = [
            name if name and seen[name] == 1 else f"{name or 'column'}_{position}"
            for position, name in enumerate(map(str.strip, rows[0]), start=1)
        ]
    else:
        names = column_names(Counter(map(len, rows)).most_common(1)[0][0])
    return replace(layout, names=names, header_lines=int(header), by_position=not header)


def _cut(lines: list[str], separator: str) -> tuple[int, Layout, list[list[str]]]:
    """Cut lines at a separator; return how many have the same number of fields, the layout, and the fields.

    Lines of a single field do not count. Quotation marks enclose fields if a field begins with one, or if the separator
    is a comma or a semicolon.
    """
    begins = any(line.startswith('"') or f'{separator}"' in line for line in lines)
    quotes = separator not in (BLANKS, "::") and (begins or separator in ",;")
    layout = Layout([], separator, quotes=quotes)
    rows = sample_rows(lines, layout)
    width, count = Counter(map(len, rows)).most_common(1)[0]
    return count if width > 1 else 0, layout, rows
