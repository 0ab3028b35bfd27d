"""How long messages take: `python -m tests.protocol.measure`. Ours beside kafka-python's classes, in the same run.

Both read the same bytes and write the same values; the figures are the best of several rounds, taken in turns.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any
from uuid import UUID

from kafka.protocol.consumer import FetchRequest as KafkaFetchRequest
from kafka.protocol.consumer import FetchResponse as KafkaFetchResponse
from kafka.protocol.consumer import HeartbeatRequest as KafkaHeartbeat
from kafka.protocol.consumer import OffsetCommitRequest as KafkaCommit
from kafka.protocol.metadata import MetadataResponse as KafkaMetadata
from kafka.protocol.producer import ProduceRequest as KafkaProduceRequest
from kafka.protocol.producer import ProduceResponse as KafkaProduceResponse

from holdfast.protocol import header
from holdfast.protocol.api import Key
from holdfast.protocol.generated.heartbeat import HeartbeatRequest
from holdfast.protocol.generated.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from holdfast.protocol.generated.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from holdfast.protocol.hot import fetch, fetch_response, produce, produce_response
from holdfast.protocol.schema import encoder
from holdfast.protocol.schema.decoder import decode

ROUNDS = 80
SECONDS = 0.004
TOPIC_ID = UUID(int=1 << 100 | 7)
SMALL = b"r" * 200
LARGE = b"r" * 1_000_000
Case = tuple[str, Callable[[], Any], Callable[[], Any] | None]


def best(*calls: Callable[[], Any]) -> list[float]:
    """Microseconds per call, the best round of each; one round of each in turn."""
    counts = [max(1, int(SECONDS / _once(call))) for call in calls]
    times = [float("inf")] * len(calls)
    for _ in range(ROUNDS):
        for number, (call, count) in enumerate(zip(calls, counts, strict=True)):
            start = time.perf_counter()
            for _ in range(count):
                call()
            times[number] = min(times[number], (time.perf_counter() - start) / count * 1e6)
    return times


def _once(call: Callable[[], Any]) -> float:
    call()
    start = time.perf_counter()
    for _ in range(10):
        call()
    return (time.perf_counter() - start) / 10


def produce_cases(version: int, partitions: int, records: bytes) -> list[Case]:
    data = KafkaProduceRequest.TopicProduceData
    topic = data(
        name="orders",
        topic_id=TOPIC_ID,
        partition_data=[data.PartitionProduceData(index=n, records=records) for n in range(partitions)],
    )
    request = KafkaProduceRequest(acks=-1, timeout_ms=30_000, topic_data=[topic])
    body = memoryview(request.encode(version=version))
    name: str | bytes = TOPIC_ID.bytes if version >= 13 else "orders"
    answers = [produce_response.Produced(n, 0, 12345, -1, 0) for n in range(partitions)]
    answer_class = KafkaProduceResponse.TopicProduceResponse

    def answer() -> Any:
        parts = [
            answer_class.PartitionProduceResponse(index=n, error_code=0, base_offset=12345, log_append_time_ms=-1)
            for n in range(partitions)
        ]
        response = KafkaProduceResponse(
            version=version, responses=[answer_class(name="orders", topic_id=TOPIC_ID, partition_responses=parts)]
        )
        response.with_header(correlation_id=7)
        return response.encode(header=True, framed=True)

    def ours() -> Any:
        if partitions == 1:
            return produce_response.frame_one(version, 7, name, answers[0])
        body = produce_response.encode_response(version, [produce_response.ProducedTopic(name, answers)])
        return header.frame_response(Key.PRODUCE, version, 7, [body])

    what = f"Produce v{version}, {partitions} x {len(records):,} B"
    return [
        (
            f"{what}: read",
            lambda: produce.decode_request(version, body),
            lambda: KafkaProduceRequest.decode(body, version=version),
        ),
        (f"{what}: answer", ours, answer),
    ]


def fetch_cases(version: int, partitions: int) -> list[Case]:
    topic_class = KafkaFetchRequest.FetchTopic
    topic = topic_class(
        topic="orders",
        topic_id=TOPIC_ID,
        partitions=[
            topic_class.FetchPartition(partition=n, fetch_offset=12345, partition_max_bytes=1 << 20)
            for n in range(partitions)
        ],
    )
    request = KafkaFetchRequest(max_wait_ms=500, min_bytes=1, max_bytes=1 << 26, topics=[topic])
    body = memoryview(request.encode(version=version))
    name: str | bytes = TOPIC_ID.bytes if version >= 13 else "orders"
    records = [memoryview(SMALL)]
    answer_class = KafkaFetchResponse.FetchableTopicResponse

    def ours() -> Any:
        answers = [fetch_response.Fetched(n, 0, 12345, 12345, 0, None, -1, records) for n in range(partitions)]
        body = fetch_response.encode_response(version, [fetch_response.FetchedTopic(name, answers)])
        return header.frame_response(Key.FETCH, version, 7, body)

    def theirs() -> Any:
        parts = [
            answer_class.PartitionData(
                partition_index=n, error_code=0, high_watermark=12345, last_stable_offset=12345, records=SMALL
            )
            for n in range(partitions)
        ]
        response = KafkaFetchResponse(
            version=version, responses=[answer_class(topic="orders", topic_id=TOPIC_ID, partitions=parts)]
        )
        response.with_header(correlation_id=7)
        return response.encode(header=True, framed=True)

    what = f"Fetch v{version}, {partitions} partitions"
    return [
        (
            f"{what}: read",
            lambda: fetch.decode_request(version, body),
            lambda: KafkaFetchRequest.decode(body, version=version),
        ),
        (f"{what}: answer", ours, theirs),
    ]


def other_cases() -> list[Case]:
    """Messages of the schemas: made, written and read by what is generated here, and by the library's own classes."""
    cases: list[Case] = []
    for what, version, ours, theirs in (
        ("Heartbeat", 4, heartbeat(HeartbeatRequest), heartbeat(KafkaHeartbeat)),
        ("OffsetCommit of 100", 9, commit(*OURS_COMMITTED), commit(*THEIRS_COMMITTED)),
        ("Metadata of 1,000", 12, metadata(*OURS_TOLD), metadata(*THEIRS_TOLD)),
    ):
        own, other = ours(), theirs()
        body = memoryview(encoder.encode(own, version))
        assert body == other.encode(version=version)
        what = f"{what} v{version}, {len(body):,} B"
        cases += [
            (f"{what}: make", ours, theirs),
            (f"{what}: write", partial(encoder.encode, own, version), partial(other.encode, version=version)),
            (f"{what}: read", partial(decode, type(own), version, body), partial(other.decode, body, version=version)),
        ]
    frame = memoryview(b"".join(header.frame_request(Key.PRODUCE, 9, 7, "client-1", [])))[4:]
    cases.append(("request header: read", lambda: header.decode_request_header(frame), None))
    return cases


def heartbeat(of: Any) -> Callable[[], Any]:
    return lambda: of(group_id="orders", generation_id=3, member_id="m" * 40)


def commit(of: Any, topic: Any, partition: Any) -> Callable[[], Any]:
    def make() -> Any:
        parts = [partition(partition_index=n, committed_offset=n, committed_metadata="") for n in range(100)]
        return of(group_id="orders", member_id="m" * 40, topics=[topic(name="orders", partitions=parts)])

    return make


def metadata(of: Any, broker: Any, topic: Any, partition: Any) -> Callable[[], Any]:
    def make() -> Any:
        parts = [
            partition(error_code=0, partition_index=n, leader_id=0, leader_epoch=0, replica_nodes=[0], isr_nodes=[0])
            for n in range(1000)
        ]
        topics = [topic(error_code=0, name="orders", topic_id=TOPIC_ID, partitions=parts)]
        brokers = [broker(node_id=0, host="127.0.0.1", port=9092)]
        return of(brokers=brokers, cluster_id="cluster", controller_id=0, topics=topics)

    return make


OURS_COMMITTED = (OffsetCommitRequest, OffsetCommitRequestTopic, OffsetCommitRequestPartition)
THEIRS_COMMITTED = (
    KafkaCommit,
    KafkaCommit.OffsetCommitRequestTopic,
    KafkaCommit.OffsetCommitRequestTopic.OffsetCommitRequestPartition,
)
OURS_TOLD = (MetadataResponse, MetadataResponseBroker, MetadataResponseTopic, MetadataResponsePartition)
THEIRS_TOLD = (
    KafkaMetadata,
    KafkaMetadata.MetadataResponseBroker,
    KafkaMetadata.MetadataResponseTopic,
    KafkaMetadata.MetadataResponseTopic.MetadataResponsePartition,
)


def main() -> None:
    cases = [
        *produce_cases(8, 1, SMALL),
        *produce_cases(9, 1, SMALL),
        *produce_cases(13, 1, SMALL),
        *produce_cases(9, 10, SMALL),
        *produce_cases(9, 1, LARGE),
        *fetch_cases(11, 10),
        *fetch_cases(12, 10),
        *fetch_cases(18, 10),
        *fetch_cases(18, 100),
        *other_cases(),
    ]
    print("µs per message, best of several rounds              ours  kafka-python   ratio")
    for what, ours, theirs in cases:
        times = best(ours, theirs) if theirs else best(ours)
        beside = f"{times[1]:10.2f}  {times[1] / times[0]:8.1f}" if theirs else ""
        print(f"{what:48} {times[0]:8.2f}{beside}")


if __name__ == "__main__":
    main()
