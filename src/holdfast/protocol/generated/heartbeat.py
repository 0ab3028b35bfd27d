"""Heartbeat, versions 0 to 4. Made by `holdfast.protocol.schemas.generate`: edit nothing here."""

from __future__ import annotations

from typing import Final

from holdfast.protocol.message import Message, RequestMessage, field, new


class HeartbeatResponse(Message):
    __slots__ = ()
    FLEXIBLE_FROM = 4
    ROWS = (
        ("throttle_time_ms", "int32", (1, 4), None, None),
        ("error_code", "int16", (0, 4), None, None),
    )
    throttle_time_ms: Final[int] = field(0)
    error_code: Final[int] = field(1)

    def __new__(
        cls,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
    ) -> HeartbeatResponse:
        return new(cls, (throttle_time_ms, error_code))


class HeartbeatRequest(RequestMessage[HeartbeatResponse]):
    __slots__ = ()
    FLEXIBLE_FROM = 4
    ROWS = (
        ("group_id", "string", (0, 4), None, None),
        ("generation_id", "int32", (0, 4), None, None),
        ("member_id", "string", (0, 4), None, None),
        ("group_instance_id", "string", (3, 4), (3, 4), None),
    )
    group_id: Final[str] = field(0)
    generation_id: Final[int] = field(1)
    member_id: Final[str] = field(2)
    group_instance_id: Final[str | None] = field(3)

    def __new__(
        cls,
        *,
        group_id: str = "",
        generation_id: int = 0,
        member_id: str = "",
        group_instance_id: str | None = None,
    ) -> HeartbeatRequest:
        return new(cls, (group_id, generation_id, member_id, group_instance_id))
