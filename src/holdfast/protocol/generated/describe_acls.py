"""DescribeAcls, versions 1 to 3. Made by `holdfast.protocol.schemas.generate`: edit nothing here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from holdfast.protocol.message import Message, RequestMessage, field, new


class AclDescription(Message):
    __slots__ = ()
    ROWS = (
        ("principal", "string", (1, 3), None, None),
        ("host", "string", (1, 3), None, None),
        ("operation", "int8", (1, 3), None, None),
        ("permission_type", "int8", (1, 3), None, None),
    )
    principal: Final[str] = field(0)
    host: Final[str] = field(1)
    operation: Final[int] = field(2)
    permission_type: Final[int] = field(3)

    def __new__(
        cls,
        *,
        principal: str = "",
        host: str = "",
        operation: int = 0,
        permission_type: int = 0,
    ) -> AclDescription:
        return new(cls, (principal, host, operation, permission_type))


class DescribeAclsResource(Message):
    __slots__ = ()
    ROWS = (
        ("resource_type", "int8", (1, 3), None, None),
        ("resource_name", "string", (1, 3), None, None),
        ("pattern_type", "int8", (1, 3), None, None),
        ("acls", "[]AclDescription", (1, 3), None, None),
    )
    resource_type: Final[int] = field(0)
    resource_name: Final[str] = field(1)
    pattern_type: Final[int] = field(2)
    acls: Final[Sequence[AclDescription]] = field(3)

    def __new__(
        cls,
        *,
        resource_type: int = 0,
        resource_name: str = "",
        pattern_type: int = 3,
        acls: Sequence[AclDescription] = (),
    ) -> DescribeAclsResource:
        return new(cls, (resource_type, resource_name, pattern_type, acls))


class DescribeAclsResponse(Message):
    __slots__ = ()
    FLEXIBLE_FROM = 2
    ROWS = (
        ("throttle_time_ms", "int32", (1, 3), None, None),
        ("error_code", "int16", (1, 3), None, None),
        ("error_message", "string", (1, 3), (1, 3), None),
        ("resources", "[]DescribeAclsResource", (1, 3), None, None),
    )
    throttle_time_ms: Final[int] = field(0)
    error_code: Final[int] = field(1)
    error_message: Final[str | None] = field(2)
    resources: Final[Sequence[DescribeAclsResource]] = field(3)

    def __new__(
        cls,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        resources: Sequence[DescribeAclsResource] = (),
    ) -> DescribeAclsResponse:
        return new(cls, (throttle_time_ms, error_code, error_message, resources))


class DescribeAclsRequest(RequestMessage[DescribeAclsResponse]):
    __slots__ = ()
    FLEXIBLE_FROM = 2
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
    ) -> DescribeAclsRequest:
        return new(cls, (resource_type_filter, resource_name_filter, pattern_type_filter, principal_filter, host_filter, operation, permission_type))
