"""HTTP/1.1 on the broker's own event loop: requests in, answers out, limits. It knows nothing of pages.

A few connections may be there at the same time: for one more the one that has been silent for longest goes. Whoever
leaves while their answer is being made is not waited for: the work is given up.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final, TypeAlias

import h11

from holdfast.console.link import HttpAnswer, HttpLink, HttpRequest
from holdfast.io.streams import streams
from holdfast.security.tls import WatchedContext

log = logging.getLogger(__name__)

CONNECTIONS_MAX: Final = 128

Handle: TypeAlias = Callable[[HttpRequest], Awaitable[HttpAnswer]]


class HttpPort:
    """Its connections."""

    def __init__(self, handle: Handle) -> None:
        self._handle = handle
        self._tasks: set[asyncio.Task[None]] = set()
        self._silent: dict[asyncio.Task[None], None] = {}  # Those without a request, the longest first.

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, from its first request to its last."""
        task = asyncio.current_task()
        assert task is not None
        self._make_room()
        self._tasks.add(task)
        self._silent[task] = None
        try:
            await self._converse(HttpLink(reader, writer), task)
        except (TimeoutError, OSError, h11.ProtocolError) as failure:
            log.debug("a connection was given up: %r", failure)
        except asyncio.CancelledError:
            log.debug("a connection made room, or the port is closed")
        finally:
            self._tasks.discard(task)
            self._silent.pop(task, None)
            if writer.transport.get_write_buffer_size():
                writer.transport.abort()
            writer.close()

    def _make_room(self) -> None:
        if len(self._tasks) >= CONNECTIONS_MAX:
            oldest = next(iter(self._silent or self._tasks))
            self._silent.pop(oldest, None)
            self._tasks.discard(oldest)
            oldest.cancel()

    async def _converse(self, link: HttpLink, task: asyncio.Task[None]) -> None:
        while True:
            try:
                request = await link.request()
            except h11.RemoteProtocolError as failure:
                await link.refuse(failure)
                return
            if request is None:
                return
            self._silent.pop(task, None)
            await self._answer(link, request)
            if not link.begin_next():
                return
            self._silent[task] = None

    async def _answer(self, link: HttpLink, request: HttpRequest) -> None:
        """HttpAnswer it, unless they leave before."""
        working = asyncio.ensure_future(self._work(link, request))
        leaving = asyncio.ensure_future(link.left())
        try:
            await asyncio.wait([working, leaving], return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in (working, leaving):
                if not each.done():
                    each.cancel()
            await asyncio.gather(working, leaving, return_exceptions=True)
        if working.cancelled():
            raise ConnectionResetError("they have left")
        working.result()

    async def _work(self, link: HttpLink, request: HttpRequest) -> None:
        try:
            answer = await self._handle(request)
        except Exception:
            log.exception("the console could not answer %s", request.path)
            answer = HttpAnswer(
                500, "text/plain; charset=utf-8", b"the console made a mistake: the broker's log has it\n"
            )
        await link.send(answer)

    async def stop(self) -> None:
        """Give up what is under way."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


@asynccontextmanager
async def listening(handle: Handle, bound: socket.socket, tls: WatchedContext | None = None) -> AsyncIterator[None]:
    """Answers on a socket that is bound already, for as long as the block lasts."""
    port = HttpPort(handle)
    try:
        async with streams(bound, port.serve, None if tls is None else lambda: tls.current):
            yield
    finally:
        await port.stop()
