"""K7: the decoders by hand and those made from schemas agree on damaged messages: what is refused, and what it says."""

from __future__ import annotations

import random
from typing import Any

import pytest
from tests.protocol import fuzz

from holdfast.protocol.api import APIS, Key
from holdfast.protocol.hot import fetch, produce

DECODERS = fuzz.decoders()
COUNT = 600
IDS_FROM = 13  # Of both: from this version on topics are named by their ids.


def versions(key: Key) -> range:
    return range(APIS[key].min_version, APIS[key].max_version + 1)


def topic_of(topic: Any, version: int = 0) -> Any:
    """A topic's name or id, whoever read it."""
    if isinstance(topic, produce.ProduceTopic | fetch.FetchTopic | fetch.ForgottenTopic):
        return topic.name if topic.topic_id is None else topic.topic_id
    name = topic.name if hasattr(topic, "name") else topic.topic
    return name if version < IDS_FROM else topic.topic_id.bytes if topic.topic_id else bytes(16)


def produce_by_hand(request: produce.ProduceRequest) -> list[Any]:
    topics = [
        (topic_of(topic), [(part.partition, part.records and bytes(part.records)) for part in topic.partitions])
        for topic in request.topics
    ]
    return [*request[:3], topics]


def produce_by_schema(request: Any, version: int) -> list[Any]:
    topics = [
        (topic_of(topic, version), [(part.index, part.records) for part in topic.partition_data])
        for topic in request.topic_data
    ]
    return [request.transactional_id, request.acks, request.timeout_ms, topics]


@pytest.mark.parametrize("version", versions(Key.PRODUCE))
def test_produce(version: int) -> None:
    """K7: both refuse the same produce requests, and read the same."""
    entity_class, by_hand = DECODERS[f"Produce v{version} request by hand"]
    by_schema = DECODERS[f"Produce v{version} request"][1]
    chance = random.Random(version)
    outcomes = []
    for _ in range(COUNT):
        data = fuzz.damaged(chance, entity_class)
        outcomes.append(fuzz.attempt(by_hand, data))
        assert fuzz.attempt(by_schema, data) == outcomes[-1], data.hex()
        if outcomes[-1]:
            said = produce_by_schema(by_schema(memoryview(data)), version)
            assert produce_by_hand(by_hand(memoryview(data))) == said, data.hex()
    assert COUNT * 0.02 < sum(outcomes) < COUNT * 0.98


def fetch_by_hand(request: fetch.FetchRequest) -> list[Any]:
    topics = [(topic_of(topic), [tuple(part) for part in topic.partitions]) for topic in request.topics]
    forgotten = [(topic_of(topic), topic.partitions) for topic in request.forgotten]
    return [*request[:8], topics, forgotten, request.rack_id]


def fetch_by_schema(request: Any, version: int) -> list[Any]:
    state = request.replica_state
    replica = (state.replica_id, state.replica_epoch) if state else (request.replica_id, -1)
    limits = (request.max_wait_ms, request.min_bytes, request.max_bytes, request.isolation_level)
    topics = [
        (topic_of(topic, version), [fetch_partition(part) for part in topic.partitions]) for topic in request.topics
    ]
    forgotten = [(topic_of(topic, version), topic.partitions) for topic in request.forgotten_topics_data]
    return [*replica, *limits, request.session_id, request.session_epoch, topics, forgotten, request.rack_id]


def fetch_partition(part: Any) -> tuple[int, ...]:
    epochs = (part.current_leader_epoch, part.fetch_offset, part.last_fetched_epoch)
    return (part.partition, *epochs, part.log_start_offset, part.partition_max_bytes)


@pytest.mark.parametrize("version", versions(Key.FETCH))
def test_fetch(version: int) -> None:
    """K7: both read the same fetch requests; what only the schema refuses are tags that are passed over by hand."""
    entity_class, by_hand = DECODERS[f"Fetch v{version} request by hand"]
    by_schema = DECODERS[f"Fetch v{version} request"][1]
    chance = random.Random(version)
    outcomes = []
    for _ in range(COUNT):
        data = fuzz.damaged(chance, entity_class)
        outcomes.append(fuzz.attempt(by_hand, data))
        if fuzz.attempt(by_schema, data):
            said = fetch_by_schema(by_schema(memoryview(data)), version)
            assert fetch_by_hand(by_hand(memoryview(data))) == said, data.hex()
        else:
            assert not outcomes[-1] or version >= fetch.FLEXIBLE_FROM, data.hex()
    assert COUNT * 0.02 < sum(outcomes) < COUNT * 0.98
