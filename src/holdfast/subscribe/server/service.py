"""The gRPC service: one call. Only this module, `reflection` and `feed` import grpc.

Who calls is known before anything is read that they send: a call is taken as a stream of requests, which has one.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

import grpc
import grpc.aio

from holdfast.errors import Corrupt, HoldfastError, Rejected
from holdfast.security.errors import LoginFailed
from holdfast.security.principal import Session
from holdfast.security.tls import WatchedContext
from holdfast.subscribe.errors import (
    BadCursor,
    BadFilter,
    BadRequest,
    CursorDiverged,
    NoSuchSource,
    NotLoggedIn,
    NotPermitted,
    SessionOver,
    SourceGone,
)
from holdfast.subscribe.server.context import ServerContext
from holdfast.subscribe.server.keepalive import with_signs
from holdfast.subscribe.server.reflection import reflection_handlers
from holdfast.subscribe.server.routes import RouteStream
from holdfast.subscribe.wire import messages
from holdfast.subscribe.wire.errors import cause_of, cut, facts_of
from holdfast.subscribe.wire.request import SubscribeRequest
from holdfast.subscribe.wire.schema import subscribe_pb2 as wire

if TYPE_CHECKING:
    from holdfast.subscribe.server.stream import ServerStream

log = logging.getLogger(__name__)

SERVICE = "holdfast.subscribe.v1.Subscriptions"
_OPTIONS = (
    ("grpc.max_send_message_length", -1),  # A single event may be as large as a record may be.
    ("grpc.keepalive_time_ms", 20_000),  # A client that is gone without a word is noticed and dropped.
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.http2.max_pings_without_data", 0),
    ("grpc.server_handshake_timeout_ms", 10_000),  # Who connects and says nothing makes room for others.
    ("grpc.so_reuseport", 0),  # A port that is taken is an error.
)

AUTHORIZATION: Final = "authorization"
_REQUEST_S = 10.0  # For the request to arrive.

CODES = (  # The first that fits; the client turns them back.
    (CursorDiverged, grpc.StatusCode.OUT_OF_RANGE),
    (SourceGone, grpc.StatusCode.ABORTED),
    (NoSuchSource, grpc.StatusCode.NOT_FOUND),
    (NotPermitted, grpc.StatusCode.PERMISSION_DENIED),
    (NotLoggedIn, grpc.StatusCode.UNAUTHENTICATED),
    (SessionOver, grpc.StatusCode.UNAUTHENTICATED),
    (BadCursor, grpc.StatusCode.INVALID_ARGUMENT),
    (BadFilter, grpc.StatusCode.INVALID_ARGUMENT),
    (BadRequest, grpc.StatusCode.INVALID_ARGUMENT),
    (Corrupt, grpc.StatusCode.DATA_LOSS),
    (Rejected, grpc.StatusCode.FAILED_PRECONDITION),
    (HoldfastError, grpc.StatusCode.UNAVAILABLE),
)


class Service:
    """All subscriptions of one server."""

    def __init__(self, site: ServerContext) -> None:
        self._site = site
        self._is_warm = False
        self.streams = 0

    async def subscribe(self, requests: AsyncIterator[wire.Request], context: Any) -> None:
        """One stream. It is cancelled when its client goes away."""
        try:
            session = await self._admitted(context)  # Strangers take no place of those who are known.
        except HoldfastError as failure:
            await _end(context, failure)
            return
        settings = self._site.settings
        if self.streams >= settings.subscriptions_max:
            await context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, f"{self.streams} subscriptions are open: try later")
        self.streams += 1
        try:
            request = await _only(requests)
            if not self._is_warm:
                await with_signs(self._warm(), lambda: context.write(messages.marker({}, ())), settings.sign_ms)
            await self.stream(SubscribeRequest.from_message(request), context.write, session).run()
        except HoldfastError as failure:
            log.info("a subscription ends: %s", failure)
            await _end(context, failure)
        except Exception as failure:
            if context.done():  # The client is gone: whatever a write to it failed with, nobody is there to be told.
                return
            log.exception("a subscription fails unexpectedly")
            await context.abort(grpc.StatusCode.INTERNAL, *cause_of(failure))
        finally:
            self.streams -= 1

    def stream(
        self, asked: SubscribeRequest, write: Callable[[bytes], Awaitable[Any]], session: Session
    ) -> ServerStream | RouteStream:
        from holdfast.subscribe.server.stream import ServerStream

        leaders = self._site.leaders
        if leaders is not None and asked.routes and not asked.routed:
            return RouteStream(self._site, leaders, asked, write, session)
        return ServerStream(self._site, asked, write, session)

    async def _admitted(self, context: Any) -> Session:
        """Who calls. Raises NotLoggedIn, or Unavailable."""
        said = [value for name, value in context.invocation_metadata() or () if name == AUTHORIZATION]
        certificates = context.auth_context().get("x509_pem_cert", ())
        certificate = next((ssl.PEM_cert_to_DER_cert(each.decode()) for each in certificates), None)
        try:
            return await self._site.gate.admit(host_in(context.peer()), certificate, ", ".join(map(str, said)) or None)
        except LoginFailed:
            raise NotLoggedIn from None

    async def _warm(self) -> None:
        await self._site.calls.run(_warm)
        self._is_warm = True

    def handler(self) -> Any:
        method = grpc.stream_stream_rpc_method_handler(
            self.subscribe, request_deserializer=wire.Request.FromString, response_serializer=None
        )
        return grpc.method_handlers_generic_handler(SERVICE, {"Subscribe": method})


async def _end(context: Any, failure: HoldfastError) -> None:
    code = next(code for kind, code in CODES if isinstance(failure, kind))
    await context.abort(code, cut(str(failure)), facts_of(failure))


async def _only(requests: AsyncIterator[wire.Request]) -> wire.Request:
    """The request of a call. Who brings none holds its place for a while, and no longer."""
    try:
        async with asyncio.timeout(_REQUEST_S):
            async for request in requests:
                return request
    except TimeoutError:
        pass
    raise BadRequest("a call begins with one request")


def host_in(peer: str) -> str:
    """The address in what gRPC calls a peer: `ipv4:10.0.0.7:4711`, `ipv6:%5B::1%5D:4711`."""
    _, _, rest = unquote(peer).partition(":")
    return rest.rpartition(":")[0].removeprefix("[").removesuffix("]") or peer


def _warm() -> None:
    """For the first subscription, in a thread: a broker that has none loads neither Arrow nor the loops."""
    from holdfast.subscribe.warm import warm

    warm()


class PortTaken(Rejected):
    """The port cannot be listened on."""

    def __init__(self, address: str) -> None:
        super().__init__(f"cannot listen on {address}: choose another subscribe.listen, or none")
        self.address = address


def _credentials(tls: WatchedContext, *, wants_certificates: bool) -> Any:
    """The certificates as they are at each handshake."""
    taken = tls.renewals

    def fetch() -> Any:
        nonlocal taken
        if tls.renewals == taken:
            return None
        taken = tls.renewals
        return _certificates(tls)

    return grpc.dynamic_ssl_server_credentials(_certificates(tls), fetch, wants_certificates)


def _certificates(tls: WatchedContext) -> Any:
    pem = tls.pem()
    return grpc.ssl_server_certificate_configuration([(pem.key, pem.chain)], pem.trust or None)


@asynccontextmanager
async def serving(
    site: ServerContext, address: str, tls: WatchedContext | None = None, *, wants_certificates: bool = False
) -> AsyncIterator[int]:
    """The port, for as long as the block lasts. Streams end with it."""
    settings = site.settings
    limits = (
        ("grpc.max_allowed_incoming_connections", settings.connections_max),
        ("grpc.max_concurrent_streams", settings.subscriptions_max),  # Of one connection.
    )
    server = grpc.aio.server(options=_OPTIONS + limits)
    server.add_generic_rpc_handlers((Service(site).handler(), *reflection_handlers(SERVICE)))
    try:
        if tls is None:
            port = server.add_insecure_port(address)
        else:
            port = server.add_secure_port(address, _credentials(tls, wants_certificates=wants_certificates))
    except RuntimeError:
        raise PortTaken(address) from None
    if not port:
        raise PortTaken(address)
    await server.start()
    try:
        yield port
    finally:
        await server.stop(None)
