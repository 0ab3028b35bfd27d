"""Loading: everything acknowledged is there after any crash; what is not understood is skipped aloud or refused."""

from __future__ import annotations

import asyncio
import contextlib
import logging

import pytest
from tests.coordinator.coordinator_world import AT, CoordinatorWorld
from tests.log.log_world import LogWorld, in_loop

from holdfast.coordinator.runtime.errors import (
    CoordinatorLoading,
    CoordinatorQuarantined,
    CorruptRecord,
    NewerRecord,
    NotCoordinator,
)
from holdfast.errors import HoldfastError
from holdfast.io.disk.simulated import PowerCut
from holdfast.io.objects.faulty import FailBefore
from holdfast.log.errors import ColdReadFailed, LedElsewhere
from holdfast.record.build import build
from holdfast.record.records import Record
from holdfast.types import TopicPartition
from holdfast.wal import WalSettings


@pytest.mark.parametrize("seed", range(12))
def test_an_acknowledged_offset_survives_a_power_cut(seed: int) -> None:
    """K3: at any call of the disk; what comes back is the last acknowledged offset, or a later one that was sent."""
    world = LogWorld(seed, wal=WalSettings(chunk_size_max=4096, zero_ahead_size=512))
    house = CoordinatorWorld(world)
    acked: dict[TopicPartition, int] = {}
    sent: dict[TopicPartition, int] = {}

    async def commit(at: TopicPartition, offset: int) -> None:
        sent[at] = offset
        await house.commit(offset, at=at)
        acked[at] = offset

    async def run() -> None:
        await house.open()
        world.disk.crash_at = world.disk.calls + 5 + seed * 4
        for offset in range(1000):
            places = [TopicPartition("t", number) for number in range(3)]
            await asyncio.gather(*(commit(at, offset) for at in places))

    async def look() -> None:
        await house.restart(power_cut=True)
        for at, offset in sent.items():
            found = await house.fetched(at)
            assert found is not None or at not in acked, "An acknowledged offset was lost."
            assert acked.get(at, -1) <= (-1 if found is None else found) <= offset

    with contextlib.suppress(PowerCut, HoldfastError):
        asyncio.run(run())
    assert acked
    asyncio.run(look())
    asyncio.run(look())


@in_loop
async def test_what_is_flushed_and_what_is_not() -> None:
    """K3: come back together, the last record of each key counts."""
    house = CoordinatorWorld(partitions=1)
    await house.open()
    caller = await house.alone()
    for offset in range(20):
        await house.commit(offset, caller, TopicPartition("t", offset % 3))
        if offset % 7 == 0:
            await house.partitions[0].flush()
    await house.restart()
    assert [await house.fetched(TopicPartition("t", number)) for number in range(3)] == [18, 19, 17]
    await house.coordinator.heartbeat("g", caller)


async def append(house: CoordinatorWorld, *records: Record) -> None:
    await house.partitions[0].append(build(records))


@in_loop
async def test_records_of_an_unknown_kind_are_skipped_with_one_line(caplog: pytest.LogCaptureFixture) -> None:
    """K3: they belong to another release; what is known is served."""
    house = CoordinatorWorld(partitions=1)
    await house.open()
    await append(house, Record(b"\x00\x0a\x00\x01x", b"?"), Record(b"\x00\x0a\x00\x01y", b"?"))
    await house.commit(5)
    with caplog.at_level(logging.WARNING):
        await house.restart()
    assert [each.getMessage() for each in caplog.records if "kind" in each.getMessage()] == [
        "internal partition 0: records of kind 10 are not understood, and skipped"
    ]
    assert await house.fetched() == 5


@in_loop
async def test_a_newer_or_damaged_record_is_refused() -> None:
    """K3: the group is not served from half of what is known; a tombstone after it makes it good."""
    house = CoordinatorWorld(partitions=1)
    await house.open()
    key = b"\x00\x02\x00\x01g"
    await append(house, Record(key, b"\x00\x05?"))
    with pytest.raises(NewerRecord):
        await house.restart()
    with pytest.raises(CoordinatorLoading):
        await house.fetched()
    await append(house, Record(key, None))
    await house.restart()
    await house.commit(5)
    assert await house.fetched() == 5
    await append(house, Record(b"\x00\x02\x00\x01h", b"\x00\x03?"))
    await house.restart()
    with pytest.raises(CoordinatorQuarantined) as caught:
        await house.fetched()
    assert isinstance(caught.value.why, CorruptRecord)


@in_loop
async def test_a_store_that_is_away_only_delays() -> None:
    """K3: loading may be tried again; until then nobody is told that there is no offset."""
    house = CoordinatorWorld(partitions=1)
    await house.open()
    await house.commit(5)
    await house.partitions[0].flush()
    coordinator = await house.restart(load=False)
    house.world.faults = lambda call: FailBefore() if call.name.startswith("segments/") else None
    with pytest.raises(ColdReadFailed):
        await coordinator.load()
    with pytest.raises(CoordinatorLoading):
        await house.fetched()
    house.world.faults = lambda call: None
    await coordinator.load()
    assert await house.fetched() == 5


@in_loop
async def test_partitions_that_come_while_the_store_is_away_are_read_later() -> None:
    """K3, C7: one that cannot be read when this broker comes to lead it is read with the next try, and holds up none
    behind it; until then nobody is told that there is no offset. One that goes and comes again is read anew."""
    house = CoordinatorWorld(partitions=2)
    coordinator = await house.open()
    groups = [next(name for name in "abcdefgh" if coordinator.partition_of(name) == number) for number in range(2)]
    for offset, name in enumerate(groups, 5):
        await house.commit(offset, group_id=name)
    await house.partitions[0].flush()
    coordinator = await house.restart(load=False)
    elsewhere = [LedElsewhere(each.home.path, 2, 1) for each in house.partitions]
    with pytest.raises(CoordinatorLoading):
        await house.fetched(group_id=groups[1])
    assert not await coordinator.follow(elsewhere)
    with pytest.raises(NotCoordinator):
        await house.fetched(group_id=groups[1])
    house.world.faults = lambda call: FailBefore() if call.name.startswith("segments/") else None
    for _ in range(2):
        with pytest.raises(ColdReadFailed):
            await coordinator.follow(house.partitions)
        with pytest.raises(CoordinatorLoading):
            await house.fetched(group_id=groups[0])
        assert await house.fetched(group_id=groups[1]) == 6
    house.world.faults = lambda call: None
    assert await coordinator.follow(house.partitions), "Somebody has to hear of those that came."
    assert [await house.fetched(group_id=name) for name in groups] == [5, 6]
    assert not await coordinator.follow(house.partitions)
    assert not await coordinator.follow([elsewhere[0], house.partitions[1]])
    await append(house, Record(b"\x00\x02\x00\x01h", b"\x00\x03?"))
    assert await coordinator.follow(house.partitions)
    with pytest.raises(CoordinatorQuarantined):
        await house.fetched(group_id=groups[0])
    assert not await coordinator.follow(house.partitions)
    assert await house.fetched(group_id=groups[1]) == 6


@in_loop
async def test_a_partition_that_is_loaded_is_served_while_another_is_not() -> None:
    """K3, O2: one that cannot be read goes to quarantine, and does not take the others along."""
    house = CoordinatorWorld(partitions=2)
    coordinator = await house.open()
    other = next(name for name in "abcdefgh" if coordinator.partition_of(name) == 1)
    damaged = next(name for name in "abcdefgh" if coordinator.partition_of(name) == 0)
    await house.commit(5, group_id=other)
    await append(house, Record(b"\x00\x02", b"\x00\x03"))
    await house.restart()
    assert await house.fetched(group_id=other) == 5
    with pytest.raises(CoordinatorQuarantined) as caught:
        await house.fetched(AT, damaged)
    assert isinstance(caught.value.why, CorruptRecord)
