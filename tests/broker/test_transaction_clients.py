"""Transactional producers of three clients: commits, aborts, offsets in transactions, and a broker that is killed.

Every topic is read twice: by a reader of what is committed, and by one of everything.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka import TopicPartition as AioPartition
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from kafka import KafkaProducer
from kafka import TopicPartition as PythonPartition
from kafka.structs import OffsetAndMetadata
from tests.broker.librdkafka import PATIENCE_S, create, take
from tests.support.broker_process import BrokerProcess

TRANSACTIONS = 6
ABORTED = (1, 4)
EACH = 3


def expected(*, committed: bool) -> list[bytes]:
    """The values, in order, of all transactions, or of those that were committed."""
    numbers = [number for number in range(TRANSACTIONS) if not committed or number not in ABORTED]
    return [b"%d-%d" % (number, each) for number in numbers for each in range(EACH)]


def read(broker: BrokerProcess, topic: str, *, committed: bool) -> list[bytes]:
    """All that there is, up to a last record outside of any transaction."""
    plain = Producer({"bootstrap.servers": broker.address})
    plain.produce(topic, b"the end")
    assert plain.flush(PATIENCE_S) == 0
    level = "read_committed" if committed else "read_uncommitted"
    consumer = Consumer({"bootstrap.servers": broker.address, "group.id": "nobody", "isolation.level": level})
    consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
    found: list[bytes] = []
    try:
        while True:
            [message] = take(consumer, 1)
            if message.value() == b"the end":
                return found
            found.append(message.value())
    finally:
        consumer.close()


def offset_of(broker: BrokerProcess, group: str) -> int:
    consumer = Consumer({"bootstrap.servers": broker.address, "group.id": group})
    try:
        [found] = consumer.committed([TopicPartition("elsewhere", 0)], PATIENCE_S)
        offset: int = found.offset
        return offset
    finally:
        consumer.close()


@pytest.fixture
def topics(admin: AdminClient, topic: str) -> str:
    create(admin, topic)
    if "elsewhere" not in admin.list_topics(timeout=PATIENCE_S).topics:
        create(admin, "elsewhere")
    return topic


def check(broker: BrokerProcess, topic: str, group: str) -> None:
    assert offset_of(broker, group) == TRANSACTIONS - 1, "the offset of the last committed transaction"
    assert read(broker, topic, committed=True) == expected(committed=True)
    found = read(broker, topic, committed=False)
    assert [each for each in found if each != b"the end"] == expected(committed=False)


def test_librdkafka(broker: BrokerProcess, topics: str, group: str) -> None:
    """K4: confluent-kafka, which adds partitions and offsets by requests."""
    consumer = Consumer({"bootstrap.servers": broker.address, "group.id": group})
    producer = Producer({"bootstrap.servers": broker.address, "transactional.id": topics, "linger.ms": 0})
    producer.init_transactions(PATIENCE_S)
    for number in range(TRANSACTIONS):
        producer.begin_transaction()
        for each in range(EACH):
            producer.produce(topics, b"%d-%d" % (number, each))
        offsets = [TopicPartition("elsewhere", 0, number)]
        producer.send_offsets_to_transaction(offsets, consumer.consumer_group_metadata(), PATIENCE_S)
        assert producer.flush(PATIENCE_S) == 0
        if number in ABORTED:
            producer.abort_transaction(PATIENCE_S)
        else:
            producer.commit_transaction(PATIENCE_S)
    consumer.close()
    check(broker, topics, group)


def test_librdkafka_is_fenced(broker: BrokerProcess, topics: str) -> None:
    """K4: what a producer left open when another one took over is never seen, and the first one is told."""
    settings = {"bootstrap.servers": broker.address, "transactional.id": topics, "linger.ms": 0}
    zombie, heir = Producer(settings), Producer(settings)
    zombie.init_transactions(PATIENCE_S)
    zombie.begin_transaction()
    zombie.produce(topics, b"zombie")
    assert zombie.flush(PATIENCE_S) == 0
    heir.init_transactions(PATIENCE_S)
    with pytest.raises(KafkaException):
        zombie.commit_transaction(PATIENCE_S)
    heir.begin_transaction()
    heir.produce(topics, b"heir")
    heir.commit_transaction(PATIENCE_S)
    assert read(broker, topics, committed=True) == [b"heir"]


def test_kafka_python(broker: BrokerProcess, topics: str, group: str) -> None:
    """K4: kafka-python, which adds partitions and offsets by requests."""
    producer = KafkaProducer(bootstrap_servers=broker.address, transactional_id=topics)
    try:
        producer.init_transactions()
        for number in range(TRANSACTIONS):
            producer.begin_transaction()
            for each in range(EACH):
                producer.send(topics, b"%d-%d" % (number, each))
            offsets = {PythonPartition("elsewhere", 0): OffsetAndMetadata(number, "", -1)}
            producer.send_offsets_to_transaction(offsets, group)
            producer.flush()
            if number in ABORTED:
                producer.abort_transaction()
            else:
                producer.commit_transaction()
    finally:
        producer.close(timeout=1)
    check(broker, topics, group)


def test_aiokafka(broker: BrokerProcess, topics: str, group: str) -> None:
    """K4: aiokafka, which adds partitions and offsets by requests."""

    async def transact() -> None:
        producer = AIOKafkaProducer(bootstrap_servers=broker.address, transactional_id=topics)
        await producer.start()
        try:
            for number in range(TRANSACTIONS):
                await producer.begin_transaction()
                for each in range(EACH):
                    await (await producer.send(topics, b"%d-%d" % (number, each)))
                await producer.send_offsets_to_transaction({AioPartition("elsewhere", 0): number}, group)
                await (producer.abort_transaction() if number in ABORTED else producer.commit_transaction())
        finally:
            await producer.stop()

    asyncio.run(asyncio.wait_for(transact(), PATIENCE_S))
    check(broker, topics, group)


def test_a_broker_that_is_killed_in_the_middle(own_broker: Callable[..., BrokerProcess]) -> None:
    """K4, A8: the producer carries on where it was: its open transaction is still its own, and is seen whole."""
    process = own_broker()
    create(AdminClient({"bootstrap.servers": process.address}), "t")
    settings: dict[str, Any] = {"bootstrap.servers": process.address, "transactional.id": "x", "linger.ms": 0}
    producer = Producer({**settings, "reconnect.backoff.max.ms": 100, "retry.backoff.ms": 20})
    producer.init_transactions(PATIENCE_S)
    for number in range(TRANSACTIONS):
        producer.begin_transaction()
        for each in range(EACH):
            producer.produce("t", b"%d-%d" % (number, each))
            if number == 2 and each == 1:
                assert producer.flush(PATIENCE_S) == 0
                process.kill()
                process.start()
        assert producer.flush(PATIENCE_S) == 0
        if number in ABORTED:
            producer.abort_transaction(PATIENCE_S)
        else:
            producer.commit_transaction(PATIENCE_S)
        if number == 3:
            process.kill()
            process.start()
    assert read(process, "t", committed=True) == expected(committed=True)
