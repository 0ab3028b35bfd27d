"""What clients are told of the cluster and its topics."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import UUID

from tests.broker.inside import InsideBroker
from tests.broker.wire import Wire, create_topic
from tests.support.broker_process import BrokerProcess

from holdfast.broker.settings import BrokerSettings
from holdfast.io.objects.memory import MemoryObjects
from holdfast.protocol.api import Key

NOT_ASKED = -(2**31)


def bits(operations: int) -> set[int]:
    return {bit for bit in range(32) if operations >> bit & 1}


def names(answer: Any) -> set[str]:
    return {each.name for each in answer.topics}


def test_null_asks_for_all_topics_and_an_empty_list_for_none(wire: Wire, topic: str) -> None:
    """K1: except in version 0, where an empty list asks for all."""
    create_topic(wire, topic)
    assert {topic, "__consumer_offsets"} <= names(wire.ask(Key.METADATA, 9, topics=None))
    assert names(wire.ask(Key.METADATA, 9, topics=[])) == set()
    assert topic in names(wire.ask(Key.METADATA, 0, topics=[]))


def test_one_broker_leads_everything(broker: BrokerProcess, wire: Wire, topic: str) -> None:
    """K2: partitions, leader, epoch, id; internal topics are marked."""
    topic_id = create_topic(wire, topic, partitions=2)
    answer = wire.ask(Key.METADATA, 13, topics=[{"topic_id": None, "name": topic}], allow_auto_topic_creation=False)
    [node] = answer.brokers
    assert (node.node_id, node.host, node.port, answer.controller_id) == (0, "127.0.0.1", broker.port, 0)
    [found] = answer.topics
    assert (found.error_code, found.topic_id, found.is_internal) == (0, topic_id, False)
    assert [each.partition_index for each in found.partitions] == [0, 1]
    for each in found.partitions:
        assert (each.leader_id, each.replica_nodes, each.isr_nodes, each.offline_replicas) == (0, [0], [0], [])
        assert each.leader_epoch == 0
    [internal] = wire.ask(Key.METADATA, 9, topics=[{"name": "__consumer_offsets"}]).topics
    assert internal.is_internal


def test_topics_are_found_by_id(wire: Wire, topic: str) -> None:
    """K2: UNKNOWN_TOPIC_ID for one that nobody has."""
    topic_id = create_topic(wire, topic)
    wanted = [{"topic_id": topic_id, "name": None}, {"topic_id": UUID(int=1), "name": None}]
    found, absent = wire.ask(Key.METADATA, 12, topics=wanted).topics
    assert (found.error_code, found.name) == (0, topic)
    assert (absent.error_code, absent.name, absent.topic_id) == (100, None, UUID(int=1))


def test_naming_a_topic_makes_it_unless_the_client_says_no(wire: Wire, topic: str) -> None:
    """K2: made when asked for, with the default number of partitions; UNKNOWN_TOPIC_OR_PARTITION otherwise. Who has it
    made hears the same, as from Kafka, and finds it with the next request."""
    [refused] = wire.ask(Key.METADATA, 9, topics=[{"name": topic}], allow_auto_topic_creation=False).topics
    assert (refused.error_code, refused.name) == (3, topic)
    [begun] = wire.ask(Key.METADATA, 9, topics=[{"name": topic}], allow_auto_topic_creation=True).topics
    assert (begun.error_code, begun.name, begun.partitions) == (3, topic, [])
    [made] = wire.ask(Key.METADATA, 9, topics=[{"name": topic}], allow_auto_topic_creation=True).topics
    assert (made.error_code, len(made.partitions)) == (0, 1)
    [wrong] = wire.ask(Key.METADATA, 9, topics=[{"name": "no name"}], allow_auto_topic_creation=True).topics
    assert wrong.error_code == 17


def test_auto_creation_follows_the_settings(tmp_path: Path, topic: str) -> None:
    """K2: num.partitions, and auto.create.topics.enable."""
    settings = BrokerSettings(num_partitions=4)
    with InsideBroker(tmp_path / "four", MemoryObjects(), broker=settings) as inside, Wire(inside.port) as four:
        four.ask(Key.METADATA, 4, topics=[{"name": topic}], allow_auto_topic_creation=True)
        [made] = four.ask(Key.METADATA, 4, topics=[{"name": topic}], allow_auto_topic_creation=False).topics
        assert len(made.partitions) == 4
    settings = BrokerSettings(auto_create_topics_enable=False, node_id=7)
    with InsideBroker(tmp_path / "never", MemoryObjects(), broker=settings) as inside, Wire(inside.port) as never:
        answer = never.ask(Key.METADATA, 4, topics=[{"name": topic}], allow_auto_topic_creation=True)
        assert answer.topics[0].error_code == 3
        assert answer.brokers[0].node_id == 7


def test_operations_are_told_only_when_asked_for(wire: Wire, topic: str) -> None:
    """K1: all of them, since there is no authorizer."""
    create_topic(wire, topic)
    wanted = [{"name": topic}]
    plain = wire.ask(Key.METADATA, 10, topics=wanted)
    assert (plain.topics[0].topic_authorized_operations, plain.cluster_authorized_operations) == (NOT_ASKED, NOT_ASKED)
    asked = wire.ask(
        Key.METADATA,
        10,
        topics=wanted,
        include_topic_authorized_operations=True,
        include_cluster_authorized_operations=True,
    )
    assert bits(asked.topics[0].topic_authorized_operations) == {3, 4, 5, 6, 7, 8, 10, 11}
    assert bits(asked.cluster_authorized_operations) == {5, 7, 8, 9, 10, 11, 12}


def test_the_cluster_is_described(broker: BrokerProcess, wire: Wire) -> None:
    """K1: its id is the one of Metadata; controllers are elsewhere, which is: nowhere."""
    found = wire.ask(Key.DESCRIBE_CLUSTER, 2)
    [node] = found.brokers
    assert (node.broker_id, node.host, node.port, node.is_fenced) == (0, "127.0.0.1", broker.port, False)
    assert found.cluster_id == wire.ask(Key.METADATA, 9, topics=[]).cluster_id
    assert (found.controller_id, found.cluster_authorized_operations) == (0, NOT_ASKED)
    assert wire.ask(Key.DESCRIBE_CLUSTER, 1, endpoint_type=2).error_code == 114
    assert wire.ask(Key.DESCRIBE_CLUSTER, 1, endpoint_type=9).error_code == 115


# DescribeTopicPartitions


def page(wire: Wire, topics: list[str], limit: int, cursor: Any = None) -> tuple[list[tuple[str, list[int]]], Any]:
    answer = wire.ask(
        Key.DESCRIBE_TOPIC_PARTITIONS,
        0,
        topics=[{"name": each} for each in topics],
        response_partition_limit=limit,
        cursor=cursor,
    )
    found = [(each.name, [one.partition_index for one in each.partitions]) for each in answer.topics]
    after = answer.next_cursor
    return found, after and {"topic_name": after.topic_name, "partition_index": after.partition_index}


def test_topics_are_described_page_by_page(wire: Wire, topic: str) -> None:
    """K1: sorted by name, as many partitions as asked for, and a cursor to go on from."""
    first, second = f"{topic}-a", f"{topic}-b"
    create_topic(wire, first, partitions=3)
    create_topic(wire, second, partitions=2)
    wanted = [second, first]
    assert page(wire, wanted, 100) == ([(first, [0, 1, 2]), (second, [0, 1])], None)
    found, cursor = page(wire, wanted, 2)
    assert (found, cursor) == ([(first, [0, 1])], {"topic_name": first, "partition_index": 2})
    found, cursor = page(wire, wanted, 2, cursor)
    assert (found, cursor) == ([(first, [2]), (second, [0])], {"topic_name": second, "partition_index": 1})
    assert page(wire, wanted, 2, cursor) == ([(second, [1])], None)
    assert page(wire, wanted, 3) == ([(first, [0, 1, 2])], {"topic_name": second, "partition_index": 0})


def test_an_unknown_topic_is_an_error_of_its_own(wire: Wire, topic: str) -> None:
    """K1: error 3 inside the topic, and no cursor."""
    answer = wire.ask(Key.DESCRIBE_TOPIC_PARTITIONS, 0, topics=[{"name": topic}], response_partition_limit=10)
    [found] = answer.topics
    assert (found.error_code, found.name, found.partitions, answer.next_cursor) == (3, topic, [], None)


def test_no_name_at_all_asks_for_all_topics(wire: Wire, topic: str) -> None:
    """K1: internal ones too, on as many pages as it takes: other tests' topics may fill more than one."""
    create_topic(wire, topic)
    found, cursor = page(wire, [], 2000)
    while cursor is not None:
        more, cursor = page(wire, [], 2000, cursor)
        found += more
    assert {topic, "__consumer_offsets"} <= {name for name, _ in found}


def test_a_changed_topic_is_told_as_it_is(wire: Wire, topic: str) -> None:
    """K2: what is kept of a topic's answer is forgotten when the topic changes."""

    def told(version: int) -> tuple[int, int]:
        [found] = wire.ask(Key.METADATA, version, topics=[{"topic_id": None, "name": topic}]).topics
        return found.error_code, len(found.partitions)

    create_topic(wire, topic)
    assert told(12) == told(12) == told(4) == (0, 1)
    topics = [{"name": topic, "count": 3, "assignments": None}]
    assert wire.ask(Key.CREATE_PARTITIONS, 3, topics=topics, timeout_ms=5000).results[0].error_code == 0
    assert told(12) == told(4) == (0, 3)


def test_a_topic_without_name_and_id_is_refused(wire: Wire) -> None:
    """K7: INVALID_TOPIC_EXCEPTION, and the connection stays."""
    for version in (10, 11, 12, 13):
        [refused] = wire.ask(Key.METADATA, version, topics=[{"topic_id": None, "name": None}]).topics
        assert (refused.error_code, refused.name) == (17, "" if version < 12 else None)
    [absent] = wire.ask(Key.METADATA, 10, topics=[{"topic_id": UUID(int=1), "name": None}]).topics
    assert (absent.error_code, absent.name) == (100, "")
