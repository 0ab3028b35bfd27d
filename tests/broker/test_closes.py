"""K9: many connections that end at once are let go a few in each turn of the event loop."""

from __future__ import annotations

import asyncio
import itertools
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from tests.broker.inside import InsideBroker
from tests.broker.wire import Wire, create_topic, wait_for

from holdfast.broker.net.request import Done, Request
from holdfast.broker.net.server import ConnectionLimits, Server
from holdfast.broker.settings import BrokerSettings
from holdfast.io.clock import SystemClock
from holdfast.io.objects.memory import MemoryObjects
from holdfast.io.turns import AT_ONCE, short_turns_loop
from holdfast.types import Buffer

COUNT = 400


@contextmanager
def turns(inside: InsideBroker) -> Iterator[list[int]]:
    """How many connections there are in each turn of the broker's loop."""
    seen: list[int] = []
    loop, ended = inside.server_loop, False

    def look() -> None:
        seen.append(inside.server.connection_count)
        if not ended:
            loop.call_soon(look)

    loop.call_soon_threadsafe(look)
    try:
        yield seen
    finally:
        ended = True


def connect(inside: InsideBroker, count: int, held: ExitStack) -> list[socket.socket]:
    links = [held.enter_context(socket.create_connection(("127.0.0.1", inside.port))) for _ in range(count)]
    wait_for(lambda: inside.server.connection_count == count)
    return links


def most_at_once(seen: list[int]) -> int:
    return max(before - after for before, after in itertools.pairwise(seen))


def test_clients_that_go_at_once_are_let_go_a_few_a_turn(tmp_path: Path) -> None:
    """K9: as when a machine with all its clients goes away."""
    with InsideBroker(tmp_path, MemoryObjects()) as inside, ExitStack() as held:
        links = connect(inside, COUNT, held)
        with turns(inside) as seen:
            inside.hold_loop(lambda: [each.close() for each in links])  # So that all are seen in one turn, or could be.
            wait_for(lambda: inside.server.connection_count == 0)
    assert most_at_once(seen) <= AT_ONCE


def test_idle_clients_are_closed_a_few_a_turn(tmp_path: Path) -> None:
    """K9: as many minutes after a burst."""
    settings = BrokerSettings(connections_max_idle_ms=1_000)
    with InsideBroker(tmp_path, MemoryObjects(), broker=settings) as inside, ExitStack() as held:
        connect(inside, COUNT, held)
        with turns(inside) as seen:
            wait_for(lambda: inside.server.connection_count == 0)
        with Wire(inside.port) as wire:
            create_topic(wire, "still-here")
    assert most_at_once(seen) <= 2 * AT_ONCE


class NoWork:
    """Nobody asks for anything."""

    def start_produce(self, request: Request, done: Done) -> bool:
        raise AssertionError

    async def handle(self, request: Request) -> list[Buffer]:
        raise AssertionError


class Reader:
    """A connection, as the server sees it when there is room again."""

    def __init__(self, told: list[Reader]) -> None:
        self._told = told

    def update_reading(self) -> None:
        self._told.append(self)


def test_connections_hear_of_room_a_few_a_turn() -> None:
    """K9: and every one of them after the last time that there was none, also if that was in between."""

    async def run() -> None:
        told: list[Reader] = []
        server = Server(NoWork(), ConnectionLimits(requests_size_max=10), SystemClock())
        readers = {Reader(told) for _ in range(COUNT)}
        for each in readers:
            server.add(each)  # type: ignore[arg-type]
        counts = [0]

        async def turns(count: int) -> None:
            for _ in range(count):
                await asyncio.sleep(0)
                counts.append(len(told))

        server.requests.hold(10)
        server.requests.release(10)
        await turns(5)
        server.requests.hold(10)
        server.requests.release(10)
        before = len(told)
        await turns(3 * COUNT // AT_ONCE)
        assert set(told[before:]) == readers
        assert max(after - before for before, after in itertools.pairwise(counts)) <= 2 * AT_ONCE
        assert counts[-1] <= 2 * COUNT

    asyncio.run(run())


def test_nobody_is_passed_over() -> None:
    """K9: sockets that always have something to say do not keep the loop from the others."""

    async def run() -> int:
        loop, heard = asyncio.get_running_loop(), asyncio.Event()
        turns = 0
        with ExitStack() as held:
            pairs = [tuple(held.enter_context(each) for each in socket.socketpair()) for _ in range(4 * AT_ONCE)]
            for ours, theirs in pairs[:-1]:
                theirs.send(b"x")
                loop.add_reader(ours, lambda: None)  # Never read: it is ready again at once.
            ours, theirs = pairs[-1]
            loop.add_reader(ours, heard.set)
            for _ in range(10):
                await asyncio.sleep(0)
            theirs.send(b"x")
            while not heard.is_set() and turns < 100:
                turns += 1
                await asyncio.sleep(0)
            for ours, _ in pairs:
                loop.remove_reader(ours)
        return turns

    with asyncio.Runner(loop_factory=short_turns_loop) as runner:
        assert runner.run(run()) <= 8


@pytest.mark.parametrize("timeout", [0.0, 0.0004, 0.02])
def test_timers_are_kept(timeout: float) -> None:
    async def run() -> float:
        loop = asyncio.get_running_loop()
        began = loop.time()
        await asyncio.sleep(timeout)
        return loop.time() - began

    with asyncio.Runner(loop_factory=short_turns_loop) as runner:
        assert runner.run(run()) >= timeout * 0.9
