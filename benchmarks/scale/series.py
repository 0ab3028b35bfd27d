"""What there is more and more of, and what is measured of a broker that has so much and does nothing else."""

from __future__ import annotations

import resource
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.broker.latency import produce_frame
from benchmarks.machine import CHECKOUT
from benchmarks.scale.broker import Broker
from tests.broker.wire import Wire, batch, create_topic, fetch_fields

from holdfast.protocol.api import Key
from holdfast.record.build import build
from holdfast.record.layout import Codec
from holdfast.record.records import Record

Figures = dict[str, float]

_REQUESTS = 2_000
_GIB = 1 << 30
_RECORD_SIZE = 1 << 20
_UNDER_WAY = 16
_OFFSETS_AT_ONCE = 16


@dataclass(frozen=True)
class Series:
    """One thing that there is more and more of."""

    name: str
    title: str
    what: str  # The word for one of them, on the axis.
    sizes: tuple[int, ...]
    quick: tuple[int, ...]
    measure: Callable[[Path, int], Figures]


class Producer:
    """One record of 100 bytes a request, each waited for."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._batch = batch(b"x" * 100)

    def send(self, topic: str, partition: int) -> None:
        self._wire.send_bytes(produce_frame(topic, self._batch, 1, partition))
        self._wire.receive()


def partitions(folder: Path, size: int) -> Figures:
    """One topic of so many; requests go round over all of them."""
    with Broker(folder) as broker, broker.wire() as wire:
        create_topic(wire, "scale", partitions=size)
        producer = Producer(wire)
        ends = [0] * size

        def send(number: int) -> None:
            partition = number * max(1, size // _REQUESTS) % size
            producer.send("scale", partition)
            ends[partition] += 1

        figures = {"request_us": broker.cpu_us(_REQUESTS, send)}
        fields = fetch_fields("scale", partitions=range(size))
        for each, end in zip(fields["topics"][0]["partitions"], ends, strict=True):
            each["fetch_offset"] = end
        asked = wire.framed(Key.FETCH, 12, 1, **fields)
        _exchange(wire, asked)  # The first one looks at each partition.
        figures["fetch_us"] = broker.cpu_us(50, lambda _: _exchange(wire, asked))
        metadata = wire.framed(Key.METADATA, 9, 1, topics=[{"name": "scale"}], allow_auto_topic_creation=False)
        figures["metadata_us"] = broker.cpu_us(100, lambda _: _exchange(wire, metadata))
        broker.kill()
        figures["start_cpu_s"] = broker.start()
        return figures | {"memory_mib": broker.memory_mib}


def connections(folder: Path, size: int) -> Figures:
    """So many that have asked once and say nothing, beside one that produces."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with Broker(folder, "max.connections=20000", "max.connections.per.ip=20000") as broker, broker.wire() as wire:
        create_topic(wire, "scale")
        before = broker.memory_mib
        hello = wire.framed(Key.API_VERSIONS, 0, 1)
        idle: list[Wire] = []
        try:
            idle.extend(_said(Wire(broker.port), hello) for _ in range(size))
            added = broker.memory_mib - before
            connect_us = broker.cpu_us(200, lambda _: _said(Wire(broker.port), hello).close())
            producer = Producer(wire)
            request_us = broker.cpu_us(_REQUESTS, lambda _: producer.send("scale", 0))
            return {"request_us": request_us, "connect_us": connect_us, "memory_mib": added}
        finally:
            for each in idle:
                each.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # No TIME_WAIT.
                each.close()


def stored(folder: Path, size: int) -> Figures:
    """So many GiB of records that repeat themselves, compressed by zstd as their client does it, and in the store."""
    with Broker(folder, "log.segment_size_max=1048576") as broker:
        with broker.wire() as wire:
            create_topic(wire, "scale", **{"holdfast.validate.records": "false"})
            frame = produce_frame("scale", bytes(build([Record(None, bytes(_RECORD_SIZE), 0)], codec=Codec.ZSTD)), 1, 0)
            count = size * _GIB // _RECORD_SIZE
            append_us = broker.cpu_us(count // _UNDER_WAY, lambda _: _pipelined(wire, frame, _UNDER_WAY)) / _UNDER_WAY
        broker.stop()
        start_cpu_s = broker.start()
        with broker.wire() as wire:
            first = wire.framed(Key.FETCH, 12, 1, **fetch_fields("scale", 0, max_bytes=1))
            middle = wire.framed(Key.FETCH, 12, 1, **fetch_fields("scale", count // 2, max_bytes=1))
            producer = Producer(wire)
            return {
                "request_us": broker.cpu_us(_REQUESTS, lambda _: producer.send("scale", 0)),
                "append_us": append_us,
                "fetch_us": broker.cpu_us(200, lambda number: _exchange(wire, middle if number % 2 else first)),
                "start_cpu_s": start_cpu_s,
                "memory_mib": broker.memory_mib,
            }


def groups(folder: Path, size: int) -> Figures:
    """So many groups, each with one committed offset, and nobody in them."""
    with Broker(folder) as broker:
        with broker.wire() as wire:
            create_topic(wire, "scale")
            commits = [_commit(wire, number) for number in range(size)]
            rounds = max(1, 500 // size)
            commit_us = broker.cpu_us(rounds * size, lambda number: _exchange(wire, commits[number % size]))
            producer = Producer(wire)
            request_us = broker.cpu_us(_REQUESTS, lambda _: producer.send("scale", 0))
        broker.kill()
        figures = {"request_us": request_us, "commit_us": commit_us, "start_cpu_s": broker.start()}
        return figures | {"memory_mib": broker.memory_mib}


def pythons(folder: Path, size: int) -> Figures:
    """The broker under another Python 3: `size` is its second number."""
    with Broker(folder, python=str(interpreter(size))) as broker:
        broker.stop()  # Modules are compiled once for each.
    with Broker(folder, python=str(interpreter(size))) as broker:
        with broker.wire() as wire:
            create_topic(wire, "scale")
            producer = Producer(wire)
            broker.cpu_us(_REQUESTS, lambda _: producer.send("scale", 0))  # The specializing interpreter warms up.
            figures = {"request_us": broker.cpu_us(2 * _REQUESTS, lambda _: producer.send("scale", 0))}
            large = produce_frame("scale", batch(*[bytes(1000)] * 900), 1, 0)
            figures["append_us"] = broker.cpu_us(300, lambda _: _exchange(wire, large))
            asked = wire.framed(Key.FETCH, 12, 1, **fetch_fields("scale", 3 * _REQUESTS))
            figures["fetch_us"] = broker.cpu_us(300, lambda _: _exchange(wire, asked))
        broker.kill()
        return figures | {"start_cpu_s": broker.start(), "memory_mib": broker.memory_mib}


def interpreter(minor: int) -> Path:
    """Ours, or one that has been given what the broker needs, in `.tools/pythons`."""
    if minor == sys.version_info.minor:
        return Path(sys.executable)
    return CHECKOUT / ".tools" / "pythons" / f"3.{minor}" / "bin" / "python"


def _exchange(wire: Wire, frame: bytes) -> None:
    wire.send_bytes(frame)
    wire.receive()


def _said(wire: Wire, frame: bytes) -> Wire:
    _exchange(wire, frame)
    return wire


def _pipelined(wire: Wire, frame: bytes, count: int) -> None:
    wire.send_bytes(frame * count)
    for _ in range(count):
        wire.receive()


def _commit(wire: Wire, number: int) -> bytes:
    offsets = [{"partition_index": 0, "committed_offset": 1, "committed_metadata": ""}]
    topics = [{"name": "scale", "partitions": offsets}]
    fields = {"group_id": f"group-{number}", "generation_id_or_member_epoch": -1, "member_id": "", "topics": topics}
    return wire.framed(Key.OFFSET_COMMIT, 8, 1, **fields)


SERIES = (
    Series("partitions", "Partitions", "partitions", (1, 10, 100, 1_000, 10_000), (1, 100), partitions),
    Series("connections", "Connections", "connections", (1, 10, 100, 1_000, 10_000), (1, 100), connections),
    Series("stored", "Stored records", "GiB", (1, 10, 100), (1,), stored),
    Series("groups", "Groups", "groups", (1, 10, 100, 1_000, 5_000), (1, 100), groups),
)
PYTHONS = Series("pythons", "Python beside Python", "Python 3.x", (11, 12, 13), (11,), pythons)
