"""Reopening: what was acknowledged is there, nothing else is, and whoever saw more is told."""

from __future__ import annotations

import asyncio

import pytest
from tests.log.log_world import (
    HOME,
    MEMORY,
    OTHER,
    LogWorld,
    batch,
    fill,
    from_producer,
    in_loop,
    marker,
    numbered,
    read_all,
    turns,
)

from holdfast.io.chance import SeededChance
from holdfast.io.disk.simulated import SimulatedDisk
from holdfast.io.objects import StoreFailed
from holdfast.io.objects.faulty import FailBefore
from holdfast.io.objects.memory import MemoryBucket, MemoryObjects
from holdfast.log.errors import ProducerEpochOld, SequenceGap
from holdfast.wal import WalSettings

ENDS = pytest.mark.parametrize("end", ["close", "kill", "power cut"])


async def again(world: LogWorld, logs, end: str, **options):
    """Stop in one of three ways, and start again."""
    if end == "close":
        await logs.close()
        return await world.open(**options)
    return await world.reopen(power_cut=end == "power cut", **options)


@ENDS
@in_loop
async def test_all_that_was_acknowledged_is_there(end: str) -> None:
    """A1, A2: with some of it in segments, some in the tail, several chunks, and twice in a row."""
    world = LogWorld(segment_size_max=600)
    logs = await world.open()
    for start in (0, 40, 80):
        partition = await logs.partition(HOME)
        assert await read_all(partition) == numbered(0, start, 50)
        await fill(partition, 40, 50, start)
        await partition.flush()
        logs = await again(world, logs, end)
    partition = await logs.partition(HOME)
    assert await read_all(partition) == numbered(0, 120, 50)
    assert partition.marks.high_watermark == partition.marks.log_end == 120


@pytest.mark.parametrize("seed", range(30))
@in_loop
async def test_watermark_never_past_existing_data_after_restart(seed: int) -> None:
    """A2: records in both modes, a power cut before any disk call: all below the watermark can be read, and in the
    default mode nothing that was acknowledged or shown is missing."""
    world = LogWorld(seed, segment_size_max=300)
    logs = await world.open()
    safe, quick = await logs.partition(HOME), await logs.partition(OTHER, MEMORY)
    await fill(safe, 5)
    await fill(quick, 5)
    await safe.flush()
    world.disk.crash_at = world.disk.calls + seed % 10
    shown = 5
    for number in range(5, 12):
        acks = [asyncio.ensure_future(each.append(batch(b"%d." % number))) for each in (safe, quick)]
        await turns()
        shown = max(shown, safe.marks.high_watermark)
        for each in acks:
            each.cancel()
    logs = await world.reopen(power_cut=True)
    for home, settings, least in ((HOME, None, shown), (OTHER, MEMORY, 0)):
        partition = await logs.partition(home, settings)
        end = partition.marks.high_watermark
        assert least <= end <= 12
        assert await read_all(partition) == numbered(0, end)
        assert (await partition.read(end)).end_reached


@in_loop
async def test_replayed_tail_served_then_power_cut() -> None:
    """W10, A2: kill, reopen, read, power cut: what was read after the reopen is still there."""
    for seed in range(20):
        world = LogWorld(seed)
        logs = await world.open()
        partition = await logs.partition(HOME)
        await fill(partition, 5)
        world.disk.crash_at = world.disk.calls + 1  # The write is in the page cache, its sync never happens.
        ack = asyncio.ensure_future(partition.append(batch(b"5.")))
        await turns()
        ack.cancel()
        partition = await (await world.reopen()).partition(HOME)
        served = await read_all(partition)
        assert served in (numbered(0, 5), numbered(0, 6))
        partition = await (await world.reopen(power_cut=True)).partition(HOME)
        assert await read_all(partition) == served


@in_loop
async def test_unclean_open_of_a_memory_topic_is_told_to_the_reader_by_its_epoch() -> None:
    """A2: a reader saw offsets 5 to 8 in epoch 1; they are lost. Asked for the end of epoch 1 the log says 5."""
    world = LogWorld()
    partition = await (await world.open()).partition(HOME, MEMORY)
    await fill(partition, 5)
    await turns()
    await fill(partition, 3, start=5)
    assert partition.marks.high_watermark == 8
    epoch = partition.epochs.current
    partition = await (await world.reopen(power_cut=True)).partition(HOME, MEMORY)
    assert partition.marks.high_watermark == 5
    assert partition.end_of_epoch(epoch) == (epoch, 5)
    await partition.append(batch(b"another"))
    assert partition.epochs.current > epoch


@pytest.mark.parametrize("steps", range(6))
@in_loop
async def test_a_start_that_is_cut_off_does_not_pass_for_a_clean_stop(steps: int) -> None:
    """A2, O4: a start after a power cut is cancelled at some step; the next one still has an epoch of its own."""
    world = LogWorld()
    partition = await (await world.open()).partition(HOME, MEMORY)
    await fill(partition, 5)
    await turns()
    await fill(partition, 3, start=5)
    epoch = partition.epochs.current
    world.disk.power_cut()
    start = asyncio.ensure_future(world.open())
    for _ in range(steps):
        await asyncio.sleep(0)
    start.cancel()
    await asyncio.wait([start])
    if not start.cancelled():
        await start.result().close()
    partition = await (await world.open()).partition(HOME, MEMORY)
    assert partition.marks.high_watermark == 5
    await partition.append(batch(b"another"))
    assert partition.epochs.current > epoch
    assert partition.end_of_epoch(epoch) == (epoch, 5)
    assert partition.end_of_epoch(partition.epochs.current) == (partition.epochs.current, 6)
    await turns()
    await partition.flush()
    for power_cut in (True, False):
        partition = await (await world.reopen(power_cut=power_cut)).partition(HOME, MEMORY)
        assert partition.end_of_epoch(epoch) == (epoch, 5)


@in_loop
async def test_an_open_that_fails_after_an_unclean_stop_does_not_hide_it() -> None:
    """A2: the store is away at the first try to reopen; the second try still raises the epoch."""
    world = LogWorld()
    partition = await (await world.open()).partition(HOME, MEMORY)
    epoch = partition.epochs.current
    world.disk.power_cut()
    world.faults = lambda call: FailBefore()
    with pytest.raises(StoreFailed):
        await world.open()
    world.faults = lambda call: None
    partition = await (await world.open()).partition(HOME, MEMORY)
    assert partition.epochs.current > epoch


@in_loop
async def test_a_clean_stop_keeps_the_epoch() -> None:
    """A2: consumers are only disturbed when something may be lost."""
    world = LogWorld()
    logs = await world.open()
    partition = await logs.partition(HOME)
    await fill(partition, 3)
    epoch = partition.epochs.current
    await logs.close()
    logs = await world.open()
    partition = await logs.partition(HOME)
    assert partition.epochs.current == epoch
    assert partition.end_of_epoch(epoch) == (epoch, 3)
    assert partition.end_of_epoch(epoch - 1) is None
    assert partition.end_of_epoch(epoch + 5) == (epoch, 3)


@in_loop
async def test_every_unclean_open_raises_the_epoch_of_every_batch_behind_it() -> None:
    """A2: the epoch in the batches, in the manifest and in the answers is the same."""
    world = LogWorld()
    for round_ in range(4):
        partition = await (await world.reopen()).partition(HOME)
        assert partition.epochs.current == round_
        await fill(partition, 2, start=2 * round_)
        if round_ % 2:
            await partition.flush()
    starts = [(each.epoch, each.start) for each in partition.epochs.above(-1)]
    assert starts == [(0, 0), (1, 2), (2, 4), (3, 6)]
    assert [(each.epoch, each.start) for each in world.manifest().epochs] == starts
    for epoch, start in starts:
        assert partition.end_of_epoch(epoch) == (epoch, start + 2)


@in_loop
async def test_recovering_a_wal_four_times_the_memory_limit() -> None:
    """A2: what does not fit into memory is read back from the write-ahead log when it is needed."""
    limit = 20_000
    world = LogWorld(tail_size_max=limit, wal=WalSettings(chunk_size_max=16384, zero_ahead_size=512))
    logs = await world.open(tail_size_max=1 << 30)
    homes = [HOME, OTHER]
    for home in homes:
        await fill(await logs.partition(home), 40, 1000)
    logs = await world.reopen(power_cut=True)
    assert logs._use.size <= limit
    partitions = [await logs.partition(home) for home in homes]
    assert sum(each.tail.size for each in partitions) > 4 * limit
    assert logs._use.size <= limit
    for partition in partitions:
        assert await read_all(partition) == numbered(0, 40, 1000)
        await fill(partition, 10, 1000, 40)
        assert logs._use.size <= limit + 1100
    await logs.flush_all()
    assert logs._use.size == 0
    for partition in partitions:
        assert partition.marks.flushed == 50
        assert await read_all(partition) == numbered(0, 50, 1000)


@ENDS
@in_loop
async def test_producer_state_after_reopen(end: str) -> None:
    """K4: repeats, gaps and zombies are known after a reopen, from the snapshot and from the tail behind it."""
    world = LogWorld()
    logs = await world.open()
    partition = await logs.partition(HOME)
    for sequence in range(3):
        await partition.append(from_producer(sequence, b"a"))
    await partition.flush()
    for sequence in range(3, 5):
        await partition.append(from_producer(sequence, b"a"))
    await partition.append(from_producer(0, b"b", number=8, epoch=2))
    logs = await again(world, logs, end)
    partition = await logs.partition(HOME)
    for sequence in range(5):
        place = await partition.append(from_producer(sequence, b"a"))
        assert (place.base_offset, place.repeated) == (sequence, True)
    with pytest.raises(SequenceGap):
        await partition.append(from_producer(6, b"a"))
    with pytest.raises(ProducerEpochOld):
        await partition.append(from_producer(0, b"b", number=8, epoch=1))
    assert (await partition.append(from_producer(5, b"a"))).base_offset == 6


@in_loop
async def test_producer_state_after_all_segments_expired() -> None:
    """K4: the records are gone, what is known of their producer is not: no repeat slips in, also after a reopen."""
    world = LogWorld()
    logs = await world.open()
    partition = await logs.partition(HOME)
    await partition.append(from_producer(0, b"a", b"b"))
    await partition.append(from_producer(2, b"c", transactional=True))
    await partition.delete_records(-1)
    assert len(world.manifest().segments) == 0
    for _ in range(2):
        place = await partition.append(from_producer(0, b"a", b"b"))
        assert (place.base_offset, place.repeated) == (0, True)
        with pytest.raises(SequenceGap):
            await partition.append(from_producer(4, b"x"))
        assert partition.last_stable == 2
        logs = await world.reopen(power_cut=True)
        partition = await logs.partition(HOME)
        assert (partition.marks.log_start, partition.marks.log_end) == (3, 3)
    partition.append_marker(marker())
    await turns()
    assert partition.last_stable == 4


@ENDS
@in_loop
async def test_open_transactions_after_reopen(end: str) -> None:
    """K4: a transaction begun before the end of a process is still open after it, wherever its records are."""
    world = LogWorld()
    logs = await world.open()
    partition = await logs.partition(HOME)
    await partition.append(from_producer(0, b"a", number=1, transactional=True))
    await partition.flush()
    await partition.append(from_producer(0, b"b", number=2, transactional=True))
    logs = await again(world, logs, end)
    partition = await logs.partition(HOME)
    assert partition.last_stable == 0
    partition.append_marker(marker(1, abort=True))
    await turns()
    assert partition.last_stable == 1
    logs = await again(world, logs, end)
    partition = await logs.partition(HOME)
    assert partition.last_stable == 1
    partition.append_marker(marker(2))
    await turns()
    assert partition.last_stable == 4
    assert [each.producer_id for each in (await partition.read(0, committed=True)).aborted] == [1]


def test_two_worlds_of_the_same_seed_are_the_same() -> None:
    """W10: the same seed gives the same run, so that a failure can be looked at again."""

    def play() -> dict[str, bytes]:
        bucket = MemoryBucket()

        async def run() -> None:
            world = LogWorld(5, segment_size_max=200)
            world.bucket, world.objects = bucket, MemoryObjects(bucket, clock=world.clock)
            world.store = world.objects
            world.disk = SimulatedDisk(SeededChance(5))
            partition = await (await world.open()).partition(HOME)
            await fill(partition, 20)
            while await partition.flush():
                pass
            await fill(await (await world.reopen(power_cut=True)).partition(HOME), 5)

        asyncio.run(run())
        return {name: stored.data for name, stored in bucket.stored.items()}

    assert play() == play()
