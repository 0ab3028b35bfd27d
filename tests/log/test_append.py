"""Appends: when they are acknowledged, what an idempotent producer is told, and what is refused."""

from __future__ import annotations

import asyncio
import errno

import pytest
from tests.log.log_world import (
    HOME,
    MEMORY,
    NOW,
    OTHER,
    LogWorld,
    batch,
    fill,
    from_producer,
    headers,
    in_loop,
    marker,
    numbered,
    read_all,
    turns,
)

from holdfast.log.errors import (
    LogsStopped,
    ProducerEpochOld,
    SequenceGap,
    TransactionMismatch,
)
from holdfast.log.settings import PartitionSettings
from holdfast.record.errors import InvalidBatch, TooLarge, WrongCrc
from holdfast.record.layout import SEQUENCE_MASK
from holdfast.wal import Wal, WalFailed


@in_loop
async def test_the_watermark_moves_with_the_fsync_and_not_before() -> None:
    """A2: between append and fsync the record is neither acknowledged nor readable; with the fsync it is both."""
    world = LogWorld()
    logs = await world.open()
    partition = await logs.partition(HOME)
    seen = []
    world.disk.during_sync = lambda: seen.append((ack.done(), partition.marks.high_watermark, partition.marks.log_end))
    ack = asyncio.ensure_future(partition.append(batch(b"a", b"b")))
    await ack
    assert seen == [(False, 0, 2)]
    assert partition.marks.high_watermark == 2
    world.disk.during_sync = None


@in_loop
async def test_in_memory_mode_the_ack_comes_before_the_fsync() -> None:
    """A2: a `memory` topic acknowledges and shows what is buffered; the durable mark stays behind until the fsync."""
    world = LogWorld()
    partition = await (await world.open()).partition(HOME, MEMORY)
    syncs = world.disk.calls
    place = await partition.append(batch(b"a"))
    assert world.disk.calls == syncs
    assert (place.base_offset, partition.marks.high_watermark, partition.marks.durable) == (0, 1, 0)
    assert await read_all(partition) == [(0, b"a")]
    await turns()
    assert partition.marks.durable == 1


@in_loop
async def test_a_failed_fsync_acknowledges_nobody_and_stops_everything() -> None:
    """A2, A3: who waits is told LogsStopped, everybody who comes later too, and a reopen brings back what was acked."""
    world = LogWorld()
    logs = await world.open()
    first, second = await logs.partition(HOME), await logs.partition(OTHER)
    await fill(first, 3)
    waiting = asyncio.ensure_future(second.wait(0))
    world.disk.fail_next("sync", error=errno.EIO)
    acks = await asyncio.gather(
        first.append(batch(b"lost?")), second.append(batch(b"lost?")), waiting, return_exceptions=True
    )
    assert [type(each) for each in acks] == [LogsStopped] * 3
    for call in (first.append(batch(b"x")), first.read(0), second.wait(0), first.flush(), logs.partition(HOME)):
        with pytest.raises(LogsStopped):
            await call
    with pytest.raises(LogsStopped):
        await logs.room()
    assert logs.failure is not None
    await logs.close()
    logs = await world.reopen(power_cut=True)
    found = await read_all(await logs.partition(HOME))
    assert found[:3] == numbered(0, 3)
    assert found[3:] in ([], [(3, b"lost?")])


@pytest.mark.parametrize("is_told", [True, False])
@in_loop
async def test_a_failed_fsync_that_nobody_waited_for_stops_everything(is_told: bool) -> None:
    """A2, A3: as that of a marker, when all was quiet: everybody hears of it at once, and whoever appends first."""
    world = LogWorld()
    logs = await world.open()
    partition = await logs.partition(HOME)
    await fill(partition, 3)
    wal = logs._ground.journal._wal
    assert isinstance(wal, Wal)
    if not is_told:
        wal.on_stop = lambda failure: None
    world.disk.fail_next("sync", error=errno.EIO)
    with pytest.raises(WalFailed):
        wal.mark()
    if is_told:
        await turns()
        assert isinstance(logs.failure, LogsStopped)
    with pytest.raises(LogsStopped):
        await partition.append(batch(b"late"))
    assert isinstance(await asyncio.wait_for(logs.failed(), 5), LogsStopped)
    await logs.close()


@pytest.mark.parametrize("turn", range(1, 7))
@in_loop
async def test_a_purge_that_meets_a_failed_fsync_first_tells_everybody(turn: int) -> None:
    """A2, A3: background work may find the log stopped before the loop has heard of it: one failure, told once."""
    world = LogWorld()
    logs = await world.open()
    partition = await logs.partition(HOME)
    await fill(partition, 3)
    await partition.flush()
    world.disk.fail_next("sync", error=errno.EIO)
    waiting = asyncio.ensure_future(partition.append(batch(b"lost?")))
    for _ in range(turn):
        await asyncio.sleep(0)
    logs.purge()
    with pytest.raises(LogsStopped):
        await waiting
    assert logs.failure is not None
    await logs.close()


@in_loop
async def test_a_repeat_waits_for_the_fsync_of_its_original() -> None:
    """A2: a repeated batch is answered with its first place, and no earlier than the first one may be."""
    world = LogWorld()
    partition = await (await world.open()).partition(HOME)
    answered = []
    world.disk.during_sync = lambda: answered.append(repeat.done())
    original = asyncio.ensure_future(partition.append(from_producer(0, b"a")))
    repeat = asyncio.ensure_future(partition.append(from_producer(0, b"a")))
    place = await repeat
    assert answered == [False]
    assert place.repeated
    assert place[:2] == (await original)[:2] == (0, 1)
    world.disk.during_sync = None


@in_loop
async def test_a_repeat_is_not_acknowledged_when_the_fsync_of_its_original_fails() -> None:
    """A3: no waiter is told success wrongly, also not one that repeats."""
    world = LogWorld()
    partition = await (await world.open()).partition(HOME)
    world.disk.fail_next("sync")
    acks = await asyncio.gather(
        partition.append(from_producer(0, b"a")), partition.append(from_producer(0, b"a")), return_exceptions=True
    )
    assert [type(each) for each in acks] == [LogsStopped] * 2


@in_loop
async def test_a_request_is_acknowledged_when_its_last_new_batch_is() -> None:
    """A2: a repeat behind a new batch in one request, which lies below it, does not acknowledge the new one."""
    world = LogWorld()
    partition = await (await world.open()).partition(HOME)
    await partition.append(from_producer(0, b"old"))
    seen = []
    world.disk.during_sync = lambda: seen.append(ack.done())
    ack = asyncio.ensure_future(partition.append(batch(b"new") + from_producer(0, b"old")))
    await ack
    assert seen == [False]
    world.disk.during_sync = None


@in_loop
async def test_many_batches_in_one_request() -> None:
    """A1: all batches of a request are appended one after the other, and the answer names the first one's place."""
    partition = await (await LogWorld().open()).partition(HOME)
    place = await partition.append(batch(b"a", b"b") + batch(b"c"))
    assert (place.base_offset, place.end_offset) == (0, 3)
    assert await read_all(partition) == [(0, b"a"), (1, b"b"), (2, b"c")]


@in_loop
async def test_a_request_with_one_bad_batch_appends_none() -> None:
    """A3: rules are held against all batches before the first is appended."""
    partition = await (await LogWorld().open()).partition(HOME)
    bad = batch(b"b")
    bad[-1] ^= 1
    for data, error in ((batch(b"a") + bad, WrongCrc), (b"", ValueError), (batch(b"a")[:-1], InvalidBatch)):
        with pytest.raises(error):
            await partition.append(data)
    assert partition.marks.log_end == 0


@in_loop
async def test_batches_above_the_limit_are_refused() -> None:
    """A5: the limit of the topic holds, to the byte."""
    data = batch(b"x" * 100)
    partition = await (await LogWorld().open()).partition(HOME, PartitionSettings(batch_size_max=len(data)))
    await partition.append(bytes(data))
    with pytest.raises(TooLarge):
        await partition.append(batch(b"x" * 101))
    assert partition.marks.log_end == 1


@in_loop
async def test_bytes_of_the_caller_are_not_changed_when_they_cannot_be() -> None:
    """L2: read-only bytes are copied and stamped; the same bytes can be appended again and again."""
    partition = await (await LogWorld().open()).partition(HOME)
    data = bytes(batch(b"a"))
    for offset in range(3):
        assert (await partition.append(data)).base_offset == offset
    assert await read_all(partition) == [(0, b"a"), (1, b"a"), (2, b"a")]


# Idempotent producers


@in_loop
async def test_the_last_five_batches_are_known_again_and_older_ones_are_refused() -> None:
    """K4: a repeat of one of the last five gets its old place; whatever else does not follow is a gap."""
    partition = await (await LogWorld().open()).partition(HOME)
    for sequence in range(7):
        await partition.append(from_producer(sequence, b"x"))
    for sequence in range(2, 7):
        place = await partition.append(from_producer(sequence, b"x"))
        assert (place.base_offset, place.repeated) == (sequence, True)
    with pytest.raises(SequenceGap):
        await partition.append(from_producer(1, b"x"))
    with pytest.raises(SequenceGap) as gap:
        await partition.append(from_producer(8, b"x"))
    assert (gap.value.expected, gap.value.found) == (7, 8)
    assert partition.marks.log_end == 7


@in_loop
async def test_a_repeat_of_another_size_is_no_repeat() -> None:
    """K4: the same first sequence with another last one is not the batch that was appended."""
    partition = await (await LogWorld().open()).partition(HOME)
    await partition.append(from_producer(0, b"a", b"b"))
    with pytest.raises(SequenceGap):
        await partition.append(from_producer(0, b"a", b"b", b"c"))


@in_loop
async def test_a_sequence_goes_on_at_zero_after_the_largest() -> None:
    """K4: the sequence wraps, in a batch and between batches."""
    partition = await (await LogWorld().open()).partition(HOME)
    partition.producers.forgotten_below = 8  # It may have been known once, so it may begin anywhere.
    await partition.append(from_producer(SEQUENCE_MASK - 1, b"a"))
    await partition.append(from_producer(SEQUENCE_MASK, b"b", b"c", b"d"))  # The largest, 0, 1.
    place = await partition.append(from_producer(2, b"e"))
    assert (place.base_offset, place.repeated) == (4, False)
    repeat = await partition.append(from_producer(SEQUENCE_MASK, b"b", b"c", b"d"))
    assert (repeat.base_offset, repeat.end_offset, repeat.repeated) == (1, 4, True)
    with pytest.raises(SequenceGap):
        await partition.append(from_producer(4, b"x"))
    with pytest.raises(SequenceGap):
        await partition.append(from_producer(SEQUENCE_MASK - 5, b"x"))


@in_loop
async def test_a_higher_producer_epoch_begins_at_zero_and_fences_the_lower() -> None:
    """K4: after an epoch bump sequences begin again; a zombie with the old epoch is refused."""
    partition = await (await LogWorld().open()).partition(HOME)
    await partition.append(from_producer(0, b"a", epoch=3))
    with pytest.raises(SequenceGap):
        await partition.append(from_producer(1, b"b", epoch=4))
    await partition.append(from_producer(0, b"b", epoch=4))
    with pytest.raises(ProducerEpochOld) as zombie:
        await partition.append(from_producer(1, b"c", epoch=3))
    assert (zombie.value.expected, zombie.value.found) == (4, 3)
    with pytest.raises(ProducerEpochOld):
        partition.append_marker(marker(epoch=3))
    assert await read_all(partition) == [(0, b"a"), (1, b"b")]


@in_loop
async def test_a_producer_says_who_it_is_completely() -> None:
    """K4: a transaction needs a producer, a producer an epoch and a sequence; otherwise no marker could ever end it."""
    partition = await (await LogWorld().open()).partition(HOME)
    with pytest.raises(TransactionMismatch):
        await partition.append(batch(b"a", transactional=True))
    with pytest.raises(SequenceGap):
        await partition.append(batch(b"a", producer_id=7, producer_epoch=0))
    with pytest.raises(ProducerEpochOld):
        await partition.append(batch(b"a", producer_id=7, base_sequence=0))
    assert (partition.marks.log_end, partition.last_stable) == (0, 0)


@in_loop
async def test_a_marker_of_an_old_coordinator_ends_nothing() -> None:
    """K4: of two coordinators the one with the older epoch is refused."""
    partition = await (await LogWorld().open()).partition(HOME)
    await partition.append(from_producer(0, b"a", transactional=True))
    partition.append_marker(marker(coordinator=5))
    await partition.append(from_producer(1, b"b", transactional=True))
    with pytest.raises(TransactionMismatch):
        partition.append_marker(marker(coordinator=4))
    await turns()
    assert partition.last_stable == 2


# Time


@in_loop
async def test_log_append_time_is_the_brokers_and_survives() -> None:
    """K2: all records carry the broker's time, the ack says it, a repeat says the first one, and a reopen keeps it."""
    world = LogWorld()
    settings = PartitionSettings(timestamp_type="log_append")
    partition = await (await world.open()).partition(HOME, settings)
    place = await partition.append(from_producer(0, b"a", b"b"))
    assert place.append_time_ms == NOW
    world.clock.advance(10)
    assert (await partition.append(from_producer(2, b"c"))).append_time_ms == NOW + 10_000
    repeat = await partition.append(from_producer(0, b"a", b"b"))
    assert (repeat.repeated, repeat.append_time_ms) == (True, NOW)
    partition = await (await world.reopen()).partition(HOME, settings)
    found = headers((await partition.read(0)).buffers)
    assert [(each.max_timestamp, each.is_log_append_time) for each in found] == [(NOW, True), (NOW + 10_000, True)]
    assert await partition.find_timestamp(NOW + 1) == (2, NOW + 10_000)
    await partition.flush()
    assert await partition.find_timestamp(NOW + 1) == (2, NOW + 10_000)
