"""AddPartitionsToTxn, versions 0 to 5. Made by `holdfast.protocol.schemas.generate`: edit nothing here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from holdfast.protocol.message import Message, RequestMessage, field, new


class AddPartitionsToTxnPartitionResult(Message):
    __slots__ = ()
    ROWS = (
        ("partition_index", "int32", (0, 5), None, None),
        ("partition_error_code", "int16", (0, 5), None, None),
    )
    partition_index: Final[int] = field(0)
    partition_error_code: Final[int] = field(1)

    def __new__(
        cls,
        *,
        partition_index: int = 0,
        partition_error_code: int = 0,
    ) -> AddPartitionsToTxnPartitionResult:
        return new(cls, (partition_index, partition_error_code))


class AddPartitionsToTxnTopicResult(Message):
    __slots__ = ()
    ROWS = (
        ("name", "string", (0, 5), None, None),
        ("results_by_partition", "[]AddPartitionsToTxnPartitionResult", (0, 5), None, None),
    )
    name: Final[str] = field(0)
    results_by_partition: Final[Sequence[AddPartitionsToTxnPartitionResult]] = field(1)

    def __new__(
        cls,
        *,
        name: str = "",
        results_by_partition: Sequence[AddPartitionsToTxnPartitionResult] = (),
    ) -> AddPartitionsToTxnTopicResult:
        return new(cls, (name, results_by_partition))


class AddPartitionsToTxnResult(Message):
    __slots__ = ()
    ROWS = (
        ("transactional_id", "string", (4, 5), None, None),
        ("topic_results", "[]AddPartitionsToTxnTopicResult", (4, 5), None, None),
    )
    transactional_id: Final[str] = field(0)
    topic_results: Final[Sequence[AddPartitionsToTxnTopicResult]] = field(1)

    def __new__(
        cls,
        *,
        transactional_id: str = "",
        topic_results: Sequence[AddPartitionsToTxnTopicResult] = (),
    ) -> AddPartitionsToTxnResult:
        return new(cls, (transactional_id, topic_results))


class AddPartitionsToTxnResponse(Message):
    __slots__ = ()
    FLEXIBLE_FROM = 3
    ROWS = (
        ("throttle_time_ms", "int32", (0, 5), None, None),
        ("error_code", "int16", (4, 5), None, None),
        ("results_by_transaction", "[]AddPartitionsToTxnResult", (4, 5), None, None),
        ("results_by_topic_v3_and_below", "[]AddPartitionsToTxnTopicResult", (0, 3), None, None),
    )
    throttle_time_ms: Final[int] = field(0)
    error_code: Final[int] = field(1)
    results_by_transaction: Final[Sequence[AddPartitionsToTxnResult]] = field(2)
    results_by_topic_v3_and_below: Final[Sequence[AddPartitionsToTxnTopicResult]] = field(3)

    def __new__(
        cls,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        results_by_transaction: Sequence[AddPartitionsToTxnResult] = (),
        results_by_topic_v3_and_below: Sequence[AddPartitionsToTxnTopicResult] = (),
    ) -> AddPartitionsToTxnResponse:
        return new(cls, (throttle_time_ms, error_code, results_by_transaction, results_by_topic_v3_and_below))


class AddPartitionsToTxnTopic(Message):
    __slots__ = ()
    ROWS = (
        ("name", "string", (0, 5), None, None),
        ("partitions", "[]int32", (0, 5), None, None),
    )
    name: Final[str] = field(0)
    partitions: Final[Sequence[int]] = field(1)

    def __new__(
        cls,
        *,
        name: str = "",
        partitions: Sequence[int] = (),
    ) -> AddPartitionsToTxnTopic:
        return new(cls, (name, partitions))


class AddPartitionsToTxnTransaction(Message):
    __slots__ = ()
    ROWS = (
        ("transactional_id", "string", (4, 5), None, None),
        ("producer_id", "int64", (4, 5), None, None),
        ("producer_epoch", "int16", (4, 5), None, None),
        ("verify_only", "bool", (4, 5), None, None),
        ("topics", "[]AddPartitionsToTxnTopic", (4, 5), None, None),
    )
    transactional_id: Final[str] = field(0)
    producer_id: Final[int] = field(1)
    producer_epoch: Final[int] = field(2)
    verify_only: Final[bool] = field(3)
    topics: Final[Sequence[AddPartitionsToTxnTopic]] = field(4)

    def __new__(
        cls,
        *,
        transactional_id: str = "",
        producer_id: int = 0,
        producer_epoch: int = 0,
        verify_only: bool = False,
        topics: Sequence[AddPartitionsToTxnTopic] = (),
    ) -> AddPartitionsToTxnTransaction:
        return new(cls, (transactional_id, producer_id, producer_epoch, verify_only, topics))


class AddPartitionsToTxnRequest(RequestMessage[AddPartitionsToTxnResponse]):
    __slots__ = ()
    FLEXIBLE_FROM = 3
    ROWS = (
        ("transactions", "[]AddPartitionsToTxnTransaction", (4, 5), None, None),
        ("v3_and_below_transactional_id", "string", (0, 3), None, None),
        ("v3_and_below_producer_id", "int64", (0, 3), None, None),
        ("v3_and_below_producer_epoch", "int16", (0, 3), None, None),
        ("v3_and_below_topics", "[]AddPartitionsToTxnTopic", (0, 3), None, None),
    )
    transactions: Final[Sequence[AddPartitionsToTxnTransaction]] = field(0)
    v3_and_below_transactional_id: Final[str] = field(1)
    v3_and_below_producer_id: Final[int] = field(2)
    v3_and_below_producer_epoch: Final[int] = field(3)
    v3_and_below_topics: Final[Sequence[AddPartitionsToTxnTopic]] = field(4)

    def __new__(
        cls,
        *,
        transactions: Sequence[AddPartitionsToTxnTransaction] = (),
        v3_and_below_transactional_id: str = "",
        v3_and_below_producer_id: int = 0,
        v3_and_below_producer_epoch: int = 0,
        v3_and_below_topics: Sequence[AddPartitionsToTxnTopic] = (),
    ) -> AddPartitionsToTxnRequest:
        return new(cls, (transactions, v3_and_below_transactional_id, v3_and_below_producer_id, v3_and_below_producer_epoch, v3_and_below_topics))
