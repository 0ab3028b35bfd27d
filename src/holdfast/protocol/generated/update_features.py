"""UpdateFeatures, versions 0 to 2. Made by `holdfast.protocol.schemas.generate`: edit nothing here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from holdfast.protocol.message import Message, RequestMessage, field, new


class UpdatableFeatureResult(Message):
    __slots__ = ()
    ROWS = (
        ("feature", "string", (0, 2), None, None),
        ("error_code", "int16", (0, 2), None, None),
        ("error_message", "string", (0, 2), (0, 2), None),
    )
    feature: Final[str] = field(0)
    error_code: Final[int] = field(1)
    error_message: Final[str | None] = field(2)

    def __new__(
        cls,
        *,
        feature: str = "",
        error_code: int = 0,
        error_message: str | None = "",
    ) -> UpdatableFeatureResult:
        return new(cls, (feature, error_code, error_message))


class UpdateFeaturesResponse(Message):
    __slots__ = ()
    FLEXIBLE_FROM = 0
    ROWS = (
        ("throttle_time_ms", "int32", (0, 2), None, None),
        ("error_code", "int16", (0, 2), None, None),
        ("error_message", "string", (0, 2), (0, 2), None),
        ("results", "[]UpdatableFeatureResult", (0, 1), None, None),
    )
    throttle_time_ms: Final[int] = field(0)
    error_code: Final[int] = field(1)
    error_message: Final[str | None] = field(2)
    results: Final[Sequence[UpdatableFeatureResult]] = field(3)

    def __new__(
        cls,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        results: Sequence[UpdatableFeatureResult] = (),
    ) -> UpdateFeaturesResponse:
        return new(cls, (throttle_time_ms, error_code, error_message, results))


class FeatureUpdateKey(Message):
    __slots__ = ()
    ROWS = (
        ("feature", "string", (0, 2), None, None),
        ("max_version_level", "int16", (0, 2), None, None),
        ("allow_downgrade", "bool", (0, 0), None, None),
        ("upgrade_type", "int8", (1, 2), None, None),
    )
    feature: Final[str] = field(0)
    max_version_level: Final[int] = field(1)
    allow_downgrade: Final[bool] = field(2)
    upgrade_type: Final[int] = field(3)

    def __new__(
        cls,
        *,
        feature: str = "",
        max_version_level: int = 0,
        allow_downgrade: bool = False,
        upgrade_type: int = 1,
    ) -> FeatureUpdateKey:
        return new(cls, (feature, max_version_level, allow_downgrade, upgrade_type))


class UpdateFeaturesRequest(RequestMessage[UpdateFeaturesResponse]):
    __slots__ = ()
    FLEXIBLE_FROM = 0
    ROWS = (
        ("timeout_ms", "int32", (0, 2), None, None),
        ("feature_updates", "[]FeatureUpdateKey", (0, 2), None, None),
        ("validate_only", "bool", (1, 2), None, None),
    )
    timeout_ms: Final[int] = field(0)
    feature_updates: Final[Sequence[FeatureUpdateKey]] = field(1)
    validate_only: Final[bool] = field(2)

    def __new__(
        cls,
        *,
        timeout_ms: int = 60000,
        feature_updates: Sequence[FeatureUpdateKey] = (),
        validate_only: bool = False,
    ) -> UpdateFeaturesRequest:
        return new(cls, (timeout_ms, feature_updates, validate_only))
