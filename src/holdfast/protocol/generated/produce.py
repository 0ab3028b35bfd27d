"""Produce, versions 3 to 13. Made by `holdfast.protocol.schemas.generate`: edit nothing here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from holdfast.protocol.message import Message, RequestMessage, field, new


class BatchIndexAndErrorMessage(Message):
    __slots__ = ()
    ROWS = (
        ("batch_index", "int32", (8, 13), None, None),
        ("batch_index_error_message", "string", (8, 13), (8, 13), None),
    )
    batch_index: Final[int] = field(0)
    batch_index_error_message: Final[str | None] = field(1)

    def __new__(
        cls,
        *,
        batch_index: int = 0,
        batch_index_error_message: str | None = None,
    ) -> BatchIndexAndErrorMessage:
        return new(cls, (batch_index, batch_index_error_message))


class LeaderIdAndEpoch(Message):
    __slots__ = ()
    ROWS = (
        ("leader_id", "int32", (10, 13), None, None),
        ("leader_epoch", "int32", (10, 13), None, None),
    )
    leader_id: Final[int] = field(0)
    leader_epoch: Final[int] = field(1)

    def __new__(
        cls,
        *,
        leader_id: int = -1,
        leader_epoch: int = -1,
    ) -> LeaderIdAndEpoch:
        return new(cls, (leader_id, leader_epoch))


class PartitionProduceResponse(Message):
    __slots__ = ()
    ROWS = (
        ("index", "int32", (3, 13), None, None),
        ("error_code", "int16", (3, 13), None, None),
        ("base_offset", "int64", (3, 13), None, None),
        ("log_append_time_ms", "int64", (3, 13), None, None),
        ("log_start_offset", "int64", (5, 13), None, None),
        ("record_errors", "[]BatchIndexAndErrorMessage", (8, 13), None, None),
        ("error_message", "string", (8, 13), (8, 13), None),
        ("current_leader", "LeaderIdAndEpoch", (10, 13), None, 0),
    )
    index: Final[int] = field(0)
    error_code: Final[int] = field(1)
    base_offset: Final[int] = field(2)
    log_append_time_ms: Final[int] = field(3)
    log_start_offset: Final[int] = field(4)
    record_errors: Final[Sequence[BatchIndexAndErrorMessage]] = field(5)
    error_message: Final[str | None] = field(6)
    current_leader: Final[LeaderIdAndEpoch | None] = field(7)

    def __new__(
        cls,
        *,
        index: int = 0,
        error_code: int = 0,
        base_offset: int = 0,
        log_append_time_ms: int = -1,
        log_start_offset: int = -1,
        record_errors: Sequence[BatchIndexAndErrorMessage] = (),
        error_message: str | None = None,
        current_leader: LeaderIdAndEpoch | None = None,
    ) -> PartitionProduceResponse:
        return new(cls, (index, error_code, base_offset, log_append_time_ms, log_start_offset, record_errors, error_message, current_leader))


class TopicProduceResponse(Message):
    __slots__ = ()
    ROWS = (
        ("name", "string", (3, 12), None, None),
        ("topic_id", "uuid", (13, 13), None, None),
        ("partition_responses", "[]PartitionProduceResponse", (3, 13), None, None),
    )
    name: Final[str] = field(0)
    topic_id: Final[UUID | None] = field(1)
    partition_responses: Final[Sequence[PartitionProduceResponse]] = field(2)

    def __new__(
        cls,
        *,
        name: str = "",
        topic_id: UUID | None = None,
        partition_responses: Sequence[PartitionProduceResponse] = (),
    ) -> TopicProduceResponse:
        return new(cls, (name, topic_id, partition_responses))


class NodeEndpoint(Message):
    __slots__ = ()
    ROWS = (
        ("node_id", "int32", (10, 13), None, None),
        ("host", "string", (10, 13), None, None),
        ("port", "int32", (10, 13), None, None),
        ("rack", "string", (10, 13), (10, 13), None),
    )
    node_id: Final[int] = field(0)
    host: Final[str] = field(1)
    port: Final[int] = field(2)
    rack: Final[str | None] = field(3)

    def __new__(
        cls,
        *,
        node_id: int = 0,
        host: str = "",
        port: int = 0,
        rack: str | None = None,
    ) -> NodeEndpoint:
        return new(cls, (node_id, host, port, rack))


class ProduceResponse(Message):
    __slots__ = ()
    FLEXIBLE_FROM = 9
    ROWS = (
        ("responses", "[]TopicProduceResponse", (3, 13), None, None),
        ("throttle_time_ms", "int32", (3, 13), None, None),
        ("node_endpoints", "[]NodeEndpoint", (10, 13), None, 0),
    )
    responses: Final[Sequence[TopicProduceResponse]] = field(0)
    throttle_time_ms: Final[int] = field(1)
    node_endpoints: Final[Sequence[NodeEndpoint]] = field(2)

    def __new__(
        cls,
        *,
        responses: Sequence[TopicProduceResponse] = (),
        throttle_time_ms: int = 0,
        node_endpoints: Sequence[NodeEndpoint] = (),
    ) -> ProduceResponse:
        return new(cls, (responses, throttle_time_ms, node_endpoints))


class PartitionProduceData(Message):
    __slots__ = ()
    ROWS = (
        ("index", "int32", (3, 13), None, None),
        ("records", "records", (3, 13), (3, 13), None),
    )
    index: Final[int] = field(0)
    records: Final[bytes | None] = field(1)

    def __new__(
        cls,
        *,
        index: int = 0,
        records: bytes | None = b"",
    ) -> PartitionProduceData:
        return new(cls, (index, records))


class TopicProduceData(Message):
    __slots__ = ()
    ROWS = (
        ("name", "string", (3, 12), None, None),
        ("topic_id", "uuid", (13, 13), None, None),
        ("partition_data", "[]PartitionProduceData", (3, 13), None, None),
    )
    name: Final[str] = field(0)
    topic_id: Final[UUID | None] = field(1)
    partition_data: Final[Sequence[PartitionProduceData]] = field(2)

    def __new__(
        cls,
        *,
        name: str = "",
        topic_id: UUID | None = None,
        partition_data: Sequence[PartitionProduceData] = (),
    ) -> TopicProduceData:
        return new(cls, (name, topic_id, partition_data))


class ProduceRequest(RequestMessage[ProduceResponse]):
    __slots__ = ()
    FLEXIBLE_FROM = 9
    ROWS = (
        ("transactional_id", "string", (3, 13), (3, 13), None),
        ("acks", "int16", (3, 13), None, None),
        ("timeout_ms", "int32", (3, 13), None, None),
        ("topic_data", "[]TopicProduceData", (3, 13), None, None),
    )
    transactional_id: Final[str | None] = field(0)
    acks: Final[int] = field(1)
    timeout_ms: Final[int] = field(2)
    topic_data: Final[Sequence[TopicProduceData]] = field(3)

    def __new__(
        cls,
        *,
        transactional_id: str | None = None,
        acks: int = 0,
        timeout_ms: int = 0,
        topic_data: Sequence[TopicProduceData] = (),
    ) -> ProduceRequest:
        return new(cls, (transactional_id, acks, timeout_ms, topic_data))
