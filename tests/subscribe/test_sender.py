"""The bounded queue with its own sender."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.log.log_world import in_loop

from holdfast.subscribe.server.sender import MESSAGES_MAX, Sender


class Wire:
    """Takes messages as a test lets it."""

    def __init__(self) -> None:
        self.got: list[bytes] = []
        self.open = asyncio.Event()
        self.failure: Exception | None = None

    async def write(self, message: bytes) -> None:
        await self.open.wait()
        if self.failure is not None:
            raise self.failure
        self.got.append(message)


def running(wire: Wire, **limits: int) -> tuple[Sender, asyncio.Task[Any]]:
    sender = Sender(wire.write, **limits)
    task = asyncio.ensure_future(sender.run())
    task.add_done_callback(lambda each: each.cancelled() or each.exception())
    return sender, task


async def stop(task: asyncio.Task[Any]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


@in_loop
async def test_whoever_reads_does_not_wait_for_a_send() -> None:
    """S2: up to 1,024 messages are queued while the first is still being sent; the next one waits."""
    wire = Wire()
    sender, task = running(wire)
    await sender.send(*(b"%d" % number for number in range(MESSAGES_MAX)))
    assert sender.queued == MESSAGES_MAX == 1024
    more = asyncio.ensure_future(sender.send(b"more"))
    await asyncio.sleep(0)
    assert not more.done()
    wire.open.set()
    await more
    await sender.close()
    assert wire.got == [*(b"%d" % number for number in range(MESSAGES_MAX)), b"more"]
    await stop(task)


@in_loop
async def test_the_queue_is_bounded_by_bytes_too() -> None:
    """S2: large messages fill the queue before it holds 1,024 of them; a single one always fits."""
    wire = Wire()
    sender, task = running(wire, size_max=100)
    await sender.send(b"x" * 1000)
    more = asyncio.ensure_future(sender.send(b"y"))
    await asyncio.sleep(0)
    assert not more.done()
    wire.open.set()
    await more
    await stop(task)


@in_loop
async def test_a_failure_surfaces_at_the_next_send_and_at_close() -> None:
    """S2: errors of the sender surface at the next send and at close."""
    wire = Wire()
    sender, task = running(wire)
    await sender.send(b"one", b"two")
    wire.failure = ConnectionResetError("gone")
    wire.open.set()
    with pytest.raises(ConnectionResetError):
        await task
    with pytest.raises(ConnectionResetError):
        await sender.send(b"three")
    with pytest.raises(ConnectionResetError):
        await sender.close()
    assert wire.got == []


@in_loop
async def test_a_stuck_client_that_goes_away_frees_the_reader() -> None:
    """S2: whoever waits for room is told when the sender fails or stops: no deadlock."""
    for how in ("fails", "stops"):
        wire = Wire()
        sender, task = running(wire, messages_max=1)
        await sender.send(b"one")
        waiting = asyncio.ensure_future(sender.send(b"two"))
        closing = asyncio.ensure_future(sender.close())
        await asyncio.sleep(0)
        if how == "fails":
            wire.failure = ConnectionResetError("gone")
            wire.open.set()
        else:
            task.cancel()
        for each in (waiting, closing):
            with pytest.raises(ConnectionError):
                await asyncio.wait_for(each, 5)


@in_loop
async def test_what_is_being_sent_goes_before_a_failure_is_told() -> None:
    """S2: a stream that fails drops its queue, and waits for its wire to be free; not for a client that is stuck."""
    wire = Wire()
    sender, task = running(wire)
    await sender.send(b"one", b"two", b"three")
    await asyncio.sleep(0)
    going = asyncio.ensure_future(sender.let_go(60))
    await asyncio.sleep(0)
    assert not going.done()
    wire.open.set()
    await going
    assert (wire.got, sender.queued) == ([b"one"], 0)
    await stop(task)
    stuck = Wire()
    sender, task = running(stuck)
    await sender.send(b"one")
    await asyncio.wait_for(sender.let_go(0.01), 30)
    assert stuck.got == []
    await stop(task)
