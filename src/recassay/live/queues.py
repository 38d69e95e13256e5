"""Events from queues: topics of Kafka, and streams of Redis. A message or entry holds an event as JSON.

Kafka (or another server that speaks its protocol): one process assigns itself all partitions of its topics. It uses no
consumer group, because a group could move a partition to another process, without the exposures that are still open.
Positions are stored in the state.

Redis: a consumer group hands out entries. An entry is acknowledged only after the commit of the state, so entries that
a dead process had are handed out again. The state stores the latest id of each stream, so an entry that is already
stored is recognised.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import parse_qs, urlsplit

from recassay.errors import UsageError, masked
from recassay.live.sources import Arrival, Source
from recassay.optional import need

Sink = tuple[Callable[[list[bytes]], None], Callable[[], None]]  # what writes lines, and what closes
MESSAGES, ENTRIES = 20_000, 5000  # that are read at once
ANSWER_WITHIN = 10.0  # seconds
DELIVERED_WITHIN = 300  # seconds; after these librdkafka gives an event up
FIELD = b"event"


class KafkaSource(Source):
    """A source that reads topics of a Kafka cluster: ``kafka://HOST:PORT[,HOST:PORT]/TOPIC[,TOPIC]``.

    Each partition of a topic is a partition of the source. The query of the URL has further settings of librdkafka,
    such as those of authentication.
    """

    def __init__(self, url: str) -> None:
        servers, topics, config = parse_kafka(url)
        self.kafka = need("confluent_kafka", for_="a source kafka://")
        self.name, self.topics = f"kafka://{servers}/{topics}", topics.split(",")
        self.doubt = ""  # what librdkafka said of the servers since they last answered
        settings = {
            "bootstrap.servers": servers,
            "group.id": "recassay",  # librdkafka wants a name; offsets are never committed to the server
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "enable.partition.eof": False,
            "log_level": 0,
            **config,
            "error_cb": self._doubt,
        }
        self.consumer = kafka_client("Consumer", settings, self.name)

    def _doubt(self, error: Any) -> None:
        self.doubt = error.str()

    def start(self, positions: Mapping[str, Any]) -> list[str]:
        """Assign all partitions to this process, each from its stored position, and return their names.

        Raise U254 if the servers do not answer or a topic does not exist.
        """
        assigned: dict[str, Any] = {}
        for topic in self.topics:
            try:
                listed = self.consumer.list_topics(topic, timeout=ANSWER_WITHIN).topics.get(topic)
            except self.kafka.KafkaException as error:
                raise UsageError(
                    "U254", f"the servers do not answer: {error.args[0].str()}", where=self.name,
                    hint="start them, or check the address",
                ) from None  # fmt: skip
            if listed is None or listed.error is not None or not listed.partitions:
                raise UsageError("U254", f"there is no topic '{topic}'", where=self.name, hint="create it first")
            for number in sorted(listed.partitions):
                name = f"{topic}:{number}"
                offset = positions.get(name, self.kafka.OFFSET_BEGINNING)
                assigned[name] = self.kafka.TopicPartition(topic, number, offset)
        self.consumer.assign([*assigned.values()])
        return [*assigned]

    def poll(self, timeout: float) -> list[Arrival]:
        """Return new messages by partition, waiting up to ``timeout`` seconds; librdkafka handles network errors."""
        if self.doubt and timeout:
            self._ask(timeout)
        lines: dict[str, list[bytes]] = {}
        offsets: dict[str, int] = {}
        for message in self.consumer.consume(MESSAGES, timeout):
            error = message.error()
            if error is not None:  # codes below 0 are those of librdkafka, such as all servers down
                if error.fatal() or not (error.retriable() or error.code() < 0):
                    raise UsageError(
                        "U254", f"the servers refuse: {error.str()}", where=self.name, hint="see the message"
                    )
                continue
            name = f"{message.topic()}:{message.partition()}"
            lines.setdefault(name, []).append(message.value() or b"")
            offsets[name] = message.offset() + 1
        return [Arrival(name, content, offsets[name]) for name, content in lines.items()]

    def _ask(self, timeout: float) -> None:
        """Find out whether the servers answer within ``timeout`` seconds, and note it as the problem if not."""
        try:
            self.consumer.list_topics(self.topics[0], timeout=timeout)
            self.problem, self.doubt, self.unreachable = "", "", False
        except self.kafka.KafkaException:
            self.problem, self.unreachable = f"the servers do not answer: {self.doubt}", True

    def close(self) -> None:
        """Close the connections to the servers."""
        self.consumer.close()


def kafka_client(kind: str, settings: Mapping[str, Any], where: str) -> Any:
    """Return a Kafka ``Consumer`` or ``Producer`` with settings; raise U254 if librdkafka refuses one of them."""
    kafka = need("confluent_kafka", for_="kafka://")
    try:
        return getattr(kafka, kind)(settings)
    except (kafka.KafkaException, TypeError, ValueError) as error:
        what = error.args[0].str() if isinstance(error, kafka.KafkaException) else error
        raise UsageError(
            "U254", f"a setting is refused: {what}", where=where, hint="name settings as librdkafka does"
        ) from None


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


def kafka_sink(url: str) -> Sink:
    """Return a function that sends events to a Kafka topic, and one that closes the connection.

    All events of a user go to the same partition of the topic.
    """
    servers, topic, config = parse_kafka(url)
    producer = kafka_client("Producer", {"bootstrap.servers": servers, "linger.ms": 20, "log_level": 0, **config}, url)
    lost: list[str] = []  # why each event that was not delivered was not

    def delivered(error: Any, _: Any) -> None:
        if error is not None:
            lost.append(error.str())

    def write(part: list[bytes]) -> None:
        for line in part:
            producer.produce(topic, line, key=json.loads(line)["user_id"], on_delivery=delivered)
            producer.poll(0)

    def close() -> None:
        if failed := producer.flush(DELIVERED_WITHIN) + len(lost):
            what = f"{failed:,} events were not delivered: {lost[0] if lost else 'the servers do not answer'}"
            raise UsageError("U254", what, where=url, hint="check the servers, and write to a new topic")

    return write, close


class RedisSource(Source):
    """A source that reads streams of a Redis server, each of which is a partition.

    Its URL is ``redis://HOST:PORT/DB?stream=NAME&group=NAME&consumer=NAME``.
    """

    def __init__(self, address: str) -> None:
        url, streams, group, consumer = parse_redis(address)
        redis = need("redis", for_="a source redis://")
        self.error = redis.exceptions.RedisError
        self.name = masked(f"{url}?stream={','.join(streams)}")
        self.client = redis_client(url, socket_timeout=ANSWER_WITHIN)
        for command in ("XREADGROUP", "XAUTOCLAIM"):  # entries stay lists: a dict for each takes a third of the time
            self.client.set_response_callback(command, lambda answer, **_: answer)
        self.streams, self.group, self.consumer = [name.encode() for name in streams], group, consumer
        self.last: dict[bytes, tuple[int, int]] = {}  # the latest entry of each stream that is in the state
        self.unacknowledged: dict[bytes, list[bytes]] = {}
        self._claim_later()

    def start(self, positions: Mapping[str, Any]) -> list[str]:
        """Create missing consumer groups, continue after the stored positions, and return the names of the streams."""
        for stream in self.streams:
            self.last[stream] = _id(positions.get(stream.decode(), "0-0").encode())
        try:
            self._create_groups()
        except self.error as error:
            raise UsageError(
                "U254", f"Redis does not answer as it should: {error}", where=self.name,
                hint="start the server, or check the address and the stream",
            ) from None  # fmt: skip
        return [stream.decode() for stream in self.streams]

    def _create_groups(self) -> None:
        """Create the consumer groups that are missing, and note streams that were deleted since they were read.

        A new stream may begin with ids below that of the latest entry that was read. Its entries are new all the same.
        """
        for stream in self.streams:
            try:
                self.client.xgroup_create(stream, self.group, id="0", mkstream=True)
            except self.error as error:
                if "BUSYGROUP" not in str(error):
                    raise
                continue
            if _id(self.client.xinfo_stream(stream)["last-generated-id"]) < self.last[stream]:
                self.last[stream] = _id(b"0-0")
                self.problem = f"the stream {stream.decode()} was deleted or lost, and has no new entry yet"

    def _claim_later(self) -> None:
        """Begin the next poll with the entries that were not acknowledged."""
        self.cursors: dict[bytes, bytes] = dict.fromkeys(self.streams, b"0-0")

    def poll(self, timeout: float) -> list[Arrival]:
        """Return new entries, waiting up to ``timeout`` seconds.

        After a start or a lost connection, entries that were not acknowledged come first. While the server does not
        answer, or a stream is deleted, the source waits.
        """
        try:
            if self.cursors:
                return self._claim()
            news, wait = dict.fromkeys(self.streams, b">"), max(1, int(timeout * 1000))
            found = self.client.xreadgroup(self.group, self.consumer, news, count=ENTRIES, block=wait)
        except self.error as error:
            self.problem, self.unreachable = f"Redis does not answer as it should: {error}", True
            self._claim_later()
            time.sleep(min(max(timeout, 0.05), 1.0))
            return []
        return self._arrivals(found)

    def _claim(self) -> list[Arrival]:
        """Return entries that were handed out to any consumer and not acknowledged, in order, and take them over.

        The group belongs to this state, which only this process has locked, so the consumers that had them no longer
        run. A deleted stream, and its group, are created again.
        """
        if self.problem:
            self.problem = ""
            self._create_groups()
        claimed = []
        for stream, begin in list(self.cursors.items()):
            cursor, entries, *_ = self.client.xautoclaim(
                stream, self.group, self.consumer, 0, start_id=begin, count=ENTRIES
            )
            self.cursors[stream] = cursor
            if cursor == b"0-0":
                del self.cursors[stream]
            claimed.append((stream, [entry for entry in entries if entry is not None and entry[1] is not None]))
        self.unreachable = False
        return self._arrivals(claimed)

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
            if new:
                self.last[stream], self.problem = _id(new[-1][0]), ""
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
                for begin in range(0, len(names), ENTRIES):
                    pipe.xack(stream, self.group, *names[begin : begin + ENTRIES])
            pipe.execute()
        except self.error:
            self._claim_later()  # they come again, and are recognised
        self.unacknowledged = {}

    def close(self) -> None:
        """Close the connection."""
        self.client.close()


def redis_client(url: str, **options: Any) -> Any:
    """Return a client of the Redis server at a URL; raise U254 for a URL that has no number as port or database."""
    redis = need("redis", for_="redis://")
    try:
        int(urlsplit(url).path.strip("/") or 0)
        return redis.Redis.from_url(url, **options)
    except ValueError:
        raise UsageError(
            "U254", "this is not the address of a Redis server", where=url, hint="redis://HOST:6379/0?stream=NAME"
        ) from None


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


def parse_redis(url: str) -> tuple[str, list[str], str, str]:
    """Return the server, streams, group and consumer in a URL; raise U254 if no stream is named."""
    server, _, query = url.partition("?")
    settings = parse_qs(query)
    streams = [name for value in settings.get("stream", []) for name in value.split(",")]
    if not streams:
        raise UsageError("U254", "a Redis address needs a stream", where=url, hint="redis://HOST:6379/0?stream=NAME")
    group, consumer = (settings.get(name, ["recassay"])[-1] for name in ("group", "consumer"))
    return server, streams, group, consumer


def redis_sink(url: str) -> Sink:
    """Return a function that adds events to a Redis stream, and one that closes the connection."""
    server, streams, *_ = parse_redis(url)
    client, redis = redis_client(server), need("redis", for_="redis://")

    def write(part: list[bytes]) -> None:
        pipe = client.pipeline(transaction=False)
        for line in part:
            pipe.xadd(streams[-1], {"event": line})
        try:
            pipe.execute()
        except redis.exceptions.RedisError as error:
            what = f"Redis does not answer as it should: {error}"
            raise UsageError("U254", what, where=url, hint="check the server, and write to a new stream") from None

    return write, client.close
