"""DescribeTopicPartitions, versions 0 to 0. Made by `holdfast.protocol.schemas.generate`: edit nothing here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from holdfast.protocol.message import Message, RequestMessage, field, new


class DescribeTopicPartitionsResponsePartition(Message):
    __slots__ = ()
    ROWS = (
        ("error_code", "int16", (0, 0), None, None),
        ("partition_index", "int32", (0, 0), None, None),
        ("leader_id", "int32", (0, 0), None, None),
        ("leader_epoch", "int32", (0, 0), None, None),
        ("replica_nodes", "[]int32", (0, 0), None, None),
        ("isr_nodes", "[]int32", (0, 0), None, None),
        ("eligible_leader_replicas", "[]int32", (0, 0), (0, 0), None),
        ("last_known_elr", "[]int32", (0, 0), (0, 0), None),
        ("offline_replicas", "[]int32", (0, 0), None, None),
    )
    error_code: Final[int] = field(0)
    partition_index: Final[int] = field(1)
    leader_id: Final[int] = field(2)
    leader_epoch: Final[int] = field(3)
    replica_nodes: Final[Sequence[int]] = field(4)
    isr_nodes: Final[Sequence[int]] = field(5)
    eligible_leader_replicas: Final[Sequence[int] | None] = field(6)
    last_known_elr: Final[Sequence[int] | None] = field(7)
    offline_replicas: Final[Sequence[int]] = field(8)

    def __new__(
        cls,
        *,
        error_code: int = 0,
        partition_index: int = 0,
        leader_id: int = 0,
        leader_epoch: int = -1,
        replica_nodes: Sequence[int] = (),
        isr_nodes: Sequence[int] = (),
        eligible_leader_replicas: Sequence[int] | None = None,
        last_known_elr: Sequence[int] | None = None,
        offline_replicas: Sequence[int] = (),
    ) -> DescribeTopicPartitionsResponsePartition:
        return new(cls, (error_code, partition_index, leader_id, leader_epoch, replica_nodes, isr_nodes, eligible_leader_replicas, last_known_elr, offline_replicas))


class DescribeTopicPartitionsResponseTopic(Message):
    __slots__ = ()
    ROWS = (
        ("error_code", "int16", (0, 0), None, None),
        ("name", "string", (0, 0), (0, 0), None),
        ("topic_id", "uuid", (0, 0), None, None),
        ("is_internal", "bool", (0, 0), None, None),
        ("partitions", "[]DescribeTopicPartitionsResponsePartition", (0, 0), None, None),
        ("topic_authorized_operations", "int32", (0, 0), None, None),
    )
    error_code: Final[int] = field(0)
    name: Final[str | None] = field(1)
    topic_id: Final[UUID | None] = field(2)
    is_internal: Final[bool] = field(3)
    partitions: Final[Sequence[DescribeTopicPartitionsResponsePartition]] = field(4)
    topic_authorized_operations: Final[int] = field(5)

    def __new__(
        cls,
        *,
        error_code: int = 0,
        name: str | None = "",
        topic_id: UUID | None = None,
        is_internal: bool = False,
        partitions: Sequence[DescribeTopicPartitionsResponsePartition] = (),
        topic_authorized_operations: int = -2147483648,
    ) -> DescribeTopicPartitionsResponseTopic:
        return new(cls, (error_code, name, topic_id, is_internal, partitions, topic_authorized_operations))


class ResponseCursor(Message):
    __slots__ = ()
    ROWS = (
        ("topic_name", "string", (0, 0), None, None),
        ("partition_index", "int32", (0, 0), None, None),
    )
    topic_name: Final[str] = field(0)
    partition_index: Final[int] = field(1)

    def __new__(
        cls,
        *,
        topic_name: str = "",
        partition_index: int = 0,
    ) -> ResponseCursor:
        return new(cls, (topic_name, partition_index))


class DescribeTopicPartitionsResponse(Message):
    __slots__ = ()
    FLEXIBLE_FROM = 0
    ROWS = (
        ("throttle_time_ms", "int32", (0, 0), None, None),
        ("topics", "[]DescribeTopicPartitionsResponseTopic", (0, 0), None, None),
        ("next_cursor", "ResponseCursor", (0, 0), (0, 0), None),
    )
    throttle_time_ms: Final[int] = field(0)
    topics: Final[Sequence[DescribeTopicPartitionsResponseTopic]] = field(1)
    next_cursor: Final[ResponseCursor | None] = field(2)

    def __new__(
        cls,
        *,
        throttle_time_ms: int = 0,
        topics: Sequence[DescribeTopicPartitionsResponseTopic] = (),
        next_cursor: ResponseCursor | None = None,
    ) -> DescribeTopicPartitionsResponse:
        return new(cls, (throttle_time_ms, topics, next_cursor))


class TopicRequest(Message):
    __slots__ = ()
    ROWS = (
        ("name", "string", (0, 0), None, None),
    )
    name: Final[str] = field(0)

    def __new__(
        cls,
        *,
        name: str = "",
    ) -> TopicRequest:
        return new(cls, (name,))


class RequestCursor(Message):
    __slots__ = ()
    ROWS = (
        ("topic_name", "string", (0, 0), None, None),
        ("partition_index", "int32", (0, 0), None, None),
    )
    topic_name: Final[str] = field(0)
    partition_index: Final[int] = field(1)

    def __new__(
        cls,
        *,
        topic_name: str = "",
        partition_index: int = 0,
    ) -> RequestCursor:
        return new(cls, (topic_name, partition_index))


class DescribeTopicPartitionsRequest(RequestMessage[DescribeTopicPartitionsResponse]):
    __slots__ = ()
    FLEXIBLE_FROM = 0
    ROWS = (
        ("topics", "[]TopicRequest", (0, 0), None, None),
        ("response_partition_limit", "int32", (0, 0), None, None),
        ("cursor", "RequestCursor", (0, 0), (0, 0), None),
    )
    topics: Final[Sequence[TopicRequest]] = field(0)
    response_partition_limit: Final[int] = field(1)
    cursor: Final[RequestCursor | None] = field(2)

    def __new__(
        cls,
        *,
        topics: Sequence[TopicRequest] = (),
        response_partition_limit: int = 2000,
        cursor: RequestCursor | None = None,
    ) -> DescribeTopicPartitionsRequest:
        return new(cls, (topics, response_partition_limit, cursor))
