"""librdkafka, through confluent-kafka: records and groups."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import (
    OFFSET_INVALID,
    TIMESTAMP_CREATE_TIME,
    TIMESTAMP_LOG_APPEND_TIME,
    Consumer,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import (
    AdminClient,
    OffsetSpec,
)
from tests.broker.librdkafka import CODECS, PATIENCE_S, consuming, create, describe, produce_all, read_all, take
from tests.support.broker_process import BrokerProcess

# Records


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("idempotent", [False, True])
def test_records_come_back_as_they_were_sent(broker: BrokerProcess, topic: str, codec: str, idempotent: bool) -> None:
    """K1, K2: every codec, with keys, headers, timestamps and tombstones; a topic that nobody made. The test of K1."""
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
        self.rebalances: list[Consumer] = []  # Whoever was given an assignment, each time.

    def add(self, **more: Any) -> Consumer:
        fast = {"auto.offset.reset": "earliest", "session.timeout.ms": 6000, "heartbeat.interval.ms": 100}
        member = Consumer({"bootstrap.servers": self._broker.address, **fast, **self._settings, **more})
        member.subscribe([self._topic], on_assign=lambda *_: self.rebalances.append(member))
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
    other = readers.add(**{"group.instance.id": "two"})
    readers.until(lambda: readers.shares() == [1, 1])
    share = first.assignment()[0].partition
    readers.rebalances.clear()
    readers.members.remove(first)
    first.close()  # A static member does not leave.
    again = readers.add(**{"group.instance.id": "one"})
    readers.until(lambda: readers.shares() == [1, 1])
    assert again.assignment()[0].partition == share
    assert sorted(each.group_instance_id for each in describe(admin, group).members) == ["one", "two"]
    assert describe(admin, group).state.name == "STABLE"
    assert readers.rebalances == [again], "The other one was disturbed."
    assert other.assignment()[0].partition == 1 - share
    readers.close()


def test_a_group_goes_on_where_it_was(broker: BrokerProcess, topic: str, group: str) -> None:
    """K3: committed offsets, and none for what was never read."""
    create(AdminClient({"bootstrap.servers": broker.address}), topic, partitions=2)
    produce_all(broker, topic, [{"value": b"%d" % number, "partition": 0} for number in range(10)])
    settings = {"group_id": group, "enable_auto_commit": False}
    with consuming(broker, **settings) as first:
        first.subscribe([topic])
        take(first, 4)
        first.commit(offsets=[TopicPartition(topic, 0, 4, metadata="mine")], asynchronous=False)
    with consuming(broker, **settings) as second:
        places = [TopicPartition(topic, 0), TopicPartition(topic, 1)]
        found, never = second.committed(places, timeout=PATIENCE_S)
        assert (found.offset, found.metadata) == (4, "mine")
        assert (never.offset, never.error) == (OFFSET_INVALID, None)
        second.subscribe([topic])
        assert [each.value() for each in take(second, 6)] == [b"%d" % number for number in range(4, 10)]
