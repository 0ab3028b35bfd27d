"""DescribeTransactions, versions 0 to 0. Made by `holdfast.protocol.schemas.generate`: edit nothing here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from holdfast.protocol.message import Message, RequestMessage, field, new


class TopicData(Message):
    __slots__ = ()
    ROWS = (
        ("topic", "string", (0, 0), None, None),
        ("partitions", "[]int32", (0, 0), None, None),
    )
    topic: Final[str] = field(0)
    partitions: Final[Sequence[int]] = field(1)

    def __new__(
        cls,
        *,
        topic: str = "",
        partitions: Sequence[int] = (),
    ) -> TopicData:
        return new(cls, (topic, partitions))


class TransactionState(Message):
    __slots__ = ()
    ROWS = (
        ("error_code", "int16", (0, 0), None, None),
        ("transactional_id", "string", (0, 0), None, None),
        ("transaction_state", "string", (0, 0), None, None),
        ("transaction_timeout_ms", "int32", (0, 0), None, None),
        ("transaction_start_time_ms", "int64", (0, 0), None, None),
        ("producer_id", "int64", (0, 0), None, None),
        ("producer_epoch", "int16", (0, 0), None, None),
        ("topics", "[]TopicData", (0, 0), None, None),
    )
    error_code: Final[int] = field(0)
    transactional_id: Final[str] = field(1)
    transaction_state: Final[str] = field(2)
    transaction_timeout_ms: Final[int] = field(3)
    transaction_start_time_ms: Final[int] = field(4)
    producer_id: Final[int] = field(5)
    producer_epoch: Final[int] = field(6)
    topics: Final[Sequence[TopicData]] = field(7)

    def __new__(
        cls,
        *,
        error_code: int = 0,
        transactional_id: str = "",
        transaction_state: str = "",
        transaction_timeout_ms: int = 0,
        transaction_start_time_ms: int = 0,
        producer_id: int = 0,
        producer_epoch: int = 0,
        topics: Sequence[TopicData] = (),
    ) -> TransactionState:
        return new(cls, (error_code, transactional_id, transaction_state, transaction_timeout_ms, transaction_start_time_ms, producer_id, producer_epoch, topics))


class DescribeTransactionsResponse(Message):
    __slots__ = ()
    FLEXIBLE_FROM = 0
    ROWS = (
        ("throttle_time_ms", "int32", (0, 0), None, None),
        ("transaction_states", "[]TransactionState", (0, 0), None, None),
    )
    throttle_time_ms: Final[int] = field(0)
    transaction_states: Final[Sequence[TransactionState]] = field(1)

    def __new__(
        cls,
        *,
        throttle_time_ms: int = 0,
        transaction_states: Sequence[TransactionState] = (),
    ) -> DescribeTransactionsResponse:
        return new(cls, (throttle_time_ms, transaction_states))


class DescribeTransactionsRequest(RequestMessage[DescribeTransactionsResponse]):
    __slots__ = ()
    FLEXIBLE_FROM = 0
    ROWS = (
        ("transactional_ids", "[]string", (0, 0), None, None),
    )
    transactional_ids: Final[Sequence[str]] = field(0)

    def __new__(
        cls,
        *,
        transactional_ids: Sequence[str] = (),
    ) -> DescribeTransactionsRequest:
        return new(cls, (transactional_ids,))
