"""Consumer groups on the wire: every answer that a client of the new protocol has to know."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from tests.broker.librdkafka import create
from tests.broker.members import Member
from tests.broker.wire import Wire
from tests.coordinator.group_driver import subscription

from holdfast.protocol.api import Key
from holdfast.protocol.codes import Code

NOBODY = UUID(int=7)


@pytest.fixture
def topic_id(wire: Wire, admin: Any, topic: str) -> UUID:
    """The id of the test's topic, which has four partitions."""
    create(admin, topic, 4)
    [found] = wire.ask(Key.METADATA, 12, topics=[{"name": topic, "topic_id": None}]).topics
    identity: UUID = found.topic_id
    return identity


class Beating:
    """Members of one group that send heartbeats."""

    def __init__(self, wire: Wire, group: str, topic: str) -> None:
        self.wire = wire
        self.group = group
        self.topic = topic

    def beat(self, member_id: str, epoch: int, *, version: int = 1, **fields: Any) -> Any:
        return self.wire.ask(
            Key.CONSUMER_GROUP_HEARTBEAT,
            version,
            group_id=self.group,
            member_id=member_id,
            member_epoch=epoch,
            **fields,
        )

    def join(self, member_id: str, **fields: Any) -> Any:
        full = {"rebalance_timeout_ms": 10_000, "subscribed_topic_names": [self.topic], "topic_partitions": []}
        return self.beat(member_id, 0, **{**full, **fields})

    def describe(self, *, version: int = 1, operations: bool = False) -> Any:
        asked = {"group_ids": [self.group], "include_authorized_operations": operations}
        [found] = self.wire.ask(Key.CONSUMER_GROUP_DESCRIBE, version, **asked).groups
        return found

    def commit(self, version: int, member_id: str, epoch: int, **topic: Any) -> int:
        """The code that committing one offset gets."""
        named = {"name": self.topic, **topic}
        answer = self.wire.ask(
            Key.OFFSET_COMMIT,
            version,
            group_id=self.group,
            member_id=member_id,
            generation_id_or_member_epoch=epoch,
            topics=[{**named, "partitions": [{"partition_index": 0, "committed_offset": 5, "committed_metadata": ""}]}],
        )
        code: int = answer.topics[0].partitions[0].error_code
        return code

    def fetch(self, version: int, member_id: str | None, epoch: int, **topic: Any) -> Any:
        """The group's part of the answer to fetching one offset."""
        group = {
            "group_id": self.group,
            "member_id": member_id,
            "member_epoch": epoch,
            "topics": [{"name": self.topic, **topic, "partition_indexes": [0]}],
        }
        return self.wire.ask(Key.OFFSET_FETCH, version, groups=[group], require_stable=True).groups[0]


@pytest.fixture
def beating(wire: Wire, group: str, topic: str, topic_id: UUID) -> Beating:
    return Beating(wire, group, topic)


def test_joining_and_staying(beating: Beating, topic_id: UUID) -> None:
    """K3: everything is told to who joins; later only what is new."""
    joined = beating.join("a")
    assert (joined.error_code, joined.member_id, joined.member_epoch) == (0, "a", 1)
    assert joined.heartbeat_interval_ms == 5000
    [assigned] = joined.assignment.topic_partitions
    assert (assigned.topic_id, assigned.partitions) == (topic_id, [0, 1, 2, 3])
    stayed = beating.beat("a", 1)
    assert (stayed.error_code, stayed.member_epoch, stayed.assignment) == (0, 1, None)
    again = beating.beat(
        "a",
        1,
        rebalance_timeout_ms=1,
        subscribed_topic_names=[beating.topic],
        topic_partitions=[{"topic_id": topic_id, "partitions": [0, 1, 2, 3]}],
    )
    assert again.assignment.topic_partitions[0].partitions == [0, 1, 2, 3]
    left = beating.beat("a", -1)
    assert (left.error_code, left.member_epoch) == (0, -1)


def test_a_member_id_is_made_for_old_clients(beating: Beating) -> None:
    """K3: version 0 has none to join with; version 1 must have one."""
    joined = beating.join("", version=0)
    assert joined.error_code == 0
    assert UUID(joined.member_id).version == 4
    assert beating.join("").error_code == Code.INVALID_REQUEST


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"server_assignor": "best"}, Code.UNSUPPORTED_ASSIGNOR),
        ({"subscribed_topic_regex": "(a"}, Code.INVALID_REGULAR_EXPRESSION),
        ({"subscribed_topic_names": None}, Code.INVALID_REQUEST),
        ({"topic_partitions": None}, Code.INVALID_REQUEST),
        ({"rebalance_timeout_ms": -1}, Code.INVALID_REQUEST),
        ({"instance_id": ""}, Code.INVALID_REQUEST),
    ],
)
def test_joins_that_are_refused(beating: Beating, fields: dict[str, Any], code: Code) -> None:
    """K3: with a reason for people, and without a group being made."""
    answer = beating.join("a", **fields)
    assert answer.error_code == code
    assert answer.error_message
    assert beating.describe().error_code == Code.GROUP_ID_NOT_FOUND


def test_members_that_are_not_what_they_say(beating: Beating) -> None:
    """K3: each is told what to do next."""
    beating.join("a", instance_id="i")
    assert beating.beat("b", 1).error_code == Code.UNKNOWN_MEMBER_ID
    assert beating.beat("a", 9, instance_id="i").error_code == Code.FENCED_MEMBER_EPOCH
    assert beating.beat("b", 1, instance_id="i").error_code == Code.FENCED_INSTANCE_ID
    assert beating.join("b", instance_id="i").error_code == Code.UNRELEASED_INSTANCE_ID
    assert beating.beat("a", -2, instance_id="i").member_epoch == -2
    back = beating.join("b", instance_id="i")
    assert (back.error_code, back.assignment.topic_partitions[0].partitions) == (0, [0, 1, 2, 3])


def test_a_pattern_of_none_or_nothing_is_no_pattern(beating: Beating) -> None:
    """K3: as the Java client sends it."""
    told = beating.join("a", subscribed_topic_regex="")
    assert len(told.assignment.topic_partitions[0].partitions) == 4
    assert beating.describe().members[0].subscribed_topic_regex is None
    told = beating.join("b", subscribed_topic_names=None, subscribed_topic_regex=f"{beating.topic}.*")
    assert told.error_code == 0
    assert beating.describe().members[1].subscribed_topic_regex == f"{beating.topic}.*"


def test_describing(beating: Beating, topic_id: UUID) -> None:
    """K3: epochs, members, what they have and shall have; a classic group is not among these."""
    beating.join("a", rack_id="r", server_assignor="range")
    beating.join("b")
    found = beating.describe(operations=True)
    assert (found.error_code, found.group_state, found.assignor_name) == (0, "Reconciling", "range")
    assert (found.group_epoch, found.assignment_epoch) == (2, 2)
    assert found.authorized_operations
    first, second = found.members
    assert (first.member_id, first.rack_id, first.member_epoch, first.member_type) == ("a", "r", 1, 1)
    assert (first.client_id, first.client_host) == ("wire", "/127.0.0.1")
    assert first.subscribed_topic_names == [beating.topic]
    [have] = first.assignment.topic_partitions
    assert (have.topic_id, have.topic_name, have.partitions) == (topic_id, beating.topic, [0, 1, 2, 3])
    assert first.target_assignment.topic_partitions[0].partitions == [0, 1]
    assert second.assignment.topic_partitions == []
    assert beating.describe(version=0).members[0].member_id == "a"


def test_other_calls_on_a_consumer_group(beating: Beating, wire: Wire) -> None:
    """K3: operators of classic groups are told that it is none; lists say what it is."""
    beating.join("a")
    [shown] = wire.ask(Key.DESCRIBE_GROUPS, 6, groups=[beating.group]).groups
    assert (shown.error_code, shown.group_state) == (Code.GROUP_ID_NOT_FOUND, "Dead")
    assert "not a classic group" in shown.error_message
    assert wire.ask(Key.DESCRIBE_GROUPS, 5, groups=[beating.group]).groups[0].group_state == "Dead"
    listed = wire.ask(Key.LIST_GROUPS, 5, states_filter=["stable"], types_filter=["Consumer"]).groups
    [line] = [each for each in listed if each.group_id == beating.group]
    assert (line.group_type, line.protocol_type, line.group_state) == ("consumer", "consumer", "Stable")
    classic = wire.ask(Key.LIST_GROUPS, 5, states_filter=[], types_filter=["classic"]).groups
    assert beating.group not in {each.group_id for each in classic}
    row = {"name": beating.topic, "partitions": [{"partition_index": 0}]}
    deleted = wire.ask(Key.OFFSET_DELETE, 0, group_id=beating.group, topics=[row])
    assert deleted.topics[0].partitions[0].error_code == Code.GROUP_SUBSCRIBED_TO_TOPIC
    assert wire.ask(Key.DELETE_GROUPS, 2, groups_names=[beating.group]).results[0].error_code == Code.NON_EMPTY_GROUP
    beating.beat("a", -1)
    assert wire.ask(Key.DELETE_GROUPS, 2, groups_names=[beating.group]).results[0].error_code == 0
    assert beating.describe().error_code == Code.GROUP_ID_NOT_FOUND


def test_offsets_by_name_and_epoch(beating: Beating) -> None:
    """K3: version 9 has the member's epoch; who has none must not use an older one."""
    beating.join("a")
    assert beating.commit(9, "a", 1) == 0
    assert beating.commit(9, "a", 0) == Code.STALE_MEMBER_EPOCH
    assert beating.commit(8, "a", 0) == Code.UNSUPPORTED_VERSION
    assert beating.commit(9, "b", 1) == Code.UNKNOWN_MEMBER_ID
    assert beating.commit(9, "", -1) == Code.UNKNOWN_MEMBER_ID
    assert beating.fetch(9, "a", 1).topics[0].partitions[0].committed_offset == 5
    assert beating.fetch(9, None, -1).topics[0].partitions[0].committed_offset == 5
    assert beating.fetch(9, "a", 0).error_code == Code.STALE_MEMBER_EPOCH
    assert beating.fetch(9, "b", 1).error_code == Code.UNKNOWN_MEMBER_ID


def test_offsets_by_topic_id(beating: Beating, topic_id: UUID) -> None:
    """K3: version 10; an id that nobody has is said to be unknown, and the others are served."""
    beating.join("a")
    assert beating.commit(10, "a", 1, topic_id=topic_id, name="") == 0
    assert beating.commit(10, "a", 1, topic_id=NOBODY, name="") == Code.UNKNOWN_TOPIC_ID
    [found] = beating.fetch(10, "a", 1, topic_id=topic_id, name="").topics
    assert (found.topic_id, found.partitions[0].committed_offset) == (topic_id, 5)
    [unknown] = beating.fetch(10, "a", 1, topic_id=NOBODY, name="").topics
    assert unknown.partitions[0].error_code == Code.UNKNOWN_TOPIC_ID


def test_a_classic_group_that_cannot_move(beating: Beating, wire: Wire, broker: Any) -> None:
    """K3: one that is no consumer's, or finds its assignment just now."""
    member = Member(broker.port, beating.group)
    member.join(metadata=b"?")
    assert beating.join("a").error_code == Code.COORDINATOR_LOAD_IN_PROGRESS
    member.sync({member.id: b""})
    assert beating.join("a").error_code == Code.GROUP_ID_NOT_FOUND
    member.leave()
    member.close()
    assert beating.join("a").error_code == 0


def test_a_classic_member_in_a_consumer_group(beating: Beating, broker: Any, topic_id: UUID) -> None:
    """K3: it joins, syncs and stays by the classic calls, and lets go by joining again."""
    member = Member(broker.port, beating.group)
    wants = subscription(beating.topic, version=0)
    member.join(metadata=wants)
    member.sync({member.id: b""})
    assert beating.join("a").error_code == 0
    assert beating.describe().members[0].member_type == 0
    assert member.heartbeat() == Code.REBALANCE_IN_PROGRESS
    before = member.generation
    joined = member.join(metadata=wants)
    assert (joined.error_code, joined.leader, joined.members) == (0, "", [])
    assert member.generation > before
    synced = member.sync()
    assert synced.error_code == 0
    assert synced.assignment[:6] == b"\0\0\0\0\0\1"
    assert member.heartbeat() == 0
    assert beating.commit(9, member.id, member.generation) == 0
    assert beating.commit(9, member.id, before) == Code.ILLEGAL_GENERATION
    assert beating.beat("a", -1).error_code == 0
    assert beating.describe().error_code == Code.GROUP_ID_NOT_FOUND  # It is a classic group again, …
    assert beating.commit(9, member.id, member.generation) == 0  # … in which the member goes on.
    assert member.heartbeat() == Code.REBALANCE_IN_PROGRESS
    member.close()


def test_what_is_advertised(wire: Wire) -> None:
    """K3, K8: the new protocol and share groups are finalized at level 1."""
    found = wire.ask(Key.API_VERSIONS, 4, client_software_name="test", client_software_version="1")
    levels = {each.name: each.max_version_level for each in found.finalized_features}
    assert (levels["group.version"], levels["share.version"]) == (1, 1)
    versions = {each.api_key: each.max_version for each in found.api_keys}
    assert (versions[68], versions[69]) == (1, 1)
    assert versions.keys() >= {76, 77, 78, 79}
