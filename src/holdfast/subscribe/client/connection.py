"""A stream from one server, as the client sees it: messages, or the error that ended it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import grpc
import grpc.aio

from holdfast.subscribe.errors import ServerGone
from holdfast.subscribe.wire.errors import error_from
from holdfast.subscribe.wire.request import SubscribeRequest
from holdfast.subscribe.wire.schema import subscribe_pb2 as wire

METHOD = "/holdfast.subscribe.v1.Subscriptions/Subscribe"
_OPTIONS = (
    ("grpc.max_receive_message_length", -1),
    ("grpc.enable_retries", 0),  # Only we know from which cursor.
    ("grpc.use_local_subchannel_pool", 1),  # So that a new try makes a new connection at once.
    ("grpc.initial_reconnect_backoff_ms", 100),
)
_OPEN_S = 10.0  # Without a sign of life before Opened.
_SILENCES = 3  # Heartbeats that may be missed.


async def messages(address: str, asked: SubscribeRequest) -> AsyncGenerator[wire.Message, None]:
    """All messages of one call, from Opened on. Closing the iterator ends the call at once."""
    async with grpc.aio.insecure_channel(address, options=_OPTIONS) as channel:
        method = channel.unary_stream(
            METHOD, request_serializer=wire.Request.SerializeToString, response_deserializer=wire.Message.FromString
        )
        call = method(asked.to_message())
        is_opened, silence_s = False, _OPEN_S
        try:
            while True:
                message = await _next(call, address, silence_s)
                if message is None:
                    return
                if message.HasField("opened"):
                    is_opened, silence_s = True, _SILENCES * message.opened.heartbeat_ms / 1000
                if is_opened:  # What comes before is a sign of life.
                    yield message
        finally:
            call.cancel()


async def _next(call: Any, address: str, silence_s: float) -> wire.Message | None:
    try:
        async with asyncio.timeout(silence_s):  # `wait_for` makes a task of every read, and can swallow a cancel.
            message = await call.read()
    except TimeoutError:
        raise ServerGone(address, f"nothing came for {silence_s:.0f} seconds") from None
    except grpc.aio.AioRpcError as failure:
        raise error_from(
            address, failure.code().name, failure.details() or "", failure.trailing_metadata() or ()
        ) from None
    except grpc.aio.UsageError as failure:
        raise ServerGone(address, failure) from None
    return None if message is grpc.aio.EOF else message
