"""Events from a Kafka server, or another that speaks its protocol: each message is an event as JSON.

One process assigns itself all partitions of its topics. It uses no consumer group, because a group could move a
partition to another process, without the exposures that are still open. Positions are stored in the state.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qs

from recassay.errors import UsageError
from recassay.live.sources import Arrival, Source
from recassay.optional import need

AT_ONCE = 20_000
ANSWER_WITHIN = 10.0  # seconds
DELIVERED_WITHIN = 300  # seconds; after these librdkafka gives an event up


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
        self.consumer = open_client("Consumer", settings, self.name)
        self.assigned: list[Any] = []

    def _doubt(self, error: Any) -> None:
        self.doubt = error.str()

    def start(self, positions: Mapping[str, Any]) -> list[str]:
        """Assign all partitions to this process, each from its stored position, and return their names.

        Raise U254 if the servers do not answer or a topic does not exist.
        """
        names = []
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
                self.assigned.append(self.kafka.TopicPartition(topic, number, offset))
                names.append(name)
        self.consumer.assign(self.assigned)
        return names

    def poll(self, timeout: float) -> list[Arrival]:
        """Return new messages by partition, waiting up to ``timeout`` seconds; librdkafka handles network errors."""
        if self.doubt and timeout:
            self._ask(timeout)
        lines: dict[str, list[bytes]] = {}
        offsets: dict[str, int] = {}
        for message in self.consumer.consume(AT_ONCE, timeout):
            error = message.error()
            if error is not None:
                if error.code() in (self.kafka.KafkaError._PARTITION_EOF, self.kafka.KafkaError._ALL_BROKERS_DOWN):
                    continue
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


def open_client(kind: str, settings: Mapping[str, Any], where: str) -> Any:
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


def kafka_sink(url: str) -> tuple[Callable[[list[bytes]], None], Callable[[], None]]:
    """Return a function that sends events to a Kafka topic, and one that closes the connection.

    All events of a user go to the same partition of the topic.
    """
    servers, topic, config = parse_kafka(url)
    producer = open_client("Producer", {"bootstrap.servers": servers, "linger.ms": 20, "log_level": 0, **config}, url)
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
