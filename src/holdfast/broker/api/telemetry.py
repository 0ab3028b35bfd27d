"""GetTelemetrySubscriptions and PushTelemetry (KIP-714): clients hear that nobody wants their metrics."""

from __future__ import annotations

from uuid import UUID

from holdfast.broker.context import BrokerContext
from holdfast.broker.net.request import Request
from holdfast.protocol.codes import Code
from holdfast.protocol.generated.get_telemetry_subscriptions import (
    GetTelemetrySubscriptionsRequest,
    GetTelemetrySubscriptionsResponse,
)
from holdfast.protocol.generated.push_telemetry import PushTelemetryRequest, PushTelemetryResponse

_ASK_AGAIN_MS = 300_000
_SIZE_MAX = 1 << 20
_CODECS = [4, 3, 1, 2]  # As Kafka lists them.


async def subscriptions(
    context: BrokerContext, message: GetTelemetrySubscriptionsRequest, request: Request
) -> GetTelemetrySubscriptionsResponse:
    """A client without an id gets one; and no metrics are asked of it."""
    del request
    return GetTelemetrySubscriptionsResponse(
        error_code=Code.NONE,
        client_instance_id=message.client_instance_id or UUID(int=context.chance.bits(128), version=4),
        subscription_id=0,
        accepted_compression_types=_CODECS,
        push_interval_ms=_ASK_AGAIN_MS,
        telemetry_max_bytes=_SIZE_MAX,
        delta_temporality=True,
        requested_metrics=[],
    )


async def push(context: BrokerContext, message: PushTelemetryRequest, request: Request) -> PushTelemetryResponse:
    """Nobody has asked for it: the client asks for its subscription again, and hears so."""
    del context, request
    known = message.client_instance_id is not None
    return PushTelemetryResponse(error_code=Code.UNKNOWN_SUBSCRIPTION_ID if known else Code.INVALID_REQUEST)
