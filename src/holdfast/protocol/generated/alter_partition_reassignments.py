"""AlterPartitionReassignments, versions 0 to 1. Made by `holdfast.protocol.schemas.generate`: edit nothing here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from holdfast.protocol.message import Message, RequestMessage, field, new


class ReassignablePartitionResponse(Message):
    __slots__ = ()
    ROWS = (
        ("partition_index", "int32", (0, 1), None, None),
        ("error_code", "int16", (0, 1), None, None),
        ("error_message", "string", (0, 1), (0, 1), None),
    )
    partition_index: Final[int] = field(0)
    error_code: Final[int] = field(1)
    error_message: Final[str | None] = field(2)

    def __new__(
        cls,
        *,
        partition_index: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
    ) -> ReassignablePartitionResponse:
        return new(cls, (partition_index, error_code, error_message))


class ReassignableTopicResponse(Message):
    __slots__ = ()
    ROWS = (
        ("name", "string", (0, 1), None, None),
        ("partitions", "[]ReassignablePartitionResponse", (0, 1), None, None),
    )
    name: Final[str] = field(0)
    partitions: Final[Sequence[ReassignablePartitionResponse]] = field(1)

    def __new__(
        cls,
        *,
        name: str = "",
        partitions: Sequence[ReassignablePartitionResponse] = (),
    ) -> ReassignableTopicResponse:
        return new(cls, (name, partitions))


class AlterPartitionReassignmentsResponse(Message):
    __slots__ = ()
    FLEXIBLE_FROM = 0
    ROWS = (
        ("throttle_time_ms", "int32", (0, 1), None, None),
        ("allow_replication_factor_change", "bool", (1, 1), None, None),
        ("error_code", "int16", (0, 1), None, None),
        ("error_message", "string", (0, 1), (0, 1), None),
        ("responses", "[]ReassignableTopicResponse", (0, 1), None, None),
    )
    throttle_time_ms: Final[int] = field(0)
    allow_replication_factor_change: Final[bool] = field(1)
    error_code: Final[int] = field(2)
    error_message: Final[str | None] = field(3)
    responses: Final[Sequence[ReassignableTopicResponse]] = field(4)

    def __new__(
        cls,
        *,
        throttle_time_ms: int = 0,
        allow_replication_factor_change: bool = True,
        error_code: int = 0,
        error_message: str | None = "",
        responses: Sequence[ReassignableTopicResponse] = (),
    ) -> AlterPartitionReassignmentsResponse:
        return new(cls, (throttle_time_ms, allow_replication_factor_change, error_code, error_message, responses))


class ReassignablePartition(Message):
    __slots__ = ()
    ROWS = (
        ("partition_index", "int32", (0, 1), None, None),
        ("replicas", "[]int32", (0, 1), (0, 1), None),
    )
    partition_index: Final[int] = field(0)
    replicas: Final[Sequence[int] | None] = field(1)

    def __new__(
        cls,
        *,
        partition_index: int = 0,
        replicas: Sequence[int] | None = None,
    ) -> ReassignablePartition:
        return new(cls, (partition_index, replicas))


class ReassignableTopic(Message):
    __slots__ = ()
    ROWS = (
        ("name", "string", (0, 1), None, None),
        ("partitions", "[]ReassignablePartition", (0, 1), None, None),
    )
    name: Final[str] = field(0)
    partitions: Final[Sequence[ReassignablePartition]] = field(1)

    def __new__(
        cls,
        *,
        name: str = "",
        partitions: Sequence[ReassignablePartition] = (),
    ) -> ReassignableTopic:
        return new(cls, (name, partitions))


class AlterPartitionReassignmentsRequest(RequestMessage[AlterPartitionReassignmentsResponse]):
    __slots__ = ()
    FLEXIBLE_FROM = 0
    ROWS = (
        ("timeout_ms", "int32", (0, 1), None, None),
        ("allow_replication_factor_change", "bool", (1, 1), None, None),
        ("topics", "[]ReassignableTopic", (0, 1), None, None),
    )
    timeout_ms: Final[int] = field(0)
    allow_replication_factor_change: Final[bool] = field(1)
    topics: Final[Sequence[ReassignableTopic]] = field(2)

    def __new__(
        cls,
        *,
        timeout_ms: int = 60000,
        allow_replication_factor_change: bool = True,
        topics: Sequence[ReassignableTopic] = (),
    ) -> AlterPartitionReassignmentsRequest:
        return new(cls, (timeout_ms, allow_replication_factor_change, topics))
