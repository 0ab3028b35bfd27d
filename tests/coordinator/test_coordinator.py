"""The coordinator: groups over the log, answers after durability, nothing left behind."""

from __future__ import annotations

import asyncio

import pytest
from tests.coordinator.coordinator_world import AT, NOBODY, CoordinatorWorld, started
from tests.coordinator.group_driver import SESSION_MS, request
from tests.log.log_world import in_loop, turns

from holdfast.coordinator.group.answers import GroupState, GroupType
from holdfast.coordinator.group.coordinator import GroupCoordinator
from holdfast.coordinator.group.errors import (
    GroupNotEmpty,
    GroupNotFound,
    InstanceFenced,
    InvalidGroupId,
    MemberIdRequired,
    RebalanceInProgress,
    TooManyGroups,
    UnknownMember,
    WrongGeneration,
)
from holdfast.coordinator.group.requests import Caller, Leaving, OffsetToCommit, SyncRequest
from holdfast.coordinator.runtime.errors import CoordinatorLoading, CoordinatorStopped, TextTooLong
from holdfast.errors import Stopped
from holdfast.io.chance import SeededChance
from holdfast.io.clock import SystemClock
from holdfast.types import TopicPartition


@in_loop
async def test_nothing_is_answered_before_the_log_is_read() -> None:
    """K3: a group that is not loaded yet is not a group without offsets."""
    house = CoordinatorWorld()
    await house.open()
    await house.commit(5)
    coordinator = await house.restart(load=False)
    for work in (
        coordinator.join("g", request()),
        coordinator.heartbeat("g", Caller("m", 1)),
        coordinator.offsets.commit("g", NOBODY, {AT: OffsetToCommit(1)}),
        coordinator.offsets.fetch("g"),
        coordinator.describe("g"),
        coordinator.delete_group("g"),
        coordinator.offsets.forget_topics(lambda _: True),
    ):
        with pytest.raises(CoordinatorLoading):
            await work
    with pytest.raises(CoordinatorLoading):
        coordinator.list_groups()
    await coordinator.load()
    assert await house.fetched() == 5


@in_loop
async def test_members_stay_members_across_a_restart() -> None:
    """K3: with their generation and assignment, and a whole session to be heard of."""
    house = CoordinatorWorld()
    await house.open()
    caller = await house.alone()
    await house.wait(SESSION_MS / 1000 - 1)
    coordinator = await house.restart(power_cut=True)
    await house.wait(SESSION_MS / 1000 - 1)
    await coordinator.heartbeat("g", caller)
    assert (await coordinator.sync("g", SyncRequest(caller=caller))).assignment == b"all"
    await house.wait(SESSION_MS / 1000)
    with pytest.raises(UnknownMember):
        await coordinator.heartbeat("g", caller)


@in_loop
async def test_no_answer_overtakes_what_the_group_has_written() -> None:
    """K3: join, sync, leave and a refusal after an expiry all wait for the disk."""
    house = CoordinatorWorld()
    coordinator = await house.open()

    async def waits(task: asyncio.Task[object]) -> object:
        await asyncio.sleep(0)
        assert not task.done(), "An answer came before its change was durable."
        return await task

    joined = await waits(started(coordinator.join("g", request())))
    caller = Caller(joined.member_id, joined.generation)
    await waits(started(coordinator.sync("g", SyncRequest(caller=caller))))
    house.world.clock.advance(SESSION_MS / 1000)
    house.coordinator.timers.run_due()
    refused = started(coordinator.offsets.commit("g", caller, {AT: OffsetToCommit(5)}))
    with pytest.raises(UnknownMember):
        await waits(refused)
    again = await house.alone()
    assert await waits(started(coordinator.leave("g", [Leaving(again.member_id)]))) == [None]


@in_loop
async def test_a_leave_that_was_answered_is_for_ever() -> None:
    """K3: also if the others have not joined again when the power goes."""
    house = CoordinatorWorld()
    coordinator = await house.open()
    first = await house.alone()
    second = started(coordinator.join("g", request()))
    await turns()
    again = await coordinator.join("g", request(first.member_id))
    gone = Caller((await second).member_id, again.generation)
    await coordinator.leave("g", [Leaving(gone.member_id)])
    coordinator = await house.restart(power_cut=True)
    with pytest.raises(UnknownMember):
        await coordinator.heartbeat("g", gone)
    with pytest.raises(RebalanceInProgress):
        await coordinator.heartbeat("g", Caller(first.member_id, again.generation))


@in_loop
async def test_a_generation_that_was_told_is_never_told_to_others() -> None:
    """K3: though the power went before its assignment came."""
    house = CoordinatorWorld()
    coordinator = await house.open()
    joined = await coordinator.join("g", request())
    coordinator = await house.restart(power_cut=True)
    with pytest.raises(RebalanceInProgress):
        await coordinator.sync("g", SyncRequest(caller=Caller(joined.member_id, joined.generation)))
    again = await coordinator.join("g", request(joined.member_id))
    assert again.generation == joined.generation + 1


@in_loop
async def test_a_burst_of_leaves_costs_few_records() -> None:
    """K3: while one record is on its way, the next one waits and covers all that has changed."""
    house = CoordinatorWorld(partitions=1, initial_rebalance_delay_ms=10)
    coordinator = await house.open()
    tasks = [started(coordinator.join("g", request())) for _ in range(50)]
    await turns()
    await house.wait(0.01)
    await house.wait(0.01)
    members = [(await task).member_id for task in tasks]
    before = house.partitions[0].marks.log_end
    await asyncio.gather(*(coordinator.leave("g", [Leaving(each)]) for each in members))
    assert house.partitions[0].marks.log_end - before <= 3
    await house.restart()
    assert (await house.coordinator.describe("g")).state is GroupState.EMPTY


@in_loop
async def test_requests_of_a_connection_that_breaks() -> None:
    """K3: a cancelled join, sync or heartbeat disturbs nobody; the member is there until its session ends."""
    house = CoordinatorWorld()
    coordinator = await house.open()
    first = await house.alone()
    second = started(coordinator.join("g", request()))
    await turns()
    second.cancel()
    again = await coordinator.join("g", request(first.member_id))
    assert len(again.members) == 2
    lost = started(coordinator.sync("g", SyncRequest(caller=Caller(first.member_id, again.generation))))
    await asyncio.sleep(0)
    lost.cancel()
    await turns()
    assert (await coordinator.describe("g")).state is GroupState.STABLE


@in_loop
async def test_deleting_a_group() -> None:
    """K3: only an empty one; its offsets and its record are gone for ever, on return and not before."""
    house = CoordinatorWorld()
    coordinator = await house.open()
    with pytest.raises(GroupNotFound):
        await coordinator.delete_group("g")
    caller = await house.alone()
    await house.commit(5, caller)
    with pytest.raises(GroupNotEmpty):
        await coordinator.delete_group("g")
    await coordinator.leave("g", [Leaving(caller.member_id)])
    deleting = started(coordinator.delete_group("g"))
    await asyncio.sleep(0)
    looking = started(house.fetched())
    await asyncio.sleep(0)
    assert not looking.done(), "It is not decided yet whether the offset is gone."
    await deleting
    assert await looking is None
    with pytest.raises(GroupNotFound):
        await coordinator.describe("g")
    await house.restart(power_cut=True)
    assert house.coordinator.list_groups() == []


@in_loop
async def test_a_group_made_again_while_it_is_deleted() -> None:
    """K3: waits for the end of the old one, and is another one."""
    house = CoordinatorWorld()
    coordinator = await house.open()
    await house.commit(5)
    deleting = started(coordinator.delete_group("g"))
    await asyncio.sleep(0)
    deleting.cancel()
    caller = await house.alone()
    assert caller.generation == 1
    assert await house.fetched() is None
    await house.restart()
    await house.coordinator.heartbeat("g", caller)


@in_loop
async def test_a_delete_covers_what_is_on_its_way() -> None:
    """K3: a commit before the delete does not outlive it."""
    house = CoordinatorWorld()
    coordinator = await house.open()
    await house.commit(4)
    other = TopicPartition("t", 1)
    commit = started(house.commit(5, at=other))
    await asyncio.sleep(0)
    await coordinator.delete_group("g")
    await commit
    await house.restart()
    assert await house.fetched(other) is None
    assert house.coordinator.list_groups() == []


@in_loop
async def test_a_record_on_its_way_does_not_outlive_the_delete() -> None:
    """K3: nor does one that was to follow it; whoever has left is told so all the same."""
    house = CoordinatorWorld(initial_rebalance_delay_ms=10)
    coordinator = await house.open()
    tasks = [started(coordinator.join("g", request())) for _ in range(2)]
    await turns()
    await house.wait(0.01)
    await house.wait(0.01)
    leaves = [started(coordinator.leave("g", [Leaving((await task).member_id)])) for task in tasks]
    await asyncio.sleep(0)
    await coordinator.delete_group("g")
    assert await asyncio.gather(*leaves) == [[None], [None]]
    await turns()
    await house.restart()
    assert house.coordinator.list_groups() == []


@in_loop
async def test_an_instance_that_came_back_is_known_by_its_new_id() -> None:
    """K3: after a power cut, too; the old one stays fenced."""
    house = CoordinatorWorld()
    coordinator = await house.open()
    old = await house.alone(instance="i")
    back = await coordinator.join("g", request(instance="i"))
    coordinator = await house.restart(power_cut=True)
    with pytest.raises(InstanceFenced):
        await coordinator.heartbeat("g", old)
    await coordinator.heartbeat("g", Caller(back.member_id, back.generation, "i"))


@in_loop
async def test_groups_that_nobody_uses_leave_nothing_behind() -> None:
    """K3: neither a refused join nor an id that nobody came back for; and time is not spent on them."""
    house = CoordinatorWorld()
    coordinator = await house.open()
    with pytest.raises(MemberIdRequired) as required:
        await coordinator.join("g", request(needs_known_id=True))
    assert [each.group_id for each in coordinator.list_groups()] == ["g"]
    await house.wait(SESSION_MS / 1000)
    assert coordinator.list_groups() == []
    with pytest.raises(UnknownMember):
        await coordinator.join("g", request(required.value.member_id))
    with pytest.raises(Exception, match="session timeout"):
        await coordinator.join("h", request(session_timeout_ms=1))
    assert coordinator.list_groups() == []
    assert house.partitions[0].marks.log_end == house.partitions[1].marks.log_end == 0


@in_loop
async def test_there_are_only_so_many_groups() -> None:
    """K3: those that are there are served on."""
    house = CoordinatorWorld(groups_max=2)
    coordinator = await house.open()
    caller = await house.alone("a")
    await house.commit(5, group_id="b")
    with pytest.raises(TooManyGroups):
        await coordinator.join("c", request())
    with pytest.raises(TooManyGroups):
        await house.commit(5, group_id="c")
    await coordinator.heartbeat("a", caller)
    await house.commit(6, group_id="b")


@in_loop
async def test_groups_that_are_not_there() -> None:
    """K3: have no members; a group needs a name to be joined, and one that fits into a record."""
    house = CoordinatorWorld()
    coordinator = await house.open()
    with pytest.raises(UnknownMember):
        await coordinator.heartbeat("g", Caller("m", 1))
    with pytest.raises(UnknownMember):
        await coordinator.sync("g", SyncRequest(caller=Caller("m", 1)))
    with pytest.raises(UnknownMember):
        await coordinator.join("g", request("m"))
    [result] = await coordinator.leave("g", [Leaving("m")])
    assert isinstance(result, UnknownMember)
    with pytest.raises(InvalidGroupId):
        await coordinator.join("", request())
    with pytest.raises(TextTooLong):
        await coordinator.offsets.fetch("g" * 40_000)


@in_loop
async def test_the_list_of_groups() -> None:
    """K3: by state and type."""
    house = CoordinatorWorld()
    coordinator = await house.open()
    await house.alone("a")
    await house.commit(5, group_id="b")
    assert {(each.group_id, each.state, each.protocol_type) for each in coordinator.list_groups()} == {
        ("a", GroupState.STABLE, "consumer"),
        ("b", GroupState.EMPTY, ""),
    }
    [only] = coordinator.list_groups([GroupState.EMPTY, GroupState.DEAD], [GroupType.CLASSIC])
    assert (only.group_id, only.type.value) == ("b", "classic")


@in_loop
async def test_closing_answers_everybody() -> None:
    """K3: who waits is sent elsewhere; what was accepted is durable; nothing more is taken."""
    house = CoordinatorWorld()
    coordinator = await house.open()
    first = await house.alone()
    parked = started(coordinator.join("g", request()))
    await turns()
    commit = started(house.commit(5, first))
    await asyncio.sleep(0)
    await coordinator.close()
    with pytest.raises(CoordinatorStopped):
        await parked
    assert commit.done()
    await commit
    with pytest.raises(CoordinatorStopped):
        await coordinator.heartbeat("g", first)
    await house.restart(power_cut=True)
    await house.coordinator.heartbeat("g", first)
    assert await house.fetched() == 5


@in_loop
async def test_a_log_that_stops_answers_everybody() -> None:
    """K3: parked and held requests end with the reason; nothing hangs."""
    house = CoordinatorWorld()
    coordinator = await house.open()
    first = await house.alone()
    parked = started(coordinator.join("g", request()))
    await turns()
    house.world.disk.fail_next("sync")
    leaving = started(coordinator.leave("g", [Leaving(first.member_id)]))
    for task in (leaving, parked):
        with pytest.raises(Stopped):
            await asyncio.wait_for(task, 5)
    with pytest.raises((Stopped, CoordinatorStopped)):
        await coordinator.heartbeat("g", first)


@in_loop
async def test_a_zombie_of_an_older_generation_commits_nothing() -> None:
    """K3: across a restart, too."""
    house = CoordinatorWorld()
    coordinator = await house.open()
    zombie = await house.alone()
    await house.commit(5, zombie)
    other = started(coordinator.join("g", request()))
    await turns()
    await house.wait(SESSION_MS / 1000)
    current = await other
    await house.restart()
    for caller, error in ((zombie, UnknownMember), (Caller(current.member_id, 1), WrongGeneration)):
        with pytest.raises(error):
            await house.commit(1, caller)
    assert await house.fetched() == 5


@in_loop
async def test_time_passes_by_itself() -> None:
    """K3: with the loop's own alarm, a parked join is answered when the member it waits for is not heard of."""
    house = CoordinatorWorld(session_timeout_ms_min=1)
    await house.open(load=False)
    clock, chance = SystemClock(), SeededChance(1)
    coordinator = GroupCoordinator(house.partitions, house.settings, clock=clock, chance=chance)
    await coordinator.load()
    first = await coordinator.join("g", request(session_timeout_ms=20))
    second = await asyncio.wait_for(coordinator.join("g", request()), 5)
    assert second.generation > first.generation
    assert second.leader_id == second.member_id
    await coordinator.close()
