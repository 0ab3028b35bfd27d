"""Static members: instances that come back keep their place, and whoever used it before is fenced."""

from __future__ import annotations

import pytest
from tests.coordinator.group_driver import REBALANCE_MS, SESSION_MS, GroupDriver, protocols, subscription

from holdfast.coordinator.group.answers import GroupState
from holdfast.coordinator.group.errors import InstanceFenced, RebalanceInProgress, UnknownMember
from holdfast.coordinator.group.requests import Caller, Leaving


def test_an_instance_needs_no_id_first() -> None:
    """K3: its instance id already tells a repeat from a new member."""
    party = GroupDriver()
    joined = party.joined(party.join(instance="i", needs_known_id=True))
    assert joined.member_id.startswith("i-")
    assert joined.members[0].instance_id == "i"


def test_a_member_comes_back_without_a_rebalance() -> None:
    """K3: it has a new id, the same generation and the same assignment; nobody else notices."""
    party = GroupDriver()
    leader, static = party.stable(1, "i")
    answer = party.joined(party.join(instance="i"))
    assert answer.member_id != static.member_id
    assert (answer.generation, answer.leader_id, answer.skip_assignment) == (static.generation, leader.member_id, False)
    assert party.beat(leader) is None
    back = Caller(answer.member_id, answer.generation, "i")
    assert party.assigned(party.sync(back)) == static.member_id.encode()
    assert party.beat(back) is None


def test_the_old_id_is_fenced() -> None:
    """K3: in everything it may ask."""
    party = GroupDriver()
    _, static = party.stable(1, "i")
    party.join(instance="i")
    assert isinstance(party.beat(static), InstanceFenced)
    assert isinstance(party.commit(static), InstanceFenced)
    assert isinstance(party.answers[party.sync(static)], InstanceFenced)
    assert isinstance(party.answers[party.join(static.member_id, "i")], InstanceFenced)
    [result] = party.leave(Leaving(static.member_id, "i"))
    assert isinstance(result, InstanceFenced)
    assert isinstance(party.beat(Caller(static.member_id, static.generation)), UnknownMember)


@pytest.mark.parametrize("can_skip", [True, False])
def test_a_leader_comes_back(can_skip: bool) -> None:
    """K3: it is told that it leads and need not assign; a client that knows no such thing is not told that it leads."""
    party = GroupDriver()
    leader, other = party.stable(0, "i", "k")
    answer = party.joined(party.join(instance="i", can_skip_assignment=can_skip))
    assert answer.skip_assignment is can_skip
    if can_skip:
        assert answer.leader_id == answer.member_id
        assert {each.member_id for each in answer.members} == {answer.member_id, other.member_id}
    else:
        assert (answer.leader_id, answer.members) == (leader.member_id, ())
    back = Caller(answer.member_id, answer.generation, "i")
    assert party.assigned(party.sync(back)) == leader.member_id.encode()
    assert party.group.state is GroupState.STABLE


def test_who_comes_back_for_other_topics_starts_a_rebalance() -> None:
    """K3: while owned partitions and other details may differ."""
    party = GroupDriver()
    leader, static = party.stable(1, "i")
    owned = subscription("t", version=1, rest=b"\xff\xff\xff\xff\x00\x00\x00\x00")
    party.joined(party.join(instance="i", protocols=protocols("range", metadata=owned)))
    ticket = party.join(instance="i", protocols=protocols("range", metadata=subscription("t", "u")))
    assert ticket in party.parked
    assert isinstance(party.beat(leader), RebalanceInProgress)
    party.join(leader.member_id)
    assert party.joined(ticket).generation == static.generation + 1


def test_who_comes_back_without_the_groups_protocol_starts_a_rebalance() -> None:
    """K3: the assignment and the protocol must fit together."""
    party = GroupDriver()
    _, _ = party.stable(0, "i", "k", protocols=protocols("range", "sticky"))
    ticket = party.join(instance="k", protocols=protocols("sticky"))
    assert ticket in party.parked


def test_metadata_of_another_form_is_compared_as_a_whole() -> None:
    """K3: what cannot be read may not be guessed."""
    party = GroupDriver()
    party.stable(0, "i", protocols=protocols("range", metadata=b"\x00"))
    assert party.joined(party.join(instance="i", protocols=protocols("range", metadata=b"\x00"))).generation == 1
    answer = party.joined(party.join(instance="i", protocols=protocols("range", metadata=b"\x01")))
    assert answer.generation == 2


def test_coming_back_while_joins_are_awaited() -> None:
    """K3: whoever waits under the old id is fenced, and the new one waits in its place."""
    party = GroupDriver()
    leader, static = party.stable(1, "i")
    party.join()
    old = party.join(static.member_id, "i")
    new = party.join(instance="i")
    assert isinstance(party.answers[old], InstanceFenced)
    party.join(leader.member_id)
    assert party.joined(new).generation == static.generation + 1


def test_coming_back_while_the_assignment_is_awaited() -> None:
    """K3: the leader assigns to the old id, so all join again."""
    party = GroupDriver()
    joined = party.joined(party.join(instance="i"))
    second = party.join(instance="k")
    first = party.joined(party.join(joined.member_id, "i"))
    waiting = party.sync(Caller(party.joined(second).member_id, 2, "k"))
    back = party.join(instance="k")
    assert isinstance(party.answers[waiting], InstanceFenced)
    assert party.group.state is GroupState.PREPARING
    party.join(first.member_id, "i")
    assert party.joined(back).generation == 3


def test_an_instance_that_is_away_keeps_its_place_until_its_session_ends() -> None:
    """K3: a rebalance goes on without it, and the leader assigns to it."""
    party = GroupDriver()
    leader, static = party.stable(1, "i", rebalance_timeout_ms=1_000)
    party.join(leader.member_id, rebalance_timeout_ms=1_000)
    party.wait(1_000)
    ticket = max(party.answers)
    assert {each.member_id for each in party.joined(ticket).members} == {leader.member_id, static.member_id}
    leader = leader._replace(generation=leader.generation + 1)
    party.sync(leader, {static.member_id: b"kept", leader.member_id: b"mine"})
    back = party.joined(party.join(instance="i", rebalance_timeout_ms=1_000))
    assert party.assigned(party.sync(Caller(back.member_id, back.generation, "i"))) == b"kept"
    for _ in range(4):
        party.wait(SESSION_MS // 4)
        party.beat(leader)
    assert party.group.state is GroupState.PREPARING


def test_only_instances_that_are_away() -> None:
    """K3: then there is nobody to lead; the group waits for one, and is empty when their sessions have ended."""
    party = GroupDriver()
    leader, static = party.stable(1, "i", session_timeout_ms=20_000, rebalance_timeout_ms=1_000)
    party.leave(Leaving(leader.member_id))
    party.wait(1_500)
    assert party.group.state is GroupState.PREPARING
    back = party.join(instance="i", session_timeout_ms=20_000)
    assert party.joined(back).generation == static.generation + 1
    party.wait(20_000)
    assert party.group.state is GroupState.EMPTY


def test_an_instance_leaves_by_its_name() -> None:
    """K3: as an operator's tool removes it, which knows no member id."""
    party = GroupDriver()
    leader, _ = party.stable(1, "i")
    assert party.leave(Leaving("", "i")) == [None]
    [result] = party.leave(Leaving("", "i"))
    assert isinstance(result, UnknownMember)
    assert isinstance(party.beat(leader), RebalanceInProgress)


def test_an_unknown_instance() -> None:
    """K3: is an unknown member, not a fenced one."""
    party = GroupDriver()
    [member] = party.stable()
    assert isinstance(party.beat(member._replace(instance_id="i")), UnknownMember)
    assert isinstance(party.answers[party.join(member.member_id, "i")], UnknownMember)


def test_an_instance_that_is_away_need_not_sync() -> None:
    """K3: a generation whose assignment never comes ends; who is away is not blamed for that."""
    party = GroupDriver()
    leader, _ = party.stable(1, "i", session_timeout_ms=5 * REBALANCE_MS)
    again = party.join(leader.member_id, session_timeout_ms=5 * REBALANCE_MS)
    party.wait(REBALANCE_MS)
    assert party.joined(again).generation == leader.generation + 1
    party.wait(REBALANCE_MS)
    assert [each.instance_id for each in party.group.describe().members] == ["i"]
    assert isinstance(party.beat(leader), UnknownMember)
