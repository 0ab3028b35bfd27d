"""Groups that move between the protocols: who holds what, and where generations and epochs go on."""

from __future__ import annotations

from typing import Any

import pytest
from tests.coordinator.beating import Group, numbers
from tests.coordinator.consumers import subscription
from tests.coordinator.coordinator_world import started
from tests.coordinator.group_driver import request
from tests.log.log_world import in_loop, turns

from holdfast.coordinator.group.answers import GroupState, GroupType
from holdfast.coordinator.group.consumer.embedded import read_assignment, write_assignment
from holdfast.coordinator.group.consumer.errors import GroupUnsettled, NotAClassicGroup, NotAConsumerGroup
from holdfast.coordinator.group.errors import (
    MemberIdRequired,
    ProtocolMismatch,
    RebalanceInProgress,
    UnknownMember,
    WrongGeneration,
)
from holdfast.coordinator.group.requests import Caller, JoinRequest, Leaving, Protocol, SyncRequest
from holdfast.coordinator.group.settings import Migration
from holdfast.coordinator.runtime.writer import PartitionWriter
from holdfast.record.batch import split
from holdfast.record.records import Record, read_records
from holdfast.types import TopicPartition


def asking(member_id: str = "", *owned: int, topics: tuple[str, ...] = ("t",), **values: Any) -> JoinRequest:
    """A consumer of the classic protocol that owns these partitions of t."""
    metadata = subscription(topics, [TopicPartition("t", number) for number in owned])
    return request(member_id, **{"protocols": (Protocol("range", metadata),), **values})


async def alone(group: Group, *assigned: int) -> Caller:
    """The only member of a classic group, with these partitions of t."""
    coordinator = group.house.coordinator
    joined = await coordinator.join("g", asking())
    caller = Caller(joined.member_id, joined.generation)
    share = write_assignment(1, [TopicPartition("t", number) for number in assigned])
    await coordinator.sync("g", SyncRequest(caller=caller, assignments={joined.member_id: share}))
    return caller


async def rejoin(group: Group, caller: Caller, *owned: int) -> tuple[Caller, list[int]]:
    """Join again, and what one is assigned then."""
    coordinator = group.house.coordinator
    joined = await coordinator.join("g", asking(caller.member_id, *owned))
    caller = Caller(joined.member_id, joined.generation)
    synced = await coordinator.sync("g", SyncRequest(caller=caller))
    found = read_assignment(synced.assignment)
    assert found is not None
    return caller, sorted(each.partition for each in found)


def kind(group: Group) -> GroupType:
    [line] = group.house.coordinator.list_groups()
    return line.type


@in_loop
async def test_a_new_member_takes_a_classic_group_along() -> None:
    """K3: its members keep what they have until they let go; generations go on as epochs; a restart changes nothing."""
    group = await Group().open()
    coordinator = group.house.coordinator
    c = await alone(group, 0, 1, 2, 3)
    await group.house.commit(7, c)
    n = await group.join("n")
    assert (kind(group), numbers(n)) == (GroupType.CONSUMER, [])
    assert n.epoch > c.generation
    coordinator = await group.house.restart()
    with pytest.raises(RebalanceInProgress):
        await coordinator.heartbeat("g", c)
    await group.house.commit(8, c)
    c, mine = await rejoin(group, c)
    assert (c.generation, len(mine)) == (n.epoch, 2)
    n = await group.owning(n)
    assert sorted([*mine, *(numbers(n) or [])]) == [0, 1, 2, 3]
    await coordinator.heartbeat("g", c)
    await group.house.commit(9, c)
    assert await group.house.fetched() == 9


@in_loop
async def test_a_cooperative_member_lets_go_by_joining_again() -> None:
    """K3: what it owns it says in its join; a partition moves only when it does not say it any more."""
    group = await Group().open()
    coordinator = group.house.coordinator
    c = await alone(group, 0, 1, 2, 3)
    n = await group.join("n")
    before = c.generation
    c, mine = await rejoin(group, c, 0, 1, 2, 3)
    assert (c.generation, len(mine)) == (before, 2)
    with pytest.raises(RebalanceInProgress):
        await coordinator.heartbeat("g", c)
    assert numbers(await group.beat("n", n.epoch)) is None
    c, mine = await rejoin(group, c, *mine)
    assert (c.generation, len(mine)) == (n.epoch, 2)
    assert len(numbers(await group.beat("n", n.epoch)) or []) == 2


@in_loop
async def test_what_a_member_owned_before_its_assignment_is_not_free() -> None:
    """K3: a cooperative member that has yet to hear what it lost still owns it when the group moves."""
    group = await Group().open()
    coordinator = group.house.coordinator
    joined = await coordinator.join("g", asking("", 0, 1, 2, 3))
    c = Caller(joined.member_id, joined.generation)
    share = write_assignment(1, [TopicPartition("t", 0)])
    await coordinator.sync("g", SyncRequest(caller=c, assignments={c.member_id: share}))
    n = await group.join("n")
    assert numbers(n) == []
    await rejoin(group, c, 0)
    assert numbers(await group.owning(n)) == [2, 3]


@in_loop
async def test_the_last_new_member_leaves() -> None:
    """K3: the group is a classic one again; its members commit by the epoch they know, and join again."""
    group = await Group().open()
    coordinator = group.house.coordinator
    c = await alone(group, 0, 1, 2, 3)
    n = await group.join("n")
    c, _ = await rejoin(group, c)
    await group.beat("n", -1)
    assert kind(group) is GroupType.CLASSIC
    with pytest.raises(RebalanceInProgress):
        await coordinator.heartbeat("g", c)
    await group.house.commit(3, c)
    with pytest.raises(WrongGeneration):
        await group.house.commit(4, c._replace(generation=n.epoch + 7))
    with pytest.raises(UnknownMember):
        await group.beat("n", n.epoch)
    coordinator = await group.house.restart()
    joined = await coordinator.join("g", asking(c.member_id))
    assert joined.generation > n.epoch
    assert joined.leader_id == c.member_id
    assert await group.house.fetched() == 3


@in_loop
async def test_a_group_that_is_settling_does_not_move() -> None:
    """K3: nobody knows who holds what until the leader has assigned."""
    group = await Group().open()
    coordinator = group.house.coordinator
    joined = await coordinator.join("g", asking())
    with pytest.raises(GroupUnsettled):
        await group.join("n")
    await coordinator.sync("g", SyncRequest(caller=Caller(joined.member_id, joined.generation)))
    assert (await group.join("n")).epoch == joined.generation + 1


@in_loop
async def test_groups_of_others_do_not_move() -> None:
    """K3: those of another protocol type, or whose members say what cannot be read; nor where it is not allowed."""
    for values, migration in [
        ({"protocol_type": "connect"}, Migration.BIDIRECTIONAL),
        ({"protocols": (Protocol("range", b"?"),)}, Migration.BIDIRECTIONAL),
        ({}, Migration.DOWNGRADE),
        ({}, Migration.DISABLED),
    ]:
        group = await Group(migration=migration).open()
        coordinator = group.house.coordinator
        joined = await coordinator.join("g", asking(**values))
        await coordinator.sync("g", SyncRequest(caller=Caller(joined.member_id, joined.generation)))
        with pytest.raises(NotAConsumerGroup):
            await group.join("n")
        with pytest.raises(NotAConsumerGroup):
            await group.describe()


@in_loop
async def test_without_a_way_back_the_group_stays() -> None:
    """K3: classic members go on in the consumer group."""
    group = await Group(migration=Migration.UPGRADE).open()
    c = await alone(group, 0, 1, 2, 3)
    await group.join("n")
    await group.beat("n", -1)
    assert kind(group) is GroupType.CONSUMER
    c, mine = await rejoin(group, c)
    assert mine == [0, 1, 2, 3]
    await group.house.coordinator.heartbeat("g", c)


@in_loop
async def test_an_empty_group_is_of_whoever_comes() -> None:
    """K3: either way, over a restart, with its offsets, and never with an epoch or generation it had before."""
    group = await Group().open()
    highest = 0
    for offset in range(1, 4):
        told = await group.join("n")
        await group.house.commit(offset, Caller("n", told.epoch))
        await group.beat("n", -1)
        assert kind(group) is GroupType.CONSUMER
        coordinator = await group.house.restart(power_cut=True)
        joined = await coordinator.join("g", asking())
        assert kind(group) is GroupType.CLASSIC
        assert highest < told.epoch < joined.generation
        highest = joined.generation
        await coordinator.leave("g", [Leaving(joined.member_id)])
        assert await group.house.fetched() == offset


@in_loop
async def test_classic_members_of_a_consumer_group() -> None:
    """K3: an id first, a protocol in common, and the calls of a member that is one."""
    group = await Group().open()
    coordinator = group.house.coordinator
    await group.join("n")
    with pytest.raises(MemberIdRequired) as required:
        await coordinator.join("g", asking(needs_known_id=True))
    joined = await coordinator.join("g", asking(required.value.member_id))
    assert joined.member_id == required.value.member_id
    with pytest.raises(UnknownMember):
        await coordinator.join("g", asking("made up"))
    for values in (
        {"protocol_type": "connect"},
        {"protocols": (Protocol("other", subscription(("t",), [])),)},
        {"protocols": (Protocol("range", b"?"),)},
        {"protocols": ()},
    ):
        with pytest.raises(ProtocolMismatch):
            await coordinator.join("g", asking(**values))
    with pytest.raises(UnknownMember):
        await coordinator.heartbeat("g", Caller("n", 1))
    with pytest.raises(WrongGeneration):
        await coordinator.heartbeat("g", Caller(joined.member_id, joined.generation - 1))
    asked = SyncRequest(caller=Caller(joined.member_id, joined.generation), protocol_name="other")
    with pytest.raises(ProtocolMismatch):
        await coordinator.sync("g", asked)
    with pytest.raises(NotAClassicGroup):
        await coordinator.describe("g")
    left, unknown = await coordinator.leave("g", [Leaving(joined.member_id), Leaving("made up")])
    assert left is None
    assert isinstance(unknown, UnknownMember)


@in_loop
async def test_a_classic_member_that_does_not_come_again_is_given_up() -> None:
    """K3: it was told to join, and its rebalance timeout is over, however often it says that it is there."""
    group = await Group().open()
    coordinator = group.house.coordinator
    c = await alone(group, 0, 1, 2, 3)
    n = await group.join("n")
    for _ in range(12):
        with pytest.raises(RebalanceInProgress):
            await coordinator.heartbeat("g", c)
        n = await group.owning(n)
        await group.house.wait(5)
    with pytest.raises(UnknownMember):
        await coordinator.heartbeat("g", c)
    assert numbers(await group.owning(n)) == [0, 1, 2, 3]


@in_loop
async def test_a_classic_instance_takes_its_place_again() -> None:
    """K3: under a new id, with what it had; the old id is fenced."""
    group = await Group().open()
    coordinator = group.house.coordinator
    n = await group.join("n")
    first = await coordinator.join("g", asking(instance="i"))
    await group.owning(n, 0, 1)
    second = await coordinator.join("g", asking(instance="i"))
    assert second.member_id != first.member_id
    synced = await coordinator.sync("g", SyncRequest(caller=Caller(second.member_id, second.generation, "i")))
    assert len(read_assignment(synced.assignment) or ()) == 2
    members = (await group.describe()).members
    assert {each.member.id for each in members} == {"n", second.member_id}


@in_loop
async def test_requests_under_way_are_answered_when_the_group_moves() -> None:
    """K3: every request gets one answer, also one that was parked in the classic group."""
    group = await Group(initial_rebalance_delay_ms=3000).open()
    coordinator = group.house.coordinator
    parked = started(coordinator.join("g", asking()))
    await turns()
    with pytest.raises(GroupUnsettled):
        await group.join("n")
    await group.house.wait(3)
    joined = await parked
    await coordinator.sync("g", SyncRequest(caller=Caller(joined.member_id, joined.generation)))
    await group.join("n")
    assert (await group.describe()).state is GroupState.RECONCILING


@in_loop
async def test_what_is_written_together_is_in_one_batch() -> None:
    """K3: a crash never leaves half of a move."""
    group = await Group().open()
    partition = group.house.partitions[0]
    writer = PartitionWriter(partition)
    size = writer.record_size_max // 8
    done: list[int] = []
    for unit in range(3):
        records = [Record(b"\0\x7f%d" % unit, bytes(size)) for _ in range(5)]
        writer.append(records, lambda at, _: done.append(at))
    await turns(60)
    found = await partition.read(partition.marks.log_start, None, 10 << 20)
    batches = [list(read_records(batch)) for buffer in found.buffers for _, batch in split(buffer)]
    assert [[record.key for record in batch] for batch in batches] == [[b"\0\x7f%d" % unit] * 5 for unit in range(3)]
    assert [at - done[0] for at in done] == [0, 5, 10]
