"""Committed offsets on the wire: every version of commit and fetch, by name and by id."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from tests.broker.members import Member
from tests.broker.wire import Wire, create_topic, delete_topic
from tests.support.broker_process import BrokerProcess

from holdfast.protocol.api import Key

NOTHING = (-1, -1, "", 0)


def commit(wire: Wire, group: str, topic: Any, offset: int, *, version: int | None = None, **more: Any) -> int:
    """Commit an offset of partition 0, by name or by id, with a text beside it; the code."""
    named = {"name": topic} if isinstance(topic, str) else {"topic_id": topic}
    row = {
        "partition_index": more.pop("partition", 0),
        "committed_offset": offset,
        "committed_leader_epoch": 3,
        "committed_metadata": more.pop("metadata", "text"),
    }
    version = version or (9 if isinstance(topic, str) else 10)
    fields = {"group_id": group, "topics": [{**named, "partitions": [row]}], **more}
    [[found]] = [each.partitions for each in wire.ask(Key.OFFSET_COMMIT, version, **fields).topics]
    code: int = found.error_code
    return code


def committed(wire: Wire, group: str, topic: Any, *, version: int | None = None, partition: int = 0) -> tuple[Any, ...]:
    """Offset, epoch, text and code of a partition."""
    named = {"name": topic} if isinstance(topic, str) else {"topic_id": topic}
    version = version or (9 if isinstance(topic, str) else 10)
    wanted = [{**named, "partition_indexes": [partition]}]
    if version < 8:
        answer = wire.ask(Key.OFFSET_FETCH, version, group_id=group, topics=wanted)
    else:
        fields = {"groups": [{"group_id": group, "topics": wanted}], "require_stable": True}
        [answer] = wire.ask(Key.OFFSET_FETCH, version, **fields).groups
    assert not answer.error_code
    [[found]] = [each.partitions for each in answer.topics]
    return found.committed_offset, found.committed_leader_epoch, found.metadata, found.error_code


@pytest.mark.parametrize("version", range(2, 11))
def test_an_offset_is_committed_in_every_version(wire: Wire, topic: str, group: str, version: int) -> None:
    """K3: by id in version 10; the epoch is known from version 6 on."""
    topic_id = create_topic(wire, topic)
    assert commit(wire, group, topic_id if version == 10 else topic, 42, version=version) == 0
    assert committed(wire, group, topic) == (42, 3 if version >= 6 else -1, "text", 0)


@pytest.mark.parametrize("version", range(1, 11))
def test_an_offset_is_fetched_in_every_version(wire: Wire, topic: str, group: str, version: int) -> None:
    """K3: and where nothing is committed, -1 and no error."""
    topic_id = create_topic(wire, topic)
    asked = topic_id if version == 10 else topic
    assert committed(wire, group, asked, version=version) == NOTHING
    commit(wire, group, topic, 42)
    assert committed(wire, group, asked, version=version) == (42, 3 if version >= 5 else -1, "text", 0)
    assert committed(wire, group, asked, version=version, partition=7) == NOTHING


def test_an_id_that_nobody_has_is_refused(wire: Wire, group: str) -> None:
    """K3: UNKNOWN_TOPIC_ID in both directions."""
    assert commit(wire, group, UUID(int=1), 1) == 100
    assert committed(wire, group, UUID(int=1)) == (-1, -1, "", 100)


def test_offsets_of_partitions_that_are_not_there_are_refused(wire: Wire, topic: str, group: str) -> None:
    """K3: UNKNOWN_TOPIC_OR_PARTITION; others in the same request are committed."""
    create_topic(wire, topic)
    row = {"committed_offset": 5, "committed_metadata": None}
    rows = [{"partition_index": 0, **row}, {"partition_index": 1, **row}]
    topics = [{"name": topic, "partitions": rows}, {"name": f"{topic}-absent", "partitions": rows}]
    answer = wire.ask(Key.OFFSET_COMMIT, 8, group_id=group, topics=topics)
    assert [[each.error_code for each in found.partitions] for found in answer.topics] == [[0, 3], [3, 3]]
    assert committed(wire, group, topic) == (5, -1, "", 0)


def test_everything_a_group_has_committed(wire: Wire, topic: str, group: str) -> None:
    """K3: null topics ask for all, for many groups at once, by name and by id."""
    ids = [create_topic(wire, f"{topic}-{each}", partitions=2) for each in range(2)]
    commit(wire, group, f"{topic}-0", 1)
    commit(wire, group, f"{topic}-1", 2, partition=1)
    old = wire.ask(Key.OFFSET_FETCH, 2, group_id=group, topics=None)
    assert {each.name: [one.committed_offset for one in each.partitions] for each in old.topics} == {
        f"{topic}-0": [1],
        f"{topic}-1": [2],
    }
    groups = [{"group_id": group, "topics": None}, {"group_id": f"{group}-absent", "topics": None}]
    found, absent = wire.ask(Key.OFFSET_FETCH, 10, groups=groups).groups
    assert {each.topic_id for each in found.topics} == set(ids)
    assert (absent.error_code, absent.topics) == (0, [])


def test_a_text_that_is_too_long_is_refused(wire: Wire, topic: str, group: str) -> None:
    """K3: OFFSET_METADATA_TOO_LARGE."""
    create_topic(wire, topic)
    assert commit(wire, group, topic, 1, metadata="x" * 5000) == 12
    assert committed(wire, group, topic) == NOTHING


def test_only_members_of_this_generation_commit(broker: BrokerProcess, wire: Wire, topic: str, group: str) -> None:
    """K3: strangers, old generations and outsiders are refused while the group has members."""
    create_topic(wire, topic)
    member = Member(broker.port, group)
    member.join()
    member.sync({member.id: b""})
    own = {"generation_id_or_member_epoch": member.generation, "member_id": member.id}
    assert commit(wire, group, topic, 1, **own) == 0
    assert commit(wire, group, topic, 2, **{**own, "generation_id_or_member_epoch": member.generation - 1}) == 22
    assert commit(wire, group, topic, 2, **{**own, "member_id": "stranger"}) == 25
    assert commit(wire, group, topic, 2) == 25
    assert committed(wire, group, topic)[0] == 1
    member.close()


def test_a_member_of_no_group_does_not_commit(wire: Wire, topic: str, group: str) -> None:
    """K3: as Kafka 4.3.1 answers: GROUP_ID_NOT_FOUND from version 9 on, ILLEGAL_GENERATION before; no group is made."""
    create_topic(wire, topic)
    for version, code in ((8, 22), (9, 69)):
        for member_id in ("", "stranger"):
            own = {"generation_id_or_member_epoch": 5, "member_id": member_id}
            assert commit(wire, group, topic, 1, version=version, **own) == code
    [found] = wire.ask(Key.DESCRIBE_GROUPS, 6, groups=[group]).groups
    assert found.error_code == 69


def delete_offset(wire: Wire, group: str, topic: str, partition: int = 0) -> tuple[int, list[int]]:
    topics = [{"name": topic, "partitions": [{"partition_index": partition}]}]
    answer = wire.ask(Key.OFFSET_DELETE, 0, group_id=group, topics=topics)
    return answer.error_code, [each.error_code for found in answer.topics for each in found.partitions]


def test_offsets_are_deleted(broker: BrokerProcess, wire: Wire, topic: str, group: str) -> None:
    """K3: not while a member reads the topic, or may read it."""
    create_topic(wire, topic)
    assert delete_offset(wire, group, topic) == (69, [])
    commit(wire, group, topic, 5)
    assert delete_offset(wire, group, topic) == (0, [0])
    assert committed(wire, group, topic) == NOTHING
    commit(wire, group, topic, 5)
    assert delete_offset(wire, group, topic, 9) == (0, [3])
    member = Member(broker.port, group)
    name = topic.encode()
    member.join(metadata=b"\x00\x00" + b"\x00\x00\x00\x01" + len(name).to_bytes(2, "big") + name + b"\xff" * 4)
    member.sync({member.id: b""})
    assert delete_offset(wire, group, topic) == (0, [86])
    member.close()


def test_offsets_go_with_their_topic(wire: Wire, topic: str, group: str) -> None:
    """K6: a topic made again has none."""
    create_topic(wire, topic)
    commit(wire, group, topic, 5)
    delete_topic(wire, topic)
    create_topic(wire, topic)
    assert committed(wire, group, topic) == NOTHING
