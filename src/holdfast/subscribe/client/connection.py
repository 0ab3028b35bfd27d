"""A stream from one server, as the client sees it: messages, or the error that ended it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import grpc
import grpc.aio

from holdfast.client.protection.secure import PLAINTEXT, Protection, SecurityOptions
from holdfast.errors import HoldfastError
from holdfast.subscribe.client.protection import channel_to, check_tls, prepared
from holdfast.subscribe.errors import ServerGone
from holdfast.subscribe.wire.errors import error_from
from holdfast.subscribe.wire.request import SubscribeRequest
from holdfast.subscribe.wire.schema import subscribe_pb2 as wire

METHOD = "/holdfast.subscribe.v1.Subscriptions/Subscribe"
_OPEN_S = 10.0  # Without a sign of life before Opened.
_SILENCES = 3  # Heartbeats that may be missed.


async def messages(
    address: str, asked: SubscribeRequest, security: SecurityOptions = PLAINTEXT
) -> AsyncGenerator[wire.Message, None]:
    """All messages of one call, from Opened on. Closing the iterator ends the call at once."""
    protection = Protection()
    said: tuple[tuple[str, str], ...] = ()
    if security.words:  # Files are read, and perhaps an issuer is asked.
        protection, said = await asyncio.to_thread(prepared, address, security)
    async with channel_to(address, protection) as channel:
        method = channel.unary_stream(
            METHOD, request_serializer=wire.Request.SerializeToString, response_deserializer=wire.Message.FromString
        )
        call = method(asked.to_message(), metadata=said)
        is_opened, silence_s = False, _OPEN_S
        try:
            while True:
                message = await _next(call, address, protection, silence_s)
                if message is None:
                    return
                if message.HasField("opened"):
                    is_opened, silence_s = True, _SILENCES * message.opened.heartbeat_ms / 1000
                if is_opened:  # What comes before is a sign of life.
                    yield message
        finally:
            call.cancel()


async def _next(call: Any, address: str, protection: Protection, silence_s: float) -> wire.Message | None:
    try:
        async with asyncio.timeout(silence_s):  # `wait_for` makes a task of every read, and can swallow a cancel.
            message = await call.read()
    except TimeoutError:
        raise ServerGone(address, f"nothing came for {silence_s:.0f} seconds") from None
    except grpc.aio.AioRpcError as failure:
        raise await _error_of(failure, address, protection) from None
    except grpc.aio.UsageError as failure:
        raise ServerGone(address, failure) from None
    return None if message is grpc.aio.EOF else message


async def _error_of(failure: grpc.aio.AioRpcError, address: str, protection: Protection) -> HoldfastError:
    code, details = failure.code().name, failure.details() or ""
    if code == "UNAVAILABLE" and protection.tls is not None:
        try:
            await asyncio.to_thread(check_tls, address, protection)
        except HoldfastError as found:
            return found
    return error_from(address, code, details, failure.trailing_metadata() or ())
