"""The flush window: whatever happens between taking batches and their committed manifest, every offset is readable."""

from __future__ import annotations

import asyncio
from itertools import pairwise

from tests.log.log_world import (
    HOME,
    NOW,
    OTHER,
    LogWorld,
    batch,
    fill,
    from_producer,
    in_loop,
    numbered,
    read_all,
    turns,
    value,
)
from tests.log.parked import ParkedCalls

from holdfast.io.objects.faulty import FailBefore
from holdfast.wal import WalSettings


@in_loop
async def test_flush_while_appending_with_a_partial_chunk_in_the_cache() -> None:
    """L2: the failure to make impossible: a flush moved 1000-1763, memory began at 1800, and 1764-1799 were nowhere.

    At every single step of a flush, with appends going on beside it, all offsets are there.
    """
    calls = ParkedCalls()
    world = LogWorld(segment_size_max=1000 * len(batch(value(0, 8))))
    logs = await world.open(calls=calls)
    partition = await logs.partition(HOME)
    await fill(partition, 1764, 8)
    await partition.flush()
    assert partition.marks.flushed == 1000
    flush = calls.start(partition.flush())
    await turns()
    appended = 1764
    while not flush.done():
        await fill(partition, 9, 8, start=appended)
        appended += 9
        assert await read_all(partition, max_records=50) == numbered(0, appended, 8)
        parked = calls.perform()
        assert await read_all(partition, max_records=50) == numbered(0, appended, 8), parked.name
        calls.deliver()
        await turns()
    assert partition.marks.flushed == 1764
    assert appended >= 1800
    assert await read_all(partition) == numbered(0, appended, 8)
    assert await read_all(partition, 1764) == numbered(1764, appended, 8)


@in_loop
async def test_read_during_the_flush_window() -> None:
    """A1, A3: each offset is readable one by one while its flush is at any of its steps, and counted as in flight."""
    calls = ParkedCalls()
    world = LogWorld()
    logs = await world.open(calls=calls)
    partition = await logs.partition(HOME)
    await fill(partition, 5)
    flush = calls.start(partition.flush())
    await turns()
    steps = []
    while not flush.done():
        steps.append(calls.perform().name)
        for offset in range(5):
            read = await partition.read(offset, max_bytes=0)
            assert (read.next_offset, read.high_watermark) == (offset + 1, 5)
        calls.deliver()
        await turns()
    assert steps[-2:] == ["_put", "commit"]
    assert partition.ground.reads["in-flight"] == 5 * len(steps)
    assert partition.marks.flushed == 5


@in_loop
async def test_a_read_that_is_under_way_while_the_flush_commits() -> None:
    """L2: a read that began in the tail, spilled to the write-ahead log, ends right after its entries were purged."""
    calls = ParkedCalls()
    world = LogWorld(tail_size_max=100)
    logs = await world.open(calls=calls)
    partition = await logs.partition(HOME)
    await fill(partition, 100, size=100)
    read = calls.start(partition.read(0, 1000))
    search = calls.start(partition.find_timestamp(NOW))
    await turns()
    assert [each.name for each in calls.parked] == ["read_back", "read_back"]
    await partition.flush()
    logs.purge()
    await turns()
    while not (read.done() and search.done()):
        calls.let_go()
        await turns()
    found = await read
    assert found.next_offset == 100
    assert found.record_count == 100
    assert await search == (0, NOW)


@in_loop
async def test_upload_failing_under_waiting_producers() -> None:
    """A3: acks come from the fsync and no waiter is told otherwise; a failed upload loses nothing and is tried again
    with growing pauses."""
    world = LogWorld(segment_size_max=1, flush_retry_ms=125, flush_retry_ms_max=500)
    logs = await world.open(background=True)
    partition = await logs.partition(HOME)
    failed_at = []

    def fail_puts(call):
        if call.kind == "put_if_absent" and call.name.startswith("segments/"):
            failed_at.append(world.clock.monotonic())
            return FailBefore()
        return None

    world.faults = fail_puts
    acks = [asyncio.ensure_future(partition.append(batch(value(number)))) for number in range(10)]
    for _ in range(30):
        world.clock.advance(1 / 16)
        await turns()
    assert [each.result().base_offset for each in acks] == list(range(10))
    assert [after - before for before, after in pairwise(failed_at)] == [0.125, 0.25, 0.5, 0.5]
    assert partition.marks.flushed == 0
    assert await read_all(partition) == numbered(0, 10)
    world.faults = lambda call: None
    for _ in range(20):
        world.clock.advance(0.1)
        await turns()
    assert partition.marks.flushed == 10
    assert await read_all(partition) == numbered(0, 10)
    await logs.close()


@in_loop
async def test_only_durable_batches_are_flushed() -> None:
    """A2: what the write-ahead log could still lose never gets into a segment."""
    world = LogWorld()
    partition = await (await world.open()).partition(HOME)
    await fill(partition, 3)
    [(header, data)] = partition.check_batches(batch(b"not durable"))
    seen = []
    world.disk.during_sync = lambda: seen.append([each.end for each in partition._commits._take()])
    partition.append_one(header, data)
    await turns()
    world.disk.during_sync = None
    assert seen == [[1, 2, 3]]
    assert len(partition._commits._take()) == 4


@in_loop
async def test_a_segment_ends_before_the_batch_that_does_not_fit() -> None:
    """L2: the batch that made a segment full is the first of the next one, and one larger than all has its own."""
    size = len(batch(value(0, 100)))
    world = LogWorld(segment_size_max=3 * size)
    partition = await (await world.open()).partition(HOME)
    await fill(partition, 7, size=100)
    await partition.append(batch(b"x" * 1000))
    await fill(partition, 1, start=8, size=100)
    while await partition.flush():
        pass
    assert [(each.base, each.end) for each in world.manifest().segments] == [(0, 3), (3, 6), (6, 7), (7, 8), (8, 9)]
    assert [offset for offset, _ in await read_all(partition)] == list(range(9))


@in_loop
async def test_the_write_ahead_log_goes_up_to_the_lowest_unflushed_entry_and_no_further() -> None:
    """A4: of two partitions the one that is behind decides, and what it has not flushed comes back."""
    size = len(batch(value(0, 500)))
    world = LogWorld(segment_size_max=5 * size)
    logs = await world.open()
    ahead, behind = await logs.partition(HOME), await logs.partition(OTHER)
    for number in range(20):
        await fill(ahead, 1, 500, number)
        await fill(behind, 1, 500, number)
    await behind.flush()
    while await ahead.flush():
        pass
    logs.purge()
    wal = logs._ground.journal._wal
    assert behind.tail.first is not None
    assert wal.state.first_index == behind.tail.first.index == 11
    await turns()
    logs = await world.reopen(power_cut=True)
    for home in (HOME, OTHER):
        assert await read_all(await logs.partition(home)) == numbered(0, 20, 500)


@in_loop
async def test_quiet_partition_flushed_by_age() -> None:
    """A4: a partition that gets no more records is flushed when its oldest batch has the age, and not before; what
    comes right before a clean stop is flushed by that. The test of A4."""
    world = LogWorld(flush_age_ms_max=5000)
    logs = await world.open(background=True)
    partition = await logs.partition(HOME)
    await fill(partition, 3)
    world.clock.advance(4.9)
    await turns()
    assert partition.marks.flushed == 0
    world.clock.advance(0.2)
    await turns()
    assert partition.marks.flushed == 3
    assert not len(partition.tail)
    await fill(partition, 2, start=3)
    await logs.close()
    assert world.manifest().flushed == 5
    partition = await (await world.open()).partition(HOME)
    assert not len(partition.tail)
    assert await read_all(partition) == numbered(0, 5)


@in_loop
async def test_flushes_by_size_memory_and_wal_pressure() -> None:
    """A4: a tail of the segment's size is due; so is the largest when memory is short, and the oldest when the
    write-ahead log is large."""
    size = len(batch(value(0, 1000)))
    world = LogWorld(wal=WalSettings(chunk_size_max=4096, zero_ahead_size=512))
    for settings, due in (
        ({"segment_size_max": 4 * size}, [0]),
        ({"tail_size_max": 9 * size}, [0]),
        ({"wal_size_max": 12 * size}, [1]),
        ({}, []),
    ):
        world = LogWorld(**settings)
        logs = await world.open()
        partitions = [await logs.partition(HOME._replace(partition=number)) for number in (0, 1, 2)]
        for number, count in ((1, 1), (0, 4), (2, 1)):
            await fill(partitions[number], count, size=1000)
        logs._flusher.tick()
        assert list(logs._flusher._running) == [partitions[number] for number in due], settings
        await turns(40)


@in_loop
async def test_a_silent_producer_leaves_the_manifest() -> None:
    """K4: what is remembered of producers does not grow for ever: the expired ones are not in the next manifest."""
    world = LogWorld(producer_expiry_ms=60_000)
    partition = await (await world.open()).partition(HOME)
    await partition.append(from_producer(0, b"a", number=7))
    await partition.flush()
    assert set(world.manifest().producers) == {7}
    world.clock.advance(120)
    late = batch(b"b", timestamp=world.clock.now_ms(), producer_id=8, producer_epoch=0, base_sequence=0)
    await partition.append(late)
    await partition.flush()
    assert set(world.manifest().producers) == {8}
