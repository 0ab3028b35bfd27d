"""Fetch and ListOffsets while the store is away: every offset has its record or "try again", never "out of range"."""

from __future__ import annotations

import asyncio
from uuid import UUID

import pytest
from tests.log.log_world import HOME, LogWorld, fill, in_loop, numbered, records
from tests.log.test_tails import local

from holdfast.broker.waiting.reads import WaitingReads
from holdfast.cluster.metadata import Metadata, Topic
from holdfast.io.calls import InlineCalls
from holdfast.log.recovery.tails import Tails
from holdfast.protocol.codes import Code
from holdfast.protocol.generated.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from holdfast.protocol.hot.fetch import FetchPartition, FetchRequest, FetchTopic
from holdfast.protocol.hot.fetch_response import Fetched

COPY = Metadata("c" * 32, 5, {"orders": Topic("orders", HOME.topic_id, 2), "none": Topic("none", UUID(int=9), 1)})
TRY_AGAIN = Code.KAFKA_STORAGE_ERROR


async def reads(*, before: int = 60, count: int = 5) -> WaitingReads:
    """A partition with its first records in the store only, and the last in the log."""
    world = LogWorld()
    logs = await world.open()
    partition = await logs.partition(HOME)
    await fill(partition, before, 200)
    if before:
        await partition.flush()
        logs.purge()
    await fill(partition, count, 200, before)
    return WaitingReads(COPY, Tails(await local(world)), InlineCalls())


async def fetch(
    found: WaitingReads, offset: int, *, name: str = "orders", partition: int = 0, epoch: int = -1, isolation: int = 0
) -> Fetched:
    wanted = FetchPartition(partition, epoch, offset, -1, -1, 1 << 20)
    message = FetchRequest(-1, -1, 10, 1, 1 << 20, isolation, 0, -1, [FetchTopic(name, None, [wanted])], [], "")
    (topic,) = await found.fetched(message)
    (answer,) = topic.partitions
    return answer


@pytest.mark.parametrize("isolation", [0, 1])
@in_loop
async def test_every_offset_has_its_record_or_is_to_be_tried_again(isolation: int) -> None:
    """D4: below the log, in it, at its end, and beyond; no answer is OFFSET_OUT_OF_RANGE."""
    found = await reads()
    for offset in (0, 59, 66, 1000):
        assert (await fetch(found, offset, isolation=isolation))[:3] == (0, TRY_AGAIN, -1)
    for offset in range(60, 66):
        answer = await fetch(found, offset, isolation=isolation)
        assert (answer.error_code, answer.high_watermark, answer.last_stable_offset) == (0, 65, 65)
        assert answer.log_start_offset == -1
        assert records(map(memoryview, answer.records)) == numbered(offset, 65, 200)


@in_loop
async def test_partitions_without_a_tail_are_to_be_tried_again() -> None:
    """D4: another partition, another topic, one that the copy does not know."""
    found = await reads()
    assert (await fetch(found, 0, partition=1)).error_code == TRY_AGAIN
    assert (await fetch(found, 0, name="none")).error_code == TRY_AGAIN
    assert (await fetch(found, 0, name="unknown")).error_code == TRY_AGAIN


@in_loop
async def test_a_reader_that_has_seen_a_later_leader_is_told_so() -> None:
    """D4, L3: whoever led since has another history; who has seen one of ours, or none, is served."""
    found = await reads()
    assert (await fetch(found, 60, epoch=50)).error_code == Code.UNKNOWN_LEADER_EPOCH
    assert (await fetch(found, 60, epoch=1)).error_code == Code.NONE


def list_offsets(found: WaitingReads, at: int, isolation: int = 0) -> tuple[int, int]:
    wanted = ListOffsetsPartition(partition_index=0, current_leader_epoch=-1, timestamp=at)
    topic = ListOffsetsTopic(name="orders", partitions=[wanted])
    message = ListOffsetsRequest(isolation_level=isolation, topics=[topic])
    (row,) = found.offsets(message, 7).topics[0].partitions
    return row.error_code, row.offset


@in_loop
async def test_the_ends_are_told_where_they_are_known() -> None:
    """D4: the last one always, the first one where the log has it, a time never."""
    part, whole = await reads(), await reads(before=0)
    assert list_offsets(part, -1) == list_offsets(part, -1, 1) == (0, 65)
    assert list_offsets(part, -2)[0] == TRY_AGAIN
    assert list_offsets(whole, -2) == list_offsets(whole, -4) == (0, 0)
    assert list_offsets(whole, 1)[0] == list_offsets(whole, -3)[0] == TRY_AGAIN


@in_loop
async def test_who_waits_at_the_end_is_answered_when_the_broker_is_whole() -> None:
    """D4: and not only when its patience is over."""
    found = await reads()
    wanted = FetchPartition(0, -1, 65, -1, -1, 1 << 20)
    message = FetchRequest(-1, -1, 3_600_000, 1, 1 << 20, 0, 0, -1, [FetchTopic("orders", None, [wanted])], [], "")
    waiting = asyncio.ensure_future(found.fetched(message))
    await asyncio.sleep(0)
    assert not waiting.done()
    found.end()
    (topic,) = await asyncio.wait_for(waiting, 10)
    assert topic.partitions[0][:3] == (0, 0, 65)
