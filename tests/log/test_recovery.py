"""Reopening: what was acknowledged is there, nothing else is, and whoever saw more is told."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.log.parked import ParkedCalls
from tests.log.world import (
    HOME,
    MEMORY,
    OTHER,
    World,
    batch,
    fill,
    from_producer,
    in_loop,
    marker,
    numbered,
    read_all,
    turns,
)

from holdfast.errors import Corrupt, Fenced, HoldfastError
from holdfast.io.chance import SeededChance
from holdfast.io.disk import RealDirectory
from holdfast.io.faulty_objects import FailAfter, FailBefore
from holdfast.io.memory_objects import MemoryBucket, MemoryObjects
from holdfast.io.objects import StoreFailed
from holdfast.io.simdisk import SimulatedDisk
from holdfast.log.errors import ProducerEpochOld, SequenceGap, WrongStore
from holdfast.log.journal import Identity, Journal, read_identity
from holdfast.segment.errors import HigherEpoch
from holdfast.segment.names import PartitionId
from holdfast.wal import Wal, WalSettings

ENDS = pytest.mark.parametrize("end", ["close", "kill", "power cut"])


async def again(world: World, logs, end: str, **options):
    """Stop in one of three ways, and start again."""
    if end == "close":
        await logs.close()
        return await world.open(**options)
    return await world.reopen(power_cut=end == "power cut", **options)


def beside(world: World, seed: int = 99) -> World:
    """Another broker, with a disk of its own, on the same store."""
    other = World(seed)
    other.bucket, other.objects, other.store, other.clock = world.bucket, world.objects, world.store, world.clock
    return other


@ENDS
@in_loop
async def test_all_that_was_acknowledged_is_there(end: str) -> None:
    """A1, A2: with some of it in segments, some in the tail, several chunks, and twice in a row."""
    world = World(segment_size_max=600)
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
    world = World(seed, segment_size_max=300)
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
        world = World(seed)
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
    world = World()
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
    world = World()
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
    world = World()
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
    world = World()
    for round_ in range(4):
        partition = await (await world.reopen()).partition(HOME)
        assert partition.epochs.current == round_ + 1 if round_ else True
        await fill(partition, 2, start=2 * round_)
        if round_ % 2:
            await partition.flush()
    starts = [(each.epoch, each.start) for each in partition.epochs.above(-1)]
    assert starts == [(1, 0), (2, 2), (3, 4), (4, 6)]
    assert [(each.epoch, each.start) for each in world.manifest().epochs] == starts
    for epoch, start in starts:
        assert partition.end_of_epoch(epoch) == (epoch, start + 2)


@in_loop
async def test_recovering_a_wal_four_times_the_memory_limit() -> None:
    """A2: what does not fit into memory is read back from the write-ahead log when it is needed."""
    limit = 20_000
    world = World(tail_size_max=limit, wal=WalSettings(chunk_size_max=16384, zero_ahead_size=512))
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
    world = World()
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
    world = World()
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
    world = World()
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


# The store and the log do not belong together


@in_loop
async def test_cluster_id_mismatch_is_refused() -> None:
    """O1: a write-ahead log of one cluster over the store of another: one clear sentence, and nothing changed."""
    world, stranger = World(1), World(2)
    for each in (world, stranger):
        await (await each.open()).close()
    before = stranger.names()
    world.store = stranger.store
    with pytest.raises(WrongStore, match="belong"):
        await world.open()
    assert stranger.names() == before
    with pytest.raises(WrongStore):
        await world.open()


@in_loop
async def test_an_ambiguous_answer_at_the_very_first_open() -> None:
    """O1: the cluster's id was stored, the answer got lost: the next open takes it."""
    world = World()
    world.faults = lambda call: FailAfter() if call.name == "cluster.json" and call.kind == "put_if_absent" else None
    with pytest.raises(StoreFailed):
        await world.open()
    world.faults = lambda call: None
    partition = await (await world.open()).partition(HOME)
    await fill(partition, 1)
    await partition.flush()
    partition = await (await world.reopen()).partition(HOME)
    assert await read_all(partition) == numbered(0, 1)


@in_loop
async def test_store_older_than_the_purge_point_is_detected() -> None:
    """O4: the store was set back to an older backup: offsets are nowhere, and the partition refuses to open with a
    hole; the others open."""
    world = World()
    logs = await world.open()
    partition, other = await logs.partition(HOME), await logs.partition(OTHER)
    await fill(other, 3)
    await fill(partition, 10)
    backup = dict(world.bucket.stored), list(world.bucket.names)
    await partition.flush()
    await fill(partition, 10, start=10)
    await logs.flush_all()
    logs.purge()
    await fill(partition, 5, start=20)
    world.bucket.stored, world.bucket.names = backup
    logs = await world.reopen()
    with pytest.raises(Corrupt, match=r"\[0, 20\).*older"):
        await logs.partition(HOME)
    with pytest.raises(Corrupt, match="older"):
        await logs.partition(HOME)


@in_loop
async def test_zombie_writer_fenced() -> None:
    """A3: two brokers with disks of their own on one store: the second takes over, the first one's flush is refused,
    it stops serving, and its readers and waiters are told."""
    world = World()
    first = await (await world.open()).partition(HOME)
    await fill(first, 3)
    await first.flush()
    await fill(first, 2, start=3)
    second = await (await beside(world).open()).partition(HOME)
    assert second.epochs.current > first.epochs.current
    assert await read_all(second) == numbered(0, 3)
    await second.append(batch(b"mine"))
    waiting = asyncio.ensure_future(first.wait(100))
    with pytest.raises(HigherEpoch):
        await first.flush()
    for call in (first.append(batch(b"x")), first.read(0), waiting, first.flush(), first.delete_records(1)):
        with pytest.raises(Fenced):
            await call
    await second.flush()
    assert await read_all(second) == [*numbered(0, 3), (3, b"mine")]
    assert [(each.base, each.end) for each in world.manifest().segments] == [(0, 3), (3, 4)]


@in_loop
async def test_zombie_writer_that_never_flushed_is_fenced() -> None:
    """A3: the first broker has only made the partition; the second is in a higher epoch all the same."""
    world = World()
    first = await (await world.open()).partition(HOME)
    await fill(first, 2)
    second = await (await beside(world).open()).partition(HOME)
    assert second.epochs.current > first.epochs.current
    with pytest.raises(Fenced):
        await first.flush()


@in_loop
async def test_a_fenced_partition_does_not_keep_the_others_from_being_flushed(caplog: pytest.LogCaptureFixture) -> None:
    """A4: a partition that another broker owns is not tried again and again, and stands in nobody's way."""
    world = World(wal_size_max=50_000, segment_size_max=1000)
    logs = await world.open(background=True)
    fenced, other = await logs.partition(HOME), await logs.partition(OTHER)
    await fill(fenced, 3)
    await (await beside(world).open()).partition(HOME)
    world.clock.advance(1000)
    await turns(50)
    asked = []
    world.faults = lambda call: asked.append(call.name) if call.kind.startswith("put") else None
    await fill(other, 20, 1000)
    world.clock.advance(1000)
    await turns(200)
    assert other.marks.flushed == 20
    assert not [name for name in asked if HOME.path in name]
    assert len([each for each in caplog.records if "not flushed" in each.message]) == 1
    await logs.close()


@in_loop
async def test_what_a_fenced_broker_acknowledged_is_not_dropped_without_a_word() -> None:
    """A1: it comes back with records in its write-ahead log that the new owner's log does not have: it refuses to
    open the partition, and says which offsets."""
    world = World()
    first = await (await world.open()).partition(HOME)
    await fill(first, 3)
    await first.flush()
    await fill(first, 4, start=3)
    second = await (await beside(world).open()).partition(HOME)
    for number in range(10):
        await second.append(batch(b"other %d" % number, b"and more"))
    await second.flush()
    logs = await world.reopen()
    with pytest.raises(HoldfastError, match=r"\[3, 7\)"):
        await logs.partition(HOME)
    await fill(await logs.partition(OTHER), 1)


@in_loop
async def test_generations_of_many_partitions_opened_at_once() -> None:
    """A2: partitions whose manifests have epochs far apart are opened together: the log's own epoch only rises."""
    world = World()
    homes = [PartitionId(HOME.topic_id, number) for number in range(3)]
    for number, home in enumerate(homes):
        for seed in range(number * 3):
            await (await beside(world, 100 + seed).open()).partition(home)
    calls = ParkedCalls()
    logs = await world.open(calls=calls)
    opening = [calls.start(logs.partition(home)) for home in homes]
    await turns()
    while not all(each.done() for each in opening):
        while any(not each.performed for each in calls.parked):
            calls.perform()
        calls.parked.reverse()
        for each in list(calls.parked):
            calls.parked.remove(each)
            each.deliver()
        await turns()
    partitions = [await each for each in opening]
    for each, home in zip(partitions, homes, strict=True):
        await fill(each, 1)
        await each.flush()
        assert each.manifest.epoch == world.manifest(home).epoch == each.epochs.current


def test_the_generation_only_rises_whoever_raises_it(tmp_path: Path) -> None:
    """A2: partitions are opened in several threads at once; the highest generation wins, in memory and on disk."""

    async def journal_of(wal: Wal) -> Journal:
        return Journal(wal, Identity("cluster", "broker", 1))

    with Wal.open(RealDirectory(tmp_path)) as wal:
        journal = asyncio.run(journal_of(wal))
        for highest in range(9, 90, 8):
            with ThreadPoolExecutor(8) as threads:
                list(threads.map(journal.raise_generation, [*range(highest, highest - 8, -1)]))
            assert journal.identity.generation == highest
            assert read_identity(wal) == journal.identity


def test_two_worlds_of_the_same_seed_are_the_same() -> None:
    """W10: the same seed gives the same run, so that a failure can be looked at again."""

    def play() -> dict[str, bytes]:
        bucket = MemoryBucket()

        async def run() -> None:
            world = World(5, segment_size_max=200)
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
