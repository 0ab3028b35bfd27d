"""ListConfigResources, versions 0 to 1. Made by `holdfast.protocol.schemas.generate`: edit nothing here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from holdfast.protocol.message import Message, RequestMessage, field, new


class ConfigResource(Message):
    __slots__ = ()
    ROWS = (
        ("resource_name", "string", (0, 1), None, None),
        ("resource_type", "int8", (1, 1), None, None),
    )
    resource_name: Final[str] = field(0)
    resource_type: Final[int] = field(1)

    def __new__(
        cls,
        *,
        resource_name: str = "",
        resource_type: int = 16,
    ) -> ConfigResource:
        return new(cls, (resource_name, resource_type))


class ListConfigResourcesResponse(Message):
    __slots__ = ()
    FLEXIBLE_FROM = 0
    ROWS = (
        ("throttle_time_ms", "int32", (0, 1), None, None),
        ("error_code", "int16", (0, 1), None, None),
        ("config_resources", "[]ConfigResource", (0, 1), None, None),
    )
    throttle_time_ms: Final[int] = field(0)
    error_code: Final[int] = field(1)
    config_resources: Final[Sequence[ConfigResource]] = field(2)

    def __new__(
        cls,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        config_resources: Sequence[ConfigResource] = (),
    ) -> ListConfigResourcesResponse:
        return new(cls, (throttle_time_ms, error_code, config_resources))


class ListConfigResourcesRequest(RequestMessage[ListConfigResourcesResponse]):
    __slots__ = ()
    FLEXIBLE_FROM = 0
    ROWS = (
        ("resource_types", "[]int8", (1, 1), None, None),
    )
    resource_types: Final[Sequence[int]] = field(0)

    def __new__(
        cls,
        *,
        resource_types: Sequence[int] = (),
    ) -> ListConfigResourcesRequest:
        return new(cls, (resource_types,))
