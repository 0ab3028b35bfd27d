"""Records for a broker under measurement, through librdkafka."""

from __future__ import annotations

import time

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

_VALUE = bytes(range(256)) * 4  # 1 KiB that does not compress to nothing; it is not compressed here anyway.


def create(bootstrap: str, topic: str, partitions: int) -> float:
    """Make a topic; seconds until it was there."""
    began = time.monotonic()
    admin = AdminClient({"bootstrap.servers": bootstrap})
    [made] = admin.create_topics([NewTopic(topic, partitions, 1)], operation_timeout=600, request_timeout=600).values()
    made.result(600)
    return time.monotonic() - began


def produce(bootstrap: str, topic: str, partitions: int, size: int, *, batch_size: int = 1 << 20) -> float:
    """Send so many bytes in records of 1 KiB, spread over all partitions; seconds until all were acknowledged."""
    failures: list[object] = []
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "linger.ms": 50,
            "batch.size": batch_size,
            "queue.buffering.max.kbytes": 1 << 20,
            "queue.buffering.max.messages": 1_000_000,
        }
    )

    def note(error: object, _: object) -> None:
        if error is not None:
            failures.append(error)

    began = time.monotonic()
    for number in range(size // len(_VALUE)):
        while True:
            try:
                producer.produce(topic, _VALUE, partition=number % partitions, on_delivery=note)
                break
            except BufferError:
                producer.poll(0.05)
        if number % 1000 == 0:
            producer.poll(0)
    producer.flush(600)
    assert not failures, failures[0]
    return time.monotonic() - began
