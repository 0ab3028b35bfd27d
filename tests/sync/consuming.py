"""A real consumer: librdkafka, as a member of a group."""

from __future__ import annotations

from confluent_kafka import Consumer, KafkaException, TopicPartition

PARTITIONS = 3


def consume(address: str, topic: str, group: str, count: int | None) -> list[bytes]:
    """Read so many records as a member of the group, or all there are, and commit exactly those."""
    settings = {"bootstrap.servers": address, "group.id": group, "auto.offset.reset": "earliest"}
    settings |= {"enable.auto.commit": "false", "enable.partition.eof": "true", "session.timeout.ms": "6000"}
    consumer = Consumer(settings)
    values: list[bytes] = []
    next_offsets: dict[int, int] = {}
    ended: set[int] = set()
    try:
        consumer.subscribe([topic])
        while len(ended) < PARTITIONS and (count is None or len(values) < count):
            message = consumer.poll(30)
            assert message is not None, "the consumer waits for nothing"
            partition = message.partition()
            assert partition is not None
            if message.error() is not None:
                if message.error().name() != "_PARTITION_EOF":
                    raise KafkaException(message.error())
                ended.add(partition)
                continue
            values.append(message.value() or b"")
            next_offsets[partition] = (message.offset() or 0) + 1
        places = [TopicPartition(topic, partition, offset) for partition, offset in next_offsets.items()]
        if places:
            consumer.commit(offsets=places, asynchronous=False)
        return values
    finally:
        consumer.close()
