"""Real brokers in racks: who reads old records gets them from a broker in its own, and goes on at the leader."""

from __future__ import annotations

import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from tests.broker.wire import Wire, fetch_fields
from tests.cluster.test_many import MANY, PATIENT, leaders, start
from tests.cluster.test_pair import Cluster
from tests.java.jvm import Jvm, missing
from tests.support.broker_process import BrokerProcess

from holdfast.client import Client
from holdfast.protocol.api import Key
from holdfast.protocol.codes import Code
from holdfast.testing import free_port

RACKS = {1: "east", 2: "west", 3: "north"}
WEST = 2  # Where the readers are.
PARTITIONS = 3
SERVED = "holdfast_fetch_bytes_for_others_total"
PADDING = "x" * 100_000
OLD, LATER, LIVE = 10, 44, 6  # Records of a partition: two segments, the second above FAR_SIZE; and unflushed ones.
COUNT = OLD + LATER + LIVE
READ_S = 60


class Racked(Cluster):
    """Brokers that say where they are, and what they have done."""

    def __init__(self, folder: Path) -> None:
        quiet = "log.compaction_check_ms=3600000"  # Nothing is merged meanwhile.
        super().__init__(folder, str(folder / "store"), (*PATIENT, *MANY, quiet, "offsets.topic.num.partitions=1"))
        self._metrics = {number: free_port() for number in RACKS}

    def made(self, number: int, name: str = "", port: int = 0, more: tuple[str, ...] = ()) -> BrokerProcess:
        own = f"broker.rack={RACKS[number]}", f"serve.metrics_listen=127.0.0.1:{self._metrics[number]}"
        return super().made(number, name, port, (*own, *more))

    def metric(self, number: int, name: str) -> float:
        with urllib.request.urlopen(f"http://127.0.0.1:{self._metrics[number]}/metrics", timeout=30) as answer:
            said = answer.read().decode()
        return next(float(line.split()[-1]) for line in said.splitlines() if line.startswith(f"{name} "))


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Racked]:
    with Racked(tmp_path_factory.mktemp("racks")) as found:
        start(found, *RACKS)
        yield found


@pytest.fixture(scope="module")
def history(cluster: Racked) -> str:
    """A topic with two segments for each partition, and more that is not flushed."""
    until_balanced(cluster)
    make_history(cluster, "history", PARTITIONS)
    until_balanced(cluster)
    return "history"


def until_balanced(cluster: Cluster) -> None:
    """Wait until no partition is to move: a hand-over flushes, and what is told of it here would be another."""
    admin = AdminClient(cluster.settings())
    deadline = time.monotonic() + READ_S
    while True:
        topics = admin.list_topics(timeout=30).topics.values()
        led = Counter(each.leader for topic in topics for each in topic.partitions.values())
        if set(led) == set(RACKS) and max(led.values()) - min(led.values()) < 2:
            return
        assert time.monotonic() < deadline, led
        time.sleep(0.1)


def write(cluster: Cluster, topic: str, partitions: int, numbers: range) -> None:
    producer = Producer({**cluster.settings(), "linger.ms": 20})
    for number in numbers:
        for partition in range(partitions):
            producer.produce(topic, f"{number}:{PADDING}", partition=partition)
        producer.poll(0)
    assert producer.flush(READ_S) == 0


def flush(cluster: Cluster, topic: str) -> None:
    with Client(cluster.bootstrap) as client:
        client.flush_topic(topic)


def make_history(cluster: Cluster, topic: str, partitions: int) -> None:
    admin = AdminClient(cluster.settings())  # It has to last until it is answered.
    admin.create_topics([NewTopic(topic, partitions)])[topic].result()
    write(cluster, topic, partitions, range(OLD))
    flush(cluster, topic)
    write(cluster, topic, partitions, range(OLD, OLD + LATER))
    flush(cluster, topic)
    write(cluster, topic, partitions, range(OLD + LATER, OLD + LATER + LIVE))


@contextmanager
def reader(cluster: Cluster, topic: str, *partitions: int, **settings: Any) -> Iterator[Consumer]:
    more = {"group.id": "nobody", "fetch.wait.max.ms": 50, "enable.auto.commit": False, **settings}
    consumer = Consumer({**cluster.settings(), **more})
    consumer.assign([TopicPartition(topic, number, 0) for number in partitions])
    try:
        yield consumer
    finally:
        consumer.close()


def read(consumer: Consumer, found: dict[int, list[tuple[int, int]]], wanted: int, at_a_time: int = 100) -> None:
    """Until each partition has so many records: offsets, and the numbers in them."""
    deadline = time.monotonic() + READ_S
    while any(len(each) < wanted for each in found.values()):
        assert time.monotonic() < deadline, {key: each[-1:] for key, each in found.items()}
        for message in consumer.consume(at_a_time, 0.05):
            assert message.error() is None, message.error()
            value = message.value() or b""
            found[message.partition()].append((message.offset(), int(value.partition(b":")[0])))


def near(cluster: Racked, topic: str) -> tuple[int, int]:
    """A partition that the broker in the west does not lead, and who does."""
    deadline = time.monotonic() + READ_S
    while len(led := leaders(cluster, 1, topic)) < PARTITIONS or -1 in led:
        assert time.monotonic() < deadline, led
        time.sleep(0.05)
    number = next(at for at, leader in enumerate(led) if leader != WEST)
    return number, led[number]


def ask(cluster: Racked, broker: int, topic: str, partition: int, offset: int, rack: str, **more: Any) -> Any:
    """One fetch of one partition."""
    fields = fetch_fields(topic, offset, partitions=[partition], **more)
    with Wire(cluster.brokers[broker].port) as wire:
        answer = wire.ask(Key.FETCH, 12, **{**fields, "rack_id": rack})
    return answer.responses[0].partitions[0]


def test_old_records_come_from_the_readers_rack_and_new_ones_from_the_leader(cluster: Racked, history: str) -> None:
    """K1, C1: librdkafka reads history near by, then goes on at the leaders; each record once, in order."""
    found: dict[int, list[tuple[int, int]]] = {number: [] for number in range(PARTITIONS)}
    before = [cluster.metric(number, SERVED) for number in RACKS]
    with reader(cluster, history, *range(PARTITIONS), **{"client.rack": RACKS[WEST]}) as consumer:
        read(consumer, found, COUNT)
        write(cluster, history, PARTITIONS, range(COUNT, COUNT + LIVE))
        read(consumer, found, COUNT + LIVE)
    assert all(each == [(at, at) for at in range(COUNT + LIVE)] for each in found.values())
    served = [cluster.metric(number, SERVED) - before[number - 1] for number in RACKS]
    others = sum(leader != WEST for leader in leaders(cluster, 1, history))
    assert served[WEST - 1] >= others * OLD * len(PADDING)
    assert served[:1] + served[2:] == [0, 0]


def test_who_is_sent_where(cluster: Racked, history: str) -> None:
    """K1, C1: racks are told; a leader sends readers on only to others' racks, others send them back at the end."""
    partition, leader = near(cluster, history)
    west, beside = RACKS[WEST], next(each for each in RACKS if each not in (WEST, leader))
    found = ask(cluster, leader, history, partition, 0, west)
    assert (found.preferred_read_replica, found.error_code, found.records or b"") == (WEST, 0, b"")
    for rack in (RACKS[leader], "", "elsewhere"):
        found = ask(cluster, leader, history, partition, 0, rack)
        assert (found.preferred_read_replica, found.error_code) == (-1, 0)
        assert found.records
    assert ask(cluster, leader, history, partition, OLD, west).records  # Too near to the end.
    mine = ask(cluster, WEST, history, partition, 0, west)
    theirs = ask(cluster, leader, history, partition, 0, "")
    assert mine.records == theirs.records
    assert (mine.high_watermark, mine.preferred_read_replica) == (OLD + LATER, -1)
    for offset in (OLD + LATER, COUNT, 10**6):  # Flushed to here; what is above is the leader's to tell.
        found = ask(cluster, WEST, history, partition, offset, west)
        assert (found.preferred_read_replica, found.error_code, found.records or b"") == (leader, 0, b"")
    for broker, rack in ((beside, west), (WEST, ""), (WEST, RACKS[leader])):
        assert ask(cluster, broker, history, partition, 0, rack).error_code == Code.NOT_LEADER_OR_FOLLOWER
    with Wire(cluster.brokers[WEST].port) as wire:
        told = wire.ask(Key.METADATA, 12, topics=[{"name": history, "topic_id": None}])
        described = wire.ask(Key.DESCRIBE_CLUSTER, 1, endpoint_type=1)
    assert {each.node_id: each.rack for each in told.brokers} == RACKS
    assert {each.broker_id: each.rack for each in described.brokers} == RACKS
    for each in told.topics[0].partitions:
        assert each.replica_nodes[0] == each.leader_id
        assert sorted(each.replica_nodes) == sorted(each.isr_nodes) == list(RACKS)


def test_a_session_hears_that_it_is_sent_elsewhere(cluster: Racked, history: str) -> None:
    """K1, C1: also where nothing else has changed since the answer before, and at once, however long it would wait."""
    partition, leader = near(cluster, history)
    with Wire(cluster.brokers[WEST].port) as wire:
        asked = fetch_fields(history, COUNT + LIVE, partitions=[partition], session_epoch=0, max_wait_ms=20_000)
        first = wire.ask(Key.FETCH, 12, **{**asked, "rack_id": RACKS[WEST]})
        began = time.monotonic()
        asked = {**asked, "session_id": first.session_id, "session_epoch": 1, "topics": []}
        second = wire.ask(Key.FETCH, 12, **{**asked, "rack_id": RACKS[WEST]})
    for answer in (first, second):
        assert answer.responses[0].partitions[0].preferred_read_replica == leader
    assert time.monotonic() - began < 15


def test_only_what_is_committed_comes_from_the_readers_rack(cluster: Racked, history: str) -> None:
    """T2, C1: aborted transactions are left out, and one that is open holds committed readers back."""
    admin = AdminClient(cluster.settings())
    admin.create_topics([NewTopic("decided", PARTITIONS)])["decided"].result()
    partition, _ = near(cluster, "decided")
    producer = Producer({**cluster.settings(), "transactional.id": "racks", "linger.ms": 5})
    producer.init_transactions(READ_S)

    def write_some(first: int) -> None:
        producer.begin_transaction()
        for number in range(first, first + 6):
            producer.produce("decided", f"{number}:{PADDING}", partition=partition)
        assert producer.flush(READ_S) == 0

    for first in range(0, 60, 6):
        write_some(first)
        if first % 12:
            producer.abort_transaction(READ_S)
        else:
            producer.commit_transaction(READ_S)
        if first == 6:
            flush(cluster, "decided")
    write_some(60)
    flush(cluster, "decided")
    before = cluster.metric(WEST, SERVED)
    found: dict[int, list[tuple[int, int]]] = {partition: []}
    config = {"client.rack": RACKS[WEST], "isolation.level": "read_committed"}
    with reader(cluster, "decided", partition, **config) as consumer:
        read(consumer, found, 30)
        producer.commit_transaction(READ_S)
        read(consumer, found, 36)
    assert [number for _, number in found[partition]] == [at for at in range(66) if at % 12 < 6]
    assert cluster.metric(WEST, SERVED) - before >= 12 * len(PADDING)


def test_kafkas_consumer_reads_in_its_rack(cluster: Racked, history: str) -> None:
    """K1, C1: Kafka's own consumer, too: old records near by, and what is not flushed at the leader."""
    if reason := missing():
        pytest.skip(reason)
    partition, _ = near(cluster, history)
    before = cluster.metric(WEST, SERVED)
    with Jvm(cluster.bootstrap) as java:
        config = {"client.rack": RACKS[WEST], "max.partition.fetch.bytes": "1000000"}
        found: list[int] = []
        deadline = time.monotonic() + READ_S
        while len(found) < COUNT:  # It gives what it has after ten seconds.
            assert time.monotonic() < deadline, found[-1:]
            asked = {"partitions": [[history, partition]], "from": len(found), "count": COUNT - len(found)}
            found += [each["offset"] for each in java.do("consume", **asked, config=config)]
    assert found[:COUNT] == list(range(COUNT))
    assert cluster.metric(WEST, SERVED) - before >= OLD * len(PADDING)


def test_a_killed_broker_holds_up_nobody_who_read_there(cluster: Racked, history: str) -> None:
    """C2: kill -9 of the broker that serves old records, in the middle: the reader goes on at the leader."""
    partition, _ = near(cluster, history)
    found: dict[int, list[tuple[int, int]]] = {partition: []}
    slow = {"max.partition.fetch.bytes": 150_000, "queued.min.messages": 1, "fetch.queue.backoff.ms": 10}
    before = cluster.metric(WEST, SERVED)
    with reader(cluster, history, partition, **{"client.rack": RACKS[WEST], **slow}) as consumer:
        read(consumer, found, 2, at_a_time=1)
        assert cluster.metric(WEST, SERVED) > before
        cluster.brokers[WEST].kill()
        try:
            read(consumer, found, COUNT)
        finally:
            start(cluster, WEST)
    assert found[partition][:COUNT] == [(at, at) for at in range(COUNT)]
