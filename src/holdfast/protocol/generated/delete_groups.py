"""DeleteGroups, versions 0 to 2. Made by `holdfast.protocol.schemas.generate`: edit nothing here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from holdfast.protocol.message import Message, RequestMessage, field, new


class DeletableGroupResult(Message):
    __slots__ = ()
    ROWS = (
        ("group_id", "string", (0, 2), None, None),
        ("error_code", "int16", (0, 2), None, None),
    )
    group_id: Final[str] = field(0)
    error_code: Final[int] = field(1)

    def __new__(
        cls,
        *,
        group_id: str = "",
        error_code: int = 0,
    ) -> DeletableGroupResult:
        return new(cls, (group_id, error_code))


class DeleteGroupsResponse(Message):
    __slots__ = ()
    FLEXIBLE_FROM = 2
    ROWS = (
        ("throttle_time_ms", "int32", (0, 2), None, None),
        ("results", "[]DeletableGroupResult", (0, 2), None, None),
    )
    throttle_time_ms: Final[int] = field(0)
    results: Final[Sequence[DeletableGroupResult]] = field(1)

    def __new__(
        cls,
        *,
        throttle_time_ms: int = 0,
        results: Sequence[DeletableGroupResult] = (),
    ) -> DeleteGroupsResponse:
        return new(cls, (throttle_time_ms, results))


class DeleteGroupsRequest(RequestMessage[DeleteGroupsResponse]):
    __slots__ = ()
    FLEXIBLE_FROM = 2
    ROWS = (
        ("groups_names", "[]string", (0, 2), None, None),
    )
    groups_names: Final[Sequence[str]] = field(0)

    def __new__(
        cls,
        *,
        groups_names: Sequence[str] = (),
    ) -> DeleteGroupsRequest:
        return new(cls, (groups_names,))
