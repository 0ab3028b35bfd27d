"""K2: fetch requests and answers by hand are those that two other implementations know."""

from __future__ import annotations

import random
from dataclasses import fields, is_dataclass, replace
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kafka.protocol.consumer import FetchResponse as KafkaFetchResponse
from tests.protocol import oracle

from holdfast.protocol.api import APIS, Key
from holdfast.protocol.errors import Malformed
from holdfast.protocol.hot import fetch
from holdfast.protocol.hot.fetch_response import (
    AbortedTransaction,
    CurrentLeader,
    EpochEnd,
    Fetched,
    FetchedTopic,
    SnapshotId,
    encode_response,
)

VERSIONS = range(APIS[Key.FETCH].min_version, APIS[Key.FETCH].max_version + 1)
INT32 = st.integers(-(2**31), 2**31 - 1)
INT64 = st.integers(-(2**63), 2**63 - 1)


def check_request(version: int, request: fetch.FetchRequest, said: dict[str, Any]) -> None:
    state = said.get("replica_state")
    assert request.replica_id == (state["replica_id"] if state else said["replica_id"])
    assert request.replica_epoch == (state["replica_epoch"] if state else -1)
    assert request[2:6] == (said["max_wait"], said["min_bytes"], said["max_bytes"], said["isolation_level"])
    assert request[6:8] == (said.get("session_id", 0), said.get("session_epoch", -1))
    assert request.rack_id == said.get("rack_id", "")
    for topic, expected in zip(request.topics, said["topics"], strict=True):
        check_topic(topic, expected)
        for part, other in zip(topic.partitions, expected["partitions"], strict=True):
            check_partition(part, other)
    for forgotten, expected in zip(request.forgotten, said.get("forgotten_topics_data", []), strict=True):
        check_topic(forgotten, expected)
        assert forgotten.partitions == expected["partitions"]


def check_topic(topic: fetch.FetchTopic | fetch.ForgottenTopic, expected: dict[str, Any]) -> None:
    assert topic.name == expected.get("topic")
    assert topic.topic_id == (oracle.raw_uuid(expected["topic_id"]) if "topic_id" in expected else None)


def check_partition(part: fetch.FetchPartition, other: dict[str, Any]) -> None:
    assert part.partition == other["partition"]
    assert part.current_leader_epoch == other.get("current_leader_epoch", -1)
    assert part.fetch_offset == other["fetch_offset"]
    assert part.last_fetched_epoch == other.get("last_fetched_epoch", -1)
    assert part.log_start_offset == other.get("log_start_offset", -1)
    assert part.max_bytes == other["partition_max_bytes"]


def consumer(entity: Any) -> Any:
    """The entity without what only replicas send: then all partitions are read in one go."""
    return strip(entity, "replica_directory_id", "high_watermark")


def strip(entity: Any, *names: str) -> Any:
    values = {field.name: getattr(entity, field.name) for field in fields(entity) if field.name not in names}
    for name, value in values.items():
        if isinstance(value, tuple):
            values[name] = tuple(strip(item, *names) if is_dataclass(item) else item for item in value)
    return type(entity)(**values)


@pytest.mark.parametrize("version", VERSIONS)
def test_random_requests(version: int) -> None:
    """K2: what the oracle wrote is read as it was meant, with a replica's tags and without."""
    for seed in range(100):
        whole = oracle.entity(random.Random(seed), oracle.request_entity(Key.FETCH, version))
        for entity in (whole, consumer(whole)):
            request = fetch.decode_request(version, memoryview(oracle.encode(entity)))
            check_request(version, request, oracle.values_of_entity(entity))


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("count", [3, 4, 5, 126, 127, 300])
def test_many_partitions(version: int, count: int) -> None:
    """K2: however many partitions, all with a replica's tags, none, or only the last with some."""
    chance = random.Random(count)
    entity_class = oracle.request_entity(Key.FETCH, version)
    entity = next(found for found in iter(lambda: oracle.entity(chance, entity_class), None) if has_partition(found))
    part = next(topic.partitions[0] for topic in entity.topics if topic.partitions)
    for parts in ([part] * count, [consumer(part)] * count, [consumer(part)] * (count - 1) + [part]):
        numbered = tuple(replace(part, partition=number) for number, part in enumerate(parts))
        many = replace(entity, topics=tuple(replace(topic, partitions=numbered) for topic in entity.topics))
        request = fetch.decode_request(version, memoryview(oracle.encode(many)))
        check_request(version, request, oracle.values_of_entity(many))


def has_partition(entity: Any) -> bool:
    return any(topic.partitions for topic in entity.topics)


@pytest.mark.parametrize("version", VERSIONS)
def test_every_cut_is_malformed(version: int) -> None:
    """K7: a request that ends anywhere too early is refused, with its name."""
    for seed in range(5):
        entity = oracle.entity(random.Random(seed), oracle.request_entity(Key.FETCH, version))
        whole = oracle.encode(entity)
        for size in range(len(whole)):
            with pytest.raises(Malformed, match=f"^Fetch v{version} request, byte "):
                fetch.decode_request(version, memoryview(whole)[:size])


def test_known_bytes() -> None:
    """K2: a sessionless request of version 4 and an incremental one of version 15, byte by byte."""
    old = bytes.fromhex(
        "ffffffff 000001f4 00000001 00100000 00"  # replica, wait, min bytes, max bytes, isolation
        "00000001 0001 74 00000001 00000003 000000000000002a 00004000"
    )
    part = fetch.FetchPartition(3, -1, 42, -1, -1, 0x4000)
    topics = [fetch.FetchTopic("t", None, [part])]
    assert fetch.decode_request(4, memoryview(old)) == (-1, -1, 500, 1, 1 << 20, 0, 0, -1, topics, [], "")
    new = bytes.fromhex("000001f4 00000001 00100000 01 0000000b 00000002 01 01 01 00")
    assert fetch.decode_request(15, memoryview(new)) == (-1, -1, 500, 1, 1 << 20, 1, 11, 2, [], [], "")


def fetched() -> st.SearchStrategy[Fetched]:
    return st.builds(
        Fetched,
        INT32,
        st.sampled_from([int(code) for code in oracle.ErrorCode]),
        INT64,
        INT64,
        INT64,
        st.none() | st.lists(st.builds(AbortedTransaction, INT64, INT64), max_size=3),
        INT32,
        st.lists(st.binary(max_size=150).map(memoryview), max_size=3),
        st.none() | st.builds(EpochEnd, INT32, INT64),
        st.none() | st.builds(CurrentLeader, INT32, INT32),
        st.none() | st.builds(SnapshotId, INT64, INT32),
    )


@settings(max_examples=300, deadline=None)
@given(
    version=st.sampled_from(VERSIONS),
    names=st.lists(st.text(max_size=140), max_size=3),
    answers=st.lists(fetched(), max_size=4),
    error_code=st.sampled_from([0, 70, 71]),
    session_id=INT32,
    throttle_ms=st.integers(0, 2**31 - 1),
)
def test_answers(
    version: int, names: list[str], answers: list[Fetched], error_code: int, session_id: int, throttle_ms: int
) -> None:
    """K2: what we answer is what both other implementations read."""
    ids = [(b"%016d" % n) for n in range(len(names))]
    topics = [FetchedTopic(topic, answers) for topic in (ids if version >= 13 else names)]
    buffers = encode_response(version, topics, error_code=error_code, session_id=session_id, throttle_ms=throttle_ms)
    body = b"".join(buffers)
    entity = oracle.values_of_entity(oracle.decode(oracle.response_entity(Key.FETCH, version), body))
    assert entity["throttle_time"] == throttle_ms
    if version >= 7:
        assert (entity["error_code"], entity["session_id"]) == (error_code, session_id)
    for found, expected in zip(entity["responses"], topics, strict=True):
        assert (found["topic_id"].bytes if version >= 13 else found["topic"]) == expected.topic
        for part, answer in zip(found["partitions"], answers, strict=True):
            check_answer(version, part, answer)
    assert KafkaFetchResponse.decode(body, version=version).encode() == body


def check_answer(version: int, part: dict[str, Any], answer: Fetched) -> None:
    assert part["partition_index"] == answer.partition
    assert part["error_code"] == answer.error_code
    assert (part["high_watermark"], part["last_stable_offset"]) == (answer.high_watermark, answer.last_stable_offset)
    if version >= 5:
        assert part["log_start_offset"] == answer.log_start_offset
    aborted = part["aborted_transactions"]
    assert (aborted is None) == (answer.aborted is None)
    assert [tuple(pair.values()) for pair in aborted or []] == list(answer.aborted or [])
    if version >= 11:
        assert part["preferred_read_replica"] == answer.preferred_read_replica
    assert part["records"] == b"".join(answer.records)
    if version >= 12:
        for name, default in (("diverging_epoch", (-1, -1)), ("current_leader", (-1, -1)), ("snapshot_id", (-1, -1))):
            assert tuple(part[name].values()) == (getattr(answer, name) or default)


@pytest.mark.parametrize("version", VERSIONS)
def test_records_go_out_as_they_are(version: int) -> None:
    """K2: the views that were handed in are the views that come out, in their order."""
    views = [memoryview(b"batch %d" % n) for n in range(4)]
    answers = [Fetched(0, records=views[:1]), Fetched(1), Fetched(2, records=views[1:])]
    topic: str | bytes = bytes(range(16)) if version >= 13 else "orders"
    buffers = encode_response(version, [FetchedTopic(topic, answers)])
    assert [buffer for buffer in buffers if any(buffer is view for view in views)] == views


@pytest.mark.parametrize("version", VERSIONS)
def test_nothing_aborted_is_not_null(version: int) -> None:
    """K2: null for uncommitted readers, an empty list for committed ones without aborted transactions."""
    topic: str | bytes = bytes(range(16)) if version >= 13 else "orders"
    answers = [Fetched(0, aborted=None), Fetched(1, aborted=[])]
    body = b"".join(encode_response(version, [FetchedTopic(topic, answers)]))
    entity = oracle.decode(oracle.response_entity(Key.FETCH, version), body)
    assert [part.aborted_transactions for part in entity.responses[0].partitions] == [None, ()]
    assert [part.records for part in entity.responses[0].partitions] == [b"", b""]


def test_topic_ids_are_raw_bytes() -> None:
    """K2: an id goes out as it came in."""
    topic_id = UUID("01020304-0506-0708-090a-0b0c0d0e0f10")
    body = b"".join(encode_response(13, [FetchedTopic(topic_id.bytes, [])]))
    assert oracle.decode(oracle.response_entity(Key.FETCH, 13), body).responses[0].topic_id == topic_id
