"""DescribeShareGroupOffsets, versions 0 to 1. Made by `holdfast.protocol.schemas.generate`: edit nothing here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from holdfast.protocol.message import Message, RequestMessage, field, new


class DescribeShareGroupOffsetsResponsePartition(Message):
    __slots__ = ()
    ROWS = (
        ("partition_index", "int32", (0, 1), None, None),
        ("start_offset", "int64", (0, 1), None, None),
        ("leader_epoch", "int32", (0, 1), None, None),
        ("lag", "int64", (1, 1), None, None),
        ("error_code", "int16", (0, 1), None, None),
        ("error_message", "string", (0, 1), (0, 1), None),
    )
    partition_index: Final[int] = field(0)
    start_offset: Final[int] = field(1)
    leader_epoch: Final[int] = field(2)
    lag: Final[int] = field(3)
    error_code: Final[int] = field(4)
    error_message: Final[str | None] = field(5)

    def __new__(
        cls,
        *,
        partition_index: int = 0,
        start_offset: int = 0,
        leader_epoch: int = 0,
        lag: int = -1,
        error_code: int = 0,
        error_message: str | None = None,
    ) -> DescribeShareGroupOffsetsResponsePartition:
        return new(cls, (partition_index, start_offset, leader_epoch, lag, error_code, error_message))


class DescribeShareGroupOffsetsResponseTopic(Message):
    __slots__ = ()
    ROWS = (
        ("topic_name", "string", (0, 1), None, None),
        ("topic_id", "uuid", (0, 1), None, None),
        ("partitions", "[]DescribeShareGroupOffsetsResponsePartition", (0, 1), None, None),
    )
    topic_name: Final[str] = field(0)
    topic_id: Final[UUID | None] = field(1)
    partitions: Final[Sequence[DescribeShareGroupOffsetsResponsePartition]] = field(2)

    def __new__(
        cls,
        *,
        topic_name: str = "",
        topic_id: UUID | None = None,
        partitions: Sequence[DescribeShareGroupOffsetsResponsePartition] = (),
    ) -> DescribeShareGroupOffsetsResponseTopic:
        return new(cls, (topic_name, topic_id, partitions))


class DescribeShareGroupOffsetsResponseGroup(Message):
    __slots__ = ()
    ROWS = (
        ("group_id", "string", (0, 1), None, None),
        ("topics", "[]DescribeShareGroupOffsetsResponseTopic", (0, 1), None, None),
        ("error_code", "int16", (0, 1), None, None),
        ("error_message", "string", (0, 1), (0, 1), None),
    )
    group_id: Final[str] = field(0)
    topics: Final[Sequence[DescribeShareGroupOffsetsResponseTopic]] = field(1)
    error_code: Final[int] = field(2)
    error_message: Final[str | None] = field(3)

    def __new__(
        cls,
        *,
        group_id: str = "",
        topics: Sequence[DescribeShareGroupOffsetsResponseTopic] = (),
        error_code: int = 0,
        error_message: str | None = None,
    ) -> DescribeShareGroupOffsetsResponseGroup:
        return new(cls, (group_id, topics, error_code, error_message))


class DescribeShareGroupOffsetsResponse(Message):
    __slots__ = ()
    FLEXIBLE_FROM = 0
    ROWS = (
        ("throttle_time_ms", "int32", (0, 1), None, None),
        ("groups", "[]DescribeShareGroupOffsetsResponseGroup", (0, 1), None, None),
    )
    throttle_time_ms: Final[int] = field(0)
    groups: Final[Sequence[DescribeShareGroupOffsetsResponseGroup]] = field(1)

    def __new__(
        cls,
        *,
        throttle_time_ms: int = 0,
        groups: Sequence[DescribeShareGroupOffsetsResponseGroup] = (),
    ) -> DescribeShareGroupOffsetsResponse:
        return new(cls, (throttle_time_ms, groups))


class DescribeShareGroupOffsetsRequestTopic(Message):
    __slots__ = ()
    ROWS = (
        ("topic_name", "string", (0, 1), None, None),
        ("partitions", "[]int32", (0, 1), None, None),
    )
    topic_name: Final[str] = field(0)
    partitions: Final[Sequence[int]] = field(1)

    def __new__(
        cls,
        *,
        topic_name: str = "",
        partitions: Sequence[int] = (),
    ) -> DescribeShareGroupOffsetsRequestTopic:
        return new(cls, (topic_name, partitions))


class DescribeShareGroupOffsetsRequestGroup(Message):
    __slots__ = ()
    ROWS = (
        ("group_id", "string", (0, 1), None, None),
        ("topics", "[]DescribeShareGroupOffsetsRequestTopic", (0, 1), (0, 1), None),
    )
    group_id: Final[str] = field(0)
    topics: Final[Sequence[DescribeShareGroupOffsetsRequestTopic] | None] = field(1)

    def __new__(
        cls,
        *,
        group_id: str = "",
        topics: Sequence[DescribeShareGroupOffsetsRequestTopic] | None = (),
    ) -> DescribeShareGroupOffsetsRequestGroup:
        return new(cls, (group_id, topics))


class DescribeShareGroupOffsetsRequest(RequestMessage[DescribeShareGroupOffsetsResponse]):
    __slots__ = ()
    FLEXIBLE_FROM = 0
    ROWS = (
        ("groups", "[]DescribeShareGroupOffsetsRequestGroup", (0, 1), None, None),
    )
    groups: Final[Sequence[DescribeShareGroupOffsetsRequestGroup]] = field(0)

    def __new__(
        cls,
        *,
        groups: Sequence[DescribeShareGroupOffsetsRequestGroup] = (),
    ) -> DescribeShareGroupOffsetsRequest:
        return new(cls, (groups,))
