"""Fetch, versions 4 to 18. Made by `holdfast.protocol.schemas.generate`: edit nothing here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from holdfast.protocol.message import Message, RequestMessage, field, new


class EpochEndOffset(Message):
    __slots__ = ()
    ROWS = (
        ("epoch", "int32", (12, 18), None, None),
        ("end_offset", "int64", (12, 18), None, None),
    )
    epoch: Final[int] = field(0)
    end_offset: Final[int] = field(1)

    def __new__(
        cls,
        *,
        epoch: int = -1,
        end_offset: int = -1,
    ) -> EpochEndOffset:
        return new(cls, (epoch, end_offset))


class LeaderIdAndEpoch(Message):
    __slots__ = ()
    ROWS = (
        ("leader_id", "int32", (12, 18), None, None),
        ("leader_epoch", "int32", (12, 18), None, None),
    )
    leader_id: Final[int] = field(0)
    leader_epoch: Final[int] = field(1)

    def __new__(
        cls,
        *,
        leader_id: int = -1,
        leader_epoch: int = -1,
    ) -> LeaderIdAndEpoch:
        return new(cls, (leader_id, leader_epoch))


class SnapshotId(Message):
    __slots__ = ()
    ROWS = (
        ("end_offset", "int64", (4, 18), None, None),
        ("epoch", "int32", (4, 18), None, None),
    )
    end_offset: Final[int] = field(0)
    epoch: Final[int] = field(1)

    def __new__(
        cls,
        *,
        end_offset: int = -1,
        epoch: int = -1,
    ) -> SnapshotId:
        return new(cls, (end_offset, epoch))


class AbortedTransaction(Message):
    __slots__ = ()
    ROWS = (
        ("producer_id", "int64", (4, 18), None, None),
        ("first_offset", "int64", (4, 18), None, None),
    )
    producer_id: Final[int] = field(0)
    first_offset: Final[int] = field(1)

    def __new__(
        cls,
        *,
        producer_id: int = 0,
        first_offset: int = 0,
    ) -> AbortedTransaction:
        return new(cls, (producer_id, first_offset))


class PartitionData(Message):
    __slots__ = ()
    ROWS = (
        ("partition_index", "int32", (4, 18), None, None),
        ("error_code", "int16", (4, 18), None, None),
        ("high_watermark", "int64", (4, 18), None, None),
        ("last_stable_offset", "int64", (4, 18), None, None),
        ("log_start_offset", "int64", (5, 18), None, None),
        ("diverging_epoch", "EpochEndOffset", (12, 18), None, 0),
        ("current_leader", "LeaderIdAndEpoch", (12, 18), None, 1),
        ("snapshot_id", "SnapshotId", (12, 18), None, 2),
        ("aborted_transactions", "[]AbortedTransaction", (4, 18), (4, 18), None),
        ("preferred_read_replica", "int32", (11, 18), None, None),
        ("records", "records", (4, 18), (4, 18), None),
    )
    partition_index: Final[int] = field(0)
    error_code: Final[int] = field(1)
    high_watermark: Final[int] = field(2)
    last_stable_offset: Final[int] = field(3)
    log_start_offset: Final[int] = field(4)
    diverging_epoch: Final[EpochEndOffset | None] = field(5)
    current_leader: Final[LeaderIdAndEpoch | None] = field(6)
    snapshot_id: Final[SnapshotId | None] = field(7)
    aborted_transactions: Final[Sequence[AbortedTransaction] | None] = field(8)
    preferred_read_replica: Final[int] = field(9)
    records: Final[bytes | None] = field(10)

    def __new__(
        cls,
        *,
        partition_index: int = 0,
        error_code: int = 0,
        high_watermark: int = 0,
        last_stable_offset: int = -1,
        log_start_offset: int = -1,
        diverging_epoch: EpochEndOffset | None = None,
        current_leader: LeaderIdAndEpoch | None = None,
        snapshot_id: SnapshotId | None = None,
        aborted_transactions: Sequence[AbortedTransaction] | None = (),
        preferred_read_replica: int = -1,
        records: bytes | None = b"",
    ) -> PartitionData:
        return new(cls, (partition_index, error_code, high_watermark, last_stable_offset, log_start_offset, diverging_epoch, current_leader, snapshot_id, aborted_transactions, preferred_read_replica, records))


class FetchableTopicResponse(Message):
    __slots__ = ()
    ROWS = (
        ("topic", "string", (4, 12), None, None),
        ("topic_id", "uuid", (13, 18), None, None),
        ("partitions", "[]PartitionData", (4, 18), None, None),
    )
    topic: Final[str] = field(0)
    topic_id: Final[UUID | None] = field(1)
    partitions: Final[Sequence[PartitionData]] = field(2)

    def __new__(
        cls,
        *,
        topic: str = "",
        topic_id: UUID | None = None,
        partitions: Sequence[PartitionData] = (),
    ) -> FetchableTopicResponse:
        return new(cls, (topic, topic_id, partitions))


class NodeEndpoint(Message):
    __slots__ = ()
    ROWS = (
        ("node_id", "int32", (16, 18), None, None),
        ("host", "string", (16, 18), None, None),
        ("port", "int32", (16, 18), None, None),
        ("rack", "string", (16, 18), (16, 18), None),
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


class FetchResponse(Message):
    __slots__ = ()
    FLEXIBLE_FROM = 12
    ROWS = (
        ("throttle_time_ms", "int32", (4, 18), None, None),
        ("error_code", "int16", (7, 18), None, None),
        ("session_id", "int32", (7, 18), None, None),
        ("responses", "[]FetchableTopicResponse", (4, 18), None, None),
        ("node_endpoints", "[]NodeEndpoint", (16, 18), None, 0),
    )
    throttle_time_ms: Final[int] = field(0)
    error_code: Final[int] = field(1)
    session_id: Final[int] = field(2)
    responses: Final[Sequence[FetchableTopicResponse]] = field(3)
    node_endpoints: Final[Sequence[NodeEndpoint]] = field(4)

    def __new__(
        cls,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        session_id: int = 0,
        responses: Sequence[FetchableTopicResponse] = (),
        node_endpoints: Sequence[NodeEndpoint] = (),
    ) -> FetchResponse:
        return new(cls, (throttle_time_ms, error_code, session_id, responses, node_endpoints))


class ReplicaState(Message):
    __slots__ = ()
    ROWS = (
        ("replica_id", "int32", (15, 18), None, None),
        ("replica_epoch", "int64", (15, 18), None, None),
    )
    replica_id: Final[int] = field(0)
    replica_epoch: Final[int] = field(1)

    def __new__(
        cls,
        *,
        replica_id: int = -1,
        replica_epoch: int = -1,
    ) -> ReplicaState:
        return new(cls, (replica_id, replica_epoch))


class FetchPartition(Message):
    __slots__ = ()
    ROWS = (
        ("partition", "int32", (4, 18), None, None),
        ("current_leader_epoch", "int32", (9, 18), None, None),
        ("fetch_offset", "int64", (4, 18), None, None),
        ("last_fetched_epoch", "int32", (12, 18), None, None),
        ("log_start_offset", "int64", (5, 18), None, None),
        ("partition_max_bytes", "int32", (4, 18), None, None),
        ("replica_directory_id", "uuid", (17, 18), None, 0),
        ("high_watermark", "int64", (18, 18), None, 1),
    )
    partition: Final[int] = field(0)
    current_leader_epoch: Final[int] = field(1)
    fetch_offset: Final[int] = field(2)
    last_fetched_epoch: Final[int] = field(3)
    log_start_offset: Final[int] = field(4)
    partition_max_bytes: Final[int] = field(5)
    replica_directory_id: Final[UUID | None] = field(6)
    high_watermark: Final[int] = field(7)

    def __new__(
        cls,
        *,
        partition: int = 0,
        current_leader_epoch: int = -1,
        fetch_offset: int = 0,
        last_fetched_epoch: int = -1,
        log_start_offset: int = -1,
        partition_max_bytes: int = 0,
        replica_directory_id: UUID | None = None,
        high_watermark: int = 9223372036854775807,
    ) -> FetchPartition:
        return new(cls, (partition, current_leader_epoch, fetch_offset, last_fetched_epoch, log_start_offset, partition_max_bytes, replica_directory_id, high_watermark))


class FetchTopic(Message):
    __slots__ = ()
    ROWS = (
        ("topic", "string", (4, 12), None, None),
        ("topic_id", "uuid", (13, 18), None, None),
        ("partitions", "[]FetchPartition", (4, 18), None, None),
    )
    topic: Final[str] = field(0)
    topic_id: Final[UUID | None] = field(1)
    partitions: Final[Sequence[FetchPartition]] = field(2)

    def __new__(
        cls,
        *,
        topic: str = "",
        topic_id: UUID | None = None,
        partitions: Sequence[FetchPartition] = (),
    ) -> FetchTopic:
        return new(cls, (topic, topic_id, partitions))


class ForgottenTopic(Message):
    __slots__ = ()
    ROWS = (
        ("topic", "string", (7, 12), None, None),
        ("topic_id", "uuid", (13, 18), None, None),
        ("partitions", "[]int32", (7, 18), None, None),
    )
    topic: Final[str] = field(0)
    topic_id: Final[UUID | None] = field(1)
    partitions: Final[Sequence[int]] = field(2)

    def __new__(
        cls,
        *,
        topic: str = "",
        topic_id: UUID | None = None,
        partitions: Sequence[int] = (),
    ) -> ForgottenTopic:
        return new(cls, (topic, topic_id, partitions))


class FetchRequest(RequestMessage[FetchResponse]):
    __slots__ = ()
    FLEXIBLE_FROM = 12
    ROWS = (
        ("cluster_id", "string", (12, 18), (12, 18), 0),
        ("replica_id", "int32", (4, 14), None, None),
        ("replica_state", "ReplicaState", (15, 18), None, 1),
        ("max_wait_ms", "int32", (4, 18), None, None),
        ("min_bytes", "int32", (4, 18), None, None),
        ("max_bytes", "int32", (4, 18), None, None),
        ("isolation_level", "int8", (4, 18), None, None),
        ("session_id", "int32", (7, 18), None, None),
        ("session_epoch", "int32", (7, 18), None, None),
        ("topics", "[]FetchTopic", (4, 18), None, None),
        ("forgotten_topics_data", "[]ForgottenTopic", (7, 18), None, None),
        ("rack_id", "string", (11, 18), None, None),
    )
    cluster_id: Final[str | None] = field(0)
    replica_id: Final[int] = field(1)
    replica_state: Final[ReplicaState | None] = field(2)
    max_wait_ms: Final[int] = field(3)
    min_bytes: Final[int] = field(4)
    max_bytes: Final[int] = field(5)
    isolation_level: Final[int] = field(6)
    session_id: Final[int] = field(7)
    session_epoch: Final[int] = field(8)
    topics: Final[Sequence[FetchTopic]] = field(9)
    forgotten_topics_data: Final[Sequence[ForgottenTopic]] = field(10)
    rack_id: Final[str] = field(11)

    def __new__(
        cls,
        *,
        cluster_id: str | None = None,
        replica_id: int = -1,
        replica_state: ReplicaState | None = None,
        max_wait_ms: int = 0,
        min_bytes: int = 0,
        max_bytes: int = 2147483647,
        isolation_level: int = 0,
        session_id: int = 0,
        session_epoch: int = -1,
        topics: Sequence[FetchTopic] = (),
        forgotten_topics_data: Sequence[ForgottenTopic] = (),
        rack_id: str = "",
    ) -> FetchRequest:
        return new(cls, (cluster_id, replica_id, replica_state, max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, topics, forgotten_topics_data, rack_id))
