"""Sources of events and sinks for simulated ones, as a command line or a call names them; files that grow.

A file is followed with rotation, as ``tail -F`` does; the files of a folder come in the order of their names.
"""

from __future__ import annotations

import os
import select
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import polars as pl

from recassay.data.io.parquet import DAMAGE, scan_parquet
from recassay.errors import UsageError
from recassay.live.events import LARGEST_LINE, lines
from recassay.live.queues import KafkaSource, RedisSource, Sink, kafka_sink, redis_sink
from recassay.live.sources import BATCH, Arrival, Source, table_source

CHUNK = 8 << 20  # bytes read at once
AHEAD = 4 * BATCH  # rows of a Parquet file read at once
PATIENCE = 60.0  # seconds since the last write of a Parquet file until it counts as damaged
PARQUET = (".parquet", ".pq")
TEXT = (".jsonl", ".ndjson", ".json", ".log")
AT_ONCE = 1000  # simulated events that are written at once
SERVERS: Mapping[str, tuple[Callable[[str], Source], Callable[[str], Sink]]] = {
    "kafka": (KafkaSource, kafka_sink), "redis": (RedisSource, redis_sink), "rediss": (RedisSource, redis_sink),
}  # fmt: skip


def open_sources(given: Any, *, follow: bool) -> list[Source]:
    """Return a source for each input: a path, a URL, ``-`` (standard input), a table, or a list of dicts.

    With ``follow`` sources wait for more events at the end of files. Each path is a partition, and so is each folder
    with all its files.
    """
    several = (
        isinstance(given, Sequence) and not isinstance(given, str) and not (given and isinstance(given[0], Mapping))
    )
    named = [str(one) if isinstance(one, Path) else one for one in (given if several else [given])]
    if not named:
        raise UsageError("U254", "no source of events was named", hint="name a file, a folder, redis://, kafka:// or -")
    paths = [one for one in named if isinstance(one, str)]
    if len(set(paths)) < len(paths):
        raise UsageError("U254", "a source is named twice", where=", ".join(paths), hint="name each once")
    return [
        _source_at(one, follow) if isinstance(one, str) else _source_of(one, f"table {place}")
        for place, one in enumerate(named)
    ]


def _source_of(events: Any, name: str) -> Source:
    """Return a source that reads a table or a list of dicts; raise U254 for anything else.

    ``events`` is that table or list, and ``name`` the name of the source.
    """
    if not (hasattr(events, "__arrow_c_stream__") or hasattr(events, "__dataframe__")):
        if not isinstance(events, Sequence):
            what = f"events cannot be read from {type(events).__name__}"
            raise UsageError("U254", what, hint="give a table, a list of dicts, or a path")
        return table_source(events, name)
    try:
        return table_source(pl.DataFrame(events), name)
    except Exception as error:  # of the other library, such as pyarrow's for a column of texts and numbers
        raise UsageError(
            "U254", f"a table of {type(events).__module__} cannot be read: {error}", where="events",
            hint="give each column one type, or give a list of dicts",
        ) from None  # fmt: skip


def _source_at(address: str, follow: bool) -> Source:
    if address == "-" or Path(address).is_fifo():
        return PipeSource(address.removeprefix("-"))
    server = _server(address, f"there is no source {address.partition('://')[0]}://", "a folder, ")
    return server[0](address) if server else FileSource(address, address, follow=follow, last_line=not follow)


def _server(address: str, what: str, also: str = "") -> tuple[Callable[[str], Source], Callable[[str], Sink]] | None:
    """Return two functions that open a source and a sink of the server at a URL; None for a path.

    Raise U254 for a URL of another kind; ``what`` and ``also`` are for its message.
    """
    scheme, separator, _ = address.partition("://")
    if separator and scheme not in SERVERS:
        raise UsageError("U254", what, where=address, hint=f"name a file, {also}redis:// or kafka://")
    return SERVERS[scheme] if separator else None


def write_events(batches: Iterable[pl.DataFrame], sink: str, rate: float | None = None) -> int:
    """Write tables of events, at ``rate`` events a second if one is given; return the number of events.

    ``sink`` is the path of a file or a URL with redis:// or kafka://.
    """
    server = _server(sink, "events cannot be written there")
    write, close = server[1](sink) if server else _file_sink(Path(sink))
    began, written = time.monotonic(), 0
    try:
        for content in map(lines, batches):
            for begin in range(0, len(content), AT_ONCE):
                write(part := content[begin : begin + AT_ONCE])
                written += len(part)
                if rate:
                    time.sleep(max(0.0, written / rate - (time.monotonic() - began)))
    finally:
        close()
    return written


def _file_sink(path: Path) -> Sink:
    handle = path.open("ab")

    def write(part: list[bytes]) -> None:
        handle.write(b"".join(line + b"\n" for line in part))
        handle.flush()

    return write, handle.close


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
        """Return the lines that ``data`` completes; bytes behind the last line break are kept for the next call."""
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

    @property
    def several(self) -> bool:
        """Return whether the path is a folder or a glob pattern, which stand for several files."""
        path = Path(self.path)
        return path.is_dir() or (any(letter in self.path for letter in "*?[") and not path.is_file())

    def start(self, positions: Mapping[str, Any]) -> list[str]:
        """Continue after the stored position of this partition, and return its name; raise U254 without a file."""
        if not self.several and not Path(self.path).exists() and not self.follow:
            raise UsageError("U254", "the file does not exist", where=self.path, hint="check the path")
        if (position := positions.get(self.name)) is not None:
            self._open(_find(position), position["offset"], position["row"])
        return [self.name]

    def _files(self) -> list[Path]:
        path = Path(self.path)
        if not self.several:
            return [path] if path.is_file() else []
        if path.is_dir():
            found = [one for one in path.iterdir() if one.suffix in PARQUET + TEXT and one.name[0] not in "._"]
        else:
            found = list(Path(path.anchor or ".").glob(str(path.relative_to(path.anchor) if path.anchor else path)))
        return sorted(one for one in found if one.is_file())

    def _next(self) -> Path | None:
        """Return the file to read after the present one (at the start: the first one), or None if there is none.

        If the source is a single file, this is a new file that has replaced it under the same path (log rotation). If
        it is a folder or a glob pattern, this is the next file by name.
        """
        files = self._files()
        if self.file is not None:
            several, present = self.several, str(self.file)
            files = [one for one in files if (str(one) > present if several else one.stat().st_ino != self.inode)]
        return files[0] if files else None

    def _open(self, path: Path, offset: int = 0, row: int = 0) -> None:
        height = _read(path, lambda table: table.select(pl.len())).item() if path.suffix in PARQUET else 0
        self.close()
        self.file, self.inode, self.row, self.height = path, path.stat().st_ino, row, height
        if path.suffix not in PARQUET:
            self.reader = LineReader(path.open("rb"), offset)
            self.reader.handle.seek(offset)

    def poll(self, timeout: float) -> list[Arrival]:
        """Return the next events of the file, or of the file that follows it, waiting up to ``timeout`` seconds."""
        until = time.monotonic() + timeout
        while (content := self._content()) is None:
            self.problem = "" if self._files() else "there is no file"
            self.at_end = not self.follow
            left = until - time.monotonic()
            if self.at_end or left <= 0:
                return []
            time.sleep(min(left, 0.05))
        self.problem = ""
        offset = 0 if self.reader is None else self.reader.offset
        position = {"file": str(self.file), "inode": self.inode, "offset": offset, "row": self.row}
        return [Arrival(self.name, content, position)]

    def _content(self) -> list[bytes] | pl.DataFrame | None:
        """Return the next events of the file, or of the next one with any; None if no more events are there yet."""
        while True:
            following = self._next()
            if self.file is not None:
                last = self.last_line or following is not None
                content = self._rows(self.file) if self.reader is None else self._lines(self.reader, last)
                if content is not None:
                    return content
            if following is None:
                return None
            try:
                self._open(following)
            except UsageError:
                if self.follow and time.time() - following.stat().st_mtime < PATIENCE:  # it is being written
                    return None
                raise

    def _rows(self, path: Path) -> pl.DataFrame | None:
        if self.row >= self.height:
            return None
        if not self.ahead.height:  # a slice decodes whole row groups, so several batches are read at once
            self.ahead = _read(path, lambda table: table.slice(self.row, AHEAD))
        frame, self.ahead = self.ahead[:BATCH], self.ahead[BATCH:]
        self.row += frame.height
        return frame

    def _lines(self, reader: LineReader, last: bool) -> list[bytes] | None:
        if os.fstat(reader.handle.fileno()).st_size < reader.offset:  # truncated: begins anew
            reader.handle.seek(0)
            reader.offset, reader.rest = 0, b""
        while True:
            before = reader.handle.tell()
            lines = reader.read(last=last)
            if lines:
                return lines
            if reader.handle.tell() == before:
                return None

    def close(self) -> None:
        """Close the file."""
        if self.reader is not None:
            self.reader.handle.close()
        self.reader, self.ahead = None, pl.DataFrame()


def _find(position: Mapping[str, Any]) -> Path:
    """Return the file of a stored position, even if it was renamed since; raise U254 if it no longer exists."""
    path = Path(position["file"])
    for one in [one for one in path.parent.glob("*") if one.is_file()]:
        about = one.stat()
        if about.st_ino == position["inode"] and (one.suffix in PARQUET or about.st_size >= position["offset"]):
            return one
    raise UsageError(
        "U254", "the file that was being read is gone, or shorter than before", where=str(path),
        hint="put it back, or begin a new folder with -o; what it held after the last commit would be lost",
    )  # fmt: skip


def _read(path: Path, query: Callable[[pl.LazyFrame], pl.LazyFrame]) -> pl.DataFrame:
    """Return the result of a query on a Parquet file; raise U254 if the file cannot be read."""
    try:
        return query(scan_parquet(path)).collect()
    except DAMAGE as error:
        raise UsageError(
            "U254", f"the file cannot be read: {error}", where=str(path),
            hint="write parts under another name and rename them when they are complete",
        ) from None  # fmt: skip


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
