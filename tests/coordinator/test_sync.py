"""Assignments: what the leader sends is what members get."""

from __future__ import annotations

from tests.coordinator.group_driver import REBALANCE_MS, SESSION_MS, GroupDriver, protocols, subscription

from holdfast.coordinator.group.answers import GroupState, Joined
from holdfast.coordinator.group.errors import (
    AssignmentTooLarge,
    ProtocolMismatch,
    RebalanceInProgress,
    UnknownMember,
    WrongGeneration,
)
from holdfast.coordinator.group.requests import Caller, Leaving, Protocol


def two_joined(party: GroupDriver) -> tuple[Caller, Caller]:
    """A leader and a member that wait for nothing but the assignment."""
    first = party.joined(party.join())
    second = party.join()
    leader: Joined = party.joined(party.join(first.member_id))
    return Caller(leader.member_id, leader.generation), Caller(party.joined(second).member_id, leader.generation)


def test_a_sync_is_parked_until_the_leaders_comes() -> None:
    """K3: then all get theirs, byte by byte, with the protocol's type and name."""
    party = GroupDriver()
    leader, member = two_joined(party)
    waiting = party.sync(member)
    assert waiting in party.parked
    own = party.sync(leader, {leader.member_id: b"\x00one", member.member_id: b"\xfftwo", "nobody": b"three"})
    assert (party.assigned(own), party.assigned(waiting)) == (b"\x00one", b"\xfftwo")
    assert (party.answers[own].protocol_type, party.answers[own].protocol_name) == ("consumer", "range")
    assert party.group.state is GroupState.STABLE


def test_who_syncs_later_gets_its_assignment_at_once() -> None:
    """K3: and again whenever it asks."""
    party = GroupDriver()
    leader, member = two_joined(party)
    party.sync(leader, {member.member_id: b"two"})
    assert party.assigned(party.sync(member)) == b"two"
    assert party.assigned(party.sync(member)) == b"two"
    assert party.assigned(party.sync(leader, {member.member_id: b"other"})) == b""
    assert party.assigned(party.sync(member)) == b"two"


def test_only_the_leaders_assignments_count() -> None:
    """K3: a member cannot assign."""
    party = GroupDriver()
    leader, member = two_joined(party)
    waiting = party.sync(member, {member.member_id: b"all"})
    assert waiting in party.parked
    party.sync(leader, {leader.member_id: b"all"})
    assert party.assigned(waiting) == b""


def test_what_a_sync_is_checked_for() -> None:
    """K3: member, generation, protocol type and name; a refused one changes nothing."""
    party = GroupDriver()
    leader, member = two_joined(party)
    assert isinstance(party.answers[party.sync(Caller("nobody", 2))], UnknownMember)
    assert isinstance(party.answers[party.sync(member._replace(generation=1))], WrongGeneration)
    assert isinstance(party.answers[party.sync(member, protocol_type="connect")], ProtocolMismatch)
    assert isinstance(party.answers[party.sync(member, protocol_name="sticky")], ProtocolMismatch)
    large = {leader.member_id: bytes(60_000)}
    assert isinstance(party.answers[party.sync(leader, large)], AssignmentTooLarge)
    fine = party.sync(leader, {leader.member_id: b"x"}, protocol_type="consumer", protocol_name="range")
    assert party.assigned(fine) == b"x"


def test_a_sync_during_a_rebalance() -> None:
    """K3: join again; also for those whose sync is parked when it begins."""
    party = GroupDriver()
    leader, member = two_joined(party)
    waiting = party.sync(member)
    party.leave(Leaving(leader.member_id))
    assert isinstance(party.answers[waiting], RebalanceInProgress)
    assert isinstance(party.answers[party.sync(member)], RebalanceInProgress)


def test_a_sync_sent_again_takes_the_place_of_the_first() -> None:
    """K3: both are answered."""
    party = GroupDriver()
    leader, member = two_joined(party)
    lost, again = party.sync(member), party.sync(member)
    assert isinstance(party.answers[lost], RebalanceInProgress)
    party.sync(leader, {member.member_id: b"two"})
    assert party.assigned(again) == b"two"


def test_a_parked_sync_of_a_member_that_is_removed() -> None:
    """K3: is answered, too."""
    party = GroupDriver()
    _, member = two_joined(party)
    waiting = party.sync(member)
    party.leave(Leaving(member.member_id))
    assert isinstance(party.answers[waiting], UnknownMember)


def test_who_never_asks_for_its_assignment_is_out() -> None:
    """K3: after the rebalance timeout, though its heartbeats came; before and after the leader's assignment."""
    for leader_syncs in (False, True):
        party = GroupDriver()
        leader, member = two_joined(party)
        party.sync(leader if leader_syncs else member, {})
        for _ in range(REBALANCE_MS // 5_000):
            party.wait(5_000)
            party.beat(leader)
            party.beat(member)
        lazy, eager = (member, leader) if leader_syncs else (leader, member)
        assert isinstance(party.beat(lazy), UnknownMember)
        assert isinstance(party.beat(eager), RebalanceInProgress)


def test_who_waits_for_an_assignment_needs_no_heartbeats() -> None:
    """K3: and has a whole session after the answer, whatever the answer is."""
    party = GroupDriver()
    leader, member = two_joined(party)
    party.sync(member)
    for _ in range(3):
        party.wait(SESSION_MS // 2)
        assert party.beat(leader) is None
    party.sync(leader, {})
    party.wait(SESSION_MS - 1)
    assert party.beat(member) is None


def test_who_waits_for_an_assignment_that_never_comes_has_a_session_left() -> None:
    """K3: a rebalance answers its sync; only then the time runs again."""
    party = GroupDriver()
    leader, member = two_joined(party)
    party.sync(member)
    for _ in range(3):
        party.wait(SESSION_MS // 2)
        party.beat(leader)
    party.leave(Leaving(leader.member_id))
    party.wait(SESSION_MS - 1)
    assert isinstance(party.beat(member), RebalanceInProgress)


def test_a_cooperative_rebalance() -> None:
    """K3: in two generations: first the owner lets go, then the other one gets it; nobody stops reading meanwhile."""

    def owned(count: int) -> tuple[Protocol, ...]:
        return protocols("cooperative-sticky", metadata=subscription("t", version=1, rest=bytes([count])))

    party = GroupDriver()
    first = party.joined(party.join(protocols=owned(0)))
    party.sync(Caller(first.member_id, 1), {first.member_id: b"0,1"})
    second = party.join(protocols=owned(0))
    again = party.joined(party.join(first.member_id, protocols=owned(2)))
    other = party.joined(second).member_id
    waiting = party.sync(Caller(other, 2))
    kept = party.sync(Caller(first.member_id, 2), {first.member_id: b"0", other: b""})
    assert (party.assigned(kept), party.assigned(waiting)) == (b"0", b"")
    assert [each.metadata[-1] for each in again.members] == [2, 0]
    freed = party.join(first.member_id, protocols=owned(1))
    assert party.commit(Caller(first.member_id, 2)) is None
    last = party.join(other, protocols=owned(0))
    assert party.joined(freed).generation == party.joined(last).generation == 3
    party.sync(Caller(first.member_id, 3), {first.member_id: b"0", other: b"1"})
    assert party.assigned(party.sync(Caller(other, 3))) == b"1"
