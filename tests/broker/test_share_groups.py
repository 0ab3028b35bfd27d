"""Share groups on the wire: every answer that a share consumer has to know."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from tests.broker.librdkafka import create
from tests.broker.wire import Wire, batch, produce

from holdfast.protocol.api import Key
from holdfast.protocol.codes import Code

ACCEPT, RELEASE, RENEW = 1, 2, 4
GROUP, SET = 32, 0


class Sharing:
    """Members of one share group, which begins at the earliest record of a topic with four partitions."""

    def __init__(self, wire: Wire, group: str, topic: str, topic_id: UUID) -> None:
        self.wire = wire
        self.group = group
        self.topic = topic
        self.topic_id = topic_id
        assert self.configure("share.auto.offset.reset", "earliest") == 0

    def configure(self, name: str, value: str) -> int:
        configs = [{"name": name, "config_operation": SET, "value": value}]
        resources = [{"resource_type": GROUP, "resource_name": self.group, "configs": configs}]
        return int(self.wire.ask(Key.INCREMENTAL_ALTER_CONFIGS, 1, resources=resources).responses[0].error_code)

    def beat(self, member: str, epoch: int, **fields: Any) -> Any:
        asked = {"group_id": self.group, "member_id": member, "member_epoch": epoch, **fields}
        return self.wire.ask(Key.SHARE_GROUP_HEARTBEAT, 1, **asked)

    def join(self, member: str) -> Any:
        return self.beat(member, 0, subscribed_topic_names=[self.topic])

    def fetch(self, member: str, epoch: int, *acks: tuple[int, int, int], **fields: Any) -> Any:
        return self.wire.ask(Key.SHARE_FETCH, 2, **self.request(member, epoch, *acks, **fields))

    def request(self, member: str, epoch: int, *acks: tuple[int, int, int], **fields: Any) -> dict[str, Any]:
        asked = {
            "group_id": self.group,
            "member_id": member,
            "share_session_epoch": epoch,
            "max_wait_ms": 0,
            "max_records": 100,
            "share_acquire_mode": 1,
            "topics": self._topics(acks),
            "forgotten_topics_data": [],
        }
        return {**asked, **fields}

    def given(self, answer: Any) -> list[tuple[int, int, int]]:
        """First and last offset, and the delivery count, of what a member was given."""
        assert answer.error_code == 0
        rows = [row for topic in answer.responses for part in topic.partitions for row in part.acquired_records]
        return [(row.first_offset, row.last_offset, row.delivery_count) for row in rows]

    def acknowledge(self, member: str, epoch: int, *acks: tuple[int, int, int], **fields: Any) -> Any:
        asked = {"group_id": self.group, "member_id": member, "share_session_epoch": epoch}
        return self.wire.ask(Key.SHARE_ACKNOWLEDGE, 2, **{**asked, "topics": self._topics(acks), **fields})

    def code(self, answer: Any) -> int:
        """Of the one partition that was acknowledged."""
        assert answer.error_code == 0
        return int(answer.responses[0].partitions[0].error_code)

    def _topics(self, acks: tuple[tuple[int, int, int], ...]) -> list[dict[str, Any]]:
        batches = [{"first_offset": one, "last_offset": two, "acknowledge_types": [said]} for one, two, said in acks]
        return [{"topic_id": self.topic_id, "partitions": [{"partition_index": 0, "acknowledgement_batches": batches}]}]


@pytest.fixture
def sharing(wire: Wire, admin: Any, topic: str) -> Sharing:
    create(admin, topic, 4)
    [found] = wire.ask(Key.METADATA, 12, topics=[{"name": topic, "topic_id": None}]).topics
    produce(wire, topic, batch(b"one", b"two", b"three"))
    return Sharing(wire, f"g-{topic}", topic, found.topic_id)


def test_members_come_stay_and_go(sharing: Sharing) -> None:
    """K8: epochs and assignments; a member of another epoch is told to join again, as is one that is not known."""
    first = sharing.join("a")
    assert (first.error_code, first.member_epoch) == (0, 1)
    assert first.assignment.topic_partitions[0].partitions == [0, 1, 2, 3]
    second = sharing.join("b")
    assert (second.member_epoch, second.assignment.topic_partitions[0].partitions) == (2, [1, 3])
    moved = sharing.beat("a", 1)
    assert (moved.member_epoch, moved.assignment.topic_partitions[0].partitions) == (2, [0, 2])
    assert sharing.beat("a", 2).assignment is None
    assert sharing.beat("a", 7).error_code == Code.FENCED_MEMBER_EPOCH
    assert sharing.beat("nobody", 2).error_code == Code.UNKNOWN_MEMBER_ID
    assert sharing.beat("a", -1).member_epoch == -1
    assert sharing.beat("a", 2).error_code == Code.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize(
    ("member", "epoch", "topics"), [("", 0, ["t"]), ("a", 0, None), ("a", 0, []), ("a", -2, ["t"])]
)
def test_heartbeats_that_make_no_sense(sharing: Sharing, member: str, epoch: int, topics: list[str] | None) -> None:
    """K8: each is refused in words."""
    assert sharing.beat(member, epoch, subscribed_topic_names=topics).error_code == Code.INVALID_REQUEST


def test_sessions(sharing: Sharing) -> None:
    """K8: a session goes on by its epoch; one that is not known, or is at another epoch, has to begin anew."""
    assert sharing.fetch("a", 0).error_code == Code.GROUP_ID_NOT_FOUND
    sharing.join("a")
    assert sharing.fetch("a", 1).error_code == Code.SHARE_SESSION_NOT_FOUND
    assert sharing.acknowledge("a", 1).error_code == Code.SHARE_SESSION_NOT_FOUND
    assert sharing.acknowledge("a", 0).error_code == Code.INVALID_SHARE_SESSION_EPOCH
    assert sharing.fetch("a", 0, (0, 0, ACCEPT)).error_code == Code.INVALID_SHARE_SESSION_EPOCH
    assert sharing.given(sharing.fetch("a", 0)) == [(0, 2, 1)]
    assert sharing.fetch("a", 2).error_code == Code.INVALID_SHARE_SESSION_EPOCH
    assert sharing.given(sharing.fetch("a", 1)) == []
    assert sharing.code(sharing.acknowledge("a", 2, (0, 2, ACCEPT))) == 0
    assert sharing.acknowledge("a", -1).error_code == 0
    assert sharing.fetch("a", 3).error_code == Code.SHARE_SESSION_NOT_FOUND


def test_a_verdict_holds_once(sharing: Sharing) -> None:
    """K8: it is taken with the fetch or by itself; a second one, and one by somebody else, is refused."""
    sharing.join("a")
    assert sharing.given(sharing.fetch("a", 0, max_records=2)) == [(0, 1, 1)]
    assert sharing.given(sharing.fetch("b", 0)) == [(2, 2, 1)]
    assert sharing.code(sharing.acknowledge("b", 1, (0, 0, ACCEPT))) == Code.INVALID_RECORD_STATE
    [topic] = sharing.fetch("a", 1, (0, 0, ACCEPT)).responses
    assert topic.partitions[0].acknowledge_error_code == 0
    assert sharing.code(sharing.acknowledge("a", 2, (0, 0, ACCEPT))) == Code.INVALID_RECORD_STATE
    assert sharing.code(sharing.acknowledge("a", 3, (1, 1, RELEASE))) == 0
    assert sharing.given(sharing.fetch("b", 2)) == [(1, 1, 2)]


def test_a_closed_session_gives_back_what_it_had(sharing: Sharing) -> None:
    """K8: at once, and not as a delivery."""
    sharing.join("a")
    assert sharing.given(sharing.fetch("a", 0)) == [(0, 2, 1)]
    assert sharing.given(sharing.fetch("b", 0)) == []
    assert sharing.fetch("a", -1).error_code == 0
    assert sharing.given(sharing.fetch("b", 1)) == [(0, 2, 1)]


def test_locks_are_renewed(sharing: Sharing) -> None:
    """K8: only by a request that says so, and nothing is fetched with it."""
    sharing.join("a")
    assert sharing.given(sharing.fetch("a", 0, max_records=1)) == [(0, 0, 1)]
    assert sharing.acknowledge("a", 1, (0, 0, RENEW)).error_code == Code.INVALID_REQUEST
    assert sharing.code(sharing.acknowledge("a", 1, (0, 0, RENEW), is_renew_ack=True)) == 0
    assert sharing.given(sharing.fetch("a", 2, (0, 0, RENEW), is_renew_ack=True)) == []
    assert sharing.code(sharing.acknowledge("a", 3, (0, 0, ACCEPT))) == 0


def test_a_name_belongs_to_one_kind_of_group(sharing: Sharing, wire: Wire) -> None:
    """K8: nobody joins a share group by another protocol, nor another kind of group as a share consumer."""
    sharing.join("a")
    beat = {"group_id": sharing.group, "member_id": "m", "rebalance_timeout_ms": 1000, "topic_partitions": []}
    refused = wire.ask(Key.CONSUMER_GROUP_HEARTBEAT, 1, subscribed_topic_names=[sharing.topic], **beat)
    assert refused.error_code == Code.INCONSISTENT_GROUP_PROTOCOL
    sharing.group = f"other-{sharing.group}"
    taken = wire.ask(
        Key.CONSUMER_GROUP_HEARTBEAT, 1, subscribed_topic_names=[sharing.topic], **{**beat, "group_id": sharing.group}
    )
    assert taken.error_code == 0
    assert sharing.join("a").error_code == Code.GROUP_ID_NOT_FOUND


def test_configs(sharing: Sharing, wire: Wire) -> None:
    """K8: a group has its own ones, before it has members; what it cannot have is refused."""
    assert sharing.configure("share.auto.offset.reset", "by_duration:soon") == Code.INVALID_CONFIG
    assert sharing.configure("share.isolation.level", "read_everything") == Code.INVALID_CONFIG
    assert sharing.configure("share.record.lock.duration.ms", "5") == Code.INVALID_CONFIG
    assert sharing.configure("share.record.lock.duration.ms", "20000") == 0
    sharing.join("a")
    assert sharing.fetch("a", 0).acquisition_lock_timeout_ms == 20000
    resources = [{"resource_type": GROUP, "resource_name": sharing.group, "configuration_keys": None}]
    [found] = wire.ask(Key.DESCRIBE_CONFIGS, 4, resources=resources).results
    shown = {each.name: (each.value, each.config_source) for each in found.configs}
    assert shown["share.record.lock.duration.ms"] == ("20000", 8)
    assert shown["share.isolation.level"] == ("read_uncommitted", 5)


def test_without_configs_a_group_begins_at_the_end(sharing: Sharing, wire: Wire) -> None:
    """K8: the end of the moment of its first fetch, which is kept."""
    sharing.group = f"latest-{sharing.group}"
    sharing.join("a")
    assert sharing.given(sharing.fetch("a", 0)) == []
    produce(wire, sharing.topic, batch(b"four"))
    assert sharing.given(sharing.fetch("a", 1)) == [(3, 3, 1)]


def test_what_the_log_lets_go(sharing: Sharing, wire: Wire) -> None:
    """K8: records that are deleted are not waited for; a verdict on them is taken, since nothing depends on it."""
    sharing.join("a")
    assert sharing.given(sharing.fetch("a", 0, max_records=1)) == [(0, 0, 1)]
    partitions = [{"partition_index": 0, "offset": 2}]
    wire.ask(Key.DELETE_RECORDS, 2, topics=[{"name": sharing.topic, "partitions": partitions}], timeout_ms=5000)
    assert sharing.given(sharing.fetch("b", 0)) == [(2, 2, 1)]
    assert sharing.code(sharing.acknowledge("a", 1, (0, 0, ACCEPT))) == 0


def test_a_topic_that_is_gone(sharing: Sharing, admin: Any) -> None:
    """K8: its partitions are named in the answer, once, and nothing of them is kept."""
    sharing.join("a")
    assert sharing.given(sharing.fetch("a", 0)) == [(0, 2, 1)]
    admin.delete_topics([sharing.topic])[sharing.topic].result(10)
    answer = sharing.fetch("a", 1)
    assert answer.responses[0].partitions[0].error_code == Code.UNKNOWN_TOPIC_ID
    assert sharing.fetch("a", 2, topics=[]).responses == []
