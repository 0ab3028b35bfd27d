"""DescribeGroups, versions 0 to 6. Made by `holdfast.protocol.schemas.generate`: edit nothing here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from holdfast.protocol.message import Message, RequestMessage, field, new


class DescribedGroupMember(Message):
    __slots__ = ()
    ROWS = (
        ("member_id", "string", (0, 6), None, None),
        ("group_instance_id", "string", (4, 6), (4, 6), None),
        ("client_id", "string", (0, 6), None, None),
        ("client_host", "string", (0, 6), None, None),
        ("member_metadata", "bytes", (0, 6), None, None),
        ("member_assignment", "bytes", (0, 6), None, None),
    )
    member_id: Final[str] = field(0)
    group_instance_id: Final[str | None] = field(1)
    client_id: Final[str] = field(2)
    client_host: Final[str] = field(3)
    member_metadata: Final[bytes] = field(4)
    member_assignment: Final[bytes] = field(5)

    def __new__(
        cls,
        *,
        member_id: str = "",
        group_instance_id: str | None = None,
        client_id: str = "",
        client_host: str = "",
        member_metadata: bytes = b"",
        member_assignment: bytes = b"",
    ) -> DescribedGroupMember:
        return new(cls, (member_id, group_instance_id, client_id, client_host, member_metadata, member_assignment))


class DescribedGroup(Message):
    __slots__ = ()
    ROWS = (
        ("error_code", "int16", (0, 6), None, None),
        ("error_message", "string", (6, 6), (6, 6), None),
        ("group_id", "string", (0, 6), None, None),
        ("group_state", "string", (0, 6), None, None),
        ("protocol_type", "string", (0, 6), None, None),
        ("protocol_data", "string", (0, 6), None, None),
        ("members", "[]DescribedGroupMember", (0, 6), None, None),
        ("authorized_operations", "int32", (3, 6), None, None),
    )
    error_code: Final[int] = field(0)
    error_message: Final[str | None] = field(1)
    group_id: Final[str] = field(2)
    group_state: Final[str] = field(3)
    protocol_type: Final[str] = field(4)
    protocol_data: Final[str] = field(5)
    members: Final[Sequence[DescribedGroupMember]] = field(6)
    authorized_operations: Final[int] = field(7)

    def __new__(
        cls,
        *,
        error_code: int = 0,
        error_message: str | None = None,
        group_id: str = "",
        group_state: str = "",
        protocol_type: str = "",
        protocol_data: str = "",
        members: Sequence[DescribedGroupMember] = (),
        authorized_operations: int = -2147483648,
    ) -> DescribedGroup:
        return new(cls, (error_code, error_message, group_id, group_state, protocol_type, protocol_data, members, authorized_operations))


class DescribeGroupsResponse(Message):
    __slots__ = ()
    FLEXIBLE_FROM = 5
    ROWS = (
        ("throttle_time_ms", "int32", (1, 6), None, None),
        ("groups", "[]DescribedGroup", (0, 6), None, None),
    )
    throttle_time_ms: Final[int] = field(0)
    groups: Final[Sequence[DescribedGroup]] = field(1)

    def __new__(
        cls,
        *,
        throttle_time_ms: int = 0,
        groups: Sequence[DescribedGroup] = (),
    ) -> DescribeGroupsResponse:
        return new(cls, (throttle_time_ms, groups))


class DescribeGroupsRequest(RequestMessage[DescribeGroupsResponse]):
    __slots__ = ()
    FLEXIBLE_FROM = 5
    ROWS = (
        ("groups", "[]string", (0, 6), None, None),
        ("include_authorized_operations", "bool", (3, 6), None, None),
    )
    groups: Final[Sequence[str]] = field(0)
    include_authorized_operations: Final[bool] = field(1)

    def __new__(
        cls,
        *,
        groups: Sequence[str] = (),
        include_authorized_operations: bool = False,
    ) -> DescribeGroupsRequest:
        return new(cls, (groups, include_authorized_operations))
