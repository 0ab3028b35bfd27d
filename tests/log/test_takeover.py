"""Whose log and whose store it is: clusters, brokers that take over, zombies, and stores set back to an older day."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.log.log_world import (
    HOME,
    OTHER,
    LogWorld,
    batch,
    fill,
    in_loop,
    numbered,
    read_all,
    turns,
)
from tests.log.parked import ParkedCalls

from holdfast.errors import Corrupt, Fenced, HoldfastError
from holdfast.io.disk import RealDirectory
from holdfast.io.objects import StoreFailed
from holdfast.io.objects.faulty import FailAfter
from holdfast.log.errors import WrongStore
from holdfast.log.journal import Journal
from holdfast.log.metadata import Identity, read_kept
from holdfast.segment.errors import HigherEpoch
from holdfast.types import PartitionId
from holdfast.wal import Wal


def beside(world: LogWorld, seed: int = 99) -> LogWorld:
    """Another broker, with a disk of its own, on the same store."""
    other = LogWorld(seed)
    other.bucket, other.objects, other.store, other.clock = world.bucket, world.objects, world.store, world.clock
    return other


@in_loop
async def test_cluster_id_mismatch_is_refused() -> None:
    """O1: a write-ahead log of one cluster over the store of another: one clear sentence, and nothing changed."""
    world, stranger = LogWorld(1), LogWorld(2)
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
    world = LogWorld()
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
    world = LogWorld()
    logs = await world.open()
    partition, other = await logs.partition(HOME), await logs.partition(OTHER)
    await fill(other, 3)
    await other.flush()
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
    assert await read_all(await logs.partition(OTHER)) == numbered(0, 3)


@in_loop
async def test_zombie_writer_fenced() -> None:
    """A3: two brokers with disks of their own on one store: the second takes over, the first one's flush is refused,
    it stops serving, and its readers and waiters are told."""
    world = LogWorld()
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
    world = LogWorld()
    first = await (await world.open()).partition(HOME)
    await fill(first, 2)
    second = await (await beside(world).open()).partition(HOME)
    assert second.epochs.current > first.epochs.current
    with pytest.raises(Fenced):
        await first.flush()


@in_loop
async def test_a_fenced_partition_does_not_keep_the_others_from_being_flushed(caplog: pytest.LogCaptureFixture) -> None:
    """A4: a partition that another broker owns is not tried again and again, and stands in nobody's way."""
    world = LogWorld(wal_size_max=50_000, segment_size_max=1000)
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
    world = LogWorld()
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
    world = LogWorld()
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
            assert read_kept(wal) == journal.kept
