"""The certificates of listeners, looked at while the broker runs: what is renewed counts from the next handshake on."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress

from holdfast.broker.net.listener import OpenListener
from holdfast.io.calls import BlockingCalls
from holdfast.security.tls import LOOK_EVERY_S, WatchedContext


@asynccontextmanager
async def followed(listeners: Sequence[OpenListener], calls: BlockingCalls) -> AsyncIterator[None]:
    """For as long as the block lasts; SIGHUP looks at once."""
    watched = [each.tls for each in listeners if each.tls is not None]
    if not watched:
        yield
        return
    now = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGHUP, now.set)
    task = asyncio.ensure_future(_look(watched, calls, now))
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGHUP)
        task.cancel()


async def _look(watched: Sequence[WatchedContext], calls: BlockingCalls, now: asyncio.Event) -> None:
    while True:
        with suppress(TimeoutError):
            await asyncio.wait_for(now.wait(), LOOK_EVERY_S)
        now.clear()
        for each in watched:
            await calls.local(each.look)
