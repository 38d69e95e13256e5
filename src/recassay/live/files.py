"""Files that grow: one file with rotation as ``tail -F`` follows it, or the files of a folder in the order of names."""

from __future__ import annotations

import os
import select
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import polars as pl

from recassay.data.io.parquet import DAMAGE, scan_parquet
from recassay.errors import UsageError
from recassay.live.events import LARGEST_LINE
from recassay.live.sources import BATCH, Arrival, Source

CHUNK = 8 << 20  # bytes read at once
AHEAD = 4 * BATCH  # rows of a Parquet file read at once
PATIENCE = 60.0  # seconds since the last write of a Parquet file until it counts as damaged
PARQUET = (".parquet", ".pq")
TEXT = (".jsonl", ".ndjson", ".json", ".log")


class LineReader:
    """A reader of the complete lines of a binary file from an offset.

    A line that is too long counts as refused, and its content is not kept.
    """

    def __init__(self, handle: IO[bytes], offset: int = 0) -> None:
        self.handle, self.offset = handle, offset  # of the end of the last complete line
        self.rest = b""
        self.skipping = False

    def read(self, *, last: bool = False) -> list[bytes]:
        """Return the next complete lines; with ``last`` also a line at the end of the file without a line break."""
        data = self.handle.read(CHUNK)
        if not data:
            if last and self.rest and not self.skipping:
                line, self.rest = self.rest, b""
                self.offset += len(line)
                return [line]
            return []
        return self.take(data)

    def take(self, data: bytes) -> list[bytes]:
        """Return the lines that bytes complete; what follows the last line break waits for more."""
        lines = (self.rest + data).split(b"\n")
        self.rest = lines.pop()
        self.offset += sum(map(len, lines)) + len(lines)
        if self.skipping and lines:
            lines[0] = b"x" * (LARGEST_LINE + 1)
            self.skipping = False
        if len(self.rest) > LARGEST_LINE:  # what follows up to the end of the line is not kept
            self.offset += len(self.rest)
            self.rest, self.skipping = b"", True
        return [line for line in lines if line.strip()]


class FileSource(Source):
    """A source with one partition: a file, or the files of a folder or glob pattern, in ascending order of name.

    With ``follow`` the source waits for more events at the end; without it, the partition ends there. ``last_line``
    says whether a last line without a line break is complete.
    """

    def __init__(self, path: str | Path, name: str, *, follow: bool, last_line: bool = False) -> None:
        self.path, self.name, self.follow, self.last_line = str(path), name, follow, last_line
        self.file: Path | None = None
        self.reader: LineReader | None = None
        self.inode = self.row = self.height = 0
        self.ahead = pl.DataFrame()  # rows of a Parquet file that are read, but not returned yet
        self.finished = ""  # name of the last file of a folder that was read to its end

    @property
    def several(self) -> bool:
        """Return whether the path is a folder or a glob pattern, which stand for several files."""
        path = Path(self.path)
        return path.is_dir() or (any(letter in self.path for letter in "*?[") and not path.is_file())

    def start(self, positions: Mapping[str, Any]) -> list[str]:
        """Continue after the stored position of this partition, and return its name; raise U254 without a file."""
        if not self.several and not Path(self.path).exists() and not self.follow:
            raise UsageError("U254", "the file does not exist", where=self.path, hint="check the path")
        position = positions.get(self.name)
        if position is not None:
            self.finished, self.row = position["finished"], position.get("row", 0)
            path = self._find(position)
            if path is not None:
                self._open(path, position.get("offset", 0), position.get("row", 0))
        return [self.name]

    def _find(self, position: Mapping[str, Any]) -> Path | None:
        """Return the file of a stored position, even if it was renamed since; raise U254 if it no longer exists.

        Return None if no file had been opened.
        """
        if position["file"] is None:
            return None
        path = Path(position["file"])
        others = [one for one in path.parent.glob("*") if one.is_file()]
        for one in [one for one in others if one.stat().st_ino == position["inode"]]:
            if one.suffix in PARQUET or one.stat().st_size >= position.get("offset", 0):
                return one
        raise UsageError(
            "U254", "the file that was being read is gone, or shorter than before", where=str(path),
            hint="put it back, or begin a new folder with -o; what it held after the last commit would be lost",
        )  # fmt: skip

    def _files(self) -> list[Path]:
        path = Path(self.path)
        if path.is_dir():
            found = [
                one for one in path.iterdir() if one.suffix in PARQUET + TEXT and not one.name.startswith((".", "_"))
            ]
        elif self.several:
            found = list(Path(path.anchor or ".").glob(str(path.relative_to(path.anchor) if path.anchor else path)))
        else:
            return [path] if path.is_file() else []
        return sorted(one for one in found if one.is_file())

    def _next(self) -> Path | None:
        """Return the file to read after the present one (at the start: the first one), or None if there is none.

        If the source is a single file, this is a new file that has replaced it under the same path (log rotation). If
        it is a folder or a glob pattern, this is the next file by name.
        """
        files = self._files()
        if not self.several:
            if files and (self.file is None or files[0].stat().st_ino != self.inode):
                return files[0]
            return None
        return next((one for one in files if str(one) > self.finished), None)

    def _open(self, path: Path, offset: int = 0, row: int = 0) -> None:
        self._release()
        self.file, self.inode, self.row = path, path.stat().st_ino, row
        if path.suffix in PARQUET:
            self.height = _height(path)
            return
        handle = path.open("rb")
        handle.seek(offset)
        self.reader = LineReader(handle, offset)

    def _release(self) -> None:
        if self.reader is not None:
            self.reader.handle.close()
        self.reader, self.ahead = None, pl.DataFrame()

    def poll(self, timeout: float) -> list[Arrival]:
        """Return the next events of the file, or of the file that follows it, waiting up to ``timeout`` seconds."""
        until = time.monotonic() + timeout
        while True:
            found = self._read()
            self.problem = "" if found is not None or self._files() else "there is no file"
            if found is not None:
                return [found]
            if not self.follow:
                self.at_end = True
                return []
            left = until - time.monotonic()
            if left <= 0:
                return []
            time.sleep(min(left, 0.05))

    def _read(self) -> Arrival | None:
        for _ in range(10_000):  # empty files are passed over
            if self.file is None:
                path = self._next()
                if path is None or (self.follow and _is_being_written(path)):
                    return None
                self._open(path)
            content = self._parquet() if self.reader is None else self._lines(self.reader)
            if content is not None:
                return Arrival(self.name, content, self._position())
            if self.several:
                if not self._has_following():
                    return None
                self.finished, self.file = str(self.file), None
                continue
            if self._next() is None:
                return None
            self._release()
            self.file = None
        return None

    def _parquet(self) -> pl.DataFrame | None:
        assert self.file is not None
        if self.row >= self.height:
            return None
        if not self.ahead.height:  # a slice decodes whole row groups, so several batches are read at once
            try:
                self.ahead = scan_parquet(self.file).slice(self.row, AHEAD).collect()
            except DAMAGE as error:
                raise _unreadable(self.file, error) from None
        frame, self.ahead = self.ahead[:BATCH], self.ahead[BATCH:]
        self.row += frame.height
        return frame

    def _lines(self, reader: LineReader) -> list[bytes] | None:
        assert self.file is not None
        rotated = not self.several and Path(self.path).is_file() and Path(self.path).stat().st_ino != self.inode
        if not rotated and os.fstat(reader.handle.fileno()).st_size < reader.offset:  # truncated: begins anew
            reader.handle.seek(0)
            reader.offset, reader.rest = 0, b""
        while True:
            before = reader.handle.tell()
            lines = reader.read(last=rotated or self.last_line or (self.several and self._has_following()))
            if lines:
                return lines
            if reader.handle.tell() == before:
                return None

    def _has_following(self) -> bool:
        return any(str(one) > str(self.file) for one in self._files())

    def _position(self) -> dict[str, Any]:
        offset = 0 if self.reader is None else self.reader.offset
        return {
            "file": str(self.file), "inode": self.inode, "offset": offset, "row": self.row, "finished": self.finished,
        }  # fmt: skip

    def close(self) -> None:
        """Close the file."""
        self._release()


def _height(path: Path) -> int:
    """Return the number of rows of a Parquet file; raise U254 if it cannot be read."""
    try:
        return int(scan_parquet(path).select(pl.len()).collect().item())
    except DAMAGE as error:
        raise _unreadable(path, error) from None


def _is_being_written(path: Path) -> bool:
    """Return whether a Parquet file cannot be read, but was written to a moment ago: the rest may follow."""
    if path.suffix not in PARQUET or time.time() - path.stat().st_mtime > PATIENCE:
        return False
    try:
        _height(path)
    except UsageError:
        return True
    return False


def _unreadable(path: Path, error: BaseException) -> UsageError:
    return UsageError(
        "U254", f"the file cannot be read: {error}", where=str(path),
        hint="write parts under another name and rename them when they are complete",
    )  # fmt: skip


class PipeSource(Source):
    """A source of lines from standard input or the named pipe at ``path``, which cannot be read again.

    Events that were not committed are lost when the process dies.
    """

    def __init__(self, path: str = "") -> None:
        # a named pipe that nobody writes to would block when it is opened
        handle = os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") if path else sys.stdin.buffer
        self.reader, self.name = LineReader(handle), path or "stdin"
        self.problem = "nothing has been written to the pipe yet" if path else ""
        os.set_blocking(self.reader.handle.fileno(), False)

    def poll(self, timeout: float) -> list[Arrival]:
        """Return the lines that have come, waiting up to ``timeout`` seconds."""
        ready, _, _ = select.select([self.reader.handle], [], [], timeout)
        if not ready:
            return []
        self.problem = ""
        data = os.read(self.reader.handle.fileno(), CHUNK)
        self.at_end = not data
        lines = self.reader.take(data or b"\n")  # a last line may have no line break
        return [Arrival(self.name, lines, None)] if lines or data else []

    def close(self) -> None:
        """Close a named pipe; other code may still read standard input."""
        if self.name != "stdin":
            self.reader.handle.close()
