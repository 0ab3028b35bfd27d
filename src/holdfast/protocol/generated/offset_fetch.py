"""OffsetFetch, versions 1 to 10. Made by `holdfast.protocol.schemas.generate`: edit nothing here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from holdfast.protocol.message import Message, RequestMessage, field, new


class OffsetFetchResponsePartition(Message):
    __slots__ = ()
    ROWS = (
        ("partition_index", "int32", (1, 7), None, None),
        ("committed_offset", "int64", (1, 7), None, None),
        ("committed_leader_epoch", "int32", (5, 7), None, None),
        ("metadata", "string", (1, 7), (1, 7), None),
        ("error_code", "int16", (1, 7), None, None),
    )
    partition_index: Final[int] = field(0)
    committed_offset: Final[int] = field(1)
    committed_leader_epoch: Final[int] = field(2)
    metadata: Final[str | None] = field(3)
    error_code: Final[int] = field(4)

    def __new__(
        cls,
        *,
        partition_index: int = 0,
        committed_offset: int = 0,
        committed_leader_epoch: int = -1,
        metadata: str | None = "",
        error_code: int = 0,
    ) -> OffsetFetchResponsePartition:
        return new(cls, (partition_index, committed_offset, committed_leader_epoch, metadata, error_code))


class OffsetFetchResponseTopic(Message):
    __slots__ = ()
    ROWS = (
        ("name", "string", (1, 7), None, None),
        ("partitions", "[]OffsetFetchResponsePartition", (1, 7), None, None),
    )
    name: Final[str] = field(0)
    partitions: Final[Sequence[OffsetFetchResponsePartition]] = field(1)

    def __new__(
        cls,
        *,
        name: str = "",
        partitions: Sequence[OffsetFetchResponsePartition] = (),
    ) -> OffsetFetchResponseTopic:
        return new(cls, (name, partitions))


class OffsetFetchResponsePartitions(Message):
    __slots__ = ()
    ROWS = (
        ("partition_index", "int32", (8, 10), None, None),
        ("committed_offset", "int64", (8, 10), None, None),
        ("committed_leader_epoch", "int32", (8, 10), None, None),
        ("metadata", "string", (8, 10), (8, 10), None),
        ("error_code", "int16", (8, 10), None, None),
    )
    partition_index: Final[int] = field(0)
    committed_offset: Final[int] = field(1)
    committed_leader_epoch: Final[int] = field(2)
    metadata: Final[str | None] = field(3)
    error_code: Final[int] = field(4)

    def __new__(
        cls,
        *,
        partition_index: int = 0,
        committed_offset: int = 0,
        committed_leader_epoch: int = -1,
        metadata: str | None = "",
        error_code: int = 0,
    ) -> OffsetFetchResponsePartitions:
        return new(cls, (partition_index, committed_offset, committed_leader_epoch, metadata, error_code))


class OffsetFetchResponseTopics(Message):
    __slots__ = ()
    ROWS = (
        ("name", "string", (8, 9), None, None),
        ("topic_id", "uuid", (10, 10), None, None),
        ("partitions", "[]OffsetFetchResponsePartitions", (8, 10), None, None),
    )
    name: Final[str] = field(0)
    topic_id: Final[UUID | None] = field(1)
    partitions: Final[Sequence[OffsetFetchResponsePartitions]] = field(2)

    def __new__(
        cls,
        *,
        name: str = "",
        topic_id: UUID | None = None,
        partitions: Sequence[OffsetFetchResponsePartitions] = (),
    ) -> OffsetFetchResponseTopics:
        return new(cls, (name, topic_id, partitions))


class OffsetFetchResponseGroup(Message):
    __slots__ = ()
    ROWS = (
        ("group_id", "string", (8, 10), None, None),
        ("topics", "[]OffsetFetchResponseTopics", (8, 10), None, None),
        ("error_code", "int16", (8, 10), None, None),
    )
    group_id: Final[str] = field(0)
    topics: Final[Sequence[OffsetFetchResponseTopics]] = field(1)
    error_code: Final[int] = field(2)

    def __new__(
        cls,
        *,
        group_id: str = "",
        topics: Sequence[OffsetFetchResponseTopics] = (),
        error_code: int = 0,
    ) -> OffsetFetchResponseGroup:
        return new(cls, (group_id, topics, error_code))


class OffsetFetchResponse(Message):
    __slots__ = ()
    FLEXIBLE_FROM = 6
    ROWS = (
        ("throttle_time_ms", "int32", (3, 10), None, None),
        ("topics", "[]OffsetFetchResponseTopic", (1, 7), None, None),
        ("error_code", "int16", (2, 7), None, None),
        ("groups", "[]OffsetFetchResponseGroup", (8, 10), None, None),
    )
    throttle_time_ms: Final[int] = field(0)
    topics: Final[Sequence[OffsetFetchResponseTopic]] = field(1)
    error_code: Final[int] = field(2)
    groups: Final[Sequence[OffsetFetchResponseGroup]] = field(3)

    def __new__(
        cls,
        *,
        throttle_time_ms: int = 0,
        topics: Sequence[OffsetFetchResponseTopic] = (),
        error_code: int = 0,
        groups: Sequence[OffsetFetchResponseGroup] = (),
    ) -> OffsetFetchResponse:
        return new(cls, (throttle_time_ms, topics, error_code, groups))


class OffsetFetchRequestTopic(Message):
    __slots__ = ()
    ROWS = (
        ("name", "string", (1, 7), None, None),
        ("partition_indexes", "[]int32", (1, 7), None, None),
    )
    name: Final[str] = field(0)
    partition_indexes: Final[Sequence[int]] = field(1)

    def __new__(
        cls,
        *,
        name: str = "",
        partition_indexes: Sequence[int] = (),
    ) -> OffsetFetchRequestTopic:
        return new(cls, (name, partition_indexes))


class OffsetFetchRequestTopics(Message):
    __slots__ = ()
    ROWS = (
        ("name", "string", (8, 9), None, None),
        ("topic_id", "uuid", (10, 10), None, None),
        ("partition_indexes", "[]int32", (8, 10), None, None),
    )
    name: Final[str] = field(0)
    topic_id: Final[UUID | None] = field(1)
    partition_indexes: Final[Sequence[int]] = field(2)

    def __new__(
        cls,
        *,
        name: str = "",
        topic_id: UUID | None = None,
        partition_indexes: Sequence[int] = (),
    ) -> OffsetFetchRequestTopics:
        return new(cls, (name, topic_id, partition_indexes))


class OffsetFetchRequestGroup(Message):
    __slots__ = ()
    ROWS = (
        ("group_id", "string", (8, 10), None, None),
        ("member_id", "string", (9, 10), (9, 10), None),
        ("member_epoch", "int32", (9, 10), None, None),
        ("topics", "[]OffsetFetchRequestTopics", (8, 10), (8, 10), None),
    )
    group_id: Final[str] = field(0)
    member_id: Final[str | None] = field(1)
    member_epoch: Final[int] = field(2)
    topics: Final[Sequence[OffsetFetchRequestTopics] | None] = field(3)

    def __new__(
        cls,
        *,
        group_id: str = "",
        member_id: str | None = None,
        member_epoch: int = -1,
        topics: Sequence[OffsetFetchRequestTopics] | None = (),
    ) -> OffsetFetchRequestGroup:
        return new(cls, (group_id, member_id, member_epoch, topics))


class OffsetFetchRequest(RequestMessage[OffsetFetchResponse]):
    __slots__ = ()
    FLEXIBLE_FROM = 6
    ROWS = (
        ("group_id", "string", (1, 7), None, None),
        ("topics", "[]OffsetFetchRequestTopic", (1, 7), (2, 7), None),
        ("groups", "[]OffsetFetchRequestGroup", (8, 10), None, None),
        ("require_stable", "bool", (7, 10), None, None),
    )
    group_id: Final[str] = field(0)
    topics: Final[Sequence[OffsetFetchRequestTopic] | None] = field(1)
    groups: Final[Sequence[OffsetFetchRequestGroup]] = field(2)
    require_stable: Final[bool] = field(3)

    def __new__(
        cls,
        *,
        group_id: str = "",
        topics: Sequence[OffsetFetchRequestTopic] | None = (),
        groups: Sequence[OffsetFetchRequestGroup] = (),
        require_stable: bool = False,
    ) -> OffsetFetchRequest:
        return new(cls, (group_id, topics, groups, require_stable))
