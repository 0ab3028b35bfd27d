"""DeleteTopics, versions 1 to 6. Made by `holdfast.protocol.schemas.generate`: edit nothing here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from holdfast.protocol.message import Message, RequestMessage, field, new


class DeletableTopicResult(Message):
    __slots__ = ()
    ROWS = (
        ("name", "string", (1, 6), (6, 6), None),
        ("topic_id", "uuid", (6, 6), None, None),
        ("error_code", "int16", (1, 6), None, None),
        ("error_message", "string", (5, 6), (5, 6), None),
    )
    name: Final[str | None] = field(0)
    topic_id: Final[UUID | None] = field(1)
    error_code: Final[int] = field(2)
    error_message: Final[str | None] = field(3)

    def __new__(
        cls,
        *,
        name: str | None = "",
        topic_id: UUID | None = None,
        error_code: int = 0,
        error_message: str | None = None,
    ) -> DeletableTopicResult:
        return new(cls, (name, topic_id, error_code, error_message))


class DeleteTopicsResponse(Message):
    __slots__ = ()
    FLEXIBLE_FROM = 4
    ROWS = (
        ("throttle_time_ms", "int32", (1, 6), None, None),
        ("responses", "[]DeletableTopicResult", (1, 6), None, None),
    )
    throttle_time_ms: Final[int] = field(0)
    responses: Final[Sequence[DeletableTopicResult]] = field(1)

    def __new__(
        cls,
        *,
        throttle_time_ms: int = 0,
        responses: Sequence[DeletableTopicResult] = (),
    ) -> DeleteTopicsResponse:
        return new(cls, (throttle_time_ms, responses))


class DeleteTopicState(Message):
    __slots__ = ()
    ROWS = (
        ("name", "string", (6, 6), (6, 6), None),
        ("topic_id", "uuid", (6, 6), None, None),
    )
    name: Final[str | None] = field(0)
    topic_id: Final[UUID | None] = field(1)

    def __new__(
        cls,
        *,
        name: str | None = None,
        topic_id: UUID | None = None,
    ) -> DeleteTopicState:
        return new(cls, (name, topic_id))


class DeleteTopicsRequest(RequestMessage[DeleteTopicsResponse]):
    __slots__ = ()
    FLEXIBLE_FROM = 4
    ROWS = (
        ("topics", "[]DeleteTopicState", (6, 6), None, None),
        ("topic_names", "[]string", (1, 5), None, None),
        ("timeout_ms", "int32", (1, 6), None, None),
    )
    topics: Final[Sequence[DeleteTopicState]] = field(0)
    topic_names: Final[Sequence[str]] = field(1)
    timeout_ms: Final[int] = field(2)

    def __new__(
        cls,
        *,
        topics: Sequence[DeleteTopicState] = (),
        topic_names: Sequence[str] = (),
        timeout_ms: int = 0,
    ) -> DeleteTopicsRequest:
        return new(cls, (topics, topic_names, timeout_ms))
