"""ListOffsets, versions 1 to 11. Made by `holdfast.protocol.schemas.generate`: edit nothing here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from holdfast.protocol.message import Message, RequestMessage, field, new


class ListOffsetsPartitionResponse(Message):
    __slots__ = ()
    ROWS = (
        ("partition_index", "int32", (1, 11), None, None),
        ("error_code", "int16", (1, 11), None, None),
        ("timestamp", "int64", (1, 11), None, None),
        ("offset", "int64", (1, 11), None, None),
        ("leader_epoch", "int32", (4, 11), None, None),
    )
    partition_index: Final[int] = field(0)
    error_code: Final[int] = field(1)
    timestamp: Final[int] = field(2)
    offset: Final[int] = field(3)
    leader_epoch: Final[int] = field(4)

    def __new__(
        cls,
        *,
        partition_index: int = 0,
        error_code: int = 0,
        timestamp: int = -1,
        offset: int = -1,
        leader_epoch: int = -1,
    ) -> ListOffsetsPartitionResponse:
        return new(cls, (partition_index, error_code, timestamp, offset, leader_epoch))


class ListOffsetsTopicResponse(Message):
    __slots__ = ()
    ROWS = (
        ("name", "string", (1, 11), None, None),
        ("partitions", "[]ListOffsetsPartitionResponse", (1, 11), None, None),
    )
    name: Final[str] = field(0)
    partitions: Final[Sequence[ListOffsetsPartitionResponse]] = field(1)

    def __new__(
        cls,
        *,
        name: str = "",
        partitions: Sequence[ListOffsetsPartitionResponse] = (),
    ) -> ListOffsetsTopicResponse:
        return new(cls, (name, partitions))


class ListOffsetsResponse(Message):
    __slots__ = ()
    FLEXIBLE_FROM = 6
    ROWS = (
        ("throttle_time_ms", "int32", (2, 11), None, None),
        ("topics", "[]ListOffsetsTopicResponse", (1, 11), None, None),
    )
    throttle_time_ms: Final[int] = field(0)
    topics: Final[Sequence[ListOffsetsTopicResponse]] = field(1)

    def __new__(
        cls,
        *,
        throttle_time_ms: int = 0,
        topics: Sequence[ListOffsetsTopicResponse] = (),
    ) -> ListOffsetsResponse:
        return new(cls, (throttle_time_ms, topics))


class ListOffsetsPartition(Message):
    __slots__ = ()
    ROWS = (
        ("partition_index", "int32", (1, 11), None, None),
        ("current_leader_epoch", "int32", (4, 11), None, None),
        ("timestamp", "int64", (1, 11), None, None),
    )
    partition_index: Final[int] = field(0)
    current_leader_epoch: Final[int] = field(1)
    timestamp: Final[int] = field(2)

    def __new__(
        cls,
        *,
        partition_index: int = 0,
        current_leader_epoch: int = -1,
        timestamp: int = 0,
    ) -> ListOffsetsPartition:
        return new(cls, (partition_index, current_leader_epoch, timestamp))


class ListOffsetsTopic(Message):
    __slots__ = ()
    ROWS = (
        ("name", "string", (1, 11), None, None),
        ("partitions", "[]ListOffsetsPartition", (1, 11), None, None),
    )
    name: Final[str] = field(0)
    partitions: Final[Sequence[ListOffsetsPartition]] = field(1)

    def __new__(
        cls,
        *,
        name: str = "",
        partitions: Sequence[ListOffsetsPartition] = (),
    ) -> ListOffsetsTopic:
        return new(cls, (name, partitions))


class ListOffsetsRequest(RequestMessage[ListOffsetsResponse]):
    __slots__ = ()
    FLEXIBLE_FROM = 6
    ROWS = (
        ("replica_id", "int32", (1, 11), None, None),
        ("isolation_level", "int8", (2, 11), None, None),
        ("topics", "[]ListOffsetsTopic", (1, 11), None, None),
        ("timeout_ms", "int32", (10, 11), None, None),
    )
    replica_id: Final[int] = field(0)
    isolation_level: Final[int] = field(1)
    topics: Final[Sequence[ListOffsetsTopic]] = field(2)
    timeout_ms: Final[int] = field(3)

    def __new__(
        cls,
        *,
        replica_id: int = 0,
        isolation_level: int = 0,
        topics: Sequence[ListOffsetsTopic] = (),
        timeout_ms: int = 0,
    ) -> ListOffsetsRequest:
        return new(cls, (replica_id, isolation_level, topics, timeout_ms))
