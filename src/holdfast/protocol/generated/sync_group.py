"""SyncGroup, versions 0 to 5. Made by `holdfast.protocol.schemas.generate`: edit nothing here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from holdfast.protocol.message import Message, RequestMessage, field, new


class SyncGroupResponse(Message):
    __slots__ = ()
    FLEXIBLE_FROM = 4
    ROWS = (
        ("throttle_time_ms", "int32", (1, 5), None, None),
        ("error_code", "int16", (0, 5), None, None),
        ("protocol_type", "string", (5, 5), (5, 5), None),
        ("protocol_name", "string", (5, 5), (5, 5), None),
        ("assignment", "bytes", (0, 5), None, None),
    )
    throttle_time_ms: Final[int] = field(0)
    error_code: Final[int] = field(1)
    protocol_type: Final[str | None] = field(2)
    protocol_name: Final[str | None] = field(3)
    assignment: Final[bytes] = field(4)

    def __new__(
        cls,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        protocol_type: str | None = None,
        protocol_name: str | None = None,
        assignment: bytes = b"",
    ) -> SyncGroupResponse:
        return new(cls, (throttle_time_ms, error_code, protocol_type, protocol_name, assignment))


class SyncGroupRequestAssignment(Message):
    __slots__ = ()
    ROWS = (
        ("member_id", "string", (0, 5), None, None),
        ("assignment", "bytes", (0, 5), None, None),
    )
    member_id: Final[str] = field(0)
    assignment: Final[bytes] = field(1)

    def __new__(
        cls,
        *,
        member_id: str = "",
        assignment: bytes = b"",
    ) -> SyncGroupRequestAssignment:
        return new(cls, (member_id, assignment))


class SyncGroupRequest(RequestMessage[SyncGroupResponse]):
    __slots__ = ()
    FLEXIBLE_FROM = 4
    ROWS = (
        ("group_id", "string", (0, 5), None, None),
        ("generation_id", "int32", (0, 5), None, None),
        ("member_id", "string", (0, 5), None, None),
        ("group_instance_id", "string", (3, 5), (3, 5), None),
        ("protocol_type", "string", (5, 5), (5, 5), None),
        ("protocol_name", "string", (5, 5), (5, 5), None),
        ("assignments", "[]SyncGroupRequestAssignment", (0, 5), None, None),
    )
    group_id: Final[str] = field(0)
    generation_id: Final[int] = field(1)
    member_id: Final[str] = field(2)
    group_instance_id: Final[str | None] = field(3)
    protocol_type: Final[str | None] = field(4)
    protocol_name: Final[str | None] = field(5)
    assignments: Final[Sequence[SyncGroupRequestAssignment]] = field(6)

    def __new__(
        cls,
        *,
        group_id: str = "",
        generation_id: int = 0,
        member_id: str = "",
        group_instance_id: str | None = None,
        protocol_type: str | None = None,
        protocol_name: str | None = None,
        assignments: Sequence[SyncGroupRequestAssignment] = (),
    ) -> SyncGroupRequest:
        return new(cls, (group_id, generation_id, member_id, group_instance_id, protocol_type, protocol_name, assignments))
