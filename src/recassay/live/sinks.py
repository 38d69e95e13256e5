"""Destinations of simulated events: a file, a Redis Stream, or a topic of a Kafka server."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from recassay.errors import UsageError
from recassay.live.simulate import Simulation, lines
from recassay.live.sources.opening import parse_kafka, parse_redis
from recassay.optional import need

AT_ONCE = 1000
DELIVERED_WITHIN = 300  # seconds; after these the library for Kafka gives an event up
Write = Callable[[list[bytes]], None]


def write_events(simulation: Simulation, sink: str, rate: float | None = None) -> int:
    """Write all events of a simulation, at ``rate`` a second if one is given; return their number.

    ``sink`` is the path of a file or a URL with redis:// or kafka://.
    """
    write, close = _open(sink)
    begun, written = time.monotonic(), 0
    try:
        for batch in simulation.batches():
            content = lines(batch)
            for begin in range(0, len(content), AT_ONCE):
                part = content[begin : begin + AT_ONCE]
                write(part)
                written += len(part)
                if rate:
                    time.sleep(max(0.0, written / rate - (time.monotonic() - begun)))
    finally:
        close()
    return written


def _open(sink: str) -> tuple[Write, Callable[[], None]]:
    if sink.startswith("kafka://"):
        return _kafka(sink)
    if sink.startswith(("redis://", "rediss://")):
        return _redis(sink)
    if "://" in sink:
        raise UsageError("U254", "events cannot be written there", where=sink, hint="name a file, redis:// or kafka://")
    handle = Path(sink).open("ab")  # noqa: SIM115

    def write(part: list[bytes]) -> None:
        handle.write(b"".join(line + b"\n" for line in part))
        handle.flush()

    return write, handle.close


def _redis(sink: str) -> tuple[Write, Callable[[], None]]:
    from recassay.live.sources.redis_streams import open_client

    server, streams, *_ = parse_redis(sink)
    client = open_client(server)

    def write(part: list[bytes]) -> None:
        pipe = client.pipeline(transaction=False)
        for line in part:
            pipe.xadd(streams[-1], {"event": line})
        try:
            pipe.execute()
        except need("redis", for_="redis://").exceptions.RedisError as error:
            what = f"Redis does not answer as it should: {error}"
            raise UsageError("U254", what, where=sink, hint="check the server, and write to a new stream") from None

    return write, client.close


def _kafka(sink: str) -> tuple[Write, Callable[[], None]]:
    """Return a function that sends events to a Kafka topic, and one that closes the connection.

    All events of a user go to the same partition of the topic.
    """
    from recassay.live.sources.kafka import open_client

    servers, topic, config = parse_kafka(sink)
    settings = {"bootstrap.servers": servers, "linger.ms": 20, "log_level": 0, **config}
    producer = open_client("Producer", settings, sink)
    lost: list[str] = []  # why each event that was not delivered was not

    def delivered(error: Any, _message: Any) -> None:
        if error is not None:
            lost.append(error.str())

    def write(part: list[bytes]) -> None:
        import json

        for line in part:
            producer.produce(topic, line, key=json.loads(line)["user_id"], on_delivery=delivered)
            producer.poll(0)

    def close() -> None:
        waiting = producer.flush(DELIVERED_WITHIN)
        if waiting or lost:
            why = lost[0] if lost else "the servers do not answer"
            what = f"{waiting + len(lost):,} events were not delivered: {why}"
            raise UsageError("U254", what, where=sink, hint="check the servers, and write to a new topic")

    return write, close
