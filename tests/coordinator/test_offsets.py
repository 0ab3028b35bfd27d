"""Committed offsets: durable before they are acknowledged or shown, and gone only where that was asked for."""

from __future__ import annotations

import asyncio

import pytest
from tests.coordinator.coordinator_world import AT, CoordinatorWorld, started
from tests.coordinator.group_driver import protocols, subscription
from tests.log.log_world import NOW, in_loop, turns

from holdfast.coordinator.group.answers import CommittedOffset
from holdfast.coordinator.group.errors import (
    GroupNotEmpty,
    GroupNotFound,
    OffsetMetadataTooLarge,
    OffsetUndecided,
    TopicSubscribed,
    UnknownMember,
    WrongGeneration,
)
from holdfast.coordinator.group.offsets import OffsetTable
from holdfast.coordinator.group.records import offset_record
from holdfast.coordinator.group.requests import Caller, Leaving, OffsetToCommit
from holdfast.record.batch import check
from holdfast.record.build import build
from holdfast.record.marker import Marker, MarkerKind
from holdfast.types import TopicPartition

OTHER = TopicPartition("u", 3)


@in_loop
async def test_a_commit_is_fetched_with_all_it_said() -> None:
    """K3: offset, leader epoch and text; what was never committed is None; all that was, on request."""
    house = CoordinatorWorld()
    coordinator = await house.open()
    await coordinator.offsets.commit("g", Caller(), {AT: OffsetToCommit(5, 7, "né"), OTHER: OffsetToCommit(0)})
    assert await coordinator.offsets.fetch("g", [AT, TopicPartition("t", 1)]) == {
        AT: CommittedOffset(5, 7, "né", NOW),
        TopicPartition("t", 1): None,
    }
    assert set(await coordinator.offsets.fetch("g")) == {AT, OTHER}
    assert await coordinator.offsets.fetch("nobody", [AT]) == {AT: None}
    assert await coordinator.offsets.fetch("nobody") == {}


@in_loop
async def test_a_commit_is_neither_acknowledged_nor_shown_before_it_is_durable() -> None:
    """K3: a consumer that starts elsewhere must not see what a crash could take back."""
    house = CoordinatorWorld()
    await house.open()
    await house.commit(1)
    task = started(house.commit(2))
    await asyncio.sleep(0)
    assert not task.done()
    assert await house.fetched() == 1
    await task
    assert await house.fetched() == 2


@in_loop
async def test_a_failed_fsync_acknowledges_nothing() -> None:
    """K3: neither the commit nor an answer of a group; the old offset stays visible."""
    house = CoordinatorWorld()
    coordinator = await house.open()
    caller = await house.alone()
    await house.commit(1, caller)
    house.world.disk.fail_next("sync")
    results = await asyncio.gather(
        house.commit(2, caller), coordinator.leave("g", [Leaving(caller.member_id)]), return_exceptions=True
    )
    assert all(isinstance(each, Exception) for each in results)
    assert await house.fetched() == 1


@in_loop
async def test_commits_take_effect_in_the_order_they_came() -> None:
    """K3: a later one wins, also if it is lower, also after a restart."""
    house = CoordinatorWorld()
    await house.open()
    await asyncio.gather(*(house.commit(offset) for offset in (5, 9, 3)))
    assert await house.fetched() == 3
    await house.restart()
    assert await house.fetched() == 3


@in_loop
async def test_a_cancelled_commit_happens_all_the_same() -> None:
    """K3: a connection that breaks leaves nothing half done."""
    house = CoordinatorWorld()
    await house.open()
    task = started(house.commit(5))
    await asyncio.sleep(0)
    task.cancel()
    await turns()
    assert await house.fetched() == 5


@in_loop
async def test_who_may_not_commit() -> None:
    """K3: neither to a group that is not there, nor as somebody else."""
    house = CoordinatorWorld()
    coordinator = await house.open()
    offsets = {AT: OffsetToCommit(5)}
    with pytest.raises(GroupNotFound):
        await coordinator.offsets.commit("g", Caller("m", 1), offsets)
    assert coordinator.list_groups() == []
    caller = await house.alone()
    with pytest.raises(UnknownMember):
        await coordinator.offsets.commit("g", Caller(), offsets)
    with pytest.raises(WrongGeneration):
        await coordinator.offsets.commit("g", caller._replace(generation=7), offsets)
    assert await house.fetched() is None


@in_loop
async def test_too_much_text_beside_an_offset() -> None:
    """K3: only that partition is refused, and the limit counts bytes."""
    house = CoordinatorWorld()
    coordinator = await house.open()
    offsets = {AT: OffsetToCommit(5, metadata="é" * 2049), OTHER: OffsetToCommit(6, metadata="é" * 2048)}
    results = await coordinator.offsets.commit("g", Caller(), offsets)
    assert isinstance(results[AT], OffsetMetadataTooLarge)
    assert (await house.fetched(), await house.fetched(OTHER)) == (None, 6)
    await coordinator.offsets.commit("other", Caller(), {AT: offsets[AT]})
    assert [each.group_id for each in coordinator.list_groups()] == ["g"]


@in_loop
async def test_a_commit_larger_than_a_batch() -> None:
    """K3: is stored in several, and acknowledged after the last."""
    house = CoordinatorWorld()
    coordinator = await house.open()
    offsets = {TopicPartition("t", number): OffsetToCommit(number, metadata="x" * 4000) for number in range(600)}
    await coordinator.offsets.commit("g", Caller(), offsets)
    await house.restart()
    found = await house.coordinator.offsets.fetch("g")
    assert [each.offset for each in found.values()] == list(range(600))


@in_loop
async def test_offsets_are_deleted_unless_a_member_reads_the_topic() -> None:
    """K3: for ever; what was never there is fine."""
    house = CoordinatorWorld()
    coordinator = await house.open()
    with pytest.raises(GroupNotFound):
        await coordinator.offsets.delete("g", [AT])
    await house.commit(5)
    await house.commit(6, at=OTHER)
    caller = await house.alone(protocols=protocols("range", metadata=subscription("t")))
    results = await coordinator.offsets.delete("g", [AT, OTHER, TopicPartition("v", 0)])
    assert isinstance(results[AT], TopicSubscribed)
    assert (results[OTHER], results[TopicPartition("v", 0)]) == (None, None)
    await house.restart(power_cut=True)
    assert (await house.fetched(), await house.fetched(OTHER)) == (5, None)
    assert await house.coordinator.heartbeat("g", caller) is None


@in_loop
async def test_offsets_of_a_group_that_may_read_anything_are_not_deleted() -> None:
    """K3: members that are no consumers do not say what they read."""
    house = CoordinatorWorld()
    coordinator = await house.open()
    await house.commit(5)
    await house.alone(protocol_type="connect", protocols=protocols("default", metadata=b"?"))
    with pytest.raises(GroupNotEmpty):
        await coordinator.offsets.delete("g", [AT])


@in_loop
async def test_a_deleted_topic_takes_its_offsets_along() -> None:
    """K6: also those on their way; a topic made again starts without."""
    house = CoordinatorWorld()
    await house.open()
    await house.commit(5)
    await house.commit(7, at=OTHER)
    await house.commit(8, group_id="h")
    on_its_way = started(house.commit(6))
    await asyncio.sleep(0)
    await house.coordinator.offsets.forget_topics(lambda topic: topic == "t")
    await on_its_way
    assert await house.fetched() is None
    await house.restart()
    assert (await house.fetched(), await house.fetched(group_id="h"), await house.fetched(OTHER)) == (None, None, 7)


@in_loop
async def test_offsets_expire_when_a_group_has_been_empty_for_long() -> None:
    """K3: not before, not while it has members; then the group goes, too, for ever."""
    house = CoordinatorWorld(offsets_retention_ms=100_000, offsets_check_ms=10_000)
    coordinator = await house.open()
    caller = await house.alone(session_timeout_ms=1_000_000)
    await house.commit(5, caller)
    await house.wait(150)
    await house.wait(150)
    assert await house.fetched() == 5
    await coordinator.leave("g", [Leaving(caller.member_id)])
    await house.wait(95)
    assert await house.fetched() == 5
    await house.wait(10)
    await turns()
    assert await house.fetched() is None
    assert coordinator.list_groups() == []
    await house.restart(power_cut=True)
    assert house.coordinator.list_groups() == []


@in_loop
async def test_offsets_of_nobodys_topics_expire_in_a_living_group() -> None:
    """K3: those of topics that members read never do."""
    house = CoordinatorWorld(offsets_retention_ms=100_000, offsets_check_ms=10_000)
    await house.open()
    await house.commit(5)
    await house.commit(6, at=OTHER)
    await house.alone(session_timeout_ms=1_000_000)
    await house.wait(105)
    await turns()
    assert (await house.fetched(), await house.fetched(OTHER)) == (5, None)


@in_loop
async def test_offsets_without_members_expire_one_by_one() -> None:
    """K3: each commit counts for its own partition; an expiry that the client set counts for itself."""
    house = CoordinatorWorld(offsets_retention_ms=100_000, offsets_check_ms=10_000)
    coordinator = await house.open()
    await house.commit(5)
    await house.wait(60)
    await house.commit(6, at=OTHER)
    await coordinator.offsets.commit(
        "h", Caller(), {AT: OffsetToCommit(1, expires_at_ms=NOW + 70_000), OTHER: OffsetToCommit(2)}
    )
    await house.wait(45)
    await turns()
    assert (await house.fetched(), await house.fetched(OTHER)) == (None, 6)
    assert (await house.fetched(group_id="h"), await house.fetched(OTHER, "h")) == (None, 2)


def test_offsets_of_open_transactions() -> None:
    """K4: count once the transaction is committed, unless a later commit outside it came first."""
    table = OffsetTable()
    table.apply({AT: CommittedOffset(1)}, 10)
    table.apply_pending(77, {AT: CommittedOffset(2), OTHER: CommittedOffset(3)}, 11)
    assert table.is_undecided(AT)
    assert table.get(AT) == CommittedOffset(1)
    assert table.known() == {AT, OTHER}
    table.apply({AT: CommittedOffset(9)}, 12)
    table.decide(77, commit=True)
    table.decide(77, commit=True)
    assert (table.get(AT), table.get(OTHER)) == (CommittedOffset(9), CommittedOffset(3))
    table.apply_pending(78, {AT: CommittedOffset(4)}, 13)
    table.decide(78, commit=False)
    assert table.get(AT) == CommittedOffset(9)
    table.apply_pending(79, {AT: CommittedOffset(4)}, 14)
    table.apply({AT: None}, 15)
    table.decide(79, commit=True)
    assert table.get(AT) is None


@in_loop
async def test_offsets_of_transactions_come_back_after_a_restart() -> None:
    """K4: committed ones count, aborted ones never did, open ones make whoever needs certainty wait."""
    house = CoordinatorWorld(partitions=1)
    await house.open()
    await house.commit(1)
    [partition] = house.partitions
    for producer, at, offset, kind in [
        (7, AT, 5, MarkerKind.COMMIT),
        (8, OTHER, 6, MarkerKind.ABORT),
        (9, OTHER, 7, None),
    ]:
        value = CommittedOffset(offset, committed_at_ms=NOW)
        batch = memoryview(
            build(
                [offset_record("g", at, value, NOW)],
                transactional=True,
                producer_id=producer,
                producer_epoch=0,
                base_sequence=0,
            )
        )
        partition.append_one(check(batch, 1 << 20), batch)
        if kind is not None:
            partition.append_marker(Marker(kind, producer, 0, 0, NOW))
    await partition.acknowledged(partition.marks.log_end)
    coordinator = await house.restart()
    found = await coordinator.offsets.fetch("g", [AT, OTHER], require_stable=True)
    assert found[AT] == CommittedOffset(5, committed_at_ms=NOW)
    assert isinstance(found[OTHER], OffsetUndecided)
    assert await house.fetched(OTHER) is None
