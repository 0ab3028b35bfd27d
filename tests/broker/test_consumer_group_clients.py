"""librdkafka's consumers of both protocols in one group: every record once, whatever the group moves through."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient
from tests.broker.conftest import FAST as COMMON
from tests.broker.librdkafka import PATIENCE_S, create, describe, produce_all
from tests.support.broker_process import BrokerProcess

FAST = (
    "group.consumer.min.heartbeat.interval.ms=50",
    "group.consumer.heartbeat.interval.ms=50",
    "group.consumer.min.session.timeout.ms=6000",
    "group.consumer.session.timeout.ms=6000",
)
PARTITIONS = 4


class Readers:
    """Consumers of one group, polled in turn. What one has read is committed before its partitions go to another."""

    def __init__(self, broker: BrokerProcess, topic: str, group: str) -> None:
        self._broker = broker
        self._topic = topic
        self._group = group
        self._live: dict[str, Consumer] = {}
        self._places = defaultdict[str, dict[tuple[str, int], int]](dict)  # What is read and not yet committed.
        self.read: Counter[bytes] = Counter()
        self.lost: list[str] = []
        self.revoked: list[str] = []
        self._produced = 0

    def join(self, name: str, **settings: str) -> None:
        fast: dict[str, Any] = {
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "fetch.wait.max.ms": 20,
            "log_level": 2,
        }
        if settings.get("group.protocol") != "consumer":
            fast |= {"session.timeout.ms": 6000, "heartbeat.interval.ms": 50}
        consumer = Consumer({"bootstrap.servers": self._broker.address, "group.id": self._group, **fast, **settings})

        def revoked(consumer: Consumer, partitions: list[TopicPartition]) -> None:
            self.revoked.append(name)
            numbers = {each.partition for each in partitions}
            while name in self._live and not self._commit(name, numbers):
                pass  # Its epoch has just grown: it hears of it, and tries again.

        consumer.subscribe([self._topic], on_revoke=revoked, on_lost=lambda *_: self.lost.append(name))
        self._live[name] = consumer

    def _commit(self, name: str, partitions: set[int]) -> bool:
        """Commit what has been read of these partitions, also of those that librdkafka no longer calls assigned; False
        while the group has gone on without this member."""
        places = self._places[name]
        read = [TopicPartition(*where, offset) for where, offset in places.items() if where[1] in partitions]
        try:
            if read:
                self._live[name].commit(offsets=read, asynchronous=False)
        except KafkaException as failure:
            if failure.args[0].code() in (KafkaError.STALE_MEMBER_EPOCH, KafkaError.ILLEGAL_GENERATION):
                return False
            raise
        for each in read:
            del places[each.topic, each.partition]
        return True

    def leave(self, name: str) -> None:
        """What was read is committed first: while a group moves on, there is no good moment for it in a close."""
        self.until(lambda: self._commit(name, set(range(PARTITIONS))), f"{name}'s commit")
        self._live.pop(name).close()

    def poll(self) -> None:
        for name, consumer in self._live.items():
            for message in consumer.consume(100, 0.01):
                assert message.error() is None, message.error()
                self.read[message.value()] += 1
                self._places[name][message.topic(), message.partition()] = message.offset() + 1

    def until(self, done: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not done():
            assert time.monotonic() < deadline, f"{what}: {self.shares()}, {len(self.read)} of {self._produced}"
            self.poll()

    def shares(self) -> dict[str, int]:
        return {name: len(consumer.assignment()) for name, consumer in self._live.items()}

    def partitions(self, name: str) -> list[int]:
        return sorted(each.partition for each in self._live[name].assignment())

    def settle(self, **shares: int) -> None:
        """Wait until everybody has so many partitions."""
        self.until(lambda: self.shares() == shares, f"shares {shares}")

    def produce(self, count: int) -> None:
        """Produce so many, and wait until they are read."""
        rows = [
            {"value": b"%d" % number, "partition": number % PARTITIONS}
            for number in range(self._produced, self._produced + count)
        ]
        produce_all(self._broker, self._topic, rows)
        self._produced += count
        self.until(lambda: len(self.read) == self._produced, "records")

    def close(self) -> None:
        for consumer in self._live.values():
            consumer.close()


@pytest.fixture(scope="module")
def fast_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    """One that tests may stop and kill, as long as they start it again."""
    with BrokerProcess(tmp_path_factory.mktemp("broker"), settings=[*COMMON, *FAST]) as process:
        yield process


@pytest.fixture
def readers(fast_broker: BrokerProcess, topic: str, group: str) -> Iterator[Readers]:
    create(AdminClient({"bootstrap.servers": fast_broker.address}), topic, PARTITIONS)
    found = Readers(fast_broker, topic, group)
    yield found
    found.close()


def kind(broker: BrokerProcess, group: str) -> str:
    """Which protocol a group follows; asked by a new client, since an old one does not find back after a restart."""
    name: str = describe(AdminClient({"bootstrap.servers": broker.address}), group).type.name
    return name


NEW = {"group.protocol": "consumer"}
EAGER = {"partition.assignment.strategy": "range"}
COOPERATIVE = {"partition.assignment.strategy": "cooperative-sticky"}


@pytest.mark.parametrize("classic", [EAGER, COOPERATIVE], ids=["eager", "cooperative"])
def test_a_group_moves_to_the_new_protocol_and_back(
    readers: Readers, fast_broker: BrokerProcess, group: str, classic: dict[str, str]
) -> None:
    """K3: classic consumers, then both kinds, new ones alone over a restart, and back: every record exactly once.
    The test of K3."""
    readers.join("a", **classic)
    readers.join("b", **classic)
    readers.settle(a=2, b=2)
    readers.produce(40)
    readers.join("c", **NEW)
    readers.join("d", **NEW)
    readers.settle(a=1, b=1, c=1, d=1)
    readers.produce(40)
    assert kind(fast_broker, group) == "CONSUMER"
    readers.leave("a")
    readers.produce(40)
    readers.leave("b")
    readers.settle(c=2, d=2)
    fast_broker.stop()
    fast_broker.start()
    readers.produce(40)
    readers.join("e", **classic)
    readers.leave("c")
    readers.settle(d=2, e=2)
    readers.produce(40)
    readers.leave("d")
    readers.settle(e=4)
    readers.produce(40)
    assert kind(fast_broker, group) == "CLASSIC"
    assert not readers.lost  # First: it says why records may have been read twice.
    assert set(readers.read.values()) == {1}


def test_new_consumers_share_what_a_pattern_matches(fast_broker: BrokerProcess, topic: str, group: str) -> None:
    """K3: RE2 on the broker; a topic made later is read without being asked for."""
    admin = AdminClient({"bootstrap.servers": fast_broker.address})
    create(admin, f"{topic}-1", 2)
    readers = Readers(fast_broker, f"^{topic}-[0-9]+", group)
    readers.join("a", **NEW)
    readers.join("b", **NEW)
    readers.settle(a=1, b=1)
    create(admin, f"{topic}-2", 4)
    create(admin, f"{topic}-other", 4)
    readers.settle(a=3, b=3)
    readers.close()


def test_a_static_consumer_comes_back_to_its_partitions(readers: Readers) -> None:
    """K3: within its session nobody else is disturbed."""
    static = {**NEW, "group.instance.id": "i"}
    readers.join("a", **static)
    readers.join("b", **NEW)
    readers.settle(a=2, b=2)
    readers.produce(8)
    mine, theirs = readers.partitions("a"), readers.partitions("b")
    readers.revoked.clear()
    readers.leave("a")
    readers.join("a2", **static)
    readers.settle(b=2, a2=2)
    assert (readers.partitions("a2"), readers.partitions("b")) == (mine, theirs)
    assert "b" not in readers.revoked
    readers.produce(8)
    assert set(readers.read.values()) == {1}


def test_a_killed_broker_loses_no_member_and_no_offset(readers: Readers, fast_broker: BrokerProcess) -> None:
    """K3: kill -9 between two commits: the members go on where they were."""
    readers.join("a", **NEW)
    readers.join("b", **NEW)
    readers.settle(a=2, b=2)
    readers.produce(40)
    before = readers.partitions("a")
    fast_broker.kill()
    fast_broker.start()
    readers.produce(40)
    assert readers.partitions("a") == before
    assert not readers.lost  # First: it says why records may have been read twice.
    assert set(readers.read.values()) == {1}
