"""Opening of sources of events, and of sinks for simulated ones, from the names that a command line or a call gives."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from recassay.errors import UsageError
from recassay.live.events import lines
from recassay.live.files import FileSource, PipeSource
from recassay.live.kafka import KafkaSource, kafka_sink
from recassay.live.redis_streams import RedisSource, redis_sink
from recassay.live.sources import Source, table_source

AT_ONCE = 1000  # simulated events that are written at once
Sink = tuple[Callable[[list[bytes]], None], Callable[[], None]]  # what writes lines, and what closes
SERVERS: Mapping[str, tuple[Callable[[str], Source], Callable[[str], Sink]]] = {
    "kafka": (KafkaSource, kafka_sink), "redis": (RedisSource, redis_sink), "rediss": (RedisSource, redis_sink),
}  # fmt: skip


def open_sources(given: Any, *, follow: bool) -> list[Source]:
    """Return a source for each thing given: a path, a URL, ``-`` (standard input), a table, or a list of dicts.

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
    """Return a source that reads a table or a list of dicts; raise U254 for anything else."""
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
    """Return what opens sources and sinks of the server at a URL; None for a path, U254 (``what``) for another URL."""
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
