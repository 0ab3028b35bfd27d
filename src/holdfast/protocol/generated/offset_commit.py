"""OffsetCommit, versions 2 to 10. Made by `holdfast.protocol.schemas.generate`: edit nothing here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from holdfast.protocol.message import Message, RequestMessage, field, new


class OffsetCommitResponsePartition(Message):
    __slots__ = ()
    ROWS = (
        ("partition_index", "int32", (2, 10), None, None),
        ("error_code", "int16", (2, 10), None, None),
    )
    partition_index: Final[int] = field(0)
    error_code: Final[int] = field(1)

    def __new__(
        cls,
        *,
        partition_index: int = 0,
        error_code: int = 0,
    ) -> OffsetCommitResponsePartition:
        return new(cls, (partition_index, error_code))


class OffsetCommitResponseTopic(Message):
    __slots__ = ()
    ROWS = (
        ("name", "string", (2, 9), None, None),
        ("topic_id", "uuid", (10, 10), None, None),
        ("partitions", "[]OffsetCommitResponsePartition", (2, 10), None, None),
    )
    name: Final[str] = field(0)
    topic_id: Final[UUID | None] = field(1)
    partitions: Final[Sequence[OffsetCommitResponsePartition]] = field(2)

    def __new__(
        cls,
        *,
        name: str = "",
        topic_id: UUID | None = None,
        partitions: Sequence[OffsetCommitResponsePartition] = (),
    ) -> OffsetCommitResponseTopic:
        return new(cls, (name, topic_id, partitions))


class OffsetCommitResponse(Message):
    __slots__ = ()
    FLEXIBLE_FROM = 8
    ROWS = (
        ("throttle_time_ms", "int32", (3, 10), None, None),
        ("topics", "[]OffsetCommitResponseTopic", (2, 10), None, None),
    )
    throttle_time_ms: Final[int] = field(0)
    topics: Final[Sequence[OffsetCommitResponseTopic]] = field(1)

    def __new__(
        cls,
        *,
        throttle_time_ms: int = 0,
        topics: Sequence[OffsetCommitResponseTopic] = (),
    ) -> OffsetCommitResponse:
        return new(cls, (throttle_time_ms, topics))


class OffsetCommitRequestPartition(Message):
    __slots__ = ()
    ROWS = (
        ("partition_index", "int32", (2, 10), None, None),
        ("committed_offset", "int64", (2, 10), None, None),
        ("committed_leader_epoch", "int32", (6, 10), None, None),
        ("committed_metadata", "string", (2, 10), (2, 10), None),
    )
    partition_index: Final[int] = field(0)
    committed_offset: Final[int] = field(1)
    committed_leader_epoch: Final[int] = field(2)
    committed_metadata: Final[str | None] = field(3)

    def __new__(
        cls,
        *,
        partition_index: int = 0,
        committed_offset: int = 0,
        committed_leader_epoch: int = -1,
        committed_metadata: str | None = "",
    ) -> OffsetCommitRequestPartition:
        return new(cls, (partition_index, committed_offset, committed_leader_epoch, committed_metadata))


class OffsetCommitRequestTopic(Message):
    __slots__ = ()
    ROWS = (
        ("name", "string", (2, 9), None, None),
        ("topic_id", "uuid", (10, 10), None, None),
        ("partitions", "[]OffsetCommitRequestPartition", (2, 10), None, None),
    )
    name: Final[str] = field(0)
    topic_id: Final[UUID | None] = field(1)
    partitions: Final[Sequence[OffsetCommitRequestPartition]] = field(2)

    def __new__(
        cls,
        *,
        name: str = "",
        topic_id: UUID | None = None,
        partitions: Sequence[OffsetCommitRequestPartition] = (),
    ) -> OffsetCommitRequestTopic:
        return new(cls, (name, topic_id, partitions))


class OffsetCommitRequest(RequestMessage[OffsetCommitResponse]):
    __slots__ = ()
    FLEXIBLE_FROM = 8
    ROWS = (
        ("group_id", "string", (2, 10), None, None),
        ("generation_id_or_member_epoch", "int32", (2, 10), None, None),
        ("member_id", "string", (2, 10), None, None),
        ("group_instance_id", "string", (7, 10), (7, 10), None),
        ("retention_time_ms", "int64", (2, 4), None, None),
        ("topics", "[]OffsetCommitRequestTopic", (2, 10), None, None),
    )
    group_id: Final[str] = field(0)
    generation_id_or_member_epoch: Final[int] = field(1)
    member_id: Final[str] = field(2)
    group_instance_id: Final[str | None] = field(3)
    retention_time_ms: Final[int] = field(4)
    topics: Final[Sequence[OffsetCommitRequestTopic]] = field(5)

    def __new__(
        cls,
        *,
        group_id: str = "",
        generation_id_or_member_epoch: int = -1,
        member_id: str = "",
        group_instance_id: str | None = None,
        retention_time_ms: int = -1,
        topics: Sequence[OffsetCommitRequestTopic] = (),
    ) -> OffsetCommitRequest:
        return new(cls, (group_id, generation_id_or_member_epoch, member_id, group_instance_id, retention_time_ms, topics))
