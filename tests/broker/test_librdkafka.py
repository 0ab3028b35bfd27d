"""librdkafka, through confluent-kafka: what its users do."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from confluent_kafka import (
    OFFSET_BEGINNING,
    TIMESTAMP_CREATE_TIME,
    TIMESTAMP_LOG_APPEND_TIME,
    Consumer,
    ConsumerGroupTopicPartitions,
    KafkaException,
    Message,
    Producer,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    ResourcePatternType,
    ResourceType,
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


@pytest.fixture
def admin(broker: BrokerProcess) -> AdminClient:
    return AdminClient({"bootstrap.servers": broker.address})


def create(admin: AdminClient, topic: str, partitions: int = 1, **configs: str) -> None:
    named = {name.replace("_", "."): value for name, value in configs.items()}
    admin.create_topics([NewTopic(topic, partitions, 1, config=named)])[topic].result()


# Records


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("idempotent", [False, True])
def test_records_come_back_as_they_were_sent(broker: BrokerProcess, topic: str, codec: str, idempotent: bool) -> None:
    """K1, K2: every codec, with keys, headers, timestamps and tombstones; a topic that nobody made."""
    now = int(time.time() * 1000)
    rows = [
        {
            "key": b"k%d" % number,
            "value": b"v" * number,
            "headers": [("h", b"%d" % number), ("n", None)],
            "timestamp": now,
        }
        for number in range(200)
    ]
    rows.append({"key": b"gone", "value": None})
    settings = {"compression.type": codec, "enable.idempotence": idempotent}
    acked = produce_all(broker, topic, rows, **settings)
    assert [each.offset() for each in acked] == list(range(201))
    found = read_all(broker, topic, 201)
    assert [(each.key(), each.value()) for each in found] == [(row["key"], row["value"]) for row in rows]
    assert [each.headers() for each in found[:200]] == [row["headers"] for row in rows[:200]]
    assert {each.timestamp() for each in found[:200]} == {(TIMESTAMP_CREATE_TIME, now)}


def test_log_append_time(broker: BrokerProcess, admin: AdminClient, topic: str) -> None:
    """K2: the broker's, in the ack and in the record."""
    create(admin, topic, message_timestamp_type="LogAppendTime")
    [acked] = produce_all(broker, topic, [{"value": b"x", "timestamp": 5}])
    [found] = read_all(broker, topic, 1)
    assert found.timestamp()[0] == TIMESTAMP_LOG_APPEND_TIME
    assert found.timestamp() == acked.timestamp()


def test_acks_0_and_1(broker: BrokerProcess, topic: str) -> None:
    """K2: both are delivered."""
    produce_all(broker, topic, [{"value": b"quiet"}] * 10, acks=0)
    produce_all(broker, topic, [{"value": b"loud"}] * 10, acks=1)
    assert len(read_all(broker, topic, 20)) == 20


def test_a_message_that_is_too_large_is_told_apart(broker: BrokerProcess, admin: AdminClient, topic: str) -> None:
    """K2: the others of the same producer arrive."""
    create(admin, topic, max_message_bytes="2000")
    told: dict[bytes, Any] = {}
    producer = Producer({"bootstrap.servers": broker.address})
    for value in (b"small", b"x" * 5000, b"last"):
        producer.produce(topic, value, on_delivery=lambda error, message: told.update({message.value(): error}))
        assert producer.flush(PATIENCE_S) == 0
    assert told[b"x" * 5000].name() == "MSG_SIZE_TOO_LARGE"
    assert [told[b"small"], told[b"last"]] == [None, None]


def test_offsets_by_time(broker: BrokerProcess, admin: AdminClient, topic: str) -> None:
    """K2: for consumers and for operators."""
    now = int(time.time() * 1000)
    produce_all(
        broker, topic, [{"value": b"x", "timestamp": now - age} for age in (3000, 2000, 1000)], **{"linger.ms": 0}
    )
    with consuming(broker) as consumer:
        [found] = consumer.offsets_for_times([TopicPartition(topic, 0, now - 2000)], timeout=PATIENCE_S)
        assert found.offset == 1
        assert consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=PATIENCE_S) == (0, 3)
    place = TopicPartition(topic, 0)
    for spec, offset in [(OffsetSpec.earliest(), 0), (OffsetSpec.latest(), 3), (OffsetSpec.max_timestamp(), 2)]:
        assert admin.list_offsets({place: spec})[place].result().offset == offset


# Groups


class Readers:
    """Members of one group, with what each was assigned and has read."""

    def __init__(self, broker: BrokerProcess, group: str, topic: str, strategy: str) -> None:
        self._broker = broker
        self._settings = {"group.id": group, "partition.assignment.strategy": strategy, "enable.auto.commit": False}
        self._topic = topic
        self.members: list[Consumer] = []
        self.read: list[tuple[int, int]] = []

    def add(self, **more: Any) -> Consumer:
        fast = {"auto.offset.reset": "earliest", "session.timeout.ms": 6000, "heartbeat.interval.ms": 100}
        member = Consumer({"bootstrap.servers": self._broker.address, **fast, **self._settings, **more})
        member.subscribe([self._topic])
        self.members.append(member)
        return member

    def until(self, done: Callable[[], bool]) -> None:
        """Let all members go on until it is so."""
        deadline = time.monotonic() + PATIENCE_S
        while not done():
            assert time.monotonic() < deadline, [len(each.assignment()) for each in self.members]
            for member in self.members:
                message = member.poll(0.02)
                if message is not None and message.error() is None:
                    self.read.append((message.partition(), message.offset()))
                    member.commit(message=message, asynchronous=True)

    def shares(self) -> list[int]:
        return sorted(len(each.assignment()) for each in self.members)

    def close(self) -> None:
        for member in self.members:
            member.close()


@pytest.mark.parametrize("strategy", ["range", "roundrobin", "cooperative-sticky"])
def test_a_group_shares_a_topic(
    broker: BrokerProcess, admin: AdminClient, topic: str, group: str, strategy: str
) -> None:
    """K1, K3: members come and go, and every record is read, eagerly and cooperatively."""
    create(admin, topic, partitions=4)
    producer = Producer({"bootstrap.servers": broker.address})
    for partition in range(4):
        for _ in range(5):
            producer.produce(topic, b"x", partition=partition)
    assert producer.flush(PATIENCE_S) == 0
    readers = Readers(broker, group, topic, strategy)
    readers.add()
    readers.until(lambda: readers.shares() == [4])
    readers.add()
    readers.until(lambda: readers.shares() == [2, 2])
    readers.members.pop(0).close()
    readers.until(lambda: readers.shares() == [4] and len(set(readers.read)) == 20)
    readers.close()


def test_a_static_member_keeps_its_share(broker: BrokerProcess, admin: AdminClient, topic: str, group: str) -> None:
    """K3: it comes back under its instance id without a rebalance."""
    create(admin, topic, partitions=2)
    readers = Readers(broker, group, topic, "range")
    first = readers.add(**{"group.instance.id": "one"})
    readers.add(**{"group.instance.id": "two"})
    readers.until(lambda: readers.shares() == [1, 1])
    share = first.assignment()[0].partition
    generation = describe(admin, group)
    readers.members.remove(first)
    first.close()  # A static member does not leave.
    again = readers.add(**{"group.instance.id": "one"})
    readers.until(lambda: readers.shares() == [1, 1])
    assert again.assignment()[0].partition == share
    assert sorted(each.group_instance_id for each in describe(admin, group).members) == ["one", "two"]
    assert generation.state == describe(admin, group).state
    readers.close()


def describe(admin: AdminClient, group: str) -> Any:
    return admin.describe_consumer_groups([group])[group].result()


def test_a_group_goes_on_where_it_was(broker: BrokerProcess, topic: str, group: str) -> None:
    """K3: committed offsets, and none for what was never read."""
    produce_all(broker, topic, [{"value": b"%d" % number} for number in range(10)])
    settings = {"group_id": group, "enable_auto_commit": False}
    with consuming(broker, **settings) as first:
        first.subscribe([topic])
        take(first, 4)
        first.commit(offsets=[TopicPartition(topic, 0, 4, metadata="mine")], asynchronous=False)
    with consuming(broker, **settings) as second:
        [found] = second.committed([TopicPartition(topic, 0)], timeout=PATIENCE_S)
        assert (found.offset, found.metadata) == (4, "mine")
        second.subscribe([topic])
        assert [each.value() for each in take(second, 6)] == [b"%d" % number for number in range(4, 10)]


# Operators


def test_topics_and_partitions(admin: AdminClient, topic: str) -> None:
    """K1, K2: made, described, grown, deleted; the second one of a name is refused."""
    create(admin, topic, partitions=2, retention_ms="1000000")
    with pytest.raises(KafkaException, match="TOPIC_ALREADY_EXISTS"):
        create(admin, topic)
    admin.create_partitions([NewPartitions(topic, 5)])[topic].result()
    described = admin.describe_topics(TopicCollection([topic]))[topic].result()
    assert len(described.partitions) == 5
    assert described.topic_id is not None
    admin.delete_topics([topic])[topic].result()
    assert topic not in admin.list_topics(timeout=PATIENCE_S).topics


def test_configs(admin: AdminClient, topic: str) -> None:
    """K1, K2: described and changed; the broker's too are shown."""
    create(admin, topic)
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
    entry = ConfigEntry("retention.ms", "4321", incremental_operation=AlterConfigOpType.SET)
    changed = ConfigResource(ConfigResource.Type.TOPIC, topic, incremental_configs=[entry])
    admin.incremental_alter_configs([changed])[changed].result()
    assert admin.describe_configs([resource])[resource].result()["retention.ms"].value == "4321"
    broker = ConfigResource(ConfigResource.Type.BROKER, "0")
    assert admin.describe_configs([broker])[broker].result()["group.initial.rebalance.delay.ms"].value == "0"


def test_records_are_deleted(broker: BrokerProcess, admin: AdminClient, topic: str) -> None:
    """K1, K2: up to an offset."""
    produce_all(broker, topic, [{"value": b"x"}] * 5, **{"linger.ms": 0})
    place = TopicPartition(topic, 0, 3)
    assert admin.delete_records([place])[place].result().low_watermark == 3
    assert [each.offset() for each in read_all(broker, topic, 2)] == [3, 4]


def test_group_administration(broker: BrokerProcess, admin: AdminClient, topic: str, group: str) -> None:
    """K1, K3: listed, described, offsets shown, altered and deleted with the group."""
    create(admin, topic)
    place = TopicPartition(topic, 0, 7)
    altered = admin.alter_consumer_group_offsets([ConsumerGroupTopicPartitions(group, [place])])[group].result()
    assert altered.topic_partitions[0].error is None
    shown = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)])[group].result()
    assert [(each.topic, each.offset) for each in shown.topic_partitions] == [(topic, 7)]
    assert group in {each.group_id for each in admin.list_consumer_groups().result().valid}
    assert describe(admin, group).state.name == "EMPTY"
    with consuming(broker, group_id=group) as consumer:
        consumer.subscribe([topic])
        produce_all(broker, topic, [{"value": b"x"}] * 8)
        take(consumer, 1)
        found = describe(admin, group)
        assert (found.state.name, len(found.members)) == ("STABLE", 1)
        assert [each.topic for each in found.members[0].assignment.topic_partitions] == [topic]
        with pytest.raises(KafkaException, match="NON_EMPTY_GROUP"):
            admin.delete_consumer_groups([group])[group].result()
    admin.delete_consumer_groups([group])[group].result()
    assert group not in {each.group_id for each in admin.list_consumer_groups().result().valid}


def test_the_cluster_and_its_acls(broker: BrokerProcess, admin: AdminClient) -> None:
    """K1: one node; no authorizer."""
    found = admin.describe_cluster(include_authorized_operations=True).result()
    assert [(node.id, node.port) for node in found.nodes] == [(0, broker.port)]
    assert found.authorized_operations
    pattern = ResourcePatternType.LITERAL
    binding = AclBinding(ResourceType.TOPIC, "t", pattern, "User:a", "*", AclOperation.READ, AclPermissionType.ALLOW)
    with pytest.raises(KafkaException, match="SECURITY_DISABLED"):
        admin.create_acls([binding])[binding].result()
