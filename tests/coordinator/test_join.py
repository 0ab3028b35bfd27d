"""Joining a classic group."""

from __future__ import annotations

import pytest
from tests.coordinator.group_driver import REBALANCE_MS, SESSION_MS, GroupDriver, protocols, subscription

from holdfast.coordinator.group.answers import GroupState
from holdfast.coordinator.group.errors import (
    GroupFull,
    MemberIdRequired,
    ProtocolMismatch,
    RebalanceInProgress,
    SessionTimeoutOutOfRange,
    UnknownMember,
)
from holdfast.coordinator.group.requests import Caller, Leaving, Protocol
from holdfast.coordinator.runtime.errors import TextTooLong


def test_a_new_member_first_gets_an_id() -> None:
    """K3: and is a member only once it joins with it."""
    party = GroupDriver()
    refusal = party.answers[party.join(needs_known_id=True)]
    assert isinstance(refusal, MemberIdRequired)
    assert refusal.member_id.startswith("c-")
    assert party.group.state is GroupState.EMPTY
    joined = party.joined(party.join(refusal.member_id, needs_known_id=True))
    assert (joined.generation, joined.member_id, joined.leader_id) == (1, refusal.member_id, refusal.member_id)


def test_an_id_that_nobody_comes_back_with_is_forgotten() -> None:
    """K3: after a session; until then a rebalance waits for it."""
    party = GroupDriver()
    [first] = party.stable()
    late = party.answers[party.join(needs_known_id=True)].member_id
    again = party.join(first.member_id)
    assert again in party.parked
    party.wait(SESSION_MS)
    assert party.joined(again).generation == 2
    assert isinstance(party.answers[party.join(late)], UnknownMember)


def test_only_the_leader_is_told_all_members() -> None:
    """K3: with what each of them said for the chosen protocol."""
    party = GroupDriver(initial_rebalance_delay_ms=100)
    leader = party.join(protocols=protocols("range", metadata=b"one"))
    other = party.join(protocols=protocols("range", metadata=b"two"))
    party.wait(100)
    party.wait(100)
    assert [each.metadata for each in party.joined(leader).members] == [b"one", b"two"]
    assert party.joined(other).members == ()
    assert party.joined(other).leader_id == party.joined(leader).member_id


def test_an_empty_group_waits_for_more_members() -> None:
    """K3: another delay for as long as it grows, and never longer than the rebalance timeout."""
    party = GroupDriver(initial_rebalance_delay_ms=3_000)
    first = party.join(rebalance_timeout_ms=7_000)
    party.wait(2_999)
    second = party.join(rebalance_timeout_ms=7_000)
    party.wait(3_000)
    assert first in party.parked
    third = party.join(rebalance_timeout_ms=7_000)
    party.wait(1_000)
    assert third in party.parked
    party.wait(1)
    assert [party.joined(each).generation for each in (first, second, third)] == [1, 1, 1]


def test_the_delay_ends_when_the_group_does_not_grow() -> None:
    """K3: no member waits longer than needed."""
    party = GroupDriver(initial_rebalance_delay_ms=3_000)
    ticket = party.join()
    party.wait(2_999)
    assert ticket in party.parked
    party.wait(1)
    assert party.joined(ticket).generation == 1


def test_a_join_is_parked_until_all_have_joined() -> None:
    """K3: a stable group rebalances when somebody new comes."""
    party = GroupDriver()
    [first] = party.stable()
    second = party.join()
    assert party.group.state is GroupState.PREPARING
    assert isinstance(party.beat(first), RebalanceInProgress)
    assert second in party.parked
    again = party.join(first.member_id)
    assert party.joined(second).generation == party.joined(again).generation == 2


def test_who_does_not_join_again_in_time_is_out() -> None:
    """K3: the rebalance timeout of the slowest member counts."""
    party = GroupDriver()
    slow, quick = party.stable(2, session_timeout_ms=100_000)
    new = party.join()
    party.join(quick.member_id, rebalance_timeout_ms=1_000)
    party.wait(REBALANCE_MS - 1)
    assert new in party.parked
    party.wait(1)
    assert party.joined(new).generation == slow.generation + 1
    assert isinstance(party.beat(slow), UnknownMember)


def test_a_join_that_only_repeats_gets_the_current_generation() -> None:
    """K3: its answer may have been lost; nobody else is disturbed."""
    party = GroupDriver()
    leader, member = party.stable(2)
    answer = party.joined(party.join(member.member_id))
    assert (answer.generation, answer.members) == (member.generation, ())
    assert party.group.state is GroupState.STABLE
    assert party.beat(leader) is None


def test_a_join_with_something_new_rebalances() -> None:
    """K3: also one from the leader that has nothing new: it may have seen new partitions."""
    for who, metadata in ((1, subscription("u")), (0, subscription("t"))):
        party = GroupDriver()
        callers = party.stable(2)
        ticket = party.join(callers[who].member_id, protocols=protocols("range", metadata=metadata))
        assert ticket in party.parked
        assert party.group.state is GroupState.PREPARING


def test_a_repeated_join_while_the_assignment_is_awaited() -> None:
    """K3: is answered at once, unless it says something new: then whoever waits for an assignment joins again."""
    party = GroupDriver()
    first = party.joined(party.join())
    assert party.joined(party.join(first.member_id)).generation == 1
    party.join()
    leader = party.joined(party.join(first.member_id))
    member = next(each.member_id for each in leader.members if each.member_id != first.member_id)
    waiting = party.sync(Caller(member, 2))
    party.join(first.member_id, protocols=protocols("range", metadata=b"new"))
    assert isinstance(party.answers[waiting], RebalanceInProgress)


def test_a_join_sent_again_takes_the_place_of_the_first() -> None:
    """K3: both get an answer, and the member is counted once."""
    party = GroupDriver()
    first, second = party.stable(2)
    lost = party.join(second.member_id, protocols=protocols("range", metadata=b"new"))
    again = party.join(second.member_id, protocols=protocols("range", metadata=b"new"))
    assert isinstance(party.answers[lost], RebalanceInProgress)
    assert again in party.parked
    party.join(first.member_id)
    assert party.joined(again).generation == 2 + 1


@pytest.mark.parametrize("timeout_ms", [5_999, 1_800_001, 0, -1])
def test_session_timeouts_have_limits(timeout_ms: int) -> None:
    """K3: the error has the limits."""
    party = GroupDriver()
    refusal = party.answers[party.join(session_timeout_ms=timeout_ms)]
    assert isinstance(refusal, SessionTimeoutOutOfRange)
    assert (refusal.min_ms, refusal.max_ms) == (6_000, 1_800_000)


def test_protocols_must_fit() -> None:
    """K3: another type, none in common, or none at all."""
    party = GroupDriver()
    assert isinstance(party.answers[party.join(protocols=())], ProtocolMismatch)
    assert isinstance(party.answers[party.join(protocol_type="")], ProtocolMismatch)
    party.stable()
    assert isinstance(party.answers[party.join(protocol_type="connect")], ProtocolMismatch)
    assert isinstance(party.answers[party.join(protocols=protocols("sticky"))], ProtocolMismatch)
    assert party.group.state is GroupState.STABLE


def test_a_lone_member_may_change_its_protocols() -> None:
    """K3: there is nobody it could disagree with."""
    party = GroupDriver()
    [alone] = party.stable()
    joined = party.joined(party.join(alone.member_id, protocols=protocols("sticky")))
    assert joined.protocol_name == "sticky"


def test_most_votes_win_among_the_protocols_that_all_know() -> None:
    """K3: what not all know has no chance, however liked."""
    party = GroupDriver(initial_rebalance_delay_ms=10)
    tickets = [
        party.join(protocols=protocols("own", "range", "sticky")),
        party.join(protocols=protocols("sticky", "range")),
        party.join(protocols=protocols("sticky", "range", "own")),
    ]
    party.wait(20)
    assert {party.joined(each).protocol_name for each in tickets} == {"sticky"}


def test_after_everybody_has_left_another_type_may_come() -> None:
    """K3: an empty group speaks no protocol."""
    party = GroupDriver()
    [alone] = party.stable()
    party.leave(Leaving(alone.member_id))
    assert party.joined(party.join(protocol_type="connect", protocols=protocols("default"))).generation == 3


def test_a_group_takes_only_so_many_members() -> None:
    """K3: those who are in keep their place."""
    party = GroupDriver(members_max=2)
    callers = party.stable(2)
    assert isinstance(party.answers[party.join()], GroupFull)
    assert isinstance(party.answers[party.join(needs_known_id=True)], GroupFull)
    assert party.beat(callers[0]) is None
    party.leave(Leaving(callers[1].member_id))
    again, new = party.join(callers[0].member_id), party.join()
    assert party.joined(again).generation == callers[0].generation + 1
    assert new in party.parked


def test_a_group_takes_only_as_much_as_fits_into_its_record() -> None:
    """K3: who says too much is refused, and the group is as before."""
    party = GroupDriver(record_size_max=1_000)
    [first] = party.stable()
    large = (Protocol("range", bytes(400)),)
    assert isinstance(party.answers[party.join(protocols=large)], GroupFull)
    assert isinstance(party.answers[party.join(first.member_id, protocols=large)], GroupFull)
    assert party.beat(first) is None


def test_names_must_fit_into_a_record() -> None:
    """K3: a text that no record can hold never reaches one, and ids stay short."""
    party = GroupDriver()
    assert isinstance(party.answers[party.join(client_id="x" * 40_000)], TextTooLong)
    assert len(party.joined(party.join(client_id="x" * 30_000)).member_id) < 300


def test_a_new_member_whose_join_waits_too_long_is_given_up() -> None:
    """K3: it cannot send heartbeats, and is told to join anew."""
    party = GroupDriver(new_member_timeout_ms=5_000)
    party.stable(session_timeout_ms=100_000)
    new = party.join()
    party.wait(5_000)
    assert isinstance(party.answers[new], UnknownMember)


def test_an_unknown_id_cannot_join() -> None:
    """K3: whoever lost its place joins with an empty id."""
    party = GroupDriver()
    party.stable()
    assert isinstance(party.answers[party.join("nobody")], UnknownMember)


def test_the_lead_passes_to_a_member_that_has_joined() -> None:
    """K3: when the leader is out."""
    party = GroupDriver()
    leader, member = party.stable(2)
    party.leave(Leaving(leader.member_id))
    joined = party.joined(party.join(member.member_id))
    assert joined.leader_id == member.member_id
    assert [each.member_id for each in joined.members] == [member.member_id]
