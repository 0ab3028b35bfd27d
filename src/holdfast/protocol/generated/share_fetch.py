"""ShareFetch, versions 1 to 2. Made by `holdfast.protocol.schemas.generate`: edit nothing here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from holdfast.protocol.message import Message, RequestMessage, field, new


class LeaderIdAndEpoch(Message):
    __slots__ = ()
    ROWS = (
        ("leader_id", "int32", (1, 2), None, None),
        ("leader_epoch", "int32", (1, 2), None, None),
    )
    leader_id: Final[int] = field(0)
    leader_epoch: Final[int] = field(1)

    def __new__(
        cls,
        *,
        leader_id: int = 0,
        leader_epoch: int = 0,
    ) -> LeaderIdAndEpoch:
        return new(cls, (leader_id, leader_epoch))


class AcquiredRecords(Message):
    __slots__ = ()
    ROWS = (
        ("first_offset", "int64", (1, 2), None, None),
        ("last_offset", "int64", (1, 2), None, None),
        ("delivery_count", "int16", (1, 2), None, None),
    )
    first_offset: Final[int] = field(0)
    last_offset: Final[int] = field(1)
    delivery_count: Final[int] = field(2)

    def __new__(
        cls,
        *,
        first_offset: int = 0,
        last_offset: int = 0,
        delivery_count: int = 0,
    ) -> AcquiredRecords:
        return new(cls, (first_offset, last_offset, delivery_count))


class PartitionData(Message):
    __slots__ = ()
    ROWS = (
        ("partition_index", "int32", (1, 2), None, None),
        ("error_code", "int16", (1, 2), None, None),
        ("error_message", "string", (1, 2), (1, 2), None),
        ("acknowledge_error_code", "int16", (1, 2), None, None),
        ("acknowledge_error_message", "string", (1, 2), (1, 2), None),
        ("current_leader", "LeaderIdAndEpoch", (1, 2), None, None),
        ("records", "bytes", (1, 2), (1, 2), None),
        ("acquired_records", "[]AcquiredRecords", (1, 2), None, None),
    )
    partition_index: Final[int] = field(0)
    error_code: Final[int] = field(1)
    error_message: Final[str | None] = field(2)
    acknowledge_error_code: Final[int] = field(3)
    acknowledge_error_message: Final[str | None] = field(4)
    current_leader: Final[LeaderIdAndEpoch] = field(5)
    records: Final[bytes | None] = field(6)
    acquired_records: Final[Sequence[AcquiredRecords]] = field(7)

    def __new__(
        cls,
        *,
        partition_index: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        acknowledge_error_code: int = 0,
        acknowledge_error_message: str | None = None,
        current_leader: LeaderIdAndEpoch,
        records: bytes | None = b"",
        acquired_records: Sequence[AcquiredRecords] = (),
    ) -> PartitionData:
        return new(cls, (partition_index, error_code, error_message, acknowledge_error_code, acknowledge_error_message, current_leader, records, acquired_records))


class ShareFetchableTopicResponse(Message):
    __slots__ = ()
    ROWS = (
        ("topic_id", "uuid", (1, 2), None, None),
        ("partitions", "[]PartitionData", (1, 2), None, None),
    )
    topic_id: Final[UUID | None] = field(0)
    partitions: Final[Sequence[PartitionData]] = field(1)

    def __new__(
        cls,
        *,
        topic_id: UUID | None = None,
        partitions: Sequence[PartitionData] = (),
    ) -> ShareFetchableTopicResponse:
        return new(cls, (topic_id, partitions))


class NodeEndpoint(Message):
    __slots__ = ()
    ROWS = (
        ("node_id", "int32", (1, 2), None, None),
        ("host", "string", (1, 2), None, None),
        ("port", "int32", (1, 2), None, None),
        ("rack", "string", (1, 2), (1, 2), None),
    )
    node_id: Final[int] = field(0)
    host: Final[str] = field(1)
    port: Final[int] = field(2)
    rack: Final[str | None] = field(3)

    def __new__(
        cls,
        *,
        node_id: int = 0,
        host: str = "",
        port: int = 0,
        rack: str | None = None,
    ) -> NodeEndpoint:
        return new(cls, (node_id, host, port, rack))


class ShareFetchResponse(Message):
    __slots__ = ()
    FLEXIBLE_FROM = 0
    ROWS = (
        ("throttle_time_ms", "int32", (1, 2), None, None),
        ("error_code", "int16", (1, 2), None, None),
        ("error_message", "string", (1, 2), (1, 2), None),
        ("acquisition_lock_timeout_ms", "int32", (1, 2), None, None),
        ("responses", "[]ShareFetchableTopicResponse", (1, 2), None, None),
        ("node_endpoints", "[]NodeEndpoint", (1, 2), None, None),
    )
    throttle_time_ms: Final[int] = field(0)
    error_code: Final[int] = field(1)
    error_message: Final[str | None] = field(2)
    acquisition_lock_timeout_ms: Final[int] = field(3)
    responses: Final[Sequence[ShareFetchableTopicResponse]] = field(4)
    node_endpoints: Final[Sequence[NodeEndpoint]] = field(5)

    def __new__(
        cls,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        acquisition_lock_timeout_ms: int = 0,
        responses: Sequence[ShareFetchableTopicResponse] = (),
        node_endpoints: Sequence[NodeEndpoint] = (),
    ) -> ShareFetchResponse:
        return new(cls, (throttle_time_ms, error_code, error_message, acquisition_lock_timeout_ms, responses, node_endpoints))


class AcknowledgementBatch(Message):
    __slots__ = ()
    ROWS = (
        ("first_offset", "int64", (1, 2), None, None),
        ("last_offset", "int64", (1, 2), None, None),
        ("acknowledge_types", "[]int8", (1, 2), None, None),
    )
    first_offset: Final[int] = field(0)
    last_offset: Final[int] = field(1)
    acknowledge_types: Final[Sequence[int]] = field(2)

    def __new__(
        cls,
        *,
        first_offset: int = 0,
        last_offset: int = 0,
        acknowledge_types: Sequence[int] = (),
    ) -> AcknowledgementBatch:
        return new(cls, (first_offset, last_offset, acknowledge_types))


class FetchPartition(Message):
    __slots__ = ()
    ROWS = (
        ("partition_index", "int32", (1, 2), None, None),
        ("acknowledgement_batches", "[]AcknowledgementBatch", (1, 2), None, None),
    )
    partition_index: Final[int] = field(0)
    acknowledgement_batches: Final[Sequence[AcknowledgementBatch]] = field(1)

    def __new__(
        cls,
        *,
        partition_index: int = 0,
        acknowledgement_batches: Sequence[AcknowledgementBatch] = (),
    ) -> FetchPartition:
        return new(cls, (partition_index, acknowledgement_batches))


class FetchTopic(Message):
    __slots__ = ()
    ROWS = (
        ("topic_id", "uuid", (1, 2), None, None),
        ("partitions", "[]FetchPartition", (1, 2), None, None),
    )
    topic_id: Final[UUID | None] = field(0)
    partitions: Final[Sequence[FetchPartition]] = field(1)

    def __new__(
        cls,
        *,
        topic_id: UUID | None = None,
        partitions: Sequence[FetchPartition] = (),
    ) -> FetchTopic:
        return new(cls, (topic_id, partitions))


class ForgottenTopic(Message):
    __slots__ = ()
    ROWS = (
        ("topic_id", "uuid", (1, 2), None, None),
        ("partitions", "[]int32", (1, 2), None, None),
    )
    topic_id: Final[UUID | None] = field(0)
    partitions: Final[Sequence[int]] = field(1)

    def __new__(
        cls,
        *,
        topic_id: UUID | None = None,
        partitions: Sequence[int] = (),
    ) -> ForgottenTopic:
        return new(cls, (topic_id, partitions))


class ShareFetchRequest(RequestMessage[ShareFetchResponse]):
    __slots__ = ()
    FLEXIBLE_FROM = 0
    ROWS = (
        ("group_id", "string", (1, 2), (1, 2), None),
        ("member_id", "string", (1, 2), (1, 2), None),
        ("share_session_epoch", "int32", (1, 2), None, None),
        ("max_wait_ms", "int32", (1, 2), None, None),
        ("min_bytes", "int32", (1, 2), None, None),
        ("max_bytes", "int32", (1, 2), None, None),
        ("max_records", "int32", (1, 2), None, None),
        ("batch_size", "int32", (1, 2), None, None),
        ("share_acquire_mode", "int8", (2, 2), None, None),
        ("is_renew_ack", "bool", (2, 2), None, None),
        ("topics", "[]FetchTopic", (1, 2), None, None),
        ("forgotten_topics_data", "[]ForgottenTopic", (1, 2), None, None),
    )
    group_id: Final[str | None] = field(0)
    member_id: Final[str | None] = field(1)
    share_session_epoch: Final[int] = field(2)
    max_wait_ms: Final[int] = field(3)
    min_bytes: Final[int] = field(4)
    max_bytes: Final[int] = field(5)
    max_records: Final[int] = field(6)
    batch_size: Final[int] = field(7)
    share_acquire_mode: Final[int] = field(8)
    is_renew_ack: Final[bool] = field(9)
    topics: Final[Sequence[FetchTopic]] = field(10)
    forgotten_topics_data: Final[Sequence[ForgottenTopic]] = field(11)

    def __new__(
        cls,
        *,
        group_id: str | None = None,
        member_id: str | None = "",
        share_session_epoch: int = 0,
        max_wait_ms: int = 0,
        min_bytes: int = 0,
        max_bytes: int = 2147483647,
        max_records: int = 0,
        batch_size: int = 0,
        share_acquire_mode: int = 0,
        is_renew_ack: bool = False,
        topics: Sequence[FetchTopic] = (),
        forgotten_topics_data: Sequence[ForgottenTopic] = (),
    ) -> ShareFetchRequest:
        return new(cls, (group_id, member_id, share_session_epoch, max_wait_ms, min_bytes, max_bytes, max_records, batch_size, share_acquire_mode, is_renew_ack, topics, forgotten_topics_data))
