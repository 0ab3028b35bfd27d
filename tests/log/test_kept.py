"""What the write-ahead log remembers besides its entries: it cannot outgrow its record, whatever there is of it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from uuid import UUID

import pytest
from tests.log.log_world import HOME, OTHER, LogWorld, fill, in_loop, numbered, read_all, turns

from holdfast.errors import Unavailable
from holdfast.io.objects.faulty import Call, FailBefore
from holdfast.log import metadata as kept_module
from holdfast.log.errors import PartitionDeleted, TooManyPartitions, TooMuchToKeep
from holdfast.log.metadata import (
    DELETED_MAX,
    MARKS_MAX,
    QUARANTINED_MAX,
    Identity,
    LogMetadata,
    QuarantinedTail,
    check_marks,
    decode,
)
from holdfast.types import PartitionId
from holdfast.wal import USER_DATA_SIZE_MAX, EntryTooLarge

ALONE = [PartitionId(UUID(int=number << 64), number % 7) for number in range(20_000)]  # Each a topic of its own.
TOGETHER = [PartitionId(UUID(int=1 << 100), number) for number in range(20_000)]


def ids(count: int, start: int = 0) -> list[UUID]:
    return [UUID(int=(1 << 120) + number) for number in range(start, start + count)]


@pytest.mark.parametrize("homes", [ALONE, TOGETHER], ids=["alone", "together"])
def test_marks_and_deletions_come_back_as_they_were_and_are_small(homes: list[PartitionId]) -> None:
    """D4: 20,000 partitions and 10,000 deletions take less than 1.2 MB, a tenth of what may be kept."""
    flushed = {home: (1 << 62) + number for number, home in enumerate(homes)}
    quarantined = {homes[0]: QuarantinedTail(3, 9, "file")}
    before = LogMetadata(Identity("c", "b", 7), flushed, quarantined, frozenset(ids(10_000)))
    data = before.encode()
    assert decode(data) == before
    assert len(data) < 1_200_000 < USER_DATA_SIZE_MAX // 10


def test_all_tables_at_their_limits_fit() -> None:
    """D4: the limits are such that no combination of them is too much, with the longest names and numbers."""
    flushed = {PartitionId(UUID(int=number << 64), 4_294_967_295): (1 << 64) - 1 for number in range(MARKS_MAX)}
    quarantined = {
        PartitionId(each, 4_294_967_295): QuarantinedTail(10**19, 10**19, "q" * 100) for each in ids(QUARANTINED_MAX)
    }
    full = LogMetadata(Identity("c" * 64, "b" * 64, 10**19), flushed, quarantined, frozenset(ids(DELETED_MAX)))
    assert len(full.encode()) < USER_DATA_SIZE_MAX


def test_version_2_is_read() -> None:
    """O5: as the release before wrote it."""
    data = (
        b'{"version":2,"cluster":"c","broker":"b","generation":4,"flushed":{"0000000000000000000000000000000a":{"0":17}},'
        b'"aside":{"0000000000000000000000000000000b":{"3":[1,2,"f"]}}}'
    )
    assert decode(data) == LogMetadata(Identity("c", "b", 4), {HOME: 17}, {OTHER: QuarantinedTail(1, 2, "f")})


def test_too_many_partitions_are_refused_when_they_are_made() -> None:
    """D4: not when the log is purged."""
    check_marks(MARKS_MAX, 4 << 30)
    for count, wal_size_max in ((MARKS_MAX + 1, 4 << 30), (2049, 1 << 20)):
        with pytest.raises(TooManyPartitions):
            check_marks(count, wal_size_max)


def _lists_data(call: Call) -> bool:
    return call.kind == "list" and call.name.startswith(("manifests/", "segments/"))


async def delete_many(world: LogWorld, topics: Iterable[UUID]) -> None:
    """Delete topics in a store that lets nothing go."""
    logs = await world.open()
    world.faults = lambda call: FailBefore() if _lists_data(call) and HOME.path not in call.name else None
    await asyncio.gather(*map(logs.delete_topic, topics))
    await logs.close()


@in_loop
async def test_a_log_with_20_000_partitions_and_10_000_deletions_is_purged() -> None:
    """D4: chunks of 4 KiB, marks and deletions of a hundred times as much: the log is purged all the same, it stays
    small, and after a power cut all is remembered."""
    world = LogWorld(wal_size_max=64 << 20)
    logs = await world.open()
    journal = logs._ground.journal
    partition = await logs.partition(HOME)
    await fill(partition, 3)
    await partition.flush()
    marks = {home: number + 1 for number, home in enumerate(ALONE)}
    assert journal.purge_below(journal.next_index, lambda kept: LogMetadata(kept.identity, {**marks, HOME: 3}))
    await logs.close()
    await delete_many(world, ids(10_000))
    world.disk.power_cut()
    logs = await world.open()
    journal = logs._ground.journal
    assert len(logs.deleted) == 10_000
    assert {**journal.kept.flushed} == {**marks, HOME: 3}
    partition = await logs.partition(HOME)
    for _ in range(3):
        await fill(partition, 5, 1000, start=partition.marks.log_end)
        await partition.flush()
        logs.purge()
        assert journal._wal.state.first_index == journal.next_index
    await turns()
    assert journal.size < 16 << 20
    logs = await world.reopen(power_cut=True)
    assert len(logs.deleted) == len(logs._ground.journal.kept.deleted) == 10_000
    with pytest.raises(PartitionDeleted):
        await logs.partition(PartitionId(ids(1)[0], 0))
    world.faults = lambda call: None
    await turns(60_000)
    assert logs.stat().deletions.count == 0
    assert await read_all(await logs.partition(HOME)) == [*numbered(0, 3), *numbered(3, 18, 1000)]
    await logs.close()


@in_loop
async def test_what_could_not_be_saved_is_saved_by_the_next_purge(monkeypatch: pytest.MonkeyPatch) -> None:
    """D4: a save that is refused leaves what is remembered as it was, and purges nothing."""
    world = LogWorld()
    logs = await world.open()
    journal = logs._ground.journal
    partition = await logs.partition(HOME)
    await fill(partition, 3)
    await partition.flush()
    before, first = journal.kept, journal._wal.state.first_index
    with monkeypatch.context() as patch:
        patch.setattr("holdfast.wal.log.USER_DATA_SIZE_MAX", 10)
        with pytest.raises(EntryTooLarge):
            logs.purge()
    assert (journal.kept, journal._wal.state.first_index) == (before, first)
    logs.purge()
    await turns()
    assert journal.kept.flushed == {HOME: 3}
    logs = await world.reopen(power_cut=True)
    assert logs._ground.journal.kept.flushed == {HOME: 3}


@in_loop
async def test_more_deletions_than_can_be_remembered_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """D4: with an error that says to try again; the topic stays whole, and goes when there is room."""
    monkeypatch.setattr(kept_module, "DELETED_MAX", 3)
    world = LogWorld()
    logs = await world.open()
    await fill(await logs.partition(HOME), 2)
    world.faults = lambda call: FailBefore() if _lists_data(call) else None
    for each in ids(3):
        await logs.delete_topic(each)
    with pytest.raises(TooMuchToKeep) as refused:
        await logs.delete_topic(HOME.topic_id)
    assert isinstance(refused.value, Unavailable)
    assert await read_all(await logs.partition(HOME)) == numbered(0, 2)
    world.faults = lambda call: None
    await turns(100)
    await logs.delete_topic(HOME.topic_id)
    with pytest.raises(PartitionDeleted):
        await logs.partition(HOME)
    await logs.close()
