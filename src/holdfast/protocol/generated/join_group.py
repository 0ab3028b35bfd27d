"""JoinGroup, versions 0 to 9. Made by `holdfast.protocol.schemas.generate`: edit nothing here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from holdfast.protocol.message import Message, RequestMessage, field, new


class JoinGroupResponseMember(Message):
    __slots__ = ()
    ROWS = (
        ("member_id", "string", (0, 9), None, None),
        ("group_instance_id", "string", (5, 9), (5, 9), None),
        ("metadata", "bytes", (0, 9), None, None),
    )
    member_id: Final[str] = field(0)
    group_instance_id: Final[str | None] = field(1)
    metadata: Final[bytes] = field(2)

    def __new__(
        cls,
        *,
        member_id: str = "",
        group_instance_id: str | None = None,
        metadata: bytes = b"",
    ) -> JoinGroupResponseMember:
        return new(cls, (member_id, group_instance_id, metadata))


class JoinGroupResponse(Message):
    __slots__ = ()
    FLEXIBLE_FROM = 6
    ROWS = (
        ("throttle_time_ms", "int32", (2, 9), None, None),
        ("error_code", "int16", (0, 9), None, None),
        ("generation_id", "int32", (0, 9), None, None),
        ("protocol_type", "string", (7, 9), (7, 9), None),
        ("protocol_name", "string", (0, 9), (7, 9), None),
        ("leader", "string", (0, 9), None, None),
        ("skip_assignment", "bool", (9, 9), None, None),
        ("member_id", "string", (0, 9), None, None),
        ("members", "[]JoinGroupResponseMember", (0, 9), None, None),
    )
    throttle_time_ms: Final[int] = field(0)
    error_code: Final[int] = field(1)
    generation_id: Final[int] = field(2)
    protocol_type: Final[str | None] = field(3)
    protocol_name: Final[str | None] = field(4)
    leader: Final[str] = field(5)
    skip_assignment: Final[bool] = field(6)
    member_id: Final[str] = field(7)
    members: Final[Sequence[JoinGroupResponseMember]] = field(8)

    def __new__(
        cls,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        generation_id: int = -1,
        protocol_type: str | None = None,
        protocol_name: str | None = "",
        leader: str = "",
        skip_assignment: bool = False,
        member_id: str = "",
        members: Sequence[JoinGroupResponseMember] = (),
    ) -> JoinGroupResponse:
        return new(cls, (throttle_time_ms, error_code, generation_id, protocol_type, protocol_name, leader, skip_assignment, member_id, members))


class JoinGroupRequestProtocol(Message):
    __slots__ = ()
    ROWS = (
        ("name", "string", (0, 9), None, None),
        ("metadata", "bytes", (0, 9), None, None),
    )
    name: Final[str] = field(0)
    metadata: Final[bytes] = field(1)

    def __new__(
        cls,
        *,
        name: str = "",
        metadata: bytes = b"",
    ) -> JoinGroupRequestProtocol:
        return new(cls, (name, metadata))


class JoinGroupRequest(RequestMessage[JoinGroupResponse]):
    __slots__ = ()
    FLEXIBLE_FROM = 6
    ROWS = (
        ("group_id", "string", (0, 9), None, None),
        ("session_timeout_ms", "int32", (0, 9), None, None),
        ("rebalance_timeout_ms", "int32", (1, 9), None, None),
        ("member_id", "string", (0, 9), None, None),
        ("group_instance_id", "string", (5, 9), (5, 9), None),
        ("protocol_type", "string", (0, 9), None, None),
        ("protocols", "[]JoinGroupRequestProtocol", (0, 9), None, None),
        ("reason", "string", (8, 9), (8, 9), None),
    )
    group_id: Final[str] = field(0)
    session_timeout_ms: Final[int] = field(1)
    rebalance_timeout_ms: Final[int] = field(2)
    member_id: Final[str] = field(3)
    group_instance_id: Final[str | None] = field(4)
    protocol_type: Final[str] = field(5)
    protocols: Final[Sequence[JoinGroupRequestProtocol]] = field(6)
    reason: Final[str | None] = field(7)

    def __new__(
        cls,
        *,
        group_id: str = "",
        session_timeout_ms: int = 0,
        rebalance_timeout_ms: int = -1,
        member_id: str = "",
        group_instance_id: str | None = None,
        protocol_type: str = "",
        protocols: Sequence[JoinGroupRequestProtocol] = (),
        reason: str | None = None,
    ) -> JoinGroupRequest:
        return new(cls, (group_id, session_timeout_ms, rebalance_timeout_ms, member_id, group_instance_id, protocol_type, protocols, reason))
