"""Long polls: woken by the event itself, right at the edges, many partitions together."""

from __future__ import annotations

import asyncio

import pytest
from tests.log.log_world import HOME, MEMORY, OTHER, LogWorld, batch, fill, in_loop, read_all, turns

from holdfast.log.errors import LogsStopped, PartitionDeleted
from holdfast.log.partition.partition import wait_any


@in_loop
async def test_wait_at_the_edge() -> None:
    """L4: the offset before the watermark is there; the one equal to it waits; the one behind waits for two records."""
    partition = await (await LogWorld().open()).partition(HOME)
    await fill(partition, 3)
    assert partition.marks.high_watermark == 3
    assert await partition.wait(2, timeout=0)
    assert not await partition.wait(3, timeout=0)
    at_edge, behind = asyncio.ensure_future(partition.wait(3)), asyncio.ensure_future(partition.wait(4))
    await turns()
    assert not at_edge.done()
    await fill(partition, 1)
    await turns()
    assert at_edge.done()
    assert not behind.done()
    await fill(partition, 1)
    assert await behind


@in_loop
async def test_who_waits_wakes_when_the_record_is_readable_and_not_before() -> None:
    """L4, A1: woken with the fsync, and a read made then finds the record."""
    world = LogWorld()
    partition = await (await world.open()).partition(HOME)
    wait = asyncio.ensure_future(partition.wait(0))
    await turns()
    seen = []
    world.disk.during_sync = lambda: seen.append(wait.done())
    ack = asyncio.ensure_future(partition.append(batch(b"a")))
    assert await wait
    world.disk.during_sync = None
    assert seen == [False]
    assert await read_all(partition) == [(0, b"a")]
    await ack


@in_loop
async def test_in_memory_mode_who_waits_wakes_before_the_fsync() -> None:
    """A2: what is buffered is readable, so who waits for it is woken."""
    world = LogWorld()
    partition = await (await world.open()).partition(HOME, MEMORY)
    woken: list[int] = []

    async def wait() -> None:
        assert await partition.wait(0)
        woken.append(partition.marks.durable)

    waiting = asyncio.ensure_future(wait())
    await turns()
    await partition.append(batch(b"a"))
    await waiting
    assert woken == [0], "Woken when nothing was durable yet."
    await turns()
    assert partition.marks.durable == 1


@in_loop
async def test_a_timeout_says_false_and_leaves_nothing_behind() -> None:
    """L4: false on timeout, and no waiter stays."""
    partition = await (await LogWorld().open()).partition(HOME)
    for _ in range(100):
        assert not await partition.wait(5, timeout=0.0001)
    await turns()
    assert not partition.high_watermark._waiters


@in_loop
async def test_idle_partition_beside_a_ready_one() -> None:
    """L4: many partitions are waited for together; an idle one never delays a ready one."""
    logs = await LogWorld().open()
    idle, ready, other = [await logs.partition(HOME._replace(partition=number)) for number in range(3)]
    await fill(ready, 1)
    assert await wait_any([(idle, 0), (ready, 0), (other, 0)]) == [1]
    waiting = asyncio.ensure_future(wait_any([(idle, 0), (ready, 1), (other, 0)]))
    await turns()
    assert not waiting.done()
    await fill(other, 1)
    assert await waiting == [2]
    assert await wait_any([(idle, 0), (ready, 1)], timeout=0.001) == []
    await turns()
    assert not idle.high_watermark._waiters
    assert not ready.high_watermark._waiters


@in_loop
async def test_waiting_for_no_partition_at_all() -> None:
    """L4: where nothing can become readable nobody waits, and it is no error."""
    assert await wait_any([]) == []


@in_loop
async def test_a_partition_that_is_deleted_wakes_who_waits() -> None:
    """K6, L4: whoever waits for a deleted topic is told, alone or together with others, and nobody hangs."""
    logs = await LogWorld().open()
    gone, stays = await logs.partition(HOME), await logs.partition(OTHER)
    alone = asyncio.ensure_future(gone.wait(0))
    together = asyncio.ensure_future(wait_any([(stays, 0), (gone, 0)]))
    await turns()
    await logs.delete_topic(HOME.topic_id)
    with pytest.raises(PartitionDeleted):
        await alone
    assert await together == [1]
    with pytest.raises(PartitionDeleted):
        await gone.read(0)
    with pytest.raises(PartitionDeleted):
        await gone.wait(0)


@in_loop
async def test_closing_wakes_who_waits() -> None:
    """A4: nobody waits for logs that are closed."""
    logs = await LogWorld().open()
    partition = await logs.partition(HOME)
    waits = [asyncio.ensure_future(partition.wait(0)), asyncio.ensure_future(wait_any([(partition, 0)]))]
    await turns()
    await logs.close()
    with pytest.raises(LogsStopped):
        await waits[0]
    assert await waits[1] == [0]
