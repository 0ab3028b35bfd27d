"""DeleteShareGroupOffsets, versions 0 to 0. Made by `holdfast.protocol.schemas.generate`: edit nothing here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from holdfast.protocol.message import Message, RequestMessage, field, new


class DeleteShareGroupOffsetsResponseTopic(Message):
    __slots__ = ()
    ROWS = (
        ("topic_name", "string", (0, 0), None, None),
        ("topic_id", "uuid", (0, 0), None, None),
        ("error_code", "int16", (0, 0), None, None),
        ("error_message", "string", (0, 0), (0, 0), None),
    )
    topic_name: Final[str] = field(0)
    topic_id: Final[UUID | None] = field(1)
    error_code: Final[int] = field(2)
    error_message: Final[str | None] = field(3)

    def __new__(
        cls,
        *,
        topic_name: str = "",
        topic_id: UUID | None = None,
        error_code: int = 0,
        error_message: str | None = None,
    ) -> DeleteShareGroupOffsetsResponseTopic:
        return new(cls, (topic_name, topic_id, error_code, error_message))


class DeleteShareGroupOffsetsResponse(Message):
    __slots__ = ()
    FLEXIBLE_FROM = 0
    ROWS = (
        ("throttle_time_ms", "int32", (0, 0), None, None),
        ("error_code", "int16", (0, 0), None, None),
        ("error_message", "string", (0, 0), (0, 0), None),
        ("responses", "[]DeleteShareGroupOffsetsResponseTopic", (0, 0), None, None),
    )
    throttle_time_ms: Final[int] = field(0)
    error_code: Final[int] = field(1)
    error_message: Final[str | None] = field(2)
    responses: Final[Sequence[DeleteShareGroupOffsetsResponseTopic]] = field(3)

    def __new__(
        cls,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        responses: Sequence[DeleteShareGroupOffsetsResponseTopic] = (),
    ) -> DeleteShareGroupOffsetsResponse:
        return new(cls, (throttle_time_ms, error_code, error_message, responses))


class DeleteShareGroupOffsetsRequestTopic(Message):
    __slots__ = ()
    ROWS = (
        ("topic_name", "string", (0, 0), None, None),
    )
    topic_name: Final[str] = field(0)

    def __new__(
        cls,
        *,
        topic_name: str = "",
    ) -> DeleteShareGroupOffsetsRequestTopic:
        return new(cls, (topic_name,))


class DeleteShareGroupOffsetsRequest(RequestMessage[DeleteShareGroupOffsetsResponse]):
    __slots__ = ()
    FLEXIBLE_FROM = 0
    ROWS = (
        ("group_id", "string", (0, 0), None, None),
        ("topics", "[]DeleteShareGroupOffsetsRequestTopic", (0, 0), None, None),
    )
    group_id: Final[str] = field(0)
    topics: Final[Sequence[DeleteShareGroupOffsetsRequestTopic]] = field(1)

    def __new__(
        cls,
        *,
        group_id: str = "",
        topics: Sequence[DeleteShareGroupOffsetsRequestTopic] = (),
    ) -> DeleteShareGroupOffsetsRequest:
        return new(cls, (group_id, topics))
