"""The end of a server: requests that are not answered in their time are worked on no more."""

from __future__ import annotations

import asyncio
import itertools
import struct
from collections.abc import Sequence

import pytest

from holdfast.broker.net.listener import OpenListener
from holdfast.broker.net.request import Done, Request
from holdfast.broker.net.server import ConnectionLimits, Server
from holdfast.io.address import Address, bind
from holdfast.io.clock import SystemClock
from holdfast.protocol.api import Key
from holdfast.types import Buffer

COUNT = 3


class SlowWork:
    """Requests are worked on alone, and wait until a test lets them go on."""

    def __init__(self) -> None:
        self.begun = 0
        self.done = 0
        self.done_in_time = 0  # When the server had stopped.
        self.go_on = asyncio.Event()

    def start_produce(self, request: Request, done: Done) -> bool:
        return False

    async def handle(self, request: Request) -> Sequence[Buffer]:
        self.begun += 1
        await self.go_on.wait()
        self.done += 1
        return []


def produce_request(number: int) -> bytes:
    return struct.pack(">ihhih", 10, Key.PRODUCE, 7, number, -1)


async def until_begun(work: SlowWork) -> None:
    while not work.begun:
        await asyncio.sleep(0)


async def stopped(work: SlowWork, *, leaves: bool, timeout: float, go_on_after: float | None = None) -> Server:
    """A server that was stopped while the first of three requests was worked on, and some turns later."""
    server = Server(work, ConnectionLimits(), SystemClock())
    bound = bind(Address("127.0.0.1", 0))
    await server.listen([OpenListener.plain(bound)])
    _, writer = await asyncio.open_connection(*bound.getsockname())
    writer.write(b"".join(produce_request(number) for number in range(COUNT)))
    await asyncio.wait_for(until_begun(work), 60)
    if leaves:
        writer.close()
        await writer.wait_closed()
        while server.connection_count:
            await asyncio.sleep(0)
    if go_on_after is not None:
        asyncio.get_running_loop().call_later(go_on_after, work.go_on.set)
    await server.stop(timeout)
    work.done_in_time = work.done
    for _ in range(10):
        await asyncio.sleep(0)
    work.go_on.set()
    for _ in range(10):
        await asyncio.sleep(0)
    writer.close()
    return server


class QuickWork(SlowWork):
    """A request takes a moment, one longer than the other, and the client has its answer."""

    async def handle(self, request: Request) -> Sequence[Buffer]:
        self.begun += 1
        await asyncio.sleep(0.01 + self.begun % 7 * 0.003)
        self.done += 1
        return [struct.pack(">ii", 4, request.header.correlation_id)]


async def ask_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> int:
    """As a consumer does: the next request follows each answer, until nobody answers. How many answers came."""
    for number in itertools.count():
        writer.write(produce_request(number))
        try:
            assert await reader.readexactly(8) == struct.pack(">ii", 4, number)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()
            return number
    raise AssertionError


def test_who_asks_on_and_on_does_not_keep_a_broker_from_its_end() -> None:
    """A4: what was taken is answered; what comes after the stop began is not taken."""

    async def run() -> None:
        work = QuickWork()
        server = Server(work, ConnectionLimits(), SystemClock())
        bound = bind(Address("127.0.0.1", 0))
        await server.listen([OpenListener.plain(bound)])
        asking = asyncio.gather(*[ask_on(*await asyncio.open_connection(*bound.getsockname())) for _ in range(30)])
        await asyncio.sleep(0.1)
        began = asyncio.get_running_loop().time()
        await server.stop(8)
        assert asyncio.get_running_loop().time() - began < 5
        answers = await asyncio.wait_for(asking, 5)
        assert sum(answers) == work.begun == work.done > 0

    asyncio.run(run())


def test_who_was_never_answered_is_reset() -> None:
    """A4: an end before the first answer is taken for a refusal by clients that try again after an error."""

    async def run() -> None:
        server = Server(QuickWork(), ConnectionLimits(), SystemClock())
        bound = bind(Address("127.0.0.1", 0))
        await server.listen([OpenListener.plain(bound)])
        silent, _ = await asyncio.open_connection(*bound.getsockname())
        answered, writer = await asyncio.open_connection(*bound.getsockname())
        writer.write(produce_request(0))
        await answered.readexactly(8)
        while server.connection_count < 2:
            await asyncio.sleep(0)
        await server.stop(8)
        with pytest.raises(ConnectionResetError):
            await asyncio.wait_for(silent.read(), 30)
        assert await asyncio.wait_for(answered.read(), 30) == b""

    asyncio.run(run())


@pytest.mark.parametrize("leaves", [False, True])
def test_what_is_late_is_worked_on_no_more(leaves: bool) -> None:
    """A4: behind the limit the log is closed, and nothing may run into that: neither what waits, nor what had begun."""

    async def run() -> None:
        work = SlowWork()
        server = await stopped(work, leaves=leaves, timeout=0.05)
        assert (work.begun, work.done, server.requests.size) == (1, 0, 0)

    asyncio.run(run())


def test_what_a_client_that_has_gone_had_produced_is_waited_for() -> None:
    """A4: it was taken, and is appended before the log is closed."""

    async def run() -> None:
        work = SlowWork()
        await stopped(work, leaves=True, timeout=60, go_on_after=0.05)
        assert work.done_in_time == COUNT

    asyncio.run(run())
