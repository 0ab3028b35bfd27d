"""Members of consumer groups: how they come, what they are given, when they are fenced."""

from __future__ import annotations

import pytest
from tests.coordinator.beating import REBALANCE_MS, SESSION_S, Group, numbers
from tests.log.log_world import in_loop

from holdfast.coordinator.group.answers import GroupState, GroupType
from holdfast.coordinator.group.consumer.errors import (
    FencedMemberEpoch,
    InvalidHeartbeat,
    InvalidPattern,
    StaleMemberEpoch,
    UnreleasedInstance,
    UnsupportedAssignor,
)
from holdfast.coordinator.group.errors import GroupFull, GroupNotEmpty, InstanceFenced, TopicSubscribed, UnknownMember
from holdfast.coordinator.group.requests import Caller, OffsetToCommit
from holdfast.coordinator.group.topic_view import Sight
from holdfast.types import PartitionId, TopicPartition

AT = TopicPartition("t", 0)


@in_loop
async def test_the_first_member_gets_everything() -> None:
    """K3: at once, and is told no more than it has to know."""
    group = await Group().open()
    told = await group.join("a")
    assert (told.epoch, numbers(told)) == (1, [0, 1, 2, 3])
    told = await group.owning(told, 0, 1, 2, 3)
    assert (told.epoch, told.assignment) == (1, None)
    [line] = group.house.coordinator.list_groups(types=[GroupType.CONSUMER])
    assert (line.state, line.protocol_type) == (GroupState.STABLE, "consumer")
    assert not group.house.coordinator.list_groups(types=[GroupType.CLASSIC])


@in_loop
async def test_a_partition_moves_when_it_is_let_go() -> None:
    """K3: revoke before assign: the new owner waits until the old one has said that it owns it no more."""
    group = await Group().open()
    a = await group.join("a")
    b = await group.join("b")
    assert (b.epoch, numbers(b)) == (2, [])
    a = await group.beat("a", 1)
    assert (a.epoch, numbers(a)) == (1, [0, 1])
    assert (await group.describe()).state is GroupState.RECONCILING
    assert (await group.owning(a, 0, 1, 2, 3)).epoch == 1
    assert numbers(await group.beat("b", 2)) is None
    a = await group.owning(a, 0, 1)
    assert (a.epoch, a.assignment) == (2, None)
    assert numbers(await group.beat("b", 2)) == [2, 3]
    assert (await group.describe()).state is GroupState.STABLE


@in_loop
async def test_a_member_that_leaves_frees_what_it_had() -> None:
    """K3: at once, and for ever."""
    group = await Group().open()
    await group.join("a")
    await group.join("b")
    assert (await group.beat("a", -1)).epoch == -1
    await group.house.restart(power_cut=True)
    assert [each.member.id for each in (await group.describe()).members] == ["b"]
    told = await group.beat("b", 2)
    assert (told.epoch, numbers(told)) == (3, [0, 1, 2, 3])
    with pytest.raises(UnknownMember):
        await group.beat("a", 1)


@in_loop
async def test_a_member_that_is_silent_is_given_up() -> None:
    """K3: after its session; everybody's session begins anew with a restart."""
    group = await Group().open()
    a = await group.join("a")
    await group.join("b")
    await group.house.wait(SESSION_S - 1)
    await group.owning(a, 0, 1)
    await group.house.restart()
    await group.house.wait(SESSION_S - 1)
    assert {each.member.id for each in (await group.describe()).members} == {"a", "b"}
    await group.beat("a", 2)
    await group.house.wait(1)
    assert {each.member.id for each in (await group.describe()).members} == {"a"}
    assert numbers(await group.beat("a", 2)) == [0, 1, 2, 3]


@in_loop
async def test_a_member_that_does_not_let_go_is_given_up() -> None:
    """K3: after its rebalance timeout, however lively it is; also when the broker restarts meanwhile."""
    group = await Group().open()
    await group.join("a")
    b = await group.join("b")
    await group.beat("a", 1)
    await group.house.restart()
    for _ in range(REBALANCE_MS // 20_000):
        assert (await group.beat("a", 1)).epoch == 1
        b = await group.owning(b)
        await group.house.wait(20)
    with pytest.raises(UnknownMember):
        await group.beat("a", 1)
    assert numbers(await group.owning(b)) == [0, 1, 2, 3]


@in_loop
async def test_a_lost_answer_is_told_again() -> None:
    """K3: to who speaks of the epoch before, and owns nothing that it could not know of."""
    group = await Group().open()
    first = await group.join("a")
    assert await group.join("a") == first
    await group.join("b")
    await group.owning(first, 0, 1)
    told = await group.beat("a", 1, owned=group.of(0, 1))
    assert (told.epoch, numbers(told)) == (2, [0, 1])
    with pytest.raises(FencedMemberEpoch):
        await group.beat("a", 1, owned=group.of(0, 3))
    with pytest.raises(FencedMemberEpoch):
        await group.beat("a", 1)
    with pytest.raises(FencedMemberEpoch):
        await group.beat("a", 3, owned=group.of(0, 1))


@in_loop
async def test_an_old_request_cannot_let_go_for_its_sender() -> None:
    """K3: who has used its epoch does not come back to the one before."""
    group = await Group().open()
    a = await group.join("a")
    await group.join("b")
    a = await group.owning(a, 0, 1)
    await group.owning(a, 0, 1)
    with pytest.raises(FencedMemberEpoch):
        await group.beat("a", 1, owned=group.of(0))


@in_loop
async def test_who_is_no_member() -> None:
    """K3: is told so, whatever it asks."""
    group = await Group().open()
    for epoch in (-1, 1):
        with pytest.raises(UnknownMember):
            await group.beat("a", epoch)
    await group.join("a")
    for epoch in (-1, 1):
        with pytest.raises(UnknownMember):
            await group.beat("b", epoch)


@in_loop
async def test_requests_that_make_no_sense() -> None:
    """K3: are refused before a group is made for them."""
    group = await Group().open()
    full = {"rebalance_timeout_ms": 1, "topics": frozenset({"t"}), "owned": frozenset()}
    wrong = [
        {**full, "member_id": ""},
        {**full, "rebalance_timeout_ms": -1},
        {**full, "owned": None},
        {**full, "owned": group.of(1)},
        {**full, "topics": None},
        {**full, "instance_id": ""},
        {**full, "rack_id": ""},
    ]
    for values in wrong:
        with pytest.raises(InvalidHeartbeat):
            await group.join(**{"member_id": "a", **values})
    for epoch in (-2, -3):
        with pytest.raises(InvalidHeartbeat):
            await group.beat("a", epoch)
    with pytest.raises(UnsupportedAssignor):
        await group.join("a", assignor="best")
    with pytest.raises(InvalidPattern):
        await group.join("a", regex="(t")
    assert not group.house.coordinator.list_groups()


@in_loop
async def test_a_full_group() -> None:
    """K3: takes nobody more, and keeps those it has."""
    group = await Group(consumer_members_max=1).open()
    told = await group.join("a")
    with pytest.raises(GroupFull):
        await group.join("b")
    assert (await group.owning(told, 0, 1, 2, 3)).epoch == 1


# Instances


@in_loop
async def test_an_instance_that_is_away_keeps_its_partitions() -> None:
    """K3: it comes back under another id and has them again; nobody else is disturbed."""
    group = await Group().open()
    a = await group.join("a", instance_id="i")
    b = await group.join("b")
    a = await group.owning(a, 0, 1, instance_id="i")
    b = await group.owning(b)
    before = (await group.describe()).epoch
    assert (await group.beat("a", -2, instance_id="i")).epoch == -2
    await group.house.restart()
    assert numbers(await group.owning(b, *(numbers(b) or []))) is None
    back = await group.join("c", instance_id="i")
    assert (back.epoch, numbers(back)) == (2, numbers(await group.join("c", instance_id="i")))
    assert numbers(back) == [0, 1]
    assert (await group.describe()).epoch == before
    with pytest.raises(InstanceFenced):
        await group.beat("a", 2, instance_id="i")


@in_loop
async def test_an_instance_that_is_there_is_not_taken_over() -> None:
    """K3: until it has left, or was silent for too long."""
    group = await Group().open()
    await group.join("a", instance_id="i")
    with pytest.raises(UnreleasedInstance):
        await group.join("b", instance_id="i")
    with pytest.raises(UnknownMember):
        await group.beat("b", 1, instance_id="k")
    with pytest.raises(InstanceFenced):
        await group.beat("b", -1, instance_id="i")
    await group.house.wait(SESSION_S)
    assert numbers(await group.join("b", instance_id="i")) == [0, 1, 2, 3]


@in_loop
async def test_an_id_that_somebody_has_is_not_taken_by_an_instance() -> None:
    """K3: neither by a new one nor by one that comes back; whose id it is keeps what it holds."""
    group = await Group().open()
    a = await group.join("a")
    a = await group.owning(a, 0, 1, 2, 3)
    with pytest.raises(FencedMemberEpoch):
        await group.join("a", instance_id="i")
    await group.join("b", instance_id="i")
    await group.beat("b", -2, instance_id="i")
    with pytest.raises(FencedMemberEpoch):
        await group.join("a", instance_id="i")
    assert (await group.owning(a, 0, 1, 2, 3)).epoch == a.epoch
    held = {each.member.id: len(each.member.held) for each in (await group.describe()).members}
    assert held == {"a": 4, "b": 0}


@in_loop
async def test_an_instance_that_stays_away_is_given_up() -> None:
    """K3: what was kept for it goes to the others."""
    group = await Group().open()
    a = await group.join("a", instance_id="i")
    b = await group.join("b")
    await group.owning(a, 0, 1, instance_id="i")
    await group.beat("a", -2, instance_id="i")
    await group.house.wait(SESSION_S - 1)
    b = await group.owning(b)
    await group.house.wait(1)
    assert numbers(await group.owning(b, *(numbers(b) or []))) == [0, 1, 2, 3]


# Topics


@in_loop
async def test_topics_that_come_grow_and_go() -> None:
    """K3: the next heartbeat brings the change."""
    group = await Group().open()
    told = await group.join("a", "t", "u")
    group.topics.grow("t", 5)
    told = await group.owning(told, 0, 1, 2, 3)
    assert (told.epoch, numbers(told)) == (2, [0, 1, 2, 3, 4])
    group.topics.make("u", 1)
    told = await group.owning(told, 0, 1, 2, 3, 4)
    assert told.epoch == 3
    assert told.assignment == group.of(0, 1, 2, 3, 4) | group.of(0, topic="u")
    gone = group.of(0, 1, 2, 3, 4)
    group.topics.make("t", 1)  # Made anew: it has another id.
    told = await group.beat("a", 3, owned=gone | group.of(0, topic="u"))
    assert told.assignment == group.of(0, topic="u")
    told = await group.owning(told, 0, topic="u")
    assert told.assignment == group.of(0) | group.of(0, topic="u")


@in_loop
async def test_a_change_while_the_broker_was_away() -> None:
    """K3: is seen by the first heartbeat, and no change is seen where there is none."""
    group = await Group().open()
    told = await group.join("a")
    await group.house.restart()
    assert (await group.owning(told, 0, 1, 2, 3)).epoch == 1
    group.topics.grow("t", 5)
    await group.house.restart()
    assert numbers(await group.owning(told, 0, 1, 2, 3)) == [0, 1, 2, 3, 4]


@in_loop
async def test_topics_by_pattern() -> None:
    """K3: a pattern matches whole names, and topics that come later; an empty one is none."""
    group = await Group(counts={"orders": 1, "more-orders": 1}).open()
    told = await group.join("a", regex="orders.*", topics=frozenset())
    assert told.assignment == group.of(0, topic="orders")
    group.topics.make("orders-2", 1)
    told = await group.owning(told, 0, topic="orders")
    assert told.assignment == group.of(0, topic="orders") | group.of(0, topic="orders-2")
    await group.house.restart()
    assert (await group.beat("a", told.epoch)).epoch == told.epoch
    with pytest.raises(InvalidPattern):
        await group.beat("a", told.epoch, regex="a(?=b)")
    told = await group.beat("a", told.epoch, regex="", topics=frozenset({"more-orders"}))
    assert numbers(told) == []
    told = await group.beat("a", told.epoch, owned=frozenset())
    assert told.assignment == group.of(0, topic="more-orders")


@in_loop
async def test_a_pattern_matches_what_its_member_may_know_of() -> None:
    """X8: each member by its own rights, as the rules are; also topics that come later, and after a restart."""
    group = await Group(counts={"t-open": 1, "t-hidden": 1}).open()
    hidden = {"b": {"t-hidden", "t-later"}, "a": set[str]()}

    def sight(who: str) -> Sight:
        return Sight(who, lambda name: name not in hidden[who])

    async def holds(*members: str) -> dict[str, set[str]]:
        """What members end up with, after some rounds of heartbeats."""
        held: dict[str, frozenset[PartitionId]] = {}
        for _ in range(5):
            for member in members:
                known = next(each.member for each in (await group.describe()).members if each.member.id == member)
                told = await group.beat(
                    member, known.epoch, owned=held.get(member, known.assigned), sight=sight(member)
                )
                held[member] = held.get(member, known.assigned) if told.assignment is None else told.assignment
        found = {each.topic_id: each.name for each in map(group.topics.find, group.topics.names()) if each}
        return {member: {found[each.topic_id] for each in held[member]} for member in members}

    for member in ("a", "b"):
        await group.join(member, regex="t-.*", topics=frozenset(), sight=sight(member))
    both = await holds("a", "b")
    assert both["b"] <= {"t-open"}
    assert both["a"] | both["b"] == {"t-open", "t-hidden"}
    group.topics.make("t-later", 1)
    both = await holds("a", "b")
    assert "t-later" in both["a"]
    await group.house.restart()
    assert (await holds("b", "a"))["b"] <= {"t-open"}
    hidden["a"].add("t-hidden")
    group.topics.version += 1  # Rules have changed.
    both = await holds("a", "b")
    assert both["a"] | both["b"] == {"t-open", "t-later"}
    hidden["b"].clear()
    group.topics.version += 1
    both = await holds("a", "b")
    assert both["a"] | both["b"] == {"t-open", "t-later", "t-hidden"}
    assert "t-hidden" in both["b"]


@in_loop
async def test_members_choose_the_assignor() -> None:
    """K3: the one that most of them ask for."""
    group = await Group(counts={"t": 3, "u": 3}).open()
    await group.join("a", "t", "u", assignor="range")
    await group.join("b", "t", "u")
    found = await group.describe()
    assert found.assignor == "range"
    counts = [[each.topic_id.int for each in member.target] for member in found.members]
    assert sorted(counts[0]) == [1, 1, 2, 2]


# Offsets


@in_loop
async def test_members_commit_at_their_epoch() -> None:
    """K3: offsets of others are refused, and so is every epoch but the member's own."""
    group = await Group().open()
    coordinator = group.house.coordinator
    await group.house.commit(1)
    told = await group.join("a")
    await group.house.commit(2, Caller("a", told.epoch))
    for caller, refusal in [
        (Caller("a", told.epoch - 1), StaleMemberEpoch),
        (Caller("a", told.epoch + 1), StaleMemberEpoch),
        (Caller("b", told.epoch), UnknownMember),
        (Caller(), UnknownMember),
    ]:
        with pytest.raises(refusal):
            await coordinator.offsets.commit("g", caller, {AT: OffsetToCommit(9)})
    for caller, refusal in [(Caller("a", 9), StaleMemberEpoch), (Caller("b", 1), UnknownMember)]:
        with pytest.raises(refusal):
            await coordinator.offsets.fetch("g", [AT], caller=caller)
    assert await group.house.fetched() == 2
    assert (await coordinator.offsets.fetch("g", [AT], caller=Caller("a", told.epoch))).keys() == {AT}


@in_loop
async def test_offsets_and_groups_that_are_in_use_are_not_deleted() -> None:
    """K3: others are, for ever."""
    group = await Group(counts={"t": 1, "u": 1}).open()
    coordinator = group.house.coordinator
    other = TopicPartition("u", 0)
    await group.house.commit(1)
    await group.house.commit(1, at=other)
    await group.join("a")
    results = await coordinator.offsets.delete("g", [AT, other])
    assert isinstance(results[AT], TopicSubscribed)
    assert results[other] is None
    with pytest.raises(GroupNotEmpty):
        await coordinator.delete_group("g")
    await group.beat("a", -1)
    assert (await group.describe()).state is GroupState.EMPTY
    await coordinator.delete_group("g")
    coordinator = await group.house.restart()
    assert not coordinator.list_groups()
    assert await group.house.fetched() is None
