"""Back-pressure: past the limits producers are held back, never lost, and everything goes on when there is room."""

from __future__ import annotations

import asyncio

import pytest
from tests.log.log_world import HOME, MEMORY, OTHER, LogWorld, batch, fill, in_loop, numbered, read_all, turns, value

from holdfast.io.objects.faulty import FailBefore
from holdfast.log.errors import LogsStopped, WalLimitTooLow
from holdfast.wal import WalSettings

SMALL = WalSettings(chunk_size_max=4096, zero_ahead_size=512)
LIMIT = 20_000


async def time_passes(world: LogWorld, times: int = 30) -> None:
    for _ in range(times):
        world.clock.advance(0.25)
        await turns(10)


@in_loop
async def test_producers_wait_while_the_store_is_down() -> None:
    """A4: the write-ahead log is full and the store is away: producers wait, reads go on, the size stays bounded;
    when the store is back everything continues, and nothing is lost or doubled."""
    world = LogWorld(wal=SMALL, wal_size_max=LIMIT)
    logs = await world.open(background=True)
    partition = await logs.partition(HOME)
    world.faults = lambda call: FailBefore() if call.kind == "put_if_absent" else None
    acks = [asyncio.ensure_future(partition.append(batch(value(number, 1000)))) for number in range(60)]
    await time_passes(world)
    done = sum(each.done() for each in acks)
    assert 0 < done < 60
    assert not logs.has_room
    assert logs._ground.journal.size < LIMIT + 2 * 1100
    assert await read_all(partition) == numbered(0, done, 1000)
    world.faults = lambda call: None
    await time_passes(world)
    places = [each.result().base_offset for each in acks]
    assert sorted(places) == list(range(60))
    assert await read_all(partition) == numbered(0, 60, 1000)
    assert logs.has_room
    await logs.close()


@in_loop
async def test_the_limit_holds_for_those_who_waited_as_well() -> None:
    """A4: room for one more does not let all who wait through at once."""
    world = LogWorld(wal=SMALL, wal_size_max=LIMIT)
    logs = await world.open()
    partition = await logs.partition(HOME)
    size = len(batch(value(0, 1000)))
    number = 0
    while logs.has_room:
        await partition.append(batch(value(number, 1000)))
        number += 1
    waiting = [asyncio.ensure_future(partition.append(batch(value(number + each, 1000)))) for each in range(100)]
    await turns()
    assert not any(each.done() for each in waiting)
    for _ in range(3):
        await partition.flush()
        logs.purge()
        await turns()
        assert logs._ground.journal.size < LIMIT + 4 * size
    assert any(each.done() for each in waiting)
    for each in waiting:
        each.cancel()
    await turns()


@in_loop
async def test_a_limit_below_what_the_log_itself_needs_is_refused() -> None:
    """A4: the open chunk is never purged: with a limit smaller than it producers would wait for ever."""
    world = LogWorld(wal=SMALL)
    with pytest.raises(WalLimitTooLow, match="wal_size_max"):
        await world.open(wal_size_max=SMALL.chunk_size_max)
    await (await world.open(wal_size_max=2 * SMALL.chunk_size_max)).close()


@in_loop
async def test_whoever_is_held_back_is_told_of_the_end() -> None:
    """A3, A4: closed or failed, the logs let nobody wait for room that never comes."""
    for fails in (False, True):
        world = LogWorld(wal=SMALL, wal_size_max=LIMIT)
        logs = await world.open()
        partition = await logs.partition(HOME)
        while logs.has_room:
            await fill(partition, 1, 1000)
        waiting = asyncio.ensure_future(partition.append(batch(b"held back")))
        await turns()
        assert not waiting.done()
        world.faults = lambda call: FailBefore()
        if fails:
            world.disk.fail_next("sync")
            [(header, data)] = partition.check_batches(batch(b"x"))
            partition.append_one(header, data)
            await turns()
        else:
            closing = asyncio.ensure_future(logs.close())
            await turns(5)
            world.faults = lambda call: None
            await closing
        with pytest.raises(LogsStopped):
            await asyncio.wait_for(waiting, 5)


@in_loop
async def test_tails_above_the_memory_limit_are_read_back_from_the_wal() -> None:
    """A3: the store is away for long: disk, not memory, is the limit, and every offset is readable."""
    world = LogWorld(tail_size_max=10_000)
    logs = await world.open()
    first, second = await logs.partition(HOME), await logs.partition(OTHER, MEMORY)
    for start in range(0, 60, 10):
        await fill(first, 10, 1000, start)
        await fill(second, 10, 100, start)
        await turns()
        assert logs._use.size <= 10_000 + 1100
        assert logs._use.size == first.tail.memory_size + second.tail.memory_size
    assert first.tail.size > 60_000
    assert await read_all(first) == numbered(0, 60, 1000)
    assert await read_all(first, max_records=7) == numbered(0, 60, 1000)
    assert await read_all(second) == numbered(0, 60, 100)
    await logs.flush_all()
    assert logs._use.size == 0
    assert await read_all(first) == numbered(0, 60, 1000)


@in_loop
async def test_bytes_that_are_not_durable_are_never_spilled() -> None:
    """A2: a memory topic shows what is only buffered: that stays in memory, since it is nowhere else."""
    world = LogWorld(tail_size_max=1000)
    logs = await world.open()
    partition = await logs.partition(HOME, MEMORY)
    for number in range(20):
        await partition.append(batch(value(number, 500)))
    await turns()  # Some of it is durable, and some of that is spilled.
    durable = partition.marks.durable
    for number in range(20, 24):
        await partition.append(batch(value(number, 500)))
    assert partition.marks.durable == durable < partition.marks.log_end
    assert any(each.data is None for each in partition.tail)
    assert all(each.data is not None for each in partition.tail if each.end > durable)
    assert await read_all(partition) == numbered(0, 24, 500)
