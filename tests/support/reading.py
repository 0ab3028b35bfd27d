"""Whole topics as they are read in both isolation levels, and what the two must have in common."""

from __future__ import annotations

import time

from confluent_kafka import Consumer, IsolationLevel, KafkaError, KafkaException, Message, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

_SECONDS_MAX = 60
_MOVES = KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.LEADER_NOT_AVAILABLE  # This client asks once.

Place = tuple[int, int]  # Partition and offset.
Found = dict[Place, tuple[bytes | None, bytes]]  # Key and value, in order of offsets within a partition.


def read_whole(address: str, topic: str, partitions: int, *, committed: bool) -> Found:
    """Everything from the first offset there is to the end of each partition."""
    found = read_messages(address, topic, partitions, committed=committed)
    return {place: (each.key(), each.value()) for place, each in found.items()}


def read_messages(address: str, topic: str, partitions: int, *, committed: bool) -> dict[Place, Message]:
    """The same, with all that a client is told of each."""
    level = "read_committed" if committed else "read_uncommitted"
    settings = {"isolation.level": level, "auto.offset.reset": "earliest", "enable.partition.eof": True}
    consumer = Consumer(
        {"bootstrap.servers": address, "group.id": "nobody", "log_level": 2, "fetch.wait.max.ms": 50, **settings}
    )
    consumer.assign([TopicPartition(topic, number, 0) for number in range(partitions)])
    found: dict[Place, Message] = {}
    left = set(range(partitions))
    deadline = time.monotonic() + _SECONDS_MAX
    try:
        while left:
            assert time.monotonic() < deadline, f"partitions {sorted(left)} of {topic} were not read to their end"
            for message in consumer.consume(1000, 0.02):
                error = message.error()
                if error is None:
                    found[message.partition(), message.offset()] = message
                elif error.code() == KafkaError._PARTITION_EOF:
                    left.discard(message.partition())
    finally:
        consumer.close()
    return found


def wait_until_ended(address: str, topic: str, partitions: int) -> None:
    """Until no transaction is open: what is committed reaches as far as what is written."""
    admin = AdminClient({"bootstrap.servers": address, "log_level": 2})
    asked = {TopicPartition(topic, number): OffsetSpec.latest() for number in range(partitions)}
    deadline = time.monotonic() + _SECONDS_MAX
    ends: list[list[int]] = []
    while True:
        try:
            ends = [
                [found.result().offset for found in admin.list_offsets(asked, isolation_level=level).values()]
                for level in (IsolationLevel.READ_UNCOMMITTED, IsolationLevel.READ_COMMITTED)
            ]
            if ends[0] == ends[1]:
                return
        except KafkaException as failure:
            if failure.args[0].code() not in _MOVES:
                raise
        assert time.monotonic() < deadline, f"a transaction in {topic} stays open: {ends}"
        time.sleep(0.05)


def read_twice(address: str, topic: str, partitions: int) -> tuple[Found, Found]:
    """What is committed, and everything: the first is part of the second, record by record."""
    committed = read_whole(address, topic, partitions, committed=True)
    everything = read_whole(address, topic, partitions, committed=False)
    assert committed.items() <= everything.items()
    return committed, everything


def values_of(found: Found, partition: int) -> list[bytes]:
    """The values of one partition in their order."""
    return [value for (number, _), (_, value) in sorted(found.items()) if number == partition]
