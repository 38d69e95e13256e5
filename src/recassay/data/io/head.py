"""The first bytes of a file, decompressed: enough to recognise its format without reading all of it."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from recassay.errors import InputError

SAMPLE_BYTES = 1 << 16
LONGEST_LINE = 1 << 24  # bytes: a file with longer lines is not a text table
GZIP_MAGIC = b"\x1f\x8b"
BOM = b"\xef\xbb\xbf"


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

    def lines_above_data(self, header_lines: int) -> int:
        """Return the number of lines above the first data line: the header, and blank lines before and after it.

        >>> Head(Path("x"), b"\\nuser,item\\n\\n1,2\\n", True).lines_above_data(1)
        3
        """
        above = 0
        for line in self.data.removeprefix(BOM).removesuffix(b"\n").split(b"\n"):
            if line.strip():
                if header_lines == 0:
                    break
                header_lines -= 1
            above += 1
        return above


def read_head(path: Path) -> Head:
    """Return the head of a file; for text it contains the first two lines completely, whatever their length.

    Raise I102 for an empty file, I104 for a damaged archive, and I110 for a file that cannot be opened.
    """
    with open_unpacked(path) as file:
        data = file.read(SAMPLE_BYTES + 1)
        while len(data) > SAMPLE_BYTES and len(data) <= LONGEST_LINE and _lacks_a_line(data):
            more = file.read(len(data))
            data += more
            if not more:
                return Head(path, data, whole=True)
    if not data:
        raise InputError("I102", f"{path.name} is empty (0 bytes)", where=str(path), hint="write the file again")
    whole = len(data) <= SAMPLE_BYTES
    return Head(path, data if whole else data[:-1], whole)


def _lacks_a_line(data: bytes) -> bool:
    """Return whether the data may end inside the header or the next line.

    Always False for Parquet, JSON and binary files.
    """
    return data.count(b"\n") < 2 and b"\0" not in data and data.lstrip(BOM + b" \t\r\n")[:1] not in (b"{", b"[")


def is_archive(path: Path) -> bool:
    """Return whether a file begins as a gzip archive does."""
    with path.open("rb") as file:
        return file.read(len(GZIP_MAGIC)) == GZIP_MAGIC


@contextmanager
def open_unpacked(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for reading bytes, decompressed if it is a gzip archive; raise I104 or I110 on failure."""
    try:
        with path.open("rb") as raw:
            packed = raw.read(2) == GZIP_MAGIC
            raw.seek(0, os.SEEK_SET)
            if packed:
                with gzip.open(raw) as unpacked:
                    yield unpacked  # type: ignore[misc]
            else:
                yield raw
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(
            "I104",
            f"the gzip archive {path.name} is damaged or cut off ({error})",
            where=f"{path}, {path.stat().st_size:,} bytes",
            hint=f"copy or download the file again, and check it with: gzip -t '{path}'",
        ) from None
    except OSError as error:
        raise InputError("I110", f"cannot open {path.name}: {error.strerror or error}", where=str(path)) from None
