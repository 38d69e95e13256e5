"""Events from queues: topics of Kafka, and streams of Redis. A message or entry holds an event as JSON.

Kafka (or another server that speaks its protocol): one process assigns itself all partitions of its topics. It uses no
consumer group, because a group could move a partition to another process, without the exposures that are still open.
Positions are stored in the state.

Redis: streams are read as files are, each after the last entry that the state has. There is no consumer group, which
would keep the same position a second time, on the server.
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
BEFORE_ALL = "0-0"  # an id of Redis below that of every entry
EARLIEST = 10**12  # the milliseconds of 2001: ids from here on are times


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
        """Check whether the servers answer within ``timeout`` seconds; if not, store that in ``problem``."""
        try:
            self.consumer.list_topics(self.topics[0], timeout=timeout)
            self.problem, self.doubt, self.unreachable = "", "", False
        except self.kafka.KafkaException:
            self.problem, self.unreachable = f"the servers do not answer: {self.doubt}", True

    def close(self) -> None:
        """Close the connections to the servers."""
        self.consumer.close()


def kafka_client(kind: str, settings: Mapping[str, Any], where: str) -> Any:
    """Return a Kafka ``Consumer`` or ``Producer`` with settings; raise U254 if librdkafka refuses one of them.

    ``kind`` is the name of the class, and ``where`` the URL to name in the error.
    """
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

    Its URL is ``redis://HOST:PORT/DB?stream=NAME[,NAME]``.
    """

    def __init__(self, address: str) -> None:
        url, self.streams = parse_redis(address)
        self.error = need("redis", for_="a source redis://").exceptions.RedisError
        self.name = masked(f"{url}?stream={','.join(self.streams)}")
        self.client = redis_client(url, socket_timeout=ANSWER_WITHIN)
        # entries stay lists: a dict for each takes a third of the time
        self.client.set_response_callback("XREAD", lambda answer, **_: answer)

    def start(self, positions: Mapping[str, Any]) -> list[str]:
        """Continue each stream after the entry whose id is its stored position, and return the names of the streams."""
        self.last = {stream: positions.get(stream, BEFORE_ALL) for stream in self.streams}
        try:
            self._begin_deleted_again()
        except self.error as error:
            raise UsageError(
                "U254", f"Redis does not answer as it should: {error}", where=self.name,
                hint="start the server, or check the address and the stream",
            ) from None  # fmt: skip
        return self.streams

    def _begin_deleted_again(self) -> None:
        """Read a stream from its beginning if it was deleted since it was last read: all its entries are new.

        A new stream may count from small ids. Ids that are times never do: a stream whose latest entry is older than
        the one that was read is then the same stream, and its server lost the entries after that.
        """
        for stream, last in self.last.items():
            there = self.client.exists(stream)
            newest = _id(self.client.xinfo_stream(stream)["last-generated-id"]) if there else (0, 0)
            if newest < _id(last.encode()) and newest[0] < EARLIEST:
                self.last[stream] = BEFORE_ALL
                self.problem = f"the stream {stream} was deleted or lost, and has no new entry yet"

    def poll(self, timeout: float) -> list[Arrival]:
        """Return new entries, waiting for them up to ``timeout`` seconds.

        While the server does not answer, or a stream is deleted, the source waits.
        """
        try:
            answer = self.client.xread(self.last, count=ENTRIES, block=max(1, int(timeout * 1000)))
            if self.unreachable:
                self.problem, self.unreachable = "", False
            if timeout and not answer:
                self._begin_deleted_again()
        except self.error as error:
            self.problem, self.unreachable = f"Redis does not answer as it should: {error}", True
            time.sleep(min(max(timeout, 0.05), 1.0))
            return []
        arrivals = []
        for name, entries in answer.items() if isinstance(answer, dict) else answer or ():
            stream, self.problem = name.decode(), ""
            self.last[stream] = entries[-1][0].decode()
            arrivals.append(Arrival(stream, [_event(fields) for _, fields in entries], self.last[stream]))
        return arrivals

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
    return int(time), int(number)


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


def parse_redis(url: str) -> tuple[str, list[str]]:
    """Return the server and the streams in a URL; raise U254 if no stream is named."""
    server, _, query = url.partition("?")
    streams = [name for value in parse_qs(query).get("stream", []) for name in value.split(",")]
    if not streams:
        raise UsageError("U254", "a Redis address needs a stream", where=url, hint="redis://HOST:6379/0?stream=NAME")
    return server, streams


def redis_sink(url: str) -> Sink:
    """Return a function that adds events to a Redis stream, and one that closes the connection."""
    server, streams = parse_redis(url)
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
