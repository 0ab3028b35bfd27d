"""DescribeConfigs, versions 1 to 4. Made by `holdfast.protocol.schemas.generate`: edit nothing here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from holdfast.protocol.message import Message, RequestMessage, field, new


class DescribeConfigsSynonym(Message):
    __slots__ = ()
    ROWS = (
        ("name", "string", (1, 4), None, None),
        ("value", "string", (1, 4), (1, 4), None),
        ("source", "int8", (1, 4), None, None),
    )
    name: Final[str] = field(0)
    value: Final[str | None] = field(1)
    source: Final[int] = field(2)

    def __new__(
        cls,
        *,
        name: str = "",
        value: str | None = "",
        source: int = 0,
    ) -> DescribeConfigsSynonym:
        return new(cls, (name, value, source))


class DescribeConfigsResourceResult(Message):
    __slots__ = ()
    ROWS = (
        ("name", "string", (1, 4), None, None),
        ("value", "string", (1, 4), (1, 4), None),
        ("read_only", "bool", (1, 4), None, None),
        ("config_source", "int8", (1, 4), None, None),
        ("is_sensitive", "bool", (1, 4), None, None),
        ("synonyms", "[]DescribeConfigsSynonym", (1, 4), None, None),
        ("config_type", "int8", (3, 4), None, None),
        ("documentation", "string", (3, 4), (3, 4), None),
    )
    name: Final[str] = field(0)
    value: Final[str | None] = field(1)
    read_only: Final[bool] = field(2)
    config_source: Final[int] = field(3)
    is_sensitive: Final[bool] = field(4)
    synonyms: Final[Sequence[DescribeConfigsSynonym]] = field(5)
    config_type: Final[int] = field(6)
    documentation: Final[str | None] = field(7)

    def __new__(
        cls,
        *,
        name: str = "",
        value: str | None = "",
        read_only: bool = False,
        config_source: int = -1,
        is_sensitive: bool = False,
        synonyms: Sequence[DescribeConfigsSynonym] = (),
        config_type: int = 0,
        documentation: str | None = "",
    ) -> DescribeConfigsResourceResult:
        return new(cls, (name, value, read_only, config_source, is_sensitive, synonyms, config_type, documentation))


class DescribeConfigsResult(Message):
    __slots__ = ()
    ROWS = (
        ("error_code", "int16", (1, 4), None, None),
        ("error_message", "string", (1, 4), (1, 4), None),
        ("resource_type", "int8", (1, 4), None, None),
        ("resource_name", "string", (1, 4), None, None),
        ("configs", "[]DescribeConfigsResourceResult", (1, 4), None, None),
    )
    error_code: Final[int] = field(0)
    error_message: Final[str | None] = field(1)
    resource_type: Final[int] = field(2)
    resource_name: Final[str] = field(3)
    configs: Final[Sequence[DescribeConfigsResourceResult]] = field(4)

    def __new__(
        cls,
        *,
        error_code: int = 0,
        error_message: str | None = "",
        resource_type: int = 0,
        resource_name: str = "",
        configs: Sequence[DescribeConfigsResourceResult] = (),
    ) -> DescribeConfigsResult:
        return new(cls, (error_code, error_message, resource_type, resource_name, configs))


class DescribeConfigsResponse(Message):
    __slots__ = ()
    FLEXIBLE_FROM = 4
    ROWS = (
        ("throttle_time_ms", "int32", (1, 4), None, None),
        ("results", "[]DescribeConfigsResult", (1, 4), None, None),
    )
    throttle_time_ms: Final[int] = field(0)
    results: Final[Sequence[DescribeConfigsResult]] = field(1)

    def __new__(
        cls,
        *,
        throttle_time_ms: int = 0,
        results: Sequence[DescribeConfigsResult] = (),
    ) -> DescribeConfigsResponse:
        return new(cls, (throttle_time_ms, results))


class DescribeConfigsResource(Message):
    __slots__ = ()
    ROWS = (
        ("resource_type", "int8", (1, 4), None, None),
        ("resource_name", "string", (1, 4), None, None),
        ("configuration_keys", "[]string", (1, 4), (1, 4), None),
    )
    resource_type: Final[int] = field(0)
    resource_name: Final[str] = field(1)
    configuration_keys: Final[Sequence[str] | None] = field(2)

    def __new__(
        cls,
        *,
        resource_type: int = 0,
        resource_name: str = "",
        configuration_keys: Sequence[str] | None = (),
    ) -> DescribeConfigsResource:
        return new(cls, (resource_type, resource_name, configuration_keys))


class DescribeConfigsRequest(RequestMessage[DescribeConfigsResponse]):
    __slots__ = ()
    FLEXIBLE_FROM = 4
    ROWS = (
        ("resources", "[]DescribeConfigsResource", (1, 4), None, None),
        ("include_synonyms", "bool", (1, 4), None, None),
        ("include_documentation", "bool", (3, 4), None, None),
    )
    resources: Final[Sequence[DescribeConfigsResource]] = field(0)
    include_synonyms: Final[bool] = field(1)
    include_documentation: Final[bool] = field(2)

    def __new__(
        cls,
        *,
        resources: Sequence[DescribeConfigsResource] = (),
        include_synonyms: bool = False,
        include_documentation: bool = False,
    ) -> DescribeConfigsRequest:
        return new(cls, (resources, include_synonyms, include_documentation))
