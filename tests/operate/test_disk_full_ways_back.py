"""A disk without a byte, for real: what is said to be the way back works, because the reserve serves the store, too."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from tests.operate.test_disk_full_real import SETTINGS, fill, read

from holdfast.io.disk.reserve import NAME
from holdfast.testing.process import RunningBroker


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
    """With 10 MiB of one topic in segments, and files of the log that wait to be used again."""
    options = [word for setting in SETTINGS for word in ("--set", setting)]
    with RunningBroker(disk / "data", options=options) as broker:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        for made in admin.create_topics([NewTopic("large", 1, 1), NewTopic("orders", 1, 1)]).values():
            made.result(30)
        producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 5})
        for number in range(20):
            producer.produce("large", bytes(512 << 10))
            producer.produce("orders", b"%d" % number)
        assert producer.flush(60) == 0
        broker.restart()  # A clean stop flushes: what is large is in segments now.
        yield broker


def delete_large(broker: RunningBroker) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    [deleted] = admin.delete_topics(["large"]).values()
    deleted.result(30)


def test_a_topic_is_deleted_on_a_disk_without_a_byte(disk: Path, broker: RunningBroker) -> None:
    """O3, D4: nothing but the reserve is left. It serves the change of the list, the objects go, and a producer that
    was refused meanwhile, with an error that it tries again, goes on."""
    fill(disk, 0)
    assert (disk / "data" / "wal" / NAME).exists()
    producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 0})
    producer.produce("orders", b"20")
    assert producer.flush(1) == 1
    delete_large(broker)
    assert producer.flush(60) == 0
    assert read(broker, "orders", 21, "readers") == [b"%d" % number for number in range(21)]


def test_records_are_deleted_on_a_disk_without_a_byte(disk: Path, broker: RunningBroker) -> None:
    """O3: the new beginning of the partition is committed in the store, out of the reserve."""
    fill(disk, 0)
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    for done in admin.delete_records([TopicPartition("large", 0, 15)]).values():
        assert done.result(30).low_watermark == 15
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "any"})
    assert consumer.get_watermark_offsets(TopicPartition("large", 0), 30) == (15, 20)
    consumer.close()


@pytest.mark.parametrize("stop", ["clean", "kill"])
def test_a_start_needs_no_byte_in_the_store(disk: Path, broker: RunningBroker, stop: str) -> None:
    """O3: what the store has is not put again. The disk is full to the last byte, and the reserve used up."""
    if stop == "kill":
        broker.kill()
    else:
        broker.stop()
    (disk / "data" / "wal" / NAME).unlink()
    fill(disk, 0)
    broker.start()
    assert read(broker, "orders", 20, "readers") == [b"%d" % number for number in range(20)]
    delete_large(broker)
