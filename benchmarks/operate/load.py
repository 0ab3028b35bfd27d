"""Records for a broker under measurement, through librdkafka."""

from __future__ import annotations

import time
from collections import Counter

from confluent_kafka import KafkaError, Message, Producer
from confluent_kafka.admin import AdminClient, NewTopic

_VALUE = bytes(range(256)) * 4  # 1 KiB that does not compress to nothing; it is not compressed here anyway.
_QUEUE_KIB = 128 << 10  # Little: a record that waits here for minutes has a broker that stands still, not a slow one.


class NotAcknowledged(Exception):
    """Records that a broker never acknowledged: how many of which partition, and why."""

    def __init__(self, failures: Counter[tuple[int, str]], count: int) -> None:
        some = ", ".join(f"partition {number}: {each} {why}" for (number, why), each in failures.most_common(8))
        super().__init__(f"{failures.total()} of {count} records were not acknowledged: {some}")


def create(bootstrap: str, topic: str, partitions: int) -> float:
    """Make a topic; seconds until it was there."""
    began = time.monotonic()
    admin = AdminClient({"bootstrap.servers": bootstrap})
    [made] = admin.create_topics([NewTopic(topic, partitions, 1)], operation_timeout=600, request_timeout=600).values()
    made.result(600)
    return time.monotonic() - began


def produce(bootstrap: str, topic: str, partitions: int, size: int, *, batch_size: int = 1 << 20) -> float:
    """Send so many bytes in records of 1 KiB, spread over all partitions; seconds until all were acknowledged."""
    failures: Counter[tuple[int, str]] = Counter()
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "linger.ms": 50,
            "batch.size": batch_size,
            "queue.buffering.max.kbytes": _QUEUE_KIB,
            "queue.buffering.max.messages": 1_000_000,
        }
    )

    def note(error: KafkaError | None, message: Message) -> None:
        if error is not None:
            failures[message.partition() or 0, error.name()] += 1

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
    if failures:
        raise NotAcknowledged(failures, size // len(_VALUE))
    return time.monotonic() - began
