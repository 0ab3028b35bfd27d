"""A fetch that is sent after the ack returns the record, wherever the record is at that moment."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.broker.inside import InsideBroker
from tests.broker.wire import Wire, batch, create_topic, end_offset, fetch, produce, values
from tests.support.broker_process import BrokerProcess

from holdfast.io.objects.faulty import Call, Delay, FailAfter, FailBefore, Fault, FaultyObjects
from holdfast.io.objects.memory import MemoryObjects
from holdfast.log.settings import LogSettings
from holdfast.protocol.api import Key

PATIENCE_S = 20
FLUSH_AT_ONCE = LogSettings(flush_age_ms_max=1, flush_retry_ms=1)


class Gate:
    """Holds back what a flush puts into the store, until the test lets it go."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self.closed = False
        self.reached = threading.Event()
        self.open = threading.Event()

    def plan(self, call: Call) -> Fault | None:
        if not self.closed or call.kind != "put_if_absent" or not call.name.startswith(self._prefix):
            return None
        self.reached.set()
        return Delay(lambda: self.open.wait(PATIENCE_S))


def read_back(port: int, topic: str, offset: int) -> list[bytes | None]:
    """One fetch on a new connection, which does not wait for anything."""
    with Wire(port) as reader:
        found = fetch(reader, topic, offset, max_wait_ms=0)
        assert found.error_code == 0
        return values(found.records)


def test_from_the_buffer(broker: BrokerProcess, wire: Wire, topic: str) -> None:
    """A1: a hundred times in a row, each time at once."""
    create_topic(wire, topic)
    with Wire(broker.port) as reader:
        for number in range(100):
            assert produce(wire, topic, batch(b"%d" % number)).base_offset == number
            found = fetch(reader, topic, number, max_wait_ms=0)
            assert (values(found.records), found.high_watermark) == ([b"%d" % number], number + 1)


@pytest.mark.parametrize("prefix", ["segments/", "manifests/"])
def test_while_a_flush_is_under_way(tmp_path: Path, topic: str, prefix: str) -> None:
    """A1, A3: the segment is on its way to the store, or stored and not yet in the manifest; what comes meanwhile is
    buffered; then all of it is flushed, and then the broker has started again. The test of A1."""
    gate = Gate(prefix)
    store = FaultyObjects(MemoryObjects(), gate.plan)
    with InsideBroker(tmp_path, store, FLUSH_AT_ONCE) as inside, Wire(inside.port) as wire:
        create_topic(wire, topic)
        partition = inside.context.topics.get(topic).partition(0)
        gate.closed = True
        produce(wire, topic, batch(b"before"))
        assert gate.reached.wait(PATIENCE_S)
        assert (partition.is_flushing, partition.marks.flushed) == (True, 0)
        assert read_back(inside.port, topic, 0) == [b"before"]
        produce(wire, topic, batch(b"meanwhile"))
        assert read_back(inside.port, topic, 0) == [b"before", b"meanwhile"]
        assert partition.marks.flushed == 0
        gate.open.set()
        wait_until_flushed(wire, inside, topic, 2)
        assert read_back(inside.port, topic, 0) == [b"before", b"meanwhile"]
    with InsideBroker(tmp_path, store, FLUSH_AT_ONCE) as again:
        assert read_back(again.port, topic, 0) == [b"before", b"meanwhile"]


def wait_until_flushed(wire: Wire, inside: InsideBroker, topic: str, end: int) -> None:
    partition = inside.context.topics.get(topic).partition(0)
    for _ in range(100_000):
        if partition.marks.flushed >= end:
            return
        end_offset(wire, topic)  # A round trip through the broker's loop, which flushes meanwhile.
    raise AssertionError("it was not flushed")


@pytest.mark.parametrize("fault", [FailBefore(), FailAfter()])
def test_while_the_store_fails(tmp_path: Path, topic: str, fault: Fault) -> None:
    """A3: before or after the upload took effect: nothing is hidden, and it is tried again until it works.
    The test of A3."""
    failed = threading.Semaphore(0)
    fails = threading.Event()

    def plan(call: Call) -> Fault | None:
        if not fails.is_set() or not call.name.startswith(("segments/", "manifests/")):
            return None
        failed.release()
        return fault

    store = FaultyObjects(MemoryObjects(), plan)
    with InsideBroker(tmp_path, store, FLUSH_AT_ONCE) as inside, Wire(inside.port) as wire:
        create_topic(wire, topic)
        fails.set()
        for number in range(10):
            produce(wire, topic, batch(b"%d" % number))
            assert failed.acquire(timeout=PATIENCE_S)
            assert read_back(inside.port, topic, number) == [b"%d" % number]
        fails.clear()
        wait_until_flushed(wire, inside, topic, 10)
        assert read_back(inside.port, topic, 0) == [b"%d" % number for number in range(10)]


def test_under_constant_flushes(tmp_path: Path, topic: str) -> None:
    """A1, A4: three hundred records, each read at once, while tails become segments all the time."""
    inside = InsideBroker(tmp_path, MemoryObjects(), FLUSH_AT_ONCE)
    with inside, Wire(inside.port) as writer, Wire(inside.port) as reader:
        create_topic(writer, topic)
        for number in range(300):
            assert produce(writer, topic, batch(b"%d" % number)).base_offset == number
            assert values(fetch(reader, topic, number).records) == [b"%d" % number]
        everything: list[bytes | None] = []
        while len(everything) < 300:
            everything += values(fetch(reader, topic, len(everything)).records)
        assert everything == [b"%d" % number for number in range(300)]


def epoch_of(wire: Wire, topic: str) -> int:
    [found] = wire.ask(Key.METADATA, 9, topics=[{"name": topic}]).topics
    epoch: int = found.partitions[0].leader_epoch
    return epoch


def test_after_a_kill_and_after_a_stop(own_broker: Callable[..., BrokerProcess], topic: str) -> None:
    """A1, A2, A4: the first fetch after the start finds it; only the kill raises the leader epoch. The test of A2."""
    process = own_broker()
    with Wire(process.port) as wire:
        create_topic(wire, topic)
        produce(wire, topic, batch(b"first"))
        epoch = epoch_of(wire, topic)
    process.kill()
    process.start()
    with Wire(process.port) as wire:
        assert read_back(process.port, topic, 0) == [b"first"]
        assert epoch_of(wire, topic) == epoch + 1
        produce(wire, topic, batch(b"second"))
    assert process.stop(10) == 0
    process.start()
    with Wire(process.port) as wire:
        assert read_back(process.port, topic, 0) == [b"first", b"second"]
        assert epoch_of(wire, topic) == epoch + 1
        ended = {"partition": 0, "leader_epoch": epoch}
        topics = [{"topic": topic, "partitions": [ended]}]
        [[found]] = [each.partitions for each in wire.ask(Key.OFFSET_FOR_LEADER_EPOCH, 4, topics=topics).topics]
        assert (found.leader_epoch, found.end_offset) == (epoch, 1)


def test_of_a_topic_that_is_kept_in_memory(tmp_path: Path, topic: str) -> None:
    """A2: visible with the ack; a clean stop keeps it; internal topics never are."""
    store = MemoryObjects()
    with InsideBroker(tmp_path, store) as inside, Wire(inside.port) as wire:
        create_topic(wire, topic, holdfast_durability="memory")
        for number in range(20):
            produce(wire, topic, batch(b"%d" % number))
            assert read_back(inside.port, topic, number) == [b"%d" % number]
        row = [{"name": "holdfast.durability", "config_operation": 0, "value": "memory"}]
        resources = [{"resource_type": 2, "resource_name": "__consumer_offsets", "configs": row}]
        [refused] = wire.ask(Key.INCREMENTAL_ALTER_CONFIGS, 1, resources=resources).responses
        assert refused.error_code == 42
    with InsideBroker(tmp_path, store) as inside:
        assert read_back(inside.port, topic, 0) == [b"%d" % number for number in range(20)]
