"""The first bytes of a file, unpacked: enough to tell what it is without reading it."""

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
LONGEST_LINE = 1 << 24  # bytes: what has longer ones is no table of text
GZIP_MAGIC = b"\x1f\x8b"
BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Head:
    """A file's path and its first bytes; ``whole`` when these are all there are."""

    path: Path
    data: bytes
    whole: bool

    @property
    def suffixes(self) -> list[str]:
        """The file's suffixes in lower case, without ``.gz``."""
        return [suffix for suffix in map(str.lower, self.path.suffixes) if suffix != ".gz"]

    def lines(self, most: int = 1000) -> list[str]:
        """The complete lines that are not blank; bytes that are not UTF-8 show as U+FFFD."""
        data = self.data.removeprefix(BOM)
        if not self.whole and b"\n" in data:
            data = data[: data.rindex(b"\n")]
        lines = data.decode("utf-8", errors="replace").split("\n")
        return [line.removesuffix("\r") for line in lines if line.strip()][:most]

    def lines_above_data(self, header_lines: int) -> int:
        """How many lines stand above the first one of data: the header and blank lines before and after it.

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
    """The head of a file, of text with its first two lines whole, whatever their length.

    No bytes is I102, a broken archive I104, a file that cannot be opened I110.
    """
    with opened(path) as file:
        data = file.read(SAMPLE_BYTES + 1)
        while len(data) > SAMPLE_BYTES and len(data) <= LONGEST_LINE and _lacks_a_line(data):
            more = file.read(len(data))
            data += more
            if not more:
                return Head(path, data, whole=True)
    if not data:
        raise InputError("I102", f"{path.name} is empty: it has 0 bytes", where=str(path), hint="write the file again")
    whole = len(data) <= SAMPLE_BYTES
    return Head(path, data if whole else data[:-1], whole)


def _lacks_a_line(data: bytes) -> bool:
    """Whether a header and a row below it may go on behind the data; not of Parquet, JSON and what is no text."""
    return data.count(b"\n") < 2 and b"\0" not in data and data.lstrip(BOM + b" \t\r\n")[:1] not in (b"{", b"[")


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """The file's bytes, unpacked when it is a gzip archive; all trouble is told as I104 or I110."""
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
