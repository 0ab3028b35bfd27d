"""The port that a Prometheus server scrapes: `GET /metrics`, and nothing else.

It runs on the broker's own event loop, where the state is; only the text is written elsewhere. A request has a few
seconds and a few kilobytes. A few connections may be there at the same time; when one more comes, the one that has been
silent for longest makes room, and those whose answer is being made do not.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager

from holdfast.metrics.collect import Sample
from holdfast.metrics.families import gather, text_of

log = logging.getLogger(__name__)

_REQUEST_SIZE_MAX = 8192
_REQUEST_S_MAX = 10.0
_SCRAPES_MAX = 8  # Answers made at the same time; one more is told to come back.
_ASKING_MAX = 64  # Connections that have not asked yet; for one more the oldest goes.
_TAKING_MAX = 16  # The same of those that have not taken their answer.


class Endpoint:
    """Answers scrapes."""

    def __init__(self, samples: Callable[[], AsyncIterator[Sample]]) -> None:
        self._samples = samples
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
                    request = await reader.readuntil(b"\r\n\r\n")
                answer = await self._answer(request.decode("latin-1"))
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
            text, content_type = await asyncio.to_thread(text_of, families, _accepted(headers))
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


def _accepted(headers: list[str]) -> str:
    for header in headers:
        name, _, value = header.partition(":")
        if name.strip().lower() == "accept":
            return value.strip()
    return ""


def _response(status: str, text: str) -> bytes:
    return _head(status, "text/plain; charset=utf-8", len(text)) + text.encode()


def _head(status: str, content_type: str, size: int) -> bytes:
    lines = (f"HTTP/1.1 {status}", f"Content-Type: {content_type}", f"Content-Length: {size}", "Connection: close")
    return "\r\n".join([*lines, "", ""]).encode()


@asynccontextmanager
async def scraped(samples: Callable[[], AsyncIterator[Sample]], bound: socket.socket) -> AsyncIterator[None]:
    """Metrics on a socket that is bound already, for as long as the block lasts."""
    endpoint = Endpoint(samples)
    server = await asyncio.start_server(endpoint.serve, sock=bound, limit=_REQUEST_SIZE_MAX)
    try:
        yield
    finally:
        server.close()
        await endpoint.stop()
        with contextlib.suppress(OSError):
            await server.wait_closed()
