"""K10: what requests and answers hold is counted, byte by byte as it is there, and nobody can keep all of it."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.broker.inside import InsideBroker
from tests.broker.wire import TIMEOUT_S, Wire, batch, create_topic, fetch, fetch_fields, produce, wait_for

from holdfast.broker.settings import BrokerSettings
from holdfast.io.objects.memory import MemoryObjects
from holdfast.protocol.api import Key

KIB, MIB = 1 << 10, 1 << 20


@contextlib.contextmanager
def running(path: Path, **settings: int) -> Iterator[tuple[InsideBroker, Wire]]:
    wanted = BrokerSettings(**settings)  # type: ignore[arg-type]
    with InsideBroker(path, MemoryObjects(), broker=wanted) as inside, Wire(inside.port) as wire:
        create_topic(wire, "here", max_message_bytes=str(32 * MIB))
        yield inside, wire


def test_what_is_only_announced_takes_no_room(tmp_path: Path) -> None:
    """K10: twenty connections announce far more than all may hold, and a large request comes through at once."""
    with running(tmp_path, queued_max_request_bytes=300 * KIB) as (inside, wire):
        silent = [Wire(inside.port) for _ in range(20)]
        for each in silent:
            each.send_bytes(struct.pack(">i", 90 * MIB) + bytes(10))
        wait_for(lambda: len(inside.server.arriving) == 20)
        assert inside.server.requests.size == 20 * 10
        assert produce(wire, "here", batch(bytes(200 * KIB))).error_code == 0
        for each in silent:
            each.close()
        wait_for(lambda: inside.server.requests.size == 0)


def test_requests_that_stop_half_way_give_way_to_others(tmp_path: Path) -> None:
    """K10: their bytes are there and fill all the room; whoever waits gets it within seconds, they are closed."""
    with running(tmp_path, queued_max_request_bytes=300 * KIB) as (inside, wire):
        stuck = [Wire(inside.port) for _ in range(4)]
        for each in stuck:
            each.send_bytes(struct.pack(">i", 200 * KIB) + bytes(100 * KIB))
        wait_for(lambda: not inside.server.requests.has_room)
        wire.socket.settimeout(10)  # Less than the time that a request has to arrive.
        assert produce(wire, "here", batch(bytes(200 * KIB))).error_code == 0
        assert stuck[0].is_closed()
        for each in stuck:
            each.close()
        wait_for(lambda: inside.server.requests.size == 0)


def test_requests_that_wait_for_room_are_not_taken_for_late(tmp_path: Path) -> None:
    """K10: many honest producers with little room: all are answered."""
    with running(tmp_path, queued_max_request_bytes=300 * KIB, socket_request_max_ms=2000) as (inside, wire):
        produce(wire, "here", batch(b"first"))
        many = [Wire(inside.port) for _ in range(16)]
        for _ in range(3):
            assert all(produce(each, "here", batch(bytes(250 * KIB))).error_code == 0 for each in many)
        for each in many:
            each.close()


def test_a_request_has_to_arrive_as_a_whole(tmp_path: Path) -> None:
    """K7: a byte now and then is not enough, and neither is a large request in small pieces."""
    with running(tmp_path, socket_request_max_ms=400) as (inside, _):
        with Wire(inside.port) as slow:
            slow.send_bytes(struct.pack(">i", 1000))
            assert trickle(slow, 1, until_s=5) < 5
        wait_for(lambda: inside.server.closed["late"] == 1)
        with Wire(inside.port) as large:
            large.send_bytes(struct.pack(">i", 20 * MIB))
            assert trickle(large, KIB, until_s=5) < 5
        wait_for(lambda: inside.server.closed["late"] == 2)
        assert inside.server.requests.size == 0


def trickle(wire: Wire, size: int, until_s: float) -> float:
    """Send little, again and again, until the broker has had enough; how long it took."""
    began = time.monotonic()
    wire.socket.settimeout(0.02)
    while time.monotonic() - began < until_s:
        try:
            wire.send_bytes(bytes(size))
            if not wire.socket.recv(1):
                break
        except TimeoutError:
            continue
        except OSError:
            break
    return time.monotonic() - began


def never_reads(port: int) -> Wire:
    """A client whose kernel takes little for it."""
    link = socket.socket()
    link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    link.settimeout(TIMEOUT_S)
    link.connect(("127.0.0.1", port))
    return Wire(port, link=link)


@pytest.fixture
def full(tmp_path: Path) -> Iterator[tuple[InsideBroker, Wire]]:
    """Room for 8 MiB of answers, and 24 MiB to be fetched."""
    with running(tmp_path, queued_max_response_bytes=8 * MIB) as (inside, wire):
        for _ in range(24):
            produce(wire, "here", batch(bytes(MIB - 1000)))
        create_topic(wire, "small")
        produce(wire, "small", batch(b"small"))
        yield inside, wire


@contextlib.contextmanager
def most_of(inside: InsideBroker) -> Iterator[list[int]]:
    """How much answers hold, looked at every few milliseconds while the block lasts."""
    sizes, ended = [0], threading.Event()

    def look() -> None:
        while not ended.wait(0.002):
            sizes.append(inside.server.answers.size)

    looking = threading.Thread(target=look)
    looking.start()
    try:
        yield sizes
    finally:
        ended.set()
        looking.join()


def test_answers_that_nobody_takes_are_bounded_and_given_up(full: tuple[InsideBroker, Wire]) -> None:
    """K10: twenty clients ask for much and read nothing: others are served within seconds, the twenty are closed."""
    inside, wire = full
    unread = [never_reads(inside.port) for _ in range(20)]
    with most_of(inside) as sizes:
        for each in unread:
            for _ in range(10):
                each.send(Key.FETCH, 12, **fetch_fields("here", max_bytes=24 * MIB, partition_max_bytes=24 * MIB))
        wire.socket.settimeout(10)
        for _ in range(20):
            assert fetch(wire, "small").records
    assert MIB < max(sizes) <= 10 * MIB, max(sizes)
    wait_for(lambda: inside.server.closed["unread"] > 0 and inside.server.answers.has_room)
    for each in unread:
        each.close()
    wait_for(lambda: inside.server.answers.size == 0)


def test_the_idle_limit_takes_back_answers_that_nobody_reads(tmp_path: Path) -> None:
    """K10: they do not keep a connection alive."""
    with running(tmp_path, connections_max_idle_ms=500) as (inside, wire):
        for _ in range(12):
            produce(wire, "here", batch(bytes(MIB - 1000)))
        unread = never_reads(inside.port)
        unread.send(Key.FETCH, 12, **fetch_fields("here", max_bytes=24 * MIB, partition_max_bytes=24 * MIB))
        wait_for(lambda: inside.server.answers.size > 0)
        wait_for(lambda: inside.server.answers.size == 0)
        unread.close()


def test_answers_that_are_not_taken_have_a_deadline(tmp_path: Path) -> None:
    """K10: without any pressure, too."""
    with running(tmp_path, socket_response_max_ms=500) as (inside, wire):
        for _ in range(12):
            produce(wire, "here", batch(bytes(MIB - 1000)))
        unread = never_reads(inside.port)
        unread.send(Key.FETCH, 12, **fetch_fields("here", max_bytes=24 * MIB, partition_max_bytes=24 * MIB))
        wait_for(lambda: inside.server.closed["unread"] == 1)
        assert inside.server.answers.size == 0
        unread.close()
