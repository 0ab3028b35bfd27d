"""Reads that meet damage in the store: what is sound in front of it, one more look, and what is said of it."""

from __future__ import annotations

import logging

import pytest
from tests.log.log_world import HOME, LogWorld, fill, in_loop, numbered, read_all, records

from holdfast.io.objects import StoreFailed
from holdfast.io.objects.faulty import FailBefore, WrongByte, once
from holdfast.log.errors import ColdReadFailed
from holdfast.log.partition.partition import PartitionLog
from holdfast.segment.errors import Damaged, SegmentLost
from holdfast.segment.writer import INTERVAL_SIZE


async def three_segments(world: LogWorld | None = None) -> tuple[LogWorld, PartitionLog]:
    """Five batches in each of three segments, and five in the tail."""
    world = world or LogWorld()
    partition = await (await world.open()).partition(HOME)
    for number in range(3):
        await fill(partition, 5, start=number * 5)
        await partition.flush()
    await fill(partition, 5, start=15)
    return world, partition


def flip(world: LogWorld, name: str, at: int) -> None:
    data = bytearray(world.objects.get(name))
    data[at] ^= 0xFF
    world.objects.put(name, [bytes(data)])


def segment(partition: PartitionLog, number: int) -> str:
    return list(partition.manifest.segments)[number].name


@in_loop
async def test_what_lies_in_front_of_a_damaged_segment_is_served() -> None:
    """D8: and who goes on at the damage is told."""
    world, partition = await three_segments()
    flip(world, segment(partition, 1), 100)
    found = await partition.read(2, None)
    assert records(found.buffers) == numbered(2, 5)
    assert (found.next_offset, found.end_reached) == (5, False)
    with pytest.raises(Damaged, match="the crc of bytes"):
        await partition.read(5)
    assert await read_all(partition, 10) == numbered(10, 20)


@in_loop
async def test_what_lies_in_front_of_a_lost_segment_is_served() -> None:
    """D8, S7: a segment that the manifest lists and the store has not."""
    world, partition = await three_segments()
    world.objects.delete(segment(partition, 1))
    found = await partition.read(2, None)
    assert (records(found.buffers), found.next_offset) == (numbered(2, 5), 5)
    with pytest.raises(SegmentLost):
        await partition.read(5)
    assert await read_all(partition, 10) == numbered(10, 20)


@in_loop
async def test_what_lies_in_front_of_a_segment_that_the_store_does_not_give_is_served() -> None:
    """D8: the same while the store fails, which the next read is told."""
    world, partition = await three_segments()
    await partition.read(2, 1)
    world.faults = lambda call: FailBefore() if call.name == segment(partition, 1) else None
    found = await partition.read(2, None)
    assert (records(found.buffers), found.next_offset) == (numbered(2, 5), 5)
    with pytest.raises(ColdReadFailed) as caught:
        await partition.read(5)
    assert isinstance(caught.value.__cause__, StoreFailed)


@in_loop
async def test_sound_intervals_in_front_of_a_bad_one_are_served() -> None:
    """D8: damage in the middle of a segment hides nothing before it, at whatever offset a read begins; a byte that was
    only misread is none. The test of D8."""
    world = LogWorld(segment_size_max=1 << 20, wal_size_max=1 << 22)
    partition = await (await world.open()).partition(HOME)
    await fill(partition, 40, INTERVAL_SIZE // 4)
    await partition.flush()
    name = segment(partition, 0)
    size = world.objects.size(name)
    world.faults = once("get", name, WrongByte(100))
    assert await read_all(partition) == numbered(0, 40, INTERVAL_SIZE // 4)
    assert not partition.damaged
    partition.ground.reader.blocks.drop(name, 0, size)
    flip(world, name, size // 2)
    front = await partition.read(0, None, 1 << 22)
    end = front.next_offset
    assert 10 < end < 25
    assert records(front.buffers) == numbered(0, end, INTERVAL_SIZE // 4)
    for offset in range(end):
        found = await partition.read(offset, None, 1 << 22)
        assert found.next_offset == end
        assert records(found.buffers) == numbered(offset, end, INTERVAL_SIZE // 4)
    for offset in range(end, end + 3):
        with pytest.raises(Damaged):
            await partition.read(offset, None, 1 << 22)
    assert await read_all(partition, end + 3) == numbered(end + 3, 40, INTERVAL_SIZE // 4)


@in_loop
async def test_a_footer_or_index_that_is_misread_once_is_read_again() -> None:
    """D8: the first request for a segment: no client hears of it."""
    for at in (0, -10):
        world, partition = await three_segments()
        world.faults = once("get", segment(partition, 1), WrongByte(at))
        assert await read_all(partition, 5, max_records=1) == numbered(5, 20)


@in_loop
async def test_a_block_that_is_misread_once_is_read_again() -> None:
    """D8: the same for batches."""
    world, partition = await three_segments()
    name = segment(partition, 1)
    await partition.read(5)
    partition.ground.reader.blocks.drop(name, 0, 1)
    world.faults = once("get", name, WrongByte(100))
    assert await read_all(partition, 5, max_records=1) == numbered(5, 20)


@in_loop
async def test_a_block_that_turned_out_wrong_is_not_kept() -> None:
    """D8: when the object is sound again, so is the partition, without a restart."""
    world, partition = await three_segments()
    name = segment(partition, 1)
    flip(world, name, 100)
    for _ in range(2):
        with pytest.raises(Damaged):
            await partition.read(5)
    flip(world, name, 100)
    assert await read_all(partition) == numbered(0, 20)


@in_loop
async def test_a_bit_that_flips_in_the_cache_is_read_again() -> None:
    """D8: memory was wrong, the store is right."""
    _, partition = await three_segments()
    assert await read_all(partition) == numbered(0, 20)
    info = list(partition.manifest.segments)[1]
    block, _ = partition.ground.reader.blocks.block(info.name, info.size, 0)
    partition.ground.reader.blocks.drop(info.name, 0, 1)
    wrong = bytearray(block)
    wrong[100] ^= 1
    partition.ground.reader.blocks._shelf.take((info.name, 0), len(wrong), lambda: bytes(wrong))
    assert await read_all(partition) == numbered(0, 20)


@in_loop
async def test_a_time_is_looked_up_again_after_a_misread() -> None:
    """D8: the same for a look-up by time; damage that stays is raised."""
    world, partition = await three_segments()
    name = segment(partition, 0)
    for fault in (WrongByte(-10), WrongByte(100)):  # Its footer first, then, that being here, a block.
        world.faults = once("get", name, fault)
        assert (await partition.find_timestamp(0) or (None,))[0] == 0
        partition.ground.reader.blocks.drop(name, 0, 1)
    flip(world, name, 100)
    with pytest.raises(Damaged):
        await partition.find_timestamp(0)


def errors_of(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [each.getMessage() for each in caplog.records if each.levelno >= logging.ERROR]


@in_loop
async def test_damage_is_said_once_in_a_while_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    """D8, O2: object and byte at error level, however many clients meet it; no word more when it is sound again."""
    world, partition = await three_segments()
    name = segment(partition, 1)
    flip(world, name, 100)
    for _ in range(20):
        with pytest.raises(Damaged):
            await partition.read(5)
    (line,) = errors_of(caplog)
    assert name in line
    assert "the crc of bytes" in line
    assert (partition.damaged, partition.ground.damage.met) == (1, 20)
    assert partition.is_alive
    world.clock.advance(601)
    with pytest.raises(Damaged):
        await partition.read(7)
    assert len(errors_of(caplog)) == 2
    assert await read_all(partition, 10) == numbered(10, 20), "what is sound clears nothing"
    assert partition.damaged == 1
    flip(world, name, 100)
    assert await read_all(partition) == numbered(0, 20)
    assert (partition.damaged, partition.ground.damage.met) == (0, 21)


@in_loop
async def test_a_lost_segment_is_said_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    """D8, S7: the same when the object is gone, met by a read that has something in front of it."""
    world, partition = await three_segments()
    world.objects.delete(segment(partition, 1))
    await partition.read(0, None)
    (line,) = errors_of(caplog)
    assert segment(partition, 1) in line
    assert partition.damaged == 1
