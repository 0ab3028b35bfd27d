"""CreatePartitions, versions 0 to 3. Made by `holdfast.protocol.schemas.generate`: edit nothing here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from holdfast.protocol.message import Message, RequestMessage, field, new


class CreatePartitionsTopicResult(Message):
    __slots__ = ()
    ROWS = (
        ("name", "string", (0, 3), None, None),
        ("error_code", "int16", (0, 3), None, None),
        ("error_message", "string", (0, 3), (0, 3), None),
    )
    name: Final[str] = field(0)
    error_code: Final[int] = field(1)
    error_message: Final[str | None] = field(2)

    def __new__(
        cls,
        *,
        name: str = "",
        error_code: int = 0,
        error_message: str | None = None,
    ) -> CreatePartitionsTopicResult:
        return new(cls, (name, error_code, error_message))


class CreatePartitionsResponse(Message):
    __slots__ = ()
    FLEXIBLE_FROM = 2
    ROWS = (
        ("throttle_time_ms", "int32", (0, 3), None, None),
        ("results", "[]CreatePartitionsTopicResult", (0, 3), None, None),
    )
    throttle_time_ms: Final[int] = field(0)
    results: Final[Sequence[CreatePartitionsTopicResult]] = field(1)

    def __new__(
        cls,
        *,
        throttle_time_ms: int = 0,
        results: Sequence[CreatePartitionsTopicResult] = (),
    ) -> CreatePartitionsResponse:
        return new(cls, (throttle_time_ms, results))


class CreatePartitionsAssignment(Message):
    __slots__ = ()
    ROWS = (
        ("broker_ids", "[]int32", (0, 3), None, None),
    )
    broker_ids: Final[Sequence[int]] = field(0)

    def __new__(
        cls,
        *,
        broker_ids: Sequence[int] = (),
    ) -> CreatePartitionsAssignment:
        return new(cls, (broker_ids,))


class CreatePartitionsTopic(Message):
    __slots__ = ()
    ROWS = (
        ("name", "string", (0, 3), None, None),
        ("count", "int32", (0, 3), None, None),
        ("assignments", "[]CreatePartitionsAssignment", (0, 3), (0, 3), None),
    )
    name: Final[str] = field(0)
    count: Final[int] = field(1)
    assignments: Final[Sequence[CreatePartitionsAssignment] | None] = field(2)

    def __new__(
        cls,
        *,
        name: str = "",
        count: int = 0,
        assignments: Sequence[CreatePartitionsAssignment] | None = (),
    ) -> CreatePartitionsTopic:
        return new(cls, (name, count, assignments))


class CreatePartitionsRequest(RequestMessage[CreatePartitionsResponse]):
    __slots__ = ()
    FLEXIBLE_FROM = 2
    ROWS = (
        ("topics", "[]CreatePartitionsTopic", (0, 3), None, None),
        ("timeout_ms", "int32", (0, 3), None, None),
        ("validate_only", "bool", (0, 3), None, None),
    )
    topics: Final[Sequence[CreatePartitionsTopic]] = field(0)
    timeout_ms: Final[int] = field(1)
    validate_only: Final[bool] = field(2)

    def __new__(
        cls,
        *,
        topics: Sequence[CreatePartitionsTopic] = (),
        timeout_ms: int = 0,
        validate_only: bool = False,
    ) -> CreatePartitionsRequest:
        return new(cls, (topics, timeout_ms, validate_only))
