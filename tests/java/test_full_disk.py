"""A disk that is full, free, and full again under producers with several batches on their way.

What is acknowledged is there. The disk is a small file system of its own, and the network is slow: when a batch is
refused, others follow it already.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from tests.java.jvm import Jvm
from tests.java.serving import Serving
from tests.operate.test_disk_full_real import MIB, SETTINGS, disk, fill
from tests.support.reading import read_whole
from tests.support.slow_proxy import SlowProxy

from holdfast.client import LATEST, Client
from holdfast.testing import free_port
from holdfast.types import TopicPartition

__all__ = ["disk"]  # A fixture.

COUNT = 1000
DELAY_S = 0.01
ROUNDS = 2  # Times that the disk becomes full.
IMPATIENT = {"delivery.timeout.ms": "700", "request.timeout.ms": "500", "linger.ms": "0"}


class OnSmallDisk(Serving):
    """A broker on a small disk, behind a slow network."""

    def __init__(self, place: Path, port: int, proxy: SlowProxy) -> None:
        super().__init__(place / "data", *SETTINGS, f"serve.advertise={proxy.address}", port=port)
        self.place, self.proxy = place, proxy


@pytest.fixture
def broker(needs_java: None, disk: Path) -> Iterator[OnSmallDisk]:
    port = free_port()
    with SlowProxy(port, DELAY_S) as proxy, OnSmallDisk(disk, port, proxy) as serving:
        yield serving


def said(broker: OnSmallDisk, what: str) -> int:
    return sum(what in line for line in broker.said)


def until(condition: Callable[[], bool], seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


@contextmanager
def flickering(broker: OnSmallDisk, topic: str, full_s: float) -> Iterator[None]:
    """From the first record on the disk fills up and is freed again, several times; at the end it is free."""
    over, where = threading.Event(), TopicPartition(topic, 0)
    failed: list[BaseException] = []

    def run() -> None:
        with Client(broker.proxy.address, "test") as client:
            until(lambda: client.list_offsets({where: LATEST})[where].offset > 0)
        for number in range(1, ROUNDS + 1):
            filler = fill(broker.place, 3 * MIB)
            until(lambda number=number: over.is_set() or said(broker, "disk low") >= number)  # type: ignore[misc]
            over.wait(full_s)
            filler.unlink()
            until(lambda number=number: over.is_set() or said(broker, "disk ok") >= number)  # type: ignore[misc]

    def run_guarded() -> None:
        try:
            run()
        except BaseException as failure:
            failed.append(failure)

    thread = threading.Thread(target=run_guarded)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
    assert not failed
    assert said(broker, "disk low")


def create(broker: OnSmallDisk, topic: str) -> None:
    admin = AdminClient({"bootstrap.servers": broker.proxy.address})
    admin.create_topics([NewTopic(topic, 1, 1)])[topic].result()


def value(number: int) -> bytes:
    return b"%05d" % number + bytes(300)


def there(broker: OnSmallDisk, topic: str) -> list[int]:
    return [int(value[:5]) for _, value in read_whole(broker.proxy.address, topic, 1, committed=True).values()]


def check(found: list[int], acked: list[int], *, all_acked: bool) -> None:
    """Every acknowledged record is there, none is there twice; and in order, where none was given up."""
    missing = sorted(set(acked) - set(found))
    assert not missing, f"{len(missing)} records are acknowledged and not there, the first is {missing[0]}"
    assert len(found) == len(set(found)), "records are there twice"
    if all_acked:
        assert found == list(range(COUNT))


@pytest.mark.parametrize("patient", [True, False])
def test_java_is_told_the_truth_by_a_full_disk(broker: OnSmallDisk, name: str, patient: bool) -> None:
    """D6, O3: a patient producer gets everything written, once and in order; one that gives batches up while others are
    on their way is never told that one is written which is not."""
    create(broker, name)
    records = [{"topic": name, "partition": 0, "value": value(number)} for number in range(COUNT)]
    config = {"batch.size": "2000", **({} if patient else IMPATIENT)}
    with Jvm(broker.proxy.address) as jvm, flickering(broker, name, 0.3 if patient else 1.0):
        told = jvm.do("produce", config=config, records=records)
    acked = [number for number, each in enumerate(told) if "error" not in each]
    assert patient or len(acked) < COUNT, "nothing was given up: the disk was not full for long enough"
    assert acked
    check(there(broker, name), acked, all_acked=patient)


@pytest.mark.parametrize("patient", [True, False])
def test_librdkafka_is_told_the_truth_by_a_full_disk(broker: OnSmallDisk, name: str, patient: bool) -> None:
    """D6, O3: the same with librdkafka."""
    create(broker, name)
    acked: list[int] = []
    config: dict[str, Any] = {"bootstrap.servers": broker.proxy.address, "enable.idempotence": True, "linger.ms": 0}
    config |= {"batch.num.messages": 6, "retry.backoff.ms": 20} | ({} if patient else {"delivery.timeout.ms": 700})
    producer = Producer(config)

    def told(error: Any, message: Any) -> None:
        if error is None:
            acked.append(int(message.value()[:5]))

    with flickering(broker, name, 0.3 if patient else 1.0):
        for number in range(COUNT):
            producer.produce(name, value(number), partition=0, on_delivery=told)
            producer.poll(0.002)
        assert producer.flush(60) == 0
    assert len(acked) == COUNT if patient else 0 < len(acked) < COUNT
    check(there(broker, name), acked, all_acked=patient)
