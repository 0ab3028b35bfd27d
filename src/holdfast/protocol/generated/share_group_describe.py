"""ShareGroupDescribe, versions 1 to 1. Made by `holdfast.protocol.schemas.generate`: edit nothing here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from holdfast.protocol.message import Message, RequestMessage, field, new


class TopicPartitions(Message):
    __slots__ = ()
    ROWS = (
        ("topic_id", "uuid", (1, 1), None, None),
        ("topic_name", "string", (1, 1), None, None),
        ("partitions", "[]int32", (1, 1), None, None),
    )
    topic_id: Final[UUID | None] = field(0)
    topic_name: Final[str] = field(1)
    partitions: Final[Sequence[int]] = field(2)

    def __new__(
        cls,
        *,
        topic_id: UUID | None = None,
        topic_name: str = "",
        partitions: Sequence[int] = (),
    ) -> TopicPartitions:
        return new(cls, (topic_id, topic_name, partitions))


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


class Member(Message):
    __slots__ = ()
    ROWS = (
        ("member_id", "string", (1, 1), None, None),
        ("rack_id", "string", (1, 1), (1, 1), None),
        ("member_epoch", "int32", (1, 1), None, None),
        ("client_id", "string", (1, 1), None, None),
        ("client_host", "string", (1, 1), None, None),
        ("subscribed_topic_names", "[]string", (1, 1), None, None),
        ("assignment", "Assignment", (1, 1), None, None),
    )
    member_id: Final[str] = field(0)
    rack_id: Final[str | None] = field(1)
    member_epoch: Final[int] = field(2)
    client_id: Final[str] = field(3)
    client_host: Final[str] = field(4)
    subscribed_topic_names: Final[Sequence[str]] = field(5)
    assignment: Final[Assignment] = field(6)

    def __new__(
        cls,
        *,
        member_id: str = "",
        rack_id: str | None = None,
        member_epoch: int = 0,
        client_id: str = "",
        client_host: str = "",
        subscribed_topic_names: Sequence[str] = (),
        assignment: Assignment,
    ) -> Member:
        return new(cls, (member_id, rack_id, member_epoch, client_id, client_host, subscribed_topic_names, assignment))


class DescribedGroup(Message):
    __slots__ = ()
    ROWS = (
        ("error_code", "int16", (1, 1), None, None),
        ("error_message", "string", (1, 1), (1, 1), None),
        ("group_id", "string", (1, 1), None, None),
        ("group_state", "string", (1, 1), None, None),
        ("group_epoch", "int32", (1, 1), None, None),
        ("assignment_epoch", "int32", (1, 1), None, None),
        ("assignor_name", "string", (1, 1), None, None),
        ("members", "[]Member", (1, 1), None, None),
        ("authorized_operations", "int32", (1, 1), None, None),
    )
    error_code: Final[int] = field(0)
    error_message: Final[str | None] = field(1)
    group_id: Final[str] = field(2)
    group_state: Final[str] = field(3)
    group_epoch: Final[int] = field(4)
    assignment_epoch: Final[int] = field(5)
    assignor_name: Final[str] = field(6)
    members: Final[Sequence[Member]] = field(7)
    authorized_operations: Final[int] = field(8)

    def __new__(
        cls,
        *,
        error_code: int = 0,
        error_message: str | None = None,
        group_id: str = "",
        group_state: str = "",
        group_epoch: int = 0,
        assignment_epoch: int = 0,
        assignor_name: str = "",
        members: Sequence[Member] = (),
        authorized_operations: int = -2147483648,
    ) -> DescribedGroup:
        return new(cls, (error_code, error_message, group_id, group_state, group_epoch, assignment_epoch, assignor_name, members, authorized_operations))


class ShareGroupDescribeResponse(Message):
    __slots__ = ()
    FLEXIBLE_FROM = 0
    ROWS = (
        ("throttle_time_ms", "int32", (1, 1), None, None),
        ("groups", "[]DescribedGroup", (1, 1), None, None),
    )
    throttle_time_ms: Final[int] = field(0)
    groups: Final[Sequence[DescribedGroup]] = field(1)

    def __new__(
        cls,
        *,
        throttle_time_ms: int = 0,
        groups: Sequence[DescribedGroup] = (),
    ) -> ShareGroupDescribeResponse:
        return new(cls, (throttle_time_ms, groups))


class ShareGroupDescribeRequest(RequestMessage[ShareGroupDescribeResponse]):
    __slots__ = ()
    FLEXIBLE_FROM = 0
    ROWS = (
        ("group_ids", "[]string", (1, 1), None, None),
        ("include_authorized_operations", "bool", (1, 1), None, None),
    )
    group_ids: Final[Sequence[str]] = field(0)
    include_authorized_operations: Final[bool] = field(1)

    def __new__(
        cls,
        *,
        group_ids: Sequence[str] = (),
        include_authorized_operations: bool = False,
    ) -> ShareGroupDescribeRequest:
        return new(cls, (group_ids, include_authorized_operations))
