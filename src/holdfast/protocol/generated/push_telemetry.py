"""PushTelemetry, versions 0 to 0. Made by `holdfast.protocol.schemas.generate`: edit nothing here."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from holdfast.protocol.message import Message, RequestMessage, field, new


class PushTelemetryResponse(Message):
    __slots__ = ()
    FLEXIBLE_FROM = 0
    ROWS = (
        ("throttle_time_ms", "int32", (0, 0), None, None),
        ("error_code", "int16", (0, 0), None, None),
    )
    throttle_time_ms: Final[int] = field(0)
    error_code: Final[int] = field(1)

    def __new__(
        cls,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
    ) -> PushTelemetryResponse:
        return new(cls, (throttle_time_ms, error_code))


class PushTelemetryRequest(RequestMessage[PushTelemetryResponse]):
    __slots__ = ()
    FLEXIBLE_FROM = 0
    ROWS = (
        ("client_instance_id", "uuid", (0, 0), None, None),
        ("subscription_id", "int32", (0, 0), None, None),
        ("terminating", "bool", (0, 0), None, None),
        ("compression_type", "int8", (0, 0), None, None),
        ("metrics", "bytes", (0, 0), None, None),
    )
    client_instance_id: Final[UUID | None] = field(0)
    subscription_id: Final[int] = field(1)
    terminating: Final[bool] = field(2)
    compression_type: Final[int] = field(3)
    metrics: Final[bytes] = field(4)

    def __new__(
        cls,
        *,
        client_instance_id: UUID | None = None,
        subscription_id: int = 0,
        terminating: bool = False,
        compression_type: int = 0,
        metrics: bytes = b"",
    ) -> PushTelemetryRequest:
        return new(cls, (client_instance_id, subscription_id, terminating, compression_type, metrics))
