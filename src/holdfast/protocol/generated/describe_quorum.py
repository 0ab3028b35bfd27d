"""DescribeQuorum, versions 0 to 2. Made by `holdfast.protocol.schemas.generate`: edit nothing here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from holdfast.protocol.message import Message, RequestMessage, field, new


class ReplicaState(Message):
    __slots__ = ()
    ROWS = (
        ("replica_id", "int32", (0, 2), None, None),
        ("replica_directory_id", "uuid", (2, 2), None, None),
        ("log_end_offset", "int64", (0, 2), None, None),
        ("last_fetch_timestamp", "int64", (1, 2), None, None),
        ("last_caught_up_timestamp", "int64", (1, 2), None, None),
    )
    replica_id: Final[int] = field(0)
    replica_directory_id: Final[UUID | None] = field(1)
    log_end_offset: Final[int] = field(2)
    last_fetch_timestamp: Final[int] = field(3)
    last_caught_up_timestamp: Final[int] = field(4)

    def __new__(
        cls,
        *,
        replica_id: int = 0,
        replica_directory_id: UUID | None = None,
        log_end_offset: int = 0,
        last_fetch_timestamp: int = -1,
        last_caught_up_timestamp: int = -1,
    ) -> ReplicaState:
        return new(cls, (replica_id, replica_directory_id, log_end_offset, last_fetch_timestamp, last_caught_up_timestamp))


class ResponsePartitionData(Message):
    __slots__ = ()
    ROWS = (
        ("partition_index", "int32", (0, 2), None, None),
        ("error_code", "int16", (0, 2), None, None),
        ("error_message", "string", (2, 2), (2, 2), None),
        ("leader_id", "int32", (0, 2), None, None),
        ("leader_epoch", "int32", (0, 2), None, None),
        ("high_watermark", "int64", (0, 2), None, None),
        ("current_voters", "[]ReplicaState", (0, 2), None, None),
        ("observers", "[]ReplicaState", (0, 2), None, None),
    )
    partition_index: Final[int] = field(0)
    error_code: Final[int] = field(1)
    error_message: Final[str | None] = field(2)
    leader_id: Final[int] = field(3)
    leader_epoch: Final[int] = field(4)
    high_watermark: Final[int] = field(5)
    current_voters: Final[Sequence[ReplicaState]] = field(6)
    observers: Final[Sequence[ReplicaState]] = field(7)

    def __new__(
        cls,
        *,
        partition_index: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        leader_id: int = 0,
        leader_epoch: int = 0,
        high_watermark: int = 0,
        current_voters: Sequence[ReplicaState] = (),
        observers: Sequence[ReplicaState] = (),
    ) -> ResponsePartitionData:
        return new(cls, (partition_index, error_code, error_message, leader_id, leader_epoch, high_watermark, current_voters, observers))


class ResponseTopicData(Message):
    __slots__ = ()
    ROWS = (
        ("topic_name", "string", (0, 2), None, None),
        ("partitions", "[]ResponsePartitionData", (0, 2), None, None),
    )
    topic_name: Final[str] = field(0)
    partitions: Final[Sequence[ResponsePartitionData]] = field(1)

    def __new__(
        cls,
        *,
        topic_name: str = "",
        partitions: Sequence[ResponsePartitionData] = (),
    ) -> ResponseTopicData:
        return new(cls, (topic_name, partitions))


class Listener(Message):
    __slots__ = ()
    ROWS = (
        ("name", "string", (2, 2), None, None),
        ("host", "string", (2, 2), None, None),
        ("port", "uint16", (2, 2), None, None),
    )
    name: Final[str] = field(0)
    host: Final[str] = field(1)
    port: Final[int] = field(2)

    def __new__(
        cls,
        *,
        name: str = "",
        host: str = "",
        port: int = 0,
    ) -> Listener:
        return new(cls, (name, host, port))


class Node(Message):
    __slots__ = ()
    ROWS = (
        ("node_id", "int32", (2, 2), None, None),
        ("listeners", "[]Listener", (2, 2), None, None),
    )
    node_id: Final[int] = field(0)
    listeners: Final[Sequence[Listener]] = field(1)

    def __new__(
        cls,
        *,
        node_id: int = 0,
        listeners: Sequence[Listener] = (),
    ) -> Node:
        return new(cls, (node_id, listeners))


class DescribeQuorumResponse(Message):
    __slots__ = ()
    FLEXIBLE_FROM = 0
    ROWS = (
        ("error_code", "int16", (0, 2), None, None),
        ("error_message", "string", (2, 2), (2, 2), None),
        ("topics", "[]ResponseTopicData", (0, 2), None, None),
        ("nodes", "[]Node", (2, 2), None, None),
    )
    error_code: Final[int] = field(0)
    error_message: Final[str | None] = field(1)
    topics: Final[Sequence[ResponseTopicData]] = field(2)
    nodes: Final[Sequence[Node]] = field(3)

    def __new__(
        cls,
        *,
        error_code: int = 0,
        error_message: str | None = "",
        topics: Sequence[ResponseTopicData] = (),
        nodes: Sequence[Node] = (),
    ) -> DescribeQuorumResponse:
        return new(cls, (error_code, error_message, topics, nodes))


class RequestPartitionData(Message):
    __slots__ = ()
    ROWS = (
        ("partition_index", "int32", (0, 2), None, None),
    )
    partition_index: Final[int] = field(0)

    def __new__(
        cls,
        *,
        partition_index: int = 0,
    ) -> RequestPartitionData:
        return new(cls, (partition_index,))


class RequestTopicData(Message):
    __slots__ = ()
    ROWS = (
        ("topic_name", "string", (0, 2), None, None),
        ("partitions", "[]RequestPartitionData", (0, 2), None, None),
    )
    topic_name: Final[str] = field(0)
    partitions: Final[Sequence[RequestPartitionData]] = field(1)

    def __new__(
        cls,
        *,
        topic_name: str = "",
        partitions: Sequence[RequestPartitionData] = (),
    ) -> RequestTopicData:
        return new(cls, (topic_name, partitions))


class DescribeQuorumRequest(RequestMessage[DescribeQuorumResponse]):
    __slots__ = ()
    FLEXIBLE_FROM = 0
    ROWS = (
        ("topics", "[]RequestTopicData", (0, 2), None, None),
    )
    topics: Final[Sequence[RequestTopicData]] = field(0)

    def __new__(
        cls,
        *,
        topics: Sequence[RequestTopicData] = (),
    ) -> DescribeQuorumRequest:
        return new(cls, (topics,))
