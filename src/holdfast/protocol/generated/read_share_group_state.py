"""ReadShareGroupState, versions 0 to 0. Made by `holdfast.protocol.schemas.generate`: edit nothing here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from holdfast.protocol.message import Message, RequestMessage, field, new


class StateBatch(Message):
    __slots__ = ()
    ROWS = (
        ("first_offset", "int64", (0, 0), None, None),
        ("last_offset", "int64", (0, 0), None, None),
        ("delivery_state", "int8", (0, 0), None, None),
        ("delivery_count", "int16", (0, 0), None, None),
    )
    first_offset: Final[int] = field(0)
    last_offset: Final[int] = field(1)
    delivery_state: Final[int] = field(2)
    delivery_count: Final[int] = field(3)

    def __new__(
        cls,
        *,
        first_offset: int = 0,
        last_offset: int = 0,
        delivery_state: int = 0,
        delivery_count: int = 0,
    ) -> StateBatch:
        return new(cls, (first_offset, last_offset, delivery_state, delivery_count))


class PartitionResult(Message):
    __slots__ = ()
    ROWS = (
        ("partition", "int32", (0, 0), None, None),
        ("error_code", "int16", (0, 0), None, None),
        ("error_message", "string", (0, 0), (0, 0), None),
        ("state_epoch", "int32", (0, 0), None, None),
        ("start_offset", "int64", (0, 0), None, None),
        ("state_batches", "[]StateBatch", (0, 0), None, None),
    )
    partition: Final[int] = field(0)
    error_code: Final[int] = field(1)
    error_message: Final[str | None] = field(2)
    state_epoch: Final[int] = field(3)
    start_offset: Final[int] = field(4)
    state_batches: Final[Sequence[StateBatch]] = field(5)

    def __new__(
        cls,
        *,
        partition: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        state_epoch: int = 0,
        start_offset: int = 0,
        state_batches: Sequence[StateBatch] = (),
    ) -> PartitionResult:
        return new(cls, (partition, error_code, error_message, state_epoch, start_offset, state_batches))


class ReadStateResult(Message):
    __slots__ = ()
    ROWS = (
        ("topic_id", "uuid", (0, 0), None, None),
        ("partitions", "[]PartitionResult", (0, 0), None, None),
    )
    topic_id: Final[UUID | None] = field(0)
    partitions: Final[Sequence[PartitionResult]] = field(1)

    def __new__(
        cls,
        *,
        topic_id: UUID | None = None,
        partitions: Sequence[PartitionResult] = (),
    ) -> ReadStateResult:
        return new(cls, (topic_id, partitions))


class ReadShareGroupStateResponse(Message):
    __slots__ = ()
    FLEXIBLE_FROM = 0
    ROWS = (
        ("results", "[]ReadStateResult", (0, 0), None, None),
    )
    results: Final[Sequence[ReadStateResult]] = field(0)

    def __new__(
        cls,
        *,
        results: Sequence[ReadStateResult] = (),
    ) -> ReadShareGroupStateResponse:
        return new(cls, (results,))


class PartitionData(Message):
    __slots__ = ()
    ROWS = (
        ("partition", "int32", (0, 0), None, None),
        ("leader_epoch", "int32", (0, 0), None, None),
    )
    partition: Final[int] = field(0)
    leader_epoch: Final[int] = field(1)

    def __new__(
        cls,
        *,
        partition: int = 0,
        leader_epoch: int = 0,
    ) -> PartitionData:
        return new(cls, (partition, leader_epoch))


class ReadStateData(Message):
    __slots__ = ()
    ROWS = (
        ("topic_id", "uuid", (0, 0), None, None),
        ("partitions", "[]PartitionData", (0, 0), None, None),
    )
    topic_id: Final[UUID | None] = field(0)
    partitions: Final[Sequence[PartitionData]] = field(1)

    def __new__(
        cls,
        *,
        topic_id: UUID | None = None,
        partitions: Sequence[PartitionData] = (),
    ) -> ReadStateData:
        return new(cls, (topic_id, partitions))


class ReadShareGroupStateRequest(RequestMessage[ReadShareGroupStateResponse]):
    __slots__ = ()
    FLEXIBLE_FROM = 0
    ROWS = (
        ("group_id", "string", (0, 0), None, None),
        ("topics", "[]ReadStateData", (0, 0), None, None),
    )
    group_id: Final[str] = field(0)
    topics: Final[Sequence[ReadStateData]] = field(1)

    def __new__(
        cls,
        *,
        group_id: str = "",
        topics: Sequence[ReadStateData] = (),
    ) -> ReadShareGroupStateRequest:
        return new(cls, (group_id, topics))
