"""FindCoordinator, versions 0 to 6. Made by `holdfast.protocol.schemas.generate`: edit nothing here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from holdfast.protocol.message import Message, RequestMessage, field, new


class Coordinator(Message):
    __slots__ = ()
    ROWS = (
        ("key", "string", (4, 6), None, None),
        ("node_id", "int32", (4, 6), None, None),
        ("host", "string", (4, 6), None, None),
        ("port", "int32", (4, 6), None, None),
        ("error_code", "int16", (4, 6), None, None),
        ("error_message", "string", (4, 6), (4, 6), None),
    )
    key: Final[str] = field(0)
    node_id: Final[int] = field(1)
    host: Final[str] = field(2)
    port: Final[int] = field(3)
    error_code: Final[int] = field(4)
    error_message: Final[str | None] = field(5)

    def __new__(
        cls,
        *,
        key: str = "",
        node_id: int = 0,
        host: str = "",
        port: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
    ) -> Coordinator:
        return new(cls, (key, node_id, host, port, error_code, error_message))


class FindCoordinatorResponse(Message):
    __slots__ = ()
    FLEXIBLE_FROM = 3
    ROWS = (
        ("throttle_time_ms", "int32", (1, 6), None, None),
        ("error_code", "int16", (0, 3), None, None),
        ("error_message", "string", (1, 3), (1, 3), None),
        ("node_id", "int32", (0, 3), None, None),
        ("host", "string", (0, 3), None, None),
        ("port", "int32", (0, 3), None, None),
        ("coordinators", "[]Coordinator", (4, 6), None, None),
    )
    throttle_time_ms: Final[int] = field(0)
    error_code: Final[int] = field(1)
    error_message: Final[str | None] = field(2)
    node_id: Final[int] = field(3)
    host: Final[str] = field(4)
    port: Final[int] = field(5)
    coordinators: Final[Sequence[Coordinator]] = field(6)

    def __new__(
        cls,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        node_id: int = 0,
        host: str = "",
        port: int = 0,
        coordinators: Sequence[Coordinator] = (),
    ) -> FindCoordinatorResponse:
        return new(cls, (throttle_time_ms, error_code, error_message, node_id, host, port, coordinators))


class FindCoordinatorRequest(RequestMessage[FindCoordinatorResponse]):
    __slots__ = ()
    FLEXIBLE_FROM = 3
    ROWS = (
        ("key", "string", (0, 3), None, None),
        ("key_type", "int8", (1, 6), None, None),
        ("coordinator_keys", "[]string", (4, 6), None, None),
    )
    key: Final[str] = field(0)
    key_type: Final[int] = field(1)
    coordinator_keys: Final[Sequence[str]] = field(2)

    def __new__(
        cls,
        *,
        key: str = "",
        key_type: int = 0,
        coordinator_keys: Sequence[str] = (),
    ) -> FindCoordinatorRequest:
        return new(cls, (key, key_type, coordinator_keys))
