"""DescribeProducers, versions 0 to 0. Made by `holdfast.protocol.schemas.generate`: edit nothing here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from holdfast.protocol.message import Message, RequestMessage, field, new


class ProducerState(Message):
    __slots__ = ()
    ROWS = (
        ("producer_id", "int64", (0, 0), None, None),
        ("producer_epoch", "int32", (0, 0), None, None),
        ("last_sequence", "int32", (0, 0), None, None),
        ("last_timestamp", "int64", (0, 0), None, None),
        ("coordinator_epoch", "int32", (0, 0), None, None),
        ("current_txn_start_offset", "int64", (0, 0), None, None),
    )
    producer_id: Final[int] = field(0)
    producer_epoch: Final[int] = field(1)
    last_sequence: Final[int] = field(2)
    last_timestamp: Final[int] = field(3)
    coordinator_epoch: Final[int] = field(4)
    current_txn_start_offset: Final[int] = field(5)

    def __new__(
        cls,
        *,
        producer_id: int = 0,
        producer_epoch: int = 0,
        last_sequence: int = -1,
        last_timestamp: int = -1,
        coordinator_epoch: int = 0,
        current_txn_start_offset: int = -1,
    ) -> ProducerState:
        return new(cls, (producer_id, producer_epoch, last_sequence, last_timestamp, coordinator_epoch, current_txn_start_offset))


class PartitionResponse(Message):
    __slots__ = ()
    ROWS = (
        ("partition_index", "int32", (0, 0), None, None),
        ("error_code", "int16", (0, 0), None, None),
        ("error_message", "string", (0, 0), (0, 0), None),
        ("active_producers", "[]ProducerState", (0, 0), None, None),
    )
    partition_index: Final[int] = field(0)
    error_code: Final[int] = field(1)
    error_message: Final[str | None] = field(2)
    active_producers: Final[Sequence[ProducerState]] = field(3)

    def __new__(
        cls,
        *,
        partition_index: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        active_producers: Sequence[ProducerState] = (),
    ) -> PartitionResponse:
        return new(cls, (partition_index, error_code, error_message, active_producers))


class TopicResponse(Message):
    __slots__ = ()
    ROWS = (
        ("name", "string", (0, 0), None, None),
        ("partitions", "[]PartitionResponse", (0, 0), None, None),
    )
    name: Final[str] = field(0)
    partitions: Final[Sequence[PartitionResponse]] = field(1)

    def __new__(
        cls,
        *,
        name: str = "",
        partitions: Sequence[PartitionResponse] = (),
    ) -> TopicResponse:
        return new(cls, (name, partitions))


class DescribeProducersResponse(Message):
    __slots__ = ()
    FLEXIBLE_FROM = 0
    ROWS = (
        ("throttle_time_ms", "int32", (0, 0), None, None),
        ("topics", "[]TopicResponse", (0, 0), None, None),
    )
    throttle_time_ms: Final[int] = field(0)
    topics: Final[Sequence[TopicResponse]] = field(1)

    def __new__(
        cls,
        *,
        throttle_time_ms: int = 0,
        topics: Sequence[TopicResponse] = (),
    ) -> DescribeProducersResponse:
        return new(cls, (throttle_time_ms, topics))


class TopicRequest(Message):
    __slots__ = ()
    ROWS = (
        ("name", "string", (0, 0), None, None),
        ("partition_indexes", "[]int32", (0, 0), None, None),
    )
    name: Final[str] = field(0)
    partition_indexes: Final[Sequence[int]] = field(1)

    def __new__(
        cls,
        *,
        name: str = "",
        partition_indexes: Sequence[int] = (),
    ) -> TopicRequest:
        return new(cls, (name, partition_indexes))


class DescribeProducersRequest(RequestMessage[DescribeProducersResponse]):
    __slots__ = ()
    FLEXIBLE_FROM = 0
    ROWS = (
        ("topics", "[]TopicRequest", (0, 0), None, None),
    )
    topics: Final[Sequence[TopicRequest]] = field(0)

    def __new__(
        cls,
        *,
        topics: Sequence[TopicRequest] = (),
    ) -> DescribeProducersRequest:
        return new(cls, (topics,))
