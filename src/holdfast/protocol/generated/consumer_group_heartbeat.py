"""ConsumerGroupHeartbeat, versions 0 to 1. Made by `holdfast.protocol.schemas.generate`: edit nothing here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from holdfast.protocol.message import Message, RequestMessage, field, new


class ResponseTopicPartitions(Message):
    __slots__ = ()
    ROWS = (
        ("topic_id", "uuid", (0, 1), None, None),
        ("partitions", "[]int32", (0, 1), None, None),
    )
    topic_id: Final[UUID | None] = field(0)
    partitions: Final[Sequence[int]] = field(1)

    def __new__(
        cls,
        *,
        topic_id: UUID | None = None,
        partitions: Sequence[int] = (),
    ) -> ResponseTopicPartitions:
        return new(cls, (topic_id, partitions))


class Assignment(Message):
    __slots__ = ()
    ROWS = (
        ("topic_partitions", "[]ResponseTopicPartitions", (0, 1), None, None),
    )
    topic_partitions: Final[Sequence[ResponseTopicPartitions]] = field(0)

    def __new__(
        cls,
        *,
        topic_partitions: Sequence[ResponseTopicPartitions] = (),
    ) -> Assignment:
        return new(cls, (topic_partitions,))


class ConsumerGroupHeartbeatResponse(Message):
    __slots__ = ()
    FLEXIBLE_FROM = 0
    ROWS = (
        ("throttle_time_ms", "int32", (0, 1), None, None),
        ("error_code", "int16", (0, 1), None, None),
        ("error_message", "string", (0, 1), (0, 1), None),
        ("member_id", "string", (0, 1), (0, 1), None),
        ("member_epoch", "int32", (0, 1), None, None),
        ("heartbeat_interval_ms", "int32", (0, 1), None, None),
        ("assignment", "Assignment", (0, 1), (0, 1), None),
    )
    throttle_time_ms: Final[int] = field(0)
    error_code: Final[int] = field(1)
    error_message: Final[str | None] = field(2)
    member_id: Final[str | None] = field(3)
    member_epoch: Final[int] = field(4)
    heartbeat_interval_ms: Final[int] = field(5)
    assignment: Final[Assignment | None] = field(6)

    def __new__(
        cls,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        member_id: str | None = None,
        member_epoch: int = 0,
        heartbeat_interval_ms: int = 0,
        assignment: Assignment | None = None,
    ) -> ConsumerGroupHeartbeatResponse:
        return new(cls, (throttle_time_ms, error_code, error_message, member_id, member_epoch, heartbeat_interval_ms, assignment))


class RequestTopicPartitions(Message):
    __slots__ = ()
    ROWS = (
        ("topic_id", "uuid", (0, 1), None, None),
        ("partitions", "[]int32", (0, 1), None, None),
    )
    topic_id: Final[UUID | None] = field(0)
    partitions: Final[Sequence[int]] = field(1)

    def __new__(
        cls,
        *,
        topic_id: UUID | None = None,
        partitions: Sequence[int] = (),
    ) -> RequestTopicPartitions:
        return new(cls, (topic_id, partitions))


class ConsumerGroupHeartbeatRequest(RequestMessage[ConsumerGroupHeartbeatResponse]):
    __slots__ = ()
    FLEXIBLE_FROM = 0
    ROWS = (
        ("group_id", "string", (0, 1), None, None),
        ("member_id", "string", (0, 1), None, None),
        ("member_epoch", "int32", (0, 1), None, None),
        ("instance_id", "string", (0, 1), (0, 1), None),
        ("rack_id", "string", (0, 1), (0, 1), None),
        ("rebalance_timeout_ms", "int32", (0, 1), None, None),
        ("subscribed_topic_names", "[]string", (0, 1), (0, 1), None),
        ("subscribed_topic_regex", "string", (1, 1), (1, 1), None),
        ("server_assignor", "string", (0, 1), (0, 1), None),
        ("topic_partitions", "[]RequestTopicPartitions", (0, 1), (0, 1), None),
    )
    group_id: Final[str] = field(0)
    member_id: Final[str] = field(1)
    member_epoch: Final[int] = field(2)
    instance_id: Final[str | None] = field(3)
    rack_id: Final[str | None] = field(4)
    rebalance_timeout_ms: Final[int] = field(5)
    subscribed_topic_names: Final[Sequence[str] | None] = field(6)
    subscribed_topic_regex: Final[str | None] = field(7)
    server_assignor: Final[str | None] = field(8)
    topic_partitions: Final[Sequence[RequestTopicPartitions] | None] = field(9)

    def __new__(
        cls,
        *,
        group_id: str = "",
        member_id: str = "",
        member_epoch: int = 0,
        instance_id: str | None = None,
        rack_id: str | None = None,
        rebalance_timeout_ms: int = -1,
        subscribed_topic_names: Sequence[str] | None = None,
        subscribed_topic_regex: str | None = None,
        server_assignor: str | None = None,
        topic_partitions: Sequence[RequestTopicPartitions] | None = None,
    ) -> ConsumerGroupHeartbeatRequest:
        return new(cls, (group_id, member_id, member_epoch, instance_id, rack_id, rebalance_timeout_ms, subscribed_topic_names, subscribed_topic_regex, server_assignor, topic_partitions))
