"""ConsumerGroupDescribe, versions 0 to 1. Made by `holdfast.protocol.schemas.generate`: edit nothing here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from holdfast.protocol.message import Message, RequestMessage, field, new


class TopicPartitions(Message):
    __slots__ = ()
    ROWS = (
        ("topic_id", "uuid", (0, 1), None, None),
        ("topic_name", "string", (0, 1), None, None),
        ("partitions", "[]int32", (0, 1), None, None),
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
        ("topic_partitions", "[]TopicPartitions", (0, 1), None, None),
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
        ("member_id", "string", (0, 1), None, None),
        ("instance_id", "string", (0, 1), (0, 1), None),
        ("rack_id", "string", (0, 1), (0, 1), None),
        ("member_epoch", "int32", (0, 1), None, None),
        ("client_id", "string", (0, 1), None, None),
        ("client_host", "string", (0, 1), None, None),
        ("subscribed_topic_names", "[]string", (0, 1), None, None),
        ("subscribed_topic_regex", "string", (0, 1), (0, 1), None),
        ("assignment", "Assignment", (0, 1), None, None),
        ("target_assignment", "Assignment", (0, 1), None, None),
        ("member_type", "int8", (1, 1), None, None),
    )
    member_id: Final[str] = field(0)
    instance_id: Final[str | None] = field(1)
    rack_id: Final[str | None] = field(2)
    member_epoch: Final[int] = field(3)
    client_id: Final[str] = field(4)
    client_host: Final[str] = field(5)
    subscribed_topic_names: Final[Sequence[str]] = field(6)
    subscribed_topic_regex: Final[str | None] = field(7)
    assignment: Final[Assignment] = field(8)
    target_assignment: Final[Assignment] = field(9)
    member_type: Final[int] = field(10)

    def __new__(
        cls,
        *,
        member_id: str = "",
        instance_id: str | None = None,
        rack_id: str | None = None,
        member_epoch: int = 0,
        client_id: str = "",
        client_host: str = "",
        subscribed_topic_names: Sequence[str] = (),
        subscribed_topic_regex: str | None = None,
        assignment: Assignment,
        target_assignment: Assignment,
        member_type: int = -1,
    ) -> Member:
        return new(cls, (member_id, instance_id, rack_id, member_epoch, client_id, client_host, subscribed_topic_names, subscribed_topic_regex, assignment, target_assignment, member_type))


class DescribedGroup(Message):
    __slots__ = ()
    ROWS = (
        ("error_code", "int16", (0, 1), None, None),
        ("error_message", "string", (0, 1), (0, 1), None),
        ("group_id", "string", (0, 1), None, None),
        ("group_state", "string", (0, 1), None, None),
        ("group_epoch", "int32", (0, 1), None, None),
        ("assignment_epoch", "int32", (0, 1), None, None),
        ("assignor_name", "string", (0, 1), None, None),
        ("members", "[]Member", (0, 1), None, None),
        ("authorized_operations", "int32", (0, 1), None, None),
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


class ConsumerGroupDescribeResponse(Message):
    __slots__ = ()
    FLEXIBLE_FROM = 0
    ROWS = (
        ("throttle_time_ms", "int32", (0, 1), None, None),
        ("groups", "[]DescribedGroup", (0, 1), None, None),
    )
    throttle_time_ms: Final[int] = field(0)
    groups: Final[Sequence[DescribedGroup]] = field(1)

    def __new__(
        cls,
        *,
        throttle_time_ms: int = 0,
        groups: Sequence[DescribedGroup] = (),
    ) -> ConsumerGroupDescribeResponse:
        return new(cls, (throttle_time_ms, groups))


class ConsumerGroupDescribeRequest(RequestMessage[ConsumerGroupDescribeResponse]):
    __slots__ = ()
    FLEXIBLE_FROM = 0
    ROWS = (
        ("group_ids", "[]string", (0, 1), None, None),
        ("include_authorized_operations", "bool", (0, 1), None, None),
    )
    group_ids: Final[Sequence[str]] = field(0)
    include_authorized_operations: Final[bool] = field(1)

    def __new__(
        cls,
        *,
        group_ids: Sequence[str] = (),
        include_authorized_operations: bool = False,
    ) -> ConsumerGroupDescribeRequest:
        return new(cls, (group_ids, include_authorized_operations))
