"""Connections as streams, with TLS from their first byte on.

`StreamWriter.start_tls` on a connection that is open already loses what has arrived before it is called: on a busy loop
that is the client's first message, and its handshake hangs.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Final

log = logging.getLogger(__name__)

SHAKING_MAX: Final = (
    64  # Handshakes at the same time; for one more the oldest goes, or the silent would lock others out.
)
_SHAKE_S = 10.0
_RETRY_S = 0.5  # When the system has nothing to give.


@asynccontextmanager
async def streams(
    bound: socket.socket,
    serve: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]],
    context: Callable[[], ssl.SSLContext] | None = None,
    line_size_max: int = 64 << 10,
) -> AsyncIterator[None]:
    """Each connection is given to `serve`, for as long as the block lasts. `context` is asked for each of them."""
    bound.settimeout(0)
    bound.listen(100)
    shaking: dict[asyncio.Task[None], None] = {}  # The oldest first.
    accepting = asyncio.ensure_future(_accept(bound, partial(_connect, serve, context, line_size_max), shaking))
    try:
        yield
    finally:
        for each in (accepting, *shaking):
            each.cancel()
        await asyncio.gather(accepting, *shaking, return_exceptions=True)
        bound.close()


async def _accept(
    bound: socket.socket,
    connect: Callable[[socket.socket], Coroutine[Any, Any, None]],
    shaking: dict[asyncio.Task[None], None],
) -> None:
    loop = asyncio.get_running_loop()
    while True:
        try:
            taken, _ = await loop.sock_accept(bound)
        except OSError as failure:
            log.debug("a connection was not accepted: %s", failure)
            await asyncio.sleep(_RETRY_S)
            continue
        if len(shaking) >= SHAKING_MAX:
            oldest = next(iter(shaking))
            del shaking[oldest]
            oldest.cancel()
        task = loop.create_task(connect(taken))
        shaking[task] = None
        task.add_done_callback(lambda done: shaking.pop(done, None))


async def _connect(
    serve: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]],
    context: Callable[[], ssl.SSLContext] | None,
    line_size_max: int,
    taken: socket.socket,
) -> None:
    """Up to its handshake; from there on `serve` has it, in a task of its own."""
    loop = asyncio.get_running_loop()
    taken.settimeout(0)
    taken.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # asyncio sets it only where TCP was named by number.
    reader = asyncio.StreamReader(line_size_max)
    protocol = asyncio.StreamReaderProtocol(reader, serve)
    secured = {"ssl": context(), "ssl_handshake_timeout": _SHAKE_S} if context is not None else {}
    try:
        await loop.connect_accepted_socket(lambda: protocol, taken, **secured)  # type: ignore[arg-type]
    except OSError as failure:  # A handshake that failed, too.
        log.debug("not connected: %s", failure)
        with contextlib.suppress(OSError):
            taken.close()
