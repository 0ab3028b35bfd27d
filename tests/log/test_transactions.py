"""What committed readers see: the last stable offset, and the aborted transactions."""

from __future__ import annotations

import pytest
from tests.log.log_world import HOME, LogWorld, fill, from_producer, in_loop, marker, turns

from holdfast.log.errors import SequenceGap, TransactionMismatch
from holdfast.segment.manifest.info import Aborted


@in_loop
async def test_committed_reads_end_at_the_last_stable_offset() -> None:
    """K4, L6: what belongs to an open transaction, and all behind it, is not read by committed readers; others are
    not held back."""
    world = LogWorld()
    partition = await (await world.open()).partition(HOME)
    await fill(partition, 2)
    await partition.append(from_producer(0, b"t", transactional=True))
    await fill(partition, 2)
    assert partition.last_stable == 2
    read = await partition.read(0, committed=True)
    assert (read.next_offset, read.end_reached, read.last_stable, read.high_watermark) == (2, True, 2, 5)
    assert (await partition.read(0)).next_offset == 5
    read = await partition.read(3, committed=True)
    assert (read.buffers, read.next_offset, read.end_reached) == ([], 3, True)
    await partition.flush()
    assert (await partition.read(0, committed=True)).next_offset == 2
    partition.append_marker(marker())
    assert partition.last_stable == 2, "The marker is not durable yet."
    await turns()
    assert partition.last_stable == 6
    assert (await partition.read(0, committed=True)).next_offset == 6


@in_loop
async def test_aborted_transactions_are_told_wherever_their_marker_is() -> None:
    """K4: the marker is in the tail, in a later segment, after a reopen: who reads the records learns of it."""
    world = LogWorld(segment_size_max=1)
    logs = await world.open()
    partition = await logs.partition(HOME)
    await partition.append(from_producer(0, b"a", number=1, transactional=True))
    await partition.append(from_producer(0, b"b", number=2, transactional=True))
    await partition.append(from_producer(1, b"c", number=1, transactional=True))
    partition.append_marker(marker(1, abort=True))
    partition.append_marker(marker(2))
    await turns()
    gone = [Aborted(1, 0, 3, 1)]
    for _ in range(7):
        read = await partition.read(0, committed=True)
        assert (read.next_offset, read.aborted) == (5, gone)
        assert (await partition.read(1, committed=True, max_bytes=0)).aborted == gone
        assert (await partition.read(4, committed=True)).aborted == []
        assert (await partition.read(0)).aborted == []
        await partition.flush()
        logs = await world.reopen(power_cut=True)
        partition = await logs.partition(HOME)
    assert len(partition.manifest.segments) == 5


@in_loop
async def test_a_transaction_is_open_in_its_own_epoch_only() -> None:
    """K4: from the first batch to the marker; a batch of another epoch, or of no transaction, is kept out of it."""
    partition = await (await LogWorld().open()).partition(HOME)
    assert not partition.producers.is_open(7, 1)
    await partition.append(from_producer(0, b"a", epoch=1, transactional=True))
    assert [partition.producers.is_open(7, epoch) for epoch in (0, 1, 2)] == [False, True, False]
    for strange in (from_producer(1, b"b", epoch=1), from_producer(0, b"c", epoch=2, transactional=True)):
        with pytest.raises(TransactionMismatch):
            await partition.append(strange)
    partition.append_marker(marker(epoch=2))
    assert [partition.producers.is_open(7, epoch) for epoch in (1, 2)] == [False, False]
    with pytest.raises(SequenceGap):
        await partition.append(from_producer(1, b"d", epoch=2, transactional=True))
    await partition.append(from_producer(0, b"d", epoch=2, transactional=True))
