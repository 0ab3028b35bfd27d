"""ListGroups, versions 0 to 5. Made by `holdfast.protocol.schemas.generate`: edit nothing here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from holdfast.protocol.message import Message, RequestMessage, field, new


class ListedGroup(Message):
    __slots__ = ()
    ROWS = (
        ("group_id", "string", (0, 5), None, None),
        ("protocol_type", "string", (0, 5), None, None),
        ("group_state", "string", (4, 5), None, None),
        ("group_type", "string", (5, 5), None, None),
    )
    group_id: Final[str] = field(0)
    protocol_type: Final[str] = field(1)
    group_state: Final[str] = field(2)
    group_type: Final[str] = field(3)

    def __new__(
        cls,
        *,
        group_id: str = "",
        protocol_type: str = "",
        group_state: str = "",
        group_type: str = "",
    ) -> ListedGroup:
        return new(cls, (group_id, protocol_type, group_state, group_type))


class ListGroupsResponse(Message):
    __slots__ = ()
    FLEXIBLE_FROM = 3
    ROWS = (
        ("throttle_time_ms", "int32", (1, 5), None, None),
        ("error_code", "int16", (0, 5), None, None),
        ("groups", "[]ListedGroup", (0, 5), None, None),
    )
    throttle_time_ms: Final[int] = field(0)
    error_code: Final[int] = field(1)
    groups: Final[Sequence[ListedGroup]] = field(2)

    def __new__(
        cls,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        groups: Sequence[ListedGroup] = (),
    ) -> ListGroupsResponse:
        return new(cls, (throttle_time_ms, error_code, groups))


class ListGroupsRequest(RequestMessage[ListGroupsResponse]):
    __slots__ = ()
    FLEXIBLE_FROM = 3
    ROWS = (
        ("states_filter", "[]string", (4, 5), None, None),
        ("types_filter", "[]string", (5, 5), None, None),
    )
    states_filter: Final[Sequence[str]] = field(0)
    types_filter: Final[Sequence[str]] = field(1)

    def __new__(
        cls,
        *,
        states_filter: Sequence[str] = (),
        types_filter: Sequence[str] = (),
    ) -> ListGroupsRequest:
        return new(cls, (states_filter, types_filter))
