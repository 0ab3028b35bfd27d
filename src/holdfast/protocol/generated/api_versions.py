"""ApiVersions, versions 0 to 4. Made by `holdfast.protocol.schemas.generate`: edit nothing here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from holdfast.protocol.message import Message, RequestMessage, field, new


class ApiVersion(Message):
    __slots__ = ()
    ROWS = (
        ("api_key", "int16", (0, 4), None, None),
        ("min_version", "int16", (0, 4), None, None),
        ("max_version", "int16", (0, 4), None, None),
    )
    api_key: Final[int] = field(0)
    min_version: Final[int] = field(1)
    max_version: Final[int] = field(2)

    def __new__(
        cls,
        *,
        api_key: int = 0,
        min_version: int = 0,
        max_version: int = 0,
    ) -> ApiVersion:
        return new(cls, (api_key, min_version, max_version))


class SupportedFeatureKey(Message):
    __slots__ = ()
    ROWS = (
        ("name", "string", (3, 4), None, None),
        ("min_version", "int16", (3, 4), None, None),
        ("max_version", "int16", (3, 4), None, None),
    )
    name: Final[str] = field(0)
    min_version: Final[int] = field(1)
    max_version: Final[int] = field(2)

    def __new__(
        cls,
        *,
        name: str = "",
        min_version: int = 0,
        max_version: int = 0,
    ) -> SupportedFeatureKey:
        return new(cls, (name, min_version, max_version))


class FinalizedFeatureKey(Message):
    __slots__ = ()
    ROWS = (
        ("name", "string", (3, 4), None, None),
        ("max_version_level", "int16", (3, 4), None, None),
        ("min_version_level", "int16", (3, 4), None, None),
    )
    name: Final[str] = field(0)
    max_version_level: Final[int] = field(1)
    min_version_level: Final[int] = field(2)

    def __new__(
        cls,
        *,
        name: str = "",
        max_version_level: int = 0,
        min_version_level: int = 0,
    ) -> FinalizedFeatureKey:
        return new(cls, (name, max_version_level, min_version_level))


class ApiVersionsResponse(Message):
    __slots__ = ()
    FLEXIBLE_FROM = 3
    ROWS = (
        ("error_code", "int16", (0, 4), None, None),
        ("api_keys", "[]ApiVersion", (0, 4), None, None),
        ("throttle_time_ms", "int32", (1, 4), None, None),
        ("supported_features", "[]SupportedFeatureKey", (3, 4), None, 0),
        ("finalized_features_epoch", "int64", (3, 4), None, 1),
        ("finalized_features", "[]FinalizedFeatureKey", (3, 4), None, 2),
        ("zk_migration_ready", "bool", (3, 4), None, 3),
    )
    error_code: Final[int] = field(0)
    api_keys: Final[Sequence[ApiVersion]] = field(1)
    throttle_time_ms: Final[int] = field(2)
    supported_features: Final[Sequence[SupportedFeatureKey]] = field(3)
    finalized_features_epoch: Final[int] = field(4)
    finalized_features: Final[Sequence[FinalizedFeatureKey]] = field(5)
    zk_migration_ready: Final[bool] = field(6)

    def __new__(
        cls,
        *,
        error_code: int = 0,
        api_keys: Sequence[ApiVersion] = (),
        throttle_time_ms: int = 0,
        supported_features: Sequence[SupportedFeatureKey] = (),
        finalized_features_epoch: int = -1,
        finalized_features: Sequence[FinalizedFeatureKey] = (),
        zk_migration_ready: bool = False,
    ) -> ApiVersionsResponse:
        return new(cls, (error_code, api_keys, throttle_time_ms, supported_features, finalized_features_epoch, finalized_features, zk_migration_ready))


class ApiVersionsRequest(RequestMessage[ApiVersionsResponse]):
    __slots__ = ()
    FLEXIBLE_FROM = 3
    ROWS = (
        ("client_software_name", "string", (3, 4), None, None),
        ("client_software_version", "string", (3, 4), None, None),
    )
    client_software_name: Final[str] = field(0)
    client_software_version: Final[str] = field(1)

    def __new__(
        cls,
        *,
        client_software_name: str = "",
        client_software_version: str = "",
    ) -> ApiVersionsRequest:
        return new(cls, (client_software_name, client_software_version))
