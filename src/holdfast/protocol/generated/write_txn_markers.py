"""WriteTxnMarkers, versions 1 to 2. Made by `holdfast.protocol.schemas.generate`: edit nothing here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from holdfast.protocol.message import Message, RequestMessage, field, new


class WritableTxnMarkerPartitionResult(Message):
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
    ) -> WritableTxnMarkerPartitionResult:
        return new(cls, (partition_index, error_code))


class WritableTxnMarkerTopicResult(Message):
    __slots__ = ()
    ROWS = (
        ("name", "string", (1, 2), None, None),
        ("partitions", "[]WritableTxnMarkerPartitionResult", (1, 2), None, None),
    )
    name: Final[str] = field(0)
    partitions: Final[Sequence[WritableTxnMarkerPartitionResult]] = field(1)

    def __new__(
        cls,
        *,
        name: str = "",
        partitions: Sequence[WritableTxnMarkerPartitionResult] = (),
    ) -> WritableTxnMarkerTopicResult:
        return new(cls, (name, partitions))


class WritableTxnMarkerResult(Message):
    __slots__ = ()
    ROWS = (
        ("producer_id", "int64", (1, 2), None, None),
        ("topics", "[]WritableTxnMarkerTopicResult", (1, 2), None, None),
    )
    producer_id: Final[int] = field(0)
    topics: Final[Sequence[WritableTxnMarkerTopicResult]] = field(1)

    def __new__(
        cls,
        *,
        producer_id: int = 0,
        topics: Sequence[WritableTxnMarkerTopicResult] = (),
    ) -> WritableTxnMarkerResult:
        return new(cls, (producer_id, topics))


class WriteTxnMarkersResponse(Message):
    __slots__ = ()
    FLEXIBLE_FROM = 1
    ROWS = (
        ("markers", "[]WritableTxnMarkerResult", (1, 2), None, None),
    )
    markers: Final[Sequence[WritableTxnMarkerResult]] = field(0)

    def __new__(
        cls,
        *,
        markers: Sequence[WritableTxnMarkerResult] = (),
    ) -> WriteTxnMarkersResponse:
        return new(cls, (markers,))


class WritableTxnMarkerTopic(Message):
    __slots__ = ()
    ROWS = (
        ("name", "string", (1, 2), None, None),
        ("partition_indexes", "[]int32", (1, 2), None, None),
    )
    name: Final[str] = field(0)
    partition_indexes: Final[Sequence[int]] = field(1)

    def __new__(
        cls,
        *,
        name: str = "",
        partition_indexes: Sequence[int] = (),
    ) -> WritableTxnMarkerTopic:
        return new(cls, (name, partition_indexes))


class WritableTxnMarker(Message):
    __slots__ = ()
    ROWS = (
        ("producer_id", "int64", (1, 2), None, None),
        ("producer_epoch", "int16", (1, 2), None, None),
        ("transaction_result", "bool", (1, 2), None, None),
        ("topics", "[]WritableTxnMarkerTopic", (1, 2), None, None),
        ("coordinator_epoch", "int32", (1, 2), None, None),
        ("transaction_version", "int8", (2, 2), None, None),
    )
    producer_id: Final[int] = field(0)
    producer_epoch: Final[int] = field(1)
    transaction_result: Final[bool] = field(2)
    topics: Final[Sequence[WritableTxnMarkerTopic]] = field(3)
    coordinator_epoch: Final[int] = field(4)
    transaction_version: Final[int] = field(5)

    def __new__(
        cls,
        *,
        producer_id: int = 0,
        producer_epoch: int = 0,
        transaction_result: bool = False,
        topics: Sequence[WritableTxnMarkerTopic] = (),
        coordinator_epoch: int = 0,
        transaction_version: int = 0,
    ) -> WritableTxnMarker:
        return new(cls, (producer_id, producer_epoch, transaction_result, topics, coordinator_epoch, transaction_version))


class WriteTxnMarkersRequest(RequestMessage[WriteTxnMarkersResponse]):
    __slots__ = ()
    FLEXIBLE_FROM = 1
    ROWS = (
        ("markers", "[]WritableTxnMarker", (1, 2), None, None),
    )
    markers: Final[Sequence[WritableTxnMarker]] = field(0)

    def __new__(
        cls,
        *,
        markers: Sequence[WritableTxnMarker] = (),
    ) -> WriteTxnMarkersRequest:
        return new(cls, (markers,))
