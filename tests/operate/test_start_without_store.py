"""A broker that starts while its store is away: it listens, tells what it knows, and becomes whole by itself."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from holdfast.cluster.metadata import Metadata
from holdfast.cluster.metadata_copy import FORMAT, KIND, NAME
from holdfast.errors import Corrupt
from holdfast.io.envelope import unseal
from holdfast.testing.process import BrokerDidNotStart, RunningBroker

COUNT = 50


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def broker(tmp_path: Path, store: Path) -> Iterator[RunningBroker]:
    """Was whole once, and has acknowledged something; killed."""
    with RunningBroker(tmp_path / "data", options=["--store", str(store)]) as broker:
        producer = Producer({"bootstrap.servers": broker.bootstrap})
        for number in range(COUNT):
            producer.produce("orders", b"%d" % number)
        assert producer.flush(60) == 0
        consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "readers"})
        consumer.commit(offsets=[TopicPartition("orders", 0, 7)], asynchronous=False)
        consumer.close()
        broker.kill()
        yield broker


@pytest.fixture
def away(store: Path) -> Path:
    """Where the store is while it is away."""
    return store.with_name("away")


def until(what: Callable[[], object], broker: RunningBroker) -> None:
    end = time.monotonic() + 60
    while not what():
        assert time.monotonic() < end, broker.said[-5:]
        time.sleep(0.05)


def test_clients_wait_for_a_store_that_is_away_at_the_start(broker: RunningBroker, store: Path, away: Path) -> None:
    """D4: topics are told, a producer and a consumer behind the end of the log wait, nobody is reset, and nothing is
    made where the store was; when it is back all of them go on over the same connections, without a restart."""
    store.rename(away)
    broker.start()
    assert any("store away" in line and "copy of the metadata" in line for line in broker.said)
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    assert "orders" in admin.list_topics(timeout=30).topics
    delivered: list[tuple[KafkaError | None, int | None]] = []
    producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 0})

    def note(error: KafkaError | None, message: Message) -> None:
        delivered.append((error, message.offset()))

    producer.produce("orders", b"late", partition=0, on_delivery=note)
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "readers", "auto.offset.reset": "error"})
    consumer.assign([TopicPartition("orders", 0, COUNT + 1)])
    assert consumer.poll(1.5) is None
    assert producer.flush(0.5) == 1
    consumer.assign([TopicPartition("orders", 0, 7)])
    assert not store.exists()
    away.rename(store)
    until(lambda: any("store back" in line for line in broker.said), broker)
    assert producer.flush(60) == 0
    assert delivered == [(None, COUNT)]
    found: list[bytes] = []
    end = time.monotonic() + 60
    while len(found) < COUNT - 6 and time.monotonic() < end:
        message = consumer.poll(1)
        if message is not None:
            assert message.error() is None, message.error()
            found.append(message.value())
    assert found == [*(b"%d" % number for number in range(7, COUNT)), b"late"]
    [committed] = consumer.committed([TopicPartition("orders", 0)], 30)
    assert committed.offset == 7
    consumer.close()
    assert broker.stop() == 0


def test_a_broker_that_waits_can_be_stopped(broker: RunningBroker, store: Path, away: Path) -> None:
    """O4: it has nobody to wait for."""
    store.rename(away)
    broker.start()
    assert broker.stop() == 0


def topics_of(copy: bytes) -> object:
    """What a copy of the metadata says of topics; None where it is damaged."""
    try:
        metadata = unseal(NAME, KIND, FORMAT, copy)
    except Corrupt:
        return None
    return Metadata.from_body(metadata["cluster"], metadata["version"], metadata["full"]).topics


def test_a_damaged_copy_is_none(broker: RunningBroker, store: Path, away: Path) -> None:
    """D4: a start without store and copy fails, and says both; with the store the copy is made again."""
    copy = broker.data / "metadata.json"
    sound = copy.read_bytes()
    copy.write_bytes(sound[:-20] + bytes(20))
    store.rename(away)
    with pytest.raises(BrokerDidNotStart, match="is its file system mounted"):
        broker.start()
    assert any("metadata.json" in line and "is not used" in line for line in broker.said)
    away.rename(store)
    broker.start()
    topics = topics_of(sound)
    assert "orders" in topics
    until(lambda: topics_of(copy.read_bytes()) == topics, broker)
