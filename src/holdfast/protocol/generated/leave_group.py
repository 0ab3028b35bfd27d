"""LeaveGroup, versions 0 to 5. Made by `holdfast.protocol.schemas.generate`: edit nothing here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from holdfast.protocol.message import Message, RequestMessage, field, new


class MemberResponse(Message):
    __slots__ = ()
    ROWS = (
        ("member_id", "string", (3, 5), None, None),
        ("group_instance_id", "string", (3, 5), (3, 5), None),
        ("error_code", "int16", (3, 5), None, None),
    )
    member_id: Final[str] = field(0)
    group_instance_id: Final[str | None] = field(1)
    error_code: Final[int] = field(2)

    def __new__(
        cls,
        *,
        member_id: str = "",
        group_instance_id: str | None = "",
        error_code: int = 0,
    ) -> MemberResponse:
        return new(cls, (member_id, group_instance_id, error_code))


class LeaveGroupResponse(Message):
    __slots__ = ()
    FLEXIBLE_FROM = 4
    ROWS = (
        ("throttle_time_ms", "int32", (1, 5), None, None),
        ("error_code", "int16", (0, 5), None, None),
        ("members", "[]MemberResponse", (3, 5), None, None),
    )
    throttle_time_ms: Final[int] = field(0)
    error_code: Final[int] = field(1)
    members: Final[Sequence[MemberResponse]] = field(2)

    def __new__(
        cls,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        members: Sequence[MemberResponse] = (),
    ) -> LeaveGroupResponse:
        return new(cls, (throttle_time_ms, error_code, members))


class MemberIdentity(Message):
    __slots__ = ()
    ROWS = (
        ("member_id", "string", (3, 5), None, None),
        ("group_instance_id", "string", (3, 5), (3, 5), None),
        ("reason", "string", (5, 5), (5, 5), None),
    )
    member_id: Final[str] = field(0)
    group_instance_id: Final[str | None] = field(1)
    reason: Final[str | None] = field(2)

    def __new__(
        cls,
        *,
        member_id: str = "",
        group_instance_id: str | None = None,
        reason: str | None = None,
    ) -> MemberIdentity:
        return new(cls, (member_id, group_instance_id, reason))


class LeaveGroupRequest(RequestMessage[LeaveGroupResponse]):
    __slots__ = ()
    FLEXIBLE_FROM = 4
    ROWS = (
        ("group_id", "string", (0, 5), None, None),
        ("member_id", "string", (0, 2), None, None),
        ("members", "[]MemberIdentity", (3, 5), None, None),
    )
    group_id: Final[str] = field(0)
    member_id: Final[str] = field(1)
    members: Final[Sequence[MemberIdentity]] = field(2)

    def __new__(
        cls,
        *,
        group_id: str = "",
        member_id: str = "",
        members: Sequence[MemberIdentity] = (),
    ) -> LeaveGroupRequest:
        return new(cls, (group_id, member_id, members))
