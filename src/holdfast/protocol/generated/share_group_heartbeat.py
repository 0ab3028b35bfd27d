"""ShareGroupHeartbeat, versions 1 to 1. Made by `holdfast.protocol.schemas.generate`: edit nothing here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from holdfast.protocol.message import Message, RequestMessage, field, new


class TopicPartitions(Message):
    __slots__ = ()
    ROWS = (
        ("topic_id", "uuid", (1, 1), None, None),
        ("partitions", "[]int32", (1, 1), None, None),
    )
    topic_id: Final[UUID | None] = field(0)
    partitions: Final[Sequence[int]] = field(1)

    def __new__(
        cls,
        *,
        topic_id: UUID | None = None,
        partitions: Sequence[int] = (),
    ) -> TopicPartitions:
        return new(cls, (topic_id, partitions))


class Assignment(Message):
    __slots__ = ()
    ROWS = (
        ("topic_partitions", "[]TopicPartitions", (1, 1), None, None),
    )
    topic_partitions: Final[Sequence[TopicPartitions]] = field(0)

    def __new__(
        cls,
        *,
        topic_partitions: Sequence[TopicPartitions] = (),
    ) -> Assignment:
        return new(cls, (topic_partitions,))


class ShareGroupHeartbeatResponse(Message):
    __slots__ = ()
    FLEXIBLE_FROM = 0
    ROWS = (
        ("throttle_time_ms", "int32", (1, 1), None, None),
        ("error_code", "int16", (1, 1), None, None),
        ("error_message", "string", (1, 1), (1, 1), None),
        ("member_id", "string", (1, 1), (1, 1), None),
        ("member_epoch", "int32", (1, 1), None, None),
        ("heartbeat_interval_ms", "int32", (1, 1), None, None),
        ("assignment", "Assignment", (1, 1), (1, 1), None),
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
    ) -> ShareGroupHeartbeatResponse:
        return new(cls, (throttle_time_ms, error_code, error_message, member_id, member_epoch, heartbeat_interval_ms, assignment))


class ShareGroupHeartbeatRequest(RequestMessage[ShareGroupHeartbeatResponse]):
    __slots__ = ()
    FLEXIBLE_FROM = 0
    ROWS = (
        ("group_id", "string", (1, 1), None, None),
        ("member_id", "string", (1, 1), None, None),
        ("member_epoch", "int32", (1, 1), None, None),
        ("rack_id", "string", (1, 1), (1, 1), None),
        ("subscribed_topic_names", "[]string", (1, 1), (1, 1), None),
    )
    group_id: Final[str] = field(0)
    member_id: Final[str] = field(1)
    member_epoch: Final[int] = field(2)
    rack_id: Final[str | None] = field(3)
    subscribed_topic_names: Final[Sequence[str] | None] = field(4)

    def __new__(
        cls,
        *,
        group_id: str = "",
        member_id: str = "",
        member_epoch: int = 0,
        rack_id: str | None = None,
        subscribed_topic_names: Sequence[str] | None = None,
    ) -> ShareGroupHeartbeatRequest:
        return new(cls, (group_id, member_id, member_epoch, rack_id, subscribed_topic_names))
