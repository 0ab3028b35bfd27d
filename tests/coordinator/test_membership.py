"""Staying in a group, leaving it, being missed by it; who may commit; what operators see."""

from __future__ import annotations

import pytest
from tests.coordinator.group_driver import SESSION_MS, GroupDriver, protocols

from holdfast.coordinator.group.answers import GroupState
from holdfast.coordinator.group.errors import GroupNotEmpty, RebalanceInProgress, UnknownMember, WrongGeneration
from holdfast.coordinator.group.requests import Caller, Leaving
from holdfast.coordinator.runtime.errors import CoordinatorStopped


def test_what_a_heartbeat_is_checked_for() -> None:
    """K3: member first, then generation, then whether the group rebalances."""
    party = GroupDriver()
    first, second = party.stable(2)
    assert party.beat(first) is None
    assert isinstance(party.beat(Caller("nobody", first.generation)), UnknownMember)
    refusal = party.beat(first._replace(generation=first.generation - 1))
    assert isinstance(refusal, WrongGeneration)
    assert (refusal.found, refusal.current) == (first.generation - 1, first.generation)
    party.leave(Leaving(second.member_id))
    assert isinstance(party.beat(first), RebalanceInProgress)


def test_heartbeats_while_the_assignment_is_awaited() -> None:
    """K3: a member that has joined may send them before it syncs."""
    party = GroupDriver()
    joined = party.joined(party.join())
    assert party.beat(Caller(joined.member_id, 1)) is None


def test_who_is_not_heard_of_is_out() -> None:
    """K3: after its session timeout, to the millisecond; heartbeats, commits and joins are signs of life."""
    party = GroupDriver()
    first, second = party.stable(2)
    party.wait(SESSION_MS - 1)
    assert party.beat(first) is None
    party.wait(1)
    assert isinstance(party.beat(second), UnknownMember)
    assert isinstance(party.beat(first), RebalanceInProgress)
    party.wait(SESSION_MS - 1)
    assert party.commit(first) is None
    party.wait(SESSION_MS - 1)
    assert party.group.state is GroupState.PREPARING
    party.join(first.member_id)
    party.wait(SESSION_MS - 1)
    assert party.group.state is GroupState.COMPLETING
    party.wait(1)
    assert party.group.state is GroupState.EMPTY


def test_the_last_one_leaves() -> None:
    """K3: the group is empty, in a new generation."""
    party = GroupDriver()
    [member] = party.stable()
    assert party.leave(Leaving(member.member_id)) == [None]
    assert (party.group.state, party.group.generation) == (GroupState.EMPTY, 2)
    assert isinstance(party.beat(member), UnknownMember)
    assert party.group.is_unused


def test_many_leave_together() -> None:
    """K3: one result each, in order; one rebalance."""
    party = GroupDriver()
    first, second, third = party.stable(3)
    results = party.leave(
        Leaving(first.member_id), Leaving("nobody"), Leaving(second.member_id), Leaving(first.member_id)
    )
    assert [type(each) for each in results] == [type(None), UnknownMember, type(None), UnknownMember]
    assert party.joined(party.join(third.member_id)).generation == third.generation + 1


def test_one_that_is_about_to_come_may_leave() -> None:
    """K3: then a rebalance does not wait for it any more."""
    party = GroupDriver()
    [first] = party.stable()
    pending = party.answers[party.join(needs_known_id=True)].member_id
    again = party.join(first.member_id)
    assert again in party.parked
    assert party.leave(Leaving(pending)) == [None]
    assert party.joined(again).generation == 2


def test_a_parked_join_of_a_member_that_is_removed() -> None:
    """K3: is answered, too."""
    party = GroupDriver()
    _first, second = party.stable(2)
    waiting = party.join(second.member_id, protocols=protocols("range", metadata=b"new"))
    party.leave(Leaving(second.member_id))
    assert isinstance(party.answers[waiting], UnknownMember)


def test_who_may_commit() -> None:
    """K3: members of the generation, also during a rebalance, but not before they have their assignment."""
    party = GroupDriver()
    joined = party.joined(party.join())
    caller = Caller(joined.member_id, 1)
    assert isinstance(party.commit(caller), RebalanceInProgress)
    party.sync(caller, {})
    assert party.commit(caller) is None
    assert isinstance(party.commit(caller._replace(generation=0)), WrongGeneration)
    assert isinstance(party.commit(Caller("nobody", 1)), UnknownMember)
    assert isinstance(party.commit(Caller()), UnknownMember)
    party.join()
    assert party.commit(caller) is None


def test_who_may_commit_without_being_a_member() -> None:
    """K3: anybody, as long as the group is empty."""
    party = GroupDriver()
    assert party.commit(Caller()) is None
    [member] = party.stable()
    assert isinstance(party.commit(Caller()), UnknownMember)
    assert isinstance(party.commit(Caller("", 1)), UnknownMember)
    party.leave(Leaving(member.member_id))
    assert party.commit(Caller()) is None
    assert isinstance(party.commit(Caller(member.member_id, 1)), UnknownMember)


def test_who_has_not_been_told_a_generation_speaks_of_none() -> None:
    """K3: a member that guesses the generation is told to wait for it."""
    party = GroupDriver()
    [member] = party.stable()
    pending = party.answers[party.join(needs_known_id=True)].member_id
    party.join(pending)
    assert isinstance(party.beat(Caller(pending, member.generation)), RebalanceInProgress)
    assert isinstance(party.commit(Caller(pending, member.generation)), RebalanceInProgress)
    assert isinstance(party.beat(Caller(pending, -1)), WrongGeneration)


def test_what_operators_see() -> None:
    """K3: metadata and assignments only while they hold."""
    party = GroupDriver()
    first, second = party.stable(1, "i")
    seen = party.group.describe()
    assert (seen.state.value, seen.protocol_type, seen.protocol_name) == ("Stable", "consumer", "range")
    assert [each.assignment for each in seen.members] == [first.member_id.encode(), second.member_id.encode()]
    assert [each.instance_id for each in seen.members] == [None, "i"]
    assert seen.members[0].metadata
    party.join()
    seen = party.group.describe()
    assert (seen.state.value, seen.protocol_name, len(seen.members)) == ("PreparingRebalance", "", 3)
    assert {(each.metadata, each.assignment) for each in seen.members} == {(b"", b"")}
    assert party.group.listing().state is GroupState.PREPARING


def test_only_an_empty_group_may_be_deleted() -> None:
    """K3: else the error says so."""
    party = GroupDriver()
    party.group.check_delete()
    party.join()
    with pytest.raises(GroupNotEmpty):
        party.group.check_delete()


def test_the_end_of_a_group_answers_everybody() -> None:
    """K3: and whoever comes later."""
    party = GroupDriver()
    first, _ = party.stable(2)
    joining = party.join(first.member_id)
    ended = CoordinatorStopped()
    party._note(party.group.end(ended))
    assert party.answers[joining] is ended
    assert not party.parked
    assert isinstance(party.beat(first), CoordinatorStopped)
    assert isinstance(party.answers[party.join()], CoordinatorStopped)
    assert isinstance(party.commit(first), CoordinatorStopped)


def test_a_restored_group() -> None:
    """K3: is stable in the same generation, with the same leader and assignments, and whole sessions."""
    party = GroupDriver()
    leader, static = party.stable(1, "i")
    party.wait(SESSION_MS - 1)
    party.restart()
    assert party.group.state is GroupState.STABLE
    party.wait(SESSION_MS - 1)
    assert party.beat(leader) is None
    assert party.assigned(party.sync(static)) == static.member_id.encode()
    party.wait(SESSION_MS - 1)
    assert party.beat(leader) is None
    party.wait(1)
    assert isinstance(party.beat(static), UnknownMember)


def test_a_group_restored_before_its_assignment_came() -> None:
    """K3: rebalances: nobody gets an assignment of another generation, or none."""
    party = GroupDriver()
    joined = party.joined(party.join())
    party.restart()
    caller = Caller(joined.member_id, 1)
    assert party.group.state is GroupState.PREPARING
    assert isinstance(party.beat(caller), RebalanceInProgress)
    assert isinstance(party.answers[party.sync(caller, {joined.member_id: b"old"})], RebalanceInProgress)
    assert party.joined(party.join(joined.member_id)).generation == 2


def test_a_group_restored_after_a_member_was_removed() -> None:
    """K3: does not know that member any more, and rebalances."""
    party = GroupDriver()
    first, second = party.stable(2)
    party.leave(Leaving(second.member_id))
    party.restart()
    assert isinstance(party.beat(second), UnknownMember)
    assert isinstance(party.beat(first), RebalanceInProgress)


def test_who_was_never_told_a_generation_does_not_survive() -> None:
    """K3: nobody may know its id, so that nobody could speak for it, and all would wait for it."""
    party = GroupDriver()
    first, second = party.stable(2)
    party.join()
    party.leave(Leaving(second.member_id))
    party.restart()
    assert [each.member_id for each in party.group.describe().members] == [first.member_id]
    assert party.joined(party.join(first.member_id)).generation == first.generation + 1


def test_a_group_restored_without_members() -> None:
    """K3: goes on counting generations."""
    party = GroupDriver()
    [member] = party.stable()
    party.leave(Leaving(member.member_id))
    party.restart()
    assert (party.group.state, party.group.protocol_type) == (GroupState.EMPTY, "consumer")
    assert party.joined(party.join()).generation == 3
