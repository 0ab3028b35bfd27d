"""DescribeLogDirs, versions 1 to 5. Made by `holdfast.protocol.schemas.generate`: edit nothing here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from holdfast.protocol.message import Message, RequestMessage, field, new


class DescribeLogDirsPartition(Message):
    __slots__ = ()
    ROWS = (
        ("partition_index", "int32", (1, 5), None, None),
        ("partition_size", "int64", (1, 5), None, None),
        ("offset_lag", "int64", (1, 5), None, None),
        ("is_future_key", "bool", (1, 5), None, None),
    )
    partition_index: Final[int] = field(0)
    partition_size: Final[int] = field(1)
    offset_lag: Final[int] = field(2)
    is_future_key: Final[bool] = field(3)

    def __new__(
        cls,
        *,
        partition_index: int = 0,
        partition_size: int = 0,
        offset_lag: int = 0,
        is_future_key: bool = False,
    ) -> DescribeLogDirsPartition:
        return new(cls, (partition_index, partition_size, offset_lag, is_future_key))


class DescribeLogDirsTopic(Message):
    __slots__ = ()
    ROWS = (
        ("name", "string", (1, 5), None, None),
        ("partitions", "[]DescribeLogDirsPartition", (1, 5), None, None),
    )
    name: Final[str] = field(0)
    partitions: Final[Sequence[DescribeLogDirsPartition]] = field(1)

    def __new__(
        cls,
        *,
        name: str = "",
        partitions: Sequence[DescribeLogDirsPartition] = (),
    ) -> DescribeLogDirsTopic:
        return new(cls, (name, partitions))


class DescribeLogDirsResult(Message):
    __slots__ = ()
    ROWS = (
        ("error_code", "int16", (1, 5), None, None),
        ("log_dir", "string", (1, 5), None, None),
        ("topics", "[]DescribeLogDirsTopic", (1, 5), None, None),
        ("total_bytes", "int64", (4, 5), None, None),
        ("usable_bytes", "int64", (4, 5), None, None),
        ("is_cordoned", "bool", (5, 5), None, None),
    )
    error_code: Final[int] = field(0)
    log_dir: Final[str] = field(1)
    topics: Final[Sequence[DescribeLogDirsTopic]] = field(2)
    total_bytes: Final[int] = field(3)
    usable_bytes: Final[int] = field(4)
    is_cordoned: Final[bool] = field(5)

    def __new__(
        cls,
        *,
        error_code: int = 0,
        log_dir: str = "",
        topics: Sequence[DescribeLogDirsTopic] = (),
        total_bytes: int = -1,
        usable_bytes: int = -1,
        is_cordoned: bool = False,
    ) -> DescribeLogDirsResult:
        return new(cls, (error_code, log_dir, topics, total_bytes, usable_bytes, is_cordoned))


class DescribeLogDirsResponse(Message):
    __slots__ = ()
    FLEXIBLE_FROM = 2
    ROWS = (
        ("throttle_time_ms", "int32", (1, 5), None, None),
        ("error_code", "int16", (3, 5), None, None),
        ("results", "[]DescribeLogDirsResult", (1, 5), None, None),
    )
    throttle_time_ms: Final[int] = field(0)
    error_code: Final[int] = field(1)
    results: Final[Sequence[DescribeLogDirsResult]] = field(2)

    def __new__(
        cls,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        results: Sequence[DescribeLogDirsResult] = (),
    ) -> DescribeLogDirsResponse:
        return new(cls, (throttle_time_ms, error_code, results))


class DescribableLogDirTopic(Message):
    __slots__ = ()
    ROWS = (
        ("topic", "string", (1, 5), None, None),
        ("partitions", "[]int32", (1, 5), None, None),
    )
    topic: Final[str] = field(0)
    partitions: Final[Sequence[int]] = field(1)

    def __new__(
        cls,
        *,
        topic: str = "",
        partitions: Sequence[int] = (),
    ) -> DescribableLogDirTopic:
        return new(cls, (topic, partitions))


class DescribeLogDirsRequest(RequestMessage[DescribeLogDirsResponse]):
    __slots__ = ()
    FLEXIBLE_FROM = 2
    ROWS = (
        ("topics", "[]DescribableLogDirTopic", (1, 5), (1, 5), None),
    )
    topics: Final[Sequence[DescribableLogDirTopic] | None] = field(0)

    def __new__(
        cls,
        *,
        topics: Sequence[DescribableLogDirTopic] | None = (),
    ) -> DescribeLogDirsRequest:
        return new(cls, (topics,))
