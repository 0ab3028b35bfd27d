"""DeleteAcls, versions 1 to 3. Made by `holdfast.protocol.schemas.generate`: edit nothing here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from holdfast.protocol.message import Message, RequestMessage, field, new


class DeleteAclsMatchingAcl(Message):
    __slots__ = ()
    ROWS = (
        ("error_code", "int16", (1, 3), None, None),
        ("error_message", "string", (1, 3), (1, 3), None),
        ("resource_type", "int8", (1, 3), None, None),
        ("resource_name", "string", (1, 3), None, None),
        ("pattern_type", "int8", (1, 3), None, None),
        ("principal", "string", (1, 3), None, None),
        ("host", "string", (1, 3), None, None),
        ("operation", "int8", (1, 3), None, None),
        ("permission_type", "int8", (1, 3), None, None),
    )
    error_code: Final[int] = field(0)
    error_message: Final[str | None] = field(1)
    resource_type: Final[int] = field(2)
    resource_name: Final[str] = field(3)
    pattern_type: Final[int] = field(4)
    principal: Final[str] = field(5)
    host: Final[str] = field(6)
    operation: Final[int] = field(7)
    permission_type: Final[int] = field(8)

    def __new__(
        cls,
        *,
        error_code: int = 0,
        error_message: str | None = "",
        resource_type: int = 0,
        resource_name: str = "",
        pattern_type: int = 3,
        principal: str = "",
        host: str = "",
        operation: int = 0,
        permission_type: int = 0,
    ) -> DeleteAclsMatchingAcl:
        return new(cls, (error_code, error_message, resource_type, resource_name, pattern_type, principal, host, operation, permission_type))


class DeleteAclsFilterResult(Message):
    __slots__ = ()
    ROWS = (
        ("error_code", "int16", (1, 3), None, None),
        ("error_message", "string", (1, 3), (1, 3), None),
        ("matching_acls", "[]DeleteAclsMatchingAcl", (1, 3), None, None),
    )
    error_code: Final[int] = field(0)
    error_message: Final[str | None] = field(1)
    matching_acls: Final[Sequence[DeleteAclsMatchingAcl]] = field(2)

    def __new__(
        cls,
        *,
        error_code: int = 0,
        error_message: str | None = "",
        matching_acls: Sequence[DeleteAclsMatchingAcl] = (),
    ) -> DeleteAclsFilterResult:
        return new(cls, (error_code, error_message, matching_acls))


class DeleteAclsResponse(Message):
    __slots__ = ()
    FLEXIBLE_FROM = 2
    ROWS = (
        ("throttle_time_ms", "int32", (1, 3), None, None),
        ("filter_results", "[]DeleteAclsFilterResult", (1, 3), None, None),
    )
    throttle_time_ms: Final[int] = field(0)
    filter_results: Final[Sequence[DeleteAclsFilterResult]] = field(1)

    def __new__(
        cls,
        *,
        throttle_time_ms: int = 0,
        filter_results: Sequence[DeleteAclsFilterResult] = (),
    ) -> DeleteAclsResponse:
        return new(cls, (throttle_time_ms, filter_results))


class DeleteAclsFilter(Message):
    __slots__ = ()
    ROWS = (
        ("resource_type_filter", "int8", (1, 3), None, None),
        ("resource_name_filter", "string", (1, 3), (1, 3), None),
        ("pattern_type_filter", "int8", (1, 3), None, None),
        ("principal_filter", "string", (1, 3), (1, 3), None),
        ("host_filter", "string", (1, 3), (1, 3), None),
        ("operation", "int8", (1, 3), None, None),
        ("permission_type", "int8", (1, 3), None, None),
    )
    resource_type_filter: Final[int] = field(0)
    resource_name_filter: Final[str | None] = field(1)
    pattern_type_filter: Final[int] = field(2)
    principal_filter: Final[str | None] = field(3)
    host_filter: Final[str | None] = field(4)
    operation: Final[int] = field(5)
    permission_type: Final[int] = field(6)

    def __new__(
        cls,
        *,
        resource_type_filter: int = 0,
        resource_name_filter: str | None = "",
        pattern_type_filter: int = 3,
        principal_filter: str | None = "",
        host_filter: str | None = "",
        operation: int = 0,
        permission_type: int = 0,
    ) -> DeleteAclsFilter:
        return new(cls, (resource_type_filter, resource_name_filter, pattern_type_filter, principal_filter, host_filter, operation, permission_type))


class DeleteAclsRequest(RequestMessage[DeleteAclsResponse]):
    __slots__ = ()
    FLEXIBLE_FROM = 2
    ROWS = (
        ("filters", "[]DeleteAclsFilter", (1, 3), None, None),
    )
    filters: Final[Sequence[DeleteAclsFilter]] = field(0)

    def __new__(
        cls,
        *,
        filters: Sequence[DeleteAclsFilter] = (),
    ) -> DeleteAclsRequest:
        return new(cls, (filters,))
