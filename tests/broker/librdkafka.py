"""librdkafka, through confluent-kafka, in few words."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    Message,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import (
    AdminClient,
    NewTopic,
)
from tests.support.broker_process import BrokerProcess

PATIENCE_S = 30
CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]


def produce_all(broker: BrokerProcess, topic: str, rows: list[dict[str, Any]], **settings: Any) -> list[Message]:
    """Produce and wait for every ack; the messages as they were acknowledged."""
    acked: list[Message] = []

    def told(error: Any, message: Message) -> None:
        assert error is None, error
        acked.append(message)

    producer = Producer({"bootstrap.servers": broker.address, "linger.ms": 5, **settings})
    for row in rows:
        producer.produce(topic, on_delivery=told, **row)
    assert producer.flush(PATIENCE_S) == 0
    return acked


@contextmanager
def consuming(broker: BrokerProcess, **settings: Any) -> Iterator[Consumer]:
    fast = {"auto.offset.reset": "earliest", "session.timeout.ms": 6000, "heartbeat.interval.ms": 100}
    names = {name.replace("_", "."): value for name, value in settings.items()}
    consumer = Consumer({"bootstrap.servers": broker.address, "group.id": "nobody", **fast, **names})
    try:
        yield consumer
    finally:
        consumer.close()


def take(consumer: Consumer, count: int) -> list[Message]:
    """So many messages."""
    found: list[Message] = []
    deadline = time.monotonic() + PATIENCE_S
    while len(found) < count:
        assert time.monotonic() < deadline, f"{len(found)} of {count}"
        for message in consumer.consume(count - len(found), 0.1):
            assert message.error() is None, message.error()
            found.append(message)
    return found


def read_all(broker: BrokerProcess, topic: str, count: int, partition: int = 0) -> list[Message]:
    with consuming(broker) as consumer:
        consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING)])
        return take(consumer, count)


def create(admin: AdminClient, topic: str, partitions: int = 1, **configs: str) -> None:
    named = {name.replace("_", "."): value for name, value in configs.items()}
    admin.create_topics([NewTopic(topic, partitions, 1, config=named)])[topic].result()


def describe(admin: AdminClient, group: str) -> Any:
    return admin.describe_consumer_groups([group])[group].result()
