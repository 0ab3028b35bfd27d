"""Answers that are the same as Apache Kafka 4.3.1's, which was asked the same: where they were not, suites noticed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from tests.broker.inside import InsideBroker
from tests.broker.wire import Wire, batch, create_topic, delete_topic, fetch_fields, produce, read, wait_for
from tests.support.broker_process import BrokerProcess

from holdfast.broker.settings import BrokerSettings
from holdfast.io.objects.memory import MemoryObjects
from holdfast.protocol.api import Key

# What Apache Kafka 4.0 lists, by which tools guess whom they talk to: the number of an API, and its newest version.
KAFKA_4_0 = """
    0:12 1:17 2:10 3:13 8:9 9:9 10:6 11:9 12:4 13:5 14:5 15:6 16:5 17:1 18:4 19:7 20:6 21:2 22:5 23:4 24:5 25:4
    26:5 27:1 28:5 29:3 30:3 31:3 32:4 33:2 34:2 35:4 36:2 37:3 38:3 39:2 40:2 41:3 42:2 43:2 44:1 45:0 46:0 47:0
    48:1 49:1 50:0 51:0 55:2 57:2 60:2 61:0 64:0 65:0 66:1 68:1 69:1 74:0 75:0 80:0 81:0
"""
UNKNOWN_TOPIC, INVALID_TOPIC, UNSUPPORTED_VERSION, BAD_FACTOR, NO_DIR = 3, 17, 35, 38, 57


def create(wire: Wire, name: str, **wanted: Any) -> Any:
    topic = {"name": name, "num_partitions": 1, "replication_factor": 1, "assignments": [], "configs": [], **wanted}
    [made] = wire.ask(Key.CREATE_TOPICS, 7, topics=[topic], timeout_ms=5000, validate_only=False).topics
    return made


@pytest.mark.parametrize("timeout_ms", [0, -5])
def test_records_are_deleted_whatever_the_time_out(wire: Wire, topic: str, timeout_ms: int) -> None:
    """K2: the time-out is for other replicas; a leader deletes and answers, also with one of 0."""
    create_topic(wire, topic)
    produce(wire, topic, batch(b"a", b"b", b"c"))
    wanted = [{"name": topic, "partitions": [{"partition_index": 0, "offset": 2}]}]
    [[found]] = [
        each.partitions for each in wire.ask(Key.DELETE_RECORDS, 2, topics=wanted, timeout_ms=timeout_ms).topics
    ]
    assert (found.error_code, found.low_watermark) == (0, 2)


def test_what_stands_for_a_time_has_a_version_it_came_with(wire: Wire, topic: str) -> None:
    """K2: earliest local from 8 on, latest tiered from 9, earliest pending upload from 11; nothing else is known."""
    create_topic(wire, topic)
    produce(wire, topic, batch(b"a", b"b"))

    def ask(version: int, timestamp: int) -> tuple[int, int, int, int]:
        wanted = [{"partition_index": 0, "current_leader_epoch": -1, "timestamp": timestamp}]
        topics = [{"name": topic, "partitions": wanted}]
        answer = wire.ask(Key.LIST_OFFSETS, version, replica_id=-1, isolation_level=0, topics=topics)
        [[found]] = [each.partitions for each in answer.topics]
        return found.error_code, found.offset, found.timestamp, found.leader_epoch

    refused = (UNSUPPORTED_VERSION, -1, -1, -1)
    none = (0, -1, -1, -1)
    assert ask(11, -1) == (0, 2, -1, 0)
    assert ask(11, -2) == ask(8, -4) == ask(11, -4) == (0, 0, -1, 0)
    assert ask(9, -5) == ask(10, -5) == ask(11, -6) == none
    assert ask(6, -3) == ask(7, -4) == ask(8, -5) == ask(10, -6) == ask(11, -7) == ask(1, -9) == refused


def test_offsets_of_a_partition_that_is_named_twice_are_refused(wire: Wire, topic: str) -> None:
    """K2: INVALID_REQUEST each time, whatever was asked; the others are answered."""
    create_topic(wire, topic, partitions=2)
    asked = [(0, -1), (1, -1), (0, -2)]
    wanted = [{"partition_index": each, "current_leader_epoch": -1, "timestamp": time} for each, time in asked]
    topics = [{"name": topic, "partitions": wanted}]
    answer = wire.ask(Key.LIST_OFFSETS, 7, replica_id=-1, isolation_level=0, topics=topics)
    [found] = [each.partitions for each in answer.topics]
    assert [(each.partition_index, each.error_code, each.offset) for each in found] == [
        (0, 42, -1),
        (1, 0, 0),
        (0, 42, -1),
    ]


def test_names_that_differ_only_in_dots_and_underscores_collide(wire: Wire, topic: str) -> None:
    """K2: INVALID_TOPIC_EXCEPTION, until the other one is gone; a topic never collides with itself."""
    create_topic(wire, f"{topic}.a_b")
    made = create(wire, f"{topic}_a.b")
    assert made.error_code == INVALID_TOPIC
    assert f"{topic}.a_b" in made.error_message
    [named] = wire.ask(Key.METADATA, 12, topics=[{"name": f"{topic}.a.b", "topic_id": None}]).topics
    assert named.error_code == INVALID_TOPIC
    assert create(wire, f"{topic}.a_b").error_code == 36
    delete_topic(wire, f"{topic}.a_b")
    assert create(wire, f"{topic}_a.b").error_code == 0


def test_more_copies_than_brokers_are_refused_unless_the_broker_may_take_them(tmp_path: Path, wire: Wire) -> None:
    """K11: INVALID_REPLICATION_FACTOR; with the setting a topic is made, and says that it has one."""
    for factor in (3, 2, 0, -2):
        assert create(wire, "factor", replication_factor=factor).error_code == BAD_FACTOR
    settings = BrokerSettings(holdfast_accept_any_replication_factor=True)
    with InsideBroker(tmp_path, MemoryObjects(), broker=settings) as inside, Wire(inside.port) as lenient:
        assert create(lenient, "zero", replication_factor=0).error_code == BAD_FACTOR
        made = create(lenient, "three", replication_factor=3)
        assert (made.error_code, made.replication_factor) == (0, 1)


def test_a_partition_may_be_moved_to_where_it_is(wire: Wire, topic: str) -> None:
    """K2: AlterReplicaLogDirs takes the one directory there is, and LOG_DIR_NOT_FOUND says that there is no other."""
    create_topic(wire, topic)
    [where] = [each.log_dir for each in wire.ask(Key.DESCRIBE_LOG_DIRS, 4, topics=None).results]

    def move(path: str, name: str) -> list[tuple[int, int]]:
        dirs = [{"path": path, "topics": [{"name": name, "partitions": [0, 5]}]}]
        [moved] = wire.ask(Key.ALTER_REPLICA_LOG_DIRS, 2, dirs=dirs).results
        return [(each.partition_index, each.error_code) for each in moved.partitions]

    assert move(where, topic) == [(0, 0), (5, UNKNOWN_TOPIC)]
    assert move(where, "absent") == [(0, UNKNOWN_TOPIC), (5, UNKNOWN_TOPIC)]
    assert move("/elsewhere", topic) == [(0, NO_DIR), (5, NO_DIR)]


def test_the_first_leader_epoch_is_0(own_broker: Callable[..., BrokerProcess]) -> None:
    """K2: in metadata, in batches, in ListOffsets; who seeks with it stays where it is. A kill begins the next one."""
    process = own_broker()
    with Wire(process.port) as wire:
        create_topic(wire, "t")
        produce(wire, "t", batch(b"a", b"b"))
        assert _epochs(wire) == (0, 0, 0, (0, 2))
    process.kill()
    process.start()
    with Wire(process.port) as wire:
        produce(wire, "t", batch(b"c"))
        assert _epochs(wire) == (1, 0, 1, (0, 2))


def test_who_seeks_with_epoch_0_in_a_topic_of_a_later_one_lands_at_its_beginning(
    own_broker: Callable[..., BrokerProcess],
) -> None:
    """K2: a topic that is made after a kill begins in the broker's epoch. No record of it was ever in a lower one, so a
    reader that says so has read another history, and is told where ours begins."""
    process = own_broker()
    process.kill()
    process.start()
    with Wire(process.port) as wire:
        create_topic(wire, "t")
        produce(wire, "t", batch(b"a", b"b"))
        assert _epochs(wire) == (1, 1, 1, (0, 0))


def _epochs(wire: Wire) -> tuple[int, int, int, tuple[int, int]]:
    """The current one, that of the first batch, that of the end, and where epoch 0 ends."""
    [topic] = wire.ask(Key.METADATA, 12, topics=[{"name": "t", "topic_id": None}]).topics
    [[fetched]] = [each.partitions for each in wire.ask(Key.FETCH, 12, **fetch_fields("t")).responses]
    assert read(fetched.records)
    first = int.from_bytes(bytes(fetched.records[12:16]), "big", signed=True)
    wanted = [{"name": "t", "partitions": [{"partition_index": 0, "current_leader_epoch": -1, "timestamp": -1}]}]
    [[ends]] = [
        each.partitions
        for each in wire.ask(Key.LIST_OFFSETS, 7, replica_id=-1, isolation_level=0, topics=wanted).topics
    ]
    asked = [{"topic": "t", "partitions": [{"partition": 0, "current_leader_epoch": -1, "leader_epoch": 0}]}]
    [[epoch]] = [
        each.partitions for each in wire.ask(Key.OFFSET_FOR_LEADER_EPOCH, 4, replica_id=-1, topics=asked).topics
    ]
    assert (topic.error_code, ends.error_code, epoch.error_code) == (0, 0, 0)
    return topic.partitions[0].leader_epoch, first, ends.leader_epoch, (epoch.leader_epoch, epoch.end_offset)


def test_a_pattern_matches_internal_topics_too(wire: Wire, topic: str, group: str) -> None:
    """K3: in a group whose coordinator assigns; the pattern says what it leaves out."""
    create_topic(wire, topic)
    names = {each.topic_id: each.name for each in wire.ask(Key.METADATA, 12, topics=None).topics}
    member = {"group_id": group, "member_id": str(uuid4()), "rebalance_timeout_ms": 5000, "topic_partitions": []}
    pattern = f"{topic}|__consumer_offsets"
    joined = wire.ask(
        Key.CONSUMER_GROUP_HEARTBEAT, 1, subscribed_topic_names=[], subscribed_topic_regex=pattern, **member
    )
    found: set[str] = set()

    def beaten() -> bool:
        answer = wire.ask(Key.CONSUMER_GROUP_HEARTBEAT, 1, member_epoch=joined.member_epoch, **member)
        assert answer.error_code == 0, answer.error_message
        rows = answer.assignment.topic_partitions if answer.assignment else []
        found.update(names[each.topic_id] for each in rows)
        return found == {topic, "__consumer_offsets"}

    found.update(names[each.topic_id] for each in (joined.assignment.topic_partitions if joined.assignment else []))
    wait_for(lambda: found == {topic, "__consumer_offsets"} or beaten())


def test_tools_that_guess_the_version_find_that_of_kafka_4(wire: Wire) -> None:
    """K1: no API of 4.0 is missing, or older; franz-go and all that is made of it compare just that."""
    answer = wire.ask(Key.API_VERSIONS, 4, client_software_name="t", client_software_version="1")
    ours = {each.api_key: each.max_version for each in answer.api_keys}
    theirs = [tuple(map(int, each.split(":"))) for each in KAFKA_4_0.split()]
    assert [each for each in theirs if ours.get(each[0], -1) < each[1]] == []


def test_there_is_one_voter(wire: Wire) -> None:
    """K1: DescribeQuorum names this broker, and the metadata's version as its end; no other partition has a quorum."""
    wanted = [{"topic_name": "__cluster_metadata", "partitions": [{"partition_index": 0}, {"partition_index": 3}]}]
    answer = wire.ask(Key.DESCRIBE_QUORUM, 2, topics=wanted)
    [[found, absent]] = [each.partitions for each in answer.topics]
    assert (found.error_code, found.leader_id, len(found.current_voters)) == (0, 0, 1)
    assert found.current_voters[0].log_end_offset == found.high_watermark > 0
    assert (absent.error_code, absent.current_voters) == (UNKNOWN_TOPIC, [])
    assert [each.node_id for each in answer.nodes] == [0]


def test_nobody_wants_the_metrics_of_clients(wire: Wire) -> None:
    """K1: a client gets an id and an empty subscription; what it pushes all the same is not taken."""
    told = wire.ask(Key.GET_TELEMETRY_SUBSCRIPTIONS, 0, client_instance_id=None)
    assert (told.error_code, told.requested_metrics) == (0, [])
    assert told.client_instance_id is not None
    again = wire.ask(Key.GET_TELEMETRY_SUBSCRIPTIONS, 0, client_instance_id=told.client_instance_id)
    assert again.client_instance_id == told.client_instance_id
    pushed = wire.ask(Key.PUSH_TELEMETRY, 0, client_instance_id=told.client_instance_id, metrics=b"m")
    assert pushed.error_code == 117
