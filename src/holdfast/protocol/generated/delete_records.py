"""DeleteRecords, versions 0 to 2. Made by `holdfast.protocol.schemas.generate`: edit nothing here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from holdfast.protocol.message import Message, RequestMessage, field, new


class DeleteRecordsPartitionResult(Message):
    __slots__ = ()
    ROWS = (
        ("partition_index", "int32", (0, 2), None, None),
        ("low_watermark", "int64", (0, 2), None, None),
        ("error_code", "int16", (0, 2), None, None),
    )
    partition_index: Final[int] = field(0)
    low_watermark: Final[int] = field(1)
    error_code: Final[int] = field(2)

    def __new__(
        cls,
        *,
        partition_index: int = 0,
        low_watermark: int = 0,
        error_code: int = 0,
    ) -> DeleteRecordsPartitionResult:
        return new(cls, (partition_index, low_watermark, error_code))


class DeleteRecordsTopicResult(Message):
    __slots__ = ()
    ROWS = (
        ("name", "string", (0, 2), None, None),
        ("partitions", "[]DeleteRecordsPartitionResult", (0, 2), None, None),
    )
    name: Final[str] = field(0)
    partitions: Final[Sequence[DeleteRecordsPartitionResult]] = field(1)

    def __new__(
        cls,
        *,
        name: str = "",
        partitions: Sequence[DeleteRecordsPartitionResult] = (),
    ) -> DeleteRecordsTopicResult:
        return new(cls, (name, partitions))


class DeleteRecordsResponse(Message):
    __slots__ = ()
    FLEXIBLE_FROM = 2
    ROWS = (
        ("throttle_time_ms", "int32", (0, 2), None, None),
        ("topics", "[]DeleteRecordsTopicResult", (0, 2), None, None),
    )
    throttle_time_ms: Final[int] = field(0)
    topics: Final[Sequence[DeleteRecordsTopicResult]] = field(1)

    def __new__(
        cls,
        *,
        throttle_time_ms: int = 0,
        topics: Sequence[DeleteRecordsTopicResult] = (),
    ) -> DeleteRecordsResponse:
        return new(cls, (throttle_time_ms, topics))


class DeleteRecordsPartition(Message):
    __slots__ = ()
    ROWS = (
        ("partition_index", "int32", (0, 2), None, None),
        ("offset", "int64", (0, 2), None, None),
    )
    partition_index: Final[int] = field(0)
    offset: Final[int] = field(1)

    def __new__(
        cls,
        *,
        partition_index: int = 0,
        offset: int = 0,
    ) -> DeleteRecordsPartition:
        return new(cls, (partition_index, offset))


class DeleteRecordsTopic(Message):
    __slots__ = ()
    ROWS = (
        ("name", "string", (0, 2), None, None),
        ("partitions", "[]DeleteRecordsPartition", (0, 2), None, None),
    )
    name: Final[str] = field(0)
    partitions: Final[Sequence[DeleteRecordsPartition]] = field(1)

    def __new__(
        cls,
        *,
        name: str = "",
        partitions: Sequence[DeleteRecordsPartition] = (),
    ) -> DeleteRecordsTopic:
        return new(cls, (name, partitions))


class DeleteRecordsRequest(RequestMessage[DeleteRecordsResponse]):
    __slots__ = ()
    FLEXIBLE_FROM = 2
    ROWS = (
        ("topics", "[]DeleteRecordsTopic", (0, 2), None, None),
        ("timeout_ms", "int32", (0, 2), None, None),
    )
    topics: Final[Sequence[DeleteRecordsTopic]] = field(0)
    timeout_ms: Final[int] = field(1)

    def __new__(
        cls,
        *,
        topics: Sequence[DeleteRecordsTopic] = (),
        timeout_ms: int = 0,
    ) -> DeleteRecordsRequest:
        return new(cls, (topics, timeout_ms))
