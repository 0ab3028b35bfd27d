"""OffsetForLeaderEpoch, versions 2 to 4. Made by `holdfast.protocol.schemas.generate`: edit nothing here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from holdfast.protocol.message import Message, RequestMessage, field, new


class EpochEndOffset(Message):
    __slots__ = ()
    ROWS = (
        ("error_code", "int16", (2, 4), None, None),
        ("partition", "int32", (2, 4), None, None),
        ("leader_epoch", "int32", (2, 4), None, None),
        ("end_offset", "int64", (2, 4), None, None),
    )
    error_code: Final[int] = field(0)
    partition: Final[int] = field(1)
    leader_epoch: Final[int] = field(2)
    end_offset: Final[int] = field(3)

    def __new__(
        cls,
        *,
        error_code: int = 0,
        partition: int = 0,
        leader_epoch: int = -1,
        end_offset: int = -1,
    ) -> EpochEndOffset:
        return new(cls, (error_code, partition, leader_epoch, end_offset))


class OffsetForLeaderTopicResult(Message):
    __slots__ = ()
    ROWS = (
        ("topic", "string", (2, 4), None, None),
        ("partitions", "[]EpochEndOffset", (2, 4), None, None),
    )
    topic: Final[str] = field(0)
    partitions: Final[Sequence[EpochEndOffset]] = field(1)

    def __new__(
        cls,
        *,
        topic: str = "",
        partitions: Sequence[EpochEndOffset] = (),
    ) -> OffsetForLeaderTopicResult:
        return new(cls, (topic, partitions))


class OffsetForLeaderEpochResponse(Message):
    __slots__ = ()
    FLEXIBLE_FROM = 4
    ROWS = (
        ("throttle_time_ms", "int32", (2, 4), None, None),
        ("topics", "[]OffsetForLeaderTopicResult", (2, 4), None, None),
    )
    throttle_time_ms: Final[int] = field(0)
    topics: Final[Sequence[OffsetForLeaderTopicResult]] = field(1)

    def __new__(
        cls,
        *,
        throttle_time_ms: int = 0,
        topics: Sequence[OffsetForLeaderTopicResult] = (),
    ) -> OffsetForLeaderEpochResponse:
        return new(cls, (throttle_time_ms, topics))


class OffsetForLeaderPartition(Message):
    __slots__ = ()
    ROWS = (
        ("partition", "int32", (2, 4), None, None),
        ("current_leader_epoch", "int32", (2, 4), None, None),
        ("leader_epoch", "int32", (2, 4), None, None),
    )
    partition: Final[int] = field(0)
    current_leader_epoch: Final[int] = field(1)
    leader_epoch: Final[int] = field(2)

    def __new__(
        cls,
        *,
        partition: int = 0,
        current_leader_epoch: int = -1,
        leader_epoch: int = 0,
    ) -> OffsetForLeaderPartition:
        return new(cls, (partition, current_leader_epoch, leader_epoch))


class OffsetForLeaderTopic(Message):
    __slots__ = ()
    ROWS = (
        ("topic", "string", (2, 4), None, None),
        ("partitions", "[]OffsetForLeaderPartition", (2, 4), None, None),
    )
    topic: Final[str] = field(0)
    partitions: Final[Sequence[OffsetForLeaderPartition]] = field(1)

    def __new__(
        cls,
        *,
        topic: str = "",
        partitions: Sequence[OffsetForLeaderPartition] = (),
    ) -> OffsetForLeaderTopic:
        return new(cls, (topic, partitions))


class OffsetForLeaderEpochRequest(RequestMessage[OffsetForLeaderEpochResponse]):
    __slots__ = ()
    FLEXIBLE_FROM = 4
    ROWS = (
        ("replica_id", "int32", (3, 4), None, None),
        ("topics", "[]OffsetForLeaderTopic", (2, 4), None, None),
    )
    replica_id: Final[int] = field(0)
    topics: Final[Sequence[OffsetForLeaderTopic]] = field(1)

    def __new__(
        cls,
        *,
        replica_id: int = -2,
        topics: Sequence[OffsetForLeaderTopic] = (),
    ) -> OffsetForLeaderEpochRequest:
        return new(cls, (replica_id, topics))
