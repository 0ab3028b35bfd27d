"""AlterShareGroupOffsets, versions 0 to 0. Made by `holdfast.protocol.schemas.generate`: edit nothing here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from holdfast.protocol.message import Message, RequestMessage, field, new


class AlterShareGroupOffsetsResponsePartition(Message):
    __slots__ = ()
    ROWS = (
        ("partition_index", "int32", (0, 0), None, None),
        ("error_code", "int16", (0, 0), None, None),
        ("error_message", "string", (0, 0), (0, 0), None),
    )
    partition_index: Final[int] = field(0)
    error_code: Final[int] = field(1)
    error_message: Final[str | None] = field(2)

    def __new__(
        cls,
        *,
        partition_index: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
    ) -> AlterShareGroupOffsetsResponsePartition:
        return new(cls, (partition_index, error_code, error_message))


class AlterShareGroupOffsetsResponseTopic(Message):
    __slots__ = ()
    ROWS = (
        ("topic_name", "string", (0, 0), None, None),
        ("topic_id", "uuid", (0, 0), None, None),
        ("partitions", "[]AlterShareGroupOffsetsResponsePartition", (0, 0), None, None),
    )
    topic_name: Final[str] = field(0)
    topic_id: Final[UUID | None] = field(1)
    partitions: Final[Sequence[AlterShareGroupOffsetsResponsePartition]] = field(2)

    def __new__(
        cls,
        *,
        topic_name: str = "",
        topic_id: UUID | None = None,
        partitions: Sequence[AlterShareGroupOffsetsResponsePartition] = (),
    ) -> AlterShareGroupOffsetsResponseTopic:
        return new(cls, (topic_name, topic_id, partitions))


class AlterShareGroupOffsetsResponse(Message):
    __slots__ = ()
    FLEXIBLE_FROM = 0
    ROWS = (
        ("throttle_time_ms", "int32", (0, 0), None, None),
        ("error_code", "int16", (0, 0), None, None),
        ("error_message", "string", (0, 0), (0, 0), None),
        ("responses", "[]AlterShareGroupOffsetsResponseTopic", (0, 0), None, None),
    )
    throttle_time_ms: Final[int] = field(0)
    error_code: Final[int] = field(1)
    error_message: Final[str | None] = field(2)
    responses: Final[Sequence[AlterShareGroupOffsetsResponseTopic]] = field(3)

    def __new__(
        cls,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        responses: Sequence[AlterShareGroupOffsetsResponseTopic] = (),
    ) -> AlterShareGroupOffsetsResponse:
        return new(cls, (throttle_time_ms, error_code, error_message, responses))


class AlterShareGroupOffsetsRequestPartition(Message):
    __slots__ = ()
    ROWS = (
        ("partition_index", "int32", (0, 0), None, None),
        ("start_offset", "int64", (0, 0), None, None),
    )
    partition_index: Final[int] = field(0)
    start_offset: Final[int] = field(1)

    def __new__(
        cls,
        *,
        partition_index: int = 0,
        start_offset: int = 0,
    ) -> AlterShareGroupOffsetsRequestPartition:
        return new(cls, (partition_index, start_offset))


class AlterShareGroupOffsetsRequestTopic(Message):
    __slots__ = ()
    ROWS = (
        ("topic_name", "string", (0, 0), None, None),
        ("partitions", "[]AlterShareGroupOffsetsRequestPartition", (0, 0), None, None),
    )
    topic_name: Final[str] = field(0)
    partitions: Final[Sequence[AlterShareGroupOffsetsRequestPartition]] = field(1)

    def __new__(
        cls,
        *,
        topic_name: str = "",
        partitions: Sequence[AlterShareGroupOffsetsRequestPartition] = (),
    ) -> AlterShareGroupOffsetsRequestTopic:
        return new(cls, (topic_name, partitions))


class AlterShareGroupOffsetsRequest(RequestMessage[AlterShareGroupOffsetsResponse]):
    __slots__ = ()
    FLEXIBLE_FROM = 0
    ROWS = (
        ("group_id", "string", (0, 0), None, None),
        ("topics", "[]AlterShareGroupOffsetsRequestTopic", (0, 0), None, None),
    )
    group_id: Final[str] = field(0)
    topics: Final[Sequence[AlterShareGroupOffsetsRequestTopic]] = field(1)

    def __new__(
        cls,
        *,
        group_id: str = "",
        topics: Sequence[AlterShareGroupOffsetsRequestTopic] = (),
    ) -> AlterShareGroupOffsetsRequest:
        return new(cls, (group_id, topics))
