"""Events from a Kafka server, or another that speaks its protocol: each message is an event as JSON.

One process assigns itself all partitions of its topics. It uses no consumer group, because a group could move a
partition to another process, without the exposures that are still open. Positions are stored in the state.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from recassay.errors import UsageError
from recassay.live.sources.base import Arrival
from recassay.optional import need

AT_ONCE = 20_000
ANSWER_WITHIN = 10.0  # seconds


class KafkaSource:
    """A source that reads topics of a Kafka cluster: ``kafka://HOST:PORT[,HOST:PORT]/TOPIC[,TOPIC]``.

    Each partition of a topic is a partition of the source. ``config`` are further settings of librdkafka, such as those
    of authentication.
    """

    def __init__(self, servers: str, topics: list[str], config: Mapping[str, Any] | None = None) -> None:
        self.kafka = need("confluent_kafka", for_="a source kafka://")
        self.where, self.topics = f"{servers}/{','.join(topics)}", topics
        self.consumer = self.kafka.Consumer(
            {
                "bootstrap.servers": servers,
                "group.id": "recassay",  # librdkafka wants a name; offsets are never committed to the server
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "enable.partition.eof": False,
                "log_level": 0,
                **(config or {}),
            }
        )
        self.assigned: list[Any] = []

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
                    "U254", f"the servers do not answer: {error.args[0].str()}", where=self.where,
                    hint="start them, or check the address",
                ) from None  # fmt: skip
            if listed is None or listed.error is not None or not listed.partitions:
                raise UsageError("U254", f"there is no topic '{topic}'", where=self.where, hint="create it first")
            for number in sorted(listed.partitions):
                name = f"{topic}:{number}"
                offset = positions.get(name, self.kafka.OFFSET_BEGINNING)
                self.assigned.append(self.kafka.TopicPartition(topic, number, offset))
                names.append(name)
        self.consumer.assign(self.assigned)
        return names

    def poll(self, timeout: float) -> list[Arrival]:
        """Return new messages by partition, waiting up to ``timeout`` seconds; librdkafka handles network errors."""
        lines: dict[str, list[bytes]] = {}
        offsets: dict[str, int] = {}
        for message in self.consumer.consume(AT_ONCE, timeout):
            error = message.error()
            if error is not None:
                if error.code() in (self.kafka.KafkaError._PARTITION_EOF, self.kafka.KafkaError._ALL_BROKERS_DOWN):
                    continue
                if error.fatal() or not (error.retriable() or error.code() < 0):
                    raise UsageError(
                        "U254", f"the servers refuse: {error.str()}", where=self.where, hint="see the message"
                    )
                continue
            name = f"{message.topic()}:{message.partition()}"
            lines.setdefault(name, []).append(message.value() or b"")
            offsets[name] = message.offset() + 1
        return [Arrival(name, content, offsets[name]) for name, content in lines.items()]

    def ended(self) -> list[str]:
        """Return an empty list, because a topic does not end."""
        return []

    def behind(self) -> int | None:
        """Return the number of unread messages that librdkafka knows of without a request; None if unknown."""
        waiting = 0
        for own, now in zip(self.assigned, self.consumer.position(self.assigned), strict=True):
            _, high = self.consumer.get_watermark_offsets(own, cached=True)
            if high < 0 or now.offset < 0:
                return None
            waiting += max(0, high - now.offset)
        return waiting

    def acknowledge(self) -> None:
        """Do nothing, because positions are stored in the state."""

    def close(self) -> None:
        """Close the connections to the servers."""
        self.consumer.close()
