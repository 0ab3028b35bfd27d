"""A store on a file system of its own that is unmounted under a running broker, for real."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from holdfast.cluster.identity import encode_cluster
from holdfast.io.objects.local.objects import LocalObjects
from holdfast.testing.process import RunningBroker

OPTIONS = ("--set", "log.flush_age_ms_max=200", "--set", "log.flush_retry_ms_max=200")


class Mount:
    """A file system, and the place where it is mounted, or not. It lives on while it is not."""

    def __init__(self, tmp_path: Path) -> None:
        self._kept = tmp_path / "kept"
        self.place = tmp_path / "place"
        for each in (self._kept, self.place):
            each.mkdir()
        made = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", self._kept], capture_output=True, text=True
        )
        if made.returncode:
            pytest.skip(f"a small file system can be mounted by root only: {made.stderr.strip()}")

    def mount(self) -> None:
        subprocess.run(["mount", "--bind", self._kept, self.place], check=True)

    def mount_another(self) -> None:
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", self.place], check=True)

    def unmount(self) -> None:
        subprocess.run(["umount", "-l", self.place], check=True)

    def close(self) -> None:
        subprocess.run(["umount", "-l", self.place], check=False, capture_output=True)
        subprocess.run(["umount", "-l", self._kept], check=True)


@pytest.fixture
def mount(tmp_path: Path) -> Iterator[Mount]:
    mount = Mount(tmp_path)
    mount.mount()
    yield mount
    mount.close()


@pytest.fixture
def broker(tmp_path: Path, mount: Mount) -> Iterator[RunningBroker]:
    with RunningBroker(tmp_path / "data", options=["--store", str(mount.place), *OPTIONS]) as broker:
        yield broker


def produce(broker: RunningBroker, numbers: range) -> None:
    """All of them acknowledged."""
    refused: list[object] = []
    producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 5})
    for number in numbers:
        producer.produce("orders", b"%d" % number, on_delivery=lambda error, _: error and refused.append(error))
    assert producer.flush(60) == 0
    assert refused == []


def read(broker: RunningBroker, count: int) -> list[bytes]:
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "readers"})
    consumer.assign([TopicPartition("orders", 0, 0)])
    found: list[bytes] = []
    until = time.monotonic() + 60
    while len(found) < count and time.monotonic() < until:
        found += [each.value() for each in consumer.consume(1000, 1) if each.error() is None]
    consumer.close()
    return found


def until(what: Callable[[], bool], broker: RunningBroker) -> None:
    end = time.monotonic() + 60
    while not what():
        assert time.monotonic() < end, broker.said[-5:]
        time.sleep(0.05)


def stored_size(place: Path) -> int:
    return sum(each.size for each in LocalObjects(place).list("segments/"))


def test_a_mount_that_went_away_is_not_written_around(tmp_path: Path, mount: Mount, broker: RunningBroker) -> None:
    """D7: 6,000 records are acknowledged while the store's file system is not mounted: nothing is put into the bare
    mount point, the write-ahead log keeps them, also over a kill, and they are flushed when the mount is back.
    The test of D7."""
    produce(broker, range(1000))
    until(lambda: stored_size(mount.place) > 4000, broker)
    before = stored_size(mount.place)
    mount.unmount()
    produce(broker, range(1000, 7000))
    until(lambda: any("store away" in line and "is its file system mounted" in line for line in broker.said), broker)
    assert os.listdir(mount.place) == []
    broker.kill()
    broker.start()
    assert os.listdir(mount.place) == []
    mount.mount()
    until(lambda: any("store back" in line for line in broker.said), broker)
    until(lambda: stored_size(mount.place) > before + 6000 * 4, broker)
    assert read(broker, 7000) == [b"%d" % number for number in range(7000)]
    broker.kill()
    broker.start()
    assert read(broker, 7000) == [b"%d" % number for number in range(7000)]
    mount.unmount()
    assert os.listdir(mount.place) == []


def test_another_store_mounted_in_its_place_is_refused(mount: Mount, broker: RunningBroker) -> None:
    """D7: nothing goes into another cluster's store, at run time as at the start."""
    produce(broker, range(10))
    mount.unmount()
    mount.mount_another()
    LocalObjects(mount.place).put_if_absent("cluster.json", [encode_cluster("f" * 32)])
    produce(broker, range(10, 20))
    until(lambda: any("another cluster's store" in line for line in broker.said), broker)
    assert [each.name for each in LocalObjects(mount.place).list("")] == ["cluster.json"]
    mount.unmount()
    mount.mount()
    until(lambda: any("store back" in line for line in broker.said), broker)
    assert read(broker, 20) == [b"%d" % number for number in range(20)]


def test_a_start_without_the_mount_writes_nothing(mount: Mount, broker: RunningBroker) -> None:
    """D7: the bare mount point stays bare, and it is said; with the mount everything is there, without a restart."""
    produce(broker, range(10))
    broker.kill()
    mount.unmount()
    broker.start()
    until(lambda: any("store away" in line and "is its file system mounted" in line for line in broker.said), broker)
    assert os.listdir(mount.place) == []
    mount.mount()
    until(lambda: any("store back" in line for line in broker.said), broker)
    assert read(broker, 10) == [b"%d" % number for number in range(10)]
