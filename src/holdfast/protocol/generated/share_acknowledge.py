"""ShareAcknowledge, versions 1 to 2. Made by `holdfast.protocol.schemas.generate`: edit nothing here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from holdfast.protocol.message import Message, RequestMessage, field, new


class LeaderIdAndEpoch(Message):
    __slots__ = ()
    ROWS = (
        ("leader_id", "int32", (1, 2), None, None),
        ("leader_epoch", "int32", (1, 2), None, None),
    )
    leader_id: Final[int] = field(0)
    leader_epoch: Final[int] = field(1)

    def __new__(
        cls,
        *,
        leader_id: int = 0,
        leader_epoch: int = 0,
    ) -> LeaderIdAndEpoch:
        return new(cls, (leader_id, leader_epoch))


class PartitionData(Message):
    __slots__ = ()
    ROWS = (
        ("partition_index", "int32", (1, 2), None, None),
        ("error_code", "int16", (1, 2), None, None),
        ("error_message", "string", (1, 2), (1, 2), None),
        ("current_leader", "LeaderIdAndEpoch", (1, 2), None, None),
    )
    partition_index: Final[int] = field(0)
    error_code: Final[int] = field(1)
    error_message: Final[str | None] = field(2)
    current_leader: Final[LeaderIdAndEpoch] = field(3)

    def __new__(
        cls,
        *,
        partition_index: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        current_leader: LeaderIdAndEpoch,
    ) -> PartitionData:
        return new(cls, (partition_index, error_code, error_message, current_leader))


class ShareAcknowledgeTopicResponse(Message):
    __slots__ = ()
    ROWS = (
        ("topic_id", "uuid", (1, 2), None, None),
        ("partitions", "[]PartitionData", (1, 2), None, None),
    )
    topic_id: Final[UUID | None] = field(0)
    partitions: Final[Sequence[PartitionData]] = field(1)

    def __new__(
        cls,
        *,
        topic_id: UUID | None = None,
        partitions: Sequence[PartitionData] = (),
    ) -> ShareAcknowledgeTopicResponse:
        return new(cls, (topic_id, partitions))


class NodeEndpoint(Message):
    __slots__ = ()
    ROWS = (
        ("node_id", "int32", (1, 2), None, None),
        ("host", "string", (1, 2), None, None),
        ("port", "int32", (1, 2), None, None),
        ("rack", "string", (1, 2), (1, 2), None),
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


class ShareAcknowledgeResponse(Message):
    __slots__ = ()
    FLEXIBLE_FROM = 0
    ROWS = (
        ("throttle_time_ms", "int32", (1, 2), None, None),
        ("error_code", "int16", (1, 2), None, None),
        ("error_message", "string", (1, 2), (1, 2), None),
        ("acquisition_lock_timeout_ms", "int32", (2, 2), None, None),
        ("responses", "[]ShareAcknowledgeTopicResponse", (1, 2), None, None),
        ("node_endpoints", "[]NodeEndpoint", (1, 2), None, None),
    )
    throttle_time_ms: Final[int] = field(0)
    error_code: Final[int] = field(1)
    error_message: Final[str | None] = field(2)
    acquisition_lock_timeout_ms: Final[int] = field(3)
    responses: Final[Sequence[ShareAcknowledgeTopicResponse]] = field(4)
    node_endpoints: Final[Sequence[NodeEndpoint]] = field(5)

    def __new__(
        cls,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        acquisition_lock_timeout_ms: int = 0,
        responses: Sequence[ShareAcknowledgeTopicResponse] = (),
        node_endpoints: Sequence[NodeEndpoint] = (),
    ) -> ShareAcknowledgeResponse:
        return new(cls, (throttle_time_ms, error_code, error_message, acquisition_lock_timeout_ms, responses, node_endpoints))


class AcknowledgementBatch(Message):
    __slots__ = ()
    ROWS = (
        ("first_offset", "int64", (1, 2), None, None),
        ("last_offset", "int64", (1, 2), None, None),
        ("acknowledge_types", "[]int8", (1, 2), None, None),
    )
    first_offset: Final[int] = field(0)
    last_offset: Final[int] = field(1)
    acknowledge_types: Final[Sequence[int]] = field(2)

    def __new__(
        cls,
        *,
        first_offset: int = 0,
        last_offset: int = 0,
        acknowledge_types: Sequence[int] = (),
    ) -> AcknowledgementBatch:
        return new(cls, (first_offset, last_offset, acknowledge_types))


class AcknowledgePartition(Message):
    __slots__ = ()
    ROWS = (
        ("partition_index", "int32", (1, 2), None, None),
        ("acknowledgement_batches", "[]AcknowledgementBatch", (1, 2), None, None),
    )
    partition_index: Final[int] = field(0)
    acknowledgement_batches: Final[Sequence[AcknowledgementBatch]] = field(1)

    def __new__(
        cls,
        *,
        partition_index: int = 0,
        acknowledgement_batches: Sequence[AcknowledgementBatch] = (),
    ) -> AcknowledgePartition:
        return new(cls, (partition_index, acknowledgement_batches))


class AcknowledgeTopic(Message):
    __slots__ = ()
    ROWS = (
        ("topic_id", "uuid", (1, 2), None, None),
        ("partitions", "[]AcknowledgePartition", (1, 2), None, None),
    )
    topic_id: Final[UUID | None] = field(0)
    partitions: Final[Sequence[AcknowledgePartition]] = field(1)

    def __new__(
        cls,
        *,
        topic_id: UUID | None = None,
        partitions: Sequence[AcknowledgePartition] = (),
    ) -> AcknowledgeTopic:
        return new(cls, (topic_id, partitions))


class ShareAcknowledgeRequest(RequestMessage[ShareAcknowledgeResponse]):
    __slots__ = ()
    FLEXIBLE_FROM = 0
    ROWS = (
        ("group_id", "string", (1, 2), (1, 2), None),
        ("member_id", "string", (1, 2), (1, 2), None),
        ("share_session_epoch", "int32", (1, 2), None, None),
        ("is_renew_ack", "bool", (2, 2), None, None),
        ("topics", "[]AcknowledgeTopic", (1, 2), None, None),
    )
    group_id: Final[str | None] = field(0)
    member_id: Final[str | None] = field(1)
    share_session_epoch: Final[int] = field(2)
    is_renew_ack: Final[bool] = field(3)
    topics: Final[Sequence[AcknowledgeTopic]] = field(4)

    def __new__(
        cls,
        *,
        group_id: str | None = None,
        member_id: str | None = "",
        share_session_epoch: int = 0,
        is_renew_ack: bool = False,
        topics: Sequence[AcknowledgeTopic] = (),
    ) -> ShareAcknowledgeRequest:
        return new(cls, (group_id, member_id, share_session_epoch, is_renew_ack, topics))
