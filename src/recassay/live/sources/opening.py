"""Opening of sources of events from the names that a command line or a call gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import polars as pl

from recassay.errors import UsageError
from recassay.live.sources.base import Source
from recassay.live.sources.files import FileSource, PipeSource
from recassay.live.sources.tables import TableSource

SCHEMES = ("redis", "rediss", "kafka")


def open_sources(given: Any, *, follow: bool) -> list[Source]:
    """Return a source for each thing given: a path, a URL, ``-`` (standard input), a table, or a list of dicts.

    With ``follow`` sources wait for more events at the end of files. Each path is a partition, and so is each folder
    with all its files.
    """
    several = (
        isinstance(given, Sequence) and not isinstance(given, str) and not (given and isinstance(given[0], Mapping))
    )
    named = list(given) if several else [given]
    if not named:
        raise UsageError("U254", "no source of events was named", hint="name a file, a folder, redis://, kafka:// or -")
    paths = [str(one) for one in named if isinstance(one, str | Path)]
    if len(set(paths)) < len(paths):
        raise UsageError("U254", "a source is named twice", where=", ".join(paths), hint="name each once")
    return [_open(one, place, follow) for place, one in enumerate(named)]


def _open(one: Any, place: int, follow: bool) -> Source:
    if isinstance(one, Path):
        one = str(one)
    if not isinstance(one, str):
        if hasattr(one, "__arrow_c_stream__") or hasattr(one, "__dataframe__"):
            return TableSource(_table(one), f"table {place}")
        if isinstance(one, Sequence):
            return TableSource(one, f"table {place}")
        raise UsageError(
            "U254", f"events cannot be read from {type(one).__name__}", hint="give a table, a list of dicts, or a path"
        )
    if one == "-" or Path(one).is_fifo():
        return PipeSource("" if one == "-" else one)
    scheme = one.partition("://")[0] if "://" in one else ""
    if scheme == "kafka":
        from recassay.live.sources.kafka import KafkaSource

        return KafkaSource(*parse_kafka(one))
    if scheme in ("redis", "rediss"):
        from recassay.live.sources.redis_streams import RedisSource

        return RedisSource(*parse_redis(one))
    if scheme:
        raise UsageError(
            "U254", f"there is no source {scheme}://", where=one, hint="name a file, a folder, redis://, kafka:// or -"
        )
    return FileSource(one, one, follow=follow, last_line=not follow)


def _table(given: Any) -> pl.DataFrame:
    """Return a table as a Polars table; raise U254 if Polars cannot convert it."""
    try:
        return pl.DataFrame(given)
    except Exception as error:  # of the other library, such as pyarrow's for a column of texts and numbers
        raise UsageError(
            "U254", f"a table of {type(given).__module__} cannot be read: {error}", where="events",
            hint="give each column one type, or give a list of dicts",
        ) from None  # fmt: skip


def parse_kafka(url: str) -> tuple[str, str, dict[str, str]]:
    """Return servers, topics and settings of librdkafka from a URL; raise U254 if servers or topics are missing."""
    place, _, query = url.removeprefix("kafka://").partition("?")
    servers, _, topics = place.partition("/")
    if not servers or not topics or "@" in servers:
        raise UsageError(
            "U254", "a Kafka address needs servers and a topic, and users as settings", where=url,
            hint="kafka://HOST:9092/TOPIC?sasl.username=...&sasl.password=...",
        )  # fmt: skip
    return servers, topics, {name: values[-1] for name, values in parse_qs(query, keep_blank_values=True).items()}


def parse_redis(url: str) -> tuple[str, list[str], str, str]:
    """Return the server, streams, group and consumer in a URL; raise U254 if no stream is named."""
    server, _, query = url.partition("?")
    settings = parse_qs(query)
    streams = [name for value in settings.get("stream", []) for name in value.split(",")]
    if not streams:
        raise UsageError("U254", "a Redis address needs a stream", where=url, hint="redis://HOST:6379/0?stream=NAME")
    group, consumer = (settings.get(name, ["recassay"])[-1] for name in ("group", "consumer"))
    return server, streams, group, consumer
