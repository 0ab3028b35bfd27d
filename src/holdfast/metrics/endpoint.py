"""The port that a Prometheus server scrapes: `GET /metrics`; and whether all is well: `/healthz` and `/readyz`.

It runs on the broker's own event loop, where the state is; only the text is written elsewhere. A request has a few
seconds and a few kilobytes. A few connections may be there at the same time; when one more comes, the one that has been
silent for longest makes room, and those whose answer is being made do not.

With TLS and a gate nobody is answered who may not read them: 401 for strangers, 403 for others. Everybody is told
whether the process lives and whether it serves, without a reason: who starts it again has no password.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import NamedTuple, Protocol

from holdfast.errors import Unavailable
from holdfast.io.streams import streams
from holdfast.metrics.collect import Sample
from holdfast.metrics.families import gather, text_of
from holdfast.security.errors import LoginFailed
from holdfast.security.tls import WatchedContext

log = logging.getLogger(__name__)

_REQUEST_SIZE_MAX = 8192
_REQUEST_S_MAX = 10.0
_SCRAPES_MAX = 8  # Answers made at the same time; one more is told to come back.
_ASKING_MAX = 64  # Connections that have not asked yet; for one more the oldest goes.
_CHALLENGE = 'WWW-Authenticate: Basic realm="holdfast"'
_TAKING_MAX = 16  # The same of those that have not taken their answer.


class ScrapeGate(Protocol):
    """What readers are let through by."""

    async def admits(self, peer: str, certificate: bytes | None, authorization: str | None) -> bool:
        """Whether they may read metrics. `certificate` is DER. Raises LoginFailed, or Unavailable."""


class PortProtection(NamedTuple):
    """Of the port."""

    tls: WatchedContext | None
    gate: Callable[[], ScrapeGate]  # As it is now.


class Endpoint:
    """Answers scrapes."""

    def __init__(
        self,
        samples: Callable[[], AsyncIterator[Sample]],
        unready: Callable[[], str],
        protection: PortProtection | None = None,
    ) -> None:
        """`unready`: why clients are not served, empty if they are."""
        self._samples = samples
        self._unready = unready
        self._protection = protection
        self._tasks: set[asyncio.Task[None]] = set()
        self._asking = _Few(_ASKING_MAX)
        self._taking = _Few(_TAKING_MAX)
        self._scrapes = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection: one request, one answer."""
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        writer.transport.set_write_buffer_limits(high=0)  # Drained means taken.
        try:
            async with asyncio.timeout(_REQUEST_S_MAX):
                with self._asking.one_more(task):
                    begin = await reader.readexactly(1)
                    if not begin.isalpha():
                        log.debug("a connection was closed: it does not speak HTTP")  # But TLS, or Kafka's protocol.
                        return
                    request = (begin + await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                    refusal = await self._refusal(request, writer)
                answer = refusal or await self._answer(request)
                with self._taking.one_more(task):
                    writer.write(answer)
                    await writer.drain()
        except (TimeoutError, OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError) as failure:
            log.debug("a scrape was given up: %r", failure)
        except asyncio.CancelledError:  # It made room, or the port is closed.
            log.debug("a scrape was given up")
        finally:
            self._tasks.discard(task)
            if writer.transport.get_write_buffer_size():
                writer.transport.abort()
            writer.close()

    async def _refusal(self, request: str, writer: asyncio.StreamWriter) -> bytes | None:
        """What whoever may not read metrics is answered, whatever they ask for."""
        health = self._health(request.partition(" ")[2].partition(" ")[0])
        if health or self._protection is None:
            return health
        link = writer.get_extra_info("ssl_object")
        certificate = link.getpeercert(binary_form=True) if link is not None else None
        said = _header(request.split("\r\n")[1:], "authorization") or None
        try:
            peer = str(writer.get_extra_info("peername")[0])
            if await self._protection.gate().admits(peer, certificate, said):
                return None
        except LoginFailed:
            return _response("401 Unauthorized", "say who you are: Basic, Bearer, or a certificate\n", _CHALLENGE)
        except Unavailable as failure:
            return _response("503 Service Unavailable", f"{failure}\n")
        return _response("403 Forbidden", "no rule lets you DESCRIBE the CLUSTER\n")

    def _health(self, path: str) -> bytes | None:
        """What those are told who look after the process."""
        if path == "/healthz":
            return _response("200 OK", "alive\n")
        if path != "/readyz":
            return None
        why = self._unready()
        if not why:
            return _response("200 OK", "ready\n")
        return _response("503 Service Unavailable", f"{why if self._protection is None else 'not ready'}\n")

    async def _answer(self, request: str) -> bytes:
        first, *headers = request.split("\r\n")
        method, _, rest = first.partition(" ")
        path = rest.partition(" ")[0].partition("?")[0]
        if path != "/metrics":
            return _response("404 Not Found", "the metrics are at /metrics\n")
        if method != "GET":
            return _response("405 Method Not Allowed", "the metrics are there to be read: GET /metrics\n")
        if self._scrapes >= _SCRAPES_MAX:
            return _response("503 Service Unavailable", f"{_SCRAPES_MAX} scrapes are under way: try again later\n")
        self._scrapes += 1
        try:
            families = await gather(self._samples())
            text, content_type = await asyncio.to_thread(text_of, families, _header(headers, "accept"))
        finally:
            self._scrapes -= 1
        return _head("200 OK", content_type, len(text)) + text

    async def stop(self) -> None:
        """Give up what is under way."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


class _Few:
    """Those that are at one step. When there are too many, the one that has been at it for longest is given up."""

    def __init__(self, count_max: int) -> None:
        self._count_max = count_max
        self._tasks: dict[asyncio.Task[None], None] = {}

    @contextlib.contextmanager
    def one_more(self, task: asyncio.Task[None]) -> Iterator[None]:
        if len(self._tasks) >= self._count_max:
            oldest = next(iter(self._tasks))
            del self._tasks[oldest]
            oldest.cancel()
        self._tasks[task] = None
        try:
            yield
        finally:
            self._tasks.pop(task, None)


def _header(headers: list[str], wanted: str) -> str:
    for header in headers:
        name, _, value = header.partition(":")
        if name.strip().lower() == wanted:
            return value.strip()
    return ""


def _response(status: str, text: str, *more: str) -> bytes:
    data = text.encode()
    return _head(status, "text/plain; charset=utf-8", len(data), *more) + data


def _head(status: str, content_type: str, size: int, *more: str) -> bytes:
    lines = (f"HTTP/1.1 {status}", f"Content-Type: {content_type}", f"Content-Length: {size}", "Connection: close")
    return "\r\n".join([*lines, *more, "", ""]).encode()


@asynccontextmanager
async def scraped(
    samples: Callable[[], AsyncIterator[Sample]],
    unready: Callable[[], str],
    bound: socket.socket,
    protection: PortProtection | None = None,
) -> AsyncIterator[None]:
    """Metrics on a socket that is bound already, for as long as the block lasts."""
    endpoint = Endpoint(samples, unready, protection)
    tls = protection.tls if protection is not None else None
    context = None if tls is None else lambda: tls.current
    try:
        async with streams(bound, endpoint.serve, context, _REQUEST_SIZE_MAX):
            yield
    finally:
        await endpoint.stop()
