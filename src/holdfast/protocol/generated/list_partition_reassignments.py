"""ListPartitionReassignments, versions 0 to 0. Made by `holdfast.protocol.schemas.generate`: edit nothing here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from holdfast.protocol.message import Message, RequestMessage, field, new


class OngoingPartitionReassignment(Message):
    __slots__ = ()
    ROWS = (
        ("partition_index", "int32", (0, 0), None, None),
        ("replicas", "[]int32", (0, 0), None, None),
        ("adding_replicas", "[]int32", (0, 0), None, None),
        ("removing_replicas", "[]int32", (0, 0), None, None),
    )
    partition_index: Final[int] = field(0)
    replicas: Final[Sequence[int]] = field(1)
    adding_replicas: Final[Sequence[int]] = field(2)
    removing_replicas: Final[Sequence[int]] = field(3)

    def __new__(
        cls,
        *,
        partition_index: int = 0,
        replicas: Sequence[int] = (),
        adding_replicas: Sequence[int] = (),
        removing_replicas: Sequence[int] = (),
    ) -> OngoingPartitionReassignment:
        return new(cls, (partition_index, replicas, adding_replicas, removing_replicas))


class OngoingTopicReassignment(Message):
    __slots__ = ()
    ROWS = (
        ("name", "string", (0, 0), None, None),
        ("partitions", "[]OngoingPartitionReassignment", (0, 0), None, None),
    )
    name: Final[str] = field(0)
    partitions: Final[Sequence[OngoingPartitionReassignment]] = field(1)

    def __new__(
        cls,
        *,
        name: str = "",
        partitions: Sequence[OngoingPartitionReassignment] = (),
    ) -> OngoingTopicReassignment:
        return new(cls, (name, partitions))


class ListPartitionReassignmentsResponse(Message):
    __slots__ = ()
    FLEXIBLE_FROM = 0
    ROWS = (
        ("throttle_time_ms", "int32", (0, 0), None, None),
        ("error_code", "int16", (0, 0), None, None),
        ("error_message", "string", (0, 0), (0, 0), None),
        ("topics", "[]OngoingTopicReassignment", (0, 0), None, None),
    )
    throttle_time_ms: Final[int] = field(0)
    error_code: Final[int] = field(1)
    error_message: Final[str | None] = field(2)
    topics: Final[Sequence[OngoingTopicReassignment]] = field(3)

    def __new__(
        cls,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        topics: Sequence[OngoingTopicReassignment] = (),
    ) -> ListPartitionReassignmentsResponse:
        return new(cls, (throttle_time_ms, error_code, error_message, topics))


class ListPartitionReassignmentsTopics(Message):
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
    ) -> ListPartitionReassignmentsTopics:
        return new(cls, (name, partition_indexes))


class ListPartitionReassignmentsRequest(RequestMessage[ListPartitionReassignmentsResponse]):
    __slots__ = ()
    FLEXIBLE_FROM = 0
    ROWS = (
        ("timeout_ms", "int32", (0, 0), None, None),
        ("topics", "[]ListPartitionReassignmentsTopics", (0, 0), (0, 0), None),
    )
    timeout_ms: Final[int] = field(0)
    topics: Final[Sequence[ListPartitionReassignmentsTopics] | None] = field(1)

    def __new__(
        cls,
        *,
        timeout_ms: int = 60000,
        topics: Sequence[ListPartitionReassignmentsTopics] | None = None,
    ) -> ListPartitionReassignmentsRequest:
        return new(cls, (timeout_ms, topics))
