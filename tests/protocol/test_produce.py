"""K2: produce requests and answers by hand are those that two other implementations know."""

from __future__ import annotations

import random
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kafka.protocol.producer import ProduceRequest as KafkaProduceRequest
from kafka.protocol.producer import ProduceResponse as KafkaProduceResponse
from tests.protocol import oracle

from holdfast.protocol.api import APIS, Key
from holdfast.protocol.errors import Malformed
from holdfast.protocol.header import frame_response
from holdfast.protocol.hot import produce
from holdfast.protocol.hot.produce_response import Produced, ProducedTopic, encode_response, frame_one

VERSIONS = range(APIS[Key.PRODUCE].min_version, APIS[Key.PRODUCE].max_version + 1)
TOPIC_ID = bytes(range(16))


def plain(request: produce.ProduceRequest) -> dict[str, Any]:
    """What a request says, in the oracle's words."""
    return {
        "transactional_id": request.transactional_id,
        "acks": request.acks,
        "timeout": request.timeout_ms,
        "topic_data": [plain_topic(topic) for topic in request.topics],
    }


def plain_topic(topic: produce.ProduceTopic) -> dict[str, Any]:
    parts = [
        {"index": part.partition, "records": None if part.records is None else bytes(part.records)}
        for part in topic.partitions
    ]
    if topic.topic_id is None:
        return {"name": topic.name, "partition_data": parts}
    return {"topic_id": UUID(bytes=topic.topic_id) if any(topic.topic_id) else None, "partition_data": parts}


def encoded(
    version: int, *partitions: bytes | None, transactional_id: str | None = None, name: str = "orders"
) -> bytearray:
    """A request for some partitions of one topic, by kafka-python."""
    topic_class = KafkaProduceRequest.TopicProduceData
    parts = [topic_class.PartitionProduceData(index=n, records=records) for n, records in enumerate(partitions)]
    topic = topic_class(name=name, topic_id=UUID(bytes=TOPIC_ID), partition_data=parts)
    request = KafkaProduceRequest(acks=-1, timeout_ms=1500, transactional_id=transactional_id, topic_data=[topic])
    return bytearray(request.encode(version=version))


@pytest.mark.parametrize("version", VERSIONS)
def test_random_requests(version: int) -> None:
    """K2: what the oracle wrote is read as it was meant."""
    for seed in range(100):
        entity = oracle.entity(random.Random(seed), oracle.request_entity(Key.PRODUCE, version))
        request = produce.decode_request(version, memoryview(oracle.encode(entity)))
        assert plain(request) == oracle.values_of_entity(entity), seed


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("size", [0, 1, 126, 127, 128, 16_382, 16_383, 16_384, 2_097_150, 2_097_151, 2_097_152])
def test_one_partition(version: int, size: int) -> None:
    """K2: the usual request, with sizes around the steps of varints."""
    records = random.Random(size).randbytes(size)
    for name in ("o", "o" * 126, "o" * 127, "o" * 249):
        request = produce.decode_request(version, memoryview(encoded(version, records, name=name)))
        assert request[:3] == (None, -1, 1500)
        (topic,) = request.topics
        assert (topic.name, topic.topic_id) == ((name, None) if version < 13 else (None, TOPIC_ID))
        assert [(part.partition, bytes(part.records or b"")) for part in topic.partitions] == [(0, records)]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("partitions", [(b"one",), (b"one", b"two")])
def test_records_stay_where_they_were_received(version: int, partitions: tuple[bytes, ...]) -> None:
    """K2: records are views of the received bytes, and can be stamped there."""
    received = encoded(version, *partitions)
    for part in produce.decode_request(version, memoryview(received)).topics[0].partitions:
        assert part.records is not None
        assert part.records.obj is received
        part.records[0:3] = b"new"
    assert received.count(b"new") == len(partitions)


@pytest.mark.parametrize("version", VERSIONS)
def test_null_records_are_told_from_empty_ones(version: int) -> None:
    """K2: null records are the broker's to refuse."""
    for partitions in ((None,), (b"",), (None, b"", b"x", None)):
        request = produce.decode_request(version, memoryview(encoded(version, *partitions)))
        found = [part.records if part.records is None else bytes(part.records) for part in request.topics[0].partitions]
        assert found == list(partitions)


@pytest.mark.parametrize("version", VERSIONS)
def test_transactional_id(version: int) -> None:
    """K4: a transactional producer's request has its id."""
    request = produce.decode_request(version, memoryview(encoded(version, b"x", transactional_id="tx")))
    assert request.transactional_id == "tx"
    assert bytes(request.topics[0].partitions[0].records or b"") == b"x"


@pytest.mark.parametrize("version", VERSIONS)
def test_every_cut_is_malformed(version: int) -> None:
    """K7: a request that ends anywhere too early is refused, with its name."""
    many = encoded(version, b"records", None, b"", transactional_id="tx")
    for whole in (encoded(version, b"records"), encoded(version, None), encoded(version, b""), many):
        for size in range(len(whole)):
            with pytest.raises(Malformed, match=f"^Produce v{version} request, byte "):
                produce.decode_request(version, memoryview(whole)[:size])


def test_known_bytes() -> None:
    """K2: a request of version 3 and one of version 9, byte by byte."""
    plain_body = bytes.fromhex("ffff ffff 000005dc 00000001 0001 74 00000001 00000007 00000003 aabbcc")
    compact_body = bytes.fromhex("00 ffff 000005dc 02 02 74 02 00000007 04 aabbcc 00 00 00")
    for version, body in ((3, plain_body), (9, compact_body)):
        request = produce.decode_request(version, memoryview(body))
        part = produce.ProducePartition(7, memoryview(b"\xaa\xbb\xcc"))
        assert request == (None, -1, 1500, [produce.ProduceTopic("t", None, [part])])


def test_unknown_tags_are_passed_over() -> None:
    """K1: clients may send tagged fields that nobody here knows."""
    body = bytes.fromhex("00 ffff 000005dc 02 02 74 02 00000007 04 aabbcc 01 05 02 1111 01 80 01 01 22 02 00 00 01 00")
    (topic,) = produce.decode_request(9, memoryview(body)).topics
    assert [bytes(part.records or b"") for part in topic.partitions] == [b"\xaa\xbb\xcc"]


def produced() -> st.SearchStrategy[Produced]:
    return st.builds(
        Produced,
        st.integers(-(2**31), 2**31 - 1),
        st.sampled_from([int(code) for code in oracle.ErrorCode]),
        st.integers(-(2**63), 2**63 - 1),
        st.just(-1) | st.integers(0, 10**13),
        st.integers(-(2**63), 2**63 - 1),
        st.none() | st.text(max_size=200),
        st.lists(st.integers(0, 2**31 - 1), max_size=3),
    )


@settings(max_examples=300, deadline=None)
@given(
    version=st.sampled_from(VERSIONS),
    names=st.lists(st.text(max_size=140), max_size=3),
    answers=st.lists(produced(), max_size=4),
    throttle_ms=st.integers(0, 2**31 - 1),
)
def test_answers(version: int, names: list[str], answers: list[Produced], throttle_ms: int) -> None:
    """K2: what we answer is what both other implementations read."""
    ids = [(b"%016d" % n) for n in range(len(names))]
    topics = [ProducedTopic(topic, answers) for topic in (ids if version >= 13 else names)]
    body = encode_response(version, topics, throttle_ms)
    entity = oracle.values_of_entity(oracle.decode(oracle.response_entity(Key.PRODUCE, version), body))
    assert entity["throttle_time"] == throttle_ms
    for found, expected in zip(entity["responses"], topics, strict=True):
        assert (found["topic_id"].bytes if version >= 13 else found["name"]) == expected.topic
        for part, answer in zip(found["partition_responses"], answers, strict=True):
            check_answer(version, part, answer)
    assert KafkaProduceResponse.decode(body, version=version).encode() == body


def check_answer(version: int, part: dict[str, Any], answer: Produced) -> None:
    assert part["index"] == answer.partition
    assert part["error_code"] == answer.error_code
    assert part["base_offset"] == answer.base_offset
    assert part["log_append_time"] == answer.log_append_time_ms
    if version >= 5:
        assert part["log_start_offset"] == answer.log_start_offset
    if version >= 8:
        assert [each["batch_index"] for each in part["record_errors"]] == list(answer.wrong_records)
        assert part["error_message"] == answer.error_message


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(VERSIONS), st.text(max_size=140), produced(), st.integers(0, 2**31 - 1), st.integers(0, 9))
def test_the_short_way_writes_the_same(
    version: int, name: str, answer: Produced, correlation_id: int, throttle_ms: int
) -> None:
    """K2: the prepared answer for one partition is the same, byte for byte, as the long way's."""
    topic: str | bytes = TOPIC_ID if version >= 13 else name
    body = encode_response(version, [ProducedTopic(topic, [answer])], throttle_ms)
    long_way = b"".join(frame_response(Key.PRODUCE, version, correlation_id, [body]))
    assert frame_one(version, correlation_id, topic, answer, throttle_ms) == long_way
