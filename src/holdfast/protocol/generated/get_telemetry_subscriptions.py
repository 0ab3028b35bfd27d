"""GetTelemetrySubscriptions, versions 0 to 0. Made by `holdfast.protocol.schemas.generate`: edit nothing here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from holdfast.protocol.message import Message, RequestMessage, field, new


class GetTelemetrySubscriptionsResponse(Message):
    __slots__ = ()
    FLEXIBLE_FROM = 0
    ROWS = (
        ("throttle_time_ms", "int32", (0, 0), None, None),
        ("error_code", "int16", (0, 0), None, None),
        ("client_instance_id", "uuid", (0, 0), None, None),
        ("subscription_id", "int32", (0, 0), None, None),
        ("accepted_compression_types", "[]int8", (0, 0), None, None),
        ("push_interval_ms", "int32", (0, 0), None, None),
        ("telemetry_max_bytes", "int32", (0, 0), None, None),
        ("delta_temporality", "bool", (0, 0), None, None),
        ("requested_metrics", "[]string", (0, 0), None, None),
    )
    throttle_time_ms: Final[int] = field(0)
    error_code: Final[int] = field(1)
    client_instance_id: Final[UUID | None] = field(2)
    subscription_id: Final[int] = field(3)
    accepted_compression_types: Final[Sequence[int]] = field(4)
    push_interval_ms: Final[int] = field(5)
    telemetry_max_bytes: Final[int] = field(6)
    delta_temporality: Final[bool] = field(7)
    requested_metrics: Final[Sequence[str]] = field(8)

    def __new__(
        cls,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        client_instance_id: UUID | None = None,
        subscription_id: int = 0,
        accepted_compression_types: Sequence[int] = (),
        push_interval_ms: int = 0,
        telemetry_max_bytes: int = 0,
        delta_temporality: bool = False,
        requested_metrics: Sequence[str] = (),
    ) -> GetTelemetrySubscriptionsResponse:
        return new(cls, (throttle_time_ms, error_code, client_instance_id, subscription_id, accepted_compression_types, push_interval_ms, telemetry_max_bytes, delta_temporality, requested_metrics))


class GetTelemetrySubscriptionsRequest(RequestMessage[GetTelemetrySubscriptionsResponse]):
    __slots__ = ()
    FLEXIBLE_FROM = 0
    ROWS = (
        ("client_instance_id", "uuid", (0, 0), None, None),
    )
    client_instance_id: Final[UUID | None] = field(0)

    def __new__(
        cls,
        *,
        client_instance_id: UUID | None = None,
    ) -> GetTelemetrySubscriptionsRequest:
        return new(cls, (client_instance_id,))
