"""Classic groups on the wire: join, sync, heartbeat, leave, in old and new versions."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.broker.members import Member
from tests.broker.wire import Wire
from tests.support.broker_process import BrokerProcess

from holdfast.protocol.api import Key

NewMember = Callable[..., Member]


@pytest.fixture
def new_member(broker: BrokerProcess, group: str) -> Iterator[NewMember]:
    made: list[Member] = []

    def make(**fields: Any) -> Member:
        made.append(Member(broker.port, group, **fields))
        return made[-1]

    yield make
    for each in made:
        each.close()


def describe(wire: Wire, group: str, version: int = 6) -> Any:
    [found] = wire.ask(Key.DESCRIBE_GROUPS, version, groups=[group]).groups
    return found


def test_a_new_member_gets_an_id_first(new_member: NewMember) -> None:
    """K3: MEMBER_ID_REQUIRED from version 4 on, and the id is good for a join."""
    member = new_member(version=4)
    member.start_join()
    refused = member.joined()
    assert (refused.error_code, refused.generation_id, refused.members) == (79, -1, [])
    assert refused.member_id.startswith("member-")
    member.start_join()
    joined = member.joined()
    assert (joined.error_code, joined.generation_id, joined.leader) == (0, 1, refused.member_id)
    assert [each.member_id for each in joined.members] == [refused.member_id]


@pytest.mark.parametrize("version", range(10))
def test_a_lone_member_leads_in_every_version(new_member: NewMember, version: int) -> None:
    """K3: joins, gets back what it assigned to itself, is alive, and leaves."""
    member = new_member(version=version)
    joined = member.join(metadata=b"what I read")
    assert joined.error_code == 0
    assert (joined.leader, joined.protocol_name) == (member.id, "range")
    assert [each.metadata for each in joined.members] == [b"what I read"]
    assert joined.protocol_type == ("consumer" if version >= 7 else None)
    assert member.sync({member.id: b"\x00mine\xff"}, version=min(version, 5)).assignment == b"\x00mine\xff"
    assert member.heartbeat(version=min(version, 4)) == 0
    left = member.leave(version=min(version, 5))
    assert left.error_code == 0
    assert member.heartbeat() == 25


def test_join_and_sync_wait_for_the_others(new_member: NewMember) -> None:
    """K3: a second member makes the first one join again; both get the leader's bytes, untouched."""
    first, second = new_member(), new_member()
    first.join(metadata=b"1")
    first.sync({first.id: b"all"})
    second.start_join(metadata=b"2")
    second.joined()
    second.start_join(metadata=b"2")
    while first.heartbeat() == 0:
        pass
    assert first.heartbeat() == 27
    first.start_join(metadata=b"1")
    leader, follower = first.joined(), second.joined()
    assert leader.generation_id == follower.generation_id == 2
    assert {each.member_id: each.metadata for each in leader.members} == {first.id: b"1", second.id: b"2"}
    assert follower.members == []
    second.start_sync()
    first.start_sync({first.id: b"a" * 5, second.id: bytes(range(256))})
    assert first.synced().assignment == b"a" * 5
    assert second.synced().assignment == bytes(range(256))


def test_a_static_member_comes_back_to_its_place(new_member: NewMember) -> None:
    """K3: no rebalance, the same assignment; the one it replaces is fenced."""
    before = new_member(instance="shelf")
    before.join()
    before.sync({before.id: b"mine"})
    after = new_member(instance="shelf")
    joined = after.join()
    assert (joined.error_code, joined.generation_id, joined.skip_assignment) == (0, before.generation, True)
    assert after.id != before.id
    assert after.sync().assignment == b"mine"
    assert before.heartbeat() == 82
    assert after.heartbeat() == 0


def test_a_static_member_can_be_removed_by_its_instance(new_member: NewMember, wire: Wire, group: str) -> None:
    """K3: as operators do."""
    member = new_member(instance="shelf")
    member.join()
    gone = [{"member_id": "", "group_instance_id": "shelf"}, {"member_id": "", "group_instance_id": "other"}]
    answer = wire.ask(Key.LEAVE_GROUP, 5, group_id=group, members=gone)
    assert [each.error_code for each in answer.members] == [0, 25]
    assert member.heartbeat() == 25


def test_a_silent_member_is_removed(new_member: NewMember, wire: Wire, group: str) -> None:
    """K3: after its session timeout; the group is empty then."""
    member = new_member()
    member.join(timeout_ms=150)
    member.sync({member.id: b""})
    deadline = time.monotonic() + 10
    while describe(wire, group).group_state != "Empty":
        assert time.monotonic() < deadline
    assert member.heartbeat() == 25


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"group_id": ""}, 24),
        ({"session_timeout_ms": 10}, 26),
        ({"session_timeout_ms": 100_000_000}, 26),
        ({"protocols": []}, 23),
        ({"protocol_type": ""}, 23),
        ({"member_id": "stranger"}, 25),
    ],
)
def test_a_join_that_cannot_be_is_refused(wire: Wire, group: str, change: dict[str, Any], code: int) -> None:
    """K3: never with code 0."""
    fields = {
        "group_id": group,
        "session_timeout_ms": 10_000,
        "rebalance_timeout_ms": 10_000,
        "member_id": "",
        "protocol_type": "consumer",
        "protocols": [{"name": "range", "metadata": b""}],
    }
    answer = wire.ask(Key.JOIN_GROUP, 7, **{**fields, **change})
    assert (answer.error_code, answer.generation_id) == (code, -1)


def test_members_must_speak_the_groups_protocol(new_member: NewMember) -> None:
    """K3: INCONSISTENT_GROUP_PROTOCOL for a member that knows none that all know."""
    new_member().join(protocols=("range", "sticky"))
    assert new_member().join(protocols=("other",)).error_code == 23


def test_a_wrong_generation_is_refused(new_member: NewMember) -> None:
    """K3: ILLEGAL_GENERATION for heartbeat and sync."""
    member = new_member()
    member.join()
    member.sync({member.id: b""})
    member.generation += 1
    assert member.heartbeat() == 22
    assert member.sync().error_code == 22


def test_a_sync_must_name_its_protocol_from_version_5_on(new_member: NewMember, wire: Wire, group: str) -> None:
    """K3: INCONSISTENT_GROUP_PROTOCOL."""
    member = new_member()
    member.join()
    fields = {"group_id": group, "generation_id": member.generation, "member_id": member.id, "assignments": []}
    assert wire.ask(Key.SYNC_GROUP, 5, **fields).error_code == 23
    wrong = wire.ask(Key.SYNC_GROUP, 5, protocol_type="consumer", protocol_name="other", **fields)
    assert wrong.error_code == 23


# Operators


def test_groups_are_described_and_listed(new_member: NewMember, wire: Wire, group: str) -> None:
    """K3: state, protocol, members with their bytes; lists are filtered by state and type."""
    member = new_member(instance="shelf")
    member.join(metadata=b"m")
    member.sync({member.id: b"a"})
    found = describe(wire, group)
    assert (found.error_code, found.group_state, found.protocol_type) == (0, "Stable", "consumer")
    assert found.protocol_data == "range"
    [one] = found.members
    assert (one.member_id, one.group_instance_id, one.client_id) == (member.id, "shelf", "member")
    assert (one.client_host, one.member_metadata, one.member_assignment) == ("/127.0.0.1", b"m", b"a")

    def listed(**filters: list[str]) -> dict[str, tuple[str, str, str]]:
        answer = wire.ask(Key.LIST_GROUPS, 5, **filters)
        assert answer.error_code == 0
        return {each.group_id: (each.protocol_type, each.group_state, each.group_type) for each in answer.groups}

    assert listed()[group] == ("consumer", "Stable", "classic")
    assert group in listed(states_filter=["stable", "dead"], types_filter=["Classic"])
    assert group not in listed(states_filter=["Empty"])
    assert group not in listed(types_filter=["consumer"])


def test_a_group_that_is_not_there_is_dead_or_not_found(wire: Wire, group: str) -> None:
    """K3: dead before version 6, an error since."""
    assert (describe(wire, group, 5).error_code, describe(wire, group, 5).group_state) == (0, "Dead")
    assert (describe(wire, group, 6).error_code, describe(wire, group, 6).group_state) == (69, "Dead")


def test_only_empty_groups_can_be_deleted(new_member: NewMember, wire: Wire, group: str) -> None:
    """K3: NON_EMPTY_GROUP, then gone, then GROUP_ID_NOT_FOUND."""

    def delete() -> int:
        [found] = wire.ask(Key.DELETE_GROUPS, 2, groups_names=[group]).results
        code: int = found.error_code
        return code

    member = new_member()
    member.join()
    assert delete() == 68
    member.leave()
    assert delete() == 0
    assert delete() == 69
    assert describe(wire, group).error_code == 69


def test_the_coordinator_of_everything_is_this_broker(broker: BrokerProcess, wire: Wire, group: str) -> None:
    """K3: one key before version 4, many since; what is neither a group nor a transaction has none."""
    old = wire.ask(Key.FIND_COORDINATOR, 2, key=group, key_type=0)
    assert (old.error_code, old.node_id, old.port) == (0, 0, broker.port)
    many = wire.ask(Key.FIND_COORDINATOR, 4, key_type=0, coordinator_keys=[group, "other"])
    assert [(each.key, each.node_id) for each in many.coordinators] == [(group, 0), ("other", 0)]
    assert wire.ask(Key.FIND_COORDINATOR, 2, key=group, key_type=9).error_code == 42


def test_a_group_without_a_name_has_no_members(wire: Wire) -> None:
    """K3: INVALID_GROUP_ID, as Kafka 4.3.1 answers; in a group that is not there a member is unknown."""
    for group, code in (("", 24), ("no-such-group", 25)):
        own = {"group_id": group, "generation_id": 3, "member_id": "stranger"}
        assert wire.ask(Key.HEARTBEAT, 4, **own).error_code == code
        named = {"protocol_type": "consumer", "protocol_name": "range", "assignments": []}
        assert wire.ask(Key.SYNC_GROUP, 5, **own, **named).error_code == code
        assert wire.ask(Key.LEAVE_GROUP, 2, group_id=group, member_id="stranger").error_code == code
