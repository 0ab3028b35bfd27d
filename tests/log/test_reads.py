"""Reads: limits, ranges, places, failing stores, and a log that moves while they are under way."""

from __future__ import annotations

import logging

import pytest
from tests.log.log_world import HOME, LogWorld, batch, fill, headers, in_loop, read_all, turns
from tests.log.parked import ParkedCalls

from holdfast.io.objects.faulty import FailBefore
from holdfast.log.errors import ColdReadFailed, OutOfRange
from holdfast.log.partition.partition import PartitionLog
from holdfast.segment.errors import SegmentLost

PLACES = pytest.mark.parametrize("place", ["tail", "spilled", "segments", "both"])


async def filled(place: str, *, world: LogWorld | None = None) -> PartitionLog:
    """Ten batches of three records: in the tail, in the write-ahead log only, in segments, or half and half."""
    world = world or LogWorld(segment_size_max=400, tail_size_max=64 if place == "spilled" else 1 << 20)
    partition = await (await world.open()).partition(HOME)
    for number in range(10):
        await partition.append(batch(*(b"%d" % (number * 3 + each) for each in range(3))))
        if place == "both" and number == 5:
            while await partition.flush():
                pass
    if place == "segments":
        while await partition.flush():
            pass
    return partition


WHOLE = [(number, b"%d" % number) for number in range(30)]


@PLACES
@in_loop
async def test_every_offset_and_every_limit(place: str) -> None:
    """L1, L2: a read depends on nothing but its arguments; whatever the limits, it goes on where the last one ended.
    The test of L1."""
    partition = await filled(place)
    size = len(batch(b"0", b"0", b"0"))
    for offset in range(30):
        for max_records in (None, 0, 1, 3, 4, 100):
            for max_bytes in (-1, 0, 1, size, 2 * size + 10, 1 << 20):
                read = await partition.read(offset, max_records, max_bytes)
                found = headers(read.buffers)
                assert found[0].base_offset == offset // 3 * 3
                assert read.next_offset == found[-1].end_offset
                assert read.record_count == sum(each.record_count for each in found)
                assert read.end_reached == (read.next_offset == 30)
                first, rest = found[0], found[1:]
                assert not rest or sum(each.size for each in found) <= max_bytes
                assert not rest or max_records is None or first.record_count * len(found) <= max_records
    for limits in ({"max_records": 1}, {"max_bytes": 0}, {"max_bytes": 3 * size}, {}):
        assert await read_all(partition, **limits) == WHOLE


@PLACES
@in_loop
async def test_limits_that_are_met_exactly_are_not_exceeded_nor_wasted(place: str) -> None:
    """A5: a cap of exactly four batches gives four, one byte less gives three; across places as within one."""
    partition = await filled(place)
    sizes = [each.size for each in headers((await partition.read(0, None, 1 << 20)).buffers)]
    assert len(sizes) == 10
    for start in range(6):
        cap = sum(sizes[start : start + 4])
        assert len(headers((await partition.read(start * 3, None, cap)).buffers)) == 4
        assert len(headers((await partition.read(start * 3, None, cap - 1)).buffers)) == 3
        assert len(headers((await partition.read(start * 3, 12)).buffers)) == 4
        assert len(headers((await partition.read(start * 3, 11)).buffers)) == 3


@PLACES
@in_loop
async def test_max_bytes_of_zero_or_less_means_the_first_batch_only(place: str) -> None:
    """A5: also when it is far larger than the cap."""
    partition = await filled(place)
    for max_bytes in (0, -1, -(1 << 40)):
        assert len(headers((await partition.read(4, None, max_bytes)).buffers)) == 1


@in_loop
async def test_oversized_first_batch() -> None:
    """A5, L1: a batch larger than the cap is returned whole when it is the first, and left for later when it is not."""
    world = LogWorld(segment_size_max=200)
    partition = await (await world.open()).partition(HOME)
    await partition.append(batch(b"small"))
    await partition.append(batch(b"x" * 5000))
    await partition.append(batch(b"small"))
    for _ in range(4):  # In the tail, then with one, two and three segments.
        assert [each.base_offset for each in headers((await partition.read(1, max_bytes=100)).buffers)] == [1]
        assert [each.base_offset for each in headers((await partition.read(0, max_bytes=1000)).buffers)] == [0]
        assert [offset for offset, _ in await read_all(partition, max_bytes=10)] == [0, 1, 2]
        await partition.flush()


@in_loop
async def test_offset_in_the_future_is_empty_and_not_an_error() -> None:
    """L3: at the end and beyond it: nothing, end reached, no error."""
    for partition in (await filled("tail"), await filled("segments")):
        for offset in (30, 31, 1 << 60):
            read = await partition.read(offset)
            assert (read.buffers, read.next_offset, read.end_reached) == ([], offset, True)
            assert read.high_watermark == 30


@in_loop
async def test_below_log_start_the_error_says_the_range() -> None:
    """L3: the range is in the error."""
    partition = await filled("both")
    await partition.delete_records(10)
    with pytest.raises(OutOfRange) as found:
        await partition.read(9)
    assert (found.value.offset, found.value.log_start, found.value.log_end) == (9, 10, 30)
    with pytest.raises(OutOfRange):
        await partition.read(-1)
    assert await read_all(partition, 10) == WHOLE[10:]


@in_loop
async def test_storage_failing_is_never_an_empty_answer() -> None:
    """L3: whatever of the store fails, a read below flushed is ColdReadFailed, and one above it is served; what is too
    old is told the range, and what is to come is empty, as ever. The test of L3."""
    world = LogWorld(segment_size_max=400)
    partition = await filled("both", world=world)
    await partition.delete_records(2)
    world.faults = lambda call: FailBefore()
    for offset in range(2):
        with pytest.raises(OutOfRange) as old:
            await partition.read(offset)
        assert (old.value.offset, old.value.log_start, old.value.log_end) == (offset, 2, 30)
    for offset in (30, 31, 1 << 60):
        read = await partition.read(offset)
        assert (read.buffers, read.next_offset, read.end_reached) == ([], offset, True)
    for offset in range(2, 18):
        with pytest.raises(ColdReadFailed) as found:
            await partition.read(offset)
        assert found.value.offset == offset
    with pytest.raises(ColdReadFailed):
        await partition.find_timestamp(0)
    assert (await read_all(partition, 18)) == WHOLE[18:]
    world.faults = lambda call: None
    assert await read_all(partition, 2) == WHOLE[2:]


@in_loop
async def test_a_read_that_fails_half_way_is_an_error_or_a_shorter_read() -> None:
    """L3: one segment can be read, the next one not: never a read that skips."""
    world = LogWorld(segment_size_max=400)
    partition = await filled("segments", world=world)
    assert len(partition.manifest.segments) == 3
    lost = partition.manifest.segments[1].name
    world.faults = lambda call: FailBefore() if call.name == lost else None
    read = await partition.read(0)
    assert read.next_offset == partition.manifest.segments[0].end
    with pytest.raises(ColdReadFailed):
        await partition.read(read.next_offset)
    read = await partition.read(0, max_records=1)
    assert read.next_offset == 3


@in_loop
async def test_a_lost_segment_is_damage_and_not_the_end() -> None:
    """L3: a segment that the manifest lists is not in the store: an error that says so, for reads and look-ups."""
    world = LogWorld()
    partition = await filled("segments", world=world)
    world.objects.delete(world.manifest().segments[0].name)
    for call in (partition.read(0), partition.find_timestamp(0), partition.find_max_timestamp()):
        with pytest.raises(SegmentLost):
            await call


@in_loop
async def test_a_lost_segment_while_the_store_fails_is_retryable() -> None:
    """L3: as long as the manifest cannot be read it is not known what became of the segment: try again."""
    world = LogWorld()
    partition = await filled("segments", world=world)
    world.objects.delete(world.manifest().segments[0].name)
    world.faults = lambda call: FailBefore() if call.name.startswith("manifests/") else None
    with pytest.raises(ColdReadFailed):
        await partition.read(0)
    with pytest.raises(ColdReadFailed):
        await partition.find_timestamp(0)


@in_loop
async def test_log_start_overtakes_a_read() -> None:
    """L3: records are deleted while a read is between two segments: it ends with what it has, or says the range."""
    calls = ParkedCalls()
    world = LogWorld(segment_size_max=1)
    partition = await (await world.open(calls=calls)).partition(HOME)
    await fill(partition, 6)
    while await partition.flush():
        pass
    reads = [calls.start(partition.read(offset)) for offset in (0, 3)]
    searches = [calls.start(partition.find_timestamp(1 << 41)), calls.start(partition.find_max_timestamp())]
    await turns()
    calls.perform()
    calls.deliver()
    await turns()
    await partition.delete_records(5)
    for each in world.names("segments/"):
        if each not in {info.name for info in world.manifest().segments}:
            world.objects.delete(each)
    while calls.parked:
        calls.let_go()
        await turns()
    assert [each.base_offset for each in headers((await reads[0]).buffers)] == [0]
    assert (await reads[0]).next_offset == 1
    with pytest.raises(OutOfRange) as found:
        await reads[1]
    assert found.value.log_start == 5
    assert await searches[0] is None
    assert await searches[1] in ((0, 1_700_000_000_000), (5, 1_700_000_000_000))  # Of its beginning, or of its end.


@in_loop
async def test_where_a_read_was_served_from(caplog: pytest.LogCaptureFixture) -> None:
    """A6: buffer, in flight, spilled, cache and store are counted and in the debug log. The test of A6."""
    caplog.set_level(logging.DEBUG, "holdfast.log.partition.read")
    calls = ParkedCalls()
    world = LogWorld(tail_size_max=1000)
    partition = await (await world.open(calls=calls)).partition(HOME)
    reads = partition.ground.reads
    await fill(partition, 1)
    await partition.read(0)
    assert reads == {"buffer": 1}
    flush = calls.start(partition.flush())
    await turns()
    await partition.read(0)
    assert reads == {"buffer": 1, "in-flight": 1}
    while not flush.done():
        calls.let_go()
        await turns()
    await partition.read(0)
    await partition.read(0)
    assert reads == {"buffer": 1, "in-flight": 1, "store": 1, "cache": 1}
    await fill(partition, 1, size=2000)
    await partition.read(1)
    assert reads == {"buffer": 1, "in-flight": 1, "store": 1, "cache": 1, "spilled": 1}
    said = [record.getMessage() for record in caplog.records]
    assert [each.rpartition(" ")[2] for each in said] == ["buffer", "in-flight", "store", "cache", "spilled"]
    assert all(HOME.path in each for each in said)
    assert {place: time.count for place, time in partition.ground.read_times.items()} == reads


@in_loop
async def test_marks_are_cheap_to_ask() -> None:
    """L6: all marks are plain numbers: asking makes no call to the store and none to the disk. The test of L6."""
    world = LogWorld()
    partition = await filled("both", world=world)
    world.faults = lambda call: pytest.fail("the store was asked")
    before = world.disk.calls
    marks = partition.marks
    assert (marks.log_start, marks.flushed, marks.high_watermark, marks.log_end) == (0, 18, 30, 30)
    assert partition.last_stable == 30
    assert world.disk.calls == before
