"""IncrementalAlterConfigs, versions 0 to 1. Made by `holdfast.protocol.schemas.generate`: edit nothing here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from holdfast.protocol.message import Message, RequestMessage, field, new


class AlterConfigsResourceResponse(Message):
    __slots__ = ()
    ROWS = (
        ("error_code", "int16", (0, 1), None, None),
        ("error_message", "string", (0, 1), (0, 1), None),
        ("resource_type", "int8", (0, 1), None, None),
        ("resource_name", "string", (0, 1), None, None),
    )
    error_code: Final[int] = field(0)
    error_message: Final[str | None] = field(1)
    resource_type: Final[int] = field(2)
    resource_name: Final[str] = field(3)

    def __new__(
        cls,
        *,
        error_code: int = 0,
        error_message: str | None = "",
        resource_type: int = 0,
        resource_name: str = "",
    ) -> AlterConfigsResourceResponse:
        return new(cls, (error_code, error_message, resource_type, resource_name))


class IncrementalAlterConfigsResponse(Message):
    __slots__ = ()
    FLEXIBLE_FROM = 1
    ROWS = (
        ("throttle_time_ms", "int32", (0, 1), None, None),
        ("responses", "[]AlterConfigsResourceResponse", (0, 1), None, None),
    )
    throttle_time_ms: Final[int] = field(0)
    responses: Final[Sequence[AlterConfigsResourceResponse]] = field(1)

    def __new__(
        cls,
        *,
        throttle_time_ms: int = 0,
        responses: Sequence[AlterConfigsResourceResponse] = (),
    ) -> IncrementalAlterConfigsResponse:
        return new(cls, (throttle_time_ms, responses))


class AlterableConfig(Message):
    __slots__ = ()
    ROWS = (
        ("name", "string", (0, 1), None, None),
        ("config_operation", "int8", (0, 1), None, None),
        ("value", "string", (0, 1), (0, 1), None),
    )
    name: Final[str] = field(0)
    config_operation: Final[int] = field(1)
    value: Final[str | None] = field(2)

    def __new__(
        cls,
        *,
        name: str = "",
        config_operation: int = 0,
        value: str | None = "",
    ) -> AlterableConfig:
        return new(cls, (name, config_operation, value))


class AlterConfigsResource(Message):
    __slots__ = ()
    ROWS = (
        ("resource_type", "int8", (0, 1), None, None),
        ("resource_name", "string", (0, 1), None, None),
        ("configs", "[]AlterableConfig", (0, 1), None, None),
    )
    resource_type: Final[int] = field(0)
    resource_name: Final[str] = field(1)
    configs: Final[Sequence[AlterableConfig]] = field(2)

    def __new__(
        cls,
        *,
        resource_type: int = 0,
        resource_name: str = "",
        configs: Sequence[AlterableConfig] = (),
    ) -> AlterConfigsResource:
        return new(cls, (resource_type, resource_name, configs))


class IncrementalAlterConfigsRequest(RequestMessage[IncrementalAlterConfigsResponse]):
    __slots__ = ()
    FLEXIBLE_FROM = 1
    ROWS = (
        ("resources", "[]AlterConfigsResource", (0, 1), None, None),
        ("validate_only", "bool", (0, 1), None, None),
    )
    resources: Final[Sequence[AlterConfigsResource]] = field(0)
    validate_only: Final[bool] = field(1)

    def __new__(
        cls,
        *,
        resources: Sequence[AlterConfigsResource] = (),
        validate_only: bool = False,
    ) -> IncrementalAlterConfigsRequest:
        return new(cls, (resources, validate_only))
