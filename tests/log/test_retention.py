"""Retention and delete records: what goes, what stays, and what readers and producers see of it."""

from __future__ import annotations

import asyncio

import pytest
from tests.log.log_world import HOME, MEMORY, NOW, LogWorld, batch, fill, in_loop, numbered, read_all, turns
from tests.log.parked import ParkedCalls

from holdfast.errors import Unavailable
from holdfast.io.objects.faulty import FailBefore
from holdfast.io.versions import GRACE_S
from holdfast.log.errors import OutOfRange
from holdfast.log.partition.partition import PartitionLog
from holdfast.log.settings import PartitionSettings

HOUR = 3600


async def segmented(world: LogWorld, settings: PartitionSettings | None = None) -> PartitionLog:
    """Five segments of one record of 1000 bytes, an hour apart; the clock stands at the last one."""
    partition = await (await world.open()).partition(HOME, settings)
    for number in range(5):
        await partition.append(batch(b"%d." % number + bytes(1000), timestamp=NOW + number * HOUR * 1000))
        await partition.flush()
    world.clock.advance(4 * HOUR)
    return partition


@in_loop
async def test_retention_by_time() -> None:
    """K6: segments whose newest record is older than the limit go, and no others; readers are told the range."""
    world = LogWorld()
    partition = await segmented(world, PartitionSettings(retention_ms=2 * HOUR * 1000))
    assert await partition.apply_retention()
    assert partition.marks.log_start == 2
    with pytest.raises(OutOfRange):
        await partition.read(1)
    assert [offset for offset, _ in await read_all(partition)] == [2, 3, 4]
    assert not await partition.apply_retention(), "Nothing has changed since."
    world.clock.advance(10 * HOUR)
    assert await partition.apply_retention()
    assert (partition.marks.log_start, partition.marks.log_end) == (5, 5)
    partition = await (await world.reopen(power_cut=True)).partition(HOME)
    assert (partition.marks.log_start, partition.marks.log_end) == (5, 5)
    await partition.append(batch(b"on"))
    assert await read_all(partition) == [(5, b"on")]


@in_loop
async def test_retention_by_size_keeps_what_it_promises() -> None:
    """K6: the oldest segments go as long as what is left still has the size that is to be kept."""
    world = LogWorld()
    partition = await segmented(world)
    size = sum(each.size for each in partition.manifest.segments) // 5
    for retention_size, log_start in ((5 * size, 0), (4 * size + 1, 0), (4 * size, 1), (3 * size - 1, 2), (10, 4)):
        partition.settings = PartitionSettings(retention_size=retention_size)
        await partition.apply_retention()
        assert partition.marks.log_start == log_start
    partition.settings = PartitionSettings(retention_size=0)
    await partition.apply_retention()
    assert partition.marks.log_start == 5


@in_loop
async def test_no_limit_deletes_nothing() -> None:
    """K6: -1 is no limit, and a topic that is only compacted keeps its segments."""
    world = LogWorld()
    partition = await segmented(world, PartitionSettings(retention_ms=-1, retention_size=-1))
    world.clock.advance(10_000 * HOUR)
    assert not await partition.apply_retention()
    partition.settings = PartitionSettings(cleanup=frozenset({"compact"}), retention_ms=1, retention_size=1)
    assert not await partition.apply_retention()
    assert partition.marks.log_start == 0


@in_loop
async def test_records_without_a_time_are_not_older_than_all_others() -> None:
    """K6: a producer that gives no timestamp does not lose its records at the first look."""
    world = LogWorld()
    partition = await (await world.open()).partition(HOME, PartitionSettings(retention_ms=HOUR * 1000))
    await partition.append(batch(b"a", timestamp=-1))
    assert not await partition.apply_retention()
    await partition.flush()
    assert not await partition.apply_retention()
    assert [offset for offset, _ in await read_all(partition)] == [0]


@in_loop
async def test_a_tail_that_is_too_old_is_flushed_and_goes() -> None:
    """K6: retention above flushed flushes first; what is young in the same tail stays."""
    world = LogWorld(segment_size_max=1)
    partition = await (await world.open()).partition(HOME, PartitionSettings(retention_ms=HOUR * 1000))
    await fill(partition, 1)
    world.clock.advance(2 * HOUR)
    await partition.append(batch(b"young", timestamp=world.clock.now_ms()))
    assert await partition.apply_retention()
    assert partition.marks.log_start == 1
    assert await read_all(partition) == [(1, b"young")]


@in_loop
async def test_the_objects_of_expired_segments_go_after_the_grace() -> None:
    """K6: they leave the manifest first, and the store later: who still reads them is not disturbed."""
    world = LogWorld()
    logs = await world.open()
    partition = await logs.partition(HOME)
    await fill(partition, 3)
    await partition.flush()
    await partition.delete_records(3)
    await logs._upkeep.collect_garbage()
    assert len(world.names("segments/")) == 1
    world.clock.advance(2 * GRACE_S + 1)
    await logs._upkeep.collect_garbage()
    assert not world.names("segments/")


@in_loop
async def test_the_upkeep_goes_round_and_one_failure_does_not_stop_it() -> None:
    """K6: in the background every partition's retention is enforced; a store that fails makes it late, not dead."""
    world = LogWorld(retention_check_ms=1000)
    logs = await world.open(background=True)
    partition = await logs.partition(HOME, PartitionSettings(retention_ms=HOUR * 1000))
    await fill(partition, 3)
    await partition.flush()
    world.clock.advance(2 * HOUR)
    world.faults = lambda call: FailBefore()
    await turns()
    assert partition.marks.log_start == 0
    world.faults = lambda call: None
    await turns(50)
    assert partition.marks.log_start == 3
    await logs.close()


# Delete records


@in_loop
async def test_delete_records_above_flushed() -> None:
    """K6: it flushes first; the rest of the last batch stays readable, and producers go on."""
    world = LogWorld(segment_size_max=200)
    partition = await (await world.open()).partition(HOME)
    for number in range(4):
        await partition.append(batch(*(b"%d." % (number * 3 + each) for each in range(3))))
    assert await partition.delete_records(7) == 7
    assert partition.marks.log_start == 7
    assert partition.marks.flushed >= 7
    assert await read_all(partition) == numbered(7, 12)
    with pytest.raises(OutOfRange):
        await partition.read(6)
    assert await partition.delete_records(3) == 7, "Log start never goes back."
    for before in (13, -2):
        with pytest.raises(OutOfRange):
            await partition.delete_records(before)
    assert await partition.delete_records(-1) == 12
    partition = await (await world.reopen(power_cut=True)).partition(HOME)
    assert (partition.marks.log_start, partition.marks.log_end) == (12, 12)


@in_loop
async def test_delete_records_of_a_memory_topic_waits_for_the_fsync() -> None:
    """A2: records that are only buffered are deleted once they are durable, so that no offset is used twice."""
    world = LogWorld()
    partition = await (await world.open()).partition(HOME, MEMORY)
    await partition.append(batch(b"a", b"b"))
    durable = []
    world.disk.during_sync = lambda: durable.append((deletion.done(), world.manifest().log_start))
    deletion = asyncio.ensure_future(partition.delete_records(2))
    assert await deletion == 2
    world.disk.during_sync = None
    assert durable == [(False, 0), (False, 2)]  # The second makes the deletion itself durable in the log.
    partition = await (await world.reopen(power_cut=True)).partition(HOME, MEMORY)
    assert (await partition.append(batch(b"c"))).base_offset == 2


@in_loop
async def test_delete_records_while_the_store_fails() -> None:
    """A3: nothing is deleted, an error says so, and a later try does it."""
    world = LogWorld()
    partition = await (await world.open()).partition(HOME)
    await fill(partition, 5)
    world.faults = lambda call: FailBefore()
    with pytest.raises(Unavailable):
        await partition.delete_records(2)
    assert partition.marks.log_start == 0
    assert await read_all(partition) == numbered(0, 5)
    world.faults = lambda call: None
    assert await partition.delete_records(2) == 2
    assert await read_all(partition) == numbered(2, 5)


@in_loop
async def test_delete_records_beside_a_flush() -> None:
    """L2: at every step of a flush, records below its end are deleted: both are done, in either order."""
    for steps in range(9):
        calls = ParkedCalls()
        world = LogWorld()
        partition = await (await world.open(calls=calls)).partition(HOME)
        await fill(partition, 5)
        flush = calls.start(partition.flush())
        await turns()
        for step in range(steps):
            if step % 2:
                calls.deliver()
                await turns()
            elif calls.parked:
                calls.perform()
        deletion = asyncio.ensure_future(partition.delete_records(3))
        while not flush.done():
            await turns()
            calls.let_go()
            await turns()
        assert await flush
        assert await deletion == 3
        assert await read_all(partition) == numbered(3, 5)
        partition = await (await world.reopen()).partition(HOME)
        assert await read_all(partition) == numbered(3, 5)
