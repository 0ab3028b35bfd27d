"""A full disk, for real: a small file system of its own, a broker on it, and clients that try again."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from kafka import KafkaProducer

from holdfast.testing.process import RunningBroker

MIB = 1 << 20
SETTINGS = (
    f"serve.disk_reserve_size={4 * MIB}",
    f"wal.chunk_size_max={2 * MIB}",
    f"wal.zero_ahead_size={MIB // 4}",
    "group.initial.rebalance.delay.ms=0",
)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 48 MiB."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=48m", "tmpfs", place], capture_output=True, text=True)
    if mounted.returncode:
        pytest.skip(f"a small file system can be mounted by root only: {mounted.stderr.strip()}")
    yield place
    subprocess.run(["umount", "-l", place], check=True)


@pytest.fixture
def broker(disk: Path) -> Iterator[RunningBroker]:
    options = [word for setting in SETTINGS for word in ("--set", setting)]
    with RunningBroker(disk / "data", options=options) as broker:
        yield broker


def fill(disk: Path, left: int) -> Path:
    """Take all space but `left` bytes."""
    filler = disk / "filler"
    with filler.open("wb") as file:
        piece = bytes(256 << 10)
        try:
            while True:
                file.write(piece)
                file.flush()
        except OSError:
            pass
    size = filler.stat().st_size - left
    with filler.open("rb+") as file:
        file.truncate(max(size, 0))
    return filler


def read(broker: RunningBroker, topic: str, count: int, group: str) -> list[bytes]:
    """Read from the beginning, in a group that commits what it has read."""
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe([topic])
    found: list[bytes] = []
    until = time.monotonic() + 60
    while len(found) < count and time.monotonic() < until:
        message = consumer.poll(1)
        if message is not None and message.error() is None:
            found.append(message.value())
    consumer.commit(asynchronous=False)
    [committed] = consumer.committed([TopicPartition(topic, 0)], 30)
    assert committed.offset == count
    consumer.close()
    return found


def until_said(broker: RunningBroker, what: str) -> None:
    until = time.monotonic() + 60
    while not any(what in line for line in broker.said):
        assert time.monotonic() < until, broker.said[-5:]
        time.sleep(0.05)


def test_producers_wait_for_space_and_everything_else_works(disk: Path, broker: RunningBroker) -> None:
    """O3: below the reserve librdkafka and kafka-python are refused, and try again by themselves; consumers read,
    commit and ask for offsets; freed space lets the producers go on, without a restart, and nothing is lost.
    The test of O3."""
    delivered: list[object] = []
    producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 0})
    for number in range(10):
        producer.produce("orders", b"%d" % number, on_delivery=lambda error, _: delivered.append(error))
    assert producer.flush(30) == 0
    filler = fill(disk, 3 * MIB)
    producer.produce("orders", b"10", on_delivery=lambda error, _: delivered.append(error))
    other = KafkaProducer(bootstrap_servers=broker.bootstrap, retries=1_000_000, acks="all")
    sent = other.send("orders", b"11")
    until_said(broker, "disk low")
    assert producer.flush(1.5) == 1
    assert not sent.is_done
    assert read(broker, "orders", 10, "readers") == [b"%d" % number for number in range(10)]
    filler.unlink()
    assert producer.flush(60) == 0
    assert sent.get(60).offset in (10, 11)
    until_said(broker, "disk ok")
    assert delivered == [None] * 11
    assert sorted(read(broker, "orders", 12, "later")) == sorted(b"%d" % number for number in range(12))
    assert len([line for line in broker.said if "disk low" in line]) == 1
    other.close()


def test_deleting_a_topic_is_a_way_back_from_a_disk_without_a_byte(disk: Path, broker: RunningBroker) -> None:
    """O3: nothing is free at all: a topic can be deleted, the broker can be restarted, and producers go on."""
    producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 5})
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    for made in admin.create_topics([NewTopic("large", 1, 1), NewTopic("orders", 1, 1)]).values():
        made.result(30)
    for number in range(20):
        producer.produce("large", bytes(512 << 10))
        producer.produce("orders", b"%d" % number)
    assert producer.flush(60) == 0
    broker.restart()  # A clean stop flushes: what is large is in segments now.
    fill(disk, 0)
    producer.produce("orders", b"20")
    until_said(broker, "disk low")
    broker.kill()
    broker.start()
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    for deleted in admin.delete_topics(["large"], operation_timeout=30).values():
        deleted.result(30)
    assert producer.flush(60) == 0
    assert read(broker, "orders", 21, "readers") == [b"%d" % number for number in range(21)]
