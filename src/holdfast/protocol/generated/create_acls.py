"""CreateAcls, versions 1 to 3. Made by `holdfast.protocol.schemas.generate`: edit nothing here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from holdfast.protocol.message import Message, RequestMessage, field, new


class AclCreationResult(Message):
    __slots__ = ()
    ROWS = (
        ("error_code", "int16", (1, 3), None, None),
        ("error_message", "string", (1, 3), (1, 3), None),
    )
    error_code: Final[int] = field(0)
    error_message: Final[str | None] = field(1)

    def __new__(
        cls,
        *,
        error_code: int = 0,
        error_message: str | None = "",
    ) -> AclCreationResult:
        return new(cls, (error_code, error_message))


class CreateAclsResponse(Message):
    __slots__ = ()
    FLEXIBLE_FROM = 2
    ROWS = (
        ("throttle_time_ms", "int32", (1, 3), None, None),
        ("results", "[]AclCreationResult", (1, 3), None, None),
    )
    throttle_time_ms: Final[int] = field(0)
    results: Final[Sequence[AclCreationResult]] = field(1)

    def __new__(
        cls,
        *,
        throttle_time_ms: int = 0,
        results: Sequence[AclCreationResult] = (),
    ) -> CreateAclsResponse:
        return new(cls, (throttle_time_ms, results))


class AclCreation(Message):
    __slots__ = ()
    ROWS = (
        ("resource_type", "int8", (1, 3), None, None),
        ("resource_name", "string", (1, 3), None, None),
        ("resource_pattern_type", "int8", (1, 3), None, None),
        ("principal", "string", (1, 3), None, None),
        ("host", "string", (1, 3), None, None),
        ("operation", "int8", (1, 3), None, None),
        ("permission_type", "int8", (1, 3), None, None),
    )
    resource_type: Final[int] = field(0)
    resource_name: Final[str] = field(1)
    resource_pattern_type: Final[int] = field(2)
    principal: Final[str] = field(3)
    host: Final[str] = field(4)
    operation: Final[int] = field(5)
    permission_type: Final[int] = field(6)

    def __new__(
        cls,
        *,
        resource_type: int = 0,
        resource_name: str = "",
        resource_pattern_type: int = 3,
        principal: str = "",
        host: str = "",
        operation: int = 0,
        permission_type: int = 0,
    ) -> AclCreation:
        return new(cls, (resource_type, resource_name, resource_pattern_type, principal, host, operation, permission_type))


class CreateAclsRequest(RequestMessage[CreateAclsResponse]):
    __slots__ = ()
    FLEXIBLE_FROM = 2
    ROWS = (
        ("creations", "[]AclCreation", (1, 3), None, None),
    )
    creations: Final[Sequence[AclCreation]] = field(0)

    def __new__(
        cls,
        *,
        creations: Sequence[AclCreation] = (),
    ) -> CreateAclsRequest:
        return new(cls, (creations,))
