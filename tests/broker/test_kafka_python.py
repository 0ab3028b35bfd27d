"""kafka-python: what its users do."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType, NewPartitions, NewTopic
from kafka.errors import TopicAlreadyExistsError
from kafka.structs import OffsetAndMetadata
from tests.support.broker_process import BrokerProcess

PATIENCE_S = 30
CODECS = [None, "gzip", "snappy", "lz4", "zstd"]


@contextmanager
def producing(broker: BrokerProcess, **settings: Any) -> Iterator[KafkaProducer]:
    producer = KafkaProducer(bootstrap_servers=broker.address, **settings)
    try:
        yield producer
    finally:
        producer.close()


@contextmanager
def consuming(broker: BrokerProcess, *topics: str, **settings: Any) -> Iterator[KafkaConsumer]:
    fast = {"auto_offset_reset": "earliest", "session_timeout_ms": 6000, "heartbeat_interval_ms": 100}
    consumer = KafkaConsumer(*topics, bootstrap_servers=broker.address, **{**fast, **settings})
    for topic in topics:
        # A leader that joins before it knows a topic's partitions assigns none of them, and looks again minutes later.
        assert consumer.partitions_for_topic(topic)
    try:
        yield consumer
    finally:
        consumer.close()


def take(consumer: KafkaConsumer, count: int) -> list[Any]:
    found: list[Any] = []
    deadline = time.monotonic() + PATIENCE_S
    while len(found) < count:
        assert time.monotonic() < deadline, f"{len(found)} of {count}"
        for records in consumer.poll(timeout_ms=100).values():
            found += records
    return found


@pytest.fixture
def admin(broker: BrokerProcess) -> Iterator[KafkaAdminClient]:
    client = KafkaAdminClient(bootstrap_servers=broker.address)
    yield client
    client.close()


@pytest.mark.parametrize("codec", CODECS)
def test_records_come_back_as_they_were_sent(broker: BrokerProcess, topic: str, codec: str | None) -> None:
    """K1, K2: every codec, with keys, headers, timestamps and tombstones; a topic that nobody made."""
    now = int(time.time() * 1000)
    rows = [(b"k%d" % number, b"v" * number or None, [("h", b"%d" % number)]) for number in range(100)]
    with producing(broker, compression_type=codec, linger_ms=5, acks="all") as producer:
        sent = [
            producer.send(topic, key=key, value=value, headers=headers, timestamp_ms=now)
            for key, value, headers in rows
        ]
        assert [each.get(PATIENCE_S).offset for each in sent] == list(range(100))
    with consuming(broker, topic) as consumer:
        found = take(consumer, 100)
    assert [(each.key, each.value, each.headers) for each in found] == [
        (key, value, headers) for key, value, headers in rows
    ]
    assert {each.timestamp for each in found} == {now}


def test_offsets_by_time(broker: BrokerProcess, topic: str) -> None:
    """K2: the first record at or after a time, the beginning and the end."""
    now = int(time.time() * 1000)
    with producing(broker) as producer:
        for age in (3000, 2000, 1000):
            producer.send(topic, b"x", timestamp_ms=now - age).get(PATIENCE_S)
    place = TopicPartition(topic, 0)
    with consuming(broker) as consumer:
        assert consumer.offsets_for_times({place: now - 2500})[place].offset == 1
        assert consumer.offsets_for_times({place: now})[place] is None
        assert consumer.beginning_offsets([place]) == {place: 0}
        assert consumer.end_offsets([place]) == {place: 3}


def test_a_group_shares_a_topic(broker: BrokerProcess, admin: KafkaAdminClient, topic: str, group: str) -> None:
    """K1, K3: a second member joins, and every record is read."""
    admin.create_topics([NewTopic(topic, 4, 1)])
    with producing(broker) as producer:
        for partition in range(4):
            for _ in range(5):
                producer.send(topic, b"x", partition=partition)
        producer.flush()
    read: set[tuple[int, int]] = set()
    shares: dict[int, int] = {}
    done = threading.Event()

    def follow(number: int) -> None:
        with consuming(broker, topic, group_id=group) as consumer:
            while not done.is_set():
                for records in consumer.poll(timeout_ms=50).values():
                    read.update((each.partition, each.offset) for each in records)
                shares[number] = len(consumer.assignment())
                if shares == {0: 2, 1: 2} and len(read) == 20:
                    done.set()

    members = [threading.Thread(target=follow, args=(number,)) for number in range(2)]
    for each in members:
        each.start()
    done.wait(PATIENCE_S)
    done.set()
    for each in members:
        each.join()
    assert (shares, len(read)) == ({0: 2, 1: 2}, 20)


def test_a_group_goes_on_where_it_was(broker: BrokerProcess, topic: str, group: str) -> None:
    """K3: committed offsets with their text."""
    with producing(broker) as producer:
        for number in range(10):
            producer.send(topic, b"%d" % number)
        producer.flush()
    place = TopicPartition(topic, 0)
    settings = {"group_id": group, "enable_auto_commit": False}
    with consuming(broker, topic, **settings) as first:
        take(first, 1)
        first.commit({place: OffsetAndMetadata(4, "mine", -1)})
    with consuming(broker, topic, **settings) as second:
        found = second.committed(place, metadata=True)
        assert (found.offset, found.metadata) == (4, "mine")
        assert [each.value for each in take(second, 6)] == [b"%d" % number for number in range(4, 10)]


def test_topics_partitions_and_configs(admin: KafkaAdminClient, topic: str) -> None:
    """K1, K2: made, grown, configured, deleted."""
    admin.create_topics([NewTopic(topic, 2, 1, topic_configs={"retention.ms": "1234"})])
    with pytest.raises(TopicAlreadyExistsError):
        admin.create_topics([NewTopic(topic, 2, 1)])
    admin.create_partitions({topic: NewPartitions(3)})
    [described] = admin.describe_topics([topic])
    assert len(described["partitions"]) == 3
    assert config(admin, topic, "retention.ms") == "1234"
    admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic, configs={"retention.ms": "99"})])
    assert config(admin, topic, "retention.ms") == "99"
    admin.delete_topics([topic])
    assert topic not in admin.list_topics()


def config(admin: KafkaAdminClient, topic: str, name: str) -> str:
    answer = admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, topic)])
    value: str = answer["topic"][topic][name]["value"]
    return value


def test_records_and_groups_are_deleted(broker: BrokerProcess, admin: KafkaAdminClient, topic: str, group: str) -> None:
    """K1, K2, K3: up to an offset; a group that is empty."""
    with producing(broker) as producer:
        for _ in range(5):
            producer.send(topic, b"x").get(PATIENCE_S)
    admin.delete_records({TopicPartition(topic, 0): 3})
    with consuming(broker, topic, group_id=group) as consumer:
        assert take(consumer, 2)[0].offset == 3
        assert admin.delete_groups([group]) == {group: "NonEmptyGroupError"}
    assert admin.delete_groups([group]) == {group: "OK"}
