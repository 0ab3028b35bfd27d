"""The flush window: whatever happens between taking batches and their committed manifest, every offset is readable."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest
from tests.log.parked import ParkedCalls
from tests.log.world import (
    HOME,
    NOW,
    OTHER,
    World,
    batch,
    fill,
    from_producer,
    in_loop,
    numbered,
    read_all,
    turns,
    value,
)

from holdfast.errors import Unavailable
from holdfast.io.faulty_objects import Delay, FailAfter, FailBefore, FailEarly
from holdfast.io.objects import StoreFailed
from holdfast.io.versions import GRACE_S, Patience
from holdfast.log.partition import PartitionLog
from holdfast.segment.blocks import BlockCache
from holdfast.segment.changes import Replace
from holdfast.segment.garbage import collect_partition
from holdfast.segment.manifest_log import ManifestLog
from holdfast.segment.names import new_tag
from holdfast.segment.read import SegmentReader
from holdfast.segment.writer import encode_segment
from holdfast.types import Epoch
from holdfast.wal import WalSettings


def at_puts(prefix: str, *faults: object):
    """A plan: these happen to the puts under a prefix, one after the other; all else passes."""
    left = list(faults)
    return lambda call: left.pop(0) if left and call.kind == "put_if_absent" and call.name.startswith(prefix) else None


def compact(world: World, partition: PartitionLog) -> None:
    """A second legitimate writer replaces the first segment by a copy under another name, in the same epoch."""
    ground = partition.ground
    patience = Patience(world.clock, ground.chance, lambda _: None)
    identity = ground.journal.identity
    log = ManifestLog.open(world.objects, HOME, cluster_id=identity.cluster, writer="compaction", patience=patience)
    old = log.manifest.segments[0]
    found = SegmentReader(BlockCache(world.objects, 1 << 22)).read(old, old.base, 1 << 30)
    data, info = encode_segment(found.buffers, home=HOME, epoch=Epoch(1), tag=new_tag(ground.chance))
    world.objects.put_if_absent(info.name, data)
    log.commit(Replace((old.name,), (info,), world.clock.monotonic()))


@in_loop
async def test_flush_while_appending_with_a_partial_chunk_in_the_cache() -> None:
    """L2: the failure to make impossible: a flush moved 1000-1763, memory began at 1800, and 1764-1799 were nowhere.

    At every single step of a flush, with appends going on beside it, all offsets are there.
    """
    calls = ParkedCalls()
    world = World(segment_size_max=1000 * len(batch(value(0, 8))))
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
    world = World()
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
    world = World(tail_size_max=100)
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
    world = World(segment_size_max=1, flush_retry_ms=125, flush_retry_ms_max=500)
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
async def test_put_that_timed_out_but_succeeded() -> None:
    """A3: the answer to a put is lost; the flush is tried again under another name, and nothing is doubled."""
    world = World()
    partition = await (await world.open()).partition(HOME)
    await fill(partition, 5)
    world.faults = at_puts("segments/", FailAfter())
    with pytest.raises(StoreFailed):
        await partition.flush()
    assert await read_all(partition) == numbered(0, 5)
    await fill(partition, 2, start=5)
    await partition.flush()
    assert [(each.base, each.end) for each in world.manifest().segments] == [(0, 7)]
    assert len(world.names("segments/")) == 2
    assert await read_all(partition) == numbered(0, 7)


@in_loop
async def test_commit_that_timed_out_but_succeeded() -> None:
    """A3: a manifest whose answer never came is found by its nonce; the batches are in it once."""
    world = World()
    partition = await (await world.open()).partition(HOME)
    await fill(partition, 5)
    world.faults = at_puts("manifests/", FailAfter())
    await partition.flush()
    assert partition.marks.flushed == 5
    assert world.manifest().version == 1
    assert await read_all(partition) == numbered(0, 5)


@in_loop
async def test_commit_that_nobody_knows_the_end_of() -> None:
    """A3: the store never said whether the manifest was stored. It was: the next flush goes on behind it."""
    world = World()
    partition = await (await world.open()).partition(HOME)
    await fill(partition, 5)
    world.faults = lambda call: FailAfter() if call.name.startswith("manifests/") else None
    with pytest.raises(Unavailable):
        await partition.flush()
    assert partition.marks.flushed == 0
    assert await read_all(partition) == numbered(0, 5)
    world.faults = lambda call: None
    await fill(partition, 3, start=5)
    assert await partition.flush()
    assert [(each.base, each.end) for each in world.manifest().segments] == [(0, 5), (5, 8)]
    assert await read_all(partition) == numbered(0, 8)


@in_loop
async def test_a_commit_that_arrives_late() -> None:
    """A3: the manifest of a flush that was given up reaches the store in the middle of the next one."""
    world = World()
    partition = await (await world.open()).partition(HOME)
    await fill(partition, 5)
    world.faults = at_puts("manifests/", *[FailEarly()] * 100)
    with pytest.raises(Unavailable):
        await partition.flush()
    await fill(partition, 3, start=5)

    world.faults = at_puts("segments/", Delay(world.store.arrive))
    with pytest.raises(Unavailable):
        await partition.flush()
    assert await read_all(partition) == numbered(0, 8)
    while await partition.flush():
        pass
    assert [(each.base, each.end) for each in world.manifest().segments] == [(0, 5), (5, 8)]
    assert partition.marks.flushed == 8
    assert await read_all(partition) == numbered(0, 8)


@in_loop
async def test_a_flush_that_is_cancelled_in_the_middle_of_its_commit() -> None:
    """A3: whoever waited for the flush has gone, the commit happens all the same; the next flush goes on behind it."""
    calls = ParkedCalls()
    world = World()
    partition = await (await world.open(calls=calls)).partition(HOME)
    await fill(partition, 5)
    flush = calls.start(partition.flush())
    await turns()
    while calls.parked[0].name != "commit":
        calls.let_go()
        await turns()
    flush.cancel()
    await turns()
    calls.perform()
    calls.deliver()
    await fill(partition, 3, start=5)
    assert await read_all(partition) == numbered(0, 8)
    assert await partition.flush()
    assert [(each.base, each.end) for each in world.manifest().segments] == [(0, 5), (5, 8)]
    assert await read_all(partition) == numbered(0, 8)


@in_loop
async def test_crash_between_segment_put_and_manifest_commit_then_flush_again() -> None:
    """A3, L2: the put segment is nobody's; after the restart the batches are flushed again, with others behind them,
    and the orphan is collected."""
    calls = ParkedCalls()
    world = World()
    partition = await (await world.open(calls=calls)).partition(HOME)
    await fill(partition, 5)
    flush = calls.start(partition.flush())
    await turns()
    while calls.parked[0].name != "commit":
        calls.let_go()
        await turns()
    [orphan] = world.names("segments/")
    flush.cancel()
    logs = await world.reopen(power_cut=True)
    partition = await logs.partition(HOME)
    assert await read_all(partition) == numbered(0, 5)
    await fill(partition, 5, start=5)
    await partition.flush()
    assert [(each.base, each.end) for each in world.manifest().segments] == [(0, 10)]
    assert orphan in world.names("segments/")
    world.clock.advance(2 * GRACE_S + 1)
    await logs._upkeep.collect_garbage()
    assert world.names("segments/") == [world.manifest().segments[0].name]
    assert await read_all(partition) == numbered(0, 10)


@in_loop
async def test_writer_paused_across_garbage_collection() -> None:
    """A3: a writer sleeps between its put and its commit until its segment is collected; it does not list what is
    gone, but puts it again."""
    calls = ParkedCalls()
    world = World()
    logs = await world.open(calls=calls)
    partition = await logs.partition(HOME)
    await fill(partition, 5)
    flush = calls.start(partition.flush())
    await turns()
    while calls.parked[0].name != "commit":
        calls.let_go()
        await turns()
    world.clock.advance(2 * GRACE_S + 1)
    assert len(collect_partition(world.objects, HOME, world.clock.now_ms()).segments) == 1
    calls.let_go()
    with pytest.raises(Unavailable):
        await flush
    assert await read_all(partition) == numbered(0, 5)
    await partition.flush()
    assert partition.marks.flushed == 5
    assert await read_all(partition) == numbered(0, 5)


@in_loop
async def test_a_manifest_conflict_with_a_second_legitimate_writer() -> None:
    """L2: compaction commits between a flush's segment and its manifest; both are in the next manifest."""
    calls = ParkedCalls()
    world = World()
    partition = await (await world.open(calls=calls)).partition(HOME)
    await fill(partition, 5)
    await partition.flush()
    [before] = world.names("segments/")
    await fill(partition, 5, start=5)
    flush = calls.start(partition.flush())
    await turns()
    while calls.parked[0].name != "commit":
        calls.let_go()
        await turns()
    compact(world, partition)
    calls.let_go()
    assert await flush
    found = world.manifest().segments
    assert [(each.base, each.end) for each in found] == [(0, 5), (5, 10)]
    assert found[0].name != before
    assert await read_all(partition) == numbered(0, 10)


@in_loop
async def test_a_read_of_a_segment_that_compaction_replaced_and_deleted() -> None:
    """S7: the segment is gone, the manifest names another: the read goes on there."""
    world = World()
    partition = await (await world.open()).partition(HOME)
    await fill(partition, 5)
    await partition.flush()
    [before] = world.names("segments/")
    compact(world, partition)
    world.objects.delete(before)
    assert await read_all(partition) == numbered(0, 5)
    assert partition.manifest.segments[0].name != before


@in_loop
async def test_only_durable_batches_are_flushed() -> None:
    """A2: what the write-ahead log could still lose never gets into a segment."""
    world = World()
    partition = await (await world.open()).partition(HOME)
    await fill(partition, 3)
    [(header, data)] = partition.check_batches(batch(b"not durable"))
    seen = []
    world.disk.during_sync = lambda: seen.append([each.end for each in partition._flushing._take()])
    partition.append_one(header, data)
    await turns()
    world.disk.during_sync = None
    assert seen == [[1, 2, 3]]
    assert len(partition._flushing._take()) == 4


@in_loop
async def test_a_segment_ends_before_the_batch_that_does_not_fit() -> None:
    """L2: the batch that made a segment full is the first of the next one, and one larger than all has its own."""
    size = len(batch(value(0, 100)))
    world = World(segment_size_max=3 * size)
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
    world = World(segment_size_max=5 * size)
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
    """A4: a partition that gets no more records is flushed when its oldest batch has the age, and not before."""
    world = World(flush_age_ms_max=5000)
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
    await logs.close()


@in_loop
async def test_flushes_by_size_memory_and_wal_pressure() -> None:
    """A4: a tail of the segment's size is due; so is the largest when memory is short, and the oldest when the
    write-ahead log is large."""
    size = len(batch(value(0, 1000)))
    world = World(wal=WalSettings(chunk_size_max=4096, zero_ahead_size=512))
    for settings, due in (
        ({"segment_size_max": 4 * size}, [0]),
        ({"tail_size_max": 9 * size}, [0]),
        ({"wal_size_max": 10 * size}, [1]),
        ({}, []),
    ):
        world = World(**settings)
        logs = await world.open()
        partitions = [await logs.partition(HOME._replace(partition=number)) for number in (0, 1, 2)]
        for number, count in ((1, 1), (0, 4), (2, 1)):
            await fill(partitions[number], count, size=1000)
        assert logs._flusher.due() == [partitions[number] for number in due], settings


@in_loop
async def test_a_silent_producer_leaves_the_manifest() -> None:
    """K4: what is remembered of producers does not grow for ever: the expired ones are not in the next manifest."""
    world = World(producer_expiry_ms=60_000)
    partition = await (await world.open()).partition(HOME)
    await partition.append(from_producer(0, b"a", number=7))
    await partition.flush()
    assert set(world.manifest().producers) == {7}
    world.clock.advance(120)
    late = batch(b"b", timestamp=world.clock.now_ms(), producer_id=8, producer_epoch=0, base_sequence=0)
    await partition.append(late)
    await partition.flush()
    assert set(world.manifest().producers) == {8}
