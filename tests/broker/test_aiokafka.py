"""aiokafka: what its users do."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRebalanceListener, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import MessageSizeTooLargeError
from tests.support.broker_process import BrokerProcess

PATIENCE_S = 30
CODECS = [None, "gzip", "snappy", "lz4", "zstd"]


@asynccontextmanager
async def producing(broker: BrokerProcess, **settings: Any) -> AsyncIterator[AIOKafkaProducer]:
    producer = AIOKafkaProducer(bootstrap_servers=broker.address, **settings)
    await producer.start()
    try:
        yield producer
    finally:
        await producer.stop()


@asynccontextmanager
async def consuming(broker: BrokerProcess, *topics: str, **settings: Any) -> AsyncIterator[AIOKafkaConsumer]:
    fast = {"auto_offset_reset": "earliest", "session_timeout_ms": 6000, "heartbeat_interval_ms": 100}
    consumer = AIOKafkaConsumer(*topics, bootstrap_servers=broker.address, **{**fast, **settings})
    await consumer.start()
    try:
        yield consumer
    finally:
        await consumer.stop()


async def take(consumer: AIOKafkaConsumer, count: int) -> list[Any]:
    async def records() -> list[Any]:
        return [await consumer.getone() for _ in range(count)]

    return await asyncio.wait_for(records(), PATIENCE_S)


@asynccontextmanager
async def administering(broker: BrokerProcess) -> AsyncIterator[AIOKafkaAdminClient]:
    admin = AIOKafkaAdminClient(bootstrap_servers=broker.address)
    await admin.start()
    try:
        yield admin
    finally:
        await admin.close()


def run(work: Callable[[], Awaitable[None]]) -> None:
    async def main() -> None:
        await work()

    asyncio.run(main())


@pytest.mark.parametrize("codec", CODECS)
def test_records_come_back_as_they_were_sent(broker: BrokerProcess, topic: str, codec: str | None) -> None:
    """K1, K2: every codec, idempotent, with keys, headers, timestamps and tombstones; a topic that nobody made."""
    now = int(time.time() * 1000)
    rows = [(b"k%d" % number, b"v" * number or None, (("h", b"%d" % number),)) for number in range(100)]

    async def work() -> None:
        async with producing(broker, compression_type=codec, linger_ms=5, enable_idempotence=True) as producer:
            sent = [
                await producer.send(topic, key=key, value=value, headers=list(headers), timestamp_ms=now)
                for key, value, headers in rows
            ]
            assert [(await each).offset for each in sent] == list(range(100))
        async with consuming(broker, topic) as consumer:
            found = await take(consumer, 100)
        assert [(each.key, each.value, tuple(each.headers)) for each in found] == rows
        assert {each.timestamp for each in found} == {now}

    run(work)


class Readers(ConsumerRebalanceListener):
    """Members of one group, and word of whatever happens to them."""

    def __init__(self) -> None:
        self.read: set[tuple[int, int]] = set()
        self._changed = asyncio.Event()

    async def on_partitions_revoked(self, revoked: list[TopicPartition]) -> None:
        self._changed.set()

    async def on_partitions_assigned(self, assigned: list[TopicPartition]) -> None:
        self._changed.set()

    async def follow(self, consumer: AIOKafkaConsumer) -> None:
        async for record in consumer:
            self.read.add((record.partition, record.offset))
            self._changed.set()

    async def until(self, done: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not done():
                self._changed.clear()
                await self._changed.wait()


def test_a_group_shares_a_topic(broker: BrokerProcess, topic: str, group: str) -> None:
    """K1, K3: a second member joins and leaves, and every record is read."""

    async def work() -> None:
        async with administering(broker) as admin:
            await admin.create_topics([NewTopic(topic, 4, 1)])
        async with producing(broker) as producer:
            for partition in range(4):
                for _ in range(5):
                    await producer.send_and_wait(topic, b"x", partition=partition)
        readers = Readers()
        async with consuming(broker, group_id=group) as first:
            first.subscribe([topic], listener=readers)
            following = asyncio.create_task(readers.follow(first))
            await readers.until(lambda: len(first.assignment()) == 4)
            async with consuming(broker, group_id=group) as second:
                second.subscribe([topic], listener=readers)
                also_following = asyncio.create_task(readers.follow(second))
                await readers.until(lambda: len(first.assignment()) == len(second.assignment()) == 2)
                also_following.cancel()
            await readers.until(lambda: len(first.assignment()) == 4)
            await readers.until(lambda: len(readers.read) == 20)
            following.cancel()

    run(work)


def test_a_group_goes_on_where_it_was(broker: BrokerProcess, topic: str, group: str) -> None:
    """K3: committed offsets with their text."""

    async def work() -> None:
        async with producing(broker) as producer:
            for number in range(10):
                await producer.send_and_wait(topic, b"%d" % number)
        settings = {"group_id": group, "enable_auto_commit": False}
        place = TopicPartition(topic, 0)
        async with consuming(broker, topic, **settings) as first:
            await take(first, 4)
            await first.commit({place: (4, "mine")})
        async with consuming(broker, topic, **settings) as second:
            assert await second.committed(place) == 4
            async with administering(broker) as admin:
                assert (await admin.list_consumer_group_offsets(group))[place] == (4, "mine")
            assert [each.value for each in await take(second, 6)] == [b"%d" % number for number in range(4, 10)]

    run(work)


def test_offsets_and_limits(broker: BrokerProcess, topic: str) -> None:
    """K2: by time, beginning and end; a message that the topic does not take is refused."""

    async def work() -> None:
        now = int(time.time() * 1000)
        async with administering(broker) as admin:
            await admin.create_topics([NewTopic(topic, 1, 1, topic_configs={"max.message.bytes": "2000"})])
        async with producing(broker) as producer:
            for age in (3000, 2000, 1000):
                await producer.send_and_wait(topic, b"x", timestamp_ms=now - age)
            with pytest.raises(MessageSizeTooLargeError):
                await producer.send_and_wait(topic, b"x" * 5000)
        place = TopicPartition(topic, 0)
        async with consuming(broker, topic) as consumer:
            assert (await consumer.offsets_for_times({place: now - 2500}))[place].offset == 1
            assert await consumer.beginning_offsets([place]) == {place: 0}
            assert await consumer.end_offsets([place]) == {place: 3}

    run(work)


def test_administration(broker: BrokerProcess, topic: str, group: str) -> None:
    """K1: topics, configs and groups."""

    async def work() -> None:
        async with administering(broker) as admin:
            await admin.create_topics([NewTopic(topic, 2, 1, topic_configs={"retention.ms": "1234"})])
            [described] = await admin.describe_topics([topic])
            assert len(described["partitions"]) == 2
            [answer] = await admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, topic)])
            [resource] = answer.resources
            assert ("retention.ms", "1234") in {each[:2] for each in resource[4]}
            async with consuming(broker, topic, group_id=group):
                assert (group, "consumer") in {each[:2] for each in await admin.list_consumer_groups()}
            await admin.delete_topics([topic])
            assert topic not in await admin.list_topics()

    run(work)
