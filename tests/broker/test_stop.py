"""The end of a server: requests that are not answered in their time are worked on no more."""

from __future__ import annotations

import asyncio
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
