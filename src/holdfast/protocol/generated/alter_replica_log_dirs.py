"""AlterReplicaLogDirs, versions 1 to 2. Made by `holdfast.protocol.schemas.generate`: edit nothing here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from holdfast.protocol.message import Message, RequestMessage, field, new


class AlterReplicaLogDirPartitionResult(Message):
    __slots__ = ()
    ROWS = (
        ("partition_index", "int32", (1, 2), None, None),
        ("error_code", "int16", (1, 2), None, None),
    )
    partition_index: Final[int] = field(0)
    error_code: Final[int] = field(1)

    def __new__(
        cls,
        *,
        partition_index: int = 0,
        error_code: int = 0,
    ) -> AlterReplicaLogDirPartitionResult:
        return new(cls, (partition_index, error_code))


class AlterReplicaLogDirTopicResult(Message):
    __slots__ = ()
    ROWS = (
        ("topic_name", "string", (1, 2), None, None),
        ("partitions", "[]AlterReplicaLogDirPartitionResult", (1, 2), None, None),
    )
    topic_name: Final[str] = field(0)
    partitions: Final[Sequence[AlterReplicaLogDirPartitionResult]] = field(1)

    def __new__(
        cls,
        *,
        topic_name: str = "",
        partitions: Sequence[AlterReplicaLogDirPartitionResult] = (),
    ) -> AlterReplicaLogDirTopicResult:
        return new(cls, (topic_name, partitions))


class AlterReplicaLogDirsResponse(Message):
    __slots__ = ()
    FLEXIBLE_FROM = 2
    ROWS = (
        ("throttle_time_ms", "int32", (1, 2), None, None),
        ("results", "[]AlterReplicaLogDirTopicResult", (1, 2), None, None),
    )
    throttle_time_ms: Final[int] = field(0)
    results: Final[Sequence[AlterReplicaLogDirTopicResult]] = field(1)

    def __new__(
        cls,
        *,
        throttle_time_ms: int = 0,
        results: Sequence[AlterReplicaLogDirTopicResult] = (),
    ) -> AlterReplicaLogDirsResponse:
        return new(cls, (throttle_time_ms, results))


class AlterReplicaLogDirTopic(Message):
    __slots__ = ()
    ROWS = (
        ("name", "string", (1, 2), None, None),
        ("partitions", "[]int32", (1, 2), None, None),
    )
    name: Final[str] = field(0)
    partitions: Final[Sequence[int]] = field(1)

    def __new__(
        cls,
        *,
        name: str = "",
        partitions: Sequence[int] = (),
    ) -> AlterReplicaLogDirTopic:
        return new(cls, (name, partitions))


class AlterReplicaLogDir(Message):
    __slots__ = ()
    ROWS = (
        ("path", "string", (1, 2), None, None),
        ("topics", "[]AlterReplicaLogDirTopic", (1, 2), None, None),
    )
    path: Final[str] = field(0)
    topics: Final[Sequence[AlterReplicaLogDirTopic]] = field(1)

    def __new__(
        cls,
        *,
        path: str = "",
        topics: Sequence[AlterReplicaLogDirTopic] = (),
    ) -> AlterReplicaLogDir:
        return new(cls, (path, topics))


class AlterReplicaLogDirsRequest(RequestMessage[AlterReplicaLogDirsResponse]):
    __slots__ = ()
    FLEXIBLE_FROM = 2
    ROWS = (
        ("dirs", "[]AlterReplicaLogDir", (1, 2), None, None),
    )
    dirs: Final[Sequence[AlterReplicaLogDir]] = field(0)

    def __new__(
        cls,
        *,
        dirs: Sequence[AlterReplicaLogDir] = (),
    ) -> AlterReplicaLogDirsRequest:
        return new(cls, (dirs,))
