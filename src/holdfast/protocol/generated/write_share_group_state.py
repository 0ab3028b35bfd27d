"""WriteShareGroupState, versions 0 to 1. Made by `holdfast.protocol.schemas.generate`: edit nothing here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from holdfast.protocol.message import Message, RequestMessage, field, new


class PartitionResult(Message):
    __slots__ = ()
    ROWS = (
        ("partition", "int32", (0, 1), None, None),
        ("error_code", "int16", (0, 1), None, None),
        ("error_message", "string", (0, 1), (0, 1), None),
    )
    partition: Final[int] = field(0)
    error_code: Final[int] = field(1)
    error_message: Final[str | None] = field(2)

    def __new__(
        cls,
        *,
        partition: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
    ) -> PartitionResult:
        return new(cls, (partition, error_code, error_message))


class WriteStateResult(Message):
    __slots__ = ()
    ROWS = (
        ("topic_id", "uuid", (0, 1), None, None),
        ("partitions", "[]PartitionResult", (0, 1), None, None),
    )
    topic_id: Final[UUID | None] = field(0)
    partitions: Final[Sequence[PartitionResult]] = field(1)

    def __new__(
        cls,
        *,
        topic_id: UUID | None = None,
        partitions: Sequence[PartitionResult] = (),
    ) -> WriteStateResult:
        return new(cls, (topic_id, partitions))


class WriteShareGroupStateResponse(Message):
    __slots__ = ()
    FLEXIBLE_FROM = 0
    ROWS = (
        ("results", "[]WriteStateResult", (0, 1), None, None),
    )
    results: Final[Sequence[WriteStateResult]] = field(0)

    def __new__(
        cls,
        *,
        results: Sequence[WriteStateResult] = (),
    ) -> WriteShareGroupStateResponse:
        return new(cls, (results,))


class StateBatch(Message):
    __slots__ = ()
    ROWS = (
        ("first_offset", "int64", (0, 1), None, None),
        ("last_offset", "int64", (0, 1), None, None),
        ("delivery_state", "int8", (0, 1), None, None),
        ("delivery_count", "int16", (0, 1), None, None),
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


class PartitionData(Message):
    __slots__ = ()
    ROWS = (
        ("partition", "int32", (0, 1), None, None),
        ("state_epoch", "int32", (0, 1), None, None),
        ("leader_epoch", "int32", (0, 1), None, None),
        ("start_offset", "int64", (0, 1), None, None),
        ("delivery_complete_count", "int32", (1, 1), None, None),
        ("state_batches", "[]StateBatch", (0, 1), None, None),
    )
    partition: Final[int] = field(0)
    state_epoch: Final[int] = field(1)
    leader_epoch: Final[int] = field(2)
    start_offset: Final[int] = field(3)
    delivery_complete_count: Final[int] = field(4)
    state_batches: Final[Sequence[StateBatch]] = field(5)

    def __new__(
        cls,
        *,
        partition: int = 0,
        state_epoch: int = 0,
        leader_epoch: int = 0,
        start_offset: int = 0,
        delivery_complete_count: int = -1,
        state_batches: Sequence[StateBatch] = (),
    ) -> PartitionData:
        return new(cls, (partition, state_epoch, leader_epoch, start_offset, delivery_complete_count, state_batches))


class WriteStateData(Message):
    __slots__ = ()
    ROWS = (
        ("topic_id", "uuid", (0, 1), None, None),
        ("partitions", "[]PartitionData", (0, 1), None, None),
    )
    topic_id: Final[UUID | None] = field(0)
    partitions: Final[Sequence[PartitionData]] = field(1)

    def __new__(
        cls,
        *,
        topic_id: UUID | None = None,
        partitions: Sequence[PartitionData] = (),
    ) -> WriteStateData:
        return new(cls, (topic_id, partitions))


class WriteShareGroupStateRequest(RequestMessage[WriteShareGroupStateResponse]):
    __slots__ = ()
    FLEXIBLE_FROM = 0
    ROWS = (
        ("group_id", "string", (0, 1), None, None),
        ("topics", "[]WriteStateData", (0, 1), None, None),
    )
    group_id: Final[str] = field(0)
    topics: Final[Sequence[WriteStateData]] = field(1)

    def __new__(
        cls,
        *,
        group_id: str = "",
        topics: Sequence[WriteStateData] = (),
    ) -> WriteShareGroupStateRequest:
        return new(cls, (group_id, topics))
