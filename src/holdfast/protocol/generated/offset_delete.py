"""OffsetDelete, versions 0 to 0. Made by `holdfast.protocol.schemas.generate`: edit nothing here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from holdfast.protocol.message import Message, RequestMessage, field, new


class OffsetDeleteResponsePartition(Message):
    __slots__ = ()
    ROWS = (
        ("partition_index", "int32", (0, 0), None, None),
        ("error_code", "int16", (0, 0), None, None),
    )
    partition_index: Final[int] = field(0)
    error_code: Final[int] = field(1)

    def __new__(
        cls,
        *,
        partition_index: int = 0,
        error_code: int = 0,
    ) -> OffsetDeleteResponsePartition:
        return new(cls, (partition_index, error_code))


class OffsetDeleteResponseTopic(Message):
    __slots__ = ()
    ROWS = (
        ("name", "string", (0, 0), None, None),
        ("partitions", "[]OffsetDeleteResponsePartition", (0, 0), None, None),
    )
    name: Final[str] = field(0)
    partitions: Final[Sequence[OffsetDeleteResponsePartition]] = field(1)

    def __new__(
        cls,
        *,
        name: str = "",
        partitions: Sequence[OffsetDeleteResponsePartition] = (),
    ) -> OffsetDeleteResponseTopic:
        return new(cls, (name, partitions))


class OffsetDeleteResponse(Message):
    __slots__ = ()
    FLEXIBLE_FROM = 32768
    ROWS = (
        ("error_code", "int16", (0, 0), None, None),
        ("throttle_time_ms", "int32", (0, 0), None, None),
        ("topics", "[]OffsetDeleteResponseTopic", (0, 0), None, None),
    )
    error_code: Final[int] = field(0)
    throttle_time_ms: Final[int] = field(1)
    topics: Final[Sequence[OffsetDeleteResponseTopic]] = field(2)

    def __new__(
        cls,
        *,
        error_code: int = 0,
        throttle_time_ms: int = 0,
        topics: Sequence[OffsetDeleteResponseTopic] = (),
    ) -> OffsetDeleteResponse:
        return new(cls, (error_code, throttle_time_ms, topics))


class OffsetDeleteRequestPartition(Message):
    __slots__ = ()
    ROWS = (
        ("partition_index", "int32", (0, 0), None, None),
    )
    partition_index: Final[int] = field(0)

    def __new__(
        cls,
        *,
        partition_index: int = 0,
    ) -> OffsetDeleteRequestPartition:
        return new(cls, (partition_index,))


class OffsetDeleteRequestTopic(Message):
    __slots__ = ()
    ROWS = (
        ("name", "string", (0, 0), None, None),
        ("partitions", "[]OffsetDeleteRequestPartition", (0, 0), None, None),
    )
    name: Final[str] = field(0)
    partitions: Final[Sequence[OffsetDeleteRequestPartition]] = field(1)

    def __new__(
        cls,
        *,
        name: str = "",
        partitions: Sequence[OffsetDeleteRequestPartition] = (),
    ) -> OffsetDeleteRequestTopic:
        return new(cls, (name, partitions))


class OffsetDeleteRequest(RequestMessage[OffsetDeleteResponse]):
    __slots__ = ()
    FLEXIBLE_FROM = 32768
    ROWS = (
        ("group_id", "string", (0, 0), None, None),
        ("topics", "[]OffsetDeleteRequestTopic", (0, 0), None, None),
    )
    group_id: Final[str] = field(0)
    topics: Final[Sequence[OffsetDeleteRequestTopic]] = field(1)

    def __new__(
        cls,
        *,
        group_id: str = "",
        topics: Sequence[OffsetDeleteRequestTopic] = (),
    ) -> OffsetDeleteRequest:
        return new(cls, (group_id, topics))
