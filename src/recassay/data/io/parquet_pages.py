"""A look at the footer and the page headers of a Parquet file before Polars reads it.

Polars reserves as much memory as a page header asks for. Where a damaged header says -5 values, that is 2^61 bytes, and
the process is aborted instead of raising an error. Where a footer says different numbers of rows in two places, rows
can be lost without a word. So such numbers are found first. All else that may be wrong with a file is left to Polars,
which says it better.
"""

from __future__ import annotations

import mmap
import struct
from pathlib import Path
from typing import Any

from recassay.errors import InputError

MOST_PAGES = 5_000  # the pages looked at: a page takes 20 microseconds here, which small pages do not repay
DEEPEST = 12  # of structs in structs; Parquet needs 7
END = struct.Struct("<I4s")  # the length of the footer, and the magic bytes behind it

# What reading damaged headers raises: they end early, hold other types, or lack a field.
UNREADABLE = (ValueError, IndexError, KeyError, TypeError, AttributeError, RecursionError, OSError, struct.error)
WHOLE = (4, 5, 6)  # the types of whole numbers of 16, 32 and 64 bits
TEXT = 8  # the type of texts, which are skipped
SHORT = (*WHOLE, TEXT)

# Fields by number, in the Thrift definition of Parquet.
ROW_GROUPS, ROWS = 4, 3  # of a file; the rows of a file, and of a row group
COLUMNS, META = 1, 3  # of a row group; of a column chunk
VALUES, DATA_AT, DICTIONARY_AT = 5, 9, 11  # of the metadata of a column chunk
SIZES = (5, 6, 7, 9, 11)  # numbers of a column chunk that are never negative
PAGE_SIZES = (2, 3)  # uncompressed and compressed
PAGE_KINDS = (5, 7, 8)  # headers of data pages, dictionaries, and data pages of version 2
COUNTS = {5: (1,), 7: (1,), 8: (1, 2, 3, 5, 6)}  # numbers in them that are never negative


def impossible_page(path: Path) -> str | None:
    """Return a description of what is impossible in the numbers of a Parquet file; None if nothing was found.

    None does not mean that the file is sound.
    """
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return _fault(data)
    except UNREADABLE:  # Polars says why
        return None


def refuse_impossible_pages(path: Path) -> None:
    """Raise I104 for a Parquet file with a number that would abort the process or lose rows."""
    if (fault := impossible_page(path)) is not None:
        hint = "write or copy the file again"
        raise InputError("I104", f"{path.name} is a damaged Parquet file: {fault}", where=str(path), hint=hint)


def _fault(data: mmap.mmap) -> str | None:
    size, magic = END.unpack(data[-END.size :])
    if magic != b"PAR1" or size + END.size > len(data):
        return None
    footer = _Reader(data[-END.size - size : -END.size]).struct()
    pages = MOST_PAGES
    groups = footer.get(ROW_GROUPS, ())
    if ROWS in footer and (rows := sum(group.get(ROWS, 0) for group in groups)) != footer[ROWS]:
        return f"its row groups have {rows:,} rows, and the file says {footer[ROWS]:,}"
    for number, group in enumerate(groups):
        for column, chunk in enumerate(group.get(COLUMNS, ())):
            about = chunk.get(META, {})
            where = f"row group {number + 1}, column {column + 1}"
            if group.get(ROWS, 0) < 0 or any(about.get(field, 0) < 0 for field in SIZES):
                return f"{where} has a negative size"
            if about[VALUES] < group[ROWS]:  # lists in rows can be more values, never fewer
                return f"{where}: {about[VALUES]:,} values for {group[ROWS]:,} rows"
            found, pages = _fault_of_pages(data, about, pages)
            if found is not None:
                return f"{where}: {found}"
    return None


def _fault_of_pages(data: mmap.mmap, about: dict[int, Any], most: int) -> tuple[str | None, int]:
    """Return what is impossible in the pages of a column chunk, as text (None: nothing), and what is left of ``most``.

    ``about`` are the chunk's fields in the file's footer, and ``most`` is the number of pages that may be looked at.
    """
    at = about.get(DICTIONARY_AT) or about[DATA_AT]
    left = about[VALUES]
    while left > 0 and most > 0 and at < len(data):
        most -= 1
        reader = _Reader(data, at)
        try:
            header = reader.struct()
        except UNREADABLE:
            return None, most
        kind = next((field for field in PAGE_KINDS if field in header), None)
        if kind is None:
            return None, most
        counts = header[kind]
        if any(header.get(field, 0) < 0 for field in PAGE_SIZES) or any(counts.get(n, 0) < 0 for n in COUNTS[kind]):
            return f"the page at byte {at:,} has a negative size", most
        if kind != 7 and counts.get(1, 0) > left:
            return f"the page at byte {at:,} has {counts[1]:,} values, and the column {left:,}", most
        left -= counts.get(1, 0) if kind != 7 else 0
        at = reader.at + header.get(PAGE_SIZES[1], 0)
    return None, most


class _Reader:
    """A reader of the compact protocol of Thrift from byte ``at`` on; fields have numbers in place of names."""

    def __init__(self, data: bytes | mmap.mmap, at: int = 0) -> None:
        self.data, self.at, self.depth = data, at, 0

    def struct(self) -> dict[int, Any]:
        """Return the fields of a struct."""
        if self.depth > DEEPEST:
            raise ValueError("nested too deeply")
        self.depth += 1
        fields: dict[int, Any] = {}
        data, at, number = self.data, self.at, 0
        while head := data[at]:
            at += 1
            kind = head & 15
            if head >= 16 and (size := data[at]) < 128 and kind in SHORT:  # most fields: read without a call
                number += head >> 4
                fields[number] = size if kind == TEXT else (size >> 1) ^ -(size & 1)
                at += 1 + size if kind == TEXT else 1
                continue
            self.at = at
            number = number + (head >> 4) if head >> 4 else self._whole()
            fields[number] = self._value(kind, in_struct=True)
            at = self.at
        self.at = at + 1
        self.depth -= 1
        return fields

    def _value(self, kind: int, *, in_struct: bool = False) -> Any:
        if kind in WHOLE:
            return self._whole()
        if kind in (1, 2):  # true and false; the type says it in a struct, a byte in a list
            return kind == 1 if in_struct else self._byte() == 1
        if kind == TEXT:
            length = self._varint()
            self.at += length
            return length
        if kind == 12:
            return self.struct()
        if kind in (9, 10):
            head = self._byte()
            size = head >> 4 if head >> 4 < 15 else self._varint()
            if size > len(self.data) - self.at:
                raise ValueError("a list longer than the file")
            return [self._value(head & 15) for _ in range(size)]
        if kind in (3, 7):
            self.at += 1 if kind == 3 else 8
            return 0
        raise ValueError(f"type {kind} is not used in Parquet")

    def _byte(self) -> int:
        found = self.data[self.at]
        self.at += 1
        return found

    def _varint(self) -> int:
        data, at, found, shift = self.data, self.at, 0, 0
        while (byte := data[at]) > 127:
            found |= (byte & 127) << shift
            at, shift = at + 1, shift + 7
            if shift > 63:
                raise ValueError("a number of more than 64 bits")
        self.at = at + 1
        return found | byte << shift

    def _whole(self) -> int:
        found = self._varint()
        return (found >> 1) ^ -(found & 1)
