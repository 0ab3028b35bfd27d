"""K7: whatever arrives on the port, memory stays bounded, the log says why, and other clients notice nothing."""

from __future__ import annotations

import random
import re
import select
import socket
import struct
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.broker.inside import InsideBroker
from tests.broker.test_read_after_ack import Gate
from tests.broker.wire import Wire, batch, create_topic, fetch, fetch_fields, produce, produce_fields, values, wait_for
from tests.support.broker_process import BrokerProcess

from holdfast.broker.settings import BrokerSettings
from holdfast.broker.table import advertised
from holdfast.io.objects.faulty import FaultyObjects
from holdfast.io.objects.memory import MemoryObjects
from holdfast.log.settings import LogSettings
from holdfast.protocol.api import Key
from holdfast.wal import WalSettings

MIB = 1 << 20


def memory_size(process: BrokerProcess) -> int:
    """Bytes of memory that the broker uses now."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+) kB", status)[1]) * 1024  # type: ignore[index]


@pytest.fixture
def undisturbed(wire: Wire, topic: str) -> Iterator[None]:
    """Another client, before and after."""
    create_topic(wire, topic)
    yield
    started = time.monotonic()
    assert produce(wire, topic, batch(b"still here")).error_code == 0
    assert values(fetch(wire, topic).records) == [b"still here"]
    assert time.monotonic() - started < 5


@pytest.mark.parametrize("size", [0, -1, -(2**31), 2**31 - 1, 104_857_601])
def test_a_size_that_cannot_be_closes_the_connection(broker: BrokerProcess, undisturbed: None, size: int) -> None:
    """K7: nothing is reserved for it."""
    before = memory_size(broker)
    with Wire(broker.port) as wrong:
        wrong.send_bytes(struct.pack(">i", size))
        assert wrong.is_closed()
    assert memory_size(broker) - before < 16 * MIB
    wait_for(lambda: any(f"a frame says it has {size} bytes" in line for line in broker.said))


def test_garbage_closes_the_connection(broker: BrokerProcess, undisturbed: None) -> None:
    """K7: another protocol, random bytes behind every API's number and version; each has its line in the log.
    The test of K7."""
    before = len(broker.said)
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    with Wire(broker.port) as web:
        web.send_bytes(b"GET / HTTP/1.1\r\nHost: here\r\n\r\n")
        assert web.is_closed()
    refused = 2  # This one, and the last.
    for row in advertised():
        for version in range(row.min_version, row.max_version + 1):
            body = struct.pack(">hhih", row.key, version, 1, -1) + chance.randbytes(chance.randrange(40))
            with Wire(broker.port) as wrong:
                wrong.send_bytes(struct.pack(">i", len(body)) + body)
                wrong.socket.shutdown(socket.SHUT_WR)
                if not wrong.socket.recv(65536):  # An answer or none; then the end.
                    refused += 1
                while wrong.socket.recv(65536):
                    pass
    with Wire(broker.port) as last:
        last.send_bytes(struct.pack(">i", 2**31 - 77))
        assert last.is_closed()
    wait_for(lambda: any(str(2**31 - 77) in line for line in broker.said[before:]))  # Everything else is said by now.
    said = broker.said[before:]
    closed = sum("connection closed: " in line for line in said)
    assert 50 < refused - 10 <= closed <= refused  # A few make sense, and end with their connection.
    assert not any("Traceback" in line for line in said), said


def test_a_frame_that_never_ends_takes_no_memory(broker: BrokerProcess, undisturbed: None) -> None:
    """K7: many clients announce much and send little."""
    before = memory_size(broker)
    waiting = [Wire(broker.port) for _ in range(50)]
    for each in waiting:
        each.send_bytes(struct.pack(">i", 90 * MIB) + b"x" * 1000)
    with Wire(broker.port) as other:
        other.ask(Key.API_VERSIONS, 0)
    assert memory_size(broker) - before < 64 * MIB
    for each in waiting:
        each.close()


def test_connections_that_break_leave_nothing_behind(tmp_path: Path) -> None:
    """K7: half a request, then a reset; and one connection more than allowed is refused."""
    settings = BrokerSettings(max_connections=4)
    with InsideBroker(tmp_path, MemoryObjects(), broker=settings) as inside:
        for _ in range(20):
            broken = Wire(inside.port)
            broken.send_bytes(struct.pack(">i", 1000) + b"\x00\x03")
            broken.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            broken.close()
        held = [connect_at_last(inside.port) for _ in range(4)]
        with Wire(inside.port) as fifth:
            assert fifth.is_closed()
        held.pop().close()
        connect_at_last(inside.port).close()
        for each in held:
            each.close()


def connect_at_last(port: int) -> Wire:
    """A connection that is served; those that ended count until the broker has heard of it."""
    for _ in range(1000):
        wire = Wire(port)
        try:
            wire.ask(Key.API_VERSIONS, 0)
            return wire
        except Exception:
            wire.close()
    raise AssertionError("no connection is served")


def test_a_silent_connection_is_closed(tmp_path: Path) -> None:
    """K7: also in the middle of a request that never ends."""
    settings = BrokerSettings(connections_max_idle_ms=100)
    with InsideBroker(tmp_path, MemoryObjects(), broker=settings) as inside:
        with Wire(inside.port) as silent:
            assert silent.is_closed()
        with Wire(inside.port) as half:
            half.send_bytes(struct.pack(">i", 1000) + b"\x00\x03")
            assert half.is_closed()


def test_a_client_that_never_reads_is_not_served_further(broker: BrokerProcess, wire: Wire, topic: str) -> None:
    """K7: half a gigabyte of answers is asked for and not taken; when it reads at last, it gets them all."""
    create_topic(wire, topic)
    produce(wire, topic, batch(b"x" * 1_000_000))
    before = memory_size(broker)
    with Wire(broker.port) as greedy:
        numbers = [greedy.send(Key.FETCH, 12, **fetch_fields(topic)) for _ in range(500)]
        for _ in range(20):
            started = time.monotonic()
            assert produce(wire, topic, batch(b"other")).error_code == 0
            assert time.monotonic() - started < 5
        assert memory_size(broker) - before < 64 * MIB
        for number in numbers:
            [found] = greedy.answer(Key.FETCH, 12, number).responses
            assert len(found.partitions[0].records) >= 1_000_000


def test_producers_are_held_back_while_others_go_on(tmp_path: Path, topic: str) -> None:
    """K7, A3: the store takes nothing and the write-ahead log is full: nothing is lost, reads go on."""
    gate = Gate("segments/")
    small = LogSettings(wal_size_max=8 * MIB, tail_size_max=8 * MIB, segment_size_max=MIB, flush_retry_ms=1)
    inside = InsideBroker(
        tmp_path,
        FaultyObjects(MemoryObjects(), gate.plan),
        small,
        BrokerSettings(queued_max_request_bytes=MIB),
        WalSettings(chunk_size_max=MIB),
    )
    with inside, Wire(inside.port) as producer, Wire(inside.port) as other:
        create_topic(other, topic)
        gate.closed = True
        sent = []
        sender = threading.Thread(target=lambda: sent.extend(send_all(producer, topic, 40)))
        sender.start()  # It cannot send everything: the broker does not read on.
        acked = answers_within(producer, 1.0)
        assert 4 <= acked < 40
        assert len(values(fetch(other, topic, max_bytes=1).records)) == 1
        assert other.ask(Key.METADATA, 9, topics=[{"name": topic}]).topics[0].error_code == 0
        gate.open.set()
        producer.socket.settimeout(20)
        for number in range(acked + 1, 41):
            [found] = producer.answer(Key.PRODUCE, 9, number).responses
            assert found.partition_responses[0].error_code == 0
        sender.join()
        read: list[bytes | None] = []
        while len(read) < 40:
            read += values(fetch(other, topic, len(read)).records)
        assert read == [b"%06d" % number * 100_000 for number in range(40)]


def send_all(producer: Wire, topic: str, count: int) -> list[int]:
    records = (batch(b"%06d" % number * 100_000) for number in range(count))
    return [producer.send(Key.PRODUCE, 9, **produce_fields(topic, each)) for each in records]


def answers_within(producer: Wire, seconds: float) -> int:
    """How many answers come before none comes for so long."""
    count = 0
    while select.select([producer.socket], [], [], seconds)[0]:
        count += 1
        producer.answer(Key.PRODUCE, 9, count)
    return count
