"""A store that hangs: whoever asked it waits, and nobody else does."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from tests.log.log_world import HOME, OTHER, LogWorld, fill, in_loop, numbered, read_all

from holdfast.io.calls import InlineCalls, ThreadCalls
from holdfast.io.objects.faulty import Delay
from holdfast.io.objects.memory import MemoryObjects
from holdfast.io.objects.off_loop import AskedOnLoop, OffLoopObjects
from holdfast.log.logs import Logs
from holdfast.segment.cached.blocks import BLOCK_SIZE

HANG_S = 20.0  # So long a store hangs that nobody lets go; nothing here may take a good part of that.
SOON_S = 5.0


class Hang:
    """A store all of whose calls wait from `begin` on."""

    def __init__(self, world: LogWorld) -> None:
        self._go_on = threading.Event()
        self._world = world
        self.waiting = 0

    def begin(self) -> None:
        self._world.faults = lambda _: Delay(self._wait)

    def _wait(self) -> None:
        self.waiting += 1
        self._go_on.wait(HANG_S)

    def end(self) -> None:
        self._world.faults = lambda _: None
        self._go_on.set()

    async def holds(self, count: int) -> None:
        async with asyncio.timeout(HANG_S):
            while self.waiting < count:
                await asyncio.sleep(0.001)


@asynccontextmanager
async def hanging(world: LogWorld) -> AsyncIterator[tuple[Logs, Hang]]:
    hang = Hang(world)
    logs = await world.open(calls=ThreadCalls())
    try:
        yield logs, hang
    finally:
        hang.end()
        await logs.close()


@in_loop
async def test_a_fetch_of_cold_data_does_not_stop_the_loop() -> None:
    """L1, D5: the blocks from the interval's start are in memory, the one that the read then needs is not."""
    world = LogWorld(segment_size_max=4 << 20, wal_size_max=1 << 26)
    async with hanging(world) as (logs, hang):
        partition, other = await logs.partition(HOME), await logs.partition(OTHER)
        size = 30_000
        count = 2 * BLOCK_SIZE // size
        await fill(partition, count, size)
        await partition.flush()
        await partition.read(1, None, 1)  # The tail and the first block are in memory now, and nothing is read ahead.
        hang.begin()
        across = BLOCK_SIZE // size  # The batch that lies across the border of the first block.
        began = time.monotonic()
        slow = asyncio.ensure_future(partition.read(across - 1, None, 2 * size))
        await hang.holds(1)
        await fill(other, 3)
        assert await read_all(other) == numbered(0, 3)
        assert time.monotonic() - began < SOON_S
        assert not slow.done()
        hang.end()
        assert (await slow).next_offset == across  # Two batches would be more than the limit.


@in_loop
async def test_what_is_in_memory_is_read_while_the_store_hangs() -> None:
    """L1: a read whose blocks are all here asks nobody."""
    world = LogWorld(segment_size_max=4 << 20, wal_size_max=1 << 26)
    async with hanging(world) as (logs, hang):
        partition = await logs.partition(HOME)
        await fill(partition, 50, 100)
        await partition.flush()
        assert await read_all(partition) == numbered(0, 50, 100)
        hang.begin()
        assert await read_all(partition) == numbered(0, 50, 100)
        assert hang.waiting == 0


@in_loop
async def test_the_spilled_tail_is_read_while_every_thread_of_the_store_hangs() -> None:
    """L1, D5: reads of the local disk have threads of their own."""
    world = LogWorld(tail_size_max=64, wal_size_max=1 << 26)
    async with hanging(world) as (logs, hang):
        cold, spilled = await logs.partition(HOME), await logs.partition(OTHER)
        await fill(cold, 3)
        await cold.flush()
        await fill(spilled, 20, 100)
        assert all(each.data is None for each in spilled.tail)
        hang.begin()
        reads = [asyncio.ensure_future(cold.read(0)) for _ in range(20)]
        await hang.holds(1)
        began = time.monotonic()
        assert await read_all(spilled) == numbered(0, 20, 100)
        assert time.monotonic() - began < SOON_S
        hang.end()
        assert [(await read).next_offset for read in reads] == [3] * 20


@in_loop
async def test_a_store_cannot_be_asked_by_the_loop_itself() -> None:
    """D5: by mistake or not, whatever the call; through `Calls` it can."""
    inner = MemoryObjects()
    inner.put("a", [b"x"])
    store = OffLoopObjects(inner)
    asks = (
        lambda: store.get("a"),
        lambda: store.size("a"),
        lambda: store.list(""),
        lambda: store.delete("a"),
        lambda: store.put("b", [b""]),
        lambda: store.put_if_absent("b", [b""]),
    )
    for ask in asks:
        with pytest.raises(AskedOnLoop):
            ask()
    assert await InlineCalls().run(store.get, "a") == b"x"
    calls = ThreadCalls()
    assert await calls.run(store.get, "a") == b"x"
    calls.close()
    with pytest.raises(AskedOnLoop):
        store.get("a")
