"""Events from Redis Streams: each entry has one field, which holds an event as JSON.

A consumer group hands out entries. An entry is acknowledged only after the commit of the state, so entries that a dead
process had are handed out again. The state stores the latest id of each stream, so an entry that is already stored is
recognised.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from recassay.errors import UsageError
from recassay.live.sources.base import Arrival
from recassay.optional import need

FIELD = b"event"
AT_ONCE = 5000  # entries of a read


class RedisSource:
    """A source that reads streams of a Redis server, each of which is a partition.

    Its URL is ``redis://HOST:PORT/DB?stream=NAME&group=NAME&consumer=NAME``.
    """

    def __init__(self, url: str, streams: list[str], group: str, consumer: str) -> None:
        redis = need("redis", for_="a source redis://")
        self.errors = (
            redis.exceptions.ConnectionError,
            redis.exceptions.TimeoutError,
            redis.exceptions.BusyLoadingError,
        )
        self.response_error = redis.exceptions.ResponseError
        self.client = redis.Redis.from_url(url, socket_timeout=30)
        for command in ("XREADGROUP", "XAUTOCLAIM"):  # entries stay lists: a dict for each takes a third of the time
            self.client.set_response_callback(command, lambda answer, **_: answer)
        self.where = url.rpartition("@")[2]
        self.streams, self.group, self.consumer = [name.encode() for name in streams], group, consumer
        self.last: dict[bytes, tuple[int, int]] = {}  # the latest entry of each stream that is in the state
        self.unacknowledged: dict[bytes, list[bytes]] = {}
        self.recovering = True
        self.cursors: dict[bytes, bytes] = dict.fromkeys(self.streams, b"0-0")

    def start(self, positions: Mapping[str, Any]) -> list[str]:
        """Create missing consumer groups, continue after the stored positions, and return the names of the streams."""
        for stream in self.streams:
            self.last[stream] = _id(positions.get(stream.decode(), "0-0").encode())
        try:
            self._create_groups()
        except self.errors as error:
            raise UsageError(
                "U254",
                f"Redis does not answer: {error}",
                where=self.where,
                hint="start the server, or check the address",
            ) from None
        return [stream.decode() for stream in self.streams]

    def _create_groups(self) -> None:
        for stream in self.streams:
            try:
                self.client.xgroup_create(stream, self.group, id="0", mkstream=True)
            except self.response_error as error:
                if "BUSYGROUP" not in str(error):
                    raise UsageError(
                        "U254", f"Redis refuses the consumer group: {error}", where=self.where, hint="check the stream"
                    ) from None

    def poll(self, timeout: float) -> list[Arrival]:
        """Return new entries, waiting up to ``timeout`` seconds.

        After a start or a lost connection, entries that were not acknowledged come first.
        """
        try:
            if self.recovering:
                return self._recover()
            wait = max(1, int(timeout * 1000))
            found = self.client.xreadgroup(
                self.group, self.consumer, dict.fromkeys(self.streams, b">"), count=AT_ONCE, block=wait
            )
        except self.errors:
            self.recovering = True
            self.cursors = dict.fromkeys(self.streams, b"0-0")
            _pause(timeout)
            return []
        except self.response_error as error:
            if "NOGROUP" in str(error):  # the server lost its data: what it has now is read from the beginning
                self._create_groups()
                return []
            raise
        return self._arrivals(found)

    def _recover(self) -> list[Arrival]:
        """Return entries that were handed out to any consumer and not acknowledged, in order, and take them over.

        The group belongs to this state, which only this process has locked, so the consumers that had them no longer
        run.
        """
        made: list[Arrival] = []
        for stream in [one for one in self.streams if one in self.cursors]:
            cursor, entries, *_ = self.client.xautoclaim(
                stream, self.group, self.consumer, 0, start_id=self.cursors[stream], count=AT_ONCE
            )
            self.cursors[stream] = cursor
            if cursor == b"0-0":
                del self.cursors[stream]
            made += self._arrivals(
                [(stream, [entry for entry in entries if entry is not None and entry[1] is not None])]
            )
        self.recovering = bool(self.cursors)
        return made

    def _arrivals(self, found: Any) -> list[Arrival]:
        """Return the entries that are not in the state yet, and note all entries for acknowledgement.

        ``found`` is the server's answer: the entries of each stream, each a name and a list of fields and values.
        """
        made = []
        for stream, pairs in found.items() if isinstance(found, dict) else found or ():
            self.unacknowledged.setdefault(stream, []).extend([pair[0] for pair in pairs])
            last = self.last[stream]
            # The server hands entries out in order: if the first is new, all are.
            new = pairs if pairs and _id(pairs[0][0]) > last else [pair for pair in pairs if _id(pair[0]) > last]
            if not new:
                continue
            self.last[stream] = _id(new[-1][0])
            lines = [_event(pair[1]) for pair in new]
            made.append(Arrival(stream.decode(), lines, new[-1][0].decode()))
        return made

    def acknowledge(self) -> None:
        """Acknowledge everything polled so far, in one round trip."""
        waiting = {stream: names for stream, names in self.unacknowledged.items() if names}
        if not waiting:
            return
        try:
            pipe = self.client.pipeline(transaction=False)
            for stream, names in waiting.items():
                for begin in range(0, len(names), AT_ONCE):
                    pipe.xack(stream, self.group, *names[begin : begin + AT_ONCE])
            pipe.execute()
        except (*self.errors, self.response_error):
            self.recovering = True  # they come again, and are recognised
            self.cursors = dict.fromkeys(self.streams, b"0-0")
        self.unacknowledged = {}

    def ended(self) -> list[str]:
        """Return an empty list, because a stream does not end."""
        return []

    def behind(self) -> int | None:
        """Return the number of unread entries; None if the server does not know."""
        try:
            groups = [row for stream in self.streams for row in self.client.xinfo_groups(stream)]
        except (*self.errors, self.response_error):
            return None
        own = [row.get("lag") for row in groups if row.get("name") == self.group.encode()]
        return None if not own or any(lag is None for lag in own) else sum(own)

    def close(self) -> None:
        """Close the connection."""
        self.client.close()


def _id(name: bytes) -> tuple[int, int]:
    """Return the id of a Redis entry as two numbers."""
    time, _, number = name.partition(b"-")
    return int(time), int(number or 0)


def _event(fields: Sequence[bytes] | None) -> bytes:
    """Return the event in an entry, whose names and values alternate in ``fields``.

    The event is the value of the field ``event``, or of the only field. Other entries give empty bytes.
    """
    if not fields:
        return b""
    if len(fields) == 2:
        return fields[1]
    names = fields[::2]
    return fields[2 * names.index(FIELD) + 1] if FIELD in names else b""


def _pause(seconds: float) -> None:
    import time

    time.sleep(min(max(seconds, 0.05), 1.0))
