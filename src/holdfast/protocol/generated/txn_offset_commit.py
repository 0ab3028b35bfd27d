"""TxnOffsetCommit, versions 0 to 5. Made by `holdfast.protocol.schemas.generate`: edit nothing here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from holdfast.protocol.message import Message, RequestMessage, field, new


class TxnOffsetCommitResponsePartition(Message):
    __slots__ = ()
    ROWS = (
        ("partition_index", "int32", (0, 5), None, None),
        ("error_code", "int16", (0, 5), None, None),
    )
    partition_index: Final[int] = field(0)
    error_code: Final[int] = field(1)

    def __new__(
        cls,
        *,
        partition_index: int = 0,
        error_code: int = 0,
    ) -> TxnOffsetCommitResponsePartition:
        return new(cls, (partition_index, error_code))


class TxnOffsetCommitResponseTopic(Message):
    __slots__ = ()
    ROWS = (
        ("name", "string", (0, 5), None, None),
        ("partitions", "[]TxnOffsetCommitResponsePartition", (0, 5), None, None),
    )
    name: Final[str] = field(0)
    partitions: Final[Sequence[TxnOffsetCommitResponsePartition]] = field(1)

    def __new__(
        cls,
        *,
        name: str = "",
        partitions: Sequence[TxnOffsetCommitResponsePartition] = (),
    ) -> TxnOffsetCommitResponseTopic:
        return new(cls, (name, partitions))


class TxnOffsetCommitResponse(Message):
    __slots__ = ()
    FLEXIBLE_FROM = 3
    ROWS = (
        ("throttle_time_ms", "int32", (0, 5), None, None),
        ("topics", "[]TxnOffsetCommitResponseTopic", (0, 5), None, None),
    )
    throttle_time_ms: Final[int] = field(0)
    topics: Final[Sequence[TxnOffsetCommitResponseTopic]] = field(1)

    def __new__(
        cls,
        *,
        throttle_time_ms: int = 0,
        topics: Sequence[TxnOffsetCommitResponseTopic] = (),
    ) -> TxnOffsetCommitResponse:
        return new(cls, (throttle_time_ms, topics))


class TxnOffsetCommitRequestPartition(Message):
    __slots__ = ()
    ROWS = (
        ("partition_index", "int32", (0, 5), None, None),
        ("committed_offset", "int64", (0, 5), None, None),
        ("committed_leader_epoch", "int32", (2, 5), None, None),
        ("committed_metadata", "string", (0, 5), (0, 5), None),
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
    ) -> TxnOffsetCommitRequestPartition:
        return new(cls, (partition_index, committed_offset, committed_leader_epoch, committed_metadata))


class TxnOffsetCommitRequestTopic(Message):
    __slots__ = ()
    ROWS = (
        ("name", "string", (0, 5), None, None),
        ("partitions", "[]TxnOffsetCommitRequestPartition", (0, 5), None, None),
    )
    name: Final[str] = field(0)
    partitions: Final[Sequence[TxnOffsetCommitRequestPartition]] = field(1)

    def __new__(
        cls,
        *,
        name: str = "",
        partitions: Sequence[TxnOffsetCommitRequestPartition] = (),
    ) -> TxnOffsetCommitRequestTopic:
        return new(cls, (name, partitions))


class TxnOffsetCommitRequest(RequestMessage[TxnOffsetCommitResponse]):
    __slots__ = ()
    FLEXIBLE_FROM = 3
    ROWS = (
        ("transactional_id", "string", (0, 5), None, None),
        ("group_id", "string", (0, 5), None, None),
        ("producer_id", "int64", (0, 5), None, None),
        ("producer_epoch", "int16", (0, 5), None, None),
        ("generation_id", "int32", (3, 5), None, None),
        ("member_id", "string", (3, 5), None, None),
        ("group_instance_id", "string", (3, 5), (3, 5), None),
        ("topics", "[]TxnOffsetCommitRequestTopic", (0, 5), None, None),
    )
    transactional_id: Final[str] = field(0)
    group_id: Final[str] = field(1)
    producer_id: Final[int] = field(2)
    producer_epoch: Final[int] = field(3)
    generation_id: Final[int] = field(4)
    member_id: Final[str] = field(5)
    group_instance_id: Final[str | None] = field(6)
    topics: Final[Sequence[TxnOffsetCommitRequestTopic]] = field(7)

    def __new__(
        cls,
        *,
        transactional_id: str = "",
        group_id: str = "",
        producer_id: int = 0,
        producer_epoch: int = 0,
        generation_id: int = -1,
        member_id: str = "",
        group_instance_id: str | None = None,
        topics: Sequence[TxnOffsetCommitRequestTopic] = (),
    ) -> TxnOffsetCommitRequest:
        return new(cls, (transactional_id, group_id, producer_id, producer_epoch, generation_id, member_id, group_instance_id, topics))
